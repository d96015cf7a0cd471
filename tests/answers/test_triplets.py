import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import BaseEstimator
from sklearn.model_selection import GroupKFold, KFold, cross_val_score, train_test_split
from sklearn.utils import _safe_indexing, resample

from tercet.answers.triplets import Triplets, as_triplets
from tercet.errors import InputError

NAMES = ("ape", "bee", "cat", "dog", "elk")


@st.composite
def comparisons(draw, columns=3, max_objects=9):
    """Rows of distinct objects; distinct objects are enough for a valid quadruplet too."""
    n = draw(st.integers(columns, max_objects))
    m = draw(st.integers(1, 12))
    rows = [draw(st.permutations(range(n)))[:columns] for _ in range(m)]
    return np.array(rows), n


# --- what is accepted


def test_integer_array_is_copied_and_frozen():
    answers = np.array([[0, 1, 2], [2, 0, 1]], dtype=np.int32)
    T = Triplets(answers)
    answers[0, 0] = 2
    assert T.array.tolist() == [[0, 1, 2], [2, 0, 1]]
    assert T.dtype == T.array.dtype == np.int64
    assert (T.n_objects, T.names, len(T), T.shape, T.ndim) == (3, None, 2, (2, 3), 2)
    with pytest.raises(ValueError, match="read-only"):
        T.array[0, 0] = 1
    with pytest.raises(AttributeError):
        T.array = answers


def test_one_int64_array_stays_writable_for_its_owner():
    answers = np.array([[0, 1, 2]])
    weights = np.array([1.0])
    observers = np.array([7])
    Triplets(answers, weights=weights, observers=observers)
    assert answers.flags.writeable
    assert weights.flags.writeable
    assert observers.flags.writeable


def test_whole_floats_lists_and_unsigned():
    expected = [[0, 1, 2], [3, 2, 1]]
    for answers in (
        expected,
        np.array(expected, dtype=float),
        np.array(expected, dtype=np.uint8),
        np.array(expected, dtype=object),
    ):
        assert Triplets(answers).array.tolist() == expected


@pytest.mark.parametrize("dtype", [None, object, "U5", np.dtypes.StringDType()])
def test_names_are_numbered_in_natural_order(dtype):
    answers = [["img10", "img2", "img1"], ["img9", "img10", "img2"]]
    T = Triplets(answers if dtype is None else np.array(answers, dtype=dtype))
    assert T.names == ("img1", "img2", "img9", "img10")
    assert T.array.tolist() == [[3, 1, 0], [2, 3, 1]]
    assert all(type(name) is str for name in T.names)


def test_natural_order_survives_long_digits_and_ties():
    names = ["x", "1", "01", "9" * 5000, "a1b2", "a1b10"]
    T = Triplets([names[:3], names[3:]])
    assert T.names == ("01", "1", "9" * 5000, "a1b2", "a1b10", "x")


def test_given_names_fix_the_numbering():
    T = Triplets([["cat", "ape", "dog"]], names=NAMES)
    assert T.array.tolist() == [[2, 0, 3]]
    assert T.n_objects == 5
    assert Triplets([[2, 0, 3]], names=NAMES) == T


def test_repeats_and_contradictions_are_kept():
    answers = [[0, 1, 2], [0, 2, 1], [0, 1, 2]]
    assert Triplets(answers).array.tolist() == answers


@pytest.mark.parametrize("kind", ["numbers", "names", "category", "Int64"])
def test_data_frame(kind):
    rows = [[0, 1, 2], [2, 1, 0]]
    frame = pd.DataFrame(rows, columns=["Anchor", "near ", "FAR"], index=[5, 5])
    if kind in ("names", "category"):
        frame = frame.map(lambda i: NAMES[i])
    if kind in ("category", "Int64"):
        frame = frame.astype(kind)
    frame.insert(0, "noise", ["x", None])
    frame["observer"] = ["eve", "bob"]
    frame["screen"] = [3, 4]
    frame["count"] = [2, 5]
    T = Triplets(frame)
    assert T.array.tolist() == rows
    assert T.names == (NAMES[:3] if kind in ("names", "category") else None)
    assert T.observers.tolist() == ["eve", "bob"]
    assert T.observers.dtype.kind == "U"
    assert T.screens.tolist() == [3, 4]
    assert T.weights.tolist() == [2.0, 5.0]
    assert Triplets(frame, observers=[1, 2]).observers.tolist() == [1, 2]


