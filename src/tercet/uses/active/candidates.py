"""Which comparisons may be asked next, and the best of them by a score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tercet.answers.choices import Choices
from tercet.answers.either import Answers
from tercet.answers.triplets import Triplets
from tercet.arrays import Floats, Index
from tercet.bootstrap import Bootstrap
from tercet.embedder import is_count
from tercet.ensemble import Ensemble
from tercet.errors import InputError
from tercet.models import ANY_PROBABILITY, Model
from tercet.posterior import Posterior
from tercet.running.provenance import seed_for
from tercet.running.threads import in_order
from tercet.uncertainty import check_method
from tercet.uses.active.question_kinds import Kind
from tercet.uses.active.scores import Score

TIES, POOL = range(2)  # purpose of random numbers: first word of the key that spawns a seed


def number_rows(rows: Index, n: int) -> Index:
    """The numbers (m,) of comparisons (m, 3), whichever of the two objects comes first.

    (anchor, one, other) with one < other has the number (anchor·n + one)·n + other.
    """
    anchor, first, second = rows.T
    one, other = np.minimum(first, second), np.maximum(first, second)
    return np.asarray((anchor * n + one) * n + other)


def comparisons(numbers: Index, n: int) -> Index:
    """The comparisons (m, 3) with these numbers."""
    anchor, pair = np.divmod(numbers, n * n)
    return np.column_stack([anchor, *np.divmod(pair, n)])


@dataclass(frozen=True)
class Candidates:
    """Comparisons of n objects that may be asked.

    Attributes
    ----------
    n : int
    taken : sorted numbers of comparisons that may not
    offered : sorted numbers of the only ones that may, or None for all
    pool : int
        Where there are more, about this many are sampled at random.
    entropy : int
    """

    n: int
    taken: Index
    offered: Index | None
    pool: int
    entropy: int

    @cached_property
    def left(self) -> Index:
        """How many may be asked for each anchor, (n,)."""
        anchors = np.bincount(self.taken // self.n**2, minlength=self.n)
        if self.offered is None:
            return np.asarray((self.n - 1) * (self.n - 2) // 2 - anchors)
        free = np.setdiff1d(self.offered, self.taken, assume_unique=True)
        return np.bincount(free // self.n**2, minlength=self.n)

    @property
    def is_sample(self) -> bool:
        """Whether there are too many, so that a sample is drawn."""
        return self.offered is None and int(self.left.sum()) > self.pool

    @property
    def is_all(self) -> bool:
        """Whether these are all comparisons except those taken."""
        return self.offered is None and not self.is_sample

    def of(self, anchor: int) -> Index:
        """The pairs that this anchor may be compared with, as sorted numbers one·n + other."""
        first = anchor * self.n**2
        if self.offered is not None:
            start, stop = np.searchsorted(self.offered, [first, first + self.n**2])
            pairs = self.offered[start:stop] - first
        else:
            pairs = self._draw(anchor) if self.is_sample else self._all(anchor)
        start, stop = np.searchsorted(self.taken, [first, first + self.n**2])
        return np.setdiff1d(pairs, self.taken[start:stop] - first, assume_unique=True)

    @cached_property
    def _pairs(self) -> tuple[Index, Index]:
        one, other = np.triu_indices(self.n, 1)
        return one, other

    def _all(self, anchor: int) -> Index:
        one, other = self._pairs
        free = (one != anchor) & (other != anchor)
        return np.asarray(one[free] * self.n + other[free])

    def _draw(self, anchor: int) -> Index:
        rng = np.random.default_rng(seed_for(self.entropy, POOL, anchor))
        # A Poisson number, so that each comparison is included independently, equally likely.
        size = rng.poisson(self.pool / self.n)
        first = rng.integers(self.n - 1, size=size)
        second = rng.integers(self.n - 2, size=size)
        second += second >= first  # two different ones of n − 1, then shifted past the anchor
        one, other = np.minimum(first, second), np.maximum(first, second)
        return np.unique((one + (one >= anchor)) * self.n + other + (other >= anchor))


def choose(
    questions: Candidates, score: Score, k: int, per_anchor: int, n_jobs: int
) -> tuple[Index, Floats]:
    """The k best comparisons (k, 3), and their scores (k,), best first.

    One anchor after the other, so memory does not grow with the number of comparisons. Ties are
    broken by a hash of the comparison and the seed, so the result does not depend on how the work
    is divided.

    Parameters
    ----------
    questions : Candidates
    score : Score
    k : int
    per_anchor : int
        The most comparisons with the same anchor.
    n_jobs : int
    """
    n = questions.n
    seed = seed_for(questions.entropy, TIES).generate_state(1, np.uint64).astype(np.uint64)

    def best_of(anchor: int) -> tuple[Floats, Index]:
        pairs = questions.of(anchor)
        found = score(anchor, *np.divmod(pairs, n))
        if np.isnan(found).any():  # no order, and none of them would ever be the best
            raise InputError(
                "the expected information of some comparisons is not a number: the model of this "
                "ensemble gives no probabilities there. Try strategy='uncertainty'."
            )
        return _best(found, pairs + anchor * n**2, cap, seed)

    cap = min(k, per_anchor)
    anchors = np.flatnonzero(questions.left).tolist()
    found = list(in_order(best_of, anchors, n_jobs))
    scores, numbers = (np.concatenate(parts) for parts in zip(*found, strict=True))
    scores, numbers = _best(scores, numbers, k, seed)
    return comparisons(numbers, n), scores


def _best(scores: Floats, numbers: Index, k: int, seed: NDArray[np.uint64]) -> tuple[Floats, Index]:
    """The k highest scores and their numbers; ties are ordered by the hash of the number."""
    if len(scores) > k:
        least = np.partition(scores, len(scores) - k)[len(scores) - k]
        kept = np.flatnonzero(scores >= least)
        scores, numbers = scores[kept], numbers[kept]
    order = np.lexsort((scrambled(numbers, seed), -scores))[:k]
    return scores[order], numbers[order]


def scrambled(numbers: Index, seed: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Hashes of numbers: the mixing steps of SplitMix64 (Steele et al. 2014), a bijection."""
    mixed = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + seed
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))


