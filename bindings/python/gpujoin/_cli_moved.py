"""Columns as the command line moves them through a join: few values as codes, numbers as narrow
integers.

A join keeps each value of the build side, and copies each of its output. Texts of which there are
few, such as a status, are 4 bytes each then, and written as the dictionary that they were read
from; decimals of up to 18 digits, and integers, are as wide as the statistics of the files say that
they have to be.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

# Beyond it a file would have them all in each of its parts.
_MOST_VALUES = 1 << 15


class Plain:
    """A column that is moved as it is."""

    def __init__(self, kind: pa.DataType) -> None:
        self.type = self.written_type = self.moved_type = kind

    def moved(self, array: pa.Array) -> pa.Array:
        """As the join takes it."""
        return array

    def written(self, array: pa.Array) -> pa.Array:
        """Of what the join gave, as a Parquet file takes it."""
        return array if array.type == self.written_type else array.cast(self.written_type)

    def values(self, array: pa.Array) -> pa.Array:
        """Of what the join gave, the values of the input's type."""
        return array if array.type == self.type else array.cast(self.type)


class PlainText(Plain):
    """Text or binary that is not repeated: its views are no type that joins of batches put out."""

    def __init__(self, kind: pa.DataType) -> None:
        super().__init__(kind)
        self.written_type = {pa.string_view(): pa.large_string()}.get(
            kind, pa.large_binary() if kind == pa.binary_view() else kind
        )


class Integers(Plain):
    """Integers that a narrower type holds: what the file says of them, every value is held to.

    narrow  that type
    """

    def __init__(self, kind: pa.DataType, narrow: pa.DataType) -> None:
        super().__init__(kind)
        self.moved_type = narrow

    def moved(self, array: pa.Array) -> pa.Array:
        return array.cast(self.moved_type)


class Decimals(Integers):
    """Decimals of up to 18 digits, as integers."""

    def __init__(self, kind: pa.DataType, narrow: pa.DataType) -> None:
        super().__init__(kind, narrow)
        has_narrow = hasattr(pa, "decimal64")
        self.written_type = pa.decimal64(kind.precision, kind.scale) if has_narrow else kind

    def moved(self, array: pa.Array) -> pa.Array:
        words = np.frombuffer(array.buffers()[1], np.int64) if len(array) else np.empty(0, np.int64)
        end = 2 * (array.offset + len(array))
        lower = words[2 * array.offset : end : 2].copy()
        if array.null_count:
            numbers = pa.array(lower, mask=array.is_null().to_numpy(zero_copy_only=False))
        else:
            numbers = pa.Array.from_buffers(pa.int64(), len(lower), [None, pa.py_buffer(lower)])
        return numbers.cast(self.moved_type)

    def written(self, array: pa.Array) -> pa.Array:
        if self.written_type == self.type:
            return self.values(array)
        wide = array.cast(pa.int64())
        return pa.Array.from_buffers(
            self.written_type, len(wide), wide.buffers(), wide.null_count, wide.offset
        )

    def values(self, array: pa.Array) -> pa.Array:
        wide = array.cast(pa.int64())
        numbers = np.zeros(0, np.int64)
        if len(wide):
            numbers = np.frombuffer(wide.buffers()[1], np.int64)[wide.offset :][: len(wide)]
        pairs = np.empty((len(wide), 2), np.int64)
        pairs[:, 0] = numbers
        pairs[:, 1] = numbers >> 63
        made = pa.Array.from_buffers(self.type, len(wide), [None, pa.py_buffer(pairs)])
        if not wide.null_count:
            return made
        return pc.if_else(wide.is_valid(), made, pa.scalar(None, self.type))


class Codes(Plain):
    """Values of which there are few, as positions in the one dictionary that all batches share."""

    def __init__(self, kind: pa.DataType) -> None:
        super().__init__(kind)
        self.moved_type = pa.int32()
        value_type = kind.value_type if pa.types.is_dictionary(kind) else kind
        self._value_type = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}.get(
            value_type, value_type
        )
        self.written_type = pa.dictionary(pa.int32(), self._value_type)
        if pa.types.is_dictionary(kind) and kind.index_type.bit_width < 32:
            self.type = pa.dictionary(pa.int32(), value_type, kind.ordered)
        self._values = pa.array([], self._value_type)
        self._lock = threading.Lock()

    def moved(self, array: pa.Array) -> pa.Array:
        if not pa.types.is_dictionary(array.type):
            array = array.dictionary_encode()
        values = array.dictionary
        if values.type != self._value_type:
            values = values.cast(self._value_type)
        codes = self._codes_of(values)
        return codes.take(array.indices)

    def _codes_of(self, values: pa.Array) -> pa.Array:
        with self._lock:
            found = pc.index_in(values, value_set=self._values)
            if found.null_count:
                new = pc.unique(values.filter(found.is_null()).drop_null())
                self._values = pa.concat_arrays([self._values, new])
                found = pc.index_in(values, value_set=self._values)
            return found

    def written(self, array: pa.Array) -> pa.Array:
        values = self._values
        if len(values) > _MOST_VALUES:
            used = pc.unique(array.drop_null())
            array = pc.index_in(array, value_set=used)
            values = values.take(used)
        return pa.DictionaryArray.from_arrays(array, values)

    def values(self, array: pa.Array) -> pa.Array:
        if pa.types.is_dictionary(self.type):
            made = pa.DictionaryArray.from_arrays(array, self._values)
            return made if made.type == self.type else made.cast(self.type)
        made = self._values.take(array)
        return made if made.type == self.type else made.cast(self.type)


def is_coded(kind: pa.DataType) -> bool:
    """Whether values of a type may be moved as codes."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    tests: tuple[Any, ...] = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary)
    tests += (pa.types.is_large_binary, pa.types.is_string_view, pa.types.is_binary_view)
    return any(test(kind) for test in tests)


def narrowest(least: int, greatest: int) -> pa.DataType:
    """The narrowest signed integers that hold both."""
    for kind, bits in ((pa.int8(), 7), (pa.int16(), 15), (pa.int32(), 31)):
        if -(1 << bits) <= least and greatest < 1 << bits:
            return kind
    return pa.int64()


def is_narrowed(kind: pa.DataType) -> bool:
    """Whether values of a type may be moved as narrower integers."""
    is_short = pa.types.is_decimal128(kind) and kind.precision <= 18
    return is_short or (pa.types.is_signed_integer(kind) and kind.bit_width > 8)


def moved_column(
    kind: pa.DataType, is_repetitive: bool, range: tuple[int, int] | None
) -> Plain:
    """How a column is moved whose values no join looks at.

    range  its least and greatest value, of decimals without the point; None = not known
    """
    if is_coded(kind) and (is_repetitive or pa.types.is_dictionary(kind)):
        return Codes(kind)
    if is_narrowed(kind):
        narrow = pa.int64() if range is None else narrowest(*range)
        if pa.types.is_decimal128(kind):
            return Decimals(kind, narrow)
        if narrow.bit_width < kind.bit_width:
            return Integers(kind, narrow)
    return PlainText(kind)
