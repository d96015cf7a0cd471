"""The report in plain sentences: the summary on top, and a methods paragraph for a paper."""

from __future__ import annotations

from tercet.report.findings import Claim, Findings
from tercet.report.makers import LEARN, REPLICATES
from tercet.uses.abstain.risk import percent

__all__ = ["citations", "methods", "summary", "tell_claim"]

_WELL = 0.03  # of calibration error, below which stated and true shares are called close
_LEARNED = {"exponent": "the exponent", "mu": "μ", "lapse": "a lapse rate"}


def summary(findings: Findings) -> list[str]:
    """What matters most, first the answers, then the map, then how far to trust it."""
    said = [_about_data(findings), _about_map(findings), _about_sureness(findings)]
    said += [
        sentence
        for tell in (_about_extremes, _about_foretold, _about_fit, _about_questions)
        if (sentence := tell(findings))
    ]
    return said


def tell_claim(findings: Findings, claim: Claim) -> str:
    """A comparison as a sentence."""
    names = findings.names
    return f"{names[claim.anchor]} is closer to {names[claim.near]} than to {names[claim.far]}"


# --- the summary ------------------------------------------------------------------------------


def _about_data(findings: Findings) -> str:
    counts = findings.check.counts
    who = "" if counts.observers is None else f" of {_count(counts.observers, 'observer')}"
    return (
        f"{_count(counts.answers, 'answer')}{who} about {_count(counts.objects, 'object')}, read "
        f"from {findings.reading.title}."
    )


def _about_map(findings: Findings) -> str:
    d = findings.n_components
    shown = f"a map of {d} dimensions" if d > 1 else "a scale: one dimension"
    estimate = findings.dimension
    if findings.kind == "scale":
        return f"They are shown as {shown}."
    if estimate is None or estimate.verdict == "cannot tell":
        return f"They are shown as {shown}. {findings.dimension_note}"
    fewer = "" if d == 1 else "with fewer, left-out answers are foretold worse; "
    again = "left-out answers are foretold no better" if d == 1 else "no better"
    if estimate.verdict == "decided":
        return f"They are shown as {shown}: {fewer}with more, {again}.{_about_axes(findings)}"
    return (
        f"They are shown as {shown}, and perhaps more are needed: {fewer}with more, the answers do "
        f"not clearly tell.{_about_axes(findings)}"
    )


def _about_axes(findings: Findings) -> str:
    """How much of the spread lies along the first dimension, where there are several."""
    if findings.n_components == 1:
        return ""
    variance = findings.ensemble.point_mean().var(axis=0)
    return f" {percent(variance[0] / variance.sum())} of its spread is along the first dimension."


def _about_sureness(findings: Findings) -> str:
    sure = findings.sureness
    return (
        f"The map is sure (above {percent(findings.settings.level)}) of {percent(sure.share)} of "
        f"all comparisons of two distances from one object. If the model is right, about "
        f"{percent(sure.expected_error)} of all its comparisons are wrong."
    )


def _about_extremes(findings: Findings) -> str:
    by_radius = sorted(findings.objects, key=lambda each: each.radius)
    best, worst = by_radius[0], by_radius[-1]
    return (
        f"The place of {best.name} is known best, that of {worst.name} least "
        f"({worst.radius / max(best.radius, 1e-12):.1f} times as uncertain, from "
        f"{_count(worst.answers, 'answer')})."
    )


def _about_foretold(findings: Findings) -> str:
    found = findings.foretold
    if found is None:
        return ""
    said = (
        f"Maps that have not seen an answer foretell {percent(found.accuracy)} of the answers "
        f"(± {percent(found.accuracy_error)})"
    )
    if (ceiling := findings.check.ceiling) is not None:
        low, high = ceiling.accuracy_interval
        said += (
            "; the noise ceiling of comparisons like the repeated ones is "
            f"{percent(ceiling.accuracy)} ({percent(low)} to {percent(high)})"
        )
    word = "close to" if found.calibration_error < _WELL else "off"
    return (
        f"{said}. Its stated probabilities are {word} what happens: they differ by "
        f"{percent(found.calibration_error)} on average."
    )


