"""Joins of every kind, key type and residual, against DuckDB's own answer."""

from __future__ import annotations

import pytest

from conftest import (MODES, VERSION, answer_of_duckdb, check_modes, check_taken, decisions, rows_of,
                      settings)

# Keys that both tables have, of every type that the library takes: name -> SQL of a number n that
# is NULL now and then.
KEYS = {
    "boolean": "n % 2 = 0",
    "tinyint": "(n % 100)::TINYINT",
    "usmallint": "n::USMALLINT",
    "integer": "(n * -3)::INTEGER",
    "bigint": "(n * 10000000000)::BIGINT",
    "ubigint": "(18446744073709551615 - n)::UBIGINT",
    "hugeint": "(n * 1000000000000000000000::HUGEINT)::HUGEINT",
    "uhugeint": "(n * 1000000000000000000000::HUGEINT)::UHUGEINT",
    "float": "CASE WHEN n % 50 = 0 THEN 'nan' WHEN n % 50 = 1 THEN '-0.0' WHEN n % 50 = 2 THEN '0' "
             "ELSE n::VARCHAR END::FLOAT",
    "double": "CASE WHEN n % 50 = 0 THEN 'nan' WHEN n % 50 = 1 THEN 'inf' "
              "ELSE n::VARCHAR END::DOUBLE",
    "decimal4": "(n % 99 / 100)::DECIMAL(4, 2)",
    "decimal9": "(n / 100)::DECIMAL(9, 2)",
    "decimal18": "(n / 1000)::DECIMAL(18, 3)",
    "decimal38": "(n * -1000000000000)::DECIMAL(38, 5)",
    "date": "DATE '1992-01-01' + n::INTEGER",
    "time": "TIME '00:00:01' + to_seconds(n)",
    "timestamp": "TIMESTAMP '1992-01-01' + to_hours(n)",
    "timestamptz": "TIMESTAMPTZ '1992-01-01 00:00:00+02' + to_hours(n)",
    "timestamp_ns": "(TIMESTAMP '1992-01-01' + to_hours(n))::TIMESTAMP_NS",
    "uuid": "md5(n::VARCHAR)::UUID",
    "enum": "(['red', 'green', 'blue'][n % 3 + 1])::colour",
    "varchar": "CASE WHEN n % 7 = 0 THEN '' ELSE 'a key of some length ' || n END",
    "blob": "('\\x00\\xff' || n)::BLOB",
}

ROWS = {"a": 5000, "b": 3000, "few": 40, "none": 0}


@pytest.fixture(scope="module", autouse=True)
def tables(connection):
    connection.execute("CREATE TYPE colour AS ENUM ('red', 'green', 'blue')")
    keys = ", ".join(f"{sql} AS {name}" for name, sql in KEYS.items())
    for seed, (table, rows) in enumerate(ROWS.items()):
        connection.execute(f"SELECT setseed({seed / 10})")
        connection.execute(f"""
            CREATE TABLE {table} AS
            SELECT {keys}, n, i AS id, (i * 7919) % 101 AS v, 'text ' || (i % 1000) AS t,
                   CASE WHEN i % 11 = 0 THEN NULL ELSE i % 23 END AS w,
                   repeat('x', (i % 40)::INTEGER) AS s, i % 3 = 0 AS f
            FROM (SELECT i, CASE WHEN random() < 0.05 THEN NULL
                                 ELSE (random() * 1500)::BIGINT END AS n
                  FROM range({rows}) AS r(i))""")
    connection.execute("""CREATE TABLE once AS
        SELECT i AS n, i AS w, 'text ' || i AS t FROM range(1000) AS r(i)""")


def modes_of(connection, sql, join_type=None):
    expected = answer_of_duckdb(connection, sql)
    for mode in MODES:
        check_taken(connection, sql, expected, mode, join_type)
    return expected


@pytest.mark.parametrize("key", KEYS)
def test_key_types(connection, key):
    # The key of a truth value or a colour has very many pairs.
    small = "WHERE id < 100" if key in ("boolean", "enum", "tinyint", "decimal4") else ""
    sources = f"(FROM a {small}) AS l", f"(FROM b {small}) AS r"
    for kind in ("JOIN", "LEFT JOIN", "FULL JOIN"):
        sql = f"""SELECT l.id, l.{key}::VARCHAR, l.t, r.id, r.{key}::VARCHAR, r.s
                  FROM {sources[0]} {kind} {sources[1]} ON l.{key} = r.{key}"""
        assert modes_of(connection, sql)


@pytest.mark.parametrize("key", KEYS)
def test_null_safe_keys(connection, key):
    sql = f"""SELECT l.id, l.{key}::VARCHAR, r.id FROM (FROM a WHERE id < 300) AS l
              LEFT JOIN (FROM b WHERE id < 300) AS r ON l.{key} IS NOT DISTINCT FROM r.{key}"""
    assert modes_of(connection, sql)


