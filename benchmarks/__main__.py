"""Run the cases, print one table, and write the page if requested."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from benchmarks import (
    active,
    bootstrap,
    cluster,
    figure2b,
    growth,
    human,
    kernels,
    large,
    line,
    samplers,
    scale,
    startup,
    subsets,
)
from benchmarks.data import find_data
from benchmarks.peer import HOW_TO_INSTALL, running_peer
from benchmarks.report import page, terminal
from benchmarks.setting import Setting, counted_warnings, timed

CASES = {
    "subsets": subsets.run_subsets,
    "map": subsets.run_map,
    "bootstrap": bootstrap.run,
    "cluster": cluster.run,
    "figure2b": figure2b.run,
    "kernel": kernels.run,
    "large": large.run,
    "growth": growth.run,
    "human": human.run,
    "line": line.run,
    "samplers": samplers.run,
    "active": active.run,
    "scale": scale.run,
    "startup": startup.run,
}


def main() -> None:
    """Parse the arguments and run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it works")
    parser.add_argument("--out", type=Path, metavar="FILE", help="also write a page in Markdown")
    arguments = parser.parse_args()
    if unknown := set(arguments.cases) - set(CASES):
        parser.error(f"no such case: {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")

    load = os.getloadavg()[0]
    sections = []
    with running_peer() as peer:
        if peer is None:
            _say(HOW_TO_INSTALL)
        setting = Setting(arguments.quick, peer, find_data())
        for name in arguments.cases or CASES:
            _say(f"{name} …", end=" ")
            with counted_warnings() as counts:
                seconds, section = timed(CASES[name], setting)
            _say(f"{seconds:.0f} s")
            if counts:
                listed = ", ".join(f"{count} {kind}" for kind, count in counts.items())
                section.notes.append(f"Warnings, silenced and counted: {listed}.")
            if not section.lines:
                _say(*section.notes)
            sections.append(section)
        versions = {} if peer is None else peer.versions()
    print(terminal(sections))
    if arguments.out is not None:
        command = ["python -m benchmarks", *arguments.cases, *["--quick"] * arguments.quick]
        arguments.out.write_text(page(sections, " ".join(command), load, versions))


def _say(*words: str, end: str = "\n") -> None:
    print(*words, end=end, flush=True, file=sys.stderr)


if __name__ == "__main__":
    main()
