"""ASOF joins, held against a plain loop over all pairs of rows."""

import datetime
import math
import random
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import gpujoin
from gpujoin import Asof

KINDS = ("inner", "left", "right", "full", "left_single", "left_semi", "left_anti")
KINDS += ("right_semi", "right_anti")


def matches(left, right, keys, asof):
    """The right row of each left row that has one. Values of "t" are numbers."""
    found = {}
    places = {side: [None if t != t else t for t in table["t"]] for side, table in (("l", left), ("r", right))}
    for i, place in enumerate(places["l"]):
        before = after = None
        for j, other in enumerate(places["r"]):
            if place is None or other is None:
                continue
            if any(left[key][i] is None or left[key][i] != right[key][j] for key in keys):
                continue
            if asof.tolerance is not None and abs(place - other) > asof.tolerance:
                continue
            if other < place or (other == place and not asof.strict):
                if before is None or other >= places["r"][before]:
                    before = j
            if other > place or (other == place and not asof.strict):
                if after is None or other < places["r"][after]:
                    after = j
        if asof.direction == "backward" or (asof.direction == "nearest" and after is None):
            after = before
        elif asof.direction == "nearest" and before is not None:
            nearer = places["r"][after] - place < place - places["r"][before]
            after = after if nearer else before
        if after is not None:
            found[i] = after
    return found


def rows_of(how, left_rows, right_rows, found):
    """The row numbers of an answer."""
    pairs = list(found.items())
    left_only = [i for i in range(left_rows) if i not in found]
    right_only = [j for j in range(right_rows) if j not in found.values()]
    alone = {
        "left_semi": list(found),
        "left_anti": left_only,
        "right_semi": sorted(set(found.values())),
        "right_anti": right_only,
    }
    if how in alone:
        return [(row,) for row in alone[how]]
    if how in ("left", "left_single", "full"):
        pairs += [(row, None) for row in left_only]
    if how in ("right", "full"):
        pairs += [(None, row) for row in right_only]
    return pairs


def drawn(rng, rows, places, is_float, nulls):
    def number():
        if rng.random() < nulls:
            return None
        if is_float and rng.random() < 0.1:
            return rng.choice([math.nan, math.inf, -math.inf, -0.0])
        return float(rng.randrange(places)) / 2 if is_float else rng.randrange(-places, places)

    key = [None if rng.random() < nulls else rng.choice("abc") for _ in range(rows)]
    return {"t": [number() for _ in range(rows)], "k": key, "n": [rng.randrange(2) for _ in range(rows)]}


@pytest.mark.parametrize("seed", range(40))
def test_every_kind(context, seed):
    rng = random.Random(seed)
    is_float = seed % 3 == 0
    sides = [
        drawn(rng, rng.choice([0, 1, 40]), rng.choice([1, 5, 100]), is_float, rng.choice([0, 0.2]))
        for _ in range(2)
    ]
    if seed % 2 == 0:
        for side in sides:
            side["t"].sort(key=lambda t: (t is None, t != t, t if t is not None and t == t else 0))
    keys = [[], ["k"], ["k", "n"]][seed % 5 % 3]
    tolerance = rng.choice([None, 0, 2])
    asof = Asof("t", None, rng.choice(["backward", "forward", "nearest"]), rng.random() < 0.5, tolerance)
    types = {"t": pa.float64() if is_float else pa.int64(), "k": pa.string(), "n": pa.int32()}
    tables = [
        pa.table({name: pa.array(values, types[name]) for name, values in side.items()})
        for side in sides
    ]
    found = matches(*sides, keys, asof)
    for how in KINDS:
        result = gpujoin.join(
            *tables, keys or None, how=how, asof=asof, select=[], pairs=True, context=context
        )
        answer = list(zip(*(column.to_pylist() for column in result.to_table().columns)))
        expected = rows_of(how, *(len(side["t"]) for side in sides), found)
        assert sorted(answer, key=str) == sorted(expected, key=str), how


