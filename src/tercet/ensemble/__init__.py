"""Many embeddings of the same objects (paper, section 3.3)."""

from tercet.ensemble.ensemble import Ensemble

__all__ = ["Ensemble"]
