"""Joins of every kind, key type and condition, against PostgreSQL's own answer."""

from __future__ import annotations

import random

import pytest

from conftest import (MODES, answer_of_postgres, check_mode, check_modes, check_taken, decisions,
                      settings)

# Keys that both tables have, of every type that is taken: name -> type, SQL of a number n that is
# NULL now and then.
KEYS = {
    "boolean": "n % 2 = 0",
    "smallint": "(n - 700)::smallint",
    "integer": "(n * -3)::integer",
    "bigint": "(n * 10000000000)::bigint",
    "oid_": "(n + 4294960000)::oid",
    "char_": "chr((n % 90)::int + 32)::\"char\"",
    "real_": "CASE WHEN n % 50 = 0 THEN 'nan' WHEN n % 50 = 1 THEN '-0' WHEN n % 50 = 2 THEN '0' "
             "ELSE n::text END::real",
    "double_": "CASE WHEN n % 50 = 0 THEN 'nan' WHEN n % 50 = 1 THEN 'inf' ELSE n::text "
               "END::double precision",
    "numeric_": "CASE WHEN n % 50 = 0 THEN 'nan' WHEN n % 50 = 1 THEN '-inf' "
                "WHEN n % 3 = 0 THEN (n / 10) || '.500' ELSE (n / 10) || '.5' END::numeric",
    "money_": "(n / 7.0)::numeric::money",
    "date_": "date '1992-01-01' + n::integer",
    "time_": "time '00:00:01' + n * interval '1 second'",
    "timetz_": "(time '00:00:01' + n * interval '1 second')::timetz",
    "timestamp_": "timestamp '1992-01-01' + n * interval '1 hour'",
    "timestamptz_": "timestamptz '1992-01-01 00:00:00+02' + n * interval '1 hour'",
    "interval_": "CASE WHEN n % 2 = 0 THEN (n % 40) * interval '1 month' - interval '1 hour' "
                 "ELSE (n % 40) * interval '30 days' - interval '60 minutes' END",
    "uuid_": "md5(n::text)::uuid",
    "enum_": "(ARRAY['red', 'green', 'blue'])[n % 3 + 1]::colour",
    "name_": "('name ' || n)::name",
    "text_": "CASE WHEN n % 70 = 0 THEN '' ELSE 'a key of some length ' || n END",
    "long_": "repeat('a key of pages ' || n, 300)",
    "varchar_": "('key ' || n)::varchar(20)",
    "bpchar_": "('key ' || n || repeat(' ', (n % 3)::int))::char(12)",
    "bytea_": "('\\x00ff'::bytea || n::text::bytea)",
    "macaddr_": "('08:00:2b:01:02:' || lpad(to_hex(n % 256), 2, '0'))::macaddr",
}
# Very many pairs, or rows of pages.
SMALL = {"boolean", "enum_", "char_", "long_", "interval_", "macaddr_"}
ROWS = {"a": 3000, "b": 2500, "few": 40, "none": 0}


@pytest.fixture(scope="module", autouse=True)
def tables(connection):
    connection.execute("CREATE TYPE colour AS ENUM ('red', 'green', 'blue')")
    keys = ", ".join(f"{sql} AS {name}" for name, sql in KEYS.items())
    if connection.info.server_version < 140000:
        keys = keys.replace("'-inf'", "'nan'")  # numeric has no infinity there
    for seed, (table, rows) in enumerate(ROWS.items()):
        connection.execute(f"SELECT setseed({seed / 10})")
        connection.execute(f"""
            CREATE TABLE {table} AS
            SELECT {keys}, n, i AS id, (i * 7919) % 101 AS v, 'text ' || (i % 1000) AS t,
                   CASE WHEN i % 11 = 0 THEN NULL ELSE i % 23 END AS w,
                   repeat('x', i % 40) AS s, i % 3 = 0 AS f, ARRAY[i, i + 1] AS list,
                   CASE WHEN i % 5 = 0 THEN NULL ELSE i::numeric / 7 END AS d
            FROM (SELECT i, CASE WHEN random() < 0.05 THEN NULL
                                 ELSE (random() * 1500)::bigint END AS n
                  FROM generate_series(0, {rows} - 1) AS i) AS numbers""")
        connection.execute(f"ANALYZE {table}")
    yield
    connection.execute("DROP TABLE a, b, few, none; DROP TYPE colour")