def test_data_frame_of_another_library():
    class Frame(dict):
        @property
        def columns(self):
            return list(self)

    T = Triplets(Frame(a=[0], b=[1], c=[2], d=[3], weight=[0.5]))
    assert T.is_quadruplets
    assert T.weights.tolist() == [0.5]


def test_triplets_of_triplets_can_replace_a_field():
    T = Triplets([["a", "b", "c"]], observers=["eve"])
    assert Triplets(T) == T
    assert Triplets(T, weights=[2]).observers.tolist() == ["eve"]
    assert Triplets(T, weights=[2]).weights.tolist() == [2.0]


def test_quadruplets_may_share_objects_and_pairs():
    T = Triplets([[0, 1, 0, 2], [0, 1, 2, 3]])
    assert T.is_quadruplets
    assert T.pairs() is T.array
    assert Triplets([[0, 1, 2]]).pairs().tolist() == [[0, 1, 0, 2]]


# --- what is refused, and what is said

ROW2 = r"row 2 \(counting from 0\): "


@pytest.mark.parametrize(
    ("third", "message"),
    [
        ([0, 1, np.nan], "far is nan, which is missing"),
        ([0, 1.5, 2], "near is 1.5, not a whole number"),
        ([-1, 1, 2], "anchor is -1, a negative object number. Objects are numbered from 0"),
        ([-1.0, 1, np.inf], "anchor is -1.0, a negative"),
        ([0, 1, np.inf], "far is inf, too large"),
        ([0, 10**12, 2], "near is 1000000000000, too large .* give them as text"),
        ([0, 0, 2], "anchor and near are both 0"),
        ([0, 2, 0], "anchor and far are both 0"),
        ([0, 2, 2], "near and far are both 2"),
        ([0, None, 2], "near is None, which is missing"),
        ([0, "x", 2], "near is 'x', where the first entry is a number"),
        ([0, pd.NA, 2], "near is <NA>, which is missing"),
        ([0, 10**30, 2], "near is 10{30}, where"),
    ],
)
def test_bad_row_is_named(third, message):
    with pytest.raises(InputError, match=ROW2 + message) as caught:
        Triplets([[0, 1, 2], [2, 1, 0], third])
    assert "in all" not in str(caught.value)


@pytest.mark.parametrize(
    ("third", "message"),
    [
        ([1, 1, 2, 3], "a and b are both 1"),
        ([1, 2, 3, 3], "c and d are both 3"),
        ([1, 2, 1, 2], "a–b and c–d are the same pair"),
        ([1, 2, 2, 1], r"a–b and c–d are the same pair, \[1, 2, 2, 1\]"),
    ],
)
def test_bad_quadruplet_is_named(third, message):
    with pytest.raises(InputError, match=ROW2 + message):
        Triplets([[0, 1, 2, 3], [0, 1, 0, 3], third])


