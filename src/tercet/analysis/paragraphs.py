"""Methods and results paragraphs for a paper, and their references."""

from __future__ import annotations

from tercet.analysis.analysis import Analysis
from tercet.analysis.cautions import format_p
from tercet.analysis.words import provisional
from tercet.answers.choices import Choices
from tercet.held_out import RARELY
from tercet.makers import LEARNED
from tercet.text import counted, joined, percent, were
from tercet.uncertainty import default_method
from tercet.uses.certainty import thin

__all__ = ["citations", "methods", "results"]

_NAMES = {"gamma": "γ", "tail": "τ", "lapse": "a lapse rate"}
_SIMILARITY = (
    "similarity falls with distance as s = (1 + τ d^γ)^(−1/τ), which is exp(−d^γ) for τ = 0, and "
    "the odds of a pair are proportional to its similarity, p(near) = s_near/(s_near + s_far)"
)
_PROGRAMS = {"numpy": "NumPy", "scipy": "SciPy", "numba": "Numba", "python": "Python"}


def methods(analysis: Analysis) -> str:
    """A methods paragraph, ready for a paper."""
    counts = analysis.check.counts
    who = "" if counts.observers is None else f" by {counted(counts.observers, 'observer')}"
    kind = "quadruplet comparisons" if analysis.triplets.is_quadruplets else "triplet comparisons"
    objects = counted(counts.objects, "object")
    given = f"{counted(counts.answers, 'answer')}{who} to {kind} of {objects}"
    if isinstance(analysis.answers, Choices):
        given = (
            f"{counted(analysis.answers.n_answers, 'choice')}{who} among pairs of {objects} "
            f"({analysis.answers.in_words}; {counts.answers} {kind})"
        )
    left = "".join(
        f" {counted(each.count, 'row')} of the file {each.reason} {were(each.count)} left out."
        for each in analysis.reading.skipped
    )
    if (catch := analysis.reading.catch) is not None:
        many = len(catch.passed)
        left += f" {counted(many, 'catch trial')} {were(many)} not used."
    if analysis.triplets.weights is not None and analysis.triplets.votes is None:
        left += " Answers were weighted as given in the file."
    return " ".join(
        part
        for part in (
            f"We analysed {given} with tercet "
            f"{analysis.versions['tercet']} (seed {analysis.settings.seed}).{left}",
            _methods_dimension(analysis),
            _methods_maker(analysis),
            _methods_observers(analysis),
            _methods_fit(analysis),
            _methods_comparisons(analysis),
            _methods_intervals(analysis),
            _methods_versions(analysis),
        )
        if part
    )


def _methods_intervals(analysis: Analysis) -> str:
    shown = "Ellipses (normal approximation) and intervals"
    drawn = "draws" if analysis.kind == "posterior" else "bootstrap samples"
    return (
        f"{shown if analysis.n_components > 1 else 'Intervals'} contain "
        f"{percent(analysis.settings.level)} of the {drawn} and, like all probabilities, are "
        "conditional on the model."
    )


def _methods_dimension(analysis: Analysis) -> str:
    estimate, d = analysis.dimension, analysis.n_components
    if analysis.kind == "scale":
        return ""
    if analysis.settings.dimension is not None:
        return f"The number of dimensions was set to {d}."
    if estimate is None:
        return analysis.dimension_note
    tried = [row.dimension for row in estimate.rows]
    more = "" if estimate.verdict == "decided" else " (perhaps more are needed)"
    chosen = f"{d} {were(d)} chosen{more}"
    if estimate.dimension is None:
        chosen = f"none could be chosen ({d} are shown)"
    then = "the leave-one-out predictive density of the posterior"
    if not estimate.by_chains:
        then = "one of cross-validated log-loss"
    return (
        f"Of {tried[0]} to {tried[-1]} dimensions, {chosen} by a corrected resampled t-test of "
        f"cross-validated accuracy (Künstle et al., 2022), followed by {then}. "
        f"{analysis.dimension_note}"
    ).strip()