# --- checks of what `suggest` and `ActiveLoop` are given ----------------------------------------


STRATEGIES = {  # and the heading of their scores
    "uncertainty": "min(π, 1 − π)",
    "information_gain": "bits about the anchor",
    "mutual_information": "bits about the map",
    "random": "no score",
}
MOST_OBJECTS = 2**21 - 1  # whose comparisons can be numbered in 64 bits, as (a·n + j)·n + l
IN_BITS = ("information_gain", "mutual_information")  # need a probabilistic model


def default_strategy(model: Model | None, method: str | None) -> str:
    """Mutual information for probabilistic models, else uncertainty.

    A method for π implies uncertainty, the only strategy that uses it.
    """
    known = model is not None and model.is_probability and method is None
    return "mutual_information" if known else "uncertainty"


def check_options(
    kind: Kind,
    k: int,
    strategy: str,
    per_anchor: int | None,
    per_object: int | None,
    method: str | None,
) -> None:
    """Raise unless these options of `suggest` are valid."""
    if strategy not in STRATEGIES:
        known = ", ".join(map(repr, STRATEGIES))
        raise InputError(f"strategy must be one of {known}, got {strategy!r}.")
    check_count("k", k)
    for name, limit, needed in (
        ("per_anchor", per_anchor, kind.has_anchor),
        ("per_object", per_object, not kind.has_anchor),
    ):
        if limit is not None:
            check_count(name, limit)
            if not needed:
                other = "per_anchor" if kind.has_anchor else "per_object"
                with_it = "an anchor" if kind.has_anchor else "no anchor"
                raise InputError(f"kind={kind.name!r} has {with_it}: use {other}, not {name}.")
    if strategy == "information_gain" and kind.name != "triplet":
        raise InputError(
            "strategy='information_gain' is about the anchor of a triplet; use "
            f"'mutual_information' for kind={kind.name!r}."
        )
    if method is not None and kind.name != "triplet":
        raise InputError(
            f"method is for triplets; for kind={kind.name!r} the draws vote. Leave it out."
        )
    if method is not None:
        check_method(method)
        if strategy != "uncertainty":
            raise InputError(f"method is for strategy='uncertainty'; {strategy!r} has none.")