def test_several_bad_rows_are_counted():
    with pytest.raises(InputError, match=r"row 1 .*near and far are both 'cat' \(2 such rows"):
        Triplets([["ape", "bee", "cat"], ["ape", "cat", "cat"], ["bee", "cat", "cat"]])


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([0, 1, 2], r"two dimensions, got 1 .*\[\[anchor, near, far\]\]"),
        (5, "two dimensions, got 0"),
        (np.zeros((2, 3, 1)), "two dimensions, got 3"),
        ([[0, 1]], "3 columns .* or 4 columns .* got 2"),
        (np.zeros((4, 5)), "got 5"),
        ([], "two dimensions"),
        (np.zeros((0, 3)), "no comparisons"),
        ([[0, 1, 2], [0, 1]], r"row 1 \(counting from 0\) has 2 entries where row 0 has 3"),
        (np.eye(3, dtype=bool), "bool are neither numbers nor names"),
        (np.eye(3, dtype=complex), "complex128 are neither"),
        (np.array([[b"a", b"b", b"c"]]), "neither numbers nor names"),
        (np.array([[True, 1, 2]], dtype=object), "row 0 .*anchor is True, of type bool"),
        (np.array([[{}, 1, 2]], dtype=object), "anchor is {}, of type dict"),
        (np.array([["a", " ", "c"]]), "row 0 .*near is ' ', which is missing"),
        ([["a", "b", ""]], "far is '', which is missing"),
        ([["a", "b", float("nan")]], "far is nan, which is missing"),
        (np.ma.masked_equal([[0, 1, 9]], 9), "far is None, which is missing"),
        (np.array([[2**63 + 1, 1, 2]], dtype=np.uint64), "anchor is 9223372036854775809, too"),
        (pd.DataFrame({"anchor": [0], "near": [1]}), "columns found: 'anchor', 'near'"),
        (pd.DataFrame([[0, 1, 2]]), "columns found: '0', '1', '2'"),
        (
            pd.DataFrame([[0, 1, 2, 2]], columns=["anchor", "near", "far", "FAR"]),
            "'far' is .*twice",
        ),
        (
            pd.DataFrame([[0, 1, 2, 1, 1]], columns=["anchor", "near", "far", "weight", "count"]),
            "both 'weight' and 'count'",
        ),
        (pd.DataFrame({"anchor": [0], "near": [True], "far": [2]}), "near is True, where"),
        (
            pd.DataFrame({"anchor": ["a"], "near": [None], "far": ["b"]}),
            "near is (None|nan), which",
        ),
    ],
)
def test_nonsense_is_refused(answers, message):
    with pytest.raises(InputError, match=message):
        Triplets(answers)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_objects": 2}, "far is 2, but there are only 2 objects, .* extend n_objects to 3"),
        ({"n_objects": 0}, "n_objects must be a positive whole number, got 0"),
        ({"n_objects": 2.5}, "n_objects must be a positive whole number, got 2.5"),
        ({"n_objects": True}, "n_objects must be"),
        ({"n_objects": 10**18}, "got 1000000000000000000; 2147483647 is the most"),
        ({"names": ["a", "b"]}, "far is 2, .* extend the names to 3"),
        ({"names": NAMES, "n_objects": 6}, "n_objects is 6, but there are 5 names"),
        ({"names": ["a", "b", "a"]}, "the name 'a' occurs twice"),
        ({"names": ["a", "b", 3]}, r"names\[2\] is 3"),
        ({"names": ["a", "b", " "]}, r"names\[2\] is ' '"),
        ({"names": "abc"}, "one string 'abc'"),
        ({"observers": ["eve"]}, r"observers must have one entry per answer, 2 in all; .*\(1,\)"),
        ({"screens": [[1], [2]]}, "screens must have one entry"),
        ({"weights": [1, 2, 3]}, "weights must have one entry"),
        ({"weights": [1, 0]}, "row 1 .*weight is 0.0, not a positive weight"),
        ({"weights": [-1, -2]}, r"row 0 .*weight is -1.0, .*\(2 such rows in all\)"),
        ({"weights": [1, np.nan]}, "row 1 .*weight is nan, which is missing"),
        ({"weights": [1, np.inf]}, "row 1 .*weight is inf"),
        ({"weights": ["1", "2"]}, "weights must be numbers"),
        ({"observers": ["eve", None]}, "row 1 .*observer is None, which is missing"),
        ({"screens": ["s", 1]}, "row 1 .*screen is 1, where the first entry is a name"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        Triplets([[0, 1, 2], [2, 1, 0]], **options)


def test_unknown_name_comes_with_a_suggestion():
    with pytest.raises(InputError, match=r"row 1 .*far is 'elc', .*5 names. Did you mean 'elk'"):
        Triplets([["ape", "bee", "cat"], ["ape", "bee", "elc"]], names=NAMES)
    with pytest.raises(InputError, match=r"'zzz', .* Add it to names"):
        Triplets([["ape", "bee", "zzz"]], names=NAMES)


def test_names_found_must_be_all():
    with pytest.raises(InputError, match="n_objects is 4, but there are 3 names"):
        Triplets([["a", "b", "c"]], n_objects=4)


# --- rows


def full(m=12):
    rng = np.random.default_rng(0)
    rows = np.array([rng.permutation(5)[:3] for _ in range(m)])
    return Triplets(
        rows,
        names=NAMES,
        observers=np.arange(m) % 4,
        screens=[f"s{i // 2}" for i in range(m)],
        weights=np.arange(m) + 1.0,
    )


def test_row_choices_agree_with_numpy():
    T = full()
    mask = np.arange(len(T)) % 3 == 0
    for key in (slice(2, 9, 2), slice(0, 0), [3, 3, -1], [], np.array([1, 0]), mask, mask.tolist()):
        rows = np.arange(len(T))[key]
        for part in (T[key], T[key, ...], T[key, :]):
            assert part.array.tolist() == T.array[rows].tolist()
            assert part.observers.tolist() == T.observers[rows].tolist()
            assert part.screens.tolist() == T.screens[rows].tolist()
            assert part.weights.tolist() == T.weights[rows].tolist()
            assert (part.names, part.n_objects) == (T.names, T.n_objects)
            assert not part.array.flags.writeable


def test_single_row_iteration_and_columns():
    T = full()
    assert T[3] == T[3:4] == T[np.int64(3)] == T[-9]
    assert [row.array[0].tolist() for row in T] == T.array.tolist()
    assert T[:, 0].tolist() == T.array[:, 0].tolist()
    assert T[2, 1] == T.array[2, 1]
    with pytest.raises(IndexError):
        T[12]
    for key in ("a", 1.5, True, [[0]], None, [0.0]):
        with pytest.raises(IndexError):
            T[key]


def test_scikit_learn_chooses_rows():
    T = full()
    for key in (3, [0, 5], (0, 5), slice(1, 4), np.array([2, 2]), np.arange(12) > 6):
        rows = list(key) if isinstance(key, tuple) else key
        assert _safe_indexing(T, key) == T[rows]
    assert _safe_indexing(T, 0, axis=1).tolist() == T.array[:, 0].tolist()
    train, test = train_test_split(T, test_size=0.25, random_state=0)
    assert (len(train), len(test)) == (9, 3)
    assert isinstance(train, Triplets)
    assert len(resample(T, n_samples=4, random_state=0)) == 4


class CountsObjects(BaseEstimator):
    """Remembers what it was fitted on; the score is the share of observers it never saw."""

    def fit(self, T, y=None):
        assert isinstance(T, Triplets)
        self.observers_ = set(T.observers.tolist())
        self.names_ = T.names
        return self

    def score(self, T, y=None):
        assert T.names == self.names_
        return float(np.mean([label not in self.observers_ for label in T.observers]))


def test_cross_validation():
    T = full()
    assert cross_val_score(CountsObjects(), T, cv=KFold(3)).tolist() == [0, 0, 0]
    scores = cross_val_score(CountsObjects(), T, groups=T.observers, cv=GroupKFold(4))
    assert scores.tolist() == [1, 1, 1, 1]


@given(comparisons(), st.randoms(use_true_random=False))
def test_slicing_round_trip(data, random):
    rows, n = data
    T = Triplets(rows, n_objects=n, weights=np.arange(len(rows)) + 1)
    order = list(range(len(T)))
    random.shuffle(order)
    assert T[order][np.argsort(order)] == T
    assert Triplets(T[order].array, n_objects=n, weights=T.weights[order]) == T[order]


@given(comparisons(), st.randoms(use_true_random=False))
def test_relabelling(data, random):
    rows, n = data
    names = [f"item {i}" for i in range(n)]
    random.shuffle(names)
    named = np.array(names)[rows]
    T = Triplets(named, names=names)
    assert T.array.tolist() == rows.tolist()
    found = Triplets(named)
    assert np.array(found.names)[found.array].tolist() == named.tolist()
    assert T.encode(found).tolist() == rows.tolist()


@given(comparisons(columns=4))
def test_quadruplets_are_their_own_pairs(data):
    rows, n = data
    assert Triplets(rows, n_objects=n).pairs().tolist() == rows.tolist()


@given(hnp.arrays(np.int64, st.tuples(st.integers(1, 6), st.just(3)), elements=st.integers(-1, 4)))
def test_refused_exactly_when_invalid(rows):
    bad = [i for i, row in enumerate(rows.tolist()) if min(row) < 0 or len(set(row)) < 3]
    if bad:
        with pytest.raises(InputError) as caught:
            Triplets(rows)
        assert any(f"row {i} " in str(caught.value) for i in bad)
    else:
        assert np.array_equal(Triplets(rows), rows)


def test_equality_copies_and_pickles():
    T = full()
    assert full() == T
    assert T[:5] != T
    assert Triplets(T.array, names=NAMES) != T
    assert T.array.tolist() != T
    assert Triplets([[0, 1, 2]], observers=["a"]) != Triplets([[0, 1, 2]], observers=[1])
    for other in (copy.deepcopy(T), pickle.loads(pickle.dumps(T))):
        assert other == T
        assert not other.array.flags.writeable
    with pytest.raises(TypeError):
        hash(T)


def test_array_protocol():
    T = full()
    assert np.asarray(T) is T.array
    assert np.asarray(T, dtype=np.int32).dtype == np.int32
    assert np.array(T).flags.writeable


def test_repr():
    assert repr(full()) == (
        "Triplets(12 triplets of 5 objects named 'ape', 'bee', 'cat' and 2 more, 4 observers, "
        "6 screens, total weight 78)"
    )
    assert repr(Triplets([[0, 1, 2, 3]])) == "Triplets(1 quadruplet of 4 objects)"


# --- encode and as_triplets


def test_encode():
    T = Triplets([["ape", "bee", "cat"]], names=NAMES)
    expected = [[4, 0, 1], [2, 3, 0]]
    named = [[NAMES[i] for i in row] for row in expected]
    reordered = Triplets(named, names=NAMES[::-1])
    frame = pd.DataFrame(named, columns=["anchor", "near", "far"])
    for Q in (expected, np.array(expected), named, np.array(named), reordered, frame):
        assert T.encode(Q).tolist() == expected
        assert T.encode(Q).dtype == np.int64
    assert T.encode([[0, 1, 2, 3]]).tolist() == [[0, 1, 2, 3]]
    assert T.encode(Triplets(expected)).tolist() == expected


@pytest.mark.parametrize(
    ("Q", "message"),
    [
        ([["ape", "bee", "eel"]], "far is 'eel', .*Did you mean 'elk'"),
        ([[0, 1, 5]], "far is 5, but there are only 5 objects"),
        ([[0, 1, 1]], "near and far are both 'bee'"),
        (Triplets([["ape", "bee", "yak"]]), "far is 'yak', which is not one of the 5 names"),
        (Triplets([[0, 1, 2]])[:0], "no comparisons"),
    ],
)
def test_encode_refuses(Q, message):
    T = Triplets([["ape", "bee", "cat"]], names=NAMES)
    with pytest.raises(InputError, match=message):
        T.encode(Q)


def test_encode_of_names_without_names():
    T = Triplets([[0, 1, 2]])
    for Q in ([["ape", "bee", "cat"]], Triplets([["ape", "bee", "cat"]])):
        with pytest.raises(InputError, match="only numbers"):
            T.encode(Q)


def test_as_triplets():
    T = Triplets([[0, 1, 2]], weights=[2])
    assert as_triplets(T) is T
    assert as_triplets(T, n_objects=3) is T
    larger = as_triplets(T, n_objects=5)
    assert (larger.n_objects, larger.weights.tolist(), T.n_objects) == (5, [2.0], 3)
    assert as_triplets([[0, 1, 2]], n_objects=4).n_objects == 4
    with pytest.raises(InputError, match="n_objects is 4, but the Triplets have 5 objects"):
        as_triplets(larger, n_objects=4)
    with pytest.raises(InputError, match="positive whole number, got 'x'"):
        as_triplets(T, n_objects="x")
    with pytest.raises(InputError, match="names of all objects"):
        as_triplets(Triplets([["a", "b", "c"]]), n_objects=5)
    with pytest.raises(InputError, match="no comparisons"):
        as_triplets(T[:0])


# ---- votes


def test_whole_weights_are_votes():
    answers = Triplets([[0, 1, 2], [2, 1, 0]], weights=[3, 1])
    assert answers.votes.tolist() == [3, 1]
    assert answers.n_answers == 4


@pytest.mark.parametrize("weights", [None, [0.5, 2.0]])
def test_other_weights_are_not(weights):
    answers = Triplets([[0, 1, 2], [2, 1, 0]], weights=weights)
    assert answers.votes is None
    assert answers.n_answers == 2


def test_screens_are_shared_where_one_has_several_answers():
    rows = [[0, 1, 2], [1, 2, 0]]
    assert not Triplets(rows).shares_screens
    assert not Triplets(rows, screens=["a", "b"]).shares_screens
    assert Triplets(rows, screens=["a", "a"]).shares_screens


def test_response_times_are_seconds_or_unknown():
    rows = [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
    T = Triplets(rows, response_times=[1.5, None, 2])
    np.testing.assert_array_equal(T.response_times, [1.5, np.nan, 2.0])
    assert Triplets(rows, response_times=[1.5, np.nan, 2.0]) == T
    assert Triplets(rows, response_times=[1.5, 1.0, 2.0]) != T
    assert Triplets(rows) != T
    np.testing.assert_array_equal(T[1:].response_times, [np.nan, 2.0])
    assert pickle.loads(pickle.dumps(T)) == T
    assert Triplets(rows, response_times=[None, None, None]).response_times is None
    with pytest.raises(ValueError, match="read-only"):
        T.response_times[0] = 3


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([1, -2, 3], "row 1 .*response_time is -2.0, not a time"),
        ([1, np.inf, 3], "row 1 .*response_time is inf"),
        ([1, 2], "must have 3 entries"),
        (["quick", 1, 2], "must be numbers, in seconds"),
    ],
)
def test_response_times_that_cannot_be(times, message):
    with pytest.raises(InputError, match=message):
        Triplets([[0, 1, 2]] * 3, response_times=times)


