"""Sets of answers and of features: from a folder, or from their public homes."""

from tercet.datasets.catalogue import Catalogue, Entry, list_datasets
from tercet.datasets.choices import load_cars, load_food, load_things
from tercet.datasets.comparisons import load_alien_eggs, load_material, load_music
from tercet.datasets.dataset import Dataset
from tercet.datasets.features import load_breast_cancer, load_mnist_digits, load_satellite
from tercet.datasets.scaling import load_mlds

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
