"""Makes a failing case small: takes away and simplifies while it still fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from .case import Case, Column, Table
from .column_types import ColumnType, type_of
from .comparable import values_of
from .condition import Node
from .evaluate import is_typed
from .pools import from_integers, from_values, unit_at
from .way import ENOUGH_BYTES, Encoding, Reading, Way

SIDES = ("left", "right")
Fails = Callable[[Case, Way], bool]


def shrink(
    case: Case,
    way: Way,
    fails: Fails,
    seconds: float = 15,
    clock: Callable[[], float] = time.process_time,
) -> tuple[Case, Way]:
    """The smallest case and the plainest way found in that time that still fail."""
    end = clock() + seconds

    def is_worth(smaller: tuple[Case, Way]) -> bool:
        return clock() < end and fails(*smaller)

    for side in SIDES:  # in large parts first: what fails sooner is made small sooner
        case = _with_fewer_rows(case, way, side, is_worth, case.tables[side].rows // 16)
    changed = True
    while changed and clock() < end:
        changed = False
        for step in (_plainer_ways, _fewer_columns, _smaller_conditions):
            while smaller := next(filter(is_worth, step(case, way)), None):
                (case, way), changed = smaller, True
        for side in SIDES:
            fewer = _with_fewer_rows(case, way, side, is_worth, 0)
            if fewer is not case:
                case, changed = fewer, True
        while smaller := next(filter(is_worth, _plainer_values(case, way)), None):
            (case, way), changed = smaller, True
    return case, way


def _with_fewer_rows(
    case: Case, way: Way, side: str, is_worth: Callable[[tuple[Case, Way]], bool], least: int
) -> Case:
    """Takes away halves first, then quarters, at last single rows; but not `least` and less."""
    size = case.tables[side].rows
    while size > least:
        first = 0
        while first < (rows := case.tables[side].rows):
            kept = np.r_[0:first, min(first + size, rows) : rows]
            fewer = _with_table(case, side, case.tables[side].take(kept))
            if is_worth((fewer, way)):
                case = fewer
            else:
                first += size
        size //= 2
    return case


def _plainer_ways(case: Case, way: Way) -> Iterator[tuple[Case, Way]]:
    plain = {
        "options": {},
        "encodings": {side: Encoding() for side in SIDES},
        "promises": 0,
        "reading": Reading(numbers=way.reading.numbers),
        "threads": 1,
        "limit_bytes": ENOUGH_BYTES if way.limit_bytes == ENOUGH_BYTES else 0,
        "planned": False,
        "executions": 1,
        "spec_output": True,
    }
    everything = replace(way, **plain)
    if way != everything:
        yield case, everything
    for name, value in plain.items():
        if getattr(way, name) != value:
            yield case, replace(way, **{name: value})
    if way.batches is not None:
        once = replace(way.batches, build_rows=1 << 20, probe_rows=1 << 20, probes=1)
        for batches in (once, replace(way.batches, host_bytes=0), replace(way.batches, probes=1)):
            if batches != way.batches:
                yield case, replace(way, batches=batches)
    for name in way.options:
        rest = {n: value for n, value in way.options.items() if n != name}
        yield case, replace(way, options=rest)
    for side in SIDES:
        given = way.encodings[side]
        arrow = "arrow" if given.form == "arrow_device" else given.form
        for encoding in (
            *(replace(given, picks=None), Encoding(), Encoding(given.form)),
            *(replace(given, wraps=False), replace(given, form=arrow)),
        ):
            if encoding != way.encodings[side]:
                yield case, replace(way, encodings={**way.encodings, side: encoding})


def _with_table(case: Case, side: str, table: Table) -> Case:
    return case.changed(tables={**case.tables, side: table})


def _fewer_columns(case: Case, way: Way) -> Iterator[tuple[Case, Way]]:
    if len(case.keys["left"]) > (0 if case.asof is not None else 1):
        for n in range(len(case.keys["left"])):
            keys = {side: case.keys[side][:n] + case.keys[side][n + 1 :] for side in SIDES}
            yield case.changed(keys=keys, flags=case.flags[:n] + case.flags[n + 1 :]), way
    for n, flags in enumerate(case.flags):
        if flags:
            yield case.changed(flags=[*case.flags[:n], 0, *case.flags[n + 1 :]]), way
    for side in SIDES:
        outputs = case.outputs[side]
        for n in range(len(outputs)):
            rest = outputs[:n] + outputs[n + 1 :]
            yield _with_output(case, {**case.outputs, side: rest}, case.pairs), way
    fewer = _with_output(case, case.outputs, pairs=False)
    if (fewer.columns, fewer.pairs) != (case.columns, case.pairs):
        yield fewer, way
    for side in SIDES:
        used = {*case.keys[side], *case.outputs[side]}
        used |= case.residual.columns(side) if case.residual is not None else set()
        used |= {case.asof.position(side)} if case.asof is not None else set()
        columns = case.tables[side].columns
        for n in range(len(columns)):
            if n not in used and len(columns) > 1:
                yield _without_column(case, side, n), way


def _smaller_conditions(case: Case, way: Way) -> Iterator[tuple[Case, Way]]:
    """No condition, or one in which an operator is replaced by one of its arguments, or lacks one
    of them."""
    if case.residual is None:
        return
    if case.keys["left"] or case.kind.rule == "cross":
        yield case.changed(residual=None), way
    nodes = list(case.residual.postfix())
    for node in nodes:
        for smaller in _smaller_nodes(node):
            residual = case.residual.with_node(node, smaller)
            if is_typed(residual, case.tables):
                yield case.changed(residual=residual), way


def _smaller_nodes(node: Node) -> Iterator[Node]:
    yield from node.arguments
    if node.operator in ("and", "or", "coalesce") and len(node.arguments) > 1:
        for n in range(len(node.arguments)):
            yield replace(node, arguments=node.arguments[:n] + node.arguments[n + 1 :])
    if node.operator == "in":
        for n in range(len(node.values.values)):
            rest = np.r_[0:n, n + 1 : len(node.values.values)]
            yield replace(node, values=node.values.take(rest))


def _with_output(case: Case, outputs: dict[str, list[int]], pairs: bool) -> Case:
    """Pairs alone where nothing else is left: a case as text has to show rows."""
    if any(outputs.values()) or case.kind.has_mark:
        return case.changed(outputs=outputs, pairs=pairs, columns=case.columns or not pairs)
    return case.changed(outputs=outputs, columns=False, pairs=True)


def _without_column(case: Case, side: str, position: int) -> Case:
    columns = case.tables[side].columns
    rest = Table(columns[:position] + columns[position + 1 :], case.tables[side].rows)
    moved = {
        "tables": {**case.tables, side: rest},
        "keys": {**case.keys, side: [i - (i > position) for i in case.keys[side]]},
        "outputs": {**case.outputs, side: [i - (i > position) for i in case.outputs[side]]},
    }
    if case.asof is not None:
        moved["asof"] = case.asof.moved(side, position)
    if case.residual is not None:
        moved["residual"] = case.residual.with_columns(side, lambda i: i - (i > position))
    return case.changed(**moved)


def _plainer_values(case: Case, way: Way) -> Iterator[tuple[Case, Way]]:
    for n in range(len(case.keys["left"])):
        tables = dict(case.tables)
        columns = [tables[side].columns[case.keys[side][n]] for side in SIDES]
        for plainer in _plainer_columns(columns):
            for side, column in zip(SIDES, plainer):
                tables[side] = _with_column(case.tables[side], case.keys[side][n], column)
            yield case.changed(tables=tables), way
    for side in SIDES:
        for i, column in enumerate(case.tables[side].columns):
            if i not in case.keys[side]:
                for (plainer,) in _plainer_columns([column]):
                    yield _with_table(case, side, _with_column(case.tables[side], i, plainer)), way


def _with_column(table: Table, position: int, column: Column) -> Table:
    columns = list(table.columns)
    columns[position] = column
    return Table(columns, table.rows)


def _plainer_columns(columns: list[Column]) -> Iterator[list[Column]]:
    """Columns with the same values equal: without NULLs, of a plain type, of short values."""
    if any(c.type.family == "null" for c in columns):
        if any(c.type.family != "null" for c in columns):
            yield [_all_null(c) if c.type.family == "null" else c for c in columns]
        return
    if any(column.valid is not None for column in columns):
        yield [replace(column, valid=None) for column in columns]
    for n, column in enumerate(columns):
        if column.valid is not None and column.valid.all():
            yield [*columns[:n], replace(column, valid=None), *columns[n + 1 :]]
    if len({column.type.family for column in columns}) > 1:
        return
    ranks = _ranks(columns)
    plain = type_of("i")
    if any(column.type != plain for column in columns):
        yield [replace(c, type=plain, values=r.astype("i4")) for c, r in zip(columns, ranks)]
    for column_type in dict.fromkeys(column.type for column in columns):
        if any(column.type != column_type for column in columns):
            yield from _of_short_values(columns, [column_type] * len(columns), ranks)
    yield from _of_short_values(columns, [column.type for column in columns], ranks)


def _all_null(column: Column) -> Column:
    rows = len(column.values)
    return replace(
        column, type=type_of("i"), values=np.zeros(rows, "i4"), valid=np.zeros(rows, bool)
    )


def _ranks(columns: list[Column]) -> list[np.ndarray]:
    """Small numbers in the place of the values, equal where these are."""
    scale = max(column.type.scale for column in columns)
    known: dict = {}
    return [
        np.array([known.setdefault(v, len(known)) for v in values_of(column, scale)], np.int64)
        for column in columns
    ]


def _of_short_values(
    columns: list[Column], types: list[ColumnType], ranks: list[np.ndarray]
) -> Iterator[list[Column]]:
    """The ranks as values of types of one family, where all types have them."""
    count = 1 + max((int(r.max()) for r in ranks if len(r)), default=0)
    made = [short_values(column_type, types, count) for column_type in types]
    if any(values is None for values in made):
        return
    shorter = [
        replace(c, type=t, values=values[r]) for c, t, values, r in zip(columns, types, made, ranks)
    ]
    if any(
        one.type != other.type or one.values.tolist() != other.values.tolist()
        for one, other in zip(columns, shorter)
    ):
        yield shorter


def short_values(column_type: ColumnType, types: list[ColumnType], count: int) -> np.ndarray | None:
    """So many values, the same in all types; None where a type has not as many."""
    if column_type.has_unit:
        scale = max(t.scale for t in types)
        step = max(unit_at(t, scale) for t in types) // unit_at(column_type, scale)
        if (count - 1) * step > column_type.limits()[1]:
            return None
        return from_integers(column_type, [i * step for i in range(count)])
    if column_type.family == "float":
        return np.arange(count).astype(column_type.dtype) if count < 1000 else None
    if column_type.family in ("text", "binary"):
        widths = {t.width for t in types if t.is_fixed_bytes}
        width = max(widths, default=len(str(count)))
        words = [str(i).rjust(width, "0").encode() for i in range(count)]
        if len(widths) > 1 or len(words[-1]) > width:
            return None
        return from_values(column_type, words)
    return None