@pytest.mark.parametrize("key", KEYS)
def test_key_types(connection, key):
    few = "WHERE id < 150" if key in SMALL else ""
    sides = f"(SELECT * FROM a {few}) l", f"(SELECT * FROM b {few}) r"
    for kind in ("JOIN", "LEFT JOIN", "FULL JOIN"):
        sql = f"""SELECT l.id, l.{key}::text, l.t, r.id, r.{key}::text, r.s
                  FROM {sides[0]} {kind} {sides[1]} ON l.{key} = r.{key}"""
        assert check_modes(connection, sql)


@pytest.mark.parametrize("left, right", [
    ("smallint", "integer"), ("integer", "bigint"), ("bigint", "smallint"),
    ("real_", "double_"), ("text_", "varchar_"), ("name_", "text_"),
])
def test_keys_of_two_types(connection, left, right):
    sql = f"""SELECT l.id, l.{left}::text, r.id, r.{right}::text FROM a l
              LEFT JOIN b r ON l.{left} = r.{right}"""
    assert check_modes(connection, sql)


KINDS = {
    "inner": ({"inner"}, "SELECT a.id, a.t, b.id, b.s FROM a JOIN b ON {}"),
    "left": ({"left", "right"}, "SELECT a.id, a.t, b.id, b.s FROM a LEFT JOIN b ON {}"),
    "right": (None, "SELECT a.id, a.t, b.id, b.d FROM few AS a RIGHT JOIN b ON {}"),
    "full": ({"full"}, "SELECT a.id, a.d, b.id, b.s FROM a FULL JOIN b ON {}"),
    "semi": ({"semi"}, "SELECT a.id, a.t, a.s FROM a WHERE EXISTS (SELECT FROM b WHERE {})"),
    "anti": ({"anti"}, "SELECT a.id, a.t, a.d FROM a WHERE NOT EXISTS (SELECT FROM b WHERE {})"),
    "few semi": ({"semi", "right semi"},
                 "SELECT a.id FROM few a WHERE EXISTS (SELECT FROM b WHERE {})"),
    "few anti": ({"anti", "right anti"},
                 "SELECT a.id FROM few a WHERE NOT EXISTS (SELECT FROM b WHERE {})"),
}

# Whether a full join may have it: PostgreSQL has none with other conditions than equal keys.
CONDITIONS = {
    "one key": ("a.n = b.n", True),
    "two keys": ("a.n = b.n AND a.f = b.f", True),
    "four keys": ("a.n = b.n AND a.text_ = b.text_ AND a.date_ = b.date_ AND a.f = b.f", True),
    "keys of expressions": ("a.n + 1 = b.n * 2 AND upper(a.t) = upper(b.t)", True),
    "less": ("a.n = b.n AND a.v < b.v", False),
    "unequal": ("a.n = b.n AND a.w <> b.w", False),
    "distinct": ("a.n = b.n AND a.w IS DISTINCT FROM b.w", False),
    "text": ("a.n = b.n AND a.s >= b.s", False),
    "of both": ("a.n = b.n AND (a.v + b.v) % 3 = 0", False),
    "either side": ("a.n = b.n AND (a.v < 20 OR b.v > 60)", False),
    "a null test": ("a.n = b.n AND (a.w IS NULL OR b.w > a.w)", False),
    "of one side": ("a.n = b.n AND a.v < 50 AND b.v > 20", False),
    "numbers": ("a.n = b.n AND a.d < b.d * 2", False),
    "always false": ("a.n = b.n AND a.v + b.v < 0", False),
}


@pytest.mark.parametrize("kind, condition", [
    (kind, name) for kind in KINDS for name, (_, is_for_full) in CONDITIONS.items()
    if is_for_full or kind != "full"])
def test_kinds(connection, kind, condition):
    types, sql = KINDS[kind]
    check_modes(connection, sql.format(CONDITIONS[condition][0]), types)


@pytest.mark.parametrize("kind, condition", [
    (kind, condition) for kind in KINDS for condition in ("a.n = b.n", "a.n = b.n AND a.v < b.v")
    if kind != "full" or "<" not in condition])
@pytest.mark.parametrize("sides", [("none", "b"), ("a", "none"), ("none", "none")])
def test_empty_sides(connection, kind, sides, condition):
    sql = KINDS[kind][1].format(condition)
    sql = sql.replace("few AS a", "a").replace("few a", "a")
    for name, table in zip("ab", sides):
        for clause in ("FROM", "JOIN"):
            sql = sql.replace(f"{clause} {name} ", f"{clause} {table} AS {name} ")
    check_modes(connection, sql)


