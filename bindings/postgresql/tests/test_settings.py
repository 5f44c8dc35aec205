"""Settings, what EXPLAIN and gpujoin_decisions() show, and what is left to PostgreSQL."""

from __future__ import annotations

import json
import re

import psycopg
import pytest

from conftest import answer_of_postgres, check_mode, decisions, digest_of, settings

JOIN = "SELECT a.id, b.id FROM sa a JOIN sb b ON a.k = b.k"
WIDE = JOIN.replace("a.id, b.id", "a.wide, b.wide")
FORCED = {"gpujoin.force": "on"}


@pytest.fixture(scope="module", autouse=True)
def tables(connection):
    [has_icu] = connection.execute(
        "SELECT EXISTS (SELECT FROM pg_collation WHERE collname = 'und-x-icu')").fetchone()
    if has_icu:
        connection.execute("CREATE COLLATION sloppy (provider = icu, locale = 'und-u-ks-level2', "
                           "deterministic = false)")
    for table, rows in (("sa", 20000), ("sb", 3000)):
        connection.execute(f"""
            CREATE TABLE {table} AS SELECT i AS id, i % 1000 AS k, i::text AS t,
              i::text {"COLLATE sloppy" if has_icu else ""} AS sloppy, ARRAY[i] AS list,
              point(i, i) AS p,
              ('10.0.0.' || i % 256)::inet AS address, repeat('wide', 100) AS wide
            FROM generate_series(1, {rows}) AS i""")
        connection.execute(f"ANALYZE {table}")
    yield
    connection.execute("DROP TABLE sa, sb; DROP COLLATION IF EXISTS sloppy")


@pytest.mark.parametrize("sql, reason", [
    ("SELECT a.id FROM sa a JOIN sb b ON a.list = b.list", "a key of type integer[]"),
    ("SELECT a.id FROM sa a JOIN sb b ON a.address = b.address AND a.id < 500", "a key of type inet"),
    ("SELECT a.id FROM sa a JOIN sb b ON (a.k, a.t)::record = (b.k, b.t)::record",
     "a key of type record"),
    ("SELECT a.id FROM sa a JOIN sb b ON a.sloppy = b.sloppy",
     "a key with a collation under which different texts are equal"),
    ("SELECT a.id FROM sa a JOIN sb b ON a.id < b.id AND a.id < 50", "no equal key"),
    ("SELECT a.id FROM sa a CROSS JOIN sb b WHERE a.id < 5", "no equal key"),
    ("SELECT a.id FROM sa a JOIN sb b ON a.k = b.k WHERE current_date > '2000-01-01'",
     "a condition that has no columns"),
    ("SELECT a.id, x.id FROM sa a, LATERAL (SELECT b.id FROM sb b WHERE b.k = a.k "
     "OFFSET 1) x WHERE a.id < 50", "one side's rows depend on a row of the other (LATERAL)"),
])
def test_what_is_left(connection, sql, reason):
    sloppy = "SELECT FROM pg_collation WHERE collname = 'sloppy'"
    if "sloppy" in sql and connection.execute(sloppy).rowcount == 0:
        pytest.skip("the server is built without ICU")
    expected = answer_of_postgres(connection, sql)
    made = check_mode(connection, sql, expected, "forced")
    # Since its last minor versions PostgreSQL asks nobody then.
    unasked = f"PostgreSQL asks for no other way, as where {reason.replace('that ', '')}"
    assert [(taken, why) for taken, _, why in made] in ([(False, reason)], [(False, unasked)])


def test_few_rows_are_left(connection):
    connection.execute("SELECT FROM sa a JOIN sb b ON a.k = b.k WHERE a.id < 10")
    assert decisions(connection)[0][0] is False
    assert decisions(connection)[0][2] == "so few rows are not worth it"


def test_costs_are_compared(connection):
    connection.execute("EXPLAIN " + JOIN)
    [(taken, _, reason)] = decisions(connection)
    assert taken or reason == "PostgreSQL's own join is expected to be faster"


def test_joins_that_are_faster_in_parallel_are_left(connection):
    scans = dict.fromkeys(
        ("min_parallel_table_scan_size", "parallel_setup_cost", "parallel_tuple_cost"), 0
    )
    query = "SELECT count(*), sum(a.id + b.id) FROM ta a JOIN ta b ON a.id = b.id"
    connection.execute(
        "CREATE TABLE ta AS SELECT generate_series(1, 60000) id,"
        " repeat('x', 500) AS text; ANALYZE ta"
    )
    with settings(connection, max_parallel_workers_per_gather=4, **scans):
        expected = connection.execute(query).fetchall()
        [(taken, _, reason)] = decisions(connection)
        assert not taken
        assert reason == "PostgreSQL is expected to be faster in parallel"
        with settings(connection, **FORCED):
            assert connection.execute(query).fetchall() == expected
            assert decisions(connection)[0][0] is True
    connection.execute("DROP TABLE ta")


def test_enable(connection):
    with settings(connection, **FORCED, **{"gpujoin.enable": "off"}):
        plan = connection.execute("EXPLAIN " + JOIN).fetchall()
        assert "GPUJOIN" not in str(plan)


def test_decisions_stay_until_the_next_join(connection):
    with settings(connection, **FORCED):
        connection.execute("SELECT FROM sa JOIN sb USING (k) LIMIT 1")
    connection.execute("SELECT 1")
    names = "SELECT relations, taken FROM gpujoin_decisions()"
    assert connection.execute(names).fetchall() == [("sa, sb", True)]
    assert connection.execute(names).fetchall() == [("sa, sb", True)]


