"""Everything at its smallest: the same code as the full run."""

import csv
import sys

import pytest

from tercet.errors import InputError, TercetError
from tercet.paper import reproduce as module
from tercet.paper.claims import CLAIMS
from tercet.paper.figures import FIGURES
from tercet.paper.reproduce import reproduce
from tercet.paper.settings import FULL, OURS, QUICK, TINY
from tercet.paper.verdicts import NOT_RUN, UNDECIDED

pytestmark = pytest.mark.slow

# The list of claims that the reproduction has to judge.
NAMES = (
    *("N1", "N2", "N3", "N4", "T1", "T2", "T3", "P1", "P2", "P3", "D1", "D2", "D3", "D4"),
    *("S1", "S2", "S3", "A1", "A2", "A3", "A4", "V1", "G1"),
)


@pytest.fixture(scope="module")
def everything(made_up_data, tmp_path_factory):
    from tercet.paper import figure2a

    out = tmp_path_factory.mktemp("reproduction")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TERCET_DATA", str(made_up_data))
        figure2a.digits.cache_clear()
        made = reproduce(size="tiny", out=out, n_jobs=1, progress=False)
    figure2a.digits.cache_clear()
    return made, out


def test_every_figure_is_drawn(everything):
    made, out = everything
    assert made.failed == []
    assert made.left_out == {}
    assert made.current
    assert made.warned["2b"]["ConvergenceWarning"] > 0  # as the paper's chains deserve
    assert set(made.pictures) == {*FIGURES, "2"}
    for names in made.pictures.values():
        for name in names:
            assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
            assert (out / f"{name}.pdf").read_bytes().startswith(b"%PDF")
    assert not list(out.glob("*.part")) + list(out.glob(".*.part"))


