"""The page docs/commands.md, from what ``--help`` says: ``python -m tercet.cli.reference``."""

from __future__ import annotations

from functools import partial
from typing import Any

from tercet.cli.common import Formatter
from tercet.cli.main import Command, build_parser

__all__ = ["write_reference"]

WIDTH = 96  # of the page, whatever the terminal's
INTRODUCTION = """\
# Commands

This page is what `tercet --help` and `tercet COMMAND --help` say, command by command.

- **Files** are recognised: [which formats, and how](files.md). `--format` and `--columns` overrule.
  What was recognised, and which rows were left out and why, is said on the error stream.
- **Results** are printed as tables for people; `--json` prints one JSON object, and `--csv` a table
  for machines, instead. What is no number is `null`, or an empty cell.
- **Output**: `-o` writes a file, all of it or nothing. Where the name is a link, the file that it
  leads to is replaced and keeps its permissions; into pipes and devices, such as `/dev/stdout`, is
  written as it comes. No output replaces a file that the command reads, or another output.
- **Seeds**: `--seed` is 0 unless you say otherwise, so the same command gives the same result, with
  any number of `--jobs`.
- **Progress bars** are shown on a terminal and never in a pipe; `--quiet` leaves them and all
  remarks out. Warnings stay, one line each.
- **Exit codes**: 0 done, 1 the work failed, 2 bad input or usage, or too little memory, 130
  interrupted. What is wrong is said in a line.

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
