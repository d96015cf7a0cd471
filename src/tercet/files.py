"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

__all__ = ["write_whole"]


def write_whole(path: Path, content: bytes) -> None:
    """Write a file under another name first: nobody ever sees half of it, not after a crash either.

    The name has the number of the process, so two of them do not write into one.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(content)
        os.replace(part, path)
    finally:
        with contextlib.suppress(OSError):
            part.unlink()
