"""The joins of tests/cases that Spark has words for, forced, against their own answers."""

from __future__ import annotations

import pathlib
import sys

import pytest
from conftest import MODES, decisions, settings

sys.path.append(str(pathlib.Path(__file__).parents[3] / "tests"))
from sql_cases import Dialect, answer, decimal_numbers, sql_joins  # noqa: E402

TYPES = {
    **{"int8": "TINYINT", "int16": "SMALLINT", "int32": "INT", "int64": "BIGINT"},
    **{"uint8": "SMALLINT", "uint16": "INT", "uint32": "BIGINT", "uint64": "DECIMAL(20,0)"},
    **{"float32": "FLOAT", "float64": "DOUBLE", "bool": "BOOLEAN", "date32": "DATE"},
    **dict.fromkeys(("utf8", "large_utf8"), "STRING"),
    **dict.fromkeys(("binary", "large_binary", "bytes16"), "BINARY"),
}


def type_of(kind: str) -> str | None:
    precision, scale = decimal_numbers(kind) or (0, 0)
    if precision != 0:
        return f"DECIMAL({precision},{scale})" if precision <= 38 and scale >= 0 else None
    return "BINARY" if kind.startswith("fixed_binary") else TYPES.get(kind)


def literal(word: str, kind: str) -> str:
    text = "" if word == '""' else word
    if kind == "date32":
        return f"date_from_unix_date({word})"
    return f"X'{text}'" if type_of(kind) == "BINARY" else f"'{text}'"


CASES = list(sql_joins(Dialect(type_of, literal, "<=>")))
taken = []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(spark, case):
    for side, rows in case.tables.items():
        # Cached: of rows that a query names itself the optimizer takes joins apart.
        spark.sql(rows).cache().createOrReplaceTempView(f"case_{side}")
    mode = list(MODES)[CASES.index(case) % len(MODES)]
    with settings(spark, MODES[mode]):
        decisions(spark)
        rows = spark.sql(case.query).collect()
        taken.append(any(made[0] for made in decisions(spark)))
    spark.catalog.clearCache()
    assert answer(case, rows) == case.expected


def test_most_cases_are_taken():
    assert len(CASES) > 150
    assert sum(taken) > 0.6 * len(taken)
