"""Settings, what EXPLAIN and gpujoin_decisions() show, what is left to DuckDB, interrupts."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
import threading
import time

import duckdb
import pytest

from conftest import EXTENSION, VERSION, answer_of_duckdb, connect, decisions, rows_of, settings

JOIN = "SELECT a.id, b.id FROM a JOIN b ON a.k = b.k"


@pytest.fixture(scope="module", autouse=True)
def tables(connection):
    connection.execute("CREATE TABLE a AS SELECT i AS id, i % 1000 AS k, i::VARCHAR AS t, "
                       "[i] AS list, to_days(i::INTEGER) AS span FROM range(20000) AS r(i)")
    connection.execute("CREATE TABLE b AS SELECT i AS id, i % 1000 AS k, i::VARCHAR AS t, "
                       "[i] AS list, to_days(i::INTEGER) AS span FROM range(3000) AS r(i)")


def reason_of(connection, sql):
    expected = answer_of_duckdb(connection, sql)
    with settings(connection, gpujoin_force=True):
        assert rows_of(connection, sql) == expected
        made = decisions(connection)
    assert made and not any(taken for taken, _, _ in made), made
    return made[0][2]


@pytest.mark.parametrize("sql, reason", [
    ("SELECT a.id FROM a JOIN b ON a.list = b.list", "a key of type BIGINT[]"),
    ("SELECT a.id FROM a JOIN b ON a.span = b.span", "a key of type INTERVAL"),
    ("SELECT a.list FROM a JOIN b ON a.k = b.k AND a.id < 10", "a column of type BIGINT[]"),
    ("SELECT a.id FROM a JOIN b ON a.id < b.id AND a.id < 10", "no key"),
    ("SELECT a.id FROM a LEFT JOIN b ON a.k = b.k AND (a.id + b.id) % 2 = 0",
     "a condition of both sides" if VERSION >= (2, 0) else "no key"),
    ("SELECT a.id FROM a ASOF JOIN b ON a.k = b.k AND a.id >= b.id", "an ASOF join"),
    ("""WITH RECURSIVE r AS (SELECT 1 AS n UNION SELECT b.id FROM r JOIN b ON r.n = b.k
                             WHERE b.id < 50) FROM r""", "inside a recursive query"),
])
def test_what_is_left_to_duckdb(connection, sql, reason):
    assert reason in reason_of(connection, sql)


def test_disabled(connection):
    rows_of(connection, JOIN)
    before = decisions(connection)
    with settings(connection, gpujoin_enable=False, gpujoin_force=True):
        plan = connection.execute("EXPLAIN " + JOIN).fetchall()[0][1]
    assert "gpujoin" not in plan.lower()
    assert decisions(connection) == before


def test_gate_leaves_small_joins(connection):
    rows_of(connection, "SELECT 1 FROM (FROM a LIMIT 5) l JOIN (FROM b LIMIT 5) r ON l.k = r.k")
    (taken, _, reason), = decisions(connection)
    assert not taken and reason.startswith("not worth it")


@pytest.mark.parametrize(("gap", "rows_a_key", "is_taken"),
                         [(1, 1, False), (4, 1, True), (4, 100, False)])
def test_gate_knows_how_keys_lie(connection, gap, rows_a_key, is_taken):
    """Dense keys are a table without hashing to DuckDB, and few ones a table in a cache."""
    connection.execute(f"CREATE TABLE keys AS SELECT (i // {rows_a_key}) * {gap} AS k, i AS v "
                       "FROM range(1000000) AS r(i)")
    connection.execute("EXPLAIN SELECT sum(l.v + r.v) FROM keys l JOIN keys r ON l.k = r.k")
    (taken, _, reason), = decisions(connection)
    assert taken == is_taken, reason
    connection.execute("DROP TABLE keys")


def test_gate_takes_large_joins(connection):
    """Of a build side that is in no cache: DuckDB's estimates are enough."""
    connection.execute("CREATE TABLE large AS SELECT i AS k, i AS v FROM range(4000000) AS r(i)")
    connection.execute("EXPLAIN SELECT sum(l.v + r.v) FROM large l JOIN large r ON l.k = r.k")
    connection.execute("DROP TABLE large")
    (taken, _, reason), = decisions(connection)
    assert taken and "expected" in reason


def test_explain(connection):
    with settings(connection, gpujoin_force=True):
        plan = connection.execute("EXPLAIN " + JOIN).fetchall()[0][1]
        assert "GPUJOIN" in plan.upper() and "Executor: C" in plan and "Expected:" in plan
        analyzed = connection.execute("EXPLAIN ANALYZE " + JOIN).fetchall()[0][1]
        assert "GPUJOIN" in analyzed and "Joined In:" in analyzed and "Build Rows: 3000" in analyzed
        with settings(connection, gpujoin_memory_limit="1MiB"):
            connection.execute("SET temp_directory = ''")
            connection.execute("RESET temp_directory")
            analyzed = connection.execute("EXPLAIN ANALYZE " + JOIN).fetchall()[0][1]
            assert "GPUJOIN" in analyzed


@pytest.mark.parametrize("name, value, message", [
    ("gpujoin_device", "tpu", "automatic, cuda or cpu"),
    ("gpujoin_memory_limit", "much", "memory"),
    ("gpujoin_threads", -1, "0 to 4096"),
])
def test_bad_settings_are_refused(connection, name, value, message):
    with pytest.raises(duckdb.Error, match=re.compile(message, re.I)):
        connection.execute(f"SET {name} = {value!r}")


