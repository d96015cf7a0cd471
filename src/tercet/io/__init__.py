"""Readers and writers, one file per format."""

from tercet.io.table import read_triplets, write_triplets

__all__ = ["read_triplets", "write_triplets"]
