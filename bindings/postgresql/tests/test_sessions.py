"""Queries that are cancelled, that run again and again, or fail; several sessions; a library that is
another one."""

from __future__ import annotations

import concurrent.futures
import pathlib
import re
import subprocess
import threading
import time

import psycopg
import pytest

from conftest import FOLDER, Server, answer_of_postgres, decisions, digest_of, settings

FORCED = {"gpujoin.force": "on"}
# Very many pairs: seconds in the library alone.
ENDLESS = "SELECT count(*) FROM ta a JOIN tb b ON a.one = b.one"


@pytest.fixture(scope="module", autouse=True)
def tables(connection):
    for table, rows in (("ta", 200000), ("tb", 100000)):
        connection.execute(f"""
            CREATE TABLE {table} AS SELECT i AS id, i % 5000 AS k, 1 AS one, i::text AS t
            FROM generate_series(1, {rows}) AS i""")
        connection.execute(f"CREATE TABLE {table}_few AS SELECT * FROM {table} LIMIT 200")
        connection.execute(f"ANALYZE {table}, {table}_few")
    yield
    connection.execute("DROP TABLE ta, tb, ta_few, tb_few")


def joins_now(own):
    own.execute("SET gpujoin.force = on")
    own.execute("SET max_parallel_workers_per_gather = 0")


def milliseconds_until_cancelled(server, after: float, cancel, sql=ENDLESS, **values) -> float:
    """Of one that is over before, 0."""
    with server.connect() as own:
        joins_now(own)
        for name, value in values.items():
            own.execute(f"SET {name} = '{value}'")
        started = []

        def later():
            time.sleep(after)
            started.append(time.monotonic())
            cancel(own)

        thread = threading.Thread(target=later)
        thread.start()
        try:
            own.execute(sql)
            ended = 0.0
        except (psycopg.errors.QueryCanceled, psycopg.errors.AdminShutdown):
            ended = time.monotonic()
        thread.join()
        if not own.broken and ended != 0:
            assert own.execute("SELECT memory_used < 1 << 28 FROM gpujoin_device()").fetchone()[0]
            assert digest_of(own, "SELECT a.id FROM ta a JOIN tb b ON a.id = b.id")[0] == 100000
    return 1000 * (ended - started[0]) if ended != 0 else 0.0


@pytest.fixture(scope="module")
def wide(connection):
    """In half a second so many bytes come that the library begins to write them to files."""
    connection.execute("""CREATE UNLOGGED TABLE wide AS SELECT i AS id, repeat('x', 900) || i AS t
        FROM generate_series(1, 400000) AS i""")
    connection.execute("ANALYZE wide")
    yield
    connection.execute("DROP TABLE wide")


CANCELLED = {
    "very many pairs": (ENDLESS, {}, 0.1),
    "pairs through files": (ENDLESS, {"gpujoin.memory_limit": "2MB"}, 0.1),
    # Of 256 MiB half go to a file when they are full, after all were partitioned.
    "a large build": ("SELECT count(*), max(a.t || b.t) FROM wide a JOIN wide b USING (id)",
                      {"gpujoin.memory_limit": "2GB"}, 0.05),
}


@pytest.mark.parametrize("name", CANCELLED)
def test_cancelled(server, wide, name):
    """Within 100 ms, at 24 moments. A machine that has no time may be late, but not again and again
    at one moment, nor later than PostgreSQL's own hash join."""
    sql, values, step = CANCELLED[name]
    own_join = {"gpujoin.enable": "off", "enable_mergejoin": "off", "enable_nestloop": "off"}

    def cancelled(after, **more):
        return milliseconds_until_cancelled(server, after, lambda own: own.cancel(), sql, **values,
                                            **more)

    took = []
    for moment in range(24):
        after = 0.02 + moment % 12 * step + moment // 12 * step / 2
        took.append(cancelled(after))
        for _ in range(4):
            if took[-1] >= 100:
                took[-1] = min(took[-1], cancelled(after))
        if took[-1] >= 100:
            own = cancelled(after, **own_join)
            assert took[-1] < 2 * own, (after, own, took)
    print("milliseconds", name, sorted(map(round, took)))
    assert sum(time > 0 for time in took) >= 12, took


def test_session_that_is_ended(server, connection):
    def end(own):
        connection.execute("SELECT pg_terminate_backend(%s)", [own.info.backend_pid])

    took = milliseconds_until_cancelled(server, 0.5, end)
    assert took < 1000