def _methods_maker(analysis: Analysis) -> str:
    if analysis.scale is not None:
        scale = analysis.scale
        return (
            "Perceptual scale values were estimated by maximum likelihood difference scaling "
            f"({scale.made.model}; Maloney & Yang, 2003), with intervals from "
            f"{len(scale.samples)} bootstrap samples of {scale.made.unit}s."
        )
    screens = (
        " Every screen was modelled as one choice, by its exact likelihood under Luce's rule: the "
        "odds of a pair are proportional to its similarity (Luce, 1959)."
        if isinstance(analysis.answers, Choices)
        else ""
    )
    if analysis.kind == "bootstrap":
        settings = analysis.ensemble.provenance["settings"]
        unit, model = settings["unit"], settings["estimator"]
        return (
            f"Objects were embedded by Shepard's law (Shepard, 1987): {_SIMILARITY}. Maps are "
            "maxima a posteriori under a normal prior over positions (penalty "
            f"{model['penalty']:.3g}), with γ = {model['gamma']:.3g} and τ = {model['tail']:.3g}; "
            "these were estimated from all answers. Uncertainty was estimated from "
            f"{analysis.ensemble.n_samples} bootstrap samples of {unit}s, "
            f"aligned by Procrustes analysis.{screens}"
        )
    found = analysis.diagnostics
    assert found is not None
    disagree = (
        ""
        if found.agree
        else " The chains did not converge, so the map and all probabilities are provisional."
    )
    learned = joined([_NAMES[name] for name in LEARNED])
    return (
        f"Objects were embedded by Shepard's law (Shepard, 1987): {_SIMILARITY}. Positions had a "
        f"normal prior of learned variance; {learned} were estimated jointly. {found.n_chains} "
        "chains of Hamiltonian Monte Carlo "
        f"gave {found.n_chains * found.n_samples} draws (largest R-hat {found.r_hat:.3f}, smallest "
        f"effective sample size {min(found.ess_bulk, found.ess_tail):.0f}; Vehtari et al., 2021)."
        f"{disagree}{screens} Draws were aligned by rotation, reflection, translation and "
        "scaling for display."
    )


def _methods_observers(analysis: Analysis) -> str:
    """Whose answers these are, and what was assumed about them."""
    many, shown = analysis.check.counts.observers, "map" if analysis.scale is None else "scale"
    given = f"treated as independent given the {shown}"
    if many is None:
        return f"It was not known who gave each answer; the answers were {given}."
    if many == 1:
        return f"All answers were given by one observer and {given}."
    said = f"The answers of all observers were pooled into one {shown} and {given}"
    if analysis.resampled_observers:
        said += "; intervals are from resampling whole observers"
    if (test := analysis.check.differences) is not None:
        said += (
            f". A permutation test of differences between observers gave {format_p(test.p_value)}"
        )
    return f"{said}."


def _methods_comparisons(analysis: Analysis) -> str:
    """How the probability of a comparison was computed (Lohaus et al., section 3.2)."""
    if default_method(len(thin(analysis.ensemble))) == "vote":
        how = "was the share of draws in which this held"
    else:
        how = (
            "was computed from a normal distribution with the mean and the standard deviation of "
            "the difference of the two distances over the samples"
        )
    return f"The probability that one distance is smaller than another {how} (Lohaus et al., 2019)."


def _methods_fit(analysis: Analysis) -> str:
    """How predictions and fit were assessed; `results` has the numbers."""
    said = []
    if (found := analysis.held_out) is not None:
        by = "cross-validation ("
        if analysis.kind == "posterior":
            by = "PSIS leave-one-out (Vehtari et al., 2017; "
        said.append(f"Held-out answers were predicted by {by}{found.how}).")
    if analysis.ceiling is not None:
        several = analysis.check.counts.observers != 1
        blind = " for models that do not know who answers" if several else ""
        votes = "beta-binomial" if analysis.ceiling.n_outcomes == 2 else "Dirichlet-multinomial"
        said.append(
            f"The noise ceiling{blind} was estimated by a {votes} model of repeated "
            f"{analysis.ceiling.asked}s."
        )
    if analysis.lack_of_fit is not None and analysis.chains_agree:
        within, whole = "", ""
        if isinstance(analysis.answers, Choices):
            within, whole = " within screens", ", with answers to whole screens replicated"
        said.append(
            "Fit was assessed by a posterior predictive check against a saturated model of "
            f"repeated comparisons{within}{whole}."
        )
    if (goodness := analysis.goodness) is not None:
        said.append(
            f"Goodness of fit was tested with {len(goodness.simulated_runs)} simulations "
            "(Knoblauch & Maloney, 2008)."
        )
    return " ".join(said)


