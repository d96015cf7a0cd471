"""ActiveLoop: ask, answer, learn, and ask again (paper, section 4.4)."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from tercet.answers.questions import single_answers
from tercet.answers.triplets import Triplets
from tercet.arrays import Index
from tercet.bootstrap import Bootstrap
from tercet.embedder import oriented
from tercet.ensemble import Ensemble
from tercet.errors import DataWarning, InputError
from tercet.metrics import log_loss, predicted_correctly
from tercet.posterior import Posterior
from tercet.running.provenance import Seed, entropy_of, seed_for
from tercet.running.threads import count_threads, progress_bar
from tercet.tables import Table
from tercet.uses.active.candidates import (
    check_count,
    check_options,
    check_start,
    number_rows,
    read_comparisons,
    settle_strategy,
)
from tercet.uses.active.suggestions import Suggestions, suggest

__all__ = ["ActiveLoop", "Record"]

Oracle: TypeAlias = Callable[[Index], ArrayLike]

FIT, ASK = range(2)  # purpose of random numbers: first word of the key that spawns a seed


class Record(NamedTuple):
    """One round of a learning curve."""

    round: int  # 0 is the start
    n_answers: int
    score: float  # accuracy on held-out answers, or the value of the score function
    log_loss: float  # of held-out answers, in nats
    uncertainty: float  # mean of min(π, 1 − π) over all comparisons
    seconds: float  # to fit and to choose, without waiting for answers


class ActiveLoop:
    """Rounds of questions and answers, each batch chosen from all answers so far.

    With an ``oracle``, `run` does everything. Where answers come from people, use `ask` and `tell`;
    comparisons may be pending in between. `tell` also accepts answers to questions that the loop
    did not ask, such as random ones.

    Parameters
    ----------
    maker : Posterior or Bootstrap
        Not fitted. Its ``random_state`` is not used: every round has its own seed. Resampling
        assumes randomly chosen comparisons; the likelihood does not.
    oracle : callable, optional
        Takes comparisons (k, 3) and returns the answers: rows (anchor, near, far), or +1 where the
        first of the two is nearer and -1 where the second is.
    start : Triplets, or (m, 3) array of numbers or names
        The answers so far; 100 to 200 answers to random comparisons are a good start. Observers
        are not kept.
    n_objects : int, optional
        Needed when the last objects are in no answer yet.
    strategy, repeats, per_anchor, method, n_jobs
        As in `suggest`.
    k : int
        Questions per round.
    candidates : (m, 3) array, or callable without arguments that returns one, optional
        The only comparisons to choose from; a function is called in every round.
    score : Triplets, (m, 3) array, or callable, optional
        Held-out answers, on which the accuracy is the score of a round; or a function of the
        `Ensemble`.
    random_state : None, int or numpy.random.Generator
    progress : bool, optional
        Whether `run` shows a progress bar; by default on a terminal only.

    Attributes
    ----------
    triplets : Triplets
        All answers, those of the start first.
    pending : (m, 3) array
        Comparisons that the loop asked and that are not answered yet.
    ensemble_ : Ensemble
        From the last fit.
    curve : list of Record
        One for each fit.

    Examples
    --------
    >>> import tercet as tc
    >>> points, _ = tc.simulate.gaussian_mixture(15, random_state=0)
    >>> def observer(asked):
    ...     return tc.simulate.answer(points, asked, noise=0.3, random_state=len(asked))
    >>> loop = tc.ActiveLoop(
    ...     tc.Posterior(tc.CKL(2), n_samples=500, n_chains=2),
    ...     observer,
    ...     start=tc.simulate.noisy_triplets(points, 150, noise=0.3, random_state=0),
    ...     k=20,
    ...     random_state=0,
    ... )
    >>> [record.n_answers for record in loop.run(2).curve]
    [150, 170, 190]
    """

    def __init__(
        self,
        maker: Posterior | Bootstrap,
        oracle: Oracle | None = None,
        *,
        start: Any,
        n_objects: int | None = None,
        strategy: str | None = None,
        k: int = 10,
        repeats: bool = False,
        per_anchor: int | None = None,
        candidates: Any = None,
        method: str | None = None,
        score: Any = None,
        n_jobs: int | None = None,
        random_state: Seed = None,
        progress: bool | None = None,
    ) -> None:
        strategy = settle_strategy(maker, strategy, method)
        check_options(k, strategy, per_anchor, method)
        count_threads(n_jobs)
        if oracle is not None and not callable(oracle):
            raise InputError(
                "oracle must be a function that takes comparisons and returns answers, got "
                f"{type(oracle).__name__}; without one, use ask and tell."
            )
        self.maker, self.oracle, self.strategy, self.k = maker, oracle, strategy, int(k)
        self.repeats, self.per_anchor, self.candidates = repeats, per_anchor, candidates
        self.method, self.n_jobs, self.progress = method, n_jobs, progress
        self.triplets = _extended(check_start(start, n_objects), np.empty((0, 3), dtype=np.int64))
        if candidates is not None and not callable(candidates):
            self._comparisons(candidates, "candidates")
        self.score = score if score is None or callable(score) else self._held_out(score)
        self.pending: Index = np.empty((0, 3), dtype=np.int64)
        self._answered: Index = np.empty(0, dtype=np.int64)  # numbers of what it asked
        self.curve: list[Record] = []
        self._entropy = entropy_of(random_state)
        self._ensemble: Ensemble | None = None
        self._asked = 0  # batches so far
        self._seconds = 0.0  # spent on choosing since the last fit
        if isinstance(maker, Bootstrap) and strategy != "random":
            warnings.warn(
                "resampling is not valid for actively chosen comparisons, so the uncertainties of "
                "this bootstrap may be wrong; the likelihood is valid: use Posterior.",
                DataWarning,
                stacklevel=2,
            )

    # --- one step at a time -------------------------------------------------------------------

    @property
    def ensemble_(self) -> Ensemble:
        """Ensemble of all answers; fitted if there are new ones."""
        if self._ensemble is None:
            self._fit()
        assert self._ensemble is not None
        return self._ensemble

    def ask(self, k: int | None = None) -> Suggestions:
        """Choose the next comparisons, which then are pending; fits first if there are new answers.

        Parameters
        ----------
        k : int, optional
            By default the loop's.
        """
        ensemble, start = self.ensemble_, time.perf_counter()
        suggestions = suggest(
            ensemble,
            self.k if k is None else k,
            self.strategy,
            triplets=self.triplets,
            pending=self.pending,
            candidates=self.candidates() if callable(self.candidates) else self.candidates,
            repeats=self.repeats,
            per_anchor=self.per_anchor,
            method=self.method,
            random_state=self._seed(ASK, self._asked),
            n_jobs=self.n_jobs,
        )
        self._seconds += time.perf_counter() - start
        self._asked += 1
        self.pending = np.concatenate([self.pending, suggestions.array])
        return suggestions

    def tell(self, answers: Any) -> None:
        """Add answers, to pending comparisons or to any others of the objects.

        Comparisons without an answer stay pending. Each comparison that the loop asked is answered
        once, so that answers sent twice are not counted twice, unless ``repeats``.

        Parameters
        ----------
        answers : (m, 3) array of rows (anchor, near, far), or (m,) array of +1 and -1
            Rows may be numbers or names, in any order. +1 and -1 answer all pending comparisons in
            the order they were asked: +1 if ``one`` is nearer.
        """
        given = np.asarray(answers)
        if not given.size:
            return
        if given.ndim == 1:
            rows = oriented(self._triplets(self.pending), given).array
        else:
            rows = self._comparisons(answers, "answers")
        n = self.triplets.n_objects
        numbers, waiting = number_rows(rows, n), number_rows(self.pending, n)
        pending = np.isin(numbers, waiting)
        if len(np.unique(numbers[pending])) < np.count_nonzero(pending):
            raise InputError("the answers have two rows for one pending comparison; keep one.")
        again = ~pending & np.isin(numbers, self._answered)
        if again.any() and not self.repeats:
            i = int(np.argmax(again))
            raise InputError(
                f"row {i} (counting from 0) of the answers, {rows[i].tolist()}, answers a "
                "comparison that was already answered; leave it out, or use repeats=True if it is "
                "another answer."
            )
        self.triplets = _extended(self.triplets, rows)
        self.pending = self.pending[~np.isin(waiting, numbers)]
        self._answered = np.union1d(self._answered, numbers[pending])
        self._ensemble = None

    def withdraw(self) -> None:
        """Cancel pending comparisons, so that they may be asked again."""
        self.pending = self.pending[:0]

    # --- all at once --------------------------------------------------------------------------

    def step(self) -> Record:
        """One round: choose, ask the oracle, fit."""
        if self.oracle is None:
            raise InputError("there is no oracle to answer; pass one, or use ask and tell.")
        before = self.pending, self._asked
        asked = self.ask().array
        try:
            answers = np.asarray(self.oracle(asked.copy()))
            if answers.shape not in ((len(asked), 3), (len(asked),)):
                raise InputError(
                    f"the oracle must answer every comparison, with {len(asked)} rows (anchor, "
                    f"near, far) or as many of +1 and -1; got shape {answers.shape}."
                )
            self.tell(self._answers_to(asked, answers))
        except BaseException:  # an interrupted round leaves nothing behind
            self.pending, self._asked = before
            raise
        self._fit()
        return self.curve[-1]

    def run(self, rounds: int) -> ActiveLoop:
        """Run this many more rounds. An interruption loses at most one round."""
        check_count("rounds", rounds)
        with progress_bar(rounds, "rounds", self.progress) as bar:
            for _ in range(rounds):
                self.step()
                bar.update(1)
        return self

    def table(self) -> str:
        """The learning curve, one line per round."""
        header = ("round", "answers", "score", "log-loss", "uncertainty", "seconds")
        rows = [
            [
                str(r.round),
                str(r.n_answers),
                *("–" if x != x else f"{x:.3f}" for x in (r.score, r.log_loss, r.uncertainty)),
                f"{r.seconds:.2f}",
            ]
            for r in self.curve
        ]
        return Table("", header, rows).text(right=True)

    def __str__(self) -> str:
        return self.table()

    # --- inside -------------------------------------------------------------------------------

    def _fit(self) -> None:
        start = time.perf_counter()
        seed = self._seed(FIT, len(self.curve))
        maker = clone(self.maker).set_params(random_state=seed)
        ensemble: Ensemble = maker.fit(self.triplets, n_objects=self.triplets.n_objects).ensemble_
        seconds = time.perf_counter() - start + self._seconds
        score, loss = self._judge(ensemble)
        record = Record(
            len(self.curve),
            self.triplets.n_answers,
            score,
            loss,
            ensemble.average_uncertainty(n_jobs=self.n_jobs),
            seconds,
        )
        self._ensemble, self._seconds = ensemble, 0.0
        self.curve.append(record)

    def _judge(self, ensemble: Ensemble) -> tuple[float, float]:
        """Score, and log-loss where answers are held out and the model is probabilistic."""
        if self.score is None:
            return np.nan, np.nan
        if callable(self.score):
            return float(self.score(ensemble)), np.nan
        if ensemble.model is not None and ensemble.model.is_probability:
            p = ensemble.answer_probability(self.score)
            return _share(p), log_loss(p)
        return _share(ensemble.triplet_probability(self.score, self.method, self.n_jobs)), np.nan

    def _seed(self, *key: int) -> int:
        return int.from_bytes(seed_for(self._entropy, *key).generate_state(4).tobytes(), "little")

    def _comparisons(self, given: Any, what: str) -> Index:
        return read_comparisons(self.triplets, given, what)

    def _answers_to(self, asked: Index, answers: NDArray[Any]) -> Index:
        """The oracle's answers as rows (k, 3); an error if one was not asked."""
        if answers.ndim == 1:
            return oriented(self._triplets(asked), answers).array
        rows, n = self._comparisons(answers, "the oracle's answers"), self.triplets.n_objects
        other = ~np.isin(number_rows(rows, n), number_rows(asked, n))
        if other.any():
            i = int(np.argmax(other))
            raise InputError(
                f"row {i} (counting from 0) of the oracle's answers, {rows[i].tolist()}, answers a "
                "comparison that was not asked."
            )
        return rows

    def _held_out(self, given: Any) -> Index:
        """Held-out answers (m, 3), votes one by one."""
        rows = self._comparisons(given, "score")
        if len(rows) == 0:
            raise InputError("score has no answers; pass held-out answers, or leave it out.")
        return rows[single_answers(given, "score")] if isinstance(given, Triplets) else rows

    def _triplets(self, rows: Index) -> Triplets:
        return Triplets(rows, n_objects=self.triplets.n_objects)


def _share(probability: NDArray[np.float64]) -> float:
    """Share predicted correctly; ½ counts half."""
    return float(np.mean(predicted_correctly(probability)))


def _extended(triplets: Triplets, rows: Index) -> Triplets:
    weights = triplets.weights
    if weights is not None:
        weights = np.concatenate([weights, np.ones(len(rows))])
    array = np.concatenate([triplets.array, rows])
    names = triplets.names
    return Triplets(array, n_objects=triplets.n_objects, names=names, weights=weights)
