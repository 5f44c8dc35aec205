"""gpujoin.merge against pandas.merge: of frames drawn at random, and what is refused."""

import datetime
import decimal
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import gpujoin

HOWS = ["inner", "left", "right", "outer", "left_anti", "right_anti"]
ZONE = "Europe/Berlin"
TEXTS = np.array(["", "a", "B", "b", "ä", "zebra", "Zebra", "a longer one, of more bytes"])


def of_numbers(dtype, lowest=-4, highest=5):
    return lambda rng, n: pd.Series(rng.integers(lowest, highest, n)).astype(dtype)


def with_missing(make, missing):
    def made(rng, n):
        values = make(rng, n)
        values[rng.random(n) < 0.2] = missing
        return values

    return made


def floats(dtype):
    def made(rng, n):
        values = rng.choice([-0.0, 0.0, 1.5, 2, -3, np.inf, np.nan], n)
        return pd.Series(values, dtype=dtype)

    return made


def texts(dtype):
    return lambda rng, n: pd.Series(rng.choice(TEXTS, n), dtype=dtype)


def objects(*values):
    def made(rng, n):
        picked = np.empty(n, dtype=object)
        picked[:] = [values[i] for i in rng.integers(0, len(values), n)]
        return pd.Series(picked)

    return made


def categories(values, ordered=False):
    def made(rng, n):
        kind = pd.CategoricalDtype(values, ordered)
        return pd.Series(pd.Categorical.from_codes(rng.integers(-1, len(values), n), dtype=kind))

    return made


def instants(unit, zone=None):
    def made(rng, n):
        days = pd.Series(pd.Timestamp("2024-03-30") + pd.to_timedelta(rng.integers(0, 6, n), "D"))
        days[rng.random(n) < 0.15] = pd.NaT
        days = days.astype(f"datetime64[{unit}]")
        return days.dt.tz_localize(zone) if zone else days

    return made


def durations(rng, n):
    return pd.Series(pd.to_timedelta(rng.integers(0, 5, n), "h"))


def days(rng, n):
    first = datetime.date(2024, 2, 28)
    picked = [first + datetime.timedelta(int(i)) for i in rng.integers(0, 4, n)]
    return pd.Series(picked, dtype=object)


def months(rng, n):
    return pd.Series(pd.PeriodIndex.from_ordinals(rng.integers(600, 605, n), freq="M"))


KEYS = {
    "int64": of_numbers("int64"),
    "int8": of_numbers("int8"),
    "uint16": of_numbers("uint16", 0),
    "uint64": of_numbers("uint64", 0),
    "large": of_numbers("int64", 2**62, 2**62 + 5),
    "bool": of_numbers("bool", 0, 2),
    "float64": floats("float64"),
    "float32": floats("float32"),
    "floats of integers": lambda rng, n: pd.Series(rng.choice([-0.0, 1, 2.5, -3, np.nan], n)),
    "Int32": with_missing(of_numbers("Int32"), pd.NA),
    "UInt8": with_missing(of_numbers("UInt8", 0), pd.NA),
    "Float64": with_missing(of_numbers("Float64"), pd.NA),
    "boolean": with_missing(of_numbers("boolean", 0, 2), pd.NA),
    "str": with_missing(texts("str"), np.nan),
    "string": with_missing(texts("string"), pd.NA),
    "string[python]": with_missing(texts("string[python]"), pd.NA),
    "object of text": objects("a", "b", "B", "ä", None, np.nan, pd.NaT, pd.NA),
    "object of integers": objects(1, 2, 3, None),
    "object of truths": objects(True, False, None),
    "object of bytes": objects(b"a", b"b", b"\x00"),
    "object of decimals": objects(decimal.Decimal("1.50"), decimal.Decimal("2"), None),
    "object of dates": days,
    "category of text": categories(["b", "a", "c"]),
    "ordered category": categories(["low", "high", "higher"], ordered=True),
    "category of integers": categories([30, 10, 20]),
    "datetime64[ns]": instants("ns"),
    "datetime64[s]": instants("s"),
    "datetime with zone": instants("us", ZONE),
    "timedelta64": durations,
    "period": months,
    "int64[pyarrow]": with_missing(of_numbers("int64[pyarrow]"), pd.NA),
    "double[pyarrow]": with_missing(of_numbers("double[pyarrow]"), pd.NA),
    "string[pyarrow]": with_missing(texts(pd.ArrowDtype(pa.string())), pd.NA),
    "bool[pyarrow]": with_missing(of_numbers("bool[pyarrow]", 0, 2), pd.NA),
    "timestamp[pyarrow]": lambda rng, n: instants("us")(rng, n).astype("timestamp[us][pyarrow]"),
}

