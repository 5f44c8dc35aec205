"""The joins of tests/cases that PostgreSQL has words for, forced, against their own answers."""

from __future__ import annotations

import pathlib
import sys

import pytest
from conftest import decisions, settings

sys.path.append(str(pathlib.Path(__file__).parents[3] / "tests"))
from sql_cases import Dialect, answer, sql_joins  # noqa: E402: where it lies is known only now


def timestamp(microseconds: int) -> str:
    # Of numbers of 64 bits, which an interval's factor has not.
    days, rest = divmod(microseconds, 86_400_000_000)
    return f"timestamp '1970-01-01' + interval '{days} days' + interval '{rest} microseconds'"


POSTGRESQL = Dialect(
    types={
        **{"int8": "smallint", "int16": "smallint", "int32": "integer", "int64": "bigint"},
        **{"uint8": "smallint", "uint16": "integer", "uint32": "bigint", "uint64": "numeric"},
        **{"float32": "real", "float64": "double precision", "bool": "boolean", "date32": "date"},
        **{"timestamp": "timestamp", "utf8": "text", "binary": "bytea"},
    },
    decimal="numeric({},{})",
    most_digits=1000,
    least_scale=-1000,
    binary="'\\x{}'",
    date="date '1970-01-01' + {}",
    null_equal=None,
    timestamp=timestamp,
)
CASES = list(sql_joins(POSTGRESQL))
taken = []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(connection, case):
    for side, rows in case.tables.items():
        connection.execute(f"DROP TABLE IF EXISTS case_{side}")
        connection.execute(f"CREATE TEMP TABLE case_{side} AS {rows}")
    with settings(connection, **{"gpujoin.force": "on"}):
        rows = connection.execute(case.query, prepare=False).fetchall()
        taken.append(any(decision[0] for decision in decisions(connection)))
    assert answer(case, rows) == case.expected


def test_most_cases_are_taken():
    assert len(CASES) > 140
    assert sum(taken) > 0.8 * len(taken)
