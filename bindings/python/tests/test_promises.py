"""promise=, promised_rows=: what is said of the data is checked, and a broken promise named."""

import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import gpujoin
from gpujoin import errors


def joined(left, right, context, **options):
    return gpujoin.join(left, right, options.pop("on", "k"), context=context, **options)


UNIQUE = [
    ([3, 1, 2], None),
    ([3, 1, 3, 1], 2),
    ([3, 1, 2, 1, 3], 3),
    ([None, 1, None, 2], None),
    ([None, 5, None, 5], 3),
    ([], None),
    (["a", "bb", "ccc", "bb"], 3),
    (["a" * 40, "b" * 40, "a" * 40], 2),
    ([1.5, float("nan"), float("nan")], 2),
    ([0.0, -0.0], 1),
    ([Decimal("1.0"), Decimal("2.0"), Decimal("1.0")], 2),
    ([True, False, True], 2),
    ([datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)], None),
]


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("values, row", UNIQUE, ids=str)
def test_unique(context, side, values, row):
    table = pa.table({"k": pa.array(values) if values else pa.array([], pa.int32())})
    sides = (table, table.slice(0, 1)) if side == "left" else (table.slice(0, 1), table)
    if row is None:
        joined(*sides, context, promise=side + "_unique")
        return
    with pytest.raises(errors.BrokenPromise, match=f"keys of {side} are not unique: .*row {row} "):
        joined(*sides, context, promise=side + "_unique")


def test_unique_of_flags(context):
    nan = float("nan")
    table = pa.table({"k": [nan, 1.0, nan, None, None, 2.0]})
    joined(table, table, context, promise="left_unique", ieee_float=True)
    with pytest.raises(errors.BrokenPromise, match="row 2 "):
        joined(table, table, context, promise="left_unique")
    with pytest.raises(errors.BrokenPromise, match="row 4 "):
        joined(table, table, context, promise="left_unique", ieee_float=True, null_equal=True)
    table = pa.table({"k": [nan, 1.0, nan, 1.0]})
    with pytest.raises(errors.BrokenPromise, match="row 3 "):
        joined(table, table, context, promise="left_unique", ieee_float=True)


def test_what_lies_beneath_a_null_is_no_nan(context):
    """Two NULLs are equal where the caller says so, whatever their values would be."""
    values = pa.py_buffer(np.array([np.nan, np.nan, 1.0]))
    keys = pa.Array.from_buffers(pa.float64(), 3, [pa.py_buffer(bytes([0b100])), values])
    table = pa.table({"k": keys})
    joined(table, table, context, promise="left_unique", ieee_float=True)
    with pytest.raises(errors.BrokenPromise, match="row 1 has the same"):
        joined(table, table, context, promise="left_unique", ieee_float=True, null_equal=True)


def test_unique_of_several_keys(context):
    table = pa.table({"a": [1, 1, 2, None, None, 1], "t": ["x", "y", "x", "z", "z", "y"]})
    with pytest.raises(errors.BrokenPromise, match="keys of right are not unique: .*row 5 "):
        joined(table, table, context, on=["a", "t"], promise=["left_sorted", "right_unique"][1:])
    joined(table.slice(0, 5), table, context, on=["a", "t"], promise="left_unique")


def test_unique_of_random_keys(context):
    rng = np.random.default_rng(3)
    for _ in range(60):
        keys = rng.integers(0, 400, 30)
        seen, row = set(), None
        for i, key in enumerate(keys):
            row = i if key in seen and row is None else row
            seen.add(key)
        shapes = [pa.array(keys), pa.array([f"v{k}" for k in keys]).dictionary_encode()]
        for column in shapes:
            left, right = pa.table({"k": column.slice(0, 5)}), pa.table({"k": column})
            if row is None:
                joined(left, right, context, promise="right_unique")
            else:
                with pytest.raises(errors.BrokenPromise, match=f"row {row} "):
                    joined(left, right, context, promise="right_unique")


