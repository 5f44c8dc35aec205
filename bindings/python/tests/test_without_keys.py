"""Joins by a condition alone, of every kind, against every pair of rows in plain Python."""

import math
import random
from collections import Counter
from datetime import date, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest
from tables import rows

import gpujoin
from gpujoin._kinds import KINDS

KINDS_OF_CONDITIONS = [name for name, kind in KINDS.items() if name != "cross"]


def less(a, b):
    """a < b, of three values; NaN is above all else."""
    if a is None or b is None:
        return None
    if isinstance(a, float) and math.isnan(a):
        return False
    return True if isinstance(b, float) and math.isnan(b) else a < b


def no(a):
    return None if a is None else not a


def least(a, b):
    return no(less(b, a))


def both(*parts):
    if False in parts:
        return False
    return None if None in parts else True


def either(*parts):
    return no(both(*map(no, parts)))


def between(x, low, high):
    return both(least(low, x), least(x, high))


def plus(a, b):
    return None if None in (a, b) else a + b


# Text, and what it says of a left and a right row.
CONDITIONS = {
    "left.a < right.lo": lambda r, s: less(r["a"], s["lo"]),
    "left.a <= right.lo": lambda r, s: least(r["a"], s["lo"]),
    "left.a > right.hi": lambda r, s: less(s["hi"], r["a"]),
    "right.hi <= left.a": lambda r, s: least(s["hi"], r["a"]),
    "left.a between right.lo and right.hi": lambda r, s: between(r["a"], s["lo"], s["hi"]),
    "right.lo between left.a and left.b": lambda r, s: between(s["lo"], r["a"], r["b"]),
    "left.a < right.hi and right.lo < left.b": lambda r, s: both(
        less(r["a"], s["hi"]), less(s["lo"], r["b"])
    ),
    "left.a >= right.lo and left.b > right.hi and left.n <> right.m": lambda r, s: both(
        least(s["lo"], r["a"]),
        less(s["hi"], r["b"]),
        None if None in (r["n"], s["m"]) else r["n"] != s["m"],
    ),
    "left.a = right.lo and left.b >= right.hi": lambda r, s: both(
        no(either(less(r["a"], s["lo"]), less(s["lo"], r["a"]))), least(s["hi"], r["b"])
    ),
    "left.a < right.lo and left.a < right.hi": lambda r, s: both(
        less(r["a"], s["lo"]), less(r["a"], s["hi"])
    ),
    "left.a < right.lo and left.n + right.m < 9": lambda r, s: both(
        less(r["a"], s["lo"]), less(plus(r["n"], s["m"]), 9)
    ),
    "left.a < right.lo or left.b > right.hi": lambda r, s: either(
        less(r["a"], s["lo"]), less(s["hi"], r["b"])
    ),
    "left.n + right.m = 7": lambda r, s: None if None in (r["n"], s["m"]) else r["n"] + s["m"] == 7,
    "left.t < right.t": lambda r, s: less(r["t"], s["t"]),
    "left.a is null": lambda r, s: r["a"] is None,
    "right.m > 2": lambda r, s: less(2, s["m"]),
}

