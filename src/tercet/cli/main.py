"""``tercet``: one command for each task, a thin shell around the Python functions."""

from __future__ import annotations

import argparse
import errno
import multiprocessing
import os
import re
import signal
import socket
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, NoReturn

import tercet
from tercet.cli import (
    bootstrap,
    check,
    compare,
    convert,
    datasets,
    demo,
    dimension,
    fit,
    plan,
    posterior,
    predict,
    report,
    reproduce,
    scale,
    score,
    simulate,
    suggest,
)
from tercet.cli.common import Formatter
from tercet.cli.output import flush, one_line, with_options
from tercet.cli.paths import check_files

__all__ = [
    "COMMANDS",
    "GROUPS",
    "build_parser",
    "ended_in_any_case",
    "main",
]

GROUPS: dict[str, tuple[Any, ...]] = {
    "from a file of answers": (report, check, convert),
    "maps and their uncertainty": (fit, bootstrap, posterior),
    "using answers and maps": (dimension, compare, scale, predict, score, suggest),
    "planning, data and examples": (plan, simulate, datasets, demo, reproduce),
}
INTERRUPTED = 130  # the convention of shells
COMMANDS = tuple(module for group in GROUPS.values() for module in group)
DESCRIPTION = "Ordinal embeddings with error bars: maps from answers, and how certain they are."
EPILOG = """\
'tercet COMMAND --help' describes a command, with examples.

Exit codes: 0 success, 1 failure, 2 bad input or usage, or too little memory, 130 interrupted.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # if a terminal lacks a character
    try:
        return _main(arguments)
    except BrokenPipeError:  # the reader, such as head, has closed the pipe
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _main(arguments: Sequence[str] | None) -> int:
    parser, _ = build_parser()
    try:
        options = parser.parse_args(arguments)
    except SystemExit:
        flush()
        raise
    if options.command is None:
        parser.print_help(sys.stderr)
        return 2
    with ended_in_any_case(options.command, INTERRUPTED):
        return _run(options)


def _run(options: argparse.Namespace) -> int:
    """Run the command that was parsed; errors are reported in one line."""
    from tercet.errors import InputError, TercetError  # imports scikit-learn, so only now

    def tell(message: str) -> None:
        text = with_options(message, options)
        print(one_line(f"tercet {options.command}: {text}"), file=sys.stderr)

    try:
        with _ended_as_if_interrupted(), _warnings_in_lines(options):
            check_files(options)
            code: int = options.run(options)
            flush()
    except InputError as error:
        tell(str(error))
        return 2
    except TercetError as error:
        tell(str(error))
        return 1
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.errno == errno.ENOMEM:
            tell(_about_memory(error))
            return 2
        where = f"{error.filename}: " if error.filename else ""
        tell(f"{where}{error.strerror or error}.")
        return 1
    except ModuleNotFoundError as error:
        tell(f"this needs {error.name}, which is not installed: pip install {error.name}.")
        return 1
    except MemoryError as error:
        tell(_about_memory(error))
        return 2
    except KeyboardInterrupt as error:
        text = " ".join(["interrupted.", *getattr(error, "__notes__", ())])
        print("\n" + one_line(f"tercet {options.command}: {text}"), file=sys.stderr)
        return INTERRUPTED
    except Exception as error:
        if os.environ.get("TERCET_TRACEBACK"):
            traceback.print_exc()
        tell(
            f"internal error ({type(error).__name__}: {error}). Please report it, with the output "
            "after setting the environment variable TERCET_TRACEBACK=1."
        )
        return 1
    return code


def _about_memory(error: Exception) -> str:
    """The message for too little memory; NumPy's error contains how much was requested."""
    found = re.search(r"allocate ([\d.]*\d)\.? (\w+)", str(error))
    asked = f" ({found[1]} {found[2]} needed at once)" if found else ""
    return f"not enough memory{asked}. Fewer objects, answers, dimensions or draws need less."


