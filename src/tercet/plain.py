"""Values as JSON knows them."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["DEEPEST", "check_depth", "parse", "plain"]

DEEPEST = 100  # lists and mappings within each other; whoever walks through them calls itself


def plain(value: Any) -> Any:
    """A value of any of our kinds as JSON knows it; None for what is no number."""
    if hasattr(value, "tolist"):  # NumPy's arrays and numbers
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str | int | None):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if dataclasses.is_dataclass(value):
        fields = dataclasses.fields(value)
        return {field.name: plain(getattr(value, field.name)) for field in fields}
    if isinstance(value, Iterable):
        return [plain(part) for part in value]
    return str(value)


def parse(text: str) -> Any:
    """What a JSON text of our own says; ValueError where it is none of them."""
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError("JSON that is nested too deeply") from None
    check_depth(value)
    if "\\ud" in text.lower():  # half a pair is no letter, and could not be written again
        json.dumps(value, ensure_ascii=False).encode()
    return value


def check_depth(value: Any) -> None:
    """Raise ValueError where lists and mappings are nested deeper than any of ours."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(DEEPEST):
        parts = (one.values() if isinstance(one, dict) else one for one in level)
        level = [part for some in parts for part in some if isinstance(part, dict | list)]
        if not level:
            return
    raise ValueError(f"more than {DEEPEST} lists or mappings within each other")