def _about_fit(findings: Findings) -> str:
    if (goodness := findings.goodness) is not None:
        poor = min(goodness.runs_p, goodness.deviance_p) < 0.05
        word = "does not fit well" if poor else "fits"
        return (
            f"The scale {word}: {percent(goodness.daf)} of the deviance is accounted for "
            f"(simulated answers fit no better with p = {goodness.deviance_p:.2f}; runs p = "
            f"{goodness.runs_p:.2f})."
        )
    fit = findings.lack_of_fit
    if fit is None:
        return ""
    if fit.p_value < 0.05:
        return (
            "On repeated comparisons the model does not fit: people answer in ways that no such "
            f"map allows (deviance {fit.ratio:.2f} times what noise gives, p = {fit.p_value:.3f}). "
            "Read the ellipses with care."
        )
    return f"On repeated comparisons nothing speaks against the model (p = {fit.p_value:.2f})."


def _about_questions(findings: Findings) -> str:
    if findings.suggestions is None or not len(findings.suggestions):
        return ""
    anchor, one, other = findings.suggestions.array[0].tolist()
    names = findings.names
    return (
        f"The question that would tell most now: is {names[anchor]} closer to {names[one]} or to "
        f"{names[other]}?"
    )


# --- for a paper ------------------------------------------------------------------------------


def methods(findings: Findings) -> str:
    """A methods paragraph, ready for a paper."""
    counts = findings.check.counts
    who = "" if counts.observers is None else f" by {_count(counts.observers, 'observer')}"
    kind = "quadruplets" if findings.triplets.is_quadruplets else "triplet comparisons"
    left = "".join(
        f" {_count(each.count, 'row')} of the file {each.reason} "
        f"{'was' if each.count == 1 else 'were'} left out."
        for each in findings.reading.skipped
    )
    return " ".join(
        part
        for part in (
            f"We analysed {_count(counts.answers, 'answer')} to {kind}{who} about "
            f"{_count(counts.objects, 'object')} with tercet {findings.versions['tercet']} "
            f"(seed {findings.settings.seed}).{left}",
            _methods_dimension(findings),
            _methods_maker(findings),
            _methods_fit(findings),
            f"Ellipses and intervals hold {percent(findings.settings.level)} of the draws' "
            "distribution and are conditional on the model.",
            _methods_versions(findings),
        )
        if part
    )


def _methods_dimension(findings: Findings) -> str:
    estimate, d = findings.dimension, findings.n_components
    if findings.kind == "scale":
        return ""
    if estimate is None:
        return f"The embedding has {_count(d, 'dimension')}, chosen in advance."
    tried = [row.dimension for row in estimate.rows]
    return (
        f"Of {tried[0]} to {tried[-1]} dimensions, {d} were chosen (verdict: {estimate.verdict}) "
        "by a corrected resampled t-test of cross-validated accuracy, and then by the "
        "leave-one-out predictive density of the posterior."
        + (f" {findings.dimension_note}" if findings.dimension_note else "")
    )