SORTED = [
    ([1, 1, 2, 5], None),
    ([1, 2, 1, 0], 2),
    ([None, None, -3, 4], None),
    ([-3, 4, None, None], None),
    ([None, 4, None], 2),
    ([1, None, 2], 2),
    ([None, 4, 3], 2),
    ([-1.5, 0.0, -0.0, float("inf"), float("nan"), float("nan")], None),
    ([float("nan"), 1.0], 1),
    (["", "a", "a", "ab", "b"], None),
    (["a", "ab", "aa"], 2),
    ([b"\x7f", b"\x80", b"\xff\x00"], None),
    ([Decimal("-1.5"), Decimal("0.1"), Decimal("0.0")], 2),
    ([False, False, True], None),
    ([True, False], 1),
    ([datetime.date(2020, 1, 2), datetime.date(2020, 1, 1)], 1),
]


@pytest.mark.parametrize("values, row", SORTED, ids=str)
@pytest.mark.parametrize("shape", ["plain", "dictionary"])
def test_sorted(context, values, row, shape):
    column = pa.array(values)
    if shape == "dictionary":
        if pa.types.is_boolean(column.type):
            pytest.skip("no dictionaries of truth values")
        column = column.dictionary_encode()
    table = pa.table({"k": column})
    if row is None:
        joined(table, table, context, promise=["left_sorted", "right_sorted"])
        return
    with pytest.raises(errors.BrokenPromise, match=f"keys of right are not sorted: row {row} "):
        joined(table, table, context, promise="right_sorted")


def test_sorted_by_several_keys(context):
    def check(rows, row):
        one, two = zip(*rows)
        table = pa.table({"a": pa.array(one, pa.int32()), "b": pa.array(two, pa.string())})
        if row is None:
            joined(table, table, context, on=["a", "b"], promise="left_sorted")
            return
        with pytest.raises(errors.BrokenPromise, match=f"row {row} "):
            joined(table, table, context, on=["a", "b"], promise="left_sorted")

    check([(1, "b"), (2, "a"), (2, "a"), (3, None)], None)
    check([(1, "b"), (2, "b"), (2, "a")], 2)
    check([(1, None), (1, "a"), (2, "a"), (2, None)], 3)
    check([(None, "z"), (1, "a"), (None, "z")], 2)


def test_rows(context):
    table = pa.table({"k": [1, 1, 2]})
    assert joined(table, table, context, promised_rows=5).num_rows == 5
    message = "spec.promised_rows is 4 and the join has 5 rows"
    with pytest.raises(errors.BrokenPromise, match=message):
        joined(table, table, context, promised_rows=4)
    joined(table, table.slice(0, 0), context, promised_rows=0)


def test_with_nothing_on_the_other_side(context):
    table = pa.table({"k": pa.array([4, 5, 4], pa.int32())})
    none = pa.array([None, None], pa.int32())
    for other in (none.slice(0, 0), none):
        other = pa.table({"k": other})
        for build_side in ("left", "right"):
            options = {"promise": "left_unique", "build_side": build_side}
            with pytest.raises(errors.BrokenPromise, match="row 2 "):
                joined(table, other, context, **options)


@pytest.mark.parametrize("values", [["b", "a", "a"], [0.5, 0.25, 0.25], [7, 1 << 40, 1 << 40]])
def test_keys_that_the_other_side_cannot_have(context, values):
    other = pa.array(values[:1] * 9, pa.int32() if isinstance(values[0], int) else None)
    for build_side in ("left", "right"):
        options = {"promise": "left_unique", "build_side": build_side}
        with pytest.raises(errors.BrokenPromise, match="row 2 "):
            joined(pa.table({"k": values}), pa.table({"k": other}), context, **options)


def test_rows_that_the_caller_decides_on(context):
    table = pa.table({"k": [1, 1, 2]})
    options = {"where": lambda pairs: [i % 2 == 0 for i in range(len(pairs))]}
    assert joined(table, table, context, promised_rows=3, **options).num_rows == 3
    with pytest.raises(errors.BrokenPromise, match="is 2 and the join has 3 rows"):
        joined(table, table, context, promised_rows=2, **options)