KINDS = {
    "inner": ("INNER", "SELECT a.id, a.t, b.id, b.s FROM a JOIN b ON {}"),
    "left": ("LEFT", "SELECT a.id, a.t, b.id, b.s FROM a LEFT JOIN b ON {}"),
    "right": ("RIGHT", "SELECT a.id, a.t, b.id, b.s FROM a RIGHT JOIN b ON {}"),
    "full": ("FULL", "SELECT a.id, a.t, b.id, b.s FROM a FULL JOIN b ON {}"),
    "semi": ("SEMI", "SELECT a.id, a.t, a.s FROM a SEMI JOIN b ON {}"),
    "anti": ("ANTI", "SELECT a.id, a.t, a.s FROM a ANTI JOIN b ON {}"),
    "right_semi": ("RIGHT_SEMI", "SELECT a.id, a.t FROM few AS a SEMI JOIN b ON {}"),
    "right_anti": ("RIGHT_ANTI", "SELECT a.id, a.t FROM few AS a ANTI JOIN b ON {}"),
}

CONDITIONS = {
    "one key": "a.n = b.n",
    "two keys": "a.n = b.n AND a.f = b.f",
    "four keys": "a.n = b.n AND a.varchar = b.varchar AND a.date = b.date AND a.f = b.f",
    "keys of expressions": "a.n + 1 = b.n * 2",
    "null-safe and not": "a.n IS NOT DISTINCT FROM b.n AND a.f = b.f",
    "less": "a.n = b.n AND a.v < b.v",
    "unequal": "a.n = b.n AND a.w <> b.w",
    "distinct": "a.n = b.n AND a.w IS DISTINCT FROM b.w",
    "text": "a.n = b.n AND a.s >= b.s",
    "decimals": "a.n = b.n AND a.decimal38 + 1 > b.decimal38 AND a.decimal9 <= b.decimal9",
    "either side": "a.n = b.n AND (a.v < 20 OR b.v > 60)",
    "a null test": "a.n = b.n AND (a.w IS NULL OR b.w > a.w)",
    "not": "a.n = b.n AND NOT (a.f AND b.f AND a.w < b.w)",
    "between": "a.n = b.n AND a.v BETWEEN b.w AND b.v",
    "of one side": "a.n = b.n AND a.v < 50 AND b.v > 20",
    "a range alone beside": "a.n = b.n AND a.double < b.double + 1",
}


OTHER_CONDITIONS = ("either side", "a null test", "not", "of one side")


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_kinds(connection, kind, condition):
    sql = KINDS[kind][1].format(CONDITIONS[condition])
    if VERSION < (2, 0) and kind != "inner" and condition in OTHER_CONDITIONS:
        check_modes(connection, sql)  # DuckDB makes a join without keys of it
    else:
        modes_of(connection, sql)


@pytest.mark.parametrize("kind", KINDS)
def test_kind_is_what_duckdb_plans(connection, kind):
    join_type, sql = KINDS[kind]
    modes_of(connection, sql.format("a.n = b.n"), join_type if kind != "right" else None)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sides", [("none", "b"), ("a", "none"), ("none", "none")])
def test_empty_sides(connection, kind, sides):
    sql = KINDS[kind][1].format("a.n = b.n")
    for name, table in zip("ab", sides):
        for clause in ("FROM", "JOIN"):
            sql = sql.replace(f"{clause} {name} ", f"{clause} {table} AS {name} ")
    modes_of(connection, sql.replace("few AS a", f"{sides[0]} AS a"))


MARKS = {
    "in": "SELECT id, n IN (SELECT n FROM b) FROM a",
    "in without nulls": "SELECT id, n IN (SELECT n FROM b WHERE n IS NOT NULL) FROM a",
    "in nothing": "SELECT id, n IN (SELECT n FROM none) FROM a",
    "in only nulls": "SELECT id, n IN (SELECT n FROM b WHERE n IS NULL) FROM a",
    "not in": "SELECT id FROM a WHERE n NOT IN (SELECT n FROM b WHERE id < 500)",
    "two columns": "SELECT id, (n, f) IN (SELECT (n, f) FROM b) FROM a",
    "in text": "SELECT id, varchar IN (SELECT varchar FROM b) FROM a",
    "in or": "SELECT id FROM a WHERE n IN (SELECT n FROM few) OR v < 5",
}


@pytest.mark.parametrize("mark", MARKS)
def test_marks(connection, mark):
    check_modes(connection, MARKS[mark])