# Keys of two types that pandas merges.
MIXED = [
    ("int64", "int8"),
    ("int8", "uint16"),
    ("uint16", "uint64"),
    ("int64", "float64"),
    ("float32", "int64"),
    ("float64", "float32"),
    ("Int32", "int64"),
    ("int64", "Int32"),
    ("Int32", "Float64"),
    ("Int32", "floats of integers"),
    ("floats of integers", "int8"),
    ("UInt8", "Int32"),
    ("bool", "boolean"),
    ("int64[pyarrow]", "int64"),
    ("int64[pyarrow]", "Int32"),
    ("int64[pyarrow]", "double[pyarrow]"),
    ("str", "object of text"),
    ("str", "string"),
    ("string", "string[python]"),
    ("string[pyarrow]", "str"),
    ("category of text", "str"),
    ("str", "category of text"),
    ("category of text", "object of text"),
    ("category of text", "ordered category"),
    ("datetime64[ns]", "datetime64[s]"),
    ("datetime64[s]", "datetime64[ns]"),
]


def frame(rng, rows, keys, payloads):
    columns = {name: make(rng, rows) for name, make in keys.items()}
    columns.update({name: make(rng, rows) for name, make in payloads.items()})
    index = pd.Index(rng.permutation(rows) + 100, name="label")
    return pd.DataFrame({k: v.array for k, v in columns.items()}, index=index)


def payloads(rng, names):
    made = {name: list(KEYS.values())[rng.integers(len(KEYS))] for name in names}
    made["lists of " + names[0]] = lambda rng, n: pd.Series([[int(i)] for i in range(n)])
    return made


def both(left, right, **arguments):
    """What each of the two says: a frame, or the error's class and text; and the warnings."""
    said = []
    for merge in (gpujoin.merge, pd.merge):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                found = merge(left, right, **arguments)
            except (ValueError, KeyError, TypeError) as error:
                found = error
        said.append((found, [str(one.message) for one in caught if "merging" in str(one.message)]))
    return said


def check(left, right, **arguments):
    (ours, our_warnings), (theirs, their_warnings) = both(left, right, **arguments)
    if isinstance(theirs, Exception):
        assert type(ours) is type(theirs), ours
        assert str(ours) == str(theirs)
        return
    if isinstance(ours, Exception):
        raise ours
    pd.testing.assert_frame_equal(ours, theirs, check_exact=True, check_freq=False)
    assert bool(our_warnings) == bool(their_warnings)


@pytest.fixture
def rng(request):
    seed = sum(map(ord, request.node.name))
    return np.random.default_rng(seed)


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("key", KEYS)
def test_one_key(rng, key, how):
    keys = {"k": KEYS[key]}
    sizes = ((30, 20, False), (20, 30, True), (4, 60, False), (7, 0, True), (0, 7, False))
    for left_rows, right_rows, sort in sizes:
        left = frame(rng, left_rows, keys, payloads(rng, ["a", "both"]))
        right = frame(rng, right_rows, keys, payloads(rng, ["both", "b"]))
        check(left, right, how=how, on="k", sort=sort, indicator=sort)


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("kinds", MIXED, ids=" and ".join)
def test_keys_of_two_types(rng, kinds, how):
    for left_rows, right_rows in ((25, 30), (3, 9)):
        left = frame(rng, left_rows, {"k": KEYS[kinds[0]]}, payloads(rng, ["a"]))
        right = frame(rng, right_rows, {"k": KEYS[kinds[1]]}, payloads(rng, ["b"]))
        check(left, right, how=how, on="k")
        check(left, right.rename(columns={"k": "l"}), how=how, left_on="k", right_on="l")


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("seed", range(8))
def test_several_keys(seed, how):
    rng = np.random.default_rng(seed)
    names = [list(KEYS)[i] for i in rng.integers(len(KEYS), size=rng.integers(2, 5))]
    keys = {f"k{i}": KEYS[name] for i, name in enumerate(names)}
    left = frame(rng, 60, keys, payloads(rng, ["a", "x"]))
    right = frame(rng, 50, keys, {})
    # Rows of left once more, so that some match in all keys.
    right = pd.concat([right, left[list(keys)].iloc[::3]]).astype(left[list(keys)].dtypes)
    for sort in (False, True):
        check(left, right, how=how, sort=sort)
    right = pd.concat([right.reset_index(), frame(rng, 70, payloads(rng, ["x", "b"]), {})], axis=1)
    for sort in (False, True):
        check(left, right, how=how, on=list(keys), sort=sort)
    other = right.rename(columns={"k0": "other"})
    right_on = ["other", *list(keys)[1:]]
    check(left, other, how=how, left_on=list(keys), right_on=right_on, indicator="from")


def test_cross(rng):
    left = frame(rng, 5, {"k": KEYS["str"]}, payloads(rng, ["a"]))
    right = frame(rng, 4, {"k": KEYS["int8"]}, payloads(rng, ["b"]))
    for sides in ((left, right), (left, right.iloc[:0]), (left.iloc[:0], right)):
        for validate in (None, "1:1", "m:1", "1:m"):
            check(*sides, how="cross", validate=validate, indicator=validate is None)
    check(left, right, how="cross", on="k")


