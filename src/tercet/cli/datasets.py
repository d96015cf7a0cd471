"""``tercet datasets``: public data sets as files."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tercet.cli.common import add_command, add_form, add_out, add_quiet
from tercet.cli.output import Result, emit, note, write_csv
from tercet.cli.paths import output_file

if TYPE_CHECKING:
    from tercet.datasets import Dataset

__all__ = ["add_to", "run"]

EXAMPLES = """
tercet datasets                             list all data sets
tercet datasets breast_cancer -o cells.csv  features and classes; needs no download
tercet datasets cars -o cars.csv            people's answers about 60 cars
tercet datasets mlds --which kk2 -o kk.csv --stimuli values.csv
"""


def add_to(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = add_command(
        commands,
        "datasets",
        run,
        help="list public data sets, or write one to a file",
        description=(
            "List public data sets of answers and features, or write one to a file. They are "
            "downloaded once, or read from the folder named by the environment variable "
            "TERCET_DATA. Note their licences."
        ),
        examples=EXAMPLES,
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="data set (default: list all)")
    parser.add_argument(
        "--which",
        metavar="PART",
        help="part of the data sets things (random, participants), mlds (kk1, kk2, …) and "
        "satellite (train, test)",
    )
    add_out(parser, "the answers or features")
    parser.add_argument(
        "--stimuli",
        type=output_file,
        metavar="FILE",
        help="write the physical values to FILE (CSV)",
    )
    add_quiet(parser)
    add_form(parser)


def run(options: argparse.Namespace) -> int:
    """List the data sets, or describe and write one."""
    from tercet.datasets import list_datasets
    from tercet.errors import InputError

    if options.name is None:
        if options.out is not None or options.stimuli is not None or options.which is not None:
            raise InputError("give the NAME of a data set; 'tercet datasets' lists them.")
        entries = list_datasets()
        rows = [vars(entry) for entry in entries]
        emit(options, Result(repr(entries), {"datasets": rows}, rows))
        return 0
    _spare_own_files(options)
    data = _load(options.name, options.which)
    row = vars(data.entry) | {"source": data.source, "notes": "; ".join(data.notes)}
    if options.out is not None:
        _write(data, options)
    if options.stimuli is not None:
        _write_stimuli(data, options)
    emit(options, Result(repr(data), row, [row]))
    return 0


def _spare_own_files(options: argparse.Namespace) -> None:
    """Refuse to overwrite files in the folder that data sets are read from."""
    from tercet.errors import InputError

    root = os.environ.get("TERCET_DATA")
    for path in (options.out, options.stimuli):
        if not root or path is None or not path.is_file():
            continue
        if Path(root).resolve() in path.resolve().parents:
            raise InputError(
                f"{path} would be overwritten, but it is in {root}, the folder of the data sets "
                "(TERCET_DATA); give the output another name."
            )


def _load(name: str, which: str | None) -> Dataset:
    import inspect

    from tercet import datasets
    from tercet.errors import InputError

    known = [entry.name for entry in datasets.list_datasets()]
    if name not in known:
        raise InputError(f"there is no data set {name!r}; choose one of {', '.join(known)}.")
    load = getattr(datasets, f"load_{name}")
    chosen = {}
    if which is not None:
        places = [word for word in inspect.signature(load).parameters if word in ("which", "split")]
        if not places:
            raise InputError(f"the data set {name} has only one part; leave --which out.")
        chosen = {places[0]: which}
    data: Dataset = load(**chosen)
    return data


def _write(data: Dataset, options: argparse.Namespace) -> None:
    """Write answers, or else features with their labels."""
    from tercet.io import write_triplets

    if data.triplets is not None:
        write_triplets(data.triplets, options.out)
        note(options, f"Written: {len(data.triplets)} answers to {options.out}.")
        return
    assert data.features is not None
    names = data.feature_names or [f"x{k + 1}" for k in range(data.features.shape[1])]
    labels = [None] * len(data.features) if data.labels is None else data.labels.tolist()
    rows = [
        {"label": label} | dict(zip(names, values, strict=True))
        for label, values in zip(labels, data.features.tolist(), strict=True)
    ]
    write_csv(options.out, rows)
    note(options, f"Written: the features of {len(rows)} objects to {options.out}.")


def _write_stimuli(data: Dataset, options: argparse.Namespace) -> None:
    from tercet.cli.output import labels_of
    from tercet.errors import InputError

    if data.stimuli is None:
        raise InputError(f"the data set {data.name} has no physical values; leave --stimuli out.")
    labels = labels_of(data.names, len(data.stimuli))
    pairs = zip(labels, data.stimuli.tolist(), strict=True)
    write_csv(options.stimuli, [{"name": label, "value": value} for label, value in pairs])
    note(options, f"Written: {len(labels)} values to {options.stimuli}.")
