"""The joins of tests/cases that DuckDB has words for, forced, against their own answers."""

from __future__ import annotations

import sys

import pytest
from conftest import ROOT, decisions, settings

sys.path.append(str(ROOT / "tests"))
from sql_cases import UNITS, Dialect, answer, decimal_numbers, sql_joins  # noqa: E402

TYPES = {
    **{"int8": "TINYINT", "int16": "SMALLINT", "int32": "INTEGER", "int64": "BIGINT"},
    **{"uint8": "UTINYINT", "uint16": "USMALLINT", "uint32": "UINTEGER", "uint64": "UBIGINT"},
    **{"float32": "FLOAT", "float64": "DOUBLE", "bool": "BOOLEAN", "date32": "DATE"},
    **dict.fromkeys(UNITS, "TIMESTAMP"),
    **dict.fromkeys(("utf8", "large_utf8"), "VARCHAR"),
    **dict.fromkeys(("binary", "large_binary", "bytes16"), "BLOB"),
}


def type_of(kind: str) -> str | None:
    precision, scale = decimal_numbers(kind) or (0, 0)
    if precision != 0:
        return f"DECIMAL({precision},{scale})" if precision <= 38 and scale >= 0 else None
    return "BLOB" if kind.startswith("fixed_binary") else TYPES.get(kind)


def literal(word: str, kind: str) -> str:
    text = "" if word == '""' else word
    if kind == "date32":
        return f"DATE '1970-01-01' + ({word})::INTEGER"
    if kind in UNITS:
        return f"make_timestamp(({int(word) * UNITS[kind]})::BIGINT)"
    return f"unhex('{text}')" if type_of(kind) == "BLOB" else f"'{text}'"


CASES = list(sql_joins(Dialect(type_of, literal, "IS NOT DISTINCT FROM")))
taken = []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(connection, case):
    for side, rows in case.tables.items():
        connection.execute(f"CREATE OR REPLACE TABLE case_{side} AS {rows}")
    with settings(connection, gpujoin_force=True):
        rows = connection.execute(case.query).fetchall()
        taken.append(any(made[0] for made in decisions(connection)))
    assert answer(case, rows) == case.expected


def test_most_cases_are_taken():
    assert len(CASES) > 150
    assert sum(taken) > 0.8 * len(taken)
