"""Chains in different maps, combined by how well each predicts (Yao, Vehtari & Gelman 2022).

If chains cannot reach each other's maps, their draws mix the maps in arbitrary shares: as many as
chains happened to start there. Stacking weights every chain so that the mixture predicts left-out
answers best. The weights say nothing about the posterior probability of the maps, and R-hat of the
chains together has no meaning.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.answers.choices import as_answers
from tercet.answers.questions import default_unit, number_units
from tercet.ensemble import Ensemble
from tercet.errors import InputError
from tercet.held_out import leave_one_out, stacking_weights

__all__ = ["stack_chains"]

_NOTE = "chains combined by stacking: their weights are predictive, not posterior probabilities"


def stack_chains(ensemble: Ensemble, answers: Any, *, unit: str | None = None) -> Ensemble:
    """Combine the chains of a posterior in the shares that predict left-out answers best.

    Parameters
    ----------
    ensemble : Ensemble
        Of a posterior with several chains.
    answers : Choices, Triplets, (m, 3) or (m, 4) array, or data frame
        Those that it was fitted to.
    unit : {"comparison", "screen", "observer", "answer"}, optional
        What is left out together; by default all answers to one question.

    Returns
    -------
    Ensemble
        Draws of every chain, evenly spaced, in proportion to its weight; as many as the chain of
        the largest weight allows. ``provenance["stacking"]`` has the weights; there are no
        diagnostics, since those of single chains do not apply to the whole.

    Examples
    --------
    >>> import tercet as tc
    >>> points, _ = tc.simulate.gaussian_mixture(10, random_state=0)
    >>> answers = tc.simulate.noisy_triplets(points, 200, noise=0.3, random_state=0)
    >>> maker = tc.Posterior(2, n_samples=200, n_chains=2, random_state=0).fit(answers)
    >>> weights = tc.stack_chains(maker.ensemble_, answers).provenance["stacking"]
    >>> float(round(sum(weights), 6))
    1.0
    """
    if ensemble.n_chains < 2 or ensemble.provenance.get("source") != "posterior":
        raise InputError(
            "stacking combines several chains of a posterior, such as Posterior(2).fit(answers)."
            f"ensemble_; this is {ensemble!r}."
        )
    given = as_answers(answers)
    if given.n_objects != ensemble.n_objects:
        raise InputError(
            f"the answers are about {given.n_objects} objects and the map has "
            f"{ensemble.n_objects}; give the answers that it was fitted to."
        )
    units = number_units(given, default_unit(given) if unit is None else unit)
    labels = np.unique(ensemble.chains)
    rows = [np.flatnonzero(ensemble.chains == label) for label in labels]
    densities = [leave_one_out(ensemble[own], given, units).log_density for own in rows]
    weights = stacking_weights(np.stack(densities, axis=1))
    total = min(len(own) / weight for own, weight in zip(rows, weights, strict=True) if weight > 0)
    chosen = [
        own[np.linspace(0, len(own) - 1, round(total * weight)).astype(int)]
        for own, weight in zip(rows, weights, strict=True)
    ]
    mixed = ensemble[np.concatenate(chosen)]
    provenance = {**ensemble.provenance, "stacking": [float(weight) for weight in weights]}
    provenance["diagnostics"] = None
    provenance["notes"] = [*provenance.get("notes", ()), _NOTE]
    return Ensemble(
        mixed.draws,
        kind=mixed.kind,
        chains=mixed.chains,
        parameters=mixed.parameters,
        statistics=mixed.statistics,
        model=mixed.model,
        names=mixed.names,
        alignment=mixed.alignment,
        provenance=provenance,
    )
