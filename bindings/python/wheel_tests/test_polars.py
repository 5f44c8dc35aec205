"""The namespace gpujoin of polars frames against polars' own joins, of frames drawn at random."""

import datetime
import decimal
import itertools

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import gpujoin
import gpujoin.polars

HOWS = ["inner", "left", "right", "full", "semi", "anti"]
TEXTS = ["", "a", "B", "b", "ä", "zebra", "a longer one, of more bytes"]
DAY = datetime.datetime(2024, 3, 30)
ZONE = "Europe/Berlin"


def of(dtype, *values):
    """A column of these values, and of nulls."""

    def made(rng, n):
        picked = rng.integers(-1, len(values), n)
        return pl.Series([None if i < 0 else values[i] for i in picked], dtype=dtype)

    return made


NUMBERS = (0, 1, 2, 3, 100)
TIMES = [DAY + datetime.timedelta(days=i) for i in range(4)]
KEYS = {
    **{str(kind): of(kind, *NUMBERS) for kind in (pl.Int8, pl.Int32, pl.Int64)},
    **{str(kind): of(kind, *NUMBERS) for kind in (pl.UInt8, pl.UInt32, pl.UInt64)},
    "large": of(pl.Int64, 2**62, 2**62 + 1, -(2**63)),
    "Float64": of(pl.Float64, 0.0, -0.0, 1.5, float("nan"), float("inf")),
    "Float32": of(pl.Float32, 0.0, -0.0, 1.5, float("nan"), 2.0),
    "Boolean": of(pl.Boolean, True, False),
    "String": of(pl.String, *TEXTS),
    "Binary": of(pl.Binary, b"", b"a", b"\x00a"),
    "Categorical": of(pl.Categorical, "x", "y", "z"),
    "Enum": of(pl.Enum(["low", "high", "higher"]), "high", "low"),
    "Decimal": of(pl.Decimal(10, 2), decimal.Decimal("1.50"), decimal.Decimal("-2.00")),
    "Date": of(pl.Date, *(time.date() for time in TIMES)),
    "Time": of(pl.Time, datetime.time(1), datetime.time(2, 3, 4)),
    "Duration": of(pl.Duration("ms"), datetime.timedelta(1), datetime.timedelta(2)),
    "Datetime(ms)": of(pl.Datetime("ms"), *TIMES),
    "Datetime with zone": of(pl.Datetime("us", ZONE), *TIMES),
    "Null": of(pl.Null),
}
MIXED = [
    ("Int8", "Int64"),
    ("UInt8", "Int32"),
    ("UInt32", "Int64"),
    ("Int32", "Float64"),
    ("Float32", "Int8"),
    ("Float32", "Float64"),
]


def frame(rng, rows, keys, payloads):
    makers = list(KEYS.values())
    columns = {name: make(rng, rows) for name, make in keys.items()}
    for name in payloads:
        columns[name] = makers[rng.integers(len(makers))](rng, rows)
    lists = [[i, None] for i in range(rows)]
    columns["lists of " + payloads[0]] = pl.Series(lists, dtype=pl.List(pl.Int64))
    columns["row of " + payloads[0]] = pl.Series(range(rows), dtype=pl.Int32)
    return pl.DataFrame(columns)


def attempt(join, *arguments, **options):
    try:
        return join(*arguments, **options)
    except (pl.exceptions.PolarsError, ValueError, TypeError) as error:
        return error


def check(left, right, **options):
    ours = attempt(left.gpujoin.join, right, **options)
    theirs = attempt(left.join, right, **options)
    if isinstance(theirs, Exception):
        assert type(ours) is type(theirs), ours
        assert str(ours).splitlines()[0] == str(theirs).splitlines()[0]
        return
    if isinstance(ours, Exception):
        raise ours
    assert ours.schema == theirs.schema
    is_ordered = options.get("maintain_order") not in (None, "none")
    by = [name for name in ours.columns if name.startswith("row of")]
    if not is_ordered:
        ours, theirs = (side.sort(by, nulls_last=True) for side in (ours, theirs))
    assert_frame_equal(ours, theirs, check_exact=True)


