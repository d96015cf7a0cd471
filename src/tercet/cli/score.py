"""``tercet score``: how well embeddings, or the answers of machines, agree with people."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tercet.cli.common import (
    add_command,
    add_form,
    add_format,
    add_leave_out,
    add_names,
    add_out,
    add_quiet,
    add_seed,
    leave_out,
    positive,
    read_names,
    tell,
)
from tercet.cli.output import Result, emit, printable, save_rows
from tercet.cli.paths import input_file, limit_of
from tercet.tables import table_of

if TYPE_CHECKING:
    from tercet.answers.either import Answers
    from tercet.uses.score import Agreement, Score

__all__ = ["add_to", "run"]

EXAMPLES = """
tercet score features.npy answers.csv                           any array, by distances
tercet score spose.npy vice.npy answers.csv --similarity dot    two, by inner products
tercet score --agreement machine.csv answers.csv                other answers to the same questions
"""


def add_to(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = add_command(
        commands,
        "score",
        run,
        help="score given embeddings, or a machine's answers, against people's answers",
        description=(
            "Score embeddings that come from elsewhere, such as a network's features: how well do "
            "they predict what people answered? Accuracy and log-loss of whole answers, with "
            "intervals, chance and the noise ceiling. With --agreement, how often others, such as "
            "a language model, gave the same answers to the same questions."
        ),
        examples=EXAMPLES,
    )
    parser.add_argument(
        "given",
        metavar="EMBEDDING",
        nargs="+",
        type=input_file,
        help="a row for each object: .npy, .npz, or a table, perhaps with names in its first "
        "column; with --agreement, answers",
    )
    parser.add_argument("file", metavar="ANSWERS", type=input_file, help="what people answered")
    parser.add_argument(
        "--agreement", action="store_true", help="the first files are answers, not embeddings"
    )
    parser.add_argument(
        "--similarity",
        choices=("distance", "dot", "cosine"),
        default="distance",
        help="similarity of two rows: minus their distance, their inner product, or their cosine "
        "(default: distance)",
    )
    parser.add_argument(
        "--temperature",
        type=positive,
        metavar="T",
        help="divide similarities by T (default: fitted to the other folds of the answers)",
    )
    parser.add_argument(
        "--repeats",
        type=input_file,
        metavar="FILE",
        help="answers with repeated questions, for the noise ceiling (default: ANSWERS)",
    )
    parser.add_argument(
        "--unit",
        choices=("answer", "comparison", "screen", "observer"),
        help="what is resampled for intervals (default: observers if five or more are known, else "
        "questions)",
    )
    group = add_format(parser)
    add_names(group)
    add_leave_out(group)
    add_out(parser, "the table as CSV")
    add_seed(parser)
    add_quiet(parser)
    add_form(parser)


def run(options: argparse.Namespace) -> int:
    """Score, print and write."""
    names = None if options.names is None else read_names(options.names)
    made = _agreements if options.agreement else _scores
    found: Sequence[Score | Agreement] = made(options, names)
    rows = [
        {"file": str(path), **each.to_dict()}
        for path, each in zip(options.given, found, strict=True)
    ]
    save_rows(options, rows)
    cells = [
        {"file": printable(path), **each.to_cells()}
        for path, each in zip(options.given, found, strict=True)
    ]
    record = {
        "seed": options.seed,
        "answers": str(options.file),
        "level": found[0].level,
        "scores": rows,
    }
    text = f"{table_of(cells).text()}\n\n{found[0].context}"
    emit(options, Result(text, record, rows))
    return 0


def _scores(options: argparse.Namespace, names: Sequence[str] | None) -> list[Score]:
    from tercet.errors import InputError
    from tercet.io.embeddings import read_embedding
    from tercet.uses.score import score_embedding

    found, about = [], None
    for path in options.given:
        points, own = read_embedding(path, max_bytes=limit_of(options))
        known = own if names is None else names
        if about != (known, len(points)):  # else the answers are read already
            about = known, len(points)
            answers = _load(options, options.file, *about)
            repeats = _load_repeats(options, *about)
        if known is None and answers.names is not None:
            raise InputError(
                f"the objects of {options.file} have names, and the rows of {path} have none: give "
                "the names of the rows in its first column, or one per line with --names."
            )
        try:
            score = score_embedding(
                points,
                answers,
                similarity=options.similarity,
                temperature=options.temperature,
                names=own or known,
                repeats=repeats,
                unit=options.unit,
                random_state=options.seed,
            )
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
        found.append(score)
    return found


def _agreements(options: argparse.Namespace, names: Sequence[str] | None) -> list[Agreement]:
    from tercet.uses.score import agreement

    answers = _load(options, options.file, names)
    repeats = _load_repeats(options, names)
    others = [_load(options, path, names) for path in options.given]
    return [agreement(answers, each, repeats=repeats, random_state=options.seed) for each in others]


def _load(
    options: argparse.Namespace,
    path: Path,
    names: Sequence[str] | None,
    n_objects: int | None = None,
) -> Answers:
    """The answers in a file; without names, numbers are rows of the embedding."""
    from tercet.answers.choices import as_answers
    from tercet.io import read_file

    reading = read_file(
        path,
        format=options.format,
        columns=options.columns,
        names=names,
        n_objects=None if names else n_objects,
        skip_invalid=options.skip_invalid,
        max_bytes=limit_of(options),
    )
    reading = leave_out(options, reading, all_known=False)
    tell(options, reading)
    return as_answers(reading.triplets)


def _load_repeats(
    options: argparse.Namespace, names: Sequence[str] | None, n_objects: int | None = None
) -> Answers | None:
    if options.repeats is None:
        return None
    return _load(options, options.repeats, names, n_objects)
