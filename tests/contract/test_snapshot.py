"""The public interface is what it was, unless it is changed on purpose."""

import difflib

import pytest
from tests.contract.snapshot import RENEW, SNAPSHOTS, shapes, stored


def differences(name, now):
    """What changed since a snapshot was stored, and how to renew it; empty if nothing did."""
    kept = stored(name).read_text("utf-8")
    lines = difflib.unified_diff(
        kept.splitlines(), now.splitlines(), "stored", "now", lineterm="", n=4
    )
    shown = "\n".join(lines)
    return shown and (
        f"{name} is not what is stored in {stored(name)}:\n{shown}\n"
        f"If that is meant, run '{RENEW} {name}' and commit the file with the reason."
    )


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(name, marks=pytest.mark.slow if name == "json_keys" else ())
        for name in SNAPSHOTS
    ],
)
def snapshot(request):
    return request.param, SNAPSHOTS[request.param]()


def test_what_is_promised_is_kept(snapshot):
    told = differences(*snapshot)
    assert not told, told


def test_a_change_is_told_with_the_way_to_renew_it(snapshot):
    """Negative control: a line less, or another, is noticed."""
    name, now = snapshot
    lines = now.splitlines()
    last = lines.pop()
    told = differences(name, "\n".join(lines))
    assert f"\n-{last}\n" in told
    assert f"{RENEW} {name}" in told
    assert f"\n+{last}!\n" in differences(name, "\n".join([*lines, f"{last}!"]))


def test_shapes_of_json():
    rows = [{"x": 1, "y": None}, {"x": 2.5, "y": "a", "z": True}]
    assert shapes({"rows": rows, "pairs": [[1, 2]], "none": [], "some": {"a": {}}}) == [
        "rows[]: object",
        "  x: number",
        "  y: null or text",
        "  z: true/false (not always)",
        "pairs[][]: number",
        "none[]: nothing",
        "some: object",
        "  a: object",
    ]
    assert shapes({"a": 1}, {"a": {"b": 1}}) == ["a: number or object", "  b: number"]
