"""The joins of tests/cases that DuckDB has words for, forced, against their own answers."""

from __future__ import annotations

import sys

import pytest
from conftest import ROOT, decisions, settings

sys.path.append(str(ROOT / "tests"))
from sql_cases import Dialect, answer, sql_joins  # noqa: E402: where it lies is known only now

DUCKDB = Dialect(
    types={
        **{"int8": "TINYINT", "int16": "SMALLINT", "int32": "INTEGER", "int64": "BIGINT"},
        **{"uint8": "UTINYINT", "uint16": "USMALLINT", "uint32": "UINTEGER", "uint64": "UBIGINT"},
        **{"float32": "FLOAT", "float64": "DOUBLE", "bool": "BOOLEAN", "date32": "DATE"},
        **{"timestamp": "TIMESTAMP", "utf8": "VARCHAR", "binary": "BLOB"},
    },
    decimal="DECIMAL({},{})",
    most_digits=38,
    least_scale=0,
    binary="unhex('{}')",
    date="DATE '1970-01-01' + ({})::INTEGER",
    null_equal="IS NOT DISTINCT FROM",
    timestamp="make_timestamp(({})::BIGINT)".format,
)
CASES = list(sql_joins(DUCKDB))
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