def test_random_joins(connection):
    seed = random.randrange(1 << 30)
    print("seed", seed)
    chosen = random.Random(seed)
    for _ in range(40):
        keys = chosen.sample(sorted(set(KEYS) - {"boolean", "enum_", "long_"}), chosen.randint(1, 3))
        kind = chosen.choice(sorted(KINDS))
        conditions = [f"a.{key} = b.{key}" for key in keys]
        if kind != "full" and chosen.random() < 0.5:
            conditions.append(chosen.choice(["a.v < b.v", "a.w <> b.w", "a.d > b.d", "a.t < b.t"]))
        limits = [f"a.id < {chosen.choice([10, 300, 5000])}", f"b.v < {chosen.choice([20, 200])}"]
        sql = KINDS[kind][1].format(" AND ".join(conditions))
        for name, limit in zip("ab", limits):
            sql = sql.replace(f" FROM {name} ", f" FROM (SELECT * FROM {name} WHERE {limit}) {name} ")
        mode = chosen.choice(sorted(MODES))
        check_taken(connection, sql, answer_of_postgres(connection, sql), mode)


@pytest.mark.parametrize("sql", [
    "SELECT id FROM a WHERE n IN (SELECT n FROM b)",
    "SELECT id FROM a WHERE (n, f) IN (SELECT n, f FROM b)",
    "SELECT id FROM a WHERE n NOT IN (SELECT n FROM b WHERE id < 50 AND n > 0)",
    "SELECT id, (SELECT max(v) FROM b WHERE b.n = a.n) FROM a WHERE id < 50",
    "SELECT id, (SELECT count(*) FROM b JOIN few ON b.v = few.v AND b.n = a.n) FROM a "
    "WHERE id < 50",
    "SELECT a.id, x.c FROM a, LATERAL (SELECT count(*) AS c FROM b JOIN few f ON b.v = f.v "
    "WHERE b.w = a.w) x WHERE a.id < 60",
    "SELECT a.id, x.id FROM few a LEFT JOIN LATERAL (SELECT b.id FROM b JOIN few f ON b.v = f.v + "
    "a.w) x ON true",
    "SELECT a.id, b.id, c.id, d.w FROM a JOIN b ON a.n = b.n LEFT JOIN few c ON b.v = c.v "
    "JOIN few d ON a.v = d.v WHERE a.id % 3 = 0",
    "SELECT a.*, b.list FROM a JOIN b ON a.n = b.n WHERE a.id % 7 = 0",
    "SELECT a, b FROM a JOIN b ON a.n = b.n WHERE a.id % 17 = 0",
    "SELECT count(*) FROM a JOIN b USING (n)",
    "SELECT count(*) FROM few RIGHT JOIN b USING (n)",
    "SELECT a.f, count(*), sum(b.v) FROM a LEFT JOIN b ON a.n = b.n GROUP BY a.f",
    "SELECT count(b.d) OVER (PARTITION BY a.w) FROM a JOIN b ON a.n = b.n WHERE a.id < 500",
    "WITH RECURSIVE r(id, depth) AS (SELECT id, 1 FROM few UNION SELECT b.id, depth + 1 FROM r "
    "JOIN b ON b.v = r.id WHERE depth < 3) SELECT * FROM r",
    "SELECT coalesce(x.t, 'none') FROM a LEFT JOIN (SELECT n, 'from ' || t AS t FROM b) x "
    "ON a.n = x.n",
    "SELECT a.id FROM a JOIN b ON a.n = b.n ORDER BY a.id, b.id LIMIT 20",
    # Columns that outer joins above and below may make NULL.
    "SELECT x.s, a.id, y.s FROM a LEFT JOIN b x ON a.n = x.n LEFT JOIN few y ON x.v = y.v "
    "WHERE y.id IS NULL AND a.id < 900",
    "SELECT a.id, coalesce(x.u, 'none'), x.w FROM a LEFT JOIN (SELECT b.n, b.w, b.t || f.t AS u "
    "FROM b LEFT JOIN few f ON b.v = f.v) x ON a.n = x.n",
    "SELECT few.id, x.v FROM few FULL JOIN (SELECT b.n, coalesce(b.v, 0) AS v FROM b RIGHT JOIN a "
    "ON a.n = b.n WHERE a.id < 500) x USING (n) WHERE x.v IS NULL OR few.v > 3",
    "SELECT f.id, x.c, x.v FROM few f LEFT JOIN (SELECT a.w, count(*) AS c, max(b.v) AS v FROM a "
    "LEFT JOIN b ON a.n = b.n GROUP BY a.w) x ON f.w = x.w AND f.v < x.c",
])
def test_queries(connection, sql):
    expected = answer_of_postgres(connection, sql)
    assert expected[0] != 0
    for mode in MODES:
        check_mode(connection, sql, expected, mode)