# --- numbers beyond all measure


@pytest.mark.parametrize("weight", [2.0**31 + 1, 1e9, 2.0**63, 1e30, 1.7e308])
def test_weights_that_cannot_be_counts_are_refused(weight):
    with pytest.raises(
        InputError, match=r"the weights add up to [0-9.e+]+, and 2147483648 answers"
    ):
        Triplets([[0, 1, 2], [0, 2, 1], [1, 2, 0]], weights=[weight] * 3)


@pytest.mark.parametrize("weight", [5e-324, 1e-300, 1e-31])
def test_weights_that_vanish_are_refused(weight):
    with pytest.raises(InputError, match=r"row 1 .*: weight is .*e-.*, too small to count.*near 1"):
        Triplets([[0, 1, 2], [0, 2, 1]], weights=[1.0, weight])


def test_large_counts_are_counted_exactly():
    answers = Triplets([[0, 1, 2], [0, 2, 1]], weights=[2.0**31 - 7, 7.0])
    assert answers.n_answers == 2**31
    assert answers.votes.tolist() == [2**31 - 7, 7]


def test_each_vote_is_a_row():
    answers = Triplets([[0, 1, 2], [0, 2, 1], [1, 2, 0]], weights=[2, 1, 3])
    assert answers.each_vote().tolist() == [0, 0, 1, 2, 2, 2]
    assert Triplets([[0, 1, 2], [0, 2, 1]]).each_vote().tolist() == [0, 1]
    assert Triplets([[0, 1, 2]], weights=[0.5]).each_vote().tolist() == [0]


class Counted(str):
    """A name that counts how often it is compared."""

    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other):
        Counted.compared += 1
        return super().__eq__(other)


def test_a_name_that_is_there_twice_is_found_without_comparing_all():
    names = [Counted(f"n{i}") for i in range(2000)] + [Counted("n7")]
    Counted.compared = 0
    with pytest.raises(InputError, match="the name 'n7' occurs twice"):
        Triplets([[0, 1, 2]], names=names)
    assert Counted.compared < 100


def test_a_long_name_is_cut_in_a_message():
    long = "x" * 100_000
    for rows in ([[long, long, "b"]], [["a", "", long]], [["a", "b", 3], ["a", "b", long]]):
        with pytest.raises(InputError) as error:
            Triplets(rows)
        assert len(str(error.value)) < 400
    with pytest.raises(InputError, match=r"not one of the 3 names\. Add it to names") as error:
        Triplets([["a", "b", "c"]]).encode([["a", "b", long]])
    assert len(str(error.value)) < 400
