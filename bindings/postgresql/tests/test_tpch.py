"""The 22 queries of TPC-H with unchanged SQL, alone and four sessions at a time.

GPUJOIN_TPCH_SCALE is the scale factor, by default 0.02."""

from __future__ import annotations

import concurrent.futures
import os
import shutil

import pytest

from conftest import MODES, answer_of_postgres, decisions, rows_of, settings
from tpch import QUERIES, make_tables


@pytest.fixture(scope="module")
def connection(server):
    with server.connect() as made:
        make_tables(made, "tpch", os.environ.get("GPUJOIN_TPCH_SCALE", "0.02"),
                    shutil.which("tpchgen-cli"))
        yield made
        made.execute("DROP SCHEMA tpch CASCADE")


def test_all_queries_are_there():
    assert sorted(QUERIES) == list(range(1, 23))


@pytest.mark.parametrize("number", QUERIES)
def test_query(connection, number):
    expected = answer_of_postgres(connection, QUERIES[number], rows_of)
    for mode, values in MODES.items():
        with settings(connection, **values):
            assert rows_of(connection, QUERIES[number]) == expected, (mode, decisions(connection))


def test_most_joins_are_taken(connection):
    taken, left = 0, []
    with settings(connection, **{"gpujoin.force": "on"}):
        for number in QUERIES:
            connection.execute("EXPLAIN " + QUERIES[number])
            if number in (1, 6):  # without a join: the function still has those of the query before
                continue
            for is_taken, join_type, reason in decisions(connection):
                taken += is_taken
                if not is_taken:
                    left.append((number, join_type, reason))
    assert taken >= 55, left
    for _, _, reason in left:
        assert reason == "no equal key", left


def test_four_sessions_at_a_time(server, connection):
    numbers = [3, 5, 9, 13, 18, 21]
    expected = {number: answer_of_postgres(connection, QUERIES[number], rows_of)
                for number in numbers}

    def run(number):
        with server.connect() as own:
            own.execute("SET search_path = tpch, public")
            own.execute("SET gpujoin.force = on")
            own.execute("SET gpujoin.memory_limit = '16MB'")
            return number, rows_of(own, QUERIES[number])

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for number, got in pool.map(run, numbers * 2):
            assert got == expected[number], number
