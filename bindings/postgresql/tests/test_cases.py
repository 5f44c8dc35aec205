"""The joins of tests/cases that PostgreSQL has words for, forced, against their own answers."""

from __future__ import annotations

import pathlib
import sys

import pytest
from conftest import decisions, settings

sys.path.append(str(pathlib.Path(__file__).parents[3] / "tests"))
from sql_cases import UNITS, Dialect, answer, decimal_numbers, sql_joins  # noqa: E402

TYPES = {
    **{"int8": "smallint", "int16": "smallint", "int32": "integer", "int64": "bigint"},
    **{"uint8": "smallint", "uint16": "integer", "uint32": "bigint", "uint64": "numeric"},
    **{"float32": "real", "float64": "double precision", "bool": "boolean", "date32": "date"},
    **dict.fromkeys(UNITS, "timestamp"),
    **dict.fromkeys(("utf8", "large_utf8"), "text"),
    **dict.fromkeys(("binary", "large_binary", "bytes16"), "bytea"),
}


def type_of(kind: str) -> str | None:
    numbers = decimal_numbers(kind)
    if numbers is not None:
        return "numeric({},{})".format(*numbers)
    return "bytea" if kind.startswith("fixed_binary") else TYPES.get(kind)


def literal(word: str, kind: str) -> str:
    if kind == "date32":
        return f"date '1970-01-01' + {word}"
    if kind in UNITS:
        # Of numbers of 64 bits, which an interval's factor has not.
        whole, rest = divmod(int(word) * UNITS[kind], 86_400_000_000)
        return f"timestamp '1970-01-01' + interval '{whole} days' + interval '{rest} microseconds'"
    text = "" if word == '""' else word
    return f"'\\x{text}'" if type_of(kind) == "bytea" else f"'{text}'"


CASES = list(sql_joins(Dialect(type_of, literal, None)))
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