def test_decisions_of_subqueries(connection):
    with settings(connection, **FORCED):
        connection.execute("EXPLAIN SELECT (SELECT count(*) FROM sa x JOIN sb y USING (k)) FROM "
                           "(SELECT k FROM sa GROUP BY k OFFSET 0) p JOIN sb ON sb.id = p.k")
    names = connection.execute("SELECT relations, taken FROM gpujoin_decisions()").fetchall()
    assert sorted(names) == [("p, sb", True), ("x, y", True)]


def test_explain(connection):
    with settings(connection, **FORCED):
        plain = "\n".join(row[0] for row in connection.execute("EXPLAIN " + JOIN))
        assert re.search(r"Custom Scan \(GPUJOIN\)", plain)
        assert "Join Type: inner" in plain and "Keys: (a.k = b.k)" in plain
        assert "Executor: CPU" in plain and re.search(r"Expected: [\d.]+ ms", plain)
        left = JOIN.replace("JOIN", "LEFT JOIN") + " AND a.t > b.t"
        run = connection.execute("EXPLAIN (ANALYZE, VERBOSE, FORMAT JSON) " + left).fetchone()[0]
        node = (run if isinstance(run, list) else json.loads(run))[0]["Plan"]
        assert node["Custom Plan Provider"] == "GPUJOIN"
        assert node["Join Filter"] == "(a.t > b.t)"
        assert node["Executor"] == "CPU" and node["Library Time"] > 0
        assert node["Build Rows"] == 3000 and node["Probe Rows"] == 20000
        assert [child["Relation Name"] for child in node["Plans"]] == ["sa", "sb"]
        with settings(connection, **{"gpujoin.memory_limit": "1MB"}):
            text = "\n".join(row[0] for row in connection.execute("EXPLAIN ANALYZE " + WIDE))
            assert re.search(r"Partitions: \d+", text) and re.search(r"Spilled: \d+ kB", text), text


def test_spilled_files_are_gone(server, connection):
    with settings(connection, **FORCED, **{"gpujoin.memory_limit": "1MB"}):
        assert digest_of(connection, WIDE)[0] == 60000
        assert connection.execute("SELECT spill_peak > 0 FROM gpujoin_device()").fetchone()[0]
    assert not list((server.folder / "data" / "base" / "pgsql_tmp").iterdir())


def test_temp_file_limit(connection):
    with settings(connection, **FORCED, **{"gpujoin.memory_limit": "1MB", "temp_file_limit": "100kB"}):
        with pytest.raises(psycopg.errors.DiskFull, match="GPUJOIN_ERROR_SPILL"):
            digest_of(connection, WIDE)
    assert digest_of(connection, JOIN)[0] == 60000


def test_memory_that_is_too_little(connection):
    """Without files there is nowhere to go."""
    with settings(connection, **FORCED, **{"gpujoin.memory_limit": "1MB", "temp_file_limit": "0"}):
        with pytest.raises(psycopg.errors.OutOfMemory, match="GPUJOIN_ERROR_MEMORY_LIMIT"):
            digest_of(connection, WIDE)
    with settings(connection, **FORCED):
        assert digest_of(connection, JOIN)[0] == 60000


def test_rows_too_wide_for_the_limit(connection):
    columns = ", ".join(f"i AS c{i}" for i in range(80))
    connection.execute(f"CREATE TEMP TABLE wide AS SELECT {columns} FROM generate_series(1, 99) i")
    with settings(connection, **FORCED, **{"gpujoin.memory_limit": "1MB"}):
        connection.execute("SELECT l.*, r.* FROM wide l JOIN wide r ON l.c1 = r.c1")
        assert re.match(r"gpujoin.memory_limit is less than 4096 rows of \d+ bytes",
                        decisions(connection)[0][2])


def test_cuda_where_there_is_none(connection):
    if connection.execute("SELECT device FROM gpujoin_device()").fetchone() != ("cpu",):
        pytest.skip("there is a GPU")
    with settings(connection, **FORCED, **{"gpujoin.device": "cuda"}):
        assert digest_of(connection, JOIN)[0] == 60000
        assert "CUDA" in decisions(connection)[0][2]
        with pytest.raises(psycopg.errors.ExternalRoutineException, match="NO_DEVICE"):
            connection.execute("SELECT * FROM gpujoin_device()")


@pytest.mark.parametrize("name, value", [
    ("memory_limit", "1kB"), ("device", "abacus"), ("threads", "-1"), ("force", "maybe"),
    ("nothing", "1"),
])
def test_settings_that_are_none(connection, name, value):
    if name == "nothing" and connection.info.server_version < 150000:
        pytest.skip("the server takes any name with a dot")
    with pytest.raises(psycopg.Error):
        connection.execute(f"SET gpujoin.{name} = '{value}'")


def test_parallel_query(connection):
    """Scans below the join are parallel; the join is not."""
    with settings(connection, **FORCED, **{
            "parallel_setup_cost": "0", "parallel_tuple_cost": "0",
            "min_parallel_table_scan_size": "0", "max_parallel_workers_per_gather": "2"}):
        plan = "\n".join(row[0] for row in connection.execute(
            "EXPLAIN SELECT count(*) FROM sa a JOIN sb b ON a.k = b.k WHERE sqrt(a.id) > 3"))
        assert plan.index("GPUJOIN") < plan.index("Gather"), plan
        got = digest_of(connection, JOIN)
    assert got == answer_of_postgres(connection, JOIN)
