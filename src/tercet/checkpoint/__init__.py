"""Checkpoints: what a long run has done so far, in one file that survives a crash."""

from tercet.checkpoint.opening import PathLike, fingerprint, open_checkpoint
from tercet.checkpoint.rows import NOTHING_KEPT, Checkpoint

__all__ = ["NOTHING_KEPT", "Checkpoint", "PathLike", "fingerprint", "open_checkpoint"]
