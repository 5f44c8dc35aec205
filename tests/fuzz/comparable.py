"""What the values of key columns are: as Python values that are equal when the keys are.

Numbers and times are integers in the finer unit of the two columns, text is str, binary is bytes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .case import IEEE_FLOAT, NULL_EQUAL, Case, Column


class _Unique:
    """Equal to itself alone, whatever it is compared with."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


NULL = _Unique("NULL that equals NULL")
NAN = _Unique("NaN that equals NaN")
SIDES = ("left", "right")
# A rule that is not the library's: columns and flags as they would be if it was. See mutations.py.
Rule = Callable[[Column, Column, int], "tuple[Column, Column, int] | None"]


def keys_of(case: Case, rule: Rule | None = None) -> dict[str, list[tuple]]:
    """For each row its key: None for a NULL with which a comparison is unknown."""
    if rule is None and "keys" in case.tokens:
        return case.tokens["keys"]
    columns: dict[str, list[list]] = {side: [] for side in SIDES}
    for left, right, flags in case.key_pairs():
        if rule is not None:
            left, right, flags = rule(left, right, flags) or (left, right, flags)
        scale = max(left.type.scale, right.type.scale)
        for side, column in zip(SIDES, (left, right)):
            columns[side].append(_key_values(column, scale, flags))
    keys = {
        side: list(zip(*columns[side])) if columns[side] else [()] * case.tables[side].rows
        for side in SIDES
    }
    if rule is None:
        case.tokens["keys"] = keys
    return keys


def _key_values(column: Column, scale: int, flags: int) -> list:
    values = values_of(column, scale)
    if column.type.family == "float":
        values = [_float(value, flags) for value in values]
    if column.valid is None:
        return values
    null = NULL if flags & NULL_EQUAL else None
    return [value if ok else null for value, ok in zip(values, column.valid.tolist())]


def _float(value: object, flags: int) -> object:
    if value == value:
        return value  # Python's 0.0 equals its -0.0
    return _Unique("NaN") if flags & IEEE_FLOAT else NAN


def integers_of(column: Column) -> list[int]:
    """Of a type that has a unit, as they lie in memory."""
    values = column.values.tolist()
    if column.values.dtype.kind != "V":
        return values
    return [int.from_bytes(value, "little", signed=True) for value in values]


def values_of(column: Column, scale: int) -> list:
    """The values, whatever lies under a NULL."""
    family = column.type.family
    if family == "number":
        power = 10 ** (scale - column.type.scale)
        return _times(integers_of(column), power)
    if column.type.has_unit:
        return _times(integers_of(column), column.type.unit)
    values = column.values.tolist()
    return [value.decode() for value in values] if family == "text" else values


def _times(values: list[int], factor: int) -> list[int]:
    return values if factor == 1 else [value * factor for value in values]


def pair_count(case: Case) -> int:
    """How many pairs of rows have equal keys; of a cross join all."""
    left, right = keys_of(case).values()
    codes: dict[tuple, int] = {}
    numbers = []
    for keys in (left, right):
        known = [codes.setdefault(k, len(codes)) for k in keys if None not in k]
        numbers.append(np.array(known, np.int64))
    counts = [np.bincount(n, minlength=len(codes)) for n in numbers]
    return int(counts[0] @ counts[1])
