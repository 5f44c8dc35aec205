"""The key columns of a sequence, which the library compares as they lie: casts to common types."""

from __future__ import annotations

import pyarrow as pa

from ._inputs import why_timestamps_differ
from .errors import TypeMismatch

_INTEGER_KEYS = (pa.int32(), pa.uint32(), pa.int64(), pa.uint64())


def _is_key(kind: pa.DataType) -> bool:
    """Whether the library joins sequences on a type as it stands."""
    return kind in _INTEGER_KEYS or pa.types.is_date(kind) or pa.types.is_timestamp(kind)


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
    for field in (left, right):
        kind = field.type
        if not (_is_key(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind)):
            raise TypeMismatch(
                f"column {field.name} of type {kind} cannot be a join key; "
                "keys are integers, dates or timestamps"
            )
    types = [left.type, right.type]
    for side, other in ((0, 1), (1, 0)):
        if pa.types.is_null(types[side]):
            types[side] = pa.int32() if pa.types.is_null(types[other]) else types[other]
    if all(map(pa.types.is_integer, types)):
        common = _common_key_type(*types)
        why_not = "share no type" if common is None else ""
        types = [common, common]
    elif all(map(pa.types.is_timestamp, types)):
        why_not = why_timestamps_differ(*types)
    else:
        why_not = "" if types[0] == types[1] else "are of different types; cast one of them"
    if why_not:
        raise TypeMismatch(
            f"keys {left.name} ({left.type}) and {right.name} ({right.type}) {why_not}"
        )
    return types[0], types[1]
