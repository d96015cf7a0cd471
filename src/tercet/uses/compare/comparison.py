"""The result of a comparison of models, and whether a model fits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from tercet.answers.choices import Choices, as_answers
from tercet.answers.repeats import (
    NoiseCeiling,
    are_votes,
    ceiling_of,
    ceiling_of_answers,
    repeated_votes,
)
from tercet.answers.triplets import Triplets
from tercet.arrays import Floats
from tercet.ensemble import Ensemble
from tercet.held_out import RARELY
from tercet.running.provenance import Seed, entropy_of, seed_for
from tercet.tables import Table
from tercet.text import wrap
from tercet.uses.compare.replicates import choice_deviances, deviance

__all__ = [
    "Comparison",
    "LackOfFit",
    "ModelScore",
    "lack_of_fit",
]

ERRORS = 2.0  # standard errors from which a difference is called clear
# The standard error of a total difference below 4 nats is unreliable (Sivula, Magnusson, Matamoros
# & Vehtari 2020), so such a difference is never called clear.
NATS = 4.0
MISFIT = 0.05


class ModelScore(NamedTuple):
    """The scores of one model; losses are per answer, in nats; None without a likelihood.

    Attributes
    ----------
    model : str
    log_loss, log_loss_se : float or None
        −log predictive density of held-out answers, per answer, and its standard error over units.
    difference, difference_se : float or None
        Log-loss minus that of the best model, and the standard error of that difference: both
        models predict the same units, so it is smaller than the two errors suggest.
    weight : float or None
        Stacking weight: its share in the mixture of models that predicts best; None if its chains
        disagree.
    accuracy, accuracy_se : float
        Share of held-out answers predicted correctly: the most likely outcome is the answer.
    in_order : float
        Share of the comparisons within held-out answers that are predicted correctly.
    source : str
        Where the predictions come from: leave-one-out, K-fold or hold-out.
    n_flagged : int
        Influential units, whose k̂ was too large, so that the model was refitted without them.
    k_hat : float or None
        The largest k̂.
    problems : tuple of str
        Problems of its fit to all answers.
    lack_of_fit : LackOfFit or None
        Of that fit; None if no comparison was asked twice.
    failed_refits : (failed, all)
        How many of the refits without some of the answers did not converge.
    converged : bool
        Whether its chains agree by R-hat; True if there are none.
    ran_longer : bool
        Whether it was refitted with longer chains, because they disagreed.
    """

    model: str
    log_loss: float | None
    log_loss_se: float | None
    difference: float | None
    difference_se: float | None
    weight: float | None
    accuracy: float
    accuracy_se: float
    in_order: float
    source: str
    n_flagged: int
    k_hat: float | None
    problems: tuple[str, ...]
    lack_of_fit: LackOfFit | None
    failed_refits: tuple[int, int] = (0, 0)
    converged: bool = True
    ran_longer: bool = False


@dataclass(frozen=True)
class Comparison:
    """The result of `compare_models`; print it.

    Attributes
    ----------
    scores : tuple of ModelScore
        Best first; then those whose chains disagree; models without likelihood come last, by
        accuracy.
    unit : str
        What was left out together.
    n_units, n_answers : int
        Number predicted.
    chance, chance_log_loss : float
        Accuracy and log-loss of guessing: ½ and log 2 for comparisons, ⅓ and log 3 for odd ones
        out.
    ceiling : NoiseCeiling or None
        For models that do not know who answers, on questions asked more than once.
    repeated_accuracy : float or None
        Accuracy of the best of these models on those questions.
    notes : tuple of str
        Caveats.
    seed : int
        Reproduces the result as ``random_state``.
    log_density : (U, K) array
        Log predictive density of every unit under the models with a likelihood, in the order of
        ``scores``.
    """

    scores: tuple[ModelScore, ...]
    unit: str
    n_units: int
    n_answers: int
    chance: float
    chance_log_loss: float
    ceiling: NoiseCeiling | None
    repeated_accuracy: float | None
    notes: tuple[str, ...]
    seed: int
    log_density: Floats = field(repr=False, compare=False)

    @property
    def best(self) -> str | None:
        """The model with the smallest log-loss (without any likelihood, the largest accuracy).

        Models whose chains disagree are not called best; None if there are no others.
        """
        return self.scores[0].model if self.scores[0].converged else None

    @property
    def weights(self) -> dict[str, float]:
        """Stacking weight of every model with a likelihood whose chains agree."""
        return {s.model: s.weight for s in self.scores if s.weight is not None}

    @property
    def verdict(self) -> str:
        """What the numbers mean, in words."""
        return "\n".join(sentences(self))

    def table(self) -> str:
        """The scores as a text table."""
        return tabulate_scores(self)

    def records(self) -> list[dict[str, Any]]:
        """The scores as dicts, for example for ``pandas.DataFrame``."""
        rows = []
        for score in self.scores:
            row = score._asdict()
            misfit = row.pop("lack_of_fit")
            row["lack_of_fit_p"] = None if misfit is None else misfit.p_value
            row["problems"] = "; ".join(score.problems)
            rows.append(row)
        return rows

    def __str__(self) -> str:
        paragraphs = [wrap(line, 96, indent="  ") for line in sentences(self)]
        return "\n".join([self.table(), "", *paragraphs])


def clearly_worse(score: ModelScore, n_answers: int) -> bool:
    """Whether it is worse than the best by 2 standard errors and 4 nats in total."""
    if score.difference is None or score.difference_se is None:
        return False
    return score.difference > max(ERRORS * score.difference_se, NATS / n_answers)


def sentences(found: Comparison) -> list[str]:
    """The verdict, one sentence each."""
    likely = [score for score in found.scores if score.log_loss is not None]
    others = [score for score in found.scores if score.log_loss is None]
    said = _about_likelihood(found, likely) if likely else []
    if others:
        said.append(_about_accuracy(others, likely))
    return said + _caveats(found)


def _about_likelihood(found: Comparison, likely: list[ModelScore]) -> list[str]:
    best, *rest = likely
    assert best.log_loss is not None
    if not best.converged:
        return [
            "No model is called best: the chains of all ended in different maps, so their scores "
            "are provisional."
        ]
    rest = [score for score in rest if score.converged]
    said = [
        f"{best.model} predicts held-out answers best: log-loss {best.log_loss:.3f} per answer "
        f"(chance: {found.chance_log_loss:.3f}), {best.accuracy:.1%} of answers predicted "
        f"correctly (chance: {found.chance:.1%})."
    ]
    if found.chance < RARELY:
        said.append(
            f"Of the comparisons within these answers it predicts {best.in_order:.1%} correctly."
        )
    if best.log_loss > found.chance_log_loss:
        said.append("It predicts no better than chance: these answers support none of the models.")
    worse = [score.model for score in rest if clearly_worse(score, found.n_answers)]
    close = [score.model for score in rest if score.model not in worse]
    if close:
        said.append(f"Not distinguishable from it: {'; '.join(close)}.")
    if worse:
        said.append(f"Clearly worse: {'; '.join(worse)}.")
    return said + _about_fit(best) + _about_ceiling(found)


def _about_fit(best: ModelScore) -> list[str]:
    misfit = best.lack_of_fit
    if misfit is None:
        return [
            "Whether it fits is unknown, because no comparison was asked twice. The best of these "
            "models may still be wrong."
        ]
    numbers = (
        f"deviance {misfit.deviance:.0f}, {misfit.expected:.0f} expected, on "
        f"{misfit.n_comparisons} repeated comparisons, p = {misfit.p_value:.3f}"
    )
    if misfit.p_value < MISFIT:
        said = [
            f"Although the best, it does not fit: {numbers}. Its uncertainty does not account for "
            "that; try another dimension or model, or look for observers who differ."
        ]
    else:
        said = [f"No lack of fit was found: {numbers}."]
    return said


def _about_ceiling(found: Comparison) -> list[str]:
    if found.ceiling is None or found.repeated_accuracy is None:
        return []
    low, high = found.ceiling.accuracy_interval
    asked = "comparisons asked" if found.ceiling.asked == "comparison" else "screens shown"
    return [
        f"On {asked} more than once it predicts {found.repeated_accuracy:.1%} of answers "
        f"correctly; the noise ceiling is {found.ceiling.accuracy:.1%} (95 % interval {low:.1%} to "
        f"{high:.1%})."
    ]


def _about_accuracy(others: list[ModelScore], likely: list[ModelScore]) -> str:
    shares = [
        f"{score.model} {score.accuracy:.1%} ± {score.accuracy_se:.1%} ({score.source})"
        for score in others + likely[:1]
    ]
    return f"Without a likelihood only accuracy can be compared: {', '.join(shares)}."


def _caveats(found: Comparison) -> list[str]:
    said = []
    if apart := [score.model for score in found.scores if not score.converged]:
        said.append(
            "! Not converged, although refitted with longer chains, which still disagree; neither "
            f"called best nor compared with it: {'; '.join(apart)}."
        )
    if longer := [score.model for score in found.scores if score.ran_longer and score.converged]:
        said.append(f"Refitted with longer chains, because they disagreed: {'; '.join(longer)}.")
    if failed := [score.model for score in found.scores if score.problems and score.converged]:
        said.append(
            f"Not fully converged, so interpret their scores with care: {'; '.join(failed)}."
        )
    partly = [
        f"{score.model} ({score.failed_refits[0]} of {score.failed_refits[1]})"
        for score in found.scores
        if score.failed_refits[0]
    ]
    if partly:
        said.append(f"Refits that did not converge: {'; '.join(partly)}.")
    flagged = [score for score in found.scores if score.n_flagged]
    again = [score for score in flagged if score.source == "leave-one-out"]
    if again:
        said.append(
            f"Refitted without influential {found.unit}s, whose k̂ was too large: {_counts(again)}."
        )
    if folded := [score for score in flagged if score not in again]:
        said.append(
            f"K-fold instead of leave-one-out, because k̂ was too large for many of the "
            f"{found.n_units} {found.unit}s, so fitted to fewer answers: {_counts(folded)}. "
            "K-fold for all (in Python: method='kfold') treats all models alike."
        )
    return said + [f"Note: {note}." for note in found.notes]


def _counts(scores: list[ModelScore]) -> str:
    return "; ".join(f"{score.model} ({score.n_flagged})" for score in scores)


def tabulate_scores(found: Comparison) -> str:
    """The scores as a text table."""
    header = ["", "log-loss", "difference", "weight", "accuracy", "misfit p", "from"]
    rows = []
    for score in found.scores:
        misfit = score.lack_of_fit
        rows.append(
            [
                score.model if score.converged else f"! {score.model}",
                _plus_minus(score.log_loss, score.log_loss_se),
                _plus_minus(score.difference, score.difference_se),
                "" if score.weight is None else f"{score.weight:.2f}",
                f"{score.accuracy:.1%} ± {score.accuracy_se:.1%}",
                "" if misfit is None else f"{misfit.p_value:.3f}",
                score.source,
            ]
        )
    if not any(row[5] for row in rows):
        header, *rows = [[*row[:5], *row[6:]] for row in (header, *rows)]
    title = f"{found.n_answers} answers, {found.n_units} {found.unit}s; log-loss per answer ± SE"
    return Table(title, header, rows).text()


def _plus_minus(value: float | None, error: float | None) -> str:
    return "" if value is None or error is None else f"{value:.4f} ± {error:.4f}"


# --- lack of fit, where comparisons were asked more than once -----------------------------------


MOST_DRAWS = 1000  # to replicate votes from; more would not change the p-value
BLOCK = 2**22  # probabilities in memory at a time: 32 MB


@dataclass(frozen=True)
class LackOfFit:
    """The fitted answer probabilities against a saturated model of repeated comparisons.

    Attributes
    ----------
    deviance : float
        2·(log-likelihood of the saturated model − that of the map) over the repeated comparisons,
        averaged over the draws.
    expected : float
        The same for answers simulated from the model: what noise alone explains.
    p_value : float
        Share of draws in which answers replicated from the draw deviate from it at least as much
        as the real ones (posterior predictive; Gelman, Meng & Stern 1996). Conservative, because
        the model was fitted to these answers.
    n_comparisons, n_answers : int
        Repeated comparisons, and votes on them: answers, or the comparisons within choices.
    n_parameters : int
        Free coordinates, n·d − d(d + 1)/2, and learned parameters.
    degrees : int
        Degrees of freedom, comparisons minus parameters: with few of them a map can fit the votes
        under any model. The p-value does not use them.
    ceiling : NoiseCeiling or None
        Of the answers, choices as a whole; None if fewer than 20 questions were repeated.
    """

    deviance: float
    expected: float
    p_value: float
    n_comparisons: int
    n_answers: int
    n_parameters: int
    degrees: int
    ceiling: NoiseCeiling | None

    @property
    def ratio(self) -> float:
        """Deviance over what noise alone explains; about 1 if the model fits."""
        return self.deviance / self.expected

    def __str__(self) -> str:
        return (
            f"deviance {self.deviance:.1f} on {self.n_comparisons} repeated comparisons "
            f"({self.n_answers} votes, {self.degrees} degrees of freedom); {self.expected:.1f} "
            f"expected if the model is right; p = {self.p_value:.3f}"
            + ("" if self.ceiling is None else f"\n{self.ceiling}")
        )


def lack_of_fit(ensemble: Ensemble, answers: Any, *, random_state: Seed = None) -> LackOfFit | None:
    """Compare the fitted answer probabilities with a saturated model of repeated comparisons.

    Choices are split into comparisons, because a comparison recurs on different screens, while few
    screens are shown twice, and if they are, their many outcomes have hardly a vote each. The
    comparisons of a screen depend on each other, so that whole outcomes are replicated from (at
    most 200) draws, and only then split and counted: the p-value accounts for the dependence. Of
    choices with more than 300 000 pairs of alternatives in all, such as 100 000 odd ones out, a
    random part is used.

    Parameters
    ----------
    ensemble : Ensemble
        From a posterior.
    answers : Choices, Triplets, array or data frame
        The answers it was fitted to; triplets that share a screen are one choice. Repeated and
        reversed rows and whole-number weights are votes on one comparison.
    random_state : None, int or numpy.random.Generator

    Returns
    -------
    LackOfFit, or None if no comparison was asked twice, or weights are not counts of answers.
    """
    given = as_answers(answers)
    rng = np.random.default_rng(seed_for(entropy_of(random_state), 0))
    if isinstance(given, Choices):
        return _lack_of_choices(ensemble, given, rng)
    return _lack_of_triplets(ensemble, given, rng)


def _lack_of_choices(
    ensemble: Ensemble, choices: Choices, rng: np.random.Generator
) -> LackOfFit | None:
    found = choice_deviances(ensemble, choices, rng) if are_votes(choices) else None
    if found is None:
        return None
    free, ceiling = _free_parameters(ensemble), ceiling_of_answers(choices)
    return LackOfFit(
        float(found.real.mean()),
        float(found.replicated.mean()),
        float(np.mean(found.replicated >= found.real)),
        found.n_comparisons,
        found.n_votes,
        free,
        found.n_comparisons - free,
        None if isinstance(ceiling, str) else ceiling,
    )


def _lack_of_triplets(
    ensemble: Ensemble, answers: Triplets, rng: np.random.Generator
) -> LackOfFit | None:
    asked = repeated_votes(answers)
    if asked is None:
        return None
    step = -(-len(ensemble) // MOST_DRAWS)
    thinned = ensemble[::step]
    real, replicated = np.zeros(len(thinned)), np.zeros(len(thinned))
    size = max(1, BLOCK // len(thinned))
    for start in range(0, len(asked.rows), size):
        rows, near, total = (column[start : start + size] for column in asked)
        p = np.clip(thinned.answer_probability(answers[rows], by_draw=True), 1e-12, 1.0 - 1e-12)
        real += deviance(near, total, p)
        replicated += deviance(rng.binomial(total, p), total, p)
    free = _free_parameters(ensemble)
    return LackOfFit(
        float(real.mean()),
        float(replicated.mean()),
        float(np.mean(replicated >= real)),
        len(asked.rows),
        int(asked.total.sum()),
        free,
        len(asked.rows) - free,
        ceiling_of(asked.near, asked.total),
    )


def _free_parameters(ensemble: Ensemble) -> int:
    n = ensemble.n_objects
    if ensemble.kind == "distances":
        return n * (n - 1) // 2
    d = ensemble.n_components
    learned = sum(name != "variance" for name in ensemble.parameters)
    return n * d - d * (d + 1) // 2 + learned