def test_statement_timeout(server):
    with server.connect() as own:
        joins_now(own)
        own.execute("SET statement_timeout = 400")
        began = time.monotonic()
        with pytest.raises(psycopg.errors.QueryCanceled, match="statement timeout"):
            own.execute(ENDLESS)
        assert time.monotonic() - began < 3


def resident(pid: int) -> int:
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", status).group(1))


@pytest.mark.parametrize("kept", [True, False])
def test_rescans(server, kept):
    """Memory after 1000 rescans is that of some: of PostgreSQL's contexts, and of the process."""
    inner = "t.id % 7 = 3" if kept else "t.id % 7 = p.i % 7"
    sql = f"""SELECT sum(c) FROM generate_series(1, $times) AS p(i), LATERAL (
                SELECT count(s.t || t.t) AS c FROM (SELECT * FROM tb_few OFFSET 0) t
                JOIN (SELECT * FROM ta_few OFFSET 0) s
                ON s.id = t.id {'' if kept else '+ p.i'} AND s.t <= t.t || p.i
                WHERE {inner} OFFSET 0) x"""

    def repeated(times):
        return sql.replace("$times", str(times))

    with server.connect() as own:
        joins_now(own)
        plan = "\n".join(row[0] for row in own.execute("EXPLAIN " + repeated(1000)))
        assert "GPUJOIN" in plan
        with settings(own, **{"gpujoin.enable": "off"}):
            expected = own.execute(repeated(1000)).fetchone()
        own.execute(repeated(200))
        before = resident(own.info.backend_pid)
        assert own.execute(repeated(1000)).fetchone() == expected
        grown = resident(own.info.backend_pid) - before
        assert grown < 4000, grown
        if own.info.server_version < 140000:
            return  # the view below is not there
        # As the query runs: its contexts with all that it has, at the last of the rescans.
        own.execute("""CREATE OR REPLACE FUNCTION pg_temp.bytes() RETURNS bigint LANGUAGE sql AS
            'SELECT sum(total_bytes)::bigint FROM pg_backend_memory_contexts'""")
        watched = f"""SELECT p.i, pg_temp.bytes(), x.c FROM generate_series(1, 1000) AS p(i), LATERAL (
            {sql[sql.index("SELECT count"):sql.rindex(") x")]}) x
            WHERE p.i IN (200, 1000) OR x.c < 0"""
        (_, early, _), (_, late, _) = own.execute(watched).fetchall()
        assert late - early < 100000, (early, late)


def test_error_in_the_middle(connection):
    sql = ("SELECT count(*) FROM ta a LEFT JOIN tb b ON a.k = b.k AND a.id / (b.id - 70000) > 1 "
           "WHERE a.id < 20000")
    with settings(connection, **FORCED):
        for _ in range(3):
            with pytest.raises(psycopg.errors.DivisionByZero):
                connection.execute(sql)
        with connection.transaction():
            for _ in range(3):
                with pytest.raises(psycopg.errors.DivisionByZero), connection.transaction():
                    connection.execute(sql)
        assert digest_of(connection, "SELECT a.id FROM ta a JOIN tb b USING (id)")[0] == 100000
        used = connection.execute("SELECT memory_used FROM gpujoin_device()").fetchone()[0]
        assert used < 1 << 28


def test_cursors_that_are_left(connection):
    with settings(connection, **FORCED):
        for _ in range(20):
            with connection.transaction():
                connection.execute("DECLARE c CURSOR FOR SELECT a.t FROM ta a JOIN tb b USING (id)")
                assert len(connection.execute("FETCH 10 FROM c").fetchall()) == 10


def test_sessions_side_by_side(server, connection):
    queries = ["SELECT a.id, b.t FROM ta a LEFT JOIN tb b ON a.id = b.id",
               "SELECT a.id FROM ta a WHERE NOT EXISTS (SELECT FROM tb b WHERE b.id = a.id)",
               "SELECT a.t, b.t FROM ta a JOIN tb b ON a.t = b.t AND a.k > 100"]
    expected = [answer_of_postgres(connection, sql) for sql in queries]

    def run(number):
        with server.connect() as own:
            joins_now(own)
            own.execute(f"SET gpujoin.memory_limit = '{2 if number % 2 else 64}MB'")
            return number % 3, digest_of(own, queries[number % 3])

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        for number, got in pool.map(run, range(12)):
            assert got == expected[number]


