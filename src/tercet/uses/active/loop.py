"""ActiveLoop: ask, answer, learn, and ask again (paper, section 4.4)."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from tercet.answers.choices import Choices, as_answers
from tercet.answers.either import Answers, split_of
from tercet.answers.questions import single_answers
from tercet.answers.triplets import Triplets
from tercet.arrays import Floats, Index
from tercet.bootstrap import Bootstrap
from tercet.embedder import oriented
from tercet.ensemble import Ensemble
from tercet.errors import DataWarning, InputError
from tercet.held_out import held_out, vote
from tercet.metrics import log_loss, predicted_correctly
from tercet.posterior import Posterior
from tercet.running.provenance import Seed, entropy_of, seed_for
from tercet.running.threads import count_threads, progress_bar
from tercet.tables import Table
from tercet.uncertainty import default_method
from tercet.uses.active.candidates import check_count, check_options, settle_strategy
from tercet.uses.active.collected import (
    by,
    check_somebody,
    count_seen,
    first_objects,
    given_by,
    joined,
    with_objects,
)
from tercet.uses.active.fitting import Fit, fit_again
from tercet.uses.active.pool import cover
from tercet.uses.active.question_kinds import find_kind
from tercet.uses.active.suggestions import Suggestions, suggest

__all__ = ["ActiveLoop", "Record"]

Oracle: TypeAlias = Callable[[Index], Any]
Question: TypeAlias = tuple[int, ...]

# Purposes of random numbers: the first word of the key that spawns a seed.
FIT, ASK, MIX, COVER = range(4)

RANDOM_SHARE = 0.1  # of the questions
FIRST = 3  # questions about an object before others are chosen
ENOUGH = 3  # answers per object before questions are chosen, if a loop starts without any


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
    questions may be pending in between. `tell` also accepts answers to questions that the loop
    did not ask, such as random ones.

    Parameters
    ----------
    maker : Posterior or Bootstrap
        Not fitted. Its ``random_state`` is not used: every round has its own seed. Resampling
        assumes randomly chosen questions; the likelihood does not.
    oracle : callable, optional
        Takes questions (k, w) and returns the answers in a form that `tell` takes.
    start : Triplets, Choices, or rows of numbers or names, optional
        The answers so far; 100 to 200 answers to random questions are a good start. Without them,
        the first questions are random, about all objects equally often, until there are three
        answers per object.
    n_objects : int, optional
        Needed without a start or names, and when the last objects are in no answer yet.
    names : sequence of str, optional
        The names of the objects, without a start.
    kind, n_shown : str, int
        The kind of questions, as in `suggest`.
    n_chosen : int
        How many of the objects shown are chosen in rows of answers, for "nearest".
    strategy, repeats, per_anchor, per_object, method, n_jobs
        As in `suggest`.
    k : int
        Questions per round.
    random_share : float
        The share of random questions that are mixed in.
    candidates : rows, Choices, Triplets, or callable without arguments that returns these, optional
        The only questions to choose from; a function is called in every round.
    warm : bool
        Whether the chains of a posterior go on from their last states after a few new answers, with
        200 draws in all, which takes a tenth of the time or less. They start anew, with all draws,
        when the answers have grown by a quarter, when objects or answers were removed or added
        otherwise, or when the chains disagree.
    score : Choices, Triplets, rows, or callable, optional
        Held-out answers, on which the accuracy is the score of a round; or a function of the
        `Ensemble`.
    random_state : None, int or numpy.random.Generator
    progress : bool, optional
        Whether `run` shows a progress bar; by default on a terminal only.

    Attributes
    ----------
    answers : Triplets or Choices
        All answers, those of the start first.
    triplets : Triplets
        The same, split into comparisons.
    pending : (m, w) array
        Questions that the loop asked and that are not answered yet.
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
        start: Any = None,
        n_objects: int | None = None,
        names: Any = None,
        kind: str = "triplet",
        n_shown: int | None = None,
        n_chosen: int = 1,
        strategy: str | None = None,
        k: int = 10,
        random_share: float = RANDOM_SHARE,
        repeats: bool = False,
        per_anchor: int | None = None,
        per_object: int | None = None,
        candidates: Any = None,
        method: str | None = None,
        warm: bool = True,
        score: Any = None,
        n_jobs: int | None = None,
        random_state: Seed = None,
        progress: bool | None = None,
    ) -> None:
        strategy = settle_strategy(maker, strategy, method)
        self._form = find_kind(kind, n_shown)
        check_options(self._form, k, strategy, per_anchor, per_object, method)
        _check_chosen(kind, n_chosen, self._form.n_shown)
        if not 0.0 <= random_share <= 1.0:
            raise InputError(f"random_share must be a share from 0 to 1, got {random_share!r}.")
        count_threads(n_jobs)
        if oracle is not None and not callable(oracle):
            raise InputError(
                "oracle must be a function that takes questions and returns answers, got "
                f"{type(oracle).__name__}; without one, use ask and tell."
            )
        self.maker, self.oracle, self.strategy, self.k = maker, oracle, strategy, int(k)
        self.kind, self.n_chosen, self.random_share = kind, int(n_chosen), float(random_share)
        self.repeats, self.per_anchor, self.per_object = repeats, per_anchor, per_object
        self.candidates, self.method, self.warm = candidates, method, warm
        self.n_jobs, self.progress = n_jobs, progress
        self.answers: Answers = (
            first_objects(names, n_objects)[:0]
            if start is None
            else (self._read_start(start, n_objects, names))
        )
        self._enough = ENOUGH * self.answers.n_objects if start is None else 0
        self.pending: Index = np.empty((0, self._form.width), dtype=np.int64)
        if candidates is not None and not callable(candidates):
            self._offered()
        self.score = score if score is None or callable(score) else self._held_out(score)
        self._asked_of: list[Any] = []  # who was asked each pending question
        self._answered: dict[Question, Any] = {}  # questions it asked, and who answered
        self.curve: list[Record] = []
        self._entropy = entropy_of(random_state)
        self._fitted: Fit | None = None
        self._method = method  # of the average uncertainty
        self._is_new = True  # whether there are answers that no map was fitted to
        self._asked = 0  # batches so far
        self._mixed = 0.0  # random questions that are due
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
    def triplets(self) -> Triplets:
        """All answers, split into comparisons."""
        return split_of(self.answers)

    @property
    def ensemble_(self) -> Ensemble:
        """Ensemble of all answers; fitted if there are new ones."""
        if self._is_new or self._fitted is None:
            self._fit()
        assert self._fitted is not None
        return self._fitted.ensemble

    def ask(self, k: int | None = None, *, observer: Any = None) -> Suggestions:
        """Choose the next questions, which then are pending; fits first if there are new answers.

        Chosen ones come first, then those about objects that were in fewer than three questions so
        far, then random ones.

        Parameters
        ----------
        k : int, optional
            By default the loop's.
        observer : str or int, optional
            Who is asked, for `withdraw`.
        """
        k = self.k if k is None else k
        check_count("k", k)
        starting = self.answers.n_answers < self._enough
        seen = count_seen(self.answers, self.pending)
        ensemble = self.ensemble_ if not starting and seen.min() >= FIRST else None
        offered, mixed = self._offered(), self._mixed
        taken = self.pending if self.repeats else np.concatenate([self.pending, self._known()])
        rng = np.random.default_rng(self._seed(COVER, self._asked))
        rows = cover(self._form, seen, FIRST, k, taken, offered, rng)
        due, left = 0, k - len(rows)
        if starting:
            due = left
        elif left and self.strategy != "random":
            mixed += self.random_share * left
            due = int(mixed + 1e-9)
            mixed -= due
        if left > due:
            ensemble = self.ensemble_
        start = time.perf_counter()
        parts = [(rows, np.full(len(rows), np.nan))]
        if left > due:
            parts = [self._choose(ensemble, left - due, self.strategy, ASK, rows, offered), *parts]
        if due:
            so_far = np.concatenate([part[0] for part in parts])
            parts.append(self._choose(None, due, "random", MIX, so_far, offered))
        self._seconds += time.perf_counter() - start
        array, values = (np.concatenate(column) for column in zip(*parts, strict=True))
        is_random = np.isnan(values).all()
        for column in (array, values):
            column.setflags(write=False)
        strategy = "random" if is_random else self.strategy
        self._asked, self._mixed = self._asked + 1, mixed
        self.pending = np.concatenate([self.pending, array])
        self._asked_of = [*self._asked_of, *[observer] * len(array)]
        return Suggestions(array, values, strategy, self.answers.names, self.kind)

    def tell(self, answers: Any, *, observer: Any = None) -> None:
        """Add answers, to pending questions or to any others about the objects.

        Questions without an answer stay pending. Each question that the loop asked is answered
        once, so that answers sent twice are not counted twice, unless ``repeats``.

        Parameters
        ----------
        answers : Choices, Triplets, rows, or (m,) array of +1 and -1
            In any order; observers, screens and response times are kept. Rows are numbers or names:
            (anchor, near, far) of triplets, (a, b, c, d), a–b being closer, of quadruplets,
            (similar1, similar2, odd), or (anchor, the chosen ones, the others). +1 and -1 answer
            all pending triplets or quadruplets in the order they were asked: +1 if ``one`` or a–b
            is nearer.
        observer : str or int, optional
            Who gave all these answers.
        """
        told = self._read(answers, self.pending, "answers")
        if told is None:
            return
        if observer is not None:
            told = by(told, observer)
        rows, at = self._form.questions_of(told)
        questions, waiting = _tuples(rows), _tuples(self.pending)
        numbers = {question: place for place, question in enumerate(waiting)}
        pending = [question for question in questions if question in numbers]
        if len(set(pending)) < len(pending):
            raise InputError(
                f"the answers have two rows for one pending {_one(self._form.word)}; keep one."
            )
        for i, question in zip(at.tolist(), questions, strict=True):
            if question in self._answered and question not in numbers and not self.repeats:
                raise InputError(
                    f"row {i} (counting from 0) of the answers, about {list(question)}, answers a "
                    f"{_one(self._form.word)} that was already answered; leave it out, or use "
                    "repeats=True if it is another answer."
                )
        self.answers = joined(self.answers, told)
        people = [None] * len(told) if told.observers is None else told.observers.tolist()
        self._answered |= {
            question: people[i]
            for i, question in zip(at.tolist(), questions, strict=True)
            if question in numbers
        }
        self._keep_pending([question not in set(pending) for question in waiting])
        self._is_new = True

    def withdraw(self, *, observer: Any = None) -> None:
        """Cancel pending questions, so that they may be asked again; or remove a person's answers.

        Parameters
        ----------
        observer : str or int, optional
            Whose answers and pending questions are removed. By default all pending questions are,
            and no answers.
        """
        if observer is None:
            self._keep_pending([False] * len(self.pending))
            return
        who = str(observer)
        waits = [str(person) == who for person in self._asked_of]
        check_somebody(self.answers, observer, any(waits))
        self._keep_pending([not waiting for waiting in waits])
        if self.answers.observers is None:
            return
        gone = given_by(self.answers, observer)
        if gone.any():
            self.answers = self.answers[~gone]
            self._answered = {q: a for q, a in self._answered.items() if str(a) != who}
            self._fitted, self._is_new = None, True

    def add_objects(self, objects: Any) -> None:
        """Add stimuli to the running loop, which are asked about first.

        Parameters
        ----------
        objects : sequence of str, or int
            Their names or, if objects have no names, how many there are.
        """
        self.answers = with_objects(self.answers, objects)
        self._is_new = True

    # --- all at once --------------------------------------------------------------------------

    def step(self) -> Record | None:
        """One round: choose, ask the oracle, fit; None if there are too few answers for a map."""
        if self.oracle is None:
            raise InputError("there is no oracle to answer; pass one, or use ask and tell.")
        before = self.pending, self._asked_of, self._asked, self._mixed
        asked = self.ask().array
        try:
            self.tell(self._answers_to(asked, self.oracle(asked.copy())))
        except BaseException:  # an interrupted round leaves nothing behind
            self.pending, self._asked_of, self._asked, self._mixed = before
            raise
        if self.answers.n_answers < self._enough:
            return None
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
        maker = clone(self.maker).set_params(random_state=self._seed(FIT, len(self.curve)))
        if not len(self.answers):
            raise InputError("there are no answers yet; ask, and tell the answers.")
        self._fitted = fit_again(
            maker, self.answers, self._fitted, warm=self.warm, told=bool(self.curve)
        )
        self._is_new = False
        ensemble = self._fitted.ensemble
        if self._method is None:  # the same in all rounds, however many draws they have
            self._method = default_method(len(ensemble))
        seconds = time.perf_counter() - start + self._seconds
        score, loss = self._judge(ensemble)
        record = Record(
            len(self.curve),
            self.answers.n_answers,
            score,
            loss,
            ensemble.average_uncertainty(method=self._method, n_jobs=self.n_jobs),
            seconds,
        )
        self._seconds = 0.0
        self.curve.append(record)

    def _judge(self, ensemble: Ensemble) -> tuple[float, float]:
        """Score, and log-loss where answers are held out and the model is probabilistic."""
        if self.score is None:
            return np.nan, np.nan
        if callable(self.score):
            return float(self.score(ensemble)), np.nan
        known = ensemble.model is not None and ensemble.model.is_probability
        if isinstance(self.score, Triplets):
            if known:
                p = ensemble.answer_probability(self.score)
                return _share(p), log_loss(p)
            p = ensemble.triplet_probability(self.score, self.method, self.n_jobs)
            return _share(p), np.nan
        units = np.arange(len(self.score))
        found = held_out(ensemble, self.score, units) if known else vote(ensemble, self.score)
        loss = -float(np.mean(found.log_density)) if known else np.nan
        return float(np.mean(found.right)), loss

    def _seed(self, *key: int) -> int:
        return int.from_bytes(seed_for(self._entropy, *key).generate_state(4).tobytes(), "little")

    def _choose(
        self,
        ensemble: Ensemble | None,
        k: int,
        strategy: str,
        purpose: int,
        others: Index,
        offered: Index | None,
    ) -> tuple[Index, Floats]:
        """Questions that are not pending or among others, and their scores."""
        chosen = purpose == ASK
        found = suggest(
            self.answers if ensemble is None else ensemble,
            k,
            strategy,
            kind=self.kind,
            triplets=self.answers,
            pending=np.concatenate([self.pending, others]),
            n_shown=self._form.n_shown if self.kind == "nearest" else None,
            candidates=offered,
            repeats=self.repeats,
            per_anchor=self.per_anchor if chosen else None,
            per_object=self.per_object if chosen else None,
            method=self.method if strategy == "uncertainty" else None,
            random_state=self._seed(purpose, self._asked),
            n_jobs=self.n_jobs,
        )
        return found.array, found.scores if chosen else np.full(k, np.nan)

    def _known(self) -> Index:
        """The questions answered so far."""
        return self._form.questions_of(self.answers)[0]

    def _offered(self) -> Index | None:
        """The only questions that may be asked, if they are limited."""
        given = self.candidates() if callable(self.candidates) else self.candidates
        if given is None:
            return None
        return self._form.questions_of(self._form.read(self.answers, given, "candidates"))[0]

    def _read(self, answers: Any, asked: Index, what: str) -> Answers | None:
        """Answers in any form; signs answer the questions asked."""
        if isinstance(answers, Triplets | Choices):
            return self._form.read(self.answers, answers, what, self.n_chosen)
        if not hasattr(answers, "columns"):
            given = np.asarray(answers)
            if not given.size:
                return None
            if given.ndim == 1:
                return self._signed(asked, given)
        return self._form.read(self.answers, answers, what, self.n_chosen)

    def _signed(self, asked: Index, signs: NDArray[Any]) -> Triplets:
        if len(self._form.alternatives) != 2:
            raise InputError(
                f"answers of kind={self.kind!r} are rows or tc.Choices, with two dimensions, not "
                "+1 and -1."
            )
        n, names = self.answers.n_objects, self.answers.names
        rows = asked if len(asked) else np.arange(self._form.width)[None]
        return oriented(Triplets(rows, n_objects=n, names=names)[: len(asked)], signs)

    def _answers_to(self, asked: Index, answers: Any) -> Answers:
        """The oracle's answers to what was asked; an error if one was not asked."""
        told = self._read(answers, asked, "the oracle's answers")
        if told is None or len(told) != len(asked):
            count = 0 if told is None else len(told)
            raise InputError(
                f"the oracle must answer every question, {len(asked)} of them; got {count} answers."
            )
        rows, at = self._form.questions_of(told)
        known = set(_tuples(asked))
        answered = {i for i, q in zip(at.tolist(), _tuples(rows), strict=True) if q in known}
        for i in range(len(told)):
            if i not in answered:
                raise InputError(
                    f"row {i} (counting from 0) of the oracle's answers is about a "
                    f"{_one(self._form.word)} that was not asked."
                )
        return told

    def _keep_pending(self, kept: list[bool]) -> None:
        self.pending = self.pending[np.array(kept, dtype=bool)]
        self._asked_of = [who for who, keep in zip(self._asked_of, kept, strict=True) if keep]

    def _read_start(self, start: Any, n_objects: int | None, names: Any) -> Answers:
        """The answers to start from."""
        if isinstance(start, Triplets | Choices):
            if names is not None:
                raise InputError("names are those of the answers in start; leave names out.")
            return as_answers(start, n_objects)
        if self.kind == "odd_one_out" and not hasattr(start, "columns"):
            return Choices.odd_one_out(start, n_objects=n_objects, names=names)
        if self.kind == "nearest":
            raise InputError("a loop of kind='nearest' starts from tc.Choices, not from rows.")
        return as_answers(Triplets(start, n_objects=n_objects, names=names))

    def _held_out(self, given: Any) -> Answers:
        """Held-out answers, votes one by one."""
        told = self._form.read(self.answers, given, "score")
        if told is None:
            raise InputError("score has no answers; pass held-out answers, or leave it out.")
        held: Answers = told[single_answers(told, "score")]
        return held


def _check_chosen(kind: str, n_chosen: int, n_shown: int) -> None:
    check_count("n_chosen", n_chosen)
    most = n_shown - 1 if kind == "nearest" else 1
    if n_chosen > most:
        raise InputError(
            f"n_chosen must be {most} at most, got {n_chosen}: of kind={kind!r}, {most} can be "
            "chosen."
        )


def _tuples(rows: Index) -> list[Question]:
    return [tuple(row) for row in rows.tolist()]


def _one(word: str) -> str:
    return word.removesuffix("s")


def _share(probability: NDArray[np.float64]) -> float:
    """Share predicted correctly; ½ counts half."""
    return float(np.mean(predicted_correctly(probability)))