@pytest.fixture
def rng(request):
    return np.random.default_rng(sum(map(ord, request.node.name)))


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("key", KEYS)
def test_one_key(rng, key, how):
    keys = {"k": KEYS[key]}
    for left_rows, right_rows in ((30, 20), (5, 60), (1, 1), (9, 0), (0, 9)):
        left = frame(rng, left_rows, keys, ["a", "both"])
        right = frame(rng, right_rows, keys, ["b", "both"])
        for nulls_equal, coalesce in itertools.product((False, True), (None, False, True)):
            check(left, right, on="k", how=how, nulls_equal=nulls_equal, coalesce=coalesce)


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("kinds", MIXED, ids=" and ".join)
def test_keys_of_two_types(rng, kinds, how):
    left = frame(rng, 25, {"k": KEYS[kinds[0]]}, ["a"])
    right = frame(rng, 30, {"k": KEYS[kinds[1]]}, ["b"])
    for coalesce in (None, True, False):
        check(left, right, on="k", how=how, coalesce=coalesce)
        check(right, left, on="k", how=how, coalesce=coalesce)


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("seed", range(8))
def test_several_keys(seed, how):
    rng = np.random.default_rng(seed)
    names = rng.choice([name for name in KEYS if name != "Null"], rng.integers(2, 5))
    keys = {f"k{i}": KEYS[name] for i, name in enumerate(names)}
    left = frame(rng, 60, keys, ["a", "x"])
    right = frame(rng, 80, keys, ["b", "x"])
    for nulls_equal, coalesce in itertools.product((False, True), (None, False, True)):
        options = {"how": how, "nulls_equal": nulls_equal, "coalesce": coalesce, "suffix": "_2"}
        check(left, right, on=list(keys), **options)
        other = right.rename({"k0": "other"}).with_columns(k0=pl.lit(7))
        right_on = ["other", *list(keys)[1:]]
        check(left, other, left_on=list(keys), right_on=right_on, **options)


@pytest.mark.parametrize("order", ["left", "right", "left_right", "right_left", "none"])
@pytest.mark.parametrize("how", HOWS)
def test_maintain_order(rng, how, order):
    for key in ("Int64", "String"):
        left = frame(rng, 40, {"k": KEYS[key]}, ["a"])
        right = frame(rng, 30, {"k": KEYS[key]}, ["b"])
        ours = left.gpujoin.join(right, on="k", how=how, maintain_order=order)
        check(left, right, on="k", how=how)
        if order in ("left_right", "right_left") or how in ("semi", "anti"):
            check(left, right, on="k", how=how, maintain_order=order)
        elif order != "none":
            # Rows of one row come in any order by polars.
            side = "row of a" if order == "left" else "row of b"
            theirs = left.join(right, on="k", how=how, maintain_order=order)
            assert_frame_equal(ours.select(side), theirs.select(side))


@pytest.mark.parametrize("validate", ["1:1", "1:m", "m:1", "m:m", "2:2"])
@pytest.mark.parametrize("how", HOWS)
def test_validate(how, validate):
    several = pl.DataFrame({"k": [1, 2, 2, None], "row of a": [0, 1, 2, 3]})
    unique = pl.DataFrame({"k": [2, 1, 7, None], "row of b": [0, 1, 2, 3]})
    nulls = pl.DataFrame({"k": [None, None, 1], "row of c": [0, 1, 2]})
    frames = (several, unique, nulls)
    for (i, left), (j, right) in itertools.product(enumerate(frames), enumerate(frames)):
        if i != j:
            for nulls_equal in (False, True):
                check(left, right, on="k", how=how, validate=validate, nulls_equal=nulls_equal)


def test_cross(rng):
    left, right = frame(rng, 6, {}, ["a", "x"]), frame(rng, 5, {}, ["b", "x"])
    for sides in ((left, right), (left, right.head(0)), (left.head(0), right)):
        check(*sides, how="cross")
        check(*sides, how="cross", maintain_order="left_right", suffix="_2")
    check(left, right, how="cross", on="x")


