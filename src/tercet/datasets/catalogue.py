"""The catalogue of data sets, with citations and licences, and `Dataset`, one that was read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tercet.answers.triplets import Triplets

__all__ = ["CATALOGUE", "Catalogue", "Dataset", "Entry", "list_datasets"]


@dataclass(frozen=True)
class Entry:
    """The description of a data set.

    Parameters
    ----------
    name : str
        The short name; ``load_name`` reads the data set.
    title : str
        A short description.
    folder, files : str
        The folder inside TERCET_DATA, and the files required in it.
    objects : int
        Number of objects loaded by default.
    citation, licence, home : str
        What to cite, the terms if known, and where the data set was published.
    answers, observers : int
        Their numbers: 0 answers for features, 0 observers if unknown. Votes count as answers, and
        so does every triplet of a screen.
    no_download : str
        Why it cannot be downloaded; empty if it can.
    """

    name: str
    title: str
    folder: str
    files: str
    objects: int
    citation: str
    licence: str
    home: str
    answers: int = 0
    observers: int = 0
    no_download: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A data set of answers or features.

    Parameters
    ----------
    entry : Entry
        Its description, citation and licence: see `list_datasets`.
    source : str
        Where this copy was read from: a folder or an address.
    triplets : Triplets, optional
        The answers, with names, observers, screens and votes if available.
    features : ndarray of shape (n, p), optional
        Features, one row for each object, as published, unscaled.
    feature_names : tuple of p str, optional
        What was measured.
    labels : ndarray of shape (n,), optional
        The class of each object.
    label_names : mapping of a label to str, optional
        What the labels mean, if they are numbers.
    stimuli : ndarray of shape (n,), optional
        The physical value of each object.
    columns : mapping of str to ndarray of shape (m,)
        Other data for each row of the triplets.
    notes : tuple of str
        What was left out or changed, and caveats.
    """

    entry: Entry
    source: str
    triplets: Triplets | None = None
    features: NDArray[np.float64] | None = None
    feature_names: tuple[str, ...] | None = None
    labels: NDArray[Any] | None = None
    label_names: Mapping[int, str] | None = None
    stimuli: NDArray[np.float64] | None = None
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        arrays = (self.features, self.labels, self.stimuli, *self.columns.values())
        for array in arrays:
            if array is not None:
                array.setflags(write=False)
        object.__setattr__(self, "columns", MappingProxyType(dict(self.columns)))

    @property
    def name(self) -> str:
        """The short name, as in ``load_name``."""
        return self.entry.name

    @property
    def title(self) -> str:
        """A short description."""
        return self.entry.title

    @property
    def citation(self) -> str:
        """What to cite when using the data set."""
        return self.entry.citation

    @property
    def licence(self) -> str:
        """The terms, if known."""
        return self.entry.licence

    @property
    def home(self) -> str:
        """Where it was published."""
        return self.entry.home

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the objects, if they have names."""
        return None if self.triplets is None else self.triplets.names

    @property
    def observers(self) -> NDArray[Any] | None:
        """Who gave each answer (m,), if known."""
        return None if self.triplets is None else self.triplets.observers

    @property
    def n_objects(self) -> int:
        """Number of objects."""
        if self.triplets is not None:
            return self.triplets.n_objects
        return 0 if self.features is None else len(self.features)

    def __repr__(self) -> str:
        lines = [f"{self.title} ({self.name})"]
        if self.triplets is not None:
            lines.append(repr(self.triplets))
        if self.features is not None:
            lines.append(f"features: {self.features.shape[0]} × {self.features.shape[1]}")
        if self.labels is not None:
            known = self.label_names or {}
            kinds = zip(*np.unique(self.labels, return_counts=True), strict=True)
            lines.append("labels: " + ", ".join(f"{known.get(k, k)} {count}" for k, count in kinds))
        if self.stimuli is not None:
            lines.append(f"stimuli: {self.stimuli.min():g} to {self.stimuli.max():g}")
        if self.columns:
            lines.append("columns: " + ", ".join(self.columns))
        lines += [f"note: {note}" for note in self.notes]
        lines += [f"cite: {self.citation}", f"licence: {self.licence}", f"read from: {self.source}"]
        return "\n  ".join(lines)


class Catalogue(tuple[Entry, ...]):
    """Entries, shown as a table."""

    __slots__ = ()

    def __repr__(self) -> str:
        head = f"{'name':<14}{'objects':>8}{'answers':>9}{'observers':>11}  licence"
        return "\n".join([head, *map(_line, self)])


def _line(entry: Entry) -> str:
    answers, observers = (str(count or "–") for count in (entry.answers, entry.observers))
    return f"{entry.name:<14}{entry.objects:>8}{answers:>9}{observers:>11}  {entry.licence}"


def list_datasets() -> Catalogue:
    """Return the available data sets, displayed as a table.

    Examples
    --------
    >>> [entry.name for entry in list_datasets()][:3]
    ['mnist_digits', 'satellite', 'breast_cancer']
    """
    return Catalogue(CATALOGUE.values())


_ENTRIES = (
    Entry(
        name="mnist_digits",
        title="Handwritten digits of 28 × 28 pixels, MNIST's training set",
        folder="mnist_6_8",
        files=(
            "mnist_train_6_8.npz, or for all digits mnist/ with train-images-idx3-ubyte.gz and "
            "train-labels-idx1-ubyte.gz"
        ),
        objects=11769,
        citation=(
            "LeCun, Bottou, Bengio, Haffner, Gradient-based learning applied to document "
            "recognition, Proceedings of the IEEE 86(11), 1998"
        ),
        licence="none in the files; commonly listed as CC BY-SA 3.0",
        home="http://yann.lecun.com/exdb/mnist/",
    ),
    Entry(
        name="satellite",
        title="Landsat satellite pixels, six kinds of ground",
        folder="landsat_satellite",
        files="sat.trn and sat.tst",
        objects=4435,
        citation="Srinivasan, Statlog (Landsat Satellite), UCI Machine Learning Repository, 1993",
        licence="none in the files; UCI lists CC BY 4.0 (not verified)",
        home="https://archive.ics.uci.edu/dataset/146/statlog+landsat+satellite",
    ),
    Entry(
        name="breast_cancer",
        title="Breast cancer Wisconsin (diagnostic), malignant or benign",
        folder="breast_cancer",
        files="nothing: it comes with scikit-learn",
        objects=569,
        citation=(
            "Wolberg, Mangasarian, Street, Street, Breast Cancer Wisconsin (Diagnostic), UCI "
            "Machine Learning Repository, 1995"
        ),
        licence="UCI lists CC BY 4.0 (not verified)",
        home="https://archive.ics.uci.edu/dataset/17/breast+cancer+wisconsin+diagnostic",
    ),
    Entry(
        name="food",
        title="Food-100: dishes that taste alike, chosen from grids",
        folder="food100",
        files="original_raw-json.tar.xz and original_ingredients.json.gz",
        objects=100,
        answers=250320,
        observers=243,
        citation=(
            "Wilber, Kwak, Belongie, Cost-effective HITs for relative similarity comparisons, "
            "HCOMP 2014, arXiv:1404.3291"
        ),
        licence="educational fair use (images); mirror MIT",
        home="https://github.com/mperrot/AddS-Clustering/tree/master/resources/food",
    ),
    Entry(
        name="cars",
        title="60 cars: which of three is the most central one",
        folder="car60",
        files="original_survey_data.csv",
        objects=60,
        answers=14194,
        observers=146,
        citation=(
            "Kleindessner, von Luxburg, Lens depth function and k-relative neighborhood graph, "
            "JMLR 18(58), 2017"
        ),
        licence="please cite; mirror MIT",
        home="https://github.com/mperrot/ComparisonHC/tree/master/resources/car",
    ),
    Entry(
        name="material",
        title="Material appearance: which of two looks more like a third",
        folder="material_appearance",
        files=(
            "original_answers_processed_train.json.gz and original_answers_processed_test.json.gz"
        ),
        objects=100,
        answers=104692,
        citation=(
            "Lagunas, Malpica, Serrano, Garces, Gutierrez, Masia, A similarity measure for "
            "material appearance, ACM Transactions on Graphics 38(4), 2019"
        ),
        licence="GPL-2.0 (repository)",
        home="https://github.com/mlagunas/material-appearance-similarity",
    ),
    Entry(
        name="music",
        title="Similar artists (aset400): which of two is more like a third",
        folder="music_aset400",
        files="original_music_triplets.mat and objects.csv",
        objects=400,
        answers=9090,
        citation=(
            "Ellis, Whitman, Berenzweig, Lawrence, The quest for ground truth in musical artist "
            "similarity, ISMIR 2002; van der Maaten, Weinberger, Stochastic triplet embedding, "
            "MLSP 2012"
        ),
        licence="none stated",
        home="https://lvdmaaten.github.io/ste/Stochastic_Triplet_Embedding.html",
    ),
    Entry(
        name="things",
        title="THINGS odd one out: a random part, or by participant",
        folder="things_oddoneout",
        files="oddoneout_random50k.csv.gz, oddoneout_by_participant.csv.gz and objects.csv",
        objects=1854,
        answers=100000,
        citation=(
            "Hebart, Zheng, Pereira, Baker, Revealing the multidimensional mental representations "
            "of natural objects, Nature Human Behaviour 4, 2020; Hebart et al., THINGS-data, "
            "eLife 12, 2023"
        ),
        licence="CC BY 4.0 (as cblearn says); mirror GPL-3.0",
        home="https://osf.io/f5rn6/",
    ),
    Entry(
        name="alien_eggs",
        title="Alien eggs: shapes of known smoothness",
        folder="alien_eggs",
        files="triplets_n30.csv.gz and objects_n30.csv",
        objects=30,
        answers=20086,
        observers=416,
        citation=(
            "Jamieson, Jain, Fernandez, Glattard, Nowak, NEXT: a system for real-world "
            "development, evaluation, and application of active learning, NeurIPS 2015"
        ),
        licence="BSD-3-Clause (repository)",
        home="https://github.com/stsievert/salmon/tree/master/examples/alien-eggs",
        no_download=(
            "no download was verified. The answers are published in next-fig3.json.zip, which "
            "could not be compared with the rows that this loader reads."
        ),
    ),
    Entry(
        name="mlds",
        title="Difference scaling: examples of the R package MLDS",
        folder="mlds_examples",
        files="kk1.csv and so on, made in R by write.csv(kk1, 'kk1.csv', row.names = FALSE)",
        objects=11,
        answers=3885,
        observers=8,
        citation=(
            "Knoblauch, Maloney, MLDS: maximum likelihood difference scaling in R, Journal of "
            "Statistical Software 25(2), 2008; Charrier, Maloney, Cherifi, Knoblauch, JOSA A 24, "
            "2007 (AutumnLab); Fleming, Jäkel, Maloney, Psychological Science 22, 2011 "
            "(Transparency)"
        ),
        licence="GPL (≥ 2)",
        home="https://cran.r-project.org/package=MLDS",
        no_download="it is published as R data files, which only R reads.",
    ),
)

CATALOGUE = {entry.name: entry for entry in _ENTRIES}