def test_mark_joins_are_taken(connection):
    with settings(connection, gpujoin_force=True):
        rows_of(connection, MARKS["in"])
        assert ("MARK", True) in [(kind, taken) for taken, kind, _ in decisions(connection)]


def test_single(connection):
    sql = "SELECT id, (SELECT w FROM once WHERE once.n = a.n) FROM a"
    assert modes_of(connection, sql, "SINGLE")


def test_single_with_several_matches(connection):
    import duckdb

    sql = "SELECT id, (SELECT id FROM b WHERE b.n = a.n) FROM a"
    with settings(connection, gpujoin_force=True):
        with pytest.raises(duckdb.InvalidInputException, match="More than one row returned"):
            connection.execute(sql).fetchall()
        assert decisions(connection)[0][:2] == (True, "SINGLE")
        with settings(connection, scalar_subquery_error_on_multiple_rows=False):
            connection.execute(sql).fetchall()
            assert not any(taken for taken, _, _ in decisions(connection))


@pytest.mark.parametrize("sql", [
    "SELECT n, w FROM a INTERSECT SELECT n, w FROM b",
    "SELECT n, w FROM a EXCEPT SELECT n, w FROM b",
    "SELECT id FROM a WHERE EXISTS (FROM b WHERE b.n IS NOT DISTINCT FROM a.n AND b.v <> a.v)",
    "SELECT id FROM a WHERE NOT EXISTS (FROM b WHERE b.n = a.n AND b.w = a.w)",
    "SELECT id, EXISTS (FROM b WHERE b.n = a.n AND b.id < 300) FROM a",
    "SELECT id FROM a WHERE v > ALL (SELECT v FROM b WHERE b.n = a.n)",
    "SELECT id, (SELECT max(v) FROM b WHERE b.n = a.n) FROM a",
])
def test_subqueries_and_sets(connection, sql):
    check_modes(connection, sql)


def test_conditions_that_duckdb_evaluates(connection):
    sql = "SELECT a.id, b.id, b.t FROM a JOIN b ON a.n = b.n AND (a.v + b.v) % 3 = 0 AND a.t > b.t"
    assert modes_of(connection, sql, "INNER")


def test_rows_without_columns(connection):
    for kind, (_, sql) in KINDS.items():
        counted = "SELECT count(*)" + sql.format("a.n = b.n")[sql.index(" FROM") :]
        modes_of(connection, counted)


def test_wide_rows(connection):
    assert modes_of(connection, """SELECT COLUMNS(*)::VARCHAR FROM a JOIN b ON a.n = b.n
                                   WHERE a.id % 5 = 0""")


def test_joins_of_joins(connection):
    sql = """SELECT a.id, b.id, c.id, d.w FROM a JOIN b ON a.n = b.n LEFT JOIN few c ON b.v = c.v
             JOIN once d ON a.n = d.n WHERE a.id % 3 = 0"""
    assert modes_of(connection, sql)


def test_limit_stops_early(connection):
    with settings(connection, gpujoin_force=True):
        rows = connection.execute("SELECT a.id FROM a JOIN b ON a.f = b.f LIMIT 10").fetchall()
        assert len(rows) == 10


def test_prepared_statements_run_again(connection):
    with settings(connection, gpujoin_force=True):
        connection.execute(
            "PREPARE again AS SELECT count(*) FROM a JOIN b ON a.n = b.n WHERE a.v < $1")
        counts = [connection.execute(f"EXECUTE again({v})").fetchone() for v in (10, 90, 10)]
    with settings(connection, gpujoin_enable=False):
        for v, count in zip((10, 90, 10), counts):
            assert count == connection.execute(
                f"SELECT count(*) FROM a JOIN b ON a.n = b.n WHERE a.v < {v}").fetchone()


def test_statements_that_write(connection):
    with settings(connection, gpujoin_force=True):
        for statement, count in [
                ("CREATE TABLE written AS SELECT a.id, b.t FROM a JOIN b ON a.id = b.id", 3000),
                ("INSERT INTO written SELECT a.id, a.t FROM a SEMI JOIN few USING (id)", 40),
                ("UPDATE written SET t = few.s FROM few WHERE written.id = few.id", 80),
                ("DELETE FROM written USING b WHERE written.id = b.id AND b.id < 100", 140)]:
            assert connection.execute(statement).fetchone() == (count,)
            assert decisions(connection)[0][0], statement
    connection.execute("DROP TABLE written")


def test_keys_that_no_row_needs_are_not_computed(connection):
    """No row comes out, as the build side has none; the other side's keys have no value."""
    sql = """SELECT count(*) FROM (SELECT 'x' || count(*) AS t FROM few) l
             RIGHT JOIN none r ON l.t::BIGINT = r.n"""
    modes_of(connection, sql, "RIGHT")