def _methods_maker(findings: Findings) -> str:
    if findings.scale is not None:
        scale = findings.scale
        return (
            "Perceptual scale values were estimated by maximum likelihood difference scaling "
            f"({scale.made.model}; Maloney & Yang, 2003), with intervals from "
            f"{len(scale.samples)} bootstrap samples of {scale.made.unit}s."
        )
    if findings.kind == "bootstrap":
        unit = findings.ensemble.provenance["settings"]["unit"]
        return (
            "Objects were embedded with a crowd-kernel model (Tamuz et al., 2011) by penalised "
            f"maximum likelihood; uncertainty is from {REPLICATES} bootstrap samples of {unit}s, "
            "aligned by Procrustes analysis (Lohaus et al.)."
        )
    found = findings.diagnostics
    assert found is not None
    screens = (
        " The answers of one screen together had the weight of one answer."
        if findings.triplets.shares_screens
        else ""
    )
    learned = ", ".join(_LEARNED[name] for name in LEARN[:-1]) + f" and {_LEARNED[LEARN[-1]]}"
    return (
        "Objects were embedded by a Bayesian crowd-kernel model (Tamuz et al., 2011; p(near) = "
        "(δ_far^β + μ)/(δ_near^β + δ_far^β + 2μ)) with a normal prior over positions, "
        f"{learned} being estimated with them. {found.n_chains} chains of Hamiltonian Monte Carlo "
        f"gave {found.n_chains * found.n_samples} draws (largest R-hat {found.r_hat:.3f}, smallest "
        f"effective sample size {min(found.ess_bulk, found.ess_tail):.0f}; Vehtari et al., 2021)."
        f"{screens} Draws were aligned by rotation, reflection, translation and scale for display."
    )


def _methods_fit(findings: Findings) -> str:
    said = []
    if (found := findings.foretold) is not None:
        said.append(
            f"Answers were foretold {found.how}: accuracy {found.accuracy:.3f} (SE "
            f"{found.accuracy_error:.3f}), log-loss {found.log_loss:.3f} nats (SE "
            f"{found.log_loss_error:.3f}), expected calibration error "
            f"{found.calibration_error:.3f}."
        )
    if (ceiling := findings.check.ceiling) is not None:
        low, high = ceiling.accuracy_interval
        said.append(
            f"The noise ceiling (beta-binomial, {ceiling.n_comparisons} repeated comparisons) is "
            f"{ceiling.accuracy:.3f} (95 % interval {low:.3f}–{high:.3f})."
        )
    if (fit := findings.lack_of_fit) is not None:
        said.append(
            f"A posterior predictive check against a saturated model of repeated comparisons gave "
            f"p = {fit.p_value:.3f}."
        )
    if (goodness := findings.goodness) is not None:
        said.append(
            f"Goodness of fit by {len(goodness.simulated_runs)} simulations: deviance accounted "
            f"for {goodness.daf:.3f}, p = {goodness.deviance_p:.3f}, runs of residuals p = "
            f"{goodness.runs_p:.3f}."
        )
    return " ".join(said)


def _methods_versions(findings: Findings) -> str:
    others = ", ".join(
        f"{_PROGRAMS.get(name, name)} {number}"
        for name, number in findings.versions.items()
        if name != "tercet"
    )
    return f"Computed with {others}."


_PROGRAMS = {"numpy": "NumPy", "scipy": "SciPy", "numba": "Numba", "python": "Python"}


def citations(findings: Findings) -> list[str]:
    """The works that the methods paragraph names."""
    works = [
        "Lohaus, Hennig, von Luxburg. Uncertainty estimates for ordinal embeddings.",
    ]
    if findings.kind != "scale":
        works.append(
            "Tamuz, Liu, Belongie, Shamir, Kalai. Adaptively learning the crowd kernel. ICML, 2011."
        )
    if findings.kind == "posterior":
        works.append(
            "Vehtari, Gelman, Simpson, Carpenter, Bürkner. Rank-normalization, folding, and "
            "localization: an improved R-hat. Bayesian Analysis 16, 2021."
        )
    if findings.foretold is not None and findings.kind == "posterior":
        works.append(
            "Vehtari, Gelman, Gabry. Practical Bayesian model evaluation using leave-one-out "
            "cross-validation and WAIC. Statistics and Computing 27, 2017."
        )
    if findings.kind == "scale":
        works += [
            "Maloney, Yang. Maximum likelihood difference scaling. Journal of Vision 3(8), 2003.",
            "Knoblauch, Maloney. MLDS: maximum likelihood difference scaling in R. Journal of "
            "Statistical Software 25(2), 2008.",
        ]
    return works


# --- small words ------------------------------------------------------------------------------


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
