"""The types of gpujoin.h: how they lie in memory, and what Arrow calls them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class ColumnType:
    """name     as text cases write it
    number   GPUJOIN_TYPE_*
    dtype    of numpy, for the bytes in memory
    formats  of Arrow; the library takes each for this type
    """

    name: str
    number: int
    dtype: np.dtype
    formats: tuple[str, ...]

    @property
    def width(self) -> int:
        return self.dtype.itemsize

    @property
    def is_float(self) -> bool:
        return self.dtype.kind == "f"


def _type(name: str, number: int, dtype: str, *formats: str) -> ColumnType:
    return ColumnType(name, number, np.dtype(dtype), formats)


TYPES = {
    kind.name: kind
    for kind in (
        _type("int8", 1, "i1", "c"),
        _type("int16", 2, "i2", "s"),
        _type("int32", 3, "i4", "i"),
        _type("int64", 4, "i8", "l"),
        _type("uint8", 5, "u1", "C"),
        _type("uint16", 6, "u2", "S"),
        _type("uint32", 7, "u4", "I"),
        _type("uint64", 8, "u8", "L"),
        _type("float32", 9, "f4", "f"),
        _type("float64", 10, "f8", "g"),
        _type("date32", 11, "i4", "tdD"),
        _type("date64", 12, "i8", "tdm"),
        _type("timestamp_s", 13, "i8", "tss:", "tss:UTC"),
        _type("timestamp_ms", 14, "i8", "tsm:", "tsm:UTC"),
        _type("timestamp_us", 15, "i8", "tsu:", "tsu:UTC"),
        _type("timestamp_ns", 16, "i8", "tsn:", "tsn:UTC"),
        _type("bytes16", 17, "V16", "w:16", "d:38,2"),
        _type("float16", 18, "f2", "e"),
        _type("time32", 19, "i4", "tts", "ttm"),
        _type("time64", 20, "i8", "ttu", "ttn"),
        _type("duration", 21, "i8", "tDs", "tDm", "tDu", "tDn"),
    )
}
BOOL = 22  # GPUJOIN_TYPE_BOOL, of results alone
UINT32 = 7
INT64 = 4

KEY_TYPES = tuple(
    TYPES[name]
    for name in (
        *("int32", "uint32", "int64", "uint64", "date32", "date64"),
        *("timestamp_s", "timestamp_ms", "timestamp_us", "timestamp_ns"),
    )
)
PAYLOAD_TYPES = tuple(TYPES.values())
