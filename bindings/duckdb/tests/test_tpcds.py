"""The 99 queries of TPC-DS with unchanged SQL.

GPUJOIN_TPCDS_QUERIES is the folder where tpcds_queries.py wrote them, by default
build/duckdb/tpcds; GPUJOIN_TPCDS_SCALE the scale factor, by default 0.01; GPUJOIN_TPCDS_FOLDER keeps
the tables."""

from __future__ import annotations

import os
import pathlib

import pytest

from conftest import (ROOT, answer_of_duckdb, check_modes, connect, decisions, load_tables, rows_of,
                      settings)

QUERIES = sorted(pathlib.Path(
    os.environ.get("GPUJOIN_TPCDS_QUERIES", ROOT / "build/duckdb/tpcds")).glob("*.sql"))
pytestmark = pytest.mark.skipif(not QUERIES, reason="there are no queries of TPC-DS")


@pytest.fixture(scope="module")
def connection(tmp_path_factory):
    folder = os.environ.get("GPUJOIN_TPCDS_FOLDER") or tmp_path_factory.mktemp("tpcds")
    scale = os.environ.get("GPUJOIN_TPCDS_SCALE", "0.01")
    with connect() as made:
        load_tables(made, "tpcds", scale, pathlib.Path(folder))
        yield made


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.stem)
def test_query(connection, query):
    check_modes(connection, query.read_text(), ["on", "forced", "forced-64MiB"])


def test_most_joins_are_taken(connection):
    """Of those with an equality all but one in twenty; prints what is left, and how many."""
    taken, left = 0, []
    for query in QUERIES:
        connection.execute("SELECT 1 FROM range(1) a(i) JOIN range(1) b(i) USING (i)").fetchall()
        before = decisions(connection)
        with settings(connection, gpujoin_force=True):
            connection.execute("EXPLAIN " + query.read_text()).fetchall()
            made = decisions(connection)
        if made == before:  # a query without a join
            continue
        taken += sum(is_taken for is_taken, _, _ in made)
        left += [(query.stem, kind, reason) for is_taken, kind, reason in made if not is_taken]
    equal = [entry for entry in left if not entry[2].startswith("no key")]
    print(f"\n{taken} joins taken, {len(left) - len(equal)} without an equality, others: {equal}")
    assert taken > 0.95 * (taken + len(equal)), equal


def test_eight_connections_at_a_time(connection):
    import concurrent.futures

    queries = [query.read_text() for query in QUERIES[:16]]
    expected = [answer_of_duckdb(connection, query) for query in queries]

    def run(number):
        with connection.cursor() as own:
            own.execute("SET gpujoin_force = true")
            return number, rows_of(own, queries[number])

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for number, got in pool.map(run, range(len(queries))):
            assert got == expected[number], number
