"""Key columns as other engines get them: in Arrow's types, where the engines have those.

What counts time is integers: DuckDB rounds a date64 to days, and knows no timestamp at the end of
int64's range. NULL columns have the other side's type, for which engines know a comparison.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from .case import Column

MOST_DIGITS = 38  # of a decimal that an engine has


class NoSuchType(Exception):
    """Engines have no type for a column."""


def arrow_pair(left: Column, right: Column) -> tuple[pa.Array, pa.Array]:
    """Errors: NoSuchType."""
    known = {
        i: _array(column) for i, column in enumerate((left, right)) if column.type.family != "null"
    }
    other = next((array.type for array in known.values()), pa.int32())
    columns = (left, right)
    return tuple(
        known[i] if i in known else pa.nulls(len(columns[i].values), other) for i in range(2)
    )


def array_of(column: Column) -> pa.Array:
    """A column that is no key. Errors: NoSuchType."""
    if column.type.family == "null":
        return pa.nulls(len(column.values), pa.int32())
    return _array(column)


def _array(column: Column) -> pa.Array:
    family = column.type.family
    null = None if column.valid is None else ~column.valid
    if column.type.digits:
        return _decimals(column)
    if family in ("text", "binary", "month_day_nano"):
        arrow_type = pa.string() if family == "text" else pa.binary()
        return pa.array(column.python_values(), arrow_type)
    values = column.values
    if family == "day_time":
        values = values.view(np.int64)
    elif values.dtype == np.float16:
        values = values.astype(np.float32)
    return pa.array(values, mask=null)


def _decimals(column: Column) -> pa.Array:
    scale, digits = column.type.scale, column.type.digits
    if column.values.dtype.itemsize > 16 or not 0 <= scale <= digits:
        raise NoSuchType
    data = np.ascontiguousarray(column.values)
    if data.dtype.kind != "V":
        low = data.astype(np.int64)
        data = np.stack([low, low >> 63], axis=1)
    validity = None
    if column.valid is not None:
        validity = pa.py_buffer(np.packbits(column.valid, bitorder="little"))
    buffers = [validity, pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.decimal128(digits, scale), len(column.values), buffers)


def common_decimal(left: Column, right: Column) -> tuple[int, int] | None:
    """Digits and scale of a decimal for both sides; None where there is none among them."""
    if not (left.type.digits or right.type.digits) or "null" in (
        left.type.family,
        right.type.family,
    ):
        return None
    return MOST_DIGITS, max(left.type.scale, right.type.scale)
