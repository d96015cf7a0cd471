"""Small simulated worlds for the tests of several parts."""

import numpy as np

import tercet as tc
from tercet.answers.choices import restore
from tercet.models import STEModel
from tercet.posterior.draw import Plan, build_target
from tercet.posterior.priors import NormalPrior, check_learn
from tercet.simulate import answers_from_model, choices_from_model, random_comparisons
from tercet.uses.scale.difference import probability

N_STIMULI = 6
PSI = np.linspace(0.0, 1.0, N_STIMULI) ** 2  # a scale, and the noise of its observers
SIGMA = 0.2


def ste_answers(n=8, m=60, d=2, *, size=1.0, repeats=1, seed=0, **columns):
    """Answers of the STE model about normal points whose spread, ``size``, is the signal."""
    rng = np.random.default_rng(seed)
    points = size * rng.normal(size=(n, d))
    asked = np.repeat(random_comparisons(n, m, random_state=rng), repeats, axis=0)
    rows = answers_from_model(STEModel(), points, asked, random_state=rng)
    return tc.Triplets(rows, n_objects=n, **columns)


def ste_choices(n=8, m=60, d=2, *, kind="odd", size=1.0, repeats=1, seed=0, **columns):
    """Choices of the STE model about normal points, and these points.

    The kinds are odd ones out, the three nearest of six ("set"), and rankings of six ("ranking").
    """
    rng = np.random.default_rng(seed)
    points = size * rng.normal(size=(n, d))
    shown = np.repeat(np.argsort(rng.random((m, n)), axis=1), repeats, axis=0)
    more = {"n_objects": n, **columns}
    if kind == "odd":
        asked = tc.Choices.odd_one_out(shown[:, :3], **more)
    elif kind == "set":
        asked = tc.Choices.nearest(shown[:, 0], shown[:, 1:7], shown[:, 1:4], **more)
    else:
        asked = tc.Choices.ranking(shown[:, 0], shown[:, 1:7], **more)
    return choices_from_model(STEModel(), points, asked, random_state=rng), points


def scale_answers(m=400, seed=0, psi=PSI, sigma=SIGMA, lapse=0.0, **columns):
    """Answers of an observer of differences on a scale to quadruplets that do not overlap."""
    rng = np.random.default_rng(seed)
    rows = np.sort([rng.choice(len(psi), 4, replace=False) for _ in range(m)], axis=1)
    a, b, c, d = psi[rows.T]
    wide = rng.random(m) < probability(((d - c) - (b - a)) / sigma, "probit", lapse)
    answers = np.where(wide[:, None], rows, rows[:, [2, 3, 0, 1]])
    return tc.Triplets(answers, n_objects=len(psi), **columns)


def posterior_target(points, m, model=None, learn=(), *, d=None, weight=None, **prior):
    """A posterior as Hamiltonian chains see it: of m answers about the points, in d dimensions."""
    model, n = model or STEModel(), len(points)
    questions = random_comparisons(n, m, replace=True, random_state=1)
    rows = answers_from_model(model, points, questions, random_state=2)
    normal = NormalPrior(prior.pop("variance", 2.0), **prior)
    d = points.shape[1] if d is None else d
    plan = Plan(model, d, normal, check_learn(learn, model), "hmc", 1, 1, 0, "mode")
    weights = None if weight is None else np.full(m, weight)
    return build_target(plan, tc.Triplets(rows, n_objects=n, weights=weights))


def choices_of_every_kind(n=9, m=8, seed=0, **columns):
    """Choices of all kinds, m of each, answered at random; eleven kinds and sizes.

    A column is given as a function of the number of choices, such as ``weights=rng.random``.
    """
    rng = np.random.default_rng(seed)
    rows = np.array([rng.permutation(n) for _ in range(11 * m)]).reshape(11, m, n)
    of = [part[:, 0] for part in rows]
    parts = [
        tc.Choices.nearest(of[0], rows[0][:, 1:3], rows[0][:, 1]),  # of two
        tc.Choices(rows[1][:, :4].reshape(m, 2, 2), np.zeros(m, dtype=int)),  # two pairs
        tc.Choices.odd_one_out(rows[2][:, :3]),
        tc.Choices.most_central(rows[3][:, :3]),
        tc.Choices.nearest(of[4], rows[4][:, 1:6], rows[4][:, 1]),
        tc.Choices.nearest(of[5], rows[5][:, 1:7], rows[5][:, 1:3]),
        tc.Choices.nearest(of[6], rows[6][:, 1:7], rows[6][:, 1:4], ranked=True),
        tc.Choices.ranking(of[7], rows[7][:, 1:5]),
        tc.Choices.best_worst(of[8], rows[8][:, 1:6], rows[8][:, 1], rows[8][:, 2]),
        tc.Choices(rows[9][:, :6].reshape(m, 3, 2), np.zeros(m, dtype=int)),  # three pairs
        tc.Choices.nearest(of[10], rows[10][:, 1:4], rows[10][:, 1:3]),  # two of three
    ]
    whole = tc.Choices.concatenate(parts)
    whole = whole[rng.permutation(len(whole))]
    made = {name: make(len(whole)) for name, make in columns.items()}
    return restore(whole._fields._replace(n_objects=n, **made))
