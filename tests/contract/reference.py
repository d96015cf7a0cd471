"""Numbers that tercet found, to be found again: ``python -m tests.contract.reference`` stores them.

The cases are those of `benchmarks.bits`, all settings given. Bits differ between processors, so
what is kept are numbers with tolerances: distances instead of points, since maps may be turned.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.bits import cases, make_triplets, posterior

__all__ = ["CASES", "compute", "mismatches", "stored_values"]

FILE = Path(__file__).parent / "reference_values.json"
RENEW = "python -m tests.contract.reference"
MOST = 30  # values that are kept of an array
DIGITS = 10  # that are kept of a value

Values = dict[str, list[float]]

# Hamiltonian chains part: after 20 iterations other last bits are in the ninth digit, after 100 in
# the first. So their draws are compared while they are young, and their averages when they are old.
YOUNG = {"n_samples": 10, "warmup": 10}
OLD = {"n_samples": 1000, "warmup": 300, "n_chains": 4}
CHAINS = ("posterior, hmc", "posterior, hmc, learned")
CHANGES: Mapping[str, dict[str, Any]] = dict.fromkeys(CHAINS, YOUNG)
LONG = {f"{name}, averages": name.split(", ", 1)[1] for name in CHAINS}
CASES = (*cases(None), *LONG)

# Relative, and absolute for numbers below 0.001 of the largest of their kind. Measured: weights
# that differ by 1e-12 move losses by 1e-10 and distances by 1e-8 or less; only where the optimum is
# flat do distances of a bootstrap move more, 1e-5 (CKL) and 4e-4 (GNMDS). Another seed, or a
# penalty that is 1 % off, moves them by far more than is allowed here, which the tests check.
LOSS, USUAL, FLAT = 1e-6, 1e-4, {"bootstrap, CKL": 1e-3, "bootstrap, GNMDS": 2e-2}
# Absolute, of what is averaged over 4000 draws: about three times the most that four other seeds
# changed (0.023 of a certainty, 0.24 of the log-posterior, 0.14 of the exponent).
AVERAGES = {"certainty": 0.06, "answer probability": 0.03, "log_posterior": 0.8}
AVERAGES |= {"lapse": 0.01, "exponent": 0.4, "mu": 0.008, "distances": 0.3}
# Absolute, of what the dimension's chains say, likewise; the rest of its table comes from fits.
BY_CHAINS = {"left_out": 0.015, "gain": 1.5, "posterior": 0.008}
UNCERTAIN = {"left_out_se", "gain_se", "posterior_se", "r_hat", "k_hat"}  # says little, and moves


def compute(case: str, **changes: Any) -> Values:
    """The numbers of a case."""
    triplets = make_triplets()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # runs as short as these are told so
        if case in LONG:
            found = posterior(LONG[case], triplets, **OLD | {"n_jobs": 1} | changes)
            return {key: _kept(np.mean(part, axis=0)) for key, part in _by_draw(found)}
        found = cases(triplets)[case](**CHANGES.get(case, {}) | changes)
    return {key: _kept(part) for key, part in _invariants(found) if key not in UNCERTAIN}


def _by_draw(found: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """What can be averaged, draws first."""
    for key, value in found.items():
        is_average = key in ("certainty", "answer probability")
        yield (
            ("distances", _distances(value))
            if key == "points"
            else (key, [value] if is_average else value)
        )


def _invariants(found: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """What does not depend on how maps are turned."""
    for key, value in found.items():
        if key not in ("points", "matrices"):
            yield key, value
            continue
        among = _distances(value) if key == "points" else np.asarray(value)
        if among.ndim > 1:
            yield "distances of the last draw", among[-1]
        yield "mean distances", among.mean(axis=0) if among.ndim > 1 else among


def _distances(points: np.ndarray) -> np.ndarray:
    rows, columns = np.triu_indices(points.shape[-2], 1)
    return np.linalg.norm(points[..., rows, :] - points[..., columns, :], axis=-1)


def _kept(value: Any) -> list[float]:
    return [float(f"{part:.{DIGITS}g}") for part in np.ravel(value)[:MOST]]


def tolerance(case: str, key: str, expected: np.ndarray) -> np.ndarray:
    """How far from the stored values others may be."""
    if case in LONG:
        return np.full_like(expected, AVERAGES[key])
    if case == "dimension" and key in BY_CHAINS:
        return np.full_like(expected, BY_CHAINS[key])
    share = LOSS if "loss" in key else FLAT.get(case, USUAL)
    largest = np.nanmax(np.abs(expected), initial=0.0)
    return share * np.maximum(np.abs(expected), 1e-3 * largest) + 1e-12


def mismatches(case: str, found: Values, expected: Values) -> list[str]:
    """What is not as it was, a line each."""
    if found.keys() != expected.keys():
        return [f"{case}: {sorted(found)} instead of {sorted(expected)}"]
    lines = []
    for key, values in expected.items():
        was, now = np.array(values), np.array(found[key])
        if was.shape != now.shape:
            lines.append(f"{case}, {key}: {now.size} values instead of {was.size}")
            continue
        allowed = tolerance(case, key, was)
        wrong = ~(np.abs(now - was) <= allowed) & ~(np.isnan(now) & np.isnan(was))
        lines += [
            f"{case}, {key}[{i}]: {now[i]:.10g} instead of {was[i]:.10g} ± {allowed[i]:.2g}"
            for i in np.flatnonzero(wrong)
        ]
    return lines


def stored_values() -> dict[str, Values]:
    """What was found when the numbers were stored."""
    values: dict[str, Values] = json.loads(FILE.read_text("utf-8"))
    return values


if __name__ == "__main__":
    lines = (f" {json.dumps(case)}: {json.dumps(compute(case))}" for case in CASES)
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    print(f"{FILE}: written; see git diff")
