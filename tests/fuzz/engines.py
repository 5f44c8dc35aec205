"""Who says what a join's answer is: the reference, DuckDB, Polars. Each answers in row numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from . import reference
from .case import IEEE_FLOAT, NULL_EQUAL, Answer, Case, Column, error_answer

# None: the engine has no such kind, type or comparison.
Engine = Callable[[Case], "Answer | None"]

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


def _compares_nan(left: Column, flags: int) -> bool:
    return left.type.family == "float" and bool(flags & IEEE_FLOAT)


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


# Marks with a condition, which IN does not know: of all pairs of rows.
_TESTED_IN = (
    "SELECT {us}.i, CASE WHEN bool_or({them}.i IS NOT NULL AND ({on})) THEN true "
    "WHEN count(*) FILTER (WHERE {them}.i IS NOT NULL AND ({on}) IS NULL) > 0 THEN NULL "
    "ELSE false END AS mark FROM {us} LEFT JOIN {them} ON true GROUP BY {us}.i"
)
_TESTED_SELECT = {"mark": "", "not_in": " HAVING mark = false"}
_MOST_COMPARED = 400_000  # pairs of rows


def _duckdb() -> Engine:
    import duckdb
    import pyarrow as pa

    from .condition_sql import name_of, sql_of
    from .engine_columns import NoSuchType, array_of, arrow_pair, common_decimal

    connection = duckdb.connect(config={"threads": 1})
    connection.execute("SET enable_progress_bar = false")

    def keys_in_sql(left: Column, right: Column, flags: int, n: int) -> dict[str, list[str]]:
        """The columns of either side that are equal when the keys are."""
        decimal = common_decimal(left, right)
        units = {c.type.unit for c in (left, right) if c.type.family not in ("null", "number")}
        columns = {}
        for side, column in (("left", left), ("right", right)):
            key = f"k{n}"
            if decimal:
                key = f"k{n}::DECIMAL({decimal[0]},{decimal[1]})"
            elif len(units) > 1:
                key = f"k{n}::HUGEINT * {column.type.unit}"
            columns[side] = [f"{key} AS k{n}"]
            if _compares_nan(left, flags):  # DuckDB's NaN equals itself
                nan = 1 if side == "left" else 2
                columns[side].append(f"CASE WHEN isnan(k{n}) THEN {nan} ELSE 0 END AS n{n}")
        return columns

    def tables(case: Case) -> str:
        data, columns = {}, {}
        for side in ("left", "right"):
            data[side] = {"i": pa.array(np.arange(case.tables[side].rows, dtype=np.int64))}
            columns[side] = ["i"]
        for n, (left, right, flags) in enumerate(case.key_pairs()):
            in_sql = keys_in_sql(left, right, flags, n)
            for side, array in zip(("left", "right"), arrow_pair(left, right)):
                data[side][f"k{n}"] = array
                columns[side] += in_sql[side]
        for side in data if case.residual is not None else ():
            for i in sorted(case.residual.columns(side)):
                data[side][name_of(i)] = array_of(case.tables[side].columns[i])
                columns[side].append(name_of(i))
        for side in data:
            connection.register("data_" + side, pa.table(data[side]))
        return ", ".join(
            f"{side[0]} AS (SELECT {', '.join(columns[side])} FROM data_{side})" for side in data
        )

    def conditions(case: Case) -> list[str]:
        made = []
        for n, (left, _, flags) in enumerate(case.key_pairs()):
            equals = "IS NOT DISTINCT FROM" if flags & NULL_EQUAL else "="
            made.append(f"l.k{n} {equals} r.k{n}")
            if _compares_nan(left, flags):
                made.append(f"l.n{n} = r.n{n}")
        if case.residual is not None:
            made.append(sql_of(case.residual, case.tables))
        return made

    def answer(case: Case) -> Answer | None:
        kind = case.kind
        if case.is_type_error:
            return None
        is_in = kind.rule in ("mark", "not_in")
        if is_in and any(
            flags & NULL_EQUAL or _compares_nan(left, flags) for left, _, flags in case.key_pairs()
        ):
            return None  # IN knows one comparison
        us, them = ("r", "l") if kind.side == "right" else ("l", "r")
        if case.asof is not None:
            return None  # which of several rows at one place is any one's
        if kind.rule == "single" and case.tables[kind.side].rows == 0:
            return None  # a subquery that no row asks is evaluated all the same, and may have several
        numbers = range(len(case.keys["left"]))
        rows = [table.rows for table in case.tables.values()]
        if case.residual is not None and is_in and rows[0] * rows[1] > _MOST_COMPARED:
            return None
        try:
            on = conditions(case)
        except NoSuchType:
            return None
        words = {
            **{"us": us, "them": them},
            "on": " AND ".join(on),
            "ours": ", ".join(f"{us}.k{n}" for n in numbers),
            "keys": ", ".join(f"k{n}" for n in numbers),
        }
        query = _IN_SQL[kind.name] if kind.name in _IN_SQL else _IN_SQL[kind.rule]
        if case.residual is not None and is_in:
            query = _TESTED_IN + _TESTED_SELECT[kind.rule]
        try:
            with_tables = f"WITH {tables(case)} {query.format(**words)}"
            found = connection.execute(with_tables).fetchnumpy()
        except (NoSuchType, duckdb.ConversionException, duckdb.OutOfRangeException):
            return None  # a decimal that is too large for it
        except (duckdb.NotImplementedException, duckdb.BinderException):
            if case.residual is None:
                raise
            return None  # not every kind takes every condition
        except duckdb.InvalidInputException as error:
            if kind.rule == "single" and "More than one row" in str(error):
                return error_answer(case, several=True)
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

    from .engine_columns import NoSuchType, arrow_pair, common_decimal

    def keys_of(left: Column, right: Column) -> list[pl.Series]:
        """Of either side, in a type that both have."""
        decimal = common_decimal(left, right)
        series = [pl.from_arrow(array) for array in arrow_pair(left, right)]
        if decimal:
            return [s.cast(pl.Decimal(*decimal)) for s in series]
        if series[0].dtype.is_float():
            return [s.cast(pl.Float64) for s in series]
        if series[0].dtype.is_integer():
            if left.type.unit == right.type.unit:
                return [s.cast(pl.Int128) for s in series]
            units = [pl.Series([c.type.unit], dtype=pl.Int128) for c in (left, right)]
            return [s.cast(pl.Int128) * unit for s, unit in zip(series, units)]
        return series

    def answer(case: Case) -> Answer | None:
        how = _IN_POLARS.get(case.kind.name)
        pairs = case.key_pairs()
        null_equal = {bool(flags & NULL_EQUAL) for _, _, flags in pairs}
        if how is None or case.is_type_error or len(null_equal) > 1 or case.residual is not None:
            return None
        if case.asof is not None:
            return None
        if any(_compares_nan(left, flags) for left, _, flags in pairs):
            return None
        sides = {
            s: [pl.Series(s, np.arange(t.rows, dtype=np.int64))] for s, t in case.tables.items()
        }
        try:
            for n, (left, right, _) in enumerate(pairs):
                for side, series in zip(sides, keys_of(left, right)):
                    sides[side].append(series.rename(f"k{n}"))
        except (NoSuchType, pl.exceptions.InvalidOperationError):
            return None  # a decimal that is too large for it
        left, right = (pl.DataFrame(columns) for columns in sides.values())
        on = None if how == "cross" else [f"k{n}" for n in range(len(pairs))]
        options = {"nulls_equal": True} if True in null_equal else {}
        found = left.join(right, on=on, how=how, **options)
        return Answer(
            {
                side: found[side].fill_null(NO_ROW).to_numpy().astype(np.int64)
                for side in case.kind.sides
            }
        )

    return answer