NUMBERS = pd.DataFrame({"k": [2, 1, 2, 4], "a": [1, 2, 3, 4], "same": list("wxyz")})
OTHERS = pd.DataFrame({"k": [2, 4, 4, 7], "b": [1.0, 2, 3, 4], "same": list("wxyz")})


@pytest.mark.parametrize("validate", ["1:1", "1:m", "m:1", "m:m", "one_to_one", "2:2"])
@pytest.mark.parametrize("how", HOWS)
def test_validate(how, validate):
    unique = NUMBERS.drop_duplicates("k"), OTHERS.drop_duplicates("k")
    for left in (NUMBERS, unique[0]):
        for right in (OTHERS, unique[1]):
            check(left, right, how=how, on="k", validate=validate)
    missing = pd.DataFrame({"k": [None, np.nan, 1.0]})
    check(missing, missing.iloc[1:], how=how, on="k", validate=validate)


@pytest.mark.parametrize("suffixes", [("_l", "_r"), (None, "_r"), ("", ""), ("_x", "_x"), "no", {}])
def test_suffixes(suffixes):
    check(NUMBERS, OTHERS, on="k", suffixes=suffixes)
    check(NUMBERS.assign(same_x=1), OTHERS, on="k", suffixes=suffixes)


def test_arguments_that_pandas_refuses():
    for arguments in (
        {"on": "none"},
        {"on": "a"},
        {"left_on": "k"},
        {"right_on": "k"},
        {"on": "k", "left_on": "k", "right_on": "k"},
        {"left_on": ["k", "a"], "right_on": ["k"]},
        {"on": "k", "how": "sideways"},
        {"on": "k", "indicator": 3},
        {"on": "k", "how": "cross"},
    ):
        check(NUMBERS, OTHERS, **arguments)
    check(NUMBERS, OTHERS[["b"]])
    check(NUMBERS.assign(_merge=1), OTHERS, on="k", indicator=True)
    check(NUMBERS.rename(columns={"a": "k"}), OTHERS, on="k")
    check(NUMBERS, OTHERS.astype({"k": "str"}), on="k")
    check(NUMBERS, OTHERS.assign(k=pd.Timestamp("2024-01-01")), on="k")
    check(NUMBERS, 5, on="k")
    check(NUMBERS, OTHERS["b"].rename(None), on="k")


def test_columns_called_alike_and_series():
    twice = pd.DataFrame([[1, 2, 3], [4, 5, 6]], columns=["k", "d", "d"])
    for how in HOWS:
        check(twice, OTHERS, on="k", how=how)
        check(NUMBERS, OTHERS["k"], on="k", how=how)
        numbered = NUMBERS.rename(columns={"k": 0}), OTHERS.rename(columns={"k": 0, "b": 1})
        check(*numbered, on=0, how=how)
    frames = NUMBERS.copy(), OTHERS.copy()
    frames[0].attrs = frames[1].attrs = {"of": "both"}
    assert gpujoin.merge(*frames, on="k").attrs == pd.merge(*frames, on="k").attrs


@pytest.mark.parametrize(
    "left, right, arguments",
    [
        (NUMBERS.set_index("k"), OTHERS, {"left_index": True, "right_on": "k"}),
        (NUMBERS.set_index("k"), OTHERS, {"on": "k"}),
        (NUMBERS, OTHERS, {"left_on": NUMBERS["k"].to_numpy(), "right_on": "k"}),
        (NUMBERS, OTHERS, {"left_on": [NUMBERS["k"]], "right_on": ["k"]}),
        (pd.concat({"x": NUMBERS}, axis=1), pd.concat({"x": OTHERS}, axis=1), {"on": [("x", "k")]}),
        (NUMBERS.assign(k=[1, "a", 2, 2]), OTHERS.assign(k=[1, "a", 2, 2]), {"on": "k"}),
        (NUMBERS.assign(k=[1j] * 4), OTHERS.assign(k=[1j] * 4), {"on": "k"}),
        (NUMBERS.assign(k=[(1,)] * 4), OTHERS.assign(k=[(1,)] * 4), {"on": "k"}),
    ],
)
def test_what_is_not_taken(left, right, arguments):
    pd.merge(left, right, **arguments)
    with pytest.raises(NotImplementedError, match="merge|keys"):
        gpujoin.merge(left, right, **arguments)


def test_a_million_rows():
    rng = np.random.default_rng(5)
    left = pd.DataFrame({"k": rng.integers(0, 200_000, 1_000_000), "a": np.arange(1_000_000)})
    right = pd.DataFrame({"k": rng.permutation(250_000), "b": rng.random(250_000)})
    for how in ("inner", "right", "outer"):
        check(left, right, how=how, on="k")
