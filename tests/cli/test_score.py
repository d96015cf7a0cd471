"""``tercet score``: tables of embeddings and of machines, JSON, and errors in a line."""

import json

import numpy as np
import pytest

import tercet as tc

NAMES = [f"thing {i}" for i in range(9)]
POINTS = np.random.default_rng(0).normal(size=(9, 2))


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answers = tc.simulate.noisy_triplets(POINTS, 200, noise=0.3, random_state=0)
    tc.write_triplets(answers, "numbers.csv")
    tc.write_triplets(tc.Triplets(np.array(NAMES)[answers.array], names=NAMES), "names.csv")
    np.save("true.npy", POINTS)
    np.save("false.npy", POINTS[::-1])
    rows = [f"{n},{x},{y}" for n, (x, y) in zip(NAMES, POINTS.tolist(), strict=True)]
    (tmp_path / "named.csv").write_text("\n".join(reversed(rows)))
    (tmp_path / "names.txt").write_text("\n".join(NAMES))
    return tmp_path


def test_a_table_of_embeddings(files, tercet):
    code, out, err = tercet("score", "true.npy", "false.npy", "numbers.csv", "-o", "scores.csv")
    assert code == 0, err
    title, true, false, *rest = out.splitlines()
    assert title.split()[:2] == ["file", "accuracy"]
    assert float(true.split()[1]) > 0.7 > float(false.split()[1])
    assert "By guessing: 50 %" in rest[1]
    assert "The noise ceiling is unknown" in out
    assert err.count("Read as") == 1
    assert len((files / "scores.csv").read_text().splitlines()) == 3


def test_json_is_what_python_says(files, tercet):
    options = ("--similarity", "dot", "--temperature", "2")
    code, out, _ = tercet("score", "true.npy", "numbers.csv", *options, "--json")
    assert code == 0
    (found,) = json.loads(out)["scores"]
    score = tc.score_embedding(
        POINTS, tc.read_answers("numbers.csv"), similarity="dot", temperature=2.0
    )
    assert found["log_loss"] == pytest.approx(score.log_loss)
    assert found["ceiling"] is None
    assert found["unit"] == "comparison"


def test_names_match_rows(files, tercet):
    plain = json.loads(tercet("score", "true.npy", "numbers.csv", "--json")[1])["scores"][0]
    for arguments in (
        ("named.csv", "names.csv"),
        ("true.npy", "names.csv", "--names", "names.txt"),
        ("named.csv", "names.csv", "--names", "names.txt"),
    ):
        code, out, err = tercet("score", *arguments, "--json")
        assert code == 0, err
        found = json.loads(out)["scores"][0]
        assert found["accuracy"] == pytest.approx(plain["accuracy"])


def test_agreement(files, tercet):
    answers = tc.read_answers("numbers.csv").array
    turned = np.where(np.arange(len(answers))[:, None] % 5 == 0, answers[:, [0, 2, 1]], answers)
    tc.write_triplets(tc.Triplets(turned), "machine.csv")
    code, out, err = tercet("score", "--agreement", "machine.csv", "numbers.csv")
    assert code == 0, err
    assert out.splitlines()[1].split()[:2] == ["machine.csv", "0.8000"]
    assert "By guessing: 50 %" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("short.npy", "numbers.csv"), "8"),
        (("true.npy", "names.csv"), "--names"),
        (("nan.npy", "numbers.csv"), "nan.npy: row 0 (counting from 0) of the embedding"),
        (("other.csv", "names.csv"), "thing 8"),
        (("true.npy", "numbers.csv", "--temperature", "0"), "positive number"),
        (("true.npy", "numbers.csv", "--names", "few.txt"), "3"),
        (("absent.npy", "numbers.csv"), "there is no file absent.npy"),
        (("--agreement", "apart.csv", "numbers.csv"), "no question is in both"),
    ],
)
def test_errors_are_told_in_a_line(arguments, message, files, tercet):
    np.save("short.npy", POINTS[:8])
    np.save("nan.npy", POINTS * np.nan)
    (files / "other.csv").write_text("\n".join(f"thing {i},{i}.5" for i in range(8)))
    (files / "few.txt").write_text("a\nb\nc\n")
    (files / "apart.csv").write_text("anchor,near,far\n20,21,22\n20,22,23\n")
    code, out, err = tercet("score", *arguments, "--quiet")
    assert code == 2
    assert not out
    assert message in err
    assert len(err.strip().splitlines()) == 1
