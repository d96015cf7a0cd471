"""``tercet``: one word for each thing it does; thin over the Python functions of the same name."""

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
    simulate,
    suggest,
)
from tercet.cli.common import Formatter
from tercet.cli.files import check_files
from tercet.cli.output import flush, one_line, with_options

__all__ = [
    "COMMANDS",
    "GROUPS",
    "build_parser",
    "ended_in_any_case",
    "main",
]

GROUPS: dict[str, tuple[Any, ...]] = {
    "from a file of answers": (report, check, convert),
    "a map, and how sure it is": (fit, bootstrap, posterior),
    "what it is for": (dimension, compare, scale, predict, suggest),
    "planning and trying out": (plan, simulate, datasets, demo, reproduce),
}
INTERRUPTED = 130  # as shells have it
COMMANDS = tuple(module for group in GROUPS.values() for module in group)
DESCRIPTION = "Ordinal embeddings with error bars: from answers to a map that says how sure it is."
EPILOG = """\
'tercet COMMAND --help' tells all about a command, with examples.

Exit codes: 0 done, 1 the work failed, 2 bad input or usage, or too little memory, 130 interrupted.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # where a terminal lacks a letter
    try:
        return _main(arguments)
    except BrokenPipeError:  # whoever reads, such as head, has had enough
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
    """Run the command that was parsed; whatever goes wrong is told in a line."""
    from tercet.errors import InputError, TercetError  # knows scikit-learn, so only now

    def tell(message: str) -> None:
        told = with_options(message, options)
        print(one_line(f"tercet {options.command}: {told}"), file=sys.stderr)

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
        told = " ".join(["interrupted.", *getattr(error, "__notes__", ())])
        print("\n" + one_line(f"tercet {options.command}: {told}"), file=sys.stderr)
        return INTERRUPTED
    except Exception as error:
        if os.environ.get("TERCET_TRACEBACK"):
            traceback.print_exc()
        tell(
            f"failed in a way that it should not ({type(error).__name__}: {error}). Please report "
            "it, with what TERCET_TRACEBACK=1 in the environment shows."
        )
        return 1
    return code


def _about_memory(error: Exception) -> str:
    """Say that there is too little memory; NumPy tells how much was asked for."""
    found = re.search(r"allocate ([\d.]*\d)\.? (\w+)", str(error))
    asked = f", which needs {found[1]} {found[2]} at once" if found else ""
    return (
        f"there is not enough memory for this{asked}. Fewer objects, answers, dimensions or draws "
        "need less."
    )


@contextmanager
def _warnings_in_lines(options: argparse.Namespace) -> Iterator[None]:
    """Show each warning once, as one plain line."""
    told: set[str] = set()

    def show(message: Warning | str, *_: object, **__: object) -> None:
        said = with_options(str(message), options)
        line = one_line(f"tercet {options.command}: warning: {said}")
        if line not in told:
            told.add(line)
            print(line, file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)  # tercet's are, and scikit-learn's
        warnings.showwarning = show
        yield


@contextmanager
def _ended_as_if_interrupted() -> Iterator[None]:
    """Let the signal that ends a program be like Ctrl-C, so that worker processes end too.

    Ctrl-C itself is an exception from here on, unless it is to be ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the main thread's
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
    """A command, as it was declared."""

    name: str
    help: str
    parser: argparse.ArgumentParser


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are harmless to a terminal: names of files may be anything."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and stop."""
        super().error(one_line(message))


class _Commands:
    """Argparse's commands, kept to be listed in groups."""

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


PATIENCE = 3.0  # seconds that a command has to end by itself


@contextmanager
def ended_in_any_case(command: str, code: int) -> Iterator[None]:
    """Let no command outlive by much the signal that is to end it; it then has this exit code.

    Python acts on a signal between two of its own steps, and a compiled one may take minutes with
    a million objects. So a thread hears the signal too, and ends the process if the command has
    not ended soon after. No file is half-written then: files get their name when they are whole,
    and checkpoints keep what is done in transactions.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the main thread's
        return
    heard, told = socket.socketpair()
    told.setblocking(False)
    ended = threading.Event()
    watch = threading.Thread(target=_watch, args=(heard, ended, command, code), daemon=True)
    watch.start()
    before = signal.set_wakeup_fd(told.fileno(), warn_on_full_buffer=False)
    try:
        yield
    finally:
        ended.set()
        signal.set_wakeup_fd(before)
        told.close()  # the thread hears nothing more, and ends
        watch.join()
        heard.close()


def _watch(heard: socket.socket, ended: threading.Event, command: str, code: int) -> None:
    """End the process if the command has not ended some time after a signal."""
    while numbers := heard.recv(64):
        if {signal.SIGINT, signal.SIGTERM}.isdisjoint(numbers) or ended.wait(PATIENCE):
            continue
        for worker in multiprocessing.active_children():
            worker.terminate()
        with suppress(OSError):
            os.write(2, f"\ntercet {command}: interrupted.\n".encode())
        os._exit(code)