def test_columns_text_and_pages(context):
    left = pa.table({"t": [5, 1, 9], "name": ["e", "a", "i"], "flag": [True, None, False]})
    right = pa.table({"t": [8, 0, 5], "name": ["eight", None, "five"], "x": [8.0, 0.0, 5.0]})
    result = gpujoin.join(left, right, asof=Asof("t", strict=True), how="left", context=context)
    assert result.schema.names == ["t", "name", "flag", "t_right", "name_right", "x"]
    table = pa.Table.from_batches(list(result.pages(1)))
    assert sorted(table.to_pylist(), key=lambda row: row["t"]) == [
        {"t": 1, "name": "a", "flag": None, "t_right": 0, "name_right": None, "x": 0.0},
        {"t": 5, "name": "e", "flag": True, "t_right": 0, "name_right": None, "x": 0.0},
        {"t": 9, "name": "i", "flag": False, "t_right": 8, "name_right": "eight", "x": 8.0},
    ]


def times(unit):
    return pa.array([0, 10, 20], pa.int64()).cast(pa.timestamp(unit))


def tables(left, right):
    return pa.table({"t": left}), pa.table({"u": right})


@pytest.mark.parametrize(
    "tolerance, rows",
    [
        (datetime.timedelta(microseconds=4), 0),
        (datetime.timedelta(microseconds=5), 3),
        (np.timedelta64(4999, "ns"), 0),
        (np.timedelta64(5, "us"), 3),
        (4999, 0),
        (np.int64(5000), 3),
        (None, 3),
    ],
)
def test_tolerance_in_time(context, tolerance, rows):
    left, right = tables(times("us"), pa.array([5000, 15000, 25000]).cast(pa.timestamp("ns")))
    asof = Asof("t", "u", "forward", tolerance=tolerance)
    assert gpujoin.join(left, right, asof=asof, context=context).num_rows == rows


def test_tolerance_of_decimals(context):
    left, right = tables(
        pa.array([Decimal("1.5"), Decimal("2.0")], pa.decimal128(10, 1)),
        pa.array([Decimal("1.47"), Decimal("1.99")], pa.decimal64(10, 2)),
    )
    for tolerance, rows in ((Decimal("0.009"), 0), (Decimal("0.01"), 1), (Decimal("0.031"), 2), (3, 2)):
        asof = Asof("t", "u", tolerance=tolerance)
        assert gpujoin.join(left, right, asof=asof, context=context).num_rows == rows


@pytest.mark.parametrize(
    "asof, word",
    [
        ("t", "gpujoin.Asof"),
        (Asof("x"), "asof.on: left has no column 'x'"),
        (Asof("t", "x"), "asof.right_on: right has no column 'x'"),
        (Asof("t", "u", "up"), "asof.direction"),
        (Asof("t", "u", strict=1), "asof.strict"),
        (Asof("t", "u", tolerance=-1), "asof.tolerance"),
        (Asof("t", "u", tolerance=0.5), "asof.tolerance"),
        (Asof("t", "u", tolerance=datetime.timedelta(1)), "count no time"),
        (Asof("t", "u", tolerance=Decimal(1)), "no decimals"),
    ],
)
def test_wrong_arguments(asof, word):
    with pytest.raises(gpujoin.InvalidArgument, match=word):
        gpujoin.join(*tables([1], [2]), asof=asof)


def test_what_does_not_go_together():
    left, right = tables([1], [2])
    asof = Asof("t", "u")
    with pytest.raises(gpujoin.TypeMismatch, match="have no order"):
        gpujoin.join(left, pa.table({"u": ["x"]}), asof=asof)
    for how in ("mark", "not_in", "right_single"):
        with pytest.raises(gpujoin.Unsupported, match="asof"):
            gpujoin.join(left, right, asof=asof, how=how)
    with pytest.raises(gpujoin.Unsupported, match="residual"):
        gpujoin.join(left, right, asof=asof, where="left.t < right.u")
    with pytest.raises(gpujoin.IllegalPlan, match="ASOF"):
        gpujoin.join(left, right, asof=asof, algorithm="nop")


def test_plan_is_executed_again_and_explained(context):
    left, right = tables([1, 5], [2, 4])
    with gpujoin.plan(left, right, asof=Asof("t", "u"), context=context) as plan:
        assert "asof" in plan.explain()
        for _ in range(2):
            result = plan.execute()
            assert result.to_table().to_pydict() == {"t": [5], "u": [4]}
            assert result.statistics.plan.startswith("asof")
