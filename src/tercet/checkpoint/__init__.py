"""Checkpoints: what a long run has done so far, in one file that survives a crash."""

from tercet.checkpoint.opening import PathLike, fingerprint, open_checkpoint
from tercet.checkpoint.rows import NOTHING_KEPT, Checkpoint, floats_of

__all__ = [
    "NOTHING_KEPT",
    "Checkpoint",
    "PathLike",
    "fingerprint",
    "floats_of",
    "open_checkpoint",
]
