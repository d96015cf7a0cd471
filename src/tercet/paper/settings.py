"""All settings of the experiments: the paper's, and ours where it gives none.

The paper gives the number of replicates and draws, the prior, the points, the noise of answers and
the sizes of the active experiment (section 5 and supplement). `Bootstrap.paper` and
`Posterior.paper` have those of the two methods; the rest is here, first the paper's, then ours.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = ["FULL", "QUICK", "SIZES", "TINY", "Size"]

# --- the paper's ------------------------------------------------------------------------------

POINTS = 50  # objects of the mixture and of the MNIST projections
DIMENSION_FRACTION, DIMENSION_NOISE = 0.2, 0.1  # figure 2a
STIMULI, OBSERVERS, ANSWERS = 20, 50, 100  # psychophysics; answers of each observer
REPLICATES, SUBSAMPLE = 50, 0.1  # its bootstrap
LENGTHSCALES = (2.0, 0.88, 0.54)
ACTIVE_NOISE, ACTIVE_DIMENSION = 0.1, 5
ENOUGH = 10  # times d·n·log n triplets, where the paper finds an uncertainty close to 0

# --- ours, where the paper gives none ---------------------------------------------------------

OURS = {
    "noise levels": "σ = 0, .1, .25, .5, .75, 1, 1.5, 2, 3",
    "embedding dimensions": "1 to four above the true one",
    "triplet fractions": "0.5, 1, 2, 5, 10 and 15 %",
    "thresholds": "t = .5 to .95 by .05",
    "prediction error": "over the predicted triplets; also over all",
    "mixture": "equal weights",
    "repeats": "5 also for triplet prediction and psychophysics, which the paper ran once",
    "classification": "k = 5 nearest neighbours, trained on half of each class, drawn per repeat",
    "clustering": "spectral, on a graph of 10 nearest neighbours (including the point itself), as "
    "many clusters as classes",
    "t-STE": "α = d − 1, at least 1",
    "GNMDS": "C is 4 times the largest at which all points coincide: of 2, 4, 8, 16 and 32 "
    "times, the one with the smallest triplet error over the training sets of figures 2b and 2c",
    "distance prior": "D₀ the mean distance of the STE fit, W the identity times √2 the standard "
    "deviation of its distances; 500 draws, and 500 more after 8 draws per distance",
    "Procrustes error": "after centring both; with optimal scaling, and without, as in the paper",
    "information gain": "at the current embedding, over the positions of the 200 points",
    "breast cancer": "200 of scikit-learn's 569 rows; the paper names 399",
    "feature scaling": "none: Euclidean distances of the features as published",
    "perception functions": "one set of normal draws per repeat for all three lengthscales",
    "psychophysics": "the same comparisons for all three lengthscales, none twice per observer",
    "nine stimuli": "every second one, from the second to the eighteenth",
}
RECOMMENDED_SETTINGS = (
    "the posterior of CKL with learned exponent and μ, four chains of {draws} Hamiltonian draws, π "
    "by vote over the draws; for the dimension `estimate_dimension` with two chains of {few}; for "
    "active choice two chains of 200 and mutual information with a limit per anchor; for "
    "psychophysics the signed-difference scale, observers resampled"
)
RATIOS = (2.0, 4.0, 8.0, 16.0, 32.0)  # of C of GNMDS to the largest at which all points coincide
GNMDS_RATIO = 4.0
NEIGHBOURS, GRAPH_NEIGHBOURS = 5, 10  # of classification and of clustering
LATER = 8  # draws per distance, after which a chain is evaluated again
ACTIVE_CHAINS, ACTIVE_DRAWS = 2, 200  # of the recommended posterior; draws of each chain


@dataclass(frozen=True)
class Size:
    """How much of the experiments to run; the code is the same for all sizes."""

    name: str
    repeats: int
    points: int
    noise_fraction: float  # of all triplets, figure 2b
    noises: tuple[float, ...]
    fractions: tuple[float, ...]
    thresholds: tuple[float, ...]
    true_dimensions: tuple[int, ...]  # the first is that of figure 2a, the others the supplement's
    dimensions_above: int
    draws: int  # of each chain of the recommended posterior
    observers: int
    replicates: int  # of psychophysics
    active_points: int
    seed_answers: int
    batch: int
    budget: int

    @property
    def title(self) -> str:
        """In words."""
        repeats = "one repeat" if self.repeats == 1 else f"{self.repeats} repeats"
        return (
            f"{repeats}, {len(self.noises)} noise levels, {len(self.fractions)} numbers of "
            f"triplets, active runs of up to {self.budget} answers"
        )

    def dimensions(self, true: int) -> tuple[int, ...]:
        """The embedding dimensions tried for a true one."""
        return tuple(range(1, true + self.dimensions_above + 1))

    @property
    def steps(self) -> tuple[int, ...]:
        """Numbers of answers at which an active run is evaluated."""
        return tuple(range(self.seed_answers, self.budget + 1, self.batch))


FULL = Size(
    name="full",
    repeats=5,
    points=POINTS,
    noise_fraction=0.01,
    noises=(0.0, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0),
    fractions=(0.005, 0.01, 0.02, 0.05, 0.1, 0.15),
    thresholds=tuple(round(0.5 + 0.05 * k, 2) for k in range(10)),
    true_dimensions=(3, 2, 4, 5),
    dimensions_above=4,
    draws=1000,
    observers=OBSERVERS,
    replicates=REPLICATES,
    active_points=200,
    seed_answers=2000,
    batch=1000,
    budget=10000,
)
QUICK = replace(
    FULL,
    name="quick",
    repeats=1,
    noises=(0.0, 0.25, 1.0, 3.0),
    fractions=(0.005, 0.02, 0.1),
    thresholds=(0.5, 0.7, 0.9, 0.95),
    true_dimensions=(3, 2),
    dimensions_above=1,
    draws=200,
    budget=3000,
)
TINY = replace(
    QUICK,
    name="tiny",
    repeats=2,
    points=14,
    noise_fraction=0.1,
    noises=(0.0, 3.0),
    fractions=(0.05, 0.15),
    thresholds=(0.5, 0.7, 0.9),
    true_dimensions=(3, 2),
    dimensions_above=1,
    draws=50,
    observers=6,
    replicates=5,
    active_points=30,
    seed_answers=150,
    batch=50,
    budget=200,
)
SIZES = {size.name: size for size in (FULL, QUICK, TINY)}