DAY = date(2020, 1, 1)
# Types of the columns that are held against each other, and values for both sides.
TYPES = {
    "integers": ((pa.int64(), pa.int32()), (lambda n: n, lambda n: n)),
    "floats": (
        (pa.float64(), pa.float32()),
        (lambda n: math.nan if n > 26 else n / 2, lambda n: -math.inf if n < 3 else n / 2),
    ),
    "dates": (
        (pa.timestamp("us"), pa.date32()),
        (
            lambda n: datetime(2020, 1, 1) + timedelta(hours=12 * n),
            lambda n: DAY + timedelta(days=n // 2),
        ),
    ),
    "decimals": (
        (pa.decimal128(10, 2), pa.decimal128(38, 4)),
        (lambda n: Decimal(n) / 4, lambda n: Decimal(n) / 4),
    ),
}


def comparable(value):
    """Dates as the timestamps that they are compared as."""
    is_date = isinstance(value, date) and not isinstance(value, datetime)
    return datetime(value.year, value.month, value.day) if is_date else value


def side(names, kind, value, count, seed, nulls):
    pick = random.Random(seed)

    def column(values, of_type):
        return pa.array([None if pick.random() < nulls else v for v in values], of_type)

    starts = [pick.randrange(30) for _ in range(count)]
    ends = [start + pick.randrange(-1, 6) for start in starts]
    return pa.table(
        {
            names[0]: column(map(value, starts), kind),
            names[1]: column(map(value, ends), kind),
            names[2]: column([pick.randrange(8) for _ in range(count)], pa.int32()),
            "t": column([pick.choice(["", "a", "ab", "b\0", "b"]) for _ in range(count)], pa.utf8()),
        }
    )


def sides(types, left_rows, right_rows, seed, nulls):
    (left_type, right_type), (left_value, right_value) = TYPES[types]
    left = side("abn", left_type, left_value, left_rows, seed, nulls)
    right = side(("lo", "hi", "m"), right_type, right_value, right_rows, seed + 1, nulls)
    return left, right


def rows_of(table):
    return [{k: comparable(v) for k, v in row.items()} for row in table.to_pylist()]


def reference(left, right, condition, how):
    """(left row or None, right row or None, mark) of every output row."""
    answers = [[condition(r, s) for s in rows_of(right)] for r in rows_of(left)]
    pairs = [(i, j, None) for i, row in enumerate(answers) for j, a in enumerate(row) if a]
    if how == "inner":
        return pairs
    by_row = {"left": answers, "right": [list(c) for c in zip(*answers)]}
    counts = {"left": left.num_rows, "right": right.num_rows}
    side, _, rest = how.partition("_")
    sides = ("left", "right") if side == "full" else (side,)

    def alone(of_side, row, mark=None):
        return (row, None, mark) if of_side == "left" else (None, row, mark)

    output = [] if rest in ("semi", "anti", "mark", "not_in") else pairs
    for of_side in sides:
        for row in range(counts[of_side]):
            given = by_row[of_side][row] if by_row[of_side] else []
            if rest == "single" and given.count(True) > 1:
                raise LookupError(row)
            mark = True if True in given else None if None in given else False
            is_out = {"semi": mark is True, "mark": True, "not_in": mark is False}
            if is_out.get(rest, mark is not True):
                output = [*output, alone(of_side, row, mark if rest == "mark" else None)]
    return output


def text_of(table):
    """Rows in which NaN is equal to NaN."""
    return Counter(map(str, rows(table).elements()))


def check(left, right, text, how, context):
    kind = KINDS[how]
    condition = CONDITIONS[text]
    names = [f"{s}_row" for s in kind.sides]

    def join(**named):
        return gpujoin.join(left, right, how=how, where=text, context=context, **named)

    try:
        wanted = reference(left, right, condition, how)
    except LookupError:
        with pytest.raises(gpujoin.SeveralMatches, match="row [0-9]+ has more than one match"):
            join(pairs=True)
        return
    found = join(pairs=True).to_table()
    found.validate(full=True)
    columns = [found[name].to_pylist() for name in names]
    got = Counter(zip(*columns, *([found["mark"].to_pylist()] if kind.has_mark else [])))
    expected = Counter()
    for left_row, right_row, mark in wanted:
        numbers = {"left": left_row, "right": right_row}
        row = tuple(numbers[s] for s in kind.sides)
        expected[(*row, mark) if kind.has_mark else row] += 1
    assert got == expected
    # Columns alone are those of the same rows.
    values = join().to_table()
    assert text_of(values) == text_of(found.select(values.schema.names))


SIZES = [(0, 0), (0, 5), (5, 0), (1, 1), (1, 40), (40, 1), (60, 45)]


@pytest.mark.parametrize("text", CONDITIONS)
@pytest.mark.parametrize("how", KINDS_OF_CONDITIONS)
def test_against_every_pair(context, how, text):
    for seed, (left_rows, right_rows) in enumerate(SIZES):
        for nulls in (0, 0.2):
            check(*sides("integers", left_rows, right_rows, seed, nulls), text, how, context)


@pytest.mark.parametrize("text", list(CONDITIONS)[:10])
@pytest.mark.parametrize("types", [name for name in TYPES if name != "integers"])
def test_of_other_types(context, types, text):
    for how in ("inner", "left_anti", "right_mark"):
        for nulls in (0, 0.2, 1):
            check(*sides(types, 50, 40, 5, nulls), text, how, context)


def test_against_duckdb(context):
    duckdb = pytest.importorskip("duckdb")
    left, right = sides("integers", 700, 600, 9, 0.1)
    con = duckdb.connect()
    con.register("l", left)
    con.register("r", right)
    for text in list(CONDITIONS)[4:8]:
        sql = text.replace("left.", "l.").replace("right.", "r.")
        wanted = con.sql(f"select * from l join r on {sql}").to_arrow_table()
        found = gpujoin.join(left, right, where=text, context=context).to_table()
        assert found.num_rows == wanted.num_rows > 100
        assert rows(found) == rows(wanted.rename_columns(found.schema.names))


def test_the_plan_says_how(context):
    left, right = sides("integers", 5000, 4000, 3, 0)
    for text, words in {
        "left.a < right.lo": "range join on left.a < right.lo: expected ",
        "left.a between right.lo and right.hi": (
            "range join on left.a >= right.lo and left.a <= right.hi: expected "
        ),
        "left.a < right.hi and right.lo < left.b": "range join of two orders on left.a < right.hi",
        "left.n + right.m = 7": "nested loop: no inequality of two columns to find pairs by: 20000",
    }.items():
        plan = gpujoin.plan(left, right, where=text, context=context)
        assert words in plan.explain()
        assert " ms" in plan.explain().splitlines()[-1]
        assert plan.execute().num_rows > 0


def test_no_technique_can_be_named(context):
    left, right = sides("integers", 5, 4, 3, 0)
    with pytest.raises(gpujoin.IllegalPlan, match="no technique can be named"):
        gpujoin.join(left, right, where="left.a < right.lo", algorithm="nop", context=context)


def test_no_value_ends_the_join_where_the_answer_depends_on_it(context):
    left = pa.table({"a": pa.array([1, None], pa.int32()), "n": pa.array([0, 0], pa.int32())})
    right = pa.table({"lo": pa.array([0], pa.int32()), "m": pa.array([1], pa.int32())})
    text = "left.a < right.lo and right.m % left.n = 0"
    # False AND no value is false; NULL AND no value is none.
    found = gpujoin.join(left.slice(0, 1), right, where=text, context=context)
    assert found.num_rows == 0
    with pytest.raises(gpujoin.GpujoinError, match="division by zero"):
        gpujoin.join(left, right, where=text, context=context)


def test_many_pairs_that_nobody_keeps(context):
    """4 * 10^8 pairs fulfil the condition, and a semi join looks for one of each row."""
    count = 20000
    left = pa.table({"a": pa.array(range(count), pa.int32())})
    right = pa.table({"b": pa.array(range(count, 2 * count), pa.int32())})
    for text in ("left.a < right.b", "left.a < right.b and left.a * 2 >= 0"):
        for how, wanted in (("left_semi", count), ("left_anti", 0), ("right_semi", count)):
            found = gpujoin.join(left, right, how=how, where=text, context=context)
            assert found.num_rows == wanted
    with pytest.raises(gpujoin.SeveralMatches):
        gpujoin.join(left, right, how="left_single", where="left.a < right.b", context=context)