def test_asof(context):
    table = pa.table({"k": [1, 1, 2], "at": [5, 4, 3]})
    asof = gpujoin.Asof("at")
    joined(table, table, context, asof=asof, promise=["left_sorted", "right_sorted"])
    with pytest.raises(errors.BrokenPromise, match="keys of right are not unique: .*row 1 "):
        joined(table, table, context, asof=asof, promise="right_unique")
    with pytest.raises(errors.BrokenPromise, match="is 1 and the join has 3 rows"):
        joined(table, table, context, asof=asof, promised_rows=1)


def test_of_selected_rows(context):
    table = pa.table({"k": [5, 1, 1, 7, 5, 9]})
    sorted_unique = ["left_unique", "left_sorted"]
    joined(table, table, context, promise=sorted_unique, left_rows=[2, 4, 3])
    with pytest.raises(errors.BrokenPromise, match="row 4 "):
        joined(table, table, context, promise="left_unique", left_rows=[0, 2, 3, 4, 1])
    with pytest.raises(errors.BrokenPromise, match="row 2 "):
        joined(table, table, context, promise="left_sorted", left_rows=[3, 2])
    bits = [True, False, True, True, True, True]
    with pytest.raises(errors.BrokenPromise, match="row 4 "):
        joined(table, table, context, promise="left_unique", left_rows=bits)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"promise": "unique"}, "promise 'unique' is none of left_unique"),
        ({"promise": ["left_unique", 3]}, "promise 3"),
        ({"promised_rows": -1}, "promised_rows"),
        ({"promised_rows": 2.5}, "promised_rows"),
    ],
)
def test_what_is_refused(context, options, message):
    table = pa.table({"k": [1]})
    with pytest.raises(errors.InvalidArgument, match=message):
        joined(table, table, context, **options)


def test_cross_join_has_no_keys(context):
    table = pa.table({"k": [1]})
    with pytest.raises(errors.InvalidArgument, match="spec.promises"):
        gpujoin.join(table, table, how="cross", promise="left_unique", context=context)
    with pytest.raises(errors.BrokenPromise):
        gpujoin.join(table, table, how="cross", promised_rows=0, context=context)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("values, row", UNIQUE, ids=str)
def test_unique_in_batches(context, side, values, row):
    """Of either side: promised of the build, or of what is joined with it."""
    table = pa.table({"k": pa.array(values) if values else pa.array([], pa.int32())})
    sides = {side: table, "left" if side == "right" else "right": table.slice(0, 1)}
    for promise in (None, side + "_unique"):
        with gpujoin.Build(sides["right"].schema, "k", context=context, row_numbers=True) as build:
            for first, batch in enumerate(sides["right"].to_batches(max_chunksize=1)):
                build.append(batch, first)
            build.finish()
            arguments = {"how": "left", "pairs": True, "promise": promise}
            batches = sides["left"].to_reader(max_chunksize=1)
            if row is None or promise is None:
                list(build.probe(batches, **arguments))
                continue
            # Which of several is found first is open.
            again = [str(i) for i, value in enumerate(values) if value in values[:i]]
            again.append(str(row))  # NaN is not in a list by its value
            said = f"keys of {side} are not unique: .*row ({'|'.join(again)}) "
            with pytest.raises(errors.BrokenPromise, match=said):
                list(build.probe(batches, **arguments))


def test_sorted_and_rows_in_batches(context):
    table = pa.table({"k": [4, 5, 1, 2, 9, 3]})
    with gpujoin.Build(table.schema, "k", context=context) as build:
        build.append(table)
        build.finish()
        for rows in (1, 2):
            batches = table.to_batches(max_chunksize=rows)
            if rows == 1:
                list(build.probe(batches, promise="left_sorted", promised_rows=6))
                continue
            with pytest.raises(errors.BrokenPromise, match="left are not sorted: row 5 "):
                list(build.probe(batches, promise="left_sorted"))
        with pytest.raises(errors.BrokenPromise, match="promised_rows"):
            list(build.probe(table.to_batches(), promised_rows=5))
        with pytest.raises(errors.Unsupported, match="promises"):
            list(build.probe(table.to_batches(), promise="right_sorted"))
