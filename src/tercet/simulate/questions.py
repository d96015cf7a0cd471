"""Kinds of questions, one screen each, and random questions of every kind."""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

import numpy as np

from tercet.answers.alternatives import find_forms
from tercet.answers.choices import Choices, restore
from tercet.answers.either import asked_with_ties
from tercet.arrays import Index
from tercet.errors import InputError
from tercet.kinds import BEST_WORST, FARTHEST, ORDERED, UNORDERED
from tercet.running.memory import need_memory
from tercet.running.provenance import Seed, as_generator

__all__ = ["KINDS", "Question", "question_of", "random_questions", "settle_question"]

# The kinds, and how many objects are shown with an anchor and chosen unless told: None where the
# question has no anchor, or where nothing is to be told.
KINDS: dict[str, tuple[int | None, int | None]] = {
    "triplet": (None, None),
    "quadruplet": (None, None),
    "odd_one_out": (None, None),
    "most_central": (None, None),
    "nearest": (9, 3),
    "ranking": (4, None),
    "best_worst": (4, None),
}
TRIANGLES = ("odd_one_out", "most_central")
_SHORT = re.compile(r"(\d+)\s*[ _-]?of[ _-]?\s*(\d+)")  # "3 of 9"


class Question(NamedTuple):
    """A kind of question.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    shown : int
        How many objects are shown, beside the anchor if there is one.
    chosen : int
        How many of the alternatives are chosen.
    ranked : bool
        Whether several are chosen in their order.
    """

    kind: str
    shown: int
    chosen: int
    ranked: bool = False

    @property
    def n_objects(self) -> int:
        """How many objects a screen shows, the anchor among them."""
        return self.shown + (self.kind in ("triplet", "nearest", "ranking", "best_worst"))

    @property
    def n_alternatives(self) -> int:
        """How many pairs there are to choose from."""
        return 2 if self.kind == "quadruplet" else self.shown

    @property
    def n_outcomes(self) -> int:
        """How many answers are possible."""
        if self.kind == "nearest" and not self.ranked:
            return math.comb(self.shown, self.chosen)
        return math.perm(self.n_alternatives, self.chosen)

    @property
    def name(self) -> str:
        """In short, such as "odd one out" or "3 of 9"."""
        if self.kind == "nearest":
            return f"{self.chosen} of {self.shown}" + (" in order" if self.ranked else "")
        if self.kind in ("ranking", "best_worst"):
            return f"{self.kind.replace('_', '-')} of {self.shown}"
        return self.kind.replace("_", " ")

    @property
    def plural(self) -> str:
        """What is counted, such as "triplets" or "odd-one-out screens"."""
        if self.kind in ("triplet", "quadruplet"):
            return f"{self.kind}s"
        if self.kind == "ranking":
            return f"rankings of {self.shown}"
        if self.kind == "best_worst":
            return f"best-worst screens of {self.shown}"
        if self.ranked:
            return f"ranked {self.chosen}-of-{self.shown} screens"
        return f"{self.name.replace(' ', '-')} screens"


def settle_question(
    kind: Any, shown: int | None = None, chosen: int | None = None, ranked: bool = False
) -> Question:
    """The question that these settings describe; see `tercet.simulate.choices`."""
    if isinstance(kind, Question):
        return kind
    word = kind.strip().lower() if isinstance(kind, str) else ""
    if short := _SHORT.fullmatch(word):
        if shown is not None or chosen is not None:
            raise InputError(f"kind={kind!r} says how many are shown and chosen; leave those out.")
        word, chosen, shown = "nearest", int(short[1]), int(short[2])
    word = re.sub("[ -]", "_", word)
    if word not in KINDS:
        raise InputError(
            f"kind must be one of {', '.join(map(repr, KINDS))}, or such as '3 of 9', got {kind!r}."
        )
    usual_shown, usual_chosen = KINDS[word]
    told = {"shown": shown, "chosen": chosen, "ranked": ranked or None}
    known = {"shown": usual_shown, "chosen": usual_chosen, "ranked": usual_chosen}
    for name, value in told.items():
        if value is not None and known[name] is None:
            raise InputError(f"{name} has no meaning for kind={word!r}; leave it out.")
    if usual_shown is None:
        size = {"triplet": 2, "quadruplet": 4}.get(word, 3)
        return Question(word, size, 1)
    shown = usual_shown if shown is None else shown
    least = 4 if word == "best_worst" else 2
    if not _is_whole(shown) or shown < least:
        more = "; of three, that is a ranking" if word == "best_worst" else ""
        raise InputError(
            f"shown must be a whole number from {least} for kind={word!r}{more}, got {shown!r}."
        )
    if word == "ranking":
        return Question(word, int(shown), int(shown) - 1, True)
    if word == "best_worst":
        return Question(word, int(shown), 2, True)
    chosen = min(usual_chosen or 1, shown - 1) if chosen is None else chosen
    if not _is_whole(chosen) or not 1 <= chosen < shown:
        raise InputError(
            f"chosen must be a whole number from 1 to {shown - 1}, fewer than the {shown} objects "
            f"shown, got {chosen!r}."
        )
    return Question(word, int(shown), int(chosen), bool(ranked) and chosen > 1)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


