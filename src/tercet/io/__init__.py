"""Readers and writers: a file for each format, all of them in the table `FORMATS`."""

from tercet.io.cblearn import from_cblearn, to_cblearn
from tercet.io.formats import FORMATS, read_answers, read_file, read_triplets, write_triplets
from tercet.io.reading import Catch, Reading, Skipped
from tercet.io.stream import open_triplets

__all__ = [
    "FORMATS",
    "Catch",
    "Reading",
    "Skipped",
    "from_cblearn",
    "open_triplets",
    "read_answers",
    "read_file",
    "read_triplets",
    "to_cblearn",
    "write_triplets",
]
