"""The main job on a simulated world: answers in, a map that says how sure it is and a report out.

Run as ``python -m tercet.demo``.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tercet.demo.page import write_report
from tercet.demo.pictures import draw_map, draw_reliability
from tercet.demo.sureness import best_of, draw_maps, try_models
from tercet.demo.world import embed_world, make_world

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demonstration."""
    parser = argparse.ArgumentParser(prog="tercet.demo", description=__doc__)
    parser.add_argument("-o", "--out", type=Path, default=Path("demo"), help="folder to write to")
    parser.add_argument("--seed", type=int, default=0, help="of the simulated world")
    options = parser.parse_args(arguments)
    with _writing(parser, options.out):
        options.out.mkdir(parents=True, exist_ok=True)

    world = make_world(options.seed)
    print(f"A simulated world: {world.answers}")
    results = embed_world(world, options.seed)
    print("method  training error  error on all true comparisons    time")
    for r in results:
        print(
            f"{r.name:6s}  {r.training_error:14.1%}  {r.true_error:29.1%}  {r.milliseconds:4.0f} ms"
        )
    trials = try_models(world, options.seed)
    best = best_of(trials)
    print(f"Best at foretelling {best.n_new} answers it had not seen: {best.candidate.name}")
    sure = draw_maps(world, best.candidate, options.seed)
    print(
        f"How sure is its map? From {sure.ensemble.n_samples} maps drawn from its posterior:\n"
        f"  sure of {sure.share_sure:.1%} of all {len(world.truth)} comparisons, right about "
        f"{sure.share_right:.1%} of those\n"
        f"  expects to have {sure.expected_error:.1%} of all comparisons wrong, has "
        f"{sure.error:.1%} wrong\n"
        f"  {sure.inside} of {world.answers.n_objects} animals truly are inside their ellipses"
    )
    picture = draw_map(world, sure)
    page = write_report(world, results, trials, sure, picture, draw_reliability(sure))
    with _writing(parser, options.out):
        (options.out / "map.png").write_bytes(picture)
        (options.out / "report.html").write_text(page, encoding="utf-8")
    print(f"The map: {options.out / 'map.png'}\nThe report: {options.out / 'report.html'}")
    return 0


@contextmanager
def _writing(parser: argparse.ArgumentParser, folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        parser.exit(2, f"tercet.demo: cannot write to {folder}: {error.strerror}.\n")