def rows_after_a_change(server, connection, **values):
    connection.execute("CREATE TABLE stock AS SELECT i AS id, 0 AS n, i % 3 AS kind "
                       "FROM generate_series(1, 100) i")
    connection.execute("CREATE TABLE kinds AS SELECT i AS kind, 10 * i AS more "
                       "FROM generate_series(0, 2) i")
    connection.execute("ANALYZE stock, kinds")
    update = "UPDATE stock SET n = n + more FROM kinds WHERE kinds.kind = stock.kind"
    with server.connect() as first, server.connect() as second, \
            concurrent.futures.ThreadPoolExecutor(1) as pool, settings(second, **values):
        with first.transaction():
            first.execute("UPDATE stock SET n = 5 WHERE id IN (1, 2)")
            first.execute("UPDATE stock SET kind = 2, n = 5 WHERE id = 4")
            first.execute("DELETE FROM stock WHERE id = 9")
            waiting = pool.submit(second.execute, update)
            time.sleep(0.5)
            assert not waiting.done()
        waiting.result()
        made = decisions(second)
    rows = connection.execute("SELECT id, n FROM stock ORDER BY id").fetchall()
    connection.execute("DROP TABLE stock, kinds")
    return rows, made


def test_row_that_changed_meanwhile(server, connection):
    """READ COMMITTED joins the new version of a row again (EvalPlanQual)."""
    expected, _ = rows_after_a_change(server, connection, **{"gpujoin.enable": "off"})
    rows, made = rows_after_a_change(server, connection, **FORCED)
    assert rows == expected
    assert rows[:4] == [(1, 15), (2, 25), (3, 0), (4, 5)] and len(rows) == 99
    assert made[0][0]


@pytest.fixture(scope="module")
def other_library():
    """Of an older version, with everything that the extension asks for."""
    folder = FOLDER / "other"
    folder.mkdir(exist_ok=True)
    extension = next((FOLDER / "server").rglob("gpujoin.so"))
    symbols = subprocess.run(["nm", "-D", extension], capture_output=True, text=True,
                             check=True).stdout
    names = re.findall(r" U (gpujoin_\w+)", symbols)
    assert "gpujoin_build_create" in names
    lines = [f"int {name}(void) {{ return {100 if name == 'gpujoin_version_number' else 15}; }}"
             for name in names if name != "gpujoin_version_string"]
    lines.append('const char* gpujoin_version_string(void) { return "0.1.0"; }')
    (folder / "other.c").write_text("\n".join(lines))
    version = re.search(r" U gpujoin_\w+@+(\w+)", symbols).group(1)
    (folder / "other.map").write_text(version + " { global: *; };")
    subprocess.run(["cc", "-shared", "-fPIC", "-Wl,-soname,libgpujoin.so.0",
                    f"-Wl,--version-script={folder / 'other.map'}", "-o",
                    folder / "libgpujoin.so.0", folder / "other.c"], check=True)
    return folder


def test_other_version(other_library):
    server = Server("older", environment={"LD_LIBRARY_PATH": str(other_library)})
    try:
        with server.connect() as own:
            own.execute("CREATE EXTENSION gpujoin")
            own.execute("SET gpujoin.force = on")
            rows = own.execute("SELECT count(*) FROM generate_series(1, 9) a JOIN "
                               "generate_series(5, 20) b ON a = b").fetchone()
            assert rows == (5,)
            assert decisions(own) == [(False, "inner", "the library is version 0.1.0, the extension "
                                       "was built for 0.2.0")]
            with pytest.raises(psycopg.errors.ExternalRoutineException, match="version 0.1.0"):
                own.execute("SELECT * FROM gpujoin_device()")
    finally:
        server.stop()


def test_no_library(server, tmp_path):
    """An extension whose library is not there is PostgreSQL's error, as any that can't be loaded."""
    library = FOLDER / "library" / "libgpujoin.so.0"
    away = library.with_suffix(".away")
    library.rename(away)
    try:
        with pytest.raises(psycopg.OperationalError, match="libgpujoin.so.0"):
            server.connect()
    finally:
        away.rename(library)
    with server.connect() as own:
        own.execute("SELECT gpujoin_version()")
