"""The report: a page that can be read on its own."""

from __future__ import annotations

import base64
import html
import math
from collections.abc import Sequence

import numpy as np

import tercet
from tercet import metrics
from tercet.demo.sureness import LEVEL, SURE, Sureness, Trial, doubtful
from tercet.demo.world import Result, World
from tercet.embedder import Floats
from tercet.posterior.diagnostics import R_HAT, Diagnostics
from tercet.triplets import Triplets

STYLE = """
body { font: 16px/1.55 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto;
  padding: 0 1rem; color: #222; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 2.2rem; }
p, li { max-width: 46rem; } li { margin: .4rem 0; } ul { padding-left: 1.2rem; }
img { max-width: 100%; }
table { border-collapse: collapse; }
td, th { text-align: left; vertical-align: top; padding: .3rem 1.2rem .3rem 0;
  border-bottom: 1px solid #ddd; }
.beside { display: flex; flex-wrap: wrap; gap: 1.5rem; align-items: center; }
.beside img { width: 20rem; } .beside ul { flex: 1 1 22rem; }
footer { color: #666; margin: 2.5rem 0; font-size: .9rem; max-width: 46rem; }
"""


def write_report(
    world: World,
    results: Sequence[Result],
    trials: Sequence[Trial],
    sure: Sureness,
    picture: bytes,
    diagram: bytes,
) -> str:
    """Write the page: no script, no outside file."""
    n, wrong = world.answers.n_objects, metrics.triplet_error(world.positions, world.answers)
    anchor, near, far = _names(world.answers, 0)
    n_new = trials[0].n_new
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>A map that says how sure it is</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>
<body>
<h1>A map that says how sure it is</h1>
<p>{n} animals were put at made-up places. {len(world.answers)} times we asked “is x closer to y or
to z?” and got a noisy answer, such as “<b>{anchor}</b> is closer to <b>{near}</b> than to
<b>{far}</b>”. {wrong:.1%} of the answers are wrong. From the answers alone tercet drew the map on
the right.</p>
{_image(picture, "The simulated world, and its map with ellipses")}
<p>A point is where an animal is on average over all maps that fit the answers; its ellipse holds
{LEVEL:.0%} of where it may be. This world is made up, so we can look: <b>{sure.inside} of the {n}
animals truly are inside their ellipses</b>. With your own answers nobody can look. What can be said
then?</p>
<h2>How far can it be trusted?</h2>
<div class="beside"><ul>
<li>There are {len(world.truth)} comparisons of these animals, and most were never asked. The map is
sure (above {SURE:.0%}) of <b>{sure.share_sure:.1%}</b> of them. Of those,
<b>{sure.share_right:.1%} are right</b>.</li>
<li>Of the others it guesses {sure.share_right_of_others:.1%} right. There it is better to
abstain.</li>
<li>{tell_error(sure)}</li>
<li>{tell_mistake(world, sure.probability)}</li>
</ul>{_image(diagram, "Share of right comparisons against confidence")}</div>
<p>The diagram shows how often the map is right when it is so and so sure. On the grey line it is as
good as its word, below it too bold, above it too cautious. A large dot stands for many
comparisons.</p>
<h2>What it cannot tell</h2>
<p>The comparisons it is least sure of. It does not know the true distances; you may.</p>
<table><thead><tr><th>question</th><th>what the map says</th><th>true distances</th></tr></thead>
<tbody>
{tell_doubts(world, sure.probability)}
</tbody></table>
<h2>What all this rests on</h2>
<p><b>That the sampler found the maps.</b> {tell_chains(sure.diagnostics)}</p>
<p><b>That the model is right.</b> All of the above holds <i>if</i> people answer as the model says.
No ellipse includes the chance that they do not. So three models were given all answers but {n_new}
and had to foretell those. {html.escape(sure.model)} was surprised least and made the map above.</p>
<table><thead><tr><th>model</th><th>surprise by a new answer</th><th>new answers foretold</th>
<th>animals inside their ellipses</th></tr></thead><tbody>
{tell_trials(trials, n)}
</tbody></table>
<p>Surprise is the mean of −log p; a coin has {math.log(2):.3f}. The last column, of the maps from
fewer answers, can be had in a made-up world only. It shows what a model costs: an ellipse is
only as good as its model, however well it was computed.</p>
<p><b>That two questions are kept apart.</b> “Which animal truly is closer?” is what the map is sure
of. “What will the next person say?” is what the models foretold, and noise keeps that from ever
being certain.</p>
<h2>One map each, by five methods</h2>
<table><thead><tr><th>method</th><th>training error</th><th>error on all true comparisons</th>
<th>milliseconds</th><th>why it stopped</th></tr></thead><tbody>
{tell_results(results)}
</tbody></table>
<p>The training error is the share of the answers that a map disagrees with. The error on all true
comparisons is smaller: a map averages out the noise.</p>
<footer>Rotation, reflection, position and size of a map mean nothing here. The draws were turned
and scaled onto each other, and all together onto the world, for the picture and for counting
animals in their ellipses; probabilities are those of the draws as drawn. All figures are those of
one simulated data set. Made with tercet {html.escape(tercet.__version__)}.</footer>
</body></html>
"""


def tell_error(sure: Sureness) -> str:
    """Whether the map makes as many mistakes as it expects to."""
    expected, error = sure.expected_error, sure.error
    if abs(error - expected) < 0.1 * expected:
        verdict = "about as many as it expects"
    elif error > expected:
        verdict = "more than it expects, so it is too sure of itself"
    else:
        verdict = "fewer than it expects, so it is rather too cautious"
    return (
        f"It expects to have {expected:.1%} of all comparisons wrong (its average uncertainty). "
        f"It has {error:.1%} wrong: {verdict}."
    )


def tell_mistake(world: World, probability: Floats) -> str:
    """The comparison that it is most wrongly sure of."""
    row = int(np.argmin(probability))
    if probability[row] >= 0.5:
        return "It has no comparison wrong."
    anchor, near, far = _names(world.truth, row)
    return (
        f"Its boldest mistake is to have <b>{anchor}</b> closer to <b>{far}</b> than to "
        f"<b>{near}</b>, with a probability of {_percent(1.0 - probability[row])}."
    )


def tell_doubts(world: World, probability: Floats) -> str:
    """The comparisons it is least sure of, as rows of a table."""
    lengths = np.sqrt(metrics.squared_distances(world.positions, world.truth))
    rows = []
    for row in doubtful(world, probability):
        anchor, near, far = _names(world.truth, row)
        rows.append(
            f"<tr><td>Is <b>{anchor}</b> closer to <b>{near}</b> or to <b>{far}</b>?</td>"
            f"<td>{near}: {_percent(probability[row])}</td>"
            f"<td>{near} {lengths[0, row]:.2f}, {far} {lengths[1, row]:.2f}</td></tr>"
        )
    return "\n".join(rows)


def tell_chains(found: Diagnostics) -> str:
    """Whether the sampler has done its work, in plain words."""
    fewest = min(found.ess_bulk, found.ess_tail)
    numbers = (
        f"{found.n_chains} chains wandered through the maps that fit, each from a start of its "
        f"own, and took down {found.n_chains * found.n_samples} of them."
    )
    if found.problems:
        return f"{numbers} They have not converged: {html.escape('; '.join(found.problems))}."
    return (
        f"{numbers} They agree: R-hat, which compares them, is {found.r_hat:.3f} at worst (1 is "
        f"perfect, {R_HAT} too much), and the maps are worth {fewest:.0f} independent ones or more."
    )


def tell_trials(trials: Sequence[Trial], n_objects: int) -> str:
    """The models and how they did, as rows of a table."""
    return "\n".join(
        f"<tr><td>{html.escape(t.candidate.name)}</td><td>{t.log_loss:.3f}</td>"
        f"<td>{t.foretold:.1%}</td><td>{t.inside} of {n_objects}</td></tr>"
        for t in trials
    )


def tell_results(results: Sequence[Result]) -> str:
    """The methods and how they did, as rows of a table."""
    return "\n".join(
        f"<tr><td>{html.escape(r.name)}</td><td>{r.training_error:.1%}</td><td>{r.true_error:.1%}"
        f"</td><td>{r.milliseconds:.1f}</td><td>{html.escape(r.reason)}</td></tr>"
        for r in results
    )


def _names(triplets: Triplets, row: int) -> list[str]:
    """The names in one comparison, for HTML."""
    assert triplets.names is not None
    return [html.escape(triplets.names[i]) for i in triplets.array[row].tolist()]


def _percent(share: float) -> str:
    return "more than 99.9%" if share > 0.999 else f"{share:.1%}"


def _image(picture: bytes, alt: str) -> str:
    return f'<img alt="{alt}" src="data:image/png;base64,{base64.b64encode(picture).decode()}">'
