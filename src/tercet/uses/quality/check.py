"""check_answers: what can be said of the answers before anything is embedded."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.answers.repeats import find_repeats, prepare
from tercet.diagnosis import diagnose
from tercet.ensemble import Ensemble
from tercet.provenance import Seed, entropy_of, seed_for
from tercet.triplets import as_triplets
from tercet.uses.quality.counts import count_answers, count_copies
from tercet.uses.quality.differences import compare_observers
from tercet.uses.quality.guessing import GUESSING, REVERSED
from tercet.uses.quality.observers import check_catch, check_observers
from tercet.uses.quality.result import AnswerCheck

__all__ = ["check_answers"]


def check_answers(
    triplets: Any,
    *,
    catch: Any = None,
    ensemble: Ensemble | None = None,
    random_state: Seed = None,
) -> AnswerCheck:
    """Say what can be said of answers before anything is embedded: gaps, repeats, observers.

    Observers are judged by answers predicted from those of others: the observers are dealt into at
    most 10 folds, a map in the plane (STE, penalised) is fitted without a fold, and predicts it;
    the maps of nine such deals vote (three, above 50 000 answers). Whether observers differ from
    each other is tested by shuffling them within comparisons; see `ObserverDifferences`.

    Parameters
    ----------
    triplets : Triplets, array or data frame
        The answers. Whole weights are votes.
    catch : object with ``passed`` (k,) and ``observers`` (k,) or None, optional
        Catch trials, such as a file's reader found (`tercet.io.reading.Catch`).
    ensemble : Ensemble, optional
        Made of **other** answers about these objects, such as an earlier study: it predicts the
        answers instead of maps fitted here. One that has seen these answers would flatter.
    random_state : None, int or numpy.random.Generator
        For the folds of observers, the starts of their maps, and the shuffling of observers.

    Returns
    -------
    AnswerCheck
        Prints as plain text.

    Examples
    --------
    >>> import tercet as tc
    >>> psi = tc.simulate.perception_functions(3, [0, 0.2, 0.5, 0.7, 1], lengthscale=2)
    >>> answers = tc.simulate.observers(psi, 20, noise=0.3, random_state=0)
    >>> check_answers(answers, random_state=0).counts.answers
    60
    """
    answers = as_triplets(triplets)
    check_catch(catch)
    entropy = entropy_of(random_state)
    prepared = prepare(answers)
    repeats = find_repeats(prepared)
    rng = np.random.default_rng(seed_for(entropy))
    observed = check_observers(prepared, catch, ensemble, rng)
    strange = [each.verdict in (GUESSING, REVERSED) for each in observed.checks]
    differences = compare_observers(
        prepared, np.array(strange, dtype=np.bool_), np.random.default_rng(seed_for(entropy, 0))
    )
    return AnswerCheck(
        counts=count_answers(prepared),
        copies=count_copies(answers),
        repeats=None if isinstance(repeats, str) else repeats,
        no_repeats=repeats if isinstance(repeats, str) else "",
        gaps=tuple(diagnose(answers)),
        observers=observed.checks,
        typical=observed.typical,
        answers_needed=observed.needed,
        differences=None if isinstance(differences, str) else differences,
        no_differences=differences if isinstance(differences, str) else "",
        catch_trials=0 if catch is None else len(catch.passed),
        catch_passed=0 if catch is None else int(np.sum(catch.passed)),
        seed=entropy,
    )
