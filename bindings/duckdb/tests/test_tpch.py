"""The 22 queries of TPC-H with unchanged SQL, alone and eight connections at a time.

GPUJOIN_TPCH_SCALE is the scale factor, by default 0.1; GPUJOIN_TPCH_FOLDER keeps the tables."""

from __future__ import annotations

import concurrent.futures
import os
import pathlib
import re

import pytest

from conftest import (answer_of_duckdb, check_modes, connect, decisions, load_tables, rows_of,
                      settings)

SQL = pathlib.Path(__file__).with_name("tpch.sql").read_text()
QUERIES = {int(number): text.strip().rstrip(";")
           for number, text in re.findall(r"^-- (\d+)\n(.*?)(?=^-- \d+\n|\Z)", SQL, re.M | re.S)}


@pytest.fixture(scope="module")
def connection(tmp_path_factory):
    folder = os.environ.get("GPUJOIN_TPCH_FOLDER") or tmp_path_factory.mktemp("tpch")
    scale = os.environ.get("GPUJOIN_TPCH_SCALE", "0.1")
    with connect() as made:
        load_tables(made, "tpch", scale, pathlib.Path(folder))
        yield made


def test_all_queries_are_there():
    assert sorted(QUERIES) == list(range(1, 23))


@pytest.mark.parametrize("number", QUERIES)
def test_query(connection, number):
    check_modes(connection, QUERIES[number], ["on", "forced", "forced-64MiB"])


def test_most_joins_are_taken(connection):
    taken, left = 0, []
    with settings(connection, gpujoin_force=True):
        for number in QUERIES:
            connection.execute(QUERIES[number]).fetchall()
            if number in (1, 6):  # without a join: the table still has those of the query before
                continue
            for is_taken, join_type, reason in decisions(connection):
                taken += is_taken
                if not is_taken:
                    left.append((number, join_type, reason))
    assert taken >= 60, left
    assert all(reason.startswith("no key") for _, _, reason in left), left


def test_eight_connections_at_a_time(connection):
    numbers = [3, 4, 5, 9, 13, 16, 18, 21]
    expected = {number: answer_of_duckdb(connection, QUERIES[number]) for number in numbers}

    def run(number):
        with connection.cursor() as own:
            own.execute("SET gpujoin_force = true")
            own.execute("SET gpujoin_memory_limit = '64MiB'")
            return number, rows_of(own, QUERIES[number])

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for number, got in pool.map(run, numbers * 3):
            assert got == expected[number], number
