"""Numbers that the CPU and the accelerator share; where they differ, both stand here.

Those of the optimiser are in `tercet.engine.lbfgs`, those of the spectral start in
`tercet.engine.starts`, and priors of learned parameters with their models: the accelerator takes
them from there.
"""

from __future__ import annotations

# --- Hamiltonian Monte Carlo -------------------------------------------------------------------

# Share of proposals that the step is tuned to accept. In lockstep all chains share one step, tuned
# to their mean: chains in stiff places accept fewer than that, hence more on average. The figures
# in docs/accelerator.md were measured with it.
ACCEPT, ACCEPT_IN_LOCKSTEP = 0.75, 0.8

# First of the three pushes of a step with two gradients (McLachlan 1995): its error is a tenth of
# that of two leapfrog steps, so that it can be longer.
FIRST_PUSH = 0.1931833275037836
DIVERGED = 1000.0  # error of the energy beyond which a trajectory has left the track
HOPS = 8  # so many objects on a line share one hop a draw

# Mean length of a trajectory, in standard deviations of the approximation. In lockstep it is where
# the warm-up begins, which then tries LENGTHS and takes the one whose draws are worth most.
LENGTH, LENGTH_IN_LOCKSTEP = 3.0, 1.5
LENGTHS = (0.7, 1.0, 1.5, 2.2, 3.3, 5.0)
MOST_STEPS = 128
MOST_STEPS_ON_A_LINE = 32  # where hops do the rest
FIRST_STEPS = 32  # while the step is unknown
FIRST_STEP = 0.5  # times the number of coordinates to the power -1/4
SHORTEST = 0.25  # share of the step that the shortest ones are, now and then

# Dual averaging of the logarithm of the step (Hoffman & Gelman 2014, section 3.2, their constants).
GOAL = 10.0  # times the first step, towards which it is drawn
SHRINKAGE, DELAY, FORGETTING = 0.05, 10.0, -0.75

# The metric after the warm-up.
FEWEST_SHAPES = 20  # below which they say nothing of the variances
LEAST_VARIANCE = 1e-4  # seen, as a share of the one expected
ALIGNED = 1e-6  # tolerance of the Procrustes analysis of the shapes
LEAST_WIDTH = 0.01  # of the logarithm of the size

# --- the learned variance of the prior ----------------------------------------------------------

BELOW, ABOVE = 16, 24  # steps of half a standard deviation; the density leans to the right

# --- what tells whether chains move, and agree --------------------------------------------------

WATCHED_PAIRS = 50  # whose distances are looked at