def test_every_number_is_in_a_table_beside_the_picture(everything):
    made, out = everything
    for name, table in made.tables.items():
        stem = name if name.isalpha() else f"figure_{name}"
        with open(out / f"{stem}.csv", encoding="utf-8") as file:
            assert len(list(csv.DictReader(file))) == len(table) > 0
    with open(out / "figure_2b_summary.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {"model", "method", "noise", "uncertainty mean", "uncertainty sd"} <= set(rows[0])
    assert {row["repeats"] for row in rows} == {str(TINY.repeats)}


def test_every_claim_is_judged(everything):
    made, out = everything
    assert tuple(verdict.claim.name for verdict in made.verdicts) == NAMES
    assert NOT_RUN not in {verdict.verdict for verdict in made.verdicts}
    assert all(len(check.values) == TINY.repeats for v in made.verdicts for check in v.checks)
    with open(out / "claims.csv", encoding="utf-8") as file:
        found = {row["claim"] for row in csv.DictReader(file)}
    assert found == set(NAMES)


def test_the_page_shows_it_all(everything):
    made, out = everything
    page = (out / "reproduction.md").read_text(encoding="utf-8")
    assert all(f"]({name}.png)" in page for names in made.pictures.values() for name in names)
    assert all(f"| {name} |" in page for name in NAMES)
    assert all(f"| {name} | {choice} |" in page for name, choice in OURS.items())
    assert "recommended" in page
    assert "nan" not in page


def test_a_second_run_computes_nothing(everything, monkeypatch):
    made, out = everything
    monkeypatch.setattr("tercet.paper.experiments._compute", None)
    again = reproduce(["1", "mixture", "2b", "2c"], size="tiny", out=out, n_jobs=1, progress=False)
    assert again.tables["2b"].rows == made.tables["2b"].rows
    assert "2" not in again.pictures  # without 2a


def test_the_number_of_processes_changes_nothing(everything, tmp_path):
    made, _ = everything
    again = reproduce(["vote"], size="tiny", out=tmp_path, n_jobs=2, progress=False)
    assert again.tables["vote"].rows == made.tables["vote"].rows


def test_figure_2_is_its_three_parts():
    assert [figure.name for figure in module._choose(["2", "4"])] == ["2a", "2b", "2c", "4"]


def test_a_repeat_with_a_failed_cell_is_left_out(tmp_path, monkeypatch):
    """The other repeats are judged and drawn, and what failed is listed."""
    from tercet.paper import vote

    def broken(*, repeat, **settings):
        if repeat == 1 and settings["noise"] == 3.0:
            raise ValueError("broken")
        return compare(repeat=repeat, **settings)

    compare = vote.compare_rules
    monkeypatch.setattr(vote, "compare_rules", broken)
    made = reproduce(["vote"], size="tiny", out=tmp_path, n_jobs=1, progress=False)
    assert len(made.failed) == 2  # both ensembles
    assert made.tables["vote"].values("repeat") == [0]
    assert made.pictures["vote"] == ["vote", "vote_bayes"]
    assert next(v for v in made.verdicts if v.claim.name == "V1").verdict == UNDECIDED
    assert "Failed: `vote {" in (tmp_path / "reproduction.md").read_text()


def test_figures_alone_leave_other_claims_unjudged(tmp_path):
    made = reproduce(["mixture"], size="tiny", out=tmp_path, n_jobs=1, progress=False)
    assert {verdict.verdict for verdict in made.verdicts} == {NOT_RUN}
    assert list(made.pictures) == ["mixture"]


def test_a_figure_without_its_data(tmp_path, monkeypatch):
    """Asked for by name it is an error; of all figures it is left out, and told."""

    def missing(*digits):
        raise TercetError("no digits here")

    figure = FIGURES["2a"]
    without = {"2a": module.FIGURES["2a"].__class__(**(vars(figure) | {"loaders": (missing,)}))}
    monkeypatch.setattr(module, "FIGURES", without | {"mixture": FIGURES["mixture"]})
    with pytest.raises(TercetError, match="no digits"):
        reproduce(["2a"], size="tiny", out=tmp_path, n_jobs=1, progress=False)
    made = reproduce(size="tiny", out=tmp_path, n_jobs=1, progress=False)
    assert made.left_out == {"2a": "no digits here"}
    assert "Figure 2a was left out: no digits here" in (tmp_path / "reproduction.md").read_text()


def test_cells_that_fail_are_listed(tmp_path, monkeypatch):
    def broken(points):
        raise ValueError("broken")

    monkeypatch.setattr("tercet.paper.mixture.scatter", broken)
    made = reproduce(["mixture"], size="tiny", out=tmp_path, n_jobs=1, progress=False)
    assert len(made.failed) == 1
    assert "broken" in made.failed[0]
    assert "broken" in (tmp_path / "reproduction.md").read_text()


def test_matplotlib_is_missed_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(TercetError, match="pip install matplotlib"):
        reproduce(["mixture"], size="tiny", out=tmp_path, n_jobs=1, progress=False)
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_is_refused(tmp_path):
    with pytest.raises(InputError, match="no figure '6'; there are 1, 2a"):
        reproduce(["6"], out=tmp_path)
    with pytest.raises(InputError, match="quick"):
        reproduce(size="huge", out=tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write"):
        reproduce(["1"], size="tiny", out=tmp_path / "file")
    with pytest.raises(InputError, match="n_jobs"):
        reproduce(["1"], size="tiny", out=tmp_path, n_jobs=0)


def test_the_settings_are_the_papers():
    """Section 5, and the list of what the paper leaves open."""
    assert FULL.repeats == 5
    assert FULL.points == 50
    assert FULL.noise_fraction == 0.01
    assert FULL.noises == (0.0, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)
    assert FULL.fractions == (0.005, 0.01, 0.02, 0.05, 0.1, 0.15)
    assert FULL.thresholds == (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
    assert FULL.true_dimensions == (3, 2, 4, 5)
    assert FULL.dimensions(3) == (1, 2, 3, 4, 5, 6, 7)
    assert FULL.steps == tuple(range(2000, 10001, 1000))
    assert (FULL.active_points, FULL.observers, FULL.replicates) == (200, 50, 50)
    assert QUICK.repeats == 1


def test_every_claim_needs_figures_that_exist():
    assert {name for claim in CLAIMS for name in claim.figures} <= set(FIGURES)
