"""Makes a failing case small: takes away and simplifies while it still fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from .case import Case, Column, Table
from .column_types import TYPES
from .way import ENOUGH_BYTES, Encoding, Reading, Way

SIDES = ("left", "right")
Fails = Callable[[Case, Way], bool]


def shrink(case: Case, way: Way, fails: Fails, seconds: float = 30) -> tuple[Case, Way]:
    """The smallest case and the plainest way found in that time that still fail."""
    end = time.monotonic() + seconds
    changed = True
    while changed and time.monotonic() < end:
        changed = False
        for step in (_plainer_ways, _fewer_rows, _fewer_columns, _plainer_values):
            found = True
            while found and time.monotonic() < end:
                found = False
                for smaller in step(case, way):
                    if time.monotonic() > end:
                        break
                    if fails(*smaller):
                        case, way = smaller
                        found = changed = True
                        break
    return case, way


def _plainer_ways(case: Case, way: Way) -> Iterator[tuple[Case, Way]]:
    plain = {
        "options": {},
        "encodings": {side: Encoding() for side in SIDES},
        "reading": Reading(),
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
    for name in way.options:
        rest = {n: value for n, value in way.options.items() if n != name}
        yield case, replace(way, options=rest)
    for side in SIDES:
        for encoding in (Encoding(), replace(way.encodings[side], seed=0)):
            if encoding != way.encodings[side]:
                yield case, replace(way, encodings={**way.encodings, side: encoding})


def _fewer_rows(case: Case, way: Way) -> Iterator[tuple[Case, Way]]:
    """Halves first, then quarters, at last single rows."""
    for side in SIDES:
        table = case.tables[side]
        size = table.rows
        while size > 0:
            for first in range(0, table.rows, size):
                kept = np.r_[0:first, min(first + size, table.rows) : table.rows]
                yield _with_table(case, side, table.take(kept)), way
            size //= 2


def _with_table(case: Case, side: str, table: Table) -> Case:
    return case.changed(tables={**case.tables, side: table})


def _fewer_columns(case: Case, way: Way) -> Iterator[tuple[Case, Way]]:
    if len(case.keys["left"]) > 1:
        for n in range(len(case.keys["left"])):
            keys = {side: case.keys[side][:n] + case.keys[side][n + 1 :] for side in SIDES}
            yield case.changed(keys=keys), way
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
        columns = case.tables[side].columns
        for n in range(len(columns)):
            if n not in used and len(columns) > 1:
                yield _without_column(case, side, n), way


def _with_output(case: Case, outputs: dict[str, list[int]], pairs: bool) -> Case:
    """Pairs alone where nothing else is left: a case as text has to show rows."""
    if any(outputs.values()) or case.kind.has_mark:
        return case.changed(outputs=outputs, pairs=pairs)
    return case.changed(outputs=outputs, columns=False, pairs=True)


def _without_column(case: Case, side: str, position: int) -> Case:
    columns = case.tables[side].columns
    rest = Table(columns[:position] + columns[position + 1 :], case.tables[side].rows)
    moved = {
        "tables": {**case.tables, side: rest},
        "keys": {**case.keys, side: [i - (i > position) for i in case.keys[side]]},
        "outputs": {**case.outputs, side: [i - (i > position) for i in case.outputs[side]]},
    }
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
    """Columns with the same values equal: of small numbers, without NULLs, of a plain type."""
    if any(column.valid is not None for column in columns):
        yield [replace(column, valid=None) for column in columns]
    for n, column in enumerate(columns):
        if column.valid is not None and column.valid.all():
            yield [*columns[:n], replace(column, valid=None), *columns[n + 1 :]]
    plain = TYPES["int64" if columns[0].type.width == 8 else "int32"]
    values = np.concatenate([column.values for column in columns])
    if values.dtype.kind == "V":  # numpy sorts these as fields only
        values = values.view([("first", "u8"), ("second", "u8")])
    _, ranks = np.unique(values, return_inverse=True)
    for column_type in dict.fromkeys((plain, columns[0].type)):
        if column_type.dtype.kind != "i" or (ranks.max(initial=0) > 100 and column_type.width == 1):
            continue
        numbers = ranks.astype(column_type.dtype)
        if column_type == columns[0].type and np.array_equal(numbers, values):
            continue
        parts = np.split(numbers, np.cumsum([len(column.values) for column in columns])[:-1])
        yield [replace(c, type=column_type, values=v) for c, v in zip(columns, parts)]
