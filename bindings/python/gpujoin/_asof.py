"""ASOF joins: of each left row the one right row that is next to it in an ordered column."""

from __future__ import annotations

import datetime
import decimal
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from . import _abi
from ._arguments import INT64, whole
from ._context import choose
from ._inputs import Input
from .errors import InvalidArgument

_DIRECTIONS = {"backward": 1, "forward": 2, "nearest": 3}
_STRICT = 1
_TOLERANCE = 2
_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


@dataclass(frozen=True)
class Asof:
    """Which right row a left row has, of those with equal keys: the one next to it in order.

    on         the ordered column of both sides, or of left: integers, floats, decimals, dates,
               times, timestamps, durations, which compare as keys do. Neither side needs to be
               sorted. A NULL or NaN there has no match.
    right_on   the ordered column of right; None = it has the same name
    direction  backward  the last right row at or before the left row; of several at the same place
                         the last one
               forward   the first right row at or after it; of several the first one
               nearest   the nearer one of both, backward's where they are equally near
    strict     not at the same place: before, after
    tolerance  no farther away: a number of what the columns count, of times of the finer of both,
               or a datetime.timedelta, numpy.timedelta64, decimal.Decimal; None = any distance
    """

    on: str
    right_on: str | None = None
    direction: str = "backward"
    strict: bool = False
    tolerance: Any = None


@dataclass(frozen=True)
class AsofColumns:
    """An Asof whose columns are known. positions: of each side."""

    asof: Asof
    positions: Mapping[str, int]
    tolerance: int | float | None

    def described(self, registered: Mapping[str, Mapping[int, int]]) -> _abi.Asof:
        """As the library takes it. registered: positions in the relations of columns."""
        made = _abi.Asof(direction=_DIRECTIONS[self.asof.direction])
        made.left_column = registered["left"][self.positions["left"]]
        made.right_column = registered["right"][self.positions["right"]]
        made.flags = _STRICT * self.asof.strict + _TOLERANCE * (self.tolerance is not None)
        if isinstance(self.tolerance, float):
            made.tolerance_float = self.tolerance
        elif self.tolerance is not None:
            made.tolerance = self.tolerance
        return made

    def moved(self, places: Mapping[str, Mapping[int, int]]) -> AsofColumns:
        """The same of sides that have some of their columns. places: of those."""
        positions = {side: places[side][number] for side, number in self.positions.items()}
        return AsofColumns(self.asof, positions, self.tolerance)


def asof_of(asof: Any, left: pa.Schema, right: pa.Schema) -> AsofColumns | None:
    """Errors: InvalidArgument, which names the field."""
    if asof is None:
        return None
    if not isinstance(asof, Asof):
        raise InvalidArgument(f"asof is a {type(asof).__name__}; it must be a gpujoin.Asof")
    choose("asof.direction", _DIRECTIONS, asof.direction)
    if not isinstance(asof.strict, bool):
        raise InvalidArgument(f"asof.strict is {asof.strict!r}; it must be True or False")
    names = {"left": asof.on, "right": asof.on if asof.right_on is None else asof.right_on}
    positions = {}
    for side, schema in (("left", left), ("right", right)):
        field = "asof.right_on" if side == "right" and asof.right_on is not None else "asof.on"
        found = [i for i, name in enumerate(schema.names) if name == names[side]]
        if len(found) != 1:
            there = f"{len(found)} of that name" if found else f"it has {', '.join(schema.names)}"
            raise InvalidArgument(f"{field}: {side} has no column {names[side]!r}; {there}")
        positions[side] = found[0]
    types = [_values(s.field(positions[side]).type) for side, s in zip(positions, (left, right))]
    return AsofColumns(asof, positions, _tolerance(asof.tolerance, types))


def _values(type_: pa.DataType) -> pa.DataType:
    """The type of what is compared."""
    while pa.types.is_dictionary(type_) or pa.types.is_run_end_encoded(type_):
        type_ = type_.value_type
    return type_


def _unit(type_: pa.DataType) -> int | None:
    """Nanoseconds that the type counts in; None = it counts no time."""
    if pa.types.is_date32(type_):
        return 86_400 * 10**9
    if pa.types.is_date64(type_):
        return 10**6
    is_time = pa.types.is_timestamp(type_) or pa.types.is_time(type_) or pa.types.is_duration(type_)
    return _NANOSECONDS[type_.unit] if is_time else None


def _tolerance(given: Any, types: list[pa.DataType]) -> int | float | None:
    """In what the library counts. Errors: InvalidArgument."""
    if given is None:
        return None
    if any(pa.types.is_floating(type_) for type_ in types):
        if isinstance(given, bool) or not isinstance(given, (int, float, np.number)):
            raise InvalidArgument(f"asof.tolerance is {given!r}; it must be a number")
        if math.isnan(given) or given < 0:
            raise InvalidArgument(f"asof.tolerance is {given!r}; it must be 0 or more")
        return float(given)
    units = [unit for unit in map(_unit, types) if unit is not None]
    if isinstance(given, (datetime.timedelta, np.timedelta64)):
        if not units:
            raise InvalidArgument(f"asof.tolerance is {given!r}, and the columns count no time")
        if np.isnat(np.timedelta64(given)):
            raise InvalidArgument("asof.tolerance is no time")
        # Between two places is a whole number of units.
        return whole("asof.tolerance", _nanoseconds(given) // min(units), 0, INT64)
    if isinstance(given, decimal.Decimal):
        if not given.is_finite() or not any(pa.types.is_decimal(type_) for type_ in types):
            raise InvalidArgument(f"asof.tolerance is {given!r}, and the columns are no decimals")
        scale = max(type_.scale for type_ in types if pa.types.is_decimal(type_))
        return whole("asof.tolerance", math.floor(given.scaleb(max(scale, 0))), 0, INT64)
    return whole("asof.tolerance", given, 0, INT64)


def _nanoseconds(time: datetime.timedelta | np.timedelta64) -> int:
    if isinstance(time, np.timedelta64):
        return int(time.astype("timedelta64[ns]").astype(np.int64))
    return (time.days * 86_400 + time.seconds) * 10**9 + time.microseconds * 10**3
