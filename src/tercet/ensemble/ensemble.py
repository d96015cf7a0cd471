"""Ensemble: many maps of the same objects, their distances and probabilities."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tercet import uncertainty
from tercet.answers.choices import Choices, as_answers
from tercet.answers.either import weights_of
from tercet.answers.triplets import Triplets
from tercet.arrays import Floats, Index
from tercet.ensemble import storage
from tercet.ensemble.answering import answering_model, choice_tables, in_portions
from tercet.ensemble.averages import Average, average_all, average_sampled, choose_sample
from tercet.ensemble.draws import (
    Draws,
    aligned,
    check_alignment,
    check_draws,
    encode_pairs,
    frozen,
    join,
    take,
    turn,
)
from tercet.ensemble.export import to_arviz
from tercet.errors import InputError
from tercet.metrics import check_threshold
from tercet.models import Model
from tercet.running.memory import need_memory
from tercet.running.provenance import Seed
from tercet.running.threads import count_threads, in_order
from tercet.text import counted
from tercet.uncertainty import Ellipses, default_method

__all__ = [
    "Ensemble",
]


LARGEST_TABLE = 2**25  # distances in memory at a time: 256 MB
LEAST = float(np.nextafter(0.0, 1.0))  # below it a probability is rounded to 0
BLOCK = 2**20  # distances, or probabilities, of one task of all_probabilities


class Ensemble:
    """Many embeddings, or distance matrices, of the same objects. Immutable.

    Parameters
    ----------
    draws : (S, n, d) array, or (S, n, n) with kind="distances"
        Points as they were drawn, or symmetric matrices of distances.
    kind : {"points", "distances"}
    chains : (S,) integer array, optional
        The chain each draw came from; default all 0.
    parameters : mapping of str to (S,) array, optional
        Parameters drawn with the points: "variance", "lapse", "exponent", "mu", "gamma".
    statistics : mapping of str to (S,) array, optional
        Statistics of each draw: "log_posterior", "loss".
    model : Model, optional
        The model of one comparison.
    names : sequence of str, optional
        The names of the objects.
    alignment : {"none", "rotate", "scale"}
        How `samples` are aligned: not at all; by rotation, reflection and translation; or with
        scaling as well. Only "scale" changes distances, and with them π.
    reference : (n, d) array, optional
        What they are aligned to; by default their common mean (generalised Procrustes).
    centre : (n, d) array, optional
        The embedding of all answers, if the draws are of subsamples: distances become D_centre
        + spread·(D − D_centre), and samples, aligned to it, centre + spread·(sample − centre).
    spread : float
        √(r/(1 − r)) for subsamples of the share r.
    provenance : dict, optional
        Where the draws came from, JSON-compatible: source, settings, seed, diagnostics.
    """

    def __init__(
        self,
        draws: ArrayLike,
        *,
        kind: str = "points",
        chains: ArrayLike | None = None,
        parameters: Mapping[str, ArrayLike] | None = None,
        statistics: Mapping[str, ArrayLike] | None = None,
        model: Model | None = None,
        names: Iterable[str] | None = None,
        alignment: str = "rotate",
        reference: ArrayLike | None = None,
        centre: ArrayLike | None = None,
        spread: float = 1.0,
        provenance: Mapping[str, Any] | None = None,
    ) -> None:
        given = (draws, kind, chains, parameters, statistics, model, names, alignment)
        self._fields = check_draws(*given, reference, centre, spread, provenance)

    @property
    def draws(self) -> Floats:
        """The draws as they were drawn, (S, n, d) points or (S, n, n) distances."""
        return self._fields.draws

    @property
    def kind(self) -> str:
        """Whether the draws are "points" or "distances"."""
        return self._fields.kind

    @property
    def chains(self) -> Index:
        """The chain of each draw, (S,)."""
        return self._fields.chains

    @property
    def n_chains(self) -> int:
        """Number of chains."""
        return len(np.unique(self.chains))

    @property
    def n_samples(self) -> int:
        """Number of draws, over all chains."""
        return len(self.draws)

    @property
    def n_objects(self) -> int:
        """Number of objects."""
        return int(self.draws.shape[1])

    @property
    def n_components(self) -> int:
        """Dimension of the points."""
        self._need_points()
        return int(self.draws.shape[2])

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the objects, if any."""
        return self._fields.names

    @property
    def parameters(self) -> dict[str, Floats]:
        """Parameters drawn with the points, by name, (S,) each."""
        return dict(self._fields.parameters)

    @property
    def statistics(self) -> dict[str, Floats]:
        """Statistics of each draw, by name, (S,) each."""
        return dict(self._fields.statistics)

    @property
    def model(self) -> Model | None:
        """The model of one comparison, if known."""
        return self._fields.model

    @property
    def alignment(self) -> str:
        """How `samples` are aligned: "none", "rotate" or "scale"."""
        return self._fields.alignment

    @property
    def provenance(self) -> dict[str, Any]:
        """Where the draws came from."""
        return deepcopy(self._fields.provenance)

    @cached_property
    def samples(self) -> Floats:
        """The aligned points (S, n, d), for display."""
        self._need_points()
        samples, centre, spread = self._aligned, self._fields.centre, self._fields.spread
        if centre is None:
            return samples
        corrected: Floats = frozen(centre + spread * (samples - centre))
        return corrected

    def realigned(self, alignment: str) -> Self:
        """The same draws with another alignment: "none", "rotate" or "scale".

        "scale" shows relative positions for a model that hardly determines the size of a map, such
        as CKL, or Shepard's with learned parameters. It changes distances, but not their order
        within a draw, and so not π by vote.
        """
        self._need_points()
        check_alignment(alignment)
        return type(self)._of(self._fields._replace(alignment=alignment))

    def in_principal_axes(self) -> Self:
        """The same ensemble rotated to the principal axes of its mean map, largest spread first.

        Along each dimension objects with higher numbers tend to have higher coordinates. One
        rotation (and reflection) applies to all draws, so no distance changes.
        """
        mean = self.samples.mean(axis=0)
        axes = np.linalg.svd(mean - mean.mean(axis=0), full_matrices=True)[2].T
        numbers = np.arange(self.n_objects) - (self.n_objects - 1) / 2.0
        signs = np.where(numbers @ mean @ axes < 0.0, -1.0, 1.0)
        return type(self)._of(turn(self._fields, axes * signs))

    # --- distances ----------------------------------------------------------------------------

    def distances(self, pairs: ArrayLike | None = None) -> Floats:
        """Distances in every draw, (S, m).

        Parameters
        ----------
        pairs : (m, 2) array of numbers or names, optional
            Default: all pairs i < j, in the order of SciPy's pdist.
        """
        return self._distances(self._pairs(pairs))

    def distance_interval(self, pairs: ArrayLike | None = None, level: float = 0.95) -> Floats:
        """Interval (m, 2) that contains the share ``level`` of the draws of each distance."""
        return uncertainty.interval(self.distances(pairs), level)

    # --- comparisons --------------------------------------------------------------------------

    def triplet_probability(
        self, Q: Any, method: str | None = None, n_jobs: int | None = None
    ) -> Floats:
        """Probability π (m,) that near is truly nearer than far (paper, section 3.2).

        Parameters
        ----------
        Q : Triplets, or (m, 3) or (m, 4) array of numbers or names
        method : {"paper", "joint", "vote"}, optional
            See `tercet.uncertainty.triplet_probability`; by default "vote" for 400 draws or more,
            else "joint".
        n_jobs : int, optional
            Threads, all cores by default; the result does not depend on them.
        """
        jobs = count_threads(n_jobs)
        chosen = method or default_method(len(self))

        def probability(table: Floats, near: Index, far: Index) -> Floats:
            return uncertainty.triplet_probability(table, near, far, chosen, jobs)

        return self._by_pairs(self._encode(Q), self._distances, probability)

    def answer_probability(self, Q: Any, *, by_draw: bool = False) -> Floats:
        """Probability (m,) that the next person answers "near".

        The model's probability, averaged over the draws and their parameters; alignment and the
        correction of subsamples have no effect.

        Parameters
        ----------
        Q : Triplets, or (m, 3) or (m, 4) array of numbers or names
        by_draw : bool
            Return the probability (S, m) in every draw instead of their mean.
        """
        model, d = answering_model(self._fields)
        drawn = self._fields.parameters

        def probability(table: Floats, near: Index, far: Index) -> Floats:
            return uncertainty.answer_probability(
                table, near, far, model, d, drawn, by_draw=by_draw
            )

        return self._by_pairs(self._encode(Q), self._squared_as_drawn, probability)

    def choice_probability(self, answers: Any, *, by_draw: bool = False) -> Floats:
        """Probability (m,) of each answer, given by the next person to the same question.

        For triplets it is `answer_probability`.

        Parameters
        ----------
        answers : Choices, Triplets, or (m, 3) or (m, 4) array of numbers or names
        by_draw : bool
            Return the probability (S, m) in every draw instead of their mean.
        """
        if not isinstance(answers, Choices):
            return self.answer_probability(answers, by_draw=by_draw)
        portions = in_portions(answers, LARGEST_TABLE // len(self))
        parts = [self.choice_tables(portion)[0].T for portion in portions]
        if by_draw:
            return np.concatenate(parts, axis=1)
        return np.concatenate([part.mean(axis=0) for part in parts])

    def log_likelihood(self, answers: Any) -> Floats:
        """Log-probability (S, m) of each answer in each draw, times the answer's weight.

        Parameters
        ----------
        answers : Choices, Triplets, or (m, 3) or (m, 4) array of numbers or names
            Comparisons that share a screen are one answer, as in ``fit``.
        """
        given = as_answers(answers)
        need_memory(
            3 * len(self) * len(given),
            f"The log-likelihood of {len(given)} answers in {len(self)} draws",
            "use fewer answers, or select draws with [...] first",
        )
        p = self.choice_probability(given, by_draw=True)
        return np.log(np.maximum(p, LEAST)) * weights_of(given)

    def choice_tables(self, choices: Choices) -> tuple[Floats, Floats]:
        """Probabilities in every draw of choices, and of their alternatives to be chosen first.

        See `tercet.uncertainty.choice_probability`; all of them are in memory at once.
        """
        return choice_tables(self._fields, self._squared_as_drawn, choices)

    def all_probabilities(
        self, method: str | None = None, n_jobs: int | None = None
    ) -> Iterator[tuple[int, Floats]]:
        """Iterate over anchors: the number of each, and π (n, n) of all its comparisons.

        Row j, column l: the probability that j is nearer to the anchor than l is. The row and the
        column of the anchor are NaN. Only a few matrices are in memory at a time.

        Parameters
        ----------
        method, n_jobs
            As in `triplet_probability`.
        """
        chosen = method or default_method(len(self))
        uncertainty.check_method(chosen)
        n = self.n_objects
        need_memory(
            2 * n**2 + n * len(self),
            f"All comparisons of one anchor among {n} objects",
            "ask about some comparisons with triplet_probability, or about their average with "
            "average_uncertainty, which takes a sample",
        )
        return self._each_anchor(chosen, count_threads(n_jobs))

    def _each_anchor(self, method: str, n_jobs: int) -> Iterator[tuple[int, Floats]]:
        n = self.n_objects
        size = max(1, BLOCK // (n * max(n, self.n_samples)))
        blocks = [range(start, min(start + size, n)) for start in range(0, n, size)]

        def block(anchors: range) -> list[tuple[int, Floats]]:
            pairs = np.stack(np.meshgrid(anchors, range(n), indexing="ij"), axis=-1)
            table = self._distances(pairs.reshape(-1, 2))
            parts = np.split(table, len(anchors), axis=1)
            return [
                (anchor, _without(anchor, uncertainty.pairwise_probability(part, method)))
                for anchor, part in zip(anchors, parts, strict=True)
            ]

        for results in in_order(block, blocks, n_jobs):
            yield from results

    def average_uncertainty(
        self,
        over: Any = None,
        method: str | None = None,
        n_jobs: int | None = None,
        *,
        sample: int | str | None = "auto",
        random_state: Seed = 0,
    ) -> Average:
        """Mean of min(π, 1 − π) over all comparisons, or of 1 − π over those given as true.

        The paper's two averages (supplement): the first needs no ground truth; the second is for
        lists of true triplets, weighted by their weights.

        Parameters
        ----------
        over : Choices, Triplets, or (m, 3) or (m, 4) array of numbers or names, optional
        method, n_jobs
            As in `triplet_probability`.
        sample : int, None or "auto"
            Number of random comparisons to use instead of all n(n − 1)(n − 2)/2, equally many of
            every anchor; None for all. "auto" is all up to 120 objects, and 500 000 beyond.
        random_state : int, None or numpy.random.Generator
            Seed of the sample.

        Returns
        -------
        Average
            A float with the attributes ``error``, the standard error from sampling, and ``exact``,
            whether all comparisons were used.
        """
        chosen, jobs = method or default_method(len(self)), count_threads(n_jobs)
        uncertainty.check_method(chosen)
        if over is not None:
            over = over.triplets() if isinstance(over, Choices) else over
            weights = over.weights if isinstance(over, Triplets) else None
            p = self.triplet_probability(over, method, n_jobs)
            return Average(float(np.average(1.0 - p, weights=weights)), len(p))
        size = choose_sample(sample, self.n_objects)
        settings = self._distances, self.n_objects, len(self), chosen, jobs
        if size is None:
            return average_all(*settings)
        return average_sampled(*settings, size, random_state)

    def predict(
        self, Q: Any, threshold: float = 0.9, method: str | None = None
    ) -> NDArray[np.int64]:
        """+1 where π > threshold, -1 where π < 1 − threshold, else 0: abstain (section 4.1).

        Parameters
        ----------
        Q : Triplets, or (m, 3) or (m, 4) array of numbers or names
        threshold : float
            From ½ up to, but not including, 1.
        method
            As in `triplet_probability`.
        """
        check_threshold(threshold)
        p = self.triplet_probability(Q, method)
        return (p > threshold).astype(np.int64) - (1.0 - p > threshold)

    # --- points -------------------------------------------------------------------------------

    def point_mean(self) -> Floats:
        """Mean position (n, d) of every point over the samples."""
        return np.asarray(self.samples.mean(axis=0))

    def point_covariance(self) -> Floats:
        """Covariance (n, d, d) of every point over the samples, S − 1 in the denominator."""
        return uncertainty.point_covariance(self.samples)

    def point_percentile(self, q: ArrayLike) -> Floats:
        """Percentiles, q from 0 to 100, of every coordinate: (n, d), or (len(q), n, d)."""
        return np.asarray(np.percentile(self.samples, np.asarray(q, dtype=np.float64), axis=0))

    def point_interval(self, level: float = 0.95) -> Floats:
        """Interval (n, d, 2) that contains the share ``level`` of the samples, by coordinate."""
        return uncertainty.interval(self.samples, level)

    def ellipses(self, level: float = 0.95) -> Ellipses:
        """Ellipses that contain ``level`` of a normal distribution at each point of a 2-D map."""
        if self.n_components != 2:
            raise InputError(
                f"ellipses need a map of two dimensions, and this one has {self.n_components}; "
                "point_covariance and point_interval work in any dimension."
            )
        uncertainty.check_level(level)
        return uncertainty.ellipses(self.point_mean(), self.point_covariance(), level)

    # --- the draws as a whole -----------------------------------------------------------------

    @classmethod
    def concatenate(cls, ensembles: Iterable[Ensemble]) -> Self:
        """All draws of several ensembles of the same objects; their chains stay separate.

        All are aligned to the reference of the first.
        """
        return cls._of(join([ensemble._fields for ensemble in ensembles]))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one npz file, atomically."""
        storage.write(path, self._fields)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what `save` wrote; nothing in the file is executed."""
        return cls._of(storage.read(path))

    def to_arviz(self, pairs: ArrayLike | None = None, *, answers: Any = None) -> Any:
        """The ensemble as ArviZ's InferenceData (0.x) or DataTree (1.x).

        The posterior has "embedding" (chain, draw, object, dimension), aligned, "distance" (chain,
        draw, pair) and the parameters; sample_stats has the statistics, "log_posterior" under
        ArviZ's name "lp"; log_likelihood has "answers" (chain, draw, answer).

        Parameters
        ----------
        pairs : (m, 2) array of numbers or names, optional
            The pairs whose distances to include, by default all; choose some if there are many.
        answers : Choices, Triplets, or (m, 3) or (m, 4) array of numbers or names, optional
            Those that the draws were fitted to, for ``arviz.loo`` and ``arviz.compare``; see
            `log_likelihood`.
        """
        chosen = self._pairs(pairs)
        samples = self.samples if self.kind == "points" else None
        likelihood = None if answers is None else self.log_likelihood(answers)
        return to_arviz(self._fields, samples, chosen, self._distances(chosen), likelihood)

    def __len__(self) -> int:
        return self.n_samples

    def __getitem__(self, rows: Any) -> Self:
        """An ensemble of the draws selected by an int, a slice, integers or a mask."""
        chosen = rows if isinstance(rows, slice) else np.atleast_1d(np.asarray(rows))
        if not isinstance(chosen, slice) and (chosen.dtype.kind not in "iub" or chosen.ndim != 1):
            raise IndexError(f"draws are selected by an int, a slice, integers or a mask: {rows!r}")
        return type(self)._of(take(self._fields, chosen))

    def __reduce__(self) -> tuple[Callable[[Draws], Self], tuple[Draws]]:
        return type(self)._of, (self._fields,)

    def __repr__(self) -> str:
        draws, d = counted(len(self), "draw"), self.draws.shape[2]
        what = f"in {counted(d, 'dimension')}" if self.kind == "points" else "as distances"
        parts = [f"{draws} of {self.n_objects} objects {what}"]
        if self.n_chains > 1:
            parts += [f"{self.n_chains} chains"]
        if self.model is not None:
            parts += [repr(self.model)]
        if "source" in self._fields.provenance:
            parts += [f"from {self._fields.provenance['source']}"]
        return f"Ensemble({', '.join(parts)})"

    # --- inside -------------------------------------------------------------------------------

    @classmethod
    def _of(cls, fields: Draws) -> Self:
        """Make an ensemble of fields that are already checked."""
        ensemble = cls.__new__(cls)
        arrays = [fields.draws, fields.chains, fields.reference, fields.centre]
        for array in (*arrays, *fields.parameters.values(), *fields.statistics.values()):
            if array is not None:
                array.setflags(write=False)  # a pickled array comes back writable
        ensemble._fields = fields
        return ensemble

    def _need_points(self) -> None:
        if self.kind != "points":
            raise InputError(
                "this ensemble has distances, no points: distances and probabilities are "
                "available, but no map."
            )

    @cached_property
    def _aligned(self) -> Floats:
        """The aligned points, before any correction."""
        points: Floats = frozen(aligned(self._fields))
        return points

    def _pairs(self, pairs: ArrayLike | None) -> Index:
        """Pairs (m, 2) whose distances in all draws fit into memory."""
        chosen = encode_pairs(pairs, self.n_objects, self.names)
        need_memory(
            len(chosen) * len(self),
            f"The distances of {len(chosen)} pairs in {len(self)} draws",
            "give fewer pairs, or select draws with [...] first",
        )
        return chosen

    @cached_property
    def _columns(self) -> Floats:
        """The points from which distances are computed, (n, d, S)."""
        points = self._aligned if self._fields.alignment == "scale" else self.draws
        return np.ascontiguousarray(points.transpose(1, 2, 0))

    def _distances(self, pairs: Index) -> Floats:
        """Distances (S, m), corrected if there is a centre."""
        if self.kind == "distances":
            # Draws of a Gaussian prior may be negative; the likelihood depends on squares only.
            return np.abs(self.draws[:, pairs[:, 0], pairs[:, 1]])
        found = uncertainty.distances(self._columns, pairs)
        centre, spread = self._fields.centre, self._fields.spread
        if centre is None:
            return found
        base = uncertainty.distances(centre[:, :, np.newaxis], pairs)
        return np.asarray(base + spread * (found - base))

    def _squared_as_drawn(self, pairs: Index) -> Floats:
        if self.kind == "distances":
            return self.draws[:, pairs[:, 0], pairs[:, 1]] ** 2
        return uncertainty.distances(self.draws.transpose(1, 2, 0), pairs, squared=True)

    def _by_pairs(
        self,
        comparisons: Index,
        table: Callable[[Index], Floats],
        probability: Callable[[Floats, Index, Index], Floats],
    ) -> Floats:
        """Probabilities of comparisons (m, 4), split until the table of distances fits memory."""
        pairs, near, far = uncertainty.find_pairs(comparisons, self.n_objects)
        if len(pairs) * len(self) <= LARGEST_TABLE or len(comparisons) == 1:
            return probability(table(pairs), near, far)
        halves = np.array_split(comparisons, 2)
        parts = [self._by_pairs(half, table, probability) for half in halves]
        return np.concatenate(parts, axis=-1)

    @cached_property
    def _objects(self) -> Triplets:
        return Triplets([[0, 1, 2]], n_objects=self.n_objects, names=self.names)

    def _encode(self, Q: Any) -> Index:
        """Comparisons of any kind as (m, 4) numbers."""
        array = self._objects.encode(Q)
        return array if array.shape[1] == 4 else array[:, [0, 1, 0, 2]]


def _without(anchor: int, probability: Floats) -> Floats:
    """Set the row and the column of the anchor to NaN."""
    probability[anchor] = probability[:, anchor] = np.nan
    return probability
