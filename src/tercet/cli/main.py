"""``tercet``: one word for each thing it does; thin over the Python functions of the same name.

Exit codes: 0 done, 1 the work failed, 2 bad input or usage.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence

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
    # As if interrupted, so that worker processes end too.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
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
    finally:
        signal.signal(signal.SIGTERM, before)
    return code


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
