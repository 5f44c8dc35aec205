"""Aggregates over a join: which there are, and how they are named."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from . import _abi
from ._arguments import column_names
from ._columns import OutputColumn
from .errors import InvalidArgument

AGGREGATE = "aggregate"  # the side of an output column that is one

_ROWS = {"count": 1, "exists": 8}  # without a column
_FUNCTIONS = {"count": 2, "sum": 3, "min": 4, "max": 5, "avg": 6, "any": 7}
_TEXT = re.compile(r"\s*(\w+)\s*(?:\(\s*(?:\*\s*|(left|right)\.(.*\S)\s*)?\))?\s*", re.DOTALL)


@dataclass(frozen=True)
class Aggregate:
    """A column of a join's groups: GPUJOIN_FUNCTION_* in gpujoin.h, section 6."""

    name: str
    function: int
    side: str | None  # of the column; None = rows are counted
    column: int

    @property
    def keeps_type(self) -> bool:
        """Whether its values are values of the column."""
        return self.function in (_FUNCTIONS["min"], _FUNCTIONS["max"], _FUNCTIONS["any"])

    @property
    def nullable(self) -> bool:
        return self.function not in (*_ROWS.values(), _FUNCTIONS["count"])

    def moved(self, places: Mapping[str, Mapping[int, int]]) -> Aggregate:
        """Of inputs that have their columns at other positions."""
        return self if self.side is None else replace(self, column=places[self.side][self.column])

    @property
    def output(self) -> OutputColumn:
        return OutputColumn(AGGREGATE, 0, self.name)


def parsed(text: str) -> Any:
    """("sum", "right", "price") for "sum(right.price)"; "count" for "count(*)".

    Errors: InvalidArgument.
    """
    match = _TEXT.fullmatch(text)
    if not match:
        raise InvalidArgument(
            f"aggregate {text!r} is none such as count, exists, sum(right.price)"
        )
    function, side, column = match.groups()
    return function if side is None else (function, side, column)


def aggregates_of(schemas: Mapping[str, pa.Schema], aggregates: Any) -> list[Aggregate]:
    """Errors: InvalidArgument."""
    if not isinstance(aggregates, Mapping) or not aggregates:
        raise InvalidArgument(
            "aggregates is not a dict of a name and an aggregate each, such as "
            '{"n": "count", "total": ("sum", "right", "price")}'
        )
    return [_aggregate(schemas, name, given) for name, given in aggregates.items()]


def _aggregate(schemas: Mapping[str, pa.Schema], name: Any, given: Any) -> Aggregate:
    if not isinstance(name, str):
        raise InvalidArgument(f"aggregates: the name {name!r} is not a text")
    where = f"aggregates[{name!r}]"
    parts = parsed(given) if isinstance(given, str) else given
    if isinstance(parts, str):
        number = _ROWS.get(parts.lower())
        if number is None:
            raise InvalidArgument(f"{where} is {given!r}; of rows there are {', '.join(_ROWS)}")
        return Aggregate(name, number, None, 0)
    try:
        function, side, column = parts
    except (TypeError, ValueError):
        function = side = column = None
    number = _FUNCTIONS.get(function.lower()) if isinstance(function, str) else None
    if number is None or not isinstance(side, str) or side not in schemas:
        raise InvalidArgument(
            f"{where} is {given!r}, and not a function ({', '.join(_FUNCTIONS)}), "
            'a side ("left" or "right") and the name of a column'
        )
    names = schemas[side].names
    if names.count(column) != 1:
        reason = "more than one column has" if column in names else "no column has"
        there = ", ".join(map(str, names))
        raise InvalidArgument(f"{where}: {reason} the name {column!r} in {side}; there are {there}")
    return Aggregate(name, number, side, names.index(column))


def group_columns(
    schemas: Mapping[str, pa.Schema], by: Any, select: Any, aggregates: Sequence[Aggregate]
) -> list[OutputColumn]:
    """The columns of the side whose rows are the groups. Errors: InvalidArgument."""
    if by is None:
        if select:
            raise InvalidArgument(
                "select: all rows are one group; by='left' makes one of each row of left"
            )
        return []
    if by not in schemas:
        raise InvalidArgument(f"by is {by!r}; it must be None, 'left' or 'right'")
    names = schemas[by].names
    if select is None:
        columns = list(range(len(names)))
    else:
        columns = []
        for name in column_names("select", select):
            if names.count(name) != 1:
                reason = "more than one column has" if name in names else "no column has"
                there = ", ".join(map(str, names))
                raise InvalidArgument(
                    f"select: {reason} the name {name!r} in {by}; there are {there}"
                )
            columns.append(names.index(name))
    taken = {names[column] for column in columns}
    for aggregate in aggregates:
        if aggregate.name in taken:
            raise InvalidArgument(
                f"aggregates: a column of {by} has the name {aggregate.name!r} too; select says "
                "which columns come out"
            )
    return [OutputColumn(by, column, names[column]) for column in columns]


def aggregate_field(schemas: Mapping[str, pa.Schema], aggregate: Aggregate) -> pa.Field | None:
    """The column whose type it has; None: its type is the function's."""
    if aggregate.side is None or not aggregate.keeps_type:
        return None
    return schemas[aggregate.side].field(aggregate.column)


def aggregate_structs(
    aggregates: Sequence[Aggregate], positions: Mapping[str, Mapping[int, int]]
) -> Any:
    """The aggregates as the library takes them; it copies their names."""
    structs = (_abi.Aggregate * len(aggregates))()
    for struct, aggregate in zip(structs, aggregates):
        struct.struct_size = ctypes.sizeof(_abi.Aggregate)
        struct.function, struct.name = aggregate.function, aggregate.name.encode()
        if aggregate.side is not None:
            struct.side = _abi.SIDES[aggregate.side]
            struct.column = positions[aggregate.side][aggregate.column]
    return structs
