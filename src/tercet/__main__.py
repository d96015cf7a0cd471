"""``tercet`` and ``python -m tercet``: what must be settled before anything large is imported."""

from __future__ import annotations

import os
import signal
from types import FrameType

__all__ = ["main"]

INTERRUPTED = 130  # as shells have it


def main() -> int:
    """Run the command line, which an interruption ends quietly while it is still being loaded.

    There is nothing to be tidied up before a command runs, and an exception would be lost, or
    turned into another, in the libraries that are being imported. The same holds after the command.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is to be ignored
        signal.signal(signal.SIGINT, _leave)
    from tercet.cli import main as run

    return run()


def _leave(number: int, frame: FrameType | None) -> None:
    try:
        os.write(2, b"\ntercet: interrupted.\n")
    finally:
        os._exit(INTERRUPTED)


if __name__ == "__main__":
    raise SystemExit(main())
