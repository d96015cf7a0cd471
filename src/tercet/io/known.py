"""All formats, in the order in which a file is held against them."""

from __future__ import annotations

from tercet.io.arrays import ARRAY
from tercet.io.cblearn import CBLEARN
from tercet.io.formats import Format
from tercet.io.jspsych import JSPSYCH
from tercet.io.leftright import LEFT_RIGHT
from tercet.io.mlds import MLDS_QUADS, MLDS_TRIADS
from tercet.io.mostcentral import MOST_CENTRAL
from tercet.io.nextml import NEXT
from tercet.io.oddoneout import ODD_ONE_OUT
from tercet.io.parquet import PARQUET
from tercet.io.psychopy import PSYCHOPY
from tercet.io.salmon import SALMON
from tercet.io.screens import SCREENS
from tercet.io.tidy import TIDY
from tercet.io.triplettools import TRIPLETTOOLS

__all__ = ["FORMATS"]

FORMATS: tuple[Format, ...] = (
    PARQUET,
    CBLEARN,
    ARRAY,
    NEXT,
    PSYCHOPY,
    JSPSYCH,
    TRIPLETTOOLS,
    SALMON,
    LEFT_RIGHT,
    TIDY,
    ODD_ONE_OUT,
    MOST_CENTRAL,
    SCREENS,
    MLDS_QUADS,
    MLDS_TRIADS,
)
