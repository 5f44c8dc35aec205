"""aggregate()."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ._condition import Where
from ._context import Context
from ._keys import OfKeys
from ._plan import plan
from ._result import Result


def aggregate(
    left: Any,
    right: Any,
    on: str | Sequence[str] | None = None,
    right_on: str | Sequence[str] | None = None,
    *,
    aggregates: Mapping[str, Any],
    by: str | None = None,
    left_on: str | Sequence[str] | None = None,
    how: str = "inner",
    where: Where | None = None,
    null_equal: OfKeys = False,
    ieee_float: OfKeys = False,
    select: Sequence[str] | None = None,
    pairs: bool = False,
    validate: str | None = None,
    context: Context | None = None,
    device: str | None = None,
    algorithm: str | None = None,
    transform: str | None = None,
    match: str | None = None,
    gather: str | None = None,
    build_side: str | None = None,
    radix_bits: int | None = None,
    transfer: str | None = None,
    filter: str | None = None,
    skew: str | None = None,
    output: str | None = None,
    passes: int | None = None,
    page_pairs: int | None = None,
    probe_chunk_rows: int | None = None,
    timeout: float | None = None,
) -> Result:
    """Aggregates over the rows of a join, without its rows.

    aggregates   a name and an aggregate each: "count" (rows), "exists" (whether there is one), or a
                 function, a side and a column of it: ("sum", "right", "price"), also as a text,
                 "sum(right.price)". Functions:
                   count    rows in which the column is not NULL
                   sum      exact; int64, uint64 of unsigned integers, decimal128(38) of decimals,
                            float64. EvaluationError when the type does not hold the total
                   avg      float64, of integers and decimals the exact quotient, rounded once
                   min, max the column's type; text by its bytes, NaN above all else
                   any      one of the values, of any type
                 sum, avg, min, max, any are NULL where all values are
    by           None = all rows are one group, which is there even if they are none; "left",
                 "right" = a group for each row of that side that comes out: of inner those with a
                 match, of an outer join of that side all; first come the columns of that side, or
                 those that select names. With pairs=True the row's number comes before them
    others       those of plan()

    A row without a match of an outer join counts, and its other columns are NULL; exists is false
    in its group.

    aggregate(orders, lines, "o_orderkey", "l_orderkey", by="left", how="left", select=["o_orderkey"],
              aggregates={"n": ("count", "right", "l_orderkey"), "total": "sum(right.l_price)"})
    """
    with plan(**locals()) as planned:
        return planned.execute()
