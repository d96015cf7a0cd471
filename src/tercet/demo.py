"""The main job on a simulated world: answers in, a map and a short report out.

Run as ``python -m tercet.demo``.
"""

from __future__ import annotations

import argparse
import base64
import html
import io
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

import tercet
from tercet import metrics, simulate
from tercet.align import procrustes
from tercet.embedder import Embedder, Floats
from tercet.estimators import CKL, GNMDS, SOE, STE, TSTE
from tercet.plots import plot_map
from tercet.triplets import Triplets

NAMES = (
    ("wren", "robin", "eagle", "gull", "duck", "swan", "heron", "crow", "finch", "stork"),
    ("trout", "perch", "shark", "eel", "carp", "tuna", "pike", "cod", "salmon", "herring"),
    ("fox", "otter", "hare", "bear", "mouse", "deer", "wolf", "bat", "badger", "lynx"),
)
N_ANSWERS = 2500
NOISE = 0.3


class World(NamedTuple):
    """Animals at made-up places, and noisy answers about them."""

    positions: Floats
    kinds: list[int]
    answers: Triplets
    truth: Triplets


class Result(NamedTuple):
    """One method's map of the world."""

    name: str
    embedding: Floats
    training_error: float
    true_error: float
    milliseconds: float
    reason: str


def make_world(seed: int) -> World:
    """Place ten animals of each kind around the means of the paper's mixture and ask about them."""
    rng = np.random.default_rng(seed)
    kinds = [kind for kind, names in enumerate(NAMES) for _ in names]
    names = [name for group in NAMES for name in group]
    spread = rng.standard_normal((len(names), 2))
    positions = simulate.MIXTURE_MEANS[kinds] + 0.9 * spread
    asked = simulate.random_comparisons(len(names), N_ANSWERS, random_state=rng)
    given = simulate.answer(positions, asked, noise=NOISE, random_state=rng)
    truth = simulate.true_triplets(positions)
    return World(positions, kinds, Triplets(given, names=names), Triplets(truth, names=names))


def embed_world(world: World, seed: int) -> list[Result]:
    """Embed the answers with each of the five methods."""
    results = []
    methods: list[Embedder] = [STE(2), TSTE(2), CKL(2), SOE(2), GNMDS(2)]
    for method in methods:
        method.set_params(random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            method.fit(world.answers)  # compiles on the very first run
            began = time.perf_counter()
            method.fit(world.answers)
        results.append(
            Result(
                type(method).__name__,
                method.embedding_,
                metrics.triplet_error(method.embedding_, world.answers),
                metrics.triplet_error(method.embedding_, world.truth),
                1e3 * (time.perf_counter() - began),
                method.reason_,
            )
        )
    return results


def best_of(results: Sequence[Result]) -> Result:
    """Return the map that disagrees with the fewest answers."""
    return min(results, key=lambda result: result.training_error)


def draw(world: World, result: Result) -> bytes:
    """Draw the simulated world and its map side by side, as a PNG."""
    from matplotlib.figure import Figure

    assert world.answers.names is not None
    aligned = procrustes(result.embedding, world.positions, scale=True).aligned
    figure = Figure(figsize=(11, 5), layout="constrained")
    left, right = figure.subplots(1, 2)
    plot_map(world.positions, world.answers.names, groups=world.kinds, ax=left)
    plot_map(aligned, world.answers.names, groups=world.kinds, ax=right)
    left.set_title("The simulated world", loc="left")
    right.set_title(f"Its map from {len(world.answers)} noisy answers ({result.name})", loc="left")
    picture = io.BytesIO()
    figure.savefig(picture, dpi=130)
    return picture.getvalue()


def write_report(world: World, results: Sequence[Result], picture: bytes) -> str:
    """A page that can be read on its own: no script, no outside file."""
    best = best_of(results)
    wrong = metrics.triplet_error(world.positions, world.answers)
    rows = "\n".join(
        f"<tr><td>{html.escape(r.name)}</td><td>{r.training_error:.1%}</td>"
        f"<td>{r.true_error:.1%}</td><td>{r.milliseconds:.1f}</td><td>{html.escape(r.reason)}</td></tr>"
        for r in results
    )
    example = world.answers[0].array[0].tolist()
    anchor, near, far = (html.escape((world.answers.names or ())[i]) for i in example)
    image = base64.b64encode(picture).decode()
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>A map from comparisons</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem;
  color: #222; }}
img {{ max-width: 100%; }}
table {{ border-collapse: collapse; }}
td, th {{ text-align: left; padding: .3rem 1rem .3rem 0; border-bottom: 1px solid #ddd; }}
</style></head><body>
<h1>A map from comparisons</h1>
<p>{world.answers.n_objects} animals were put at made-up places. {len(world.answers)} times we asked
“is x closer to y or to z?” and got a noisy answer, such as “<b>{anchor}</b> is closer to
<b>{near}</b> than to <b>{far}</b>”. {wrong:.1%} of the answers are wrong. From the answers alone
tercet drew the map on the right.</p>
<p>The map, made by {html.escape(best.name)}, disagrees with {best.training_error:.1%} of the
answers it was made from (its training error), but with only {best.true_error:.1%} of all
{len(world.truth)} true comparisons, most of which were never asked: it has averaged out the
noise.</p>
<img alt="The simulated world and its map" src="data:image/png;base64,{image}">
<h2>Five methods</h2>
<table><thead><tr><th>method</th><th>training error</th><th>error on all true comparisons</th>
<th>milliseconds</th><th>why it stopped</th></tr></thead><tbody>
{rows}
</tbody></table>
<p>Rotation, reflection and position of a map are free, and for most methods its scale is too; the
map was turned and scaled onto the world for this picture only. Errors are those of one simulated
data set. Made with tercet {html.escape(tercet.__version__)}.</p>
</body></html>
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demonstration."""
    parser = argparse.ArgumentParser(prog="tercet.demo", description=__doc__)
    parser.add_argument("-o", "--out", type=Path, default=Path("demo"), help="folder to write to")
    parser.add_argument("--seed", type=int, default=0, help="of the simulated world")
    options = parser.parse_args(arguments)

    world = make_world(options.seed)
    print(f"A simulated world: {world.answers}")
    results = embed_world(world, options.seed)
    print("method  training error  error on all true comparisons    time")
    for r in results:
        print(
            f"{r.name:6s}  {r.training_error:14.1%}  {r.true_error:29.1%}  {r.milliseconds:4.0f} ms"
        )
    picture = draw(world, best_of(results))
    try:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "map.png").write_bytes(picture)
        (options.out / "report.html").write_text(
            write_report(world, results, picture), encoding="utf-8"
        )
    except OSError as error:
        parser.exit(2, f"tercet.demo: cannot write to {options.out}: {error.strerror}.\n")
    print(f"The map: {options.out / 'map.png'}\nThe report: {options.out / 'report.html'}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
