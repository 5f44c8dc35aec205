"""Memory of joins is DuckDB's: counted, limited, and given back."""

from __future__ import annotations

import contextlib
import threading

import duckdb
import pytest

from conftest import answer_of_duckdb, connect, decisions, rows_of, settings


def counted(connection) -> int:
    return connection.execute(
        "SELECT memory_usage_bytes FROM duckdb_memory() WHERE tag = 'EXTENSION'").fetchone()[0]


@pytest.fixture
def connection(tmp_path):
    """Of a database in a file: its tables take no memory that cannot be had back."""
    with connect(str(tmp_path / "tables.duckdb")) as made:
        made.execute(f"SET temp_directory = '{tmp_path}/temporary'")
        made.execute("""CREATE TABLE a AS SELECT i AS k, 'a text of some length ' || i AS t
                        FROM range(500000) AS r(i)""")
        made.execute("CHECKPOINT")
        yield made


JOIN = "SELECT l.k, l.t, r.t AS u FROM a l JOIN a r ON l.k = r.k + 5"


def test_counted_while_it_runs_and_given_back(connection):
    connection.execute("SET gpujoin_force = true")
    with connection.cursor() as other:
        assert counted(other) == 0
        rows = connection.execute(JOIN)
        assert rows.fetchone() is not None
        assert counted(other) > 500000 * 8
        rows.fetchall()
        assert counted(other) == 0


def test_never_above_duckdbs_limit(connection):
    """A build of more than the limit: it goes to files, and DuckDB makes room for the rest."""
    sql = f"SELECT count(*), min(t), max(u), sum(k) FROM ({JOIN})"
    expected = answer_of_duckdb(connection, sql)
    most = 0

    def watch(is_over):
        nonlocal most
        with connection.cursor() as other:
            while not is_over.wait(0.01):
                with contextlib.suppress(duckdb.OutOfMemoryException):  # of this query itself
                    used = other.execute("SELECT sum(memory_usage_bytes) FROM duckdb_memory()")
                    most = max(most, used.fetchone()[0])

    for limit in (60, 120):
        most, is_over = 0, threading.Event()
        with settings(connection, memory_limit=f"{limit}MiB", gpujoin_force=True, threads=2):
            watcher = threading.Thread(target=watch, args=(is_over,))
            watcher.start()
            try:
                assert rows_of(connection, sql) == expected
            finally:
                is_over.set()
                watcher.join()
            assert decisions(connection)[0][0]
        assert 0 < most <= (limit + 1) << 20  # DuckDB itself goes a little above it
        assert counted(connection) == 0


def test_what_duckdb_uses_is_not_there_for_joins():
    """Tables in memory fill it, and nothing may be written to files."""
    with connect() as own:
        own.execute("SET temp_directory = ''")
        own.execute("SET threads = 2")
        own.execute("CREATE TABLE a AS SELECT i AS k, hash(i) AS v FROM range(1000000) AS r(i)")
        own.execute("SET gpujoin_force = true")
        sql = "SELECT count(*), sum(l.v::DOUBLE) FROM a l JOIN a r ON l.k = r.k"
        used = own.execute("SELECT sum(memory_usage_bytes) FROM duckdb_memory()").fetchone()[0]
        own.execute(f"SET memory_limit = '{used + (6 << 20)}B'")
        with pytest.raises(duckdb.OutOfMemoryException):
            own.execute(sql).fetchall()
        assert counted(own) == 0
        own.execute("SET memory_limit = '1GiB'")
        assert own.execute(sql).fetchone()[0] == 1000000


def test_a_database_closed_within_a_result():
    own = connect()
    own.execute("SET gpujoin_force = true")
    sql = "SELECT i::VARCHAR || ' of a text' AS t FROM range(9999) AS r(i)"
    rows = own.execute(f"SELECT l.t FROM ({sql}) l JOIN ({sql}) r USING (t)")
    assert rows.fetchone()[0].endswith(" of a text")
    own.close()
