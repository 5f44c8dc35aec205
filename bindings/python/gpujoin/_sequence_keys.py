"""The key columns of a sequence, which the library compares as they lie: casts to common types."""

from __future__ import annotations

import pyarrow as pa

from ._inputs import check_comparable, key_types_of, why_types_differ

_INTEGER_KEYS = (pa.int32(), pa.uint32(), pa.int64(), pa.uint64())


def _is_key(kind: pa.DataType) -> bool:
    """Whether the library joins sequences on a type, integers after a cast to a common one."""
    return pa.types.is_integer(kind) or pa.types.is_date(kind) or pa.types.is_timestamp(kind)


def _common_key_type(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """The narrowest integer key type that holds all values of two integer types, or None."""
    for wide in _INTEGER_KEYS:
        if all(_holds(wide, narrow) for narrow in (left, right)):
            return wide
    return None


def _holds(wide: pa.DataType, narrow: pa.DataType) -> bool:
    if pa.types.is_unsigned_integer(wide):
        return pa.types.is_unsigned_integer(narrow) and narrow.bit_width <= wide.bit_width
    spare = 1 if pa.types.is_unsigned_integer(narrow) else 0
    return narrow.bit_width + spare <= wide.bit_width


def sequence_key_types(left: pa.Field, right: pa.Field) -> tuple[pa.DataType, pa.DataType]:
    """The types that two key columns of a sequence are joined as.

    Integers of different types, and of 8 and 16 bits, are widened to a common type, and a column
    of type null, all of whose rows are NULL, is one of the other's type. Everything else stays as
    it is. Errors: TypeMismatch, which names the columns.
    """
    types = key_types_of(left, right, _is_key, "integers, dates or timestamps")
    if all(map(pa.types.is_integer, types)):
        common = _common_key_type(*types)
        check_comparable(left, right, "share no type" if common is None else "")
        return common, common
    check_comparable(left, right, why_types_differ(*types))
    return types
