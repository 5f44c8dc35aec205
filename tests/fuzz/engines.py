"""Who says what a join's answer is: the reference, DuckDB, Polars. Each answers in row numbers.

The engines get key columns as the integers they are in memory: DuckDB rounds a date64 to days, and
knows no timestamp at the end of int64's range.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from . import reference
from .case import Answer, Case

Engine = Callable[[Case], "Answer | None"]  # None: the engine has no such kind

ALL_KINDS = ("reference", "duckdb")
NO_ROW = reference.NO_ROW


def available(names: list[str]) -> dict[str, Engine]:
    """Those of the names that can be used here, and one that knows all kinds among them: the
    reference where there is no other."""
    engines: dict[str, Engine] = {}
    for name in names:
        if name == "reference":
            engines[name] = reference.answer
            continue
        make = {"duckdb": _duckdb, "polars": _polars}[name]
        try:
            engines[name] = make()
        except ImportError:
            continue
    if not engines.keys() & set(ALL_KINDS):
        engines["reference"] = reference.answer
    return engines


def _filled(column: np.ndarray) -> np.ndarray:
    """Row numbers or marks with -1 for NULL."""
    numbers = np.ma.filled(np.ma.asarray(column).astype(np.int64), NO_ROW)
    return np.asarray(numbers)


_IN_SQL = {
    "inner": "SELECT l.i, r.i FROM l JOIN r ON {on}",
    "cross": "SELECT l.i, r.i FROM l CROSS JOIN r",
    "left": "SELECT l.i, r.i FROM l LEFT JOIN r ON {on}",
    "right": "SELECT l.i, r.i FROM l RIGHT JOIN r ON {on}",
    "full": "SELECT l.i, r.i FROM l FULL JOIN r ON {on}",
    # Of one side, {us} and {them}:
    "semi": "SELECT {us}.i FROM {us} SEMI JOIN {them} ON {on}",
    "anti": "SELECT {us}.i FROM {us} ANTI JOIN {them} ON {on}",
    "mark": "SELECT {us}.i, ({ours}) IN (SELECT {keys} FROM {them}) FROM {us}",
    "not_in": "SELECT {us}.i FROM {us} WHERE ({ours}) NOT IN (SELECT {keys} FROM {them})",
    "single": "SELECT {us}.i, (SELECT {them}.i FROM {them} WHERE {on}) FROM {us}",
}


def _duckdb() -> Engine:
    import duckdb

    connection = duckdb.connect(config={"threads": 1})
    connection.execute("SET enable_progress_bar = false")

    def register(case: Case, side: str) -> str:
        """The side as a table, as SQL. numpy has no NULL: it travels in a column of its own."""
        table = case.tables[side]
        data = {"i": np.arange(table.rows, dtype=np.int64)}
        keys = []
        for n, column in enumerate(case.key_columns(side)):
            data[f"k{n}"] = column.values
            keys.append(f"k{n}")
            if column.valid is not None:
                data[f"v{n}"] = column.valid
                keys[-1] = f"CASE WHEN v{n} THEN k{n} END AS k{n}"
        connection.register("data_" + side, data)
        return f"{side[0]} AS (SELECT {', '.join(['i', *keys])} FROM data_{side})"

    def answer(case: Case) -> Answer:
        kind = case.kind
        us, them = ("r", "l") if kind.side == "right" else ("l", "r")
        numbers = range(len(case.keys["left"]))
        words = {
            **{"us": us, "them": them},
            "on": " AND ".join(f"l.k{n} = r.k{n}" for n in numbers),
            "ours": ", ".join(f"{us}.k{n}" for n in numbers),
            "keys": ", ".join(f"k{n}" for n in numbers),
        }
        query = _IN_SQL[kind.name] if kind.name in _IN_SQL else _IN_SQL[kind.rule]
        tables = ", ".join(register(case, side) for side in ("left", "right"))
        try:
            found = connection.execute(f"WITH {tables} {query.format(**words)}").fetchnumpy()
        except duckdb.InvalidInputException as error:
            if kind.rule == "single" and "More than one row" in str(error):
                return Answer({s: np.zeros(0, np.int64) for s in kind.sides}, several=True)
            raise
        columns = [_filled(column) for column in found.values()]
        if kind.has_mark:
            return Answer({kind.side: columns[0]}, mark=columns[1])
        if kind.rule == "single":
            return Answer(dict(zip((kind.side, "left" if us == "r" else "right"), columns)))
        return Answer(dict(zip(kind.sides, columns)))

    return answer


_IN_POLARS = {
    **{name: name for name in ("inner", "left", "right", "full", "cross")},
    "left_semi": "semi",
    "left_anti": "anti",
}


def _polars() -> Engine:
    import polars as pl

    def frame(case: Case, side: str) -> pl.DataFrame:
        data = {side: np.arange(case.tables[side].rows, dtype=np.int64)}
        columns = [pl.Series(side, data[side])]
        for n, column in enumerate(case.key_columns(side)):
            values = pl.Series(f"k{n}", column.values)
            if column.valid is not None:
                values = values.set(pl.Series(~column.valid), None)
            columns.append(values)
        return pl.DataFrame(columns)

    def answer(case: Case) -> Answer | None:
        how = _IN_POLARS.get(case.kind.name)
        if how is None:
            return None
        on = None if how == "cross" else [f"k{n}" for n in range(len(case.keys["left"]))]
        found = frame(case, "left").join(frame(case, "right"), on=on, how=how)
        return Answer(
            {
                side: found[side].fill_null(NO_ROW).to_numpy().astype(np.int64)
                for side in case.kind.sides
            }
        )

    return answer