def test_expressions_as_keys(rng):
    left = frame(rng, 30, {"k": KEYS["Int64"], "t": KEYS["String"]}, ["a"])
    right = frame(rng, 30, {"k": KEYS["Int64"], "t": KEYS["String"]}, ["b"])
    for how in HOWS:
        check(left, right, on=pl.col("k"), how=how)
        check(left, right, on=[pl.col("k", "t")], how=how)
        check(left, right, on=pl.selectors.string() & pl.selectors.by_name("t"), how=how)
        text = pl.col("t").str.to_lowercase()
        check(left, right, on=text, how=how)
        check(left, right, left_on=["k", text], right_on=[pl.col("k") + 1, "t"], how=how)
    with pytest.raises(NotImplementedError, match="has 1 rows"):
        left.gpujoin.join(right, on=pl.col("k").sum())


def test_arguments_that_polars_refuses(rng):
    left = frame(rng, 5, {"k": KEYS["Int64"]}, ["a"])
    right = frame(rng, 5, {"k": KEYS["String"]}, ["b"])
    for options in (
        {"on": "k"},
        {"on": "none"},
        {},
        {"left_on": "k"},
        {"on": "k", "left_on": "k"},
        {"left_on": ["k", "a"], "right_on": ["k"]},
        {"on": "k", "how": "sideways"},
        {"on": "k", "maintain_order": "up"},
        {"on": "k", "build_side": "middle"},
    ):
        check(left, right, **options)
    with pytest.raises(TypeError, match="not a polars.DataFrame"):
        left.gpujoin.join(right.lazy(), on="k")
    with pytest.raises(TypeError, match="not a polars.LazyFrame"):
        left.lazy().gpujoin.join(right, on="k")


def two_frames(rng):
    return [frame(rng, n, {"k": KEYS["Int64"]}, [name]) for n, name in ((50, "a"), (40, "b"))]


def test_build_side(rng):
    left, right = two_frames(rng)
    for side in ("auto", "prefer_left", "force_left", "prefer_right", "force_right"):
        for how in HOWS:
            check(left, right, on="k", how=how, build_side=side)


def test_keys_that_are_not_taken():
    nested = pl.DataFrame({"k": [{"x": 1}]})
    assert nested.join(nested, on="k").height == 1
    with pytest.raises(NotImplementedError):
        nested.gpujoin.join(nested, on="k")


@pytest.mark.parametrize("how", [*HOWS, "cross"])
def test_lazy(rng, how):
    left, right = two_frames(rng)
    options = {"how": how} if how == "cross" else {"how": how, "on": "k", "coalesce": True}
    lazy = left.lazy().filter(pl.col("row of a") > 3).gpujoin.join(right.lazy(), **options)
    wanted = left.filter(pl.col("row of a") > 3).join(right, **options)
    assert lazy.collect_schema() == wanted.schema
    by = [name for name in wanted.columns if name.startswith("row of")]
    found = lazy.sort(by).collect()
    assert_frame_equal(found, wanted.sort(by))
    assert lazy.select("k").collect().height == wanted.height
    assert lazy.filter(pl.col("k") == 2).collect().height == wanted.filter(pl.col("k") == 2).height


def test_lazy_errors():
    left = pl.LazyFrame({"k": [1, 1]})
    with pytest.raises(pl.exceptions.PolarsError, match="did not fulfill"):
        left.gpujoin.join(left, on="k", validate="1:1").collect()
    with pytest.raises(pl.exceptions.PolarsError, match="unable to find column"):
        left.gpujoin.join(left, on="none").collect_schema()


def test_a_context(rng):
    with gpujoin.Context("cpu", threads=1) as context:
        left = frame(rng, 30, {"k": KEYS["Int64"]}, ["a"])
        assert left.gpujoin.join(left, on="k", how="semi", context=context).height > 0
