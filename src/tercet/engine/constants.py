"""Constants of the CPU and the accelerator; where the two differ, both are here.

Those of the optimiser are in `tercet.engine.lbfgs`, those of the spectral start in
`tercet.engine.starts`, and priors of learned parameters with their models: the accelerator imports
them from there.
"""

from __future__ import annotations

# --- Hamiltonian Monte Carlo -------------------------------------------------------------------

# Target acceptance rate of the step. In lockstep all chains share one step, tuned to their mean
# rate: chains in regions of high curvature accept less, hence the higher target. The figures in
# docs/accelerator.md were measured with it.
ACCEPT, ACCEPT_IN_LOCKSTEP = 0.75, 0.8

# First of the three momentum updates of a step with two gradients (McLachlan 1995): its error is a
# tenth of that of two leapfrog steps, so the step can be longer.
FIRST_PUSH = 0.1931833275037836
DIVERGED = 1000.0  # error of the energy beyond which a transition is divergent

# Mean length of a trajectory, in standard deviations of the approximation. In lockstep it is the
# first one of the warm-up, which then tries LENGTHS and takes the most efficient.
LENGTH, LENGTH_IN_LOCKSTEP = 3.0, 1.5
LENGTHS = (0.7, 1.0, 1.5, 2.2, 3.3, 5.0)
MOST_STEPS = 128
MOST_STEPS_ON_A_LINE = 32  # fewer, because objects are relocated too
FIRST_STEPS = 32  # maximum while the step is being tuned
FIRST_STEP = 0.5  # times the number of coordinates to the power -1/4
SHORTEST = 0.25  # factor of the shortest occasional steps

# Relocations. Their cost in a draw is about that of three gradients, whatever the size.
RELOCATED = 32  # objects per relocated object and draw
MARKS = 32  # places tried first, near other objects
CLIMBS = 3  # of these, the best, from which the density is climbed
CLIMBING = 6  # most steps of a climb
CANDIDATES = 4  # places to choose from, besides the present one
SWAPPED_AMONG = 3  # objects, of which the nearest is exchanged with another
DIFFERENCE = 1e-4  # for second derivatives of the density, in units of the spread of the map
STUDENT_FREEDOM = 4.0  # of the candidates: heavier tails than those of any density of a place
STUDENT_WIDER = 1.2  # their widths, in units of those by the curvature
FLATTER = 0.7  # power of the densities at the maxima, as weights of the mixture

# Dual averaging of the logarithm of the step (Hoffman & Gelman 2014, section 3.2, their constants).
GOAL = 10.0  # times the first step, towards which the step is shrunk
SHRINKAGE, DELAY, FORGETTING = 0.05, 10.0, -0.75

# The metric after the warm-up.
FEWEST_SHAPES = 20  # needed to estimate the variances
LEAST_VARIANCE = 1e-4  # observed, as a share of the expected one
ALIGNED = 1e-6  # tolerance of the Procrustes analysis of the shapes
LEAST_WIDTH = 0.01  # of the logarithm of the size

# --- the learned variance of the prior ----------------------------------------------------------

BELOW, ABOVE = 16, 24  # steps of half a standard deviation; the density is skewed to the right

# --- convergence diagnostics --------------------------------------------------------------------

WATCHED_PAIRS = 50  # pairs whose distances are diagnosed
