"""``tercet predict``: predictions of a map for comparisons, or abstentions."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tercet.cli.common import (
    add_command,
    add_form,
    add_format,
    add_leave_out,
    add_out,
    add_quiet,
    leave_out,
    load_map,
    share_of_one,
    tell,
)
from tercet.cli.output import (
    Result,
    emit,
    labels_of,
    mark_provisional,
    printable,
    problems_of,
    save_rows,
)
from tercet.cli.paths import input_file, limit_of
from tercet.tables import Table

if TYPE_CHECKING:
    from tercet.answers.triplets import Triplets
    from tercet.ensemble import Ensemble
    from tercet.io import Reading

__all__ = ["add_to", "run"]

EXAMPLES = """
tercet predict map.npz questions.csv                  is near truly nearer? abstains below 0.9
tercet predict map.npz questions.csv --threshold .99  only where very certain
tercet predict map.npz answers.csv --csv              as CSV
"""
WORDS = {1: "near", -1: "far", 0: "abstains"}


def add_to(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = add_command(
        commands,
        "predict",
        run,
        help="predict comparisons from a map, abstaining where it is uncertain",
        description=(
            "Answer two questions about every comparison. Is near truly nearer to the anchor than "
            "far? The probability π, and the prediction near, far, or abstains. What will the next "
            "person answer? The probability of the answer near, if the model has probabilities."
        ),
        examples=EXAMPLES,
    )
    parser.add_argument(
        "map", metavar="MAP", type=input_file, help="map written by posterior or bootstrap (npz)"
    )
    parser.add_argument("file", metavar="COMPARISONS", type=input_file, help="file of comparisons")
    add_leave_out(add_format(parser))
    parser.add_argument(
        "--threshold",
        type=threshold,
        default=0.9,
        metavar="P",
        help="abstain unless more certain than P, from 0.5 to below 1 (default: 0.9)",
    )
    add_out(parser, "the table as CSV")
    add_quiet(parser)
    add_form(parser)


def threshold(text: str) -> float:
    """A number from ½ to below 1."""
    value = share_of_one(text)
    if not 0.5 <= value < 1.0:
        raise argparse.ArgumentTypeError(f"must be at least 0.5 and below 1, got {text!r}")
    return value


def run(options: argparse.Namespace) -> int:
    """Predict, print and write."""
    import numpy as np

    ensemble = load_map(options.map)
    asked = load_comparisons(options, ensemble, options.file).triplets
    rows = predict_rows(ensemble, asked.array, options.threshold)
    save_rows(options, rows)
    verdicts = np.array([row["prediction"] for row in rows])
    counts = {word: int(np.sum(verdicts == word)) for word in WORDS.values()}
    text = (
        f"Predictions for {len(rows)} comparisons: near {counts['near']}, far {counts['far']}, "
        f"abstains {counts['abstains']}."
    )
    if options.out is None:
        text = f"{_table(rows)}\n\n{text}"
    problems = problems_of(ensemble)
    record = {
        "threshold": options.threshold,
        "problems": problems,
        "counts": counts,
        "comparisons": rows,
    }
    emit(options, Result(mark_provisional(text, problems), record, rows))
    return 0


def load_comparisons(
    options: argparse.Namespace,
    objects: Ensemble | Triplets,
    path: Path,
    *,
    everybody: bool = False,
) -> Reading:
    """Comparisons of the objects of a map or of answers, also as written by `tercet suggest`.

    Observers of ``--leave-out`` are left out, unless ``everybody``.
    """
    from tercet.io.formats import read_opened
    from tercet.io.inputfile import InputFile
    from tercet.io.reading import ReadOptions

    source = InputFile(path, max_bytes=limit_of(options))
    columns = options.columns
    if columns is None and source.titles >= {"anchor", "one", "other"}:
        columns = {"anchor": "anchor", "near": "one", "far": "other"}
    n_objects = None if objects.names else objects.n_objects
    known = ReadOptions(n_objects, objects.names, columns)
    reading = read_opened(source, options.format, known, options.skip_invalid)
    reading = reading if everybody else leave_out(options, reading)
    tell(options, reading)
    return reading


def predict_rows(ensemble: Ensemble, comparisons: Any, level: float) -> list[dict[str, Any]]:
    """A row for each comparison (m, 3) or (m, 4): objects, π, prediction, probability of near."""
    from tercet.answers.titles import COLUMNS

    probability = ensemble.triplet_probability(comparisons).tolist()
    verdict = ensemble.predict(comparisons, level).tolist()
    answer: list[float | None] = [None] * len(verdict)
    if ensemble.model is not None and ensemble.model.is_probability:
        answer = ensemble.answer_probability(comparisons).tolist()
    labels = labels_of(ensemble.names, ensemble.n_objects)
    titles = COLUMNS[comparisons.shape[1]]
    return [
        {title: labels[i] for title, i in zip(titles, row, strict=True)}
        | {"probability": p, "prediction": WORDS[v], "answer_probability": a}
        for row, p, v, a in zip(comparisons.tolist(), probability, verdict, answer, strict=True)
    ]


def _table(rows: list[dict[str, Any]]) -> str:
    *titles, _, _, _ = rows[0]
    lines = []
    for row in rows:
        answer = row["answer_probability"]
        lines.append(
            [
                *(printable(row[title]) for title in titles),
                f"{row['probability']:.3f}",
                row["prediction"],
                "" if answer is None else f"{answer:.3f}",
            ]
        )
    return Table("", [*titles, "π", "prediction", "answer near"], lines).text()
