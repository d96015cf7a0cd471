"""The mathematics of one comparison: five losses of two squared distances, one file each."""

from tercet.models.base import Model
from tercet.models.ckl import CKLModel
from tercet.models.gnmds import GNMDSModel
from tercet.models.soe import SOEModel
from tercet.models.ste import STEModel
from tercet.models.tste import TSTEModel

__all__ = ["CKLModel", "GNMDSModel", "Model", "SOEModel", "STEModel", "TSTEModel"]
