"""The queries that compare_queries.py times: tables of two sides, the call and its SQL.

In SQL the left side is r, the right one s. Output columns are named, and numbers that fit 8 bytes.
"""

import dataclasses
import importlib
import itertools
from collections.abc import Callable
from typing import Any

import duckdb
import numpy
import polars
import pyarrow
from join_cases import SWAPPED

ROWS_A_KEY = 4  # of joins with a condition beside equal keys


@dataclasses.dataclass
class Query:
    """sql: ways to say it, by their names."""

    name: str
    left: pyarrow.Table
    right: pyarrow.Table
    call: dict[str, Any]
    sql: dict[str, str]
    columns: tuple[str, ...]
    calls: int = 1  # of one measurement

    def words(self):
        """How gpujoin.plan is called, besides the tables."""
        return self.call

    def queries(self):
        """(its name, SQL, whether the planner makes the same of it as of another one)."""
        return [(label, query, label == "right, left") for label, query in self.sql.items()]

    def expected(self):
        """What DuckDB answers by default."""
        with duckdb.connect() as connection:
            connection.register("r", self.left)
            connection.register("s", self.right)
            query = next(iter(self.sql.values()))
            return rows_and_checksum(connection.sql(query).to_arrow_table(), self)


def rows_and_checksum(output, case):
    """The checksum is the sum over all rows, in whatever order, of a hash of their columns."""
    frame = polars.from_arrow(output)
    chosen = [polars.col(name).cast(polars.Int64) for name in case.columns]
    hashes = frame.select(chosen).hash_rows(seed=1).to_numpy()
    return len(hashes), f"{int(hashes.sum(dtype=numpy.uint64)):016x}"


def both_orders(columns, how, condition):
    """{name: SQL} of a join in each order of its sides."""
    chosen = f"select {', '.join(columns)} from"
    made = {"left, right": f"{chosen} r {how} join s on {condition}"}
    if how in SWAPPED:
        made["right, left"] = f"{chosen} s {SWAPPED[how]} join r on {condition}"
    return made


def int32(values):
    return pyarrow.array(values.astype(numpy.int32))


def joined(name, tables, call, how, condition, columns):
    """A query whose rows are those of a join."""
    call = {**call, "how": how, "select": columns}
    return Query(name, *tables, call, both_orders(columns, how, condition), columns)


