"""Public data sets of answers and features, from a folder or downloaded."""

from tercet.datasets.answers import (
    load_alien_eggs,
    load_cars,
    load_food,
    load_material,
    load_mlds,
    load_music,
    load_things,
)
from tercet.datasets.catalogue import Catalogue, Dataset, Entry, list_datasets
from tercet.datasets.features import load_breast_cancer, load_mnist_digits, load_satellite

__all__ = [
    "Catalogue",
    "Dataset",
    "Entry",
    "list_datasets",
    "load_alien_eggs",
    "load_breast_cancer",
    "load_cars",
    "load_food",
    "load_material",
    "load_mlds",
    "load_mnist_digits",
    "load_music",
    "load_satellite",
    "load_things",
]
