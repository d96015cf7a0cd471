"""Simulate, write a file of answers, report on it as a user would, and look at the truth."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from tercet.analysis import analyse
from tercet.demo.truth import draw_both, look
from tercet.demo.world import make_world
from tercet.errors import InputError
from tercet.files import write_whole
from tercet.io import write_triplets
from tercet.report import check_target

__all__ = ["main", "run_demo"]


def run_demo(
    out: Path, seed: int = 0, n_jobs: int | None = None, progress: bool | None = None
) -> None:
    """Run the demonstration, and print what it finds and where it is.

    Parameters
    ----------
    out : Path
        The folder to write to: answers.csv, report.html and truth.png.
    seed : int
        Of the simulated world.
    n_jobs : int, optional
        Threads, all cores by default; the result does not depend on them.
    progress : bool, optional
        Whether to show progress bars; by default on a terminal only.
    """
    check_target(out / "report.html")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write to {out}: {error.strerror}.") from None
    world = make_world(seed)
    answers = out / "answers.csv"
    write_triplets(world.answers, answers)
    print(f"A simulated world: {world.answers}\nIts answers: {answers}\n")

    analysis = analyse(answers, random_state=seed, n_jobs=n_jobs, progress=progress)
    print(analysis.summary())
    truth = look(world, analysis.ensemble, analysis.settings.level)
    print(
        "\nThis world is made up, so we can look:\n"
        f"  of the {truth.n_sure} comparisons it is sure of, {truth.sure_right:.1%} are right\n"
        f"  it expects to have {truth.expected_error:.1%} of all {len(world.truth)} comparisons "
        f"wrong, and has {truth.error:.1%} wrong\n"
        f"  {truth.inside} of {world.answers.n_objects} animals truly are inside their ellipses\n"
    )
    page = analysis.write(out / "report.html")[0]
    write_whole(out / "truth.png", draw_both(world, truth))
    print(f"The map beside the truth: {out / 'truth.png'}\nThe report: {page}")


def main(arguments: Sequence[str] | None = None) -> int:
    """``python -m tercet.demo``."""
    parser = argparse.ArgumentParser(prog="tercet.demo", description=run_demo.__doc__)
    parser.add_argument("-o", "--out", type=Path, default=Path("demo"), help="folder to write to")
    parser.add_argument("--seed", type=int, default=0, help="of the simulated world")
    options = parser.parse_args(arguments)
    try:
        run_demo(options.out, options.seed)
    except InputError as error:
        parser.exit(2, f"tercet.demo: {error}\n")
    return 0
