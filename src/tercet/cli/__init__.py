"""The command line: ``tercet COMMAND …``."""

from tercet.cli.main import main

__all__ = ["main"]
