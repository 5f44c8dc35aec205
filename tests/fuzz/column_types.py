"""The types of gpujoin.h by their Arrow format: how they lie in memory, what they compare with.

Types compare with those of their family. Of most families a value is an integer in memory times a
unit: numbers times 10^-scale, times nanoseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np


@dataclass(frozen=True)
class ColumnType:
    """format  of Arrow
    number  GPUJOIN_TYPE_*
    dtype   of the values in numpy; of text and binary values of any length: object, with bytes
    layout  "values" (fixed width), "bits", "text" (offsets), "views" or "nulls"
    family  of types that compare: "number", "text", "date" ...
    scale   of a number: 10^-scale times the integer in memory
    unit    of a time, in nanoseconds
    digits  of a decimal; 0 of others
    """

    format: str
    number: int
    dtype: np.dtype
    layout: str
    family: str
    scale: int = 0
    unit: int = 1
    digits: int = 0

    @property
    def width(self) -> int:
        """Bytes of a value, where all have as many; 0 = bits, text, nothing."""
        if self.layout == "views":
            return 16
        return self.dtype.itemsize if self.layout == "values" else 0

    @property
    def is_fixed_bytes(self) -> bool:
        return self.format.startswith("w:")

    @property
    def has_unit(self) -> bool:
        """Whether values are integers times a unit."""
        return self.family in _WITH_UNIT

    @property
    def is_plain(self) -> bool:
        """Whether gpujoin_relation_create can describe it: other units and zones are Arrow's."""
        return self.layout != "views" and self.format not in _ARROW_ONLY and self.family != "zoned"

    def limits(self) -> tuple[int, int]:
        """The least and the largest integer in memory."""
        if self.digits:
            return 1 - 10**self.digits, 10**self.digits - 1
        if self.family == "time":
            return 0, 86_400_000_000_000 // self.unit - 1
        info = np.iinfo(self.dtype)
        return int(info.min), int(info.max)


_WITH_UNIT = ("number", "date", "zoned", "time", "duration", "months")
_ARROW_ONLY = ("tts", "ttn", "tDs", "tDm", "tDn")
_UNITS = {"s": 1_000_000_000, "m": 1_000_000, "u": 1_000, "n": 1}
_DAY = 86_400_000_000_000
BINARY16, FIXED_BINARY, DICTIONARY = 17, 29, 37
BOOL = 22
UINT32 = 7
INT64 = 4

_OBJECT = np.dtype(object)
_SIMPLE = {
    # format: number, dtype, layout, family
    "c": (1, "i1", "values", "number"),
    "s": (2, "i2", "values", "number"),
    "i": (3, "i4", "values", "number"),
    "l": (4, "i8", "values", "number"),
    "C": (5, "u1", "values", "number"),
    "S": (6, "u2", "values", "number"),
    "I": (7, "u4", "values", "number"),
    "L": (8, "u8", "values", "number"),
    "f": (9, "f4", "values", "float"),
    "g": (10, "f8", "values", "float"),
    "e": (18, "f2", "values", "float"),
    "b": (BOOL, "?", "bits", "bool"),
    "u": (23, "O", "text", "text"),
    "U": (24, "O", "text", "text"),
    "vu": (25, "O", "views", "text"),
    "z": (26, "O", "text", "binary"),
    "Z": (27, "O", "text", "binary"),
    "vz": (28, "O", "views", "binary"),
    "n": (33, "i1", "nulls", "null"),
    "tiM": (34, "i4", "values", "months"),
    "tiD": (35, "V8", "values", "day_time"),
    "tin": (36, "V16", "values", "month_day_nano"),
}
_DECIMALS = {32: (30, "i4"), 64: (31, "i8"), 128: (BINARY16, "V16"), 256: (32, "V32")}
MOST_DIGITS = {32: 9, 64: 18, 128: 38, 256: 76}
_STAMPS = {"s": 13, "m": 14, "u": 15, "n": 16}


@cache
def type_of(form: str) -> ColumnType:
    """The type of an Arrow format. Errors: ValueError."""
    if form in _SIMPLE:
        number, dtype, layout, family = _SIMPLE[form]
        return ColumnType(form, number, np.dtype(dtype), layout, family)
    if form.startswith("d:"):
        digits, scale, bits = (*map(int, form[2:].split(",")), 128)[:3]
        number, dtype = _DECIMALS[bits]
        return ColumnType(form, number, np.dtype(dtype), "values", "number", scale, 1, digits)
    if form.startswith("w:"):
        width = int(form[2:])
        number = BINARY16 if width == 16 else FIXED_BINARY
        return ColumnType(form, number, np.dtype(f"V{width}"), "values", "binary")
    if form in ("tdD", "tdm"):
        number, dtype, unit = (11, "i4", _DAY) if form == "tdD" else (12, "i8", _UNITS["m"])
        return ColumnType(form, number, np.dtype(dtype), "values", "date", 0, unit)
    if form.startswith("ts") and form[3:4] == ":":
        family = "zoned" if form[4:] else "date"
        unit = _UNITS[form[2]]
        return ColumnType(form, _STAMPS[form[2]], np.dtype("i8"), "values", family, 0, unit)
    if form[:2] in ("tt", "tD") and form[2:] in _UNITS:
        is_short = form in ("tts", "ttm")
        number = 21 if form[1] == "D" else (19 if is_short else 20)
        family = "duration" if form[1] == "D" else "time"
        dtype = np.dtype("i4" if is_short else "i8")
        return ColumnType(form, number, dtype, "values", family, 0, _UNITS[form[2]])
    raise ValueError(f"{form!r} is no format of a type that a case can have")


def do_compare(one: ColumnType, other: ColumnType) -> bool:
    """Whether two types can be keys of each other."""
    return one.family == other.family or "null" in (one.family, other.family)