def test_genetic_optimizer(connection):
    sql = ("SELECT a.id, b.id, c.id, d.id, e.id FROM few a JOIN b ON a.n = b.n JOIN few c "
           "ON b.v = c.v LEFT JOIN few d ON c.w = d.w JOIN few e ON a.v = e.v "
           "WHERE EXISTS (SELECT FROM b x WHERE x.n = a.n) AND d.id < b.id")
    with settings(connection, geqo_threshold="2"):
        expected = answer_of_postgres(connection, sql)
        for mode in MODES:
            check_mode(connection, sql, expected, mode)


def test_statements_that_write(connection):
    with settings(connection, **{"gpujoin.force": "on"}):
        connection.execute("CREATE TABLE written AS SELECT a.id, b.t FROM a JOIN b ON a.id = b.id")
        for statement, count in [
                ("INSERT INTO written SELECT a.id, a.t FROM a WHERE EXISTS "
                 "(SELECT FROM few WHERE few.id = a.id)", 40),
                ("UPDATE written SET t = few.s FROM few WHERE written.id = few.id", 80),
                ("DELETE FROM written USING b WHERE written.id = b.id AND b.id < 100", 140)]:
            assert connection.execute(statement).rowcount == count
            assert decisions(connection)[0][0], statement
    assert connection.execute("SELECT count(*) FROM written").fetchone() == (2400,)
    connection.execute("DROP TABLE written")


def test_partitions(connection):
    connection.execute("CREATE TABLE parted (id int, n bigint, v int) PARTITION BY RANGE (n);"
                       "CREATE TABLE low PARTITION OF parted FOR VALUES FROM (MINVALUE) TO (700);"
                       "CREATE TABLE high PARTITION OF parted FOR VALUES FROM (700) TO (MAXVALUE);"
                       "INSERT INTO parted SELECT id, n, v FROM a WHERE n IS NOT NULL")
    join = "SELECT l.id, r.v FROM parted l {} JOIN parted r ON l.n = r.n"
    with settings(connection, enable_partitionwise_join="on"):
        for kind in ("", "LEFT", "FULL"):
            assert check_modes(connection, join.format(kind))
        depends = ("SELECT l.id, x.c FROM parted l LEFT JOIN LATERAL (SELECT r.n, s.v + l.v AS c "
                   "FROM parted r JOIN parted s ON r.n = s.n) x ON l.n = x.n WHERE l.id < 200")
        expected = answer_of_postgres(connection, depends)
        for mode in MODES:
            check_mode(connection, depends, expected, mode)
    with settings(connection, **{"gpujoin.force": "on"}):
        connection.execute("EXPLAIN (VERBOSE) UPDATE parted SET v = b.v FROM b "
                           "WHERE parted.n = b.n")
        # Before 14 each partition is a target of its own.
        [(taken, _, reason), *_] = decisions(connection)
        assert taken == (connection.info.server_version < 140000)
        assert taken or reason == "one side is a target with children, which rows are written to"
    connection.execute("DROP TABLE parted")


def test_cursor_that_scrolls(connection):
    sql = "SELECT a.id, b.id FROM a JOIN b ON a.n = b.n"
    with settings(connection, **{"gpujoin.force": "on"}):
        with connection.transaction():
            connection.execute(f"DECLARE c SCROLL CURSOR FOR {sql}")
            first = connection.execute("FETCH 100 FROM c").fetchall()
            back = connection.execute("FETCH BACKWARD 99 FROM c").fetchall()
    assert len(first) == 100 and back == first[98::-1]


def test_prepared_statements_run_again(connection):
    with settings(connection, **{"gpujoin.force": "on", "plan_cache_mode": "force_generic_plan"}):
        connection.execute("PREPARE again(int) AS SELECT count(*) FROM a JOIN b ON a.n = b.n "
                           "WHERE a.v < $1")
        counts = [connection.execute(f"EXECUTE again({v})").fetchone() for v in (10, 90, 10)]
    with settings(connection, **{"gpujoin.enable": "off"}):
        for v, count in zip((10, 90, 10), counts):
            assert count == connection.execute(
                f"SELECT count(*) FROM a JOIN b ON a.n = b.n WHERE a.v < {v}").fetchone()
    connection.execute("DEALLOCATE again")
