"""The 22 queries of TPC-H with unchanged SQL, shuffled and broadcast, with AQE and without: each in
one of these four modes, where GPUJOIN_SPARK is set in all.

GPUJOIN_TPCH_SCALE is the scale factor, by default 0.01."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess

import pytest

from conftest import INTERPRETED, MODES, answer_of_spark, decisions, rows_of, settings

TABLES = ["customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier"]
SQL = (pathlib.Path(__file__).parent / "../../duckdb/tests/tpch.sql").read_text()
QUERIES = {int(number): text.strip().rstrip(";")
           for number, text in re.findall(r"^-- (\d+)\n(.*?)(?=^-- \d+\n|\Z)", SQL, re.M | re.S)}
WITHOUT_JOIN = (1, 6)
# Of up to six joins of each of two tasks, which share it: a join by itself needs 1 MiB.
STACKED = {"spark.gpujoin.memoryLimit": "24m"}


@pytest.fixture(scope="module")
def tpch(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tpch")
    subprocess.run([shutil.which("tpchgen-cli"), "parquet", "-s",
                    os.environ.get("GPUJOIN_TPCH_SCALE", "0.01"), f"--output-dir={folder}"],
                   check=True, capture_output=True)
    for table in TABLES:
        spark.read.parquet(f"{folder}/{table}.parquet").createOrReplaceTempView(table)
    yield spark
    for table in TABLES:
        spark.catalog.dropTempView(table)


@pytest.fixture(scope="module")
def expected(tpch):
    """Spark's own answers, each asked for once."""
    known = {}

    def answer(number):
        if number not in known:
            known[number] = answer_of_spark(tpch, QUERIES[number])
        return known[number]

    return answer


def check(spark, number, mode, expected, more=None):
    with settings(spark, {**MODES[mode], **(more or {})}):
        decisions(spark)
        got = rows_of(spark, QUERIES[number])
        made = decisions(spark)
    assert got == expected(number), (mode, number)
    left = [reason for taken, _, reason in made if not taken]
    # Of a subquery that answers one row: nested loops are Spark's.
    assert set(left) <= {"no equal key"}, (mode, number, made)
    assert number in WITHOUT_JOIN or len(left) < len(made), (mode, number, made)


def test_all_queries_are_there():
    assert sorted(QUERIES) == list(range(1, 23))


def modes_of(number: int) -> list[str]:
    return list(MODES) if "GPUJOIN_SPARK" in os.environ else [list(MODES)[number % len(MODES)]]


@pytest.mark.parametrize(
    "number, mode", [(number, mode) for number in QUERIES for mode in modes_of(number)])
def test_query(tpch, number, mode, expected):
    check(tpch, number, mode, expected, {**INTERPRETED, **STACKED} if "static" in mode else None)
