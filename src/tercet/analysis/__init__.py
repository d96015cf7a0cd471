"""From answers to everything that a report, a notebook or a JSON file says of them."""

from tercet.analysis.from_answers import analyse
from tercet.analysis.result import Analysis, Object, Settings

__all__ = ["Analysis", "Object", "Settings", "analyse"]
