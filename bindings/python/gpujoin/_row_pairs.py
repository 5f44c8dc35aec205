"""Which rows of two frames match, as row numbers: what the functions for data frames join by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from ._plan import plan
from .errors import TypeMismatch, Unsupported


def row_pairs(
    left: Sequence[Any],
    right: Sequence[Any],
    how: str,
    lengths: tuple[int, int],
    **options: Any,
) -> pa.RecordBatch:
    """Columns left_row and right_row, uint32, NULL where a side has no row; of semi and anti joins
    left_row, or right_row, alone.

    left, right  Arrow arrays, the keys of each side
    lengths      the rows of each side
    options      of gpujoin.plan
    Errors: those of plan() and of Plan.execute(), but Unsupported for keys that do not compare.
    """
    inputs = [_keys_of(keys, rows) for keys, rows in zip((left, right), lengths)]
    names = [str(i) for i in range(len(left))] or None
    try:
        with plan(*inputs, names, how=how, select=[], pairs=True, **options) as made:
            with made.execute() as result:
                return result.pairs()
    except TypeMismatch as error:
        raise Unsupported(f"keys of these types are not joined: {error}") from None


def _keys_of(keys: Sequence[Any], rows: int) -> pa.Table:
    if keys:
        return pa.table(list(keys), names=[str(i) for i in range(len(keys))])
    return pa.table({"no key": pa.nulls(rows)})