def with_condition(name, how, rows):
    """Half of the pairs with equal keys fulfil it."""
    random = numpy.random.default_rng(30)
    keys = numpy.repeat(numpy.arange(rows // ROWS_A_KEY), ROWS_A_KEY)
    tables = [
        pyarrow.table(
            {"k": int32(random.permutation(keys)), payload: int32(random.integers(0, 1 << 30, rows))}
        )
        for payload in "ab"
    ]
    columns = ("k", "a") if how in ("semi", "anti") else ("r.k", "a", "b")
    query = joined(
        name, tables, {"on": "k", "where": "left.a < right.b"}, how, "r.k = s.k and a < b", columns
    )
    return with_names(query)


def with_names(query):
    """r.k is called k in the output."""
    query.columns = tuple(name.removeprefix("r.") for name in query.columns)
    query.call["select"] = query.columns
    return query


def numbered(rows, name, **columns):
    return pyarrow.table({**columns, name: int32(numpy.arange(rows))})


def one_inequality(name, rows):
    """Half of all pairs come out."""
    random = numpy.random.default_rng(31)
    tables = [
        numbered(count, number, **{value: int32(random.integers(0, 1 << 30, count))})
        for count, number, value in zip(rows, "xy", "ab")
    ]
    return joined(name, tables, {"where": "left.a < right.b"}, "inner", "a < b", ("x", "y"))


def between(name, how, rows, pairs):
    """Values in bands, `pairs` in all."""
    random = numpy.random.default_rng(32)
    span = 1 << 30
    low = random.integers(0, span, rows[1])
    width = int(span * pairs / (rows[0] * rows[1]))
    left = numbered(rows[0], "x", v=int32(random.integers(0, span, rows[0])))
    right = numbered(rows[1], "y", low=int32(low), high=int32(low + width - 1))
    where = "left.v between right.low and right.high"
    columns = ("x", "y") if how == "inner" else ("x",)
    return joined(name, (left, right), {"where": where}, how, "v between low and high", columns)


def overlapping(name, rows, pairs):
    """Intervals that overlap others."""
    random = numpy.random.default_rng(33)
    span = 1 << 30
    width = int(span * pairs / (2 * rows * rows))
    tables = []
    for number, low, high in (("x", "a", "b"), ("y", "c", "d")):
        lows = random.integers(0, span, rows)
        highs = lows + random.integers(0, 2 * width + 1, rows)
        tables.append(numbered(rows, number, **{low: int32(lows), high: int32(highs)}))
    where = "left.a <= right.d and left.b >= right.c"
    return joined(name, tables, {"where": where}, "inner", "a <= d and b >= c", ("x", "y"))


def two_orders(name, how, rows, pairs):
    """Two inequalities of values that follow each other, so that `pairs` fulfil both."""
    random = numpy.random.default_rng(34)
    span = 1 << 30
    off = int(span * pairs / (rows * rows))
    a, c = random.integers(0, span, rows), random.integers(0, span, rows)
    # a < c, and a + some > c + some: c lies up to 2 * off behind a.
    left = numbered(rows, "x", a=int32(a), b=int32(a + random.integers(0, 2 * off + 1, rows)))
    right = numbered(rows, "y", c=int32(c), d=int32(c))
    where = "left.a < right.c and left.b > right.d"
    columns = ("x", "y") if how == "inner" else ("x",)
    return joined(name, (left, right), {"where": where}, how, "a < c and b > d", columns)


def next_row(name, rows, is_sorted, keys=0, direction="backward"):
    """Places of right are unique, so that there is one answer."""
    random = numpy.random.default_rng(35)
    tables = []
    for count, payload in zip(rows, "xy"):
        # Right places are even and left ones odd: of two neighbours one is the nearer.
        places = random.permutation(2 * max(rows))[:count].astype(numpy.int64) * 4 + (payload == "x")
        if is_sorted:
            places.sort()
        columns = {"t": places}
        if keys:
            columns["k"] = random.integers(0, keys, count, dtype=numpy.int32)
        tables.append(numbered(count, payload, **columns))
    gpujoin = importlib.import_module("gpujoin")
    call = {"asof": gpujoin.Asof("t", direction=direction), "select": ("x", "y")}
    if keys:
        call["on"] = "k"
    equal = "r.k = s.k and " if keys else ""
    sql = {"left, right": f"select x, y from r asof join s on {equal}r.t >= s.t"}
    if direction == "nearest":
        call["how"] = "left"
        nearer = "b.t is null or f.t - r.t < r.t - b.t"
        sql["left, right"] = (
            f"select x, case when {nearer} then f.y else b.y end as y "
            "from r asof left join s b on r.t >= b.t asof left join s f on r.t <= f.t"
        )
    return Query(name, *tables, call, sql, ("x", "y"))


def added(name, rows, by, selects=None):
    """Keys of left are unique."""
    random = numpy.random.default_rng(36)
    left = numbered(
        rows[0], "i", k=int32(random.permutation(rows[0])), x=int32(random.integers(0, 1000, rows[0]))
    )
    right = pyarrow.table(
        {"k": int32(random.integers(0, rows[0], rows[1])), "y": int32(random.integers(0, 1000, rows[1]))}
    )
    totals = {"n": "count", "total": "sum(right.y)"}
    call = {"on": "k", "aggregates": totals, "by": by, "select": ["i"] if by else None}
    of_pairs = "count(*) as n, sum(y)::bigint as total from"
    of_keys = "(select k, count(*) as n, sum(y) as total from s group by k) s using (k)"
    if by is None:
        sql = {
            "left, right": f"select {of_pairs} r join s using (k)",
            "right, left": f"select {of_pairs} s join r using (k)",
            "keys first": f"select sum(n)::bigint as n, sum(total)::bigint as total from r join {of_keys}",
        }
        return Query(name, left, right, call, sql, ("n", "total"))
    sql = {
        "left, right": f"select i, {of_pairs} r join s using (k) group by i",
        "right, left": f"select i, {of_pairs} s join r using (k) group by i",
        "keys first": f"select i, n, total::bigint as total from r join {of_keys}",
    }
    return Query(name, left, right, call, sql, ("i", "n", "total"))


def picked(name, rows, share):
    """Keys of left are unique; `share` of the rows of both sides are read."""
    random = numpy.random.default_rng(37)
    left = pyarrow.table(
        {
            "k": int32(random.permutation(rows[0])),
            "a": int32(random.integers(0, 1 << 30, rows[0])),
            "p": random.random(rows[0]) < share,
        }
    )
    right = pyarrow.table(
        {
            "k": int32(random.integers(0, rows[0], rows[1])),
            "b": int32(random.integers(0, 1 << 30, rows[1])),
            "q": random.random(rows[1]) < share,
        }
    )
    call = {"on": "k", "left_rows": left["p"], "right_rows": right["q"]}
    condition = "r.k = s.k where p and q"
    return with_names(joined(name, (left, right), call, "inner", condition, ("r.k", "a", "b")))


def all_cases(scale) -> list[tuple[str, Callable[[], Query]]]:
    """(name, what makes it); of 2^scale times the rows."""

    def rows(*powers):
        found = tuple(1 << power + scale for power in powers)
        return found[0] if len(found) == 1 else found

    made: list[tuple[str, Callable[[], Query]]] = []

    def add(name, make, *arguments, **words):
        made.append((name, lambda: make(name, *arguments, **words)))

    for how in ("inner", "left", "semi", "anti"):
        add(f"condition, {how}", with_condition, how, rows(21))
    add("one inequality", one_inequality, rows(13, 13))
    add("between bounds", between, "inner", rows(20, 14), rows(20))
    add("between bounds, 20 pairs a row", between, "inner", rows(17, 17), 20 * rows(17))
    add("between bounds, semi", between, "semi", rows(20, 14), rows(19))
    add("intervals that overlap", overlapping, rows(17), rows(18))
    for how in ("inner", "semi"):
        add(f"two orders, {how}", two_orders, how, rows(20), rows(20))
    for is_sorted, keys in itertools.product((True, False), (0, 1000)):
        order, by_key = ("sorted" if is_sorted else "any order"), ", 1000 keys" * bool(keys)
        add(f"next row, {order}{by_key}", next_row, rows(20, 22), is_sorted, keys)
    for is_sorted in (True, False):
        name = f"nearest row, {'sorted' if is_sorted else 'any order'}"
        add(name, next_row, rows(20, 22), is_sorted, direction="nearest")
    add("count and sum", added, rows(20, 22), None)
    add("count and sum by left row", added, rows(20, 22), "left")
    add("10 % of both sides", picked, rows(22, 22), 0.1)
    add("10 % of both sides, small left", picked, rows(20, 23), 0.1)
    return made