def _methods_versions(analysis: Analysis) -> str:
    others = ", ".join(
        f"{_PROGRAMS.get(name, name)} {number}"
        for name, number in analysis.versions.items()
        if name != "tercet"
    )
    return f"Computations used {others}."


def results(analysis: Analysis) -> str:
    """A results paragraph: accuracy, noise ceiling, fit and certainty."""
    said = []
    if (found := analysis.held_out) is not None:
        guessed, loss = "", ""
        if isinstance(analysis.answers, Choices):
            guessed, loss = f"; chance {found.chance:.3g}", f"; chance {found.chance_log_loss:.3f}"
        said.append(
            f"Accuracy on held-out answers was {found.accuracy:.3f} (SE "
            f"{found.accuracy_error:.3f}{guessed}), log-loss {found.log_loss:.3f} nats (SE "
            f"{found.log_loss_error:.3f}{loss}), expected calibration error "
            f"{found.calibration_error:.3f} (up to {found.calibration_limit:.3f} by chance alone)."
        )
        if found.chance < RARELY:
            said.append(
                f"Of the comparisons within these answers, {percent(found.in_order)} were "
                "predicted correctly."
            )
    if (ceiling := analysis.ceiling) is not None:
        low, high = ceiling.accuracy_interval
        repeated = counted(ceiling.n_questions, f"repeated {ceiling.asked}")
        said.append(
            f"The noise ceiling ({repeated}) was {ceiling.accuracy:.3f} (95 % interval "
            f"{low:.3f}–{high:.3f})."
        )
    if (fit := analysis.lack_of_fit) is not None and analysis.chains_agree:
        said.append(
            f"Answers to repeated comparisons deviated {fit.ratio:.2f} times as much as expected "
            f"under the model "
            f"({format_p(fit.p_value)})."
        )
    if (goodness := analysis.goodness) is not None:
        said.append(
            f"Deviance accounted for was {goodness.daf:.3f} ({format_p(goodness.deviance_p)}; runs "
            f"of residuals, {format_p(goodness.runs_p)})."
        )
    if analysis.is_provisional:
        said.append(f"The map is provisional: {provisional(analysis)}.")
    else:
        certainty = analysis.certainty
        many = certainty.counted
        which = f"{many} random" if certainty.is_sample else f"all {many}"
        said.append(
            f"Of {which} comparisons of two distances from one object, {percent(certainty.share)} "
            f"had a probability above {percent(certainty.level)}; "
            f"{percent(certainty.expected_error)} are expected to be wrong."
        )
    return " ".join(said)


def citations(analysis: Analysis) -> list[str]:
    """The references of the methods paragraph."""
    works = [
        "Lohaus, Hennig, von Luxburg. Uncertainty estimates for ordinal embeddings. 2019.",
    ]
    if analysis.kind != "scale":
        works.append(
            "Shepard. Toward a universal law of generalization for psychological science. Science, "
            "1987."
        )
    if isinstance(analysis.answers, Choices) and analysis.kind != "scale":
        works.append("Luce. Individual choice behavior: a theoretical analysis. Wiley, 1959.")
    if analysis.dimension is not None:
        works.append(
            "Künstle, von Luxburg, Wichmann. Estimating the perceived dimension of psychophysical "
            "stimuli using triplet accuracy and hypothesis testing. Journal of Vision 22(13), 2022."
        )
    if analysis.kind == "posterior":
        works.append(
            "Vehtari, Gelman, Simpson, Carpenter, Bürkner. Rank-normalization, folding, and "
            "localization: an improved R-hat. Bayesian Analysis 16, 2021."
        )
    if analysis.held_out is not None and analysis.kind == "posterior":
        works.append(
            "Vehtari, Gelman, Gabry. Practical Bayesian model evaluation using leave-one-out "
            "cross-validation and WAIC. Statistics and Computing 27, 2017."
        )
    if analysis.kind == "scale":
        works += [
            "Maloney, Yang. Maximum likelihood difference scaling. Journal of Vision 3(8), 2003.",
            "Knoblauch, Maloney. MLDS: maximum likelihood difference scaling in R. Journal of "
            "Statistical Software 25(2), 2008.",
        ]
    return works
