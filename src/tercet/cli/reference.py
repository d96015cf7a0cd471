"""The page docs/commands.md, from ``--help``: ``python -m tercet.cli.reference``."""

from __future__ import annotations

from functools import partial
from typing import Any

from tercet.cli.common import Formatter
from tercet.cli.main import Command, build_parser

__all__ = ["write_reference"]

WIDTH = 96  # of the page, not of the terminal
INTRODUCTION = """\
# Commands

The output of `tercet --help` and `tercet COMMAND --help`, command by command.

- **Input**: the format of a file [is detected](files.md); `--format` and `--columns` override this.
  The detected format, and which rows were left out and why, are printed to the error stream.
- **Results** are printed as text; `--json` prints one JSON object and `--csv` a table instead.
  Missing values are `null` or an empty cell.
- **Output**: `-o` writes a file atomically. If the name is a link, its target is replaced and keeps
  its permissions; pipes and devices, such as `/dev/stdout`, are written directly. An output never
  overwrites a file that the command reads, or another output.
- **Seeds**: `--seed` is 0 by default, so the same command gives the same result, with any number of
  `--jobs`.
- **Progress bars** are shown on a terminal only; `--quiet` omits them and all messages except
  warnings.
- **Exit codes**: 0 success, 1 failure, 2 bad input or usage, or too little memory, 130 interrupted.
  Errors are reported in one line.

A first try, without data of your own:

```console skip: the tutorial runs a report
$ tercet simulate -o answers.csv
$ tercet report answers.csv -o report.html
```
"""


def write_reference() -> str:
    """The page, in Markdown."""
    parser, groups = build_parser()
    parts = [INTRODUCTION, _block(parser)]
    for title, commands in groups.items():
        parts.append(f"## {title[0].upper()}{title[1:]}\n")
        parts += [_section(command) for command in commands]
    return "\n".join(parts)


def _section(command: Command) -> str:
    return f"### tercet {command.name}\n\n{_block(command.parser)}"


def _block(parser: Any) -> str:
    parser.formatter_class = partial(Formatter, width=WIDTH)
    return f"```text\n{parser.format_help().strip()}\n```\n"


if __name__ == "__main__":
    print(write_reference(), end="")
