"""How many dimensions the answers need (paper, section 4.2)."""

from tercet.uses.dimension.estimate import estimate_dimension
from tercet.uses.dimension.evidence import DimensionEstimate, DimensionRow

__all__ = ["DimensionEstimate", "DimensionRow", "estimate_dimension"]
