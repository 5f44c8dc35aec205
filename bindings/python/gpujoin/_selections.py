"""Which rows of an input a join reads: left_rows=, right_rows= and the like."""

from __future__ import annotations

import ctypes
from typing import Any

import pyarrow as pa
from pyarrow import compute

from . import _abi
from ._context import Context
from .errors import InvalidArgument

# A truth value for each row, or row numbers: arrays of pyarrow, NumPy or polars, or lists.
Rows = Any


class Selection:
    """Rows of an input, as the library takes them; it reads them where they lie.

    picked  an array of pyarrow: a truth value for each row, or row numbers
    """

    def __init__(self, rows: Rows, count: int, argument: str) -> None:
        self.picked = _array_of(rows, argument)
        kind = self.picked.type
        self.is_bitmap = pa.types.is_boolean(kind)
        if self.is_bitmap:
            if len(self.picked) != count:
                raise InvalidArgument(
                    f"{argument} has {len(self.picked)} truth values and there are {count} rows"
                )
            self.picked = compute.fill_null(self.picked, False)
            return
        if not pa.types.is_integer(kind) and not pa.types.is_null(kind):
            raise InvalidArgument(
                f"{argument} is of type {kind}; it must be truth values or row numbers"
            )
        if self.picked.null_count:
            raise InvalidArgument(f"{argument}: {self.picked.null_count} row numbers are NULL")
        if kind != pa.uint32():
            try:
                self.picked = self.picked.cast(pa.int64())
            except pa.ArrowInvalid as error:
                raise InvalidArgument(f"{argument}: {error}") from None

    def of(self, context: Context, relation: _abi.Handle) -> _abi.Handle:
        """The relation of the rows picked. What they are picked by has to outlive it."""
        data = self.picked.buffers()[1]
        address = data.address if data is not None else 0
        described = _abi.Selection(form=_abi.SELECTION_BITMAP, memory=_abi.MEMORY_HOST)
        if self.is_bitmap:
            described.first_bit = self.picked.offset
        else:
            is_narrow = self.picked.type == pa.uint32()
            described.form = _abi.SELECTION_ROWS
            described.type = _abi.TYPE_UINT32 if is_narrow else _abi.TYPE_INT64
            described.count = len(self.picked)
            address += self.picked.offset * (4 if is_narrow else 8)
        described.data = address or None
        handle = _abi.Handle("relation")
        context._call("relation_select", relation, ctypes.byref(described), handle.out)
        return handle

    def rows_of(self, table: pa.Table) -> pa.Table:
        """The rows picked."""
        return table.filter(self.picked) if self.is_bitmap else table.take(self.picked)


def _array_of(rows: Rows, argument: str) -> pa.Array:
    try:
        if hasattr(rows, "__arrow_c_stream__"):
            rows = pa.chunked_array(rows)
        if isinstance(rows, pa.ChunkedArray):
            made = pa.concat_arrays(rows.chunks) if rows.num_chunks else pa.array([], rows.type)
        elif isinstance(rows, (str, bytes)):
            raise TypeError("text")
        else:
            made = pa.array(rows)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise InvalidArgument(
            f"{argument} is a {type(rows).__name__}; it must be an array of truth values or of row "
            f"numbers: {error}"
        ) from None
    return made