def check_count(name: str, value: int) -> None:
    """Raise unless it is a positive whole number."""
    if not is_count(value):
        raise InputError(f"{name} must be a positive whole number, got {value!r}.")


def read_objects(given: Any, strategy: str | None, kind: Kind) -> Answers:
    """The objects that questions are about, with the answers so far, if any.

    The objects are those of an ensemble; for random questions also those of answers, a list of
    names, or their number.
    """
    if isinstance(given, Ensemble):
        return without_answers(given.n_objects, given.names)
    if strategy != "random":
        raise InputError(
            "suggest needs an Ensemble, such as the ensemble_ of a fitted Posterior or Bootstrap; "
            f"got {type(given).__name__}. Only strategy='random' also accepts answers, "
            "names, or the number of objects."
        )
    if is_count(given):
        return without_answers(int(given), None)
    if isinstance(given, Sequence) and all(isinstance(each, str) for each in given):
        return without_answers(len(given), given)
    if isinstance(given, Triplets | Choices):
        return given
    return kind.first_answers(given)


def without_answers(count: int, names: Sequence[str] | None) -> Triplets:
    """The objects, without answers."""
    if not 3 <= count <= MOST_OBJECTS:
        raise InputError(
            f"questions are about 3 objects or more, up to {MOST_OBJECTS}; there are {count}."
        )
    nothing: Triplets = Triplets([[0, 1, 2]], n_objects=count, names=names)[:0]
    return nothing


def check_ensemble(ensemble: Ensemble, strategy: str) -> None:
    """Raise unless the strategy works with this ensemble."""
    if strategy in IN_BITS:
        try:
            ensemble.answer_probability([[0, 1, 2]])
        except InputError as error:
            raise InputError(
                f"strategy={strategy!r} needs probabilities of answers: {error} "
                "strategy='uncertainty' works with any ensemble."
            ) from error


def check_left(kind: Kind, k: int, free: int, offered: int | None, repeats: bool) -> None:
    """Raise unless there are k questions left to choose from."""
    if k > free:
        of = f"all {kind.word}" if offered is None else f"{offered} offered"
        raise InputError(
            f"{k} {kind.word} were requested, but of {of} only {free} are "
            + ("not " if repeats else "neither answered nor ")
            + "pending; request fewer"
            + (", or offer others." if repeats else ", offer others, or use repeats=True.")
        )


def check_cap(kind: Kind, k: int, most: int, cap: int) -> None:
    """Raise unless the limit for each anchor or object allows k questions."""
    if k > most:
        name = "per_anchor" if kind.has_anchor else "per_object"
        raise InputError(
            f"{k} {kind.word} were requested, but {name}={cap} allows only {most}; "
            "raise it, or request fewer."
        )


def settle_strategy(maker: Posterior | Bootstrap, strategy: str | None, method: str | None) -> str:
    """The strategy, or the default; raise unless the maker's model supports it."""
    if not isinstance(maker, Posterior | Bootstrap):
        raise InputError(
            "maker must be an unfitted Posterior or Bootstrap, such as Posterior(STE(2)); got "
            f"{type(maker).__name__}."
        )
    model = maker.embedder.model()
    strategy = default_strategy(model, method) if strategy is None else strategy
    if strategy in IN_BITS and not model.is_probability:
        raise InputError(
            f"strategy={strategy!r} needs a probabilistic model, and "
            f"{type(maker.embedder).__name__} is not one; use {ANY_PROBABILITY}, or "
            "strategy='uncertainty'."
        )
    return strategy