@contextmanager
def _warnings_in_lines(options: argparse.Namespace) -> Iterator[None]:
    """Show each warning once, as one plain line."""
    shown: set[str] = set()

    def show(message: Warning | str, *_: object, **__: object) -> None:
        text = with_options(str(message), options)
        line = one_line(f"tercet {options.command}: warning: {text}")
        if line not in shown:
            shown.add(line)
            print(line, file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)  # those of tercet and scikit-learn
        warnings.showwarning = show
        yield


@contextmanager
def _ended_as_if_interrupted() -> Iterator[None]:
    """Treat SIGTERM like Ctrl-C, so that worker processes end too.

    Ctrl-C raises KeyboardInterrupt from here on, unless it is ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread handles signals
        return
    sent = [signal.SIGTERM, signal.SIGINT][: 1 + callable(signal.getsignal(signal.SIGINT))]
    before = [signal.signal(each, signal.default_int_handler) for each in sent]
    try:
        yield
    finally:
        for each, handler in zip(sent, before, strict=True):
            signal.signal(each, handler)


# --- the parser -------------------------------------------------------------------------------


class Command(NamedTuple):
    """A declared command."""

    name: str
    help: str
    parser: argparse.ArgumentParser


class Parser(argparse.ArgumentParser):
    """A parser whose messages are safe for a terminal, whatever file names contain."""

    def error(self, message: str) -> NoReturn:
        """Print the message and exit."""
        super().error(one_line(message))


class _Commands:
    """Argparse's subparsers, recorded to be listed in groups."""

    def __init__(self, commands: Any) -> None:
        self.commands = commands
        self.added: list[Command] = []

    def add_parser(self, name: str, *, help: str, **more: Any) -> Any:  # noqa: A002
        parser = self.commands.add_parser(name, **more)
        self.added.append(Command(name, help, parser))
        return parser


def build_parser() -> tuple[argparse.ArgumentParser, dict[str, list[Command]]]:
    """The parser of all commands, and the commands in their groups."""
    parser = Parser(
        prog="tercet",
        usage="tercet COMMAND …",
        epilog=EPILOG,
        formatter_class=Formatter,
    )
    parser.add_argument("--version", action="version", version=f"tercet {tercet.__version__}")
    subparsers = parser.add_subparsers(dest="command", prog="tercet", help=argparse.SUPPRESS)
    groups = {}
    for title, modules in GROUPS.items():
        commands = _Commands(subparsers)
        for module in modules:
            module.add_to(commands)
        groups[title] = commands.added
    listed = [
        f"{title}:\n" + "\n".join(f"  {each.name:<11}{each.help}" for each in commands)
        for title, commands in groups.items()
    ]
    parser.description = "\n\n".join([DESCRIPTION, *listed])
    return parser, groups


# --- signals end a command, whatever it is doing ------------------------------------------------


PATIENCE = 3.0  # seconds for a command to end by itself


@contextmanager
def ended_in_any_case(command: str, code: int) -> Iterator[None]:
    """End the command soon after a signal, with this exit code.

    Python handles a signal between two bytecodes, and compiled code may take minutes with a million
    objects. So a thread receives the signal too, and ends the process if the command has not ended
    soon after. No file is half-written then: files are renamed into place when complete, and
    checkpoints are written in transactions.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread handles signals
        return
    receiver, sender = socket.socketpair()
    sender.setblocking(False)
    ended = threading.Event()
    watch = threading.Thread(target=_watch, args=(receiver, ended, command, code), daemon=True)
    watch.start()
    before = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
    try:
        yield
    finally:
        ended.set()
        signal.set_wakeup_fd(before)
        sender.close()  # ends the thread
        watch.join()
        receiver.close()


def _watch(receiver: socket.socket, ended: threading.Event, command: str, code: int) -> None:
    """End the process if the command has not ended some time after a signal."""
    while numbers := receiver.recv(64):
        if {signal.SIGINT, signal.SIGTERM}.isdisjoint(numbers) or ended.wait(PATIENCE):
            continue
        for worker in multiprocessing.active_children():
            worker.terminate()
        with suppress(OSError):
            os.write(2, f"\ntercet {command}: interrupted.\n".encode())
        os._exit(code)
