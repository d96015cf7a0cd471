"""Analysis: everything found about a set of answers, as text, as data and as a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tercet.answers.either import Answers
from tercet.answers.repeats import NoiseCeiling
from tercet.answers.triplets import Triplets
from tercet.arrays import Floats
from tercet.ensemble import Ensemble
from tercet.held_out import HeldOut
from tercet.io.reading import Reading
from tercet.posterior.diagnostics import Diagnostics
from tercet.text import counted
from tercet.uses.active import Suggestions
from tercet.uses.certainty import Certainty, Neighbour
from tercet.uses.compare.comparison import LackOfFit
from tercet.uses.dimension import DimensionEstimate
from tercet.uses.quality import AnswerCheck
from tercet.uses.scale import GoodnessOfFit, PerceptualScale

if TYPE_CHECKING:
    from tercet.report.appearance import Groups, Pictures

__all__ = ["Analysis", "Object", "Settings"]


@dataclass(frozen=True)
class Settings:
    """The settings of an analysis; see `tercet.analyse`."""

    dimension: int | None
    dimensions: Sequence[int] | None
    max_dimension: int | None
    uncertainty: str | None
    level: float
    questions: int
    samples: int | None
    warmup: int | None
    seed: int
    n_jobs: int | None
    progress: bool | None

    @property
    def tries(self) -> bool:
        """Whether the user said which dimensions to try."""
        return self.dimensions is not None or self.max_dimension is not None


class Object(NamedTuple):
    """An object of the map."""

    number: int
    name: str
    answers: int  # that mention it; a choice is one
    position: Floats  # (d,)
    interval: Floats  # (d, 2)
    radius: float  # root mean squared distance of the draws from the position
    neighbours: tuple[Neighbour, ...]  # nearest first


@dataclass(frozen=True, eq=False, repr=False)
class Analysis:
    """Everything found about a set of answers: what `tercet.analyse` returns.

    `summary` is for reading, `to_dict` for programs, `write` for a page that can be sent around; a
    notebook shows a card.

    Attributes
    ----------
    reading : Reading
        The answers and how they were read; its path is empty if they were in memory.
    triplets : Triplets
        The comparisons within the answers; for kind "scale", with the stimuli in increasing order.
    answers : Triplets or Choices
        The answers: Choices if several comparisons share a screen or observers could not tell, else
        the same, as for kind "scale".
    check : AnswerCheck
    dimension : DimensionEstimate or None
        None if the dimension was given or could not be estimated, and for kind "scale".
    dimension_note : str
        A remark on the dimension, such as that it was set by the user.
    ensemble : Ensemble
        The draws, in principal axes.
    kind : {"posterior", "bootstrap", "scale"}
        "scale" is the signed-difference model of stimuli on a line, with a bootstrap.
    why : str
        Why this kind was chosen.
    diagnostics : Diagnostics or None
        None for a bootstrap.
    objects : tuple of Object
    certainty : Certainty
    held_out : HeldOut or None
        None if there are too few answers to hold some out, and for kind "scale".
    ceiling : NoiseCeiling or None
        Of whole answers, as is the accuracy of ``held_out``; that of ``check`` is of comparisons.
    no_ceiling : str
        Why there is none; otherwise empty.
    lack_of_fit : LackOfFit or None
        None if no comparison was asked twice, or the ensemble is not a posterior.
    suggestions : Suggestions or None
        None for quadruplets, for kind "scale", and if nothing is left to ask.
    cautions : tuple of str
        What to be careful about, gravest first.
    settings : Settings
    versions : dict
    seconds : float
        Run time.
    scale : PerceptualScale or None
        For kind "scale".
    goodness : GoodnessOfFit or None
        Of that scale.
    """

    reading: Reading
    triplets: Triplets
    answers: Answers
    check: AnswerCheck
    dimension: DimensionEstimate | None
    dimension_note: str
    ensemble: Ensemble
    kind: str
    why: str
    diagnostics: Diagnostics | None
    objects: tuple[Object, ...]
    certainty: Certainty
    held_out: HeldOut | None
    ceiling: NoiseCeiling | None
    no_ceiling: str
    lack_of_fit: LackOfFit | None
    suggestions: Suggestions | None
    cautions: tuple[str, ...]
    settings: Settings
    versions: dict[str, str]
    seconds: float
    scale: PerceptualScale | None = None
    goodness: GoodnessOfFit | None = None

    @property
    def n_components(self) -> int:
        """Number of dimensions of the map."""
        return self.ensemble.n_components

    @property
    def chains_agree(self) -> bool:
        """Whether the chains ended in the same maps; True if there are none."""
        return self.diagnostics is None or self.diagnostics.agree

    @property
    def is_provisional(self) -> bool:
        """Whether the map is shown with a warning, and no comparison is called certain.

        This is so if the chains ended in different maps, or the number of dimensions is undecided.
        """
        undecided = self.dimension is not None and self.dimension.dimension is None
        return undecided or not self.chains_agree

    @property
    def resampled_observers(self) -> bool:
        """Whether intervals are from resampling whole observers."""
        return self.scale is not None and self.scale.made.resamples_observers

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the objects; their numbers if they have none."""
        return tuple(each.name for each in self.objects)

    @property
    def methods(self) -> str:
        """A methods paragraph, ready for a paper."""
        from tercet.analysis.paragraphs import methods

        return methods(self)

    @property
    def results(self) -> str:
        """A results paragraph, ready for a paper."""
        from tercet.analysis.paragraphs import results

        return results(self)

    @property
    def citations(self) -> list[str]:
        """The references of the methods paragraph."""
        from tercet.analysis.paragraphs import citations

        return citations(self)

    def summary(self) -> str:
        """The main results, and what to be careful about (marked "!"), for a terminal."""
        from tercet.analysis.words import in_lines

        return in_lines(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything, JSON-compatible; missing values are None."""
        from tercet.analysis.numbers import as_dict

        return as_dict(self)

    def write(
        self, out: Path | str, *, groups: Groups | None = None, pictures: Pictures | None = None
    ) -> list[Path]:
        """Write the report and return the paths of its files; the page comes first.

        Parameters
        ----------
        out : Path or str
            A file that ends in .html; or a folder, which gets report.html, report.json, the tables
            as CSV, the pictures as PNG and SVG, and the maps as map.npz for `Ensemble.load`.
        groups : mapping, sequence or path, optional
            Colours on the map: a mapping of names to groups; or the groups of all objects in
            order; or a CSV file with the columns object and group.
        pictures : mapping or path, optional
            Shown in place of points: a mapping of names to files; or a folder whose files are
            named after the objects; or a CSV file with the columns object and path.
        """
        from tercet.report import read_appearance, write_report

        return write_report(self, out, read_appearance(self.names, groups, pictures))

    def _repr_html_(self) -> str:
        from tercet.report.page import card

        return card(self)

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        shown = "provisional " if self.is_provisional else ""
        return (
            f"Analysis({len(self.answers)} answers, {len(self.objects)} objects: {shown}"
            f"{self.kind} in {counted(self.n_components, 'dimension')})"
        )
