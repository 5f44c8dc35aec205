"""Aggregates in the place of a join's rows: drawn, and computed in plain Python from the row
numbers that an engine answers with."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from .arrow_nodes import Laid, Node
from .case import Answer, Case, Column, Table, error_answer
from .column_types import ColumnType, type_of
from .kinds import KINDS
from .library import abi

ROWS, COUNT, SUM, LEAST, GREATEST, AVG, ANY, EXISTS = range(1, 9)
_SIDES = {None: 0, "left": 1, "right": 2}
_NO_ORDER = ("months", "day_time", "month_day_nano")
_ADDED = "cslCSIL"  # formats of integers that are summed, decimals and floats beside


_PLAIN = Node("", 0)


@dataclass
class Aggregate:
    function: int
    side: str | None = None
    column: int = 0


@dataclass
class Grouped:
    """by  the side whose rows are the groups; None = one of all rows"""

    aggregates: list[Aggregate]
    by: str | None


def draw_grouped(rng: random.Random, case: Case) -> Grouped | None:
    """Aggregates for a case, whose output is changed to what goes with them; or None."""
    kind = case.kind
    if kind.rule == "mark" or case.asof is not None:
        return None
    sides = [None]
    if kind.rule in ("inner", "cross", "outer", "single") and kind.side == "both":
        sides += [] if kind.rule == "outer" else ["left", "right"]
    elif kind.rule in ("outer", "single"):
        sides += [kind.side]
    by = rng.choice(sides)
    choices = [Aggregate(ROWS), Aggregate(EXISTS)]
    for side in kind.sides:
        for i, column in enumerate(case.tables[side].columns):
            choices += [Aggregate(f, side, i) for f in _functions(column, side == by)]
    case.outputs = {side: case.outputs[side] if side == by else [] for side in case.outputs}
    case.pairs = case.pairs and by is not None
    case.columns = True
    return Grouped(rng.choices(choices, k=rng.randint(1, 6)), by)


def _functions(column: Column, is_of_group: bool) -> list[int]:
    column_type = column.type
    made = [COUNT] + [ANY] * is_of_group
    if column_type.family == "float":
        with np.errstate(all="ignore"):
            values = column.values.astype(np.float64)
            multiple = values * 4 % 1 == 0
        made += [LEAST, GREATEST] * bool(np.isfinite(values).all() and (values != 0).all())
        # Whose sums are exact in any order.
        is_exact = np.isfinite(values) & (np.abs(values) < 2**20)
        is_exact &= multiple
        return made + [SUM, AVG] * bool(is_exact.all())
    if column_type.family not in _NO_ORDER:
        made += [LEAST, GREATEST]
    if column_type.digits or column_type.format in _ADDED:
        made += [SUM, SUM, AVG]
    return made


def structs_of(grouped: Grouped):
    structs = (abi.Aggregate * len(grouped.aggregates))()
    for i, aggregate in enumerate(grouped.aggregates):
        side = _SIDES[aggregate.side]
        structs[i].__init__(
            function=aggregate.function, side=side, column=aggregate.column, name=_name(i).encode()
        )
    return structs


def _name(number: int) -> str:
    return f"a{number}"


def spec_side(grouped: Grouped) -> int:
    return _SIDES[grouped.by]


def seen_as(case: Case, expected: Answer) -> tuple[Case, Answer]:
    """The groups as a table, the aggregates its last columns, of which rows come out: a case and
    an answer that are read and compared as those of any join."""
    key = ("groups", id(expected))
    if key not in case.tokens:
        case.tokens[key] = expected, _seen_as(case, expected)
    return case.tokens[key][1]


def _seen_as(case: Case, expected: Answer) -> tuple[Case, Answer]:
    grouped = case.grouped
    side = grouped.by or "left"
    groups: dict[int, list[int]] = {} if grouped.by else {0: list(range(expected.count))}
    if grouped.by and not expected.is_error:
        for i, row in enumerate(expected.rows[grouped.by].tolist()):
            groups.setdefault(row, []).append(i)
    own = case.tables[side] if grouped.by else Table([], 1)
    made = [
        _column(case, expected, groups, own.rows, aggregate, _name(i))
        for i, aggregate in enumerate(grouped.aggregates)
    ]
    table = Table([*own.columns, *(column for column in made if column)], own.rows)
    outputs = {"left": [], "right": []}
    first = len(own.columns)
    outputs[side] = [*case.outputs[side], *range(first, first + len(made))]
    kind = KINDS[f"{side}_semi"]
    seen = case.changed(tables={**case.tables, side: table}, outputs=outputs, kind=kind, grouped=None)
    if expected.is_error:
        return seen, expected
    if None in made:
        return seen, error_answer(seen, no_value=True)
    return seen, Answer({side: np.array(sorted(groups), np.int64)})


def laid_of(case: Case, seen: Case, laid: dict[str, dict]) -> dict[str, dict]:
    """How the columns of the groups lie: a least value of a dictionary is in the dictionary."""
    side = case.grouped.by or "left"
    made = dict(laid[side])
    for aggregate, column in zip(
        case.grouped.aggregates, seen.tables[side].columns[-len(case.grouped.aggregates) :]
    ):
        made[column.name] = Laid(_PLAIN)
        if aggregate.function in (LEAST, GREATEST, ANY):
            source = case.tables[aggregate.side].columns[aggregate.column]
            made[column.name] = laid[aggregate.side][source.name]
    return {**laid, side: made}


def _column(
    case: Case, expected: Answer, groups: dict, rows: int, aggregate: Aggregate, name: str
) -> Column | None:
    """None: the type does not hold a total."""
    other = {None: None, "left": "right", "right": "left"}[case.grouped.by]
    source = None
    if aggregate.side is not None:
        source = case.tables[aggregate.side].columns[aggregate.column]
    column_type = _type_of(aggregate.function, source)
    values = np.zeros(rows, column_type.dtype)
    if column_type.dtype == object:
        values[:] = b""
    valid = np.zeros(rows, bool)
    for group, members in groups.items():
        if aggregate.function == ROWS:
            values[group], valid[group] = len(members), True
        elif aggregate.function == EXISTS:
            is_there = bool(members)
            if other is not None:
                is_there = any(expected.rows[other][i] >= 0 for i in members)
            values[group], valid[group] = is_there, True
        else:
            found = _members(source, expected.rows[aggregate.side], members)
            if aggregate.function == COUNT:
                values[group], valid[group] = len(found), True
            elif found:
                value = _value(aggregate.function, source, column_type, found)
                if value is None:
                    return None
                values[group], valid[group] = value, True
    return Column(name, column_type, values, None if valid.all() else valid)


def _members(column: Column, rows: np.ndarray, members: list[int]) -> list[int]:
    """The rows of a column that have a value."""
    if column.type.family == "null":
        return []
    there = [rows[i] for i in members if rows[i] >= 0]
    return [row for row in there if column.valid is None or column.valid[row]]


def _type_of(function: int, source: Column | None) -> ColumnType:
    if function in (ROWS, COUNT):
        return type_of("l")
    if function in (AVG, EXISTS):
        return type_of("g" if function == AVG else "b")
    if function != SUM:
        return source.type
    if source.type.digits:
        return type_of(f"d:38,{source.type.scale}")
    if source.type.family == "float":
        return type_of("g")
    return type_of("L" if source.type.format.isupper() else "l")


def _number(column: Column) -> Callable[[int], int | float]:
    if column.values.dtype.kind != "V":
        return lambda row: column.values[row].item()
    return lambda row: int.from_bytes(column.values[row].tobytes(), "little", signed=True)


def _value(function: int, source: Column, made: ColumnType, rows: list[int]):
    """None: the type does not hold it."""
    if function in (LEAST, GREATEST, ANY):
        order = (min if function == LEAST else max) if function != ANY else next
        if order is next:
            return source.values[rows[0]]
        is_bytes = source.values.dtype.kind == "V" and not source.type.digits
        key = (lambda row: source.values[row].tobytes()) if is_bytes else _number(source)
        if source.values.dtype == object:
            key = source.values.__getitem__
        return source.values[order(rows, key=key)]
    number = _number(source)
    total = sum(Fraction(number(row)) for row in rows)
    if function == AVG:
        return float(total / len(rows) / Fraction(10) ** source.type.scale)
    if made.family == "float":
        return float(total)
    if made.digits:
        if abs(total) >= 10**38:
            return None
        return np.void(int(total).to_bytes(16, "little", signed=True))
    least, most = made.limits()
    return int(total) if least <= total <= most else None
