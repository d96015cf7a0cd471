"""Active learning: what to ask next (paper, section 4.4)."""

from tercet.uses.active.loop import ActiveLoop, Record
from tercet.uses.active.suggestions import Suggestions, suggest

__all__ = ["ActiveLoop", "Record", "Suggestions", "suggest"]