def test_a_limit_below_the_least_leaves_joins_to_duckdb(connection):
    with settings(connection, gpujoin_memory_limit="100KiB"):
        assert "MiB" in reason_of(connection, JOIN) or "limit" in reason_of(connection, JOIN)


def test_the_device_is_named(connection):
    with settings(connection, gpujoin_device="cpu", gpujoin_force=True):
        rows_of(connection, JOIN)
        assert decisions(connection)[0][0]
    with settings(connection, gpujoin_device="cuda"):
        expected = answer_of_duckdb(connection, JOIN)
        with settings(connection, gpujoin_force=True):
            assert rows_of(connection, JOIN) == expected  # by DuckDB where there is no device


@pytest.mark.parametrize("limit", ["", "64MiB"])
def test_interrupt(limit):
    """Of a join with 10^10 pairs, soon after it has begun."""
    with connect() as own:
        own.execute("CREATE TABLE a AS SELECT i % 10 AS k, i AS v FROM range(300000) AS r(i)")
        own.execute("SET gpujoin_force = true")
        own.execute(f"SET gpujoin_memory_limit = '{limit}'")
        timer = threading.Timer(0.5, own.interrupt)
        began = time.monotonic()
        timer.start()
        with pytest.raises(duckdb.InterruptException):
            own.execute("SELECT sum(l.v + r.v) FROM a l JOIN a r ON l.k = r.k").fetchall()
        assert time.monotonic() - began < 10
        # The connection goes on.
        own.execute("SELECT count(*) FROM a l JOIN (FROM a LIMIT 100) r ON l.k = r.k").fetchall()
        assert decisions(own)[0][0]


def test_no_memory_is_duckdbs_error(connection):
    """With nowhere to spill to the library has no room, and says so."""
    with connect() as own:
        own.execute("SET temp_directory = ''")
        own.execute("CREATE TABLE a AS SELECT i AS k, i::VARCHAR AS t FROM range(300000) AS r(i)")
        own.execute("SET gpujoin_force = true")
        own.execute("SET gpujoin_memory_limit = '2MiB'")
        sql = "SELECT count(*), min(l.t), min(r.t) FROM a l JOIN a r ON l.k = r.k"
        with pytest.raises(duckdb.OutOfMemoryException, match="gpujoin"):
            own.execute(sql).fetchall()
        own.execute("SET gpujoin_memory_limit = ''")
        assert own.execute(sql).fetchone()[0] == 300000


def test_spills_to_the_temporary_folder(tmp_path):
    with connect() as own:
        own.execute(f"SET temp_directory = '{tmp_path}'")
        own.execute("CREATE TABLE a AS SELECT i AS k, 'a text of some length ' || i AS t "
                    "FROM range(300000) AS r(i)")
        own.execute("SET gpujoin_force = true")
        own.execute("SET gpujoin_memory_limit = '4MiB'")
        sql = "SELECT count(*), min(l.t), max(r.t) FROM a l FULL JOIN a r ON l.k = r.k + 5"
        analyzed = own.execute("EXPLAIN ANALYZE " + sql).fetchall()[0][1]
        assert "Spilled:" in analyzed
        assert rows_of(own, sql) == answer_of_duckdb(own, sql)
        assert not list(tmp_path.iterdir())


def test_several_databases():
    with connect() as one, connect() as other:
        for own in (one, other):
            own.execute("CREATE TABLE a AS SELECT i AS k FROM range(1000) AS r(i)")
            own.execute("SET gpujoin_force = true")
            assert own.execute("SELECT count(*) FROM a l JOIN a r USING (k)").fetchone() == (1000,)
            assert decisions(own)[0][0]


def test_loading_twice(connection):
    from conftest import EXTENSION

    connection.execute(f"LOAD '{EXTENSION}'")


def test_a_library_of_another_version(tmp_path):
    """Has all that the extension asks for."""
    extension = pathlib.Path(EXTENSION).parent / "libgpujoin_duckdb.so"
    symbols = subprocess.run(["nm", "-D", extension], capture_output=True, text=True,
                             check=True).stdout
    names = sorted(set(re.findall(r" U (gpujoin_\w+)", symbols)))
    assert "gpujoin_version_number" in names
    lines = [f"int {name}(void) {{ return {100 if name == 'gpujoin_version_number' else 15}; }}"
             for name in names if name != "gpujoin_version_string"]
    lines.append('const char* gpujoin_version_string(void) { return "0.1.0"; }')
    (tmp_path / "other.c").write_text("\n".join(lines))
    version = re.search(r" U gpujoin_\w+@+(\w+)", symbols).group(1)
    (tmp_path / "other.map").write_text(version + " { global: *; };")
    subprocess.run(["cc", "-shared", "-fPIC", "-Wl,-soname,libgpujoin.so.0",
                    f"-Wl,--version-script={tmp_path / 'other.map'}", "-o",
                    tmp_path / "libgpujoin.so.0", tmp_path / "other.c"], check=True)
    code = ("import duckdb\n"
            "connection = duckdb.connect(config={'allow_unsigned_extensions': 'true'})\n"
            f"try:\n    connection.execute(\"LOAD '{EXTENSION}'\")\n"
            "except duckdb.Error as error:\n    print(error)\n"
            "print(connection.execute('SELECT 1').fetchall())\n")
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}, check=False)
    assert "the library is version 0.1.0, the extension was built for 0.2.0" in said.stdout, said
    assert said.stdout.endswith("[(1,)]\n") and said.returncode == 0, said
