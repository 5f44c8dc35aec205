"""The joins of tests/cases that Spark has words for, forced, against their own answers."""

from __future__ import annotations

import pathlib
import sys

import pytest
from conftest import MODES, decisions, settings

sys.path.append(str(pathlib.Path(__file__).parents[3] / "tests"))
from sql_cases import Dialect, answer, sql_joins  # noqa: E402: where it lies is known only now

SPARK = Dialect(
    types={
        **{"int8": "TINYINT", "int16": "SMALLINT", "int32": "INT", "int64": "BIGINT"},
        **{"uint8": "SMALLINT", "uint16": "INT", "uint32": "BIGINT", "uint64": "DECIMAL(20,0)"},
        **{"float32": "FLOAT", "float64": "DOUBLE", "bool": "BOOLEAN", "date32": "DATE"},
        **{"utf8": "STRING", "binary": "BINARY"},
    },
    decimal="DECIMAL({},{})",
    most_digits=38,
    least_scale=0,
    binary="X'{}'",
    date="date_from_unix_date({})",
    null_equal="<=>",
)
CASES = list(sql_joins(SPARK))
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
