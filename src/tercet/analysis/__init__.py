"""From answers to everything that a report, a notebook or a JSON file says of them."""

from tercet.analysis.analysis import Analysis, Object, Settings
from tercet.analysis.from_answers import analyse

__all__ = ["Analysis", "Object", "Settings", "analyse"]
