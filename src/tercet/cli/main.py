"""``tercet``: one word for each thing it does; thin over the Python functions of the same name.

Exit codes: 0 done, 1 the work failed, 2 bad input or usage.
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import tercet
from tercet.cli import reproduce
from tercet.errors import InputError, TercetError

__all__ = ["main"]

COMMANDS = (reproduce,)
INTERRUPTED = 130  # as shells have it


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    parser = build_parser()
    options = parser.parse_args(arguments)
    try:
        with _ended_as_if_interrupted():
            code: int = options.run(options)
    except InputError as error:
        print(f"tercet {options.command}: {error}", file=sys.stderr)
        return 2
    except (TercetError, OSError) as error:
        print(f"tercet {options.command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"\ntercet {options.command}: interrupted.", file=sys.stderr)
        return INTERRUPTED
    return code


@contextmanager
def _ended_as_if_interrupted() -> Iterator[None]:
    """Let the signal that ends a program be like Ctrl-C, so that worker processes end too."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the main thread's
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def build_parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="tercet",
        description="Ordinal embeddings with error bars.",
    )
    parser.add_argument("--version", action="version", version=f"tercet {tercet.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for module in COMMANDS:
        module.add_to(commands)
    return parser
