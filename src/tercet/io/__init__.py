"""Readers and writers, one file per format."""

from tercet.io.cblearn import from_cblearn, to_cblearn
from tercet.io.known import FORMATS
from tercet.io.read import read_file, read_triplets
from tercet.io.reading import Catch, Reading, Skipped
from tercet.io.stream import open_triplets
from tercet.io.write import write_triplets

__all__ = [
    "FORMATS",
    "Catch",
    "Reading",
    "Skipped",
    "from_cblearn",
    "open_triplets",
    "read_file",
    "read_triplets",
    "to_cblearn",
    "write_triplets",
]