# --- random ones --------------------------------------------------------------------------------


def random_questions(
    n: int,
    m: int,
    kind: str | Question = "odd_one_out",
    *,
    shown: int | None = None,
    chosen: int | None = None,
    ranked: bool = False,
    random_state: Seed = None,
) -> Choices:
    """Draw m questions about n objects uniformly, with replacement.

    Objects and places on the screen are drawn at random. What the choices call chosen has no
    meaning: `answer` and `choices_from_model` answer them.

    Parameters
    ----------
    n, m : int
        Number of objects, and of questions.
    kind, shown, chosen, ranked
        As in `choices`.
    """
    question = settle_question(kind, shown, chosen, ranked)
    if not _is_whole(m) or m < 1:
        raise InputError(f"the number of questions must be a whole number from 1, got {m!r}.")
    size, k = question.n_objects, question.chosen
    if n < size:
        raise InputError(
            f"a question of the kind {question.name!r} is about {size} objects, and there are only "
            f"{n}. Show fewer."
        )
    need_memory(8 * m * (size + question.n_alternatives), f"{m} questions", "ask for fewer")
    rows = _draw_rows(n, m, size, as_generator(random_state))
    first, rest = rows[:, 0], rows[:, 1:]
    if question.kind == "quadruplet":
        asked = Choices(rows.reshape(m, 2, 2), np.zeros(m, dtype=np.int64), n_objects=n)
    elif question.kind == "odd_one_out":
        asked = Choices.odd_one_out(rows, n_objects=n)
    elif question.kind == "most_central":
        asked = Choices.most_central(rows, n_objects=n)
    elif question.kind == "ranking":
        asked = Choices.ranking(first, rest, n_objects=n)
    elif question.kind == "best_worst":
        asked = Choices.best_worst(first, rest, rest[:, 0], rest[:, 1], n_objects=n)
    else:
        asked = Choices.nearest(first, rest, rest[:, :k], ranked=question.ranked, n_objects=n)
    return restore(asked._fields._replace(positions=_positions(question, rows, asked)))


def _draw_rows(n: int, m: int, size: int, rng: np.random.Generator) -> Index:
    """Rows (m, size) of different objects, all ordered ones equally likely."""
    rows = np.empty((m, size), dtype=np.int64)
    for j in range(size):
        drawn = rng.integers(n - j, size=m)
        for taken in np.sort(rows[:, :j], axis=1).T:
            drawn += drawn >= taken  # step over it
        rows[:, j] = drawn
    return rows


def _positions(question: Question, rows: Index, asked: Choices) -> Index:
    """Where each alternative (A,) was shown: the place of the object that stands for it.

    That is the object left out for an odd one out or the most central one, and the object beside
    the anchor where there is one. The pairs of a quadruplet have two places.
    """
    m = len(rows)
    if question.kind == "quadruplet":
        return np.tile(np.arange(2), m)
    ends = asked.pairs.reshape(m, -1, 2).sum(axis=2)
    if question.kind in TRIANGLES:
        clicked, offered = rows.sum(axis=1)[:, None] - ends, rows
    else:
        clicked, offered = ends - rows[:, :1], rows[:, 1:]
    places = np.argmax(clicked[:, :, None] == offered[:, None, :], axis=2)
    return np.asarray(places.reshape(-1))


# --- the question that was asked ----------------------------------------------------------------


def question_of(choices: Choices) -> Question | None:
    """The question that all these choices answer; None if they differ, or are of another kind.

    Whether "cannot tell" was an answer, too, does not matter.
    """
    choices = asked_with_ties(choices, allowed=False)
    forms = find_forms(choices._fields)[0]
    if len(forms) != 1:
        return None
    kind, k, size = map(int, forms[0])
    ends = np.sort(choices.pairs.reshape(len(choices), -1), axis=1)
    objects = 1 + np.count_nonzero(np.diff(ends, axis=1), axis=1)
    pairs = choices.pairs.reshape(len(choices), size, 2)
    shared = (pairs == pairs[:, :1, :1]).any(axis=2).all(axis=1)
    shared |= (pairs == pairs[:, :1, 1:]).any(axis=2).all(axis=1)
    if size == 2 and (objects == 4).all():
        return Question("quadruplet", 4, 1)
    if size == 3 and (objects == 3).all() and k == 1:
        return Question("most_central" if kind == FARTHEST else "odd_one_out", 3, 1)
    if not (shared & (objects == size + 1)).all() or kind == FARTHEST:
        return None
    if size == 2:
        return Question("triplet", 2, 1)
    if kind == BEST_WORST:
        return Question("best_worst", size, 2, True)
    if kind == ORDERED and k == size - 1:
        return Question("ranking", size, k, True)
    return Question("nearest", size, k, kind != UNORDERED and k > 1)
