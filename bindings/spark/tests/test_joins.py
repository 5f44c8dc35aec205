"""Joins of every kind, key type and residual, against Spark's own answer."""

from __future__ import annotations

import re

import pytest

from conftest import INTERPRETED, MODES, answer_of_spark, check_taken, decisions, rows_of, settings

# Keys that both tables have, of every type that is taken: SQL of a number n, NULL now and then.
KEYS = {
    "boolean": "n % 2 = 0",
    "tinyint": "cast(n % 100 AS TINYINT)",
    "smallint": "cast(n AS SMALLINT)",
    "int": "cast(n * -3 AS INT)",
    "bigint": "n * 10000000000",
    "float": "cast(CASE WHEN n % 50 = 0 THEN 'NaN' WHEN n % 50 = 1 THEN '-0.0' "
             "WHEN n % 50 = 2 THEN '0' ELSE cast(n AS STRING) END AS FLOAT)",
    "double": "cast(CASE WHEN n % 50 = 0 THEN 'NaN' WHEN n % 50 = 1 THEN 'Infinity' "
              "ELSE cast(n AS STRING) END AS DOUBLE)",
    "decimal4": "cast(n % 99 / 100 AS DECIMAL(4, 2))",
    "decimal18": "cast(n AS DECIMAL(18, 3)) / 1000",
    "decimal38": "cast(n * -1000000000000 AS DECIMAL(38, 5))",
    "date": "date_add(DATE '1992-01-01', cast(n AS INT))",
    "timestamp": "TIMESTAMP '1992-01-01' + make_interval(0, 0, 0, 0, cast(n AS INT))",
    "timestamp_ntz": "TIMESTAMP_NTZ '1992-01-01' + make_interval(0, 0, 0, 0, cast(n AS INT))",
    "year_month": "make_ym_interval(cast(n AS INT), 1)",
    "day_time": "make_dt_interval(cast(n AS INT), 1)",
    "string": "CASE WHEN n % 7 = 0 THEN '' ELSE 'a key of some length ' || n END",
    "binary": "cast('\\0' || n AS BINARY)",
}
FEW = ("boolean", "tinyint", "decimal4")  # values, so that there are very many pairs

ROWS = {"a": 1500, "b": 1000, "few": 40, "none": 0}


@pytest.fixture(scope="module", autouse=True)
def tables(spark):
    keys = ", ".join(f"{sql} AS `{name}`" for name, sql in KEYS.items())
    for seed, (table, rows) in enumerate(ROWS.items()):
        spark.sql(f"""
            CACHE TABLE {table} AS
            SELECT {keys}, n, i AS id, (i * 7919) % 101 AS v, 'text ' || (i % 1000) AS t,
                   CASE WHEN i % 11 = 0 THEN NULL ELSE cast(i % 23 AS INT) END AS w,
                   repeat('x', cast(i % 40 AS INT)) AS s, i % 3 = 0 AS f,
                   cast(i AS DECIMAL(12, 2)) AS d, make_interval(1, 2, 0, cast(i AS INT)) AS c
            FROM (SELECT id AS i, CASE WHEN rand({seed}) < 0.05 THEN NULL
                                       ELSE cast(rand({seed + 100}) * 600 AS BIGINT) END AS n
                  FROM range(0, {rows}, 1, 2))""")
    spark.sql("""CACHE TABLE once AS
                 SELECT id AS n, cast(id AS INT) AS w, 'text ' || id AS t FROM range(1000)""")
    with settings(spark, INTERPRETED):
        yield
    spark.catalog.clearCache()


def together(parts: dict[str, str]) -> str:
    """A query of several, each row with the name of its own: a job takes longer than its joins."""
    return " UNION ALL ".join(f"(SELECT '{name}' AS part, * FROM ({sql}))"
                              for name, sql in parts.items())


@pytest.mark.parametrize("kind, mode", [
    ("INNER", "shuffled"), ("LEFT", "broadcast-static-2MiB"), ("FULL", "shuffled-static-2MiB")])
def test_key_types(spark, kind, mode):
    parts = {}
    for key in KEYS:
        small = "WHERE id < 60" if key in FEW else ""
        parts[key] = f"""SELECT l.id, cast(l.`{key}` AS STRING), l.t, r.id AS r_id,
                                cast(r.`{key}` AS STRING) AS r_key, r.s
                         FROM (SELECT * FROM a {small}) AS l
                         {kind} JOIN (SELECT * FROM b {small}) AS r ON l.`{key}` = r.`{key}`"""
    expected = check_taken(spark, together(parts), [mode])
    assert {re.search("part='(.*?)'", row)[1] for row in expected} == set(KEYS)


@pytest.mark.parametrize("mode", ["shuffled", "broadcast"])
def test_null_safe_keys(spark, mode):
    assert check_taken(spark, together({
        key: f"""SELECT l.id, cast(l.`{key}` AS STRING), r.id AS r_id
                 FROM (SELECT * FROM a WHERE id < 150) AS l LEFT JOIN
                      (SELECT * FROM b WHERE id < 150) AS r ON l.`{key}` <=> r.`{key}`"""
        for key in KEYS}), [mode])


PAIRS = "SELECT a.id, a.t, b.id AS b_id, b.s FROM a {} JOIN b ON "
KINDS = {
    "inner": ("Inner", PAIRS.format("")),
    "left": ("LeftOuter", PAIRS.format("LEFT")),
    "right": ("RightOuter", PAIRS.format("RIGHT")),
    "full": ("FullOuter", PAIRS.format("FULL")),
    "semi": ("LeftSemi", "SELECT a.id, a.t, a.s FROM a SEMI JOIN b ON "),
    "anti": ("LeftAnti", "SELECT a.id, a.t, a.s FROM a ANTI JOIN b ON "),
    "small left semi": ("LeftSemi", "SELECT a.id, a.t FROM few AS a SEMI JOIN b ON "),
    "small left anti": ("LeftAnti", "SELECT a.id, a.t FROM few AS a ANTI JOIN b ON "),
    "small left left": ("LeftOuter", "SELECT a.id, b.s FROM few AS a LEFT JOIN b ON "),
    "existence": ("Existence", "SELECT a.id, a.t FROM a WHERE a.v < 20 OR "
                               "EXISTS (SELECT 1 FROM b WHERE "),
    "not existence": ("Existence", "SELECT a.id FROM a WHERE a.v < 20 OR "
                                   "NOT EXISTS (SELECT 1 FROM b WHERE "),
}

CONDITIONS = {
    "one key": "a.n = b.n",
    "two keys": "a.n = b.n AND a.f = b.f",
    "four keys": "a.n = b.n AND a.string = b.string AND a.date = b.date AND a.f = b.f",
    "keys of expressions": "a.n + 1 = b.n * 2",
    "null-safe and not": "a.n <=> b.n AND a.f = b.f",
    "less": "a.n = b.n AND a.v < b.v",
    "unequal": "a.n = b.n AND a.w <> b.w",
    "distinct": "a.n = b.n AND NOT (a.w <=> b.w)",
    "text": "a.n = b.n AND a.s >= b.s",
    "decimals": "a.n = b.n AND a.d * 2 > b.decimal18 AND a.decimal38 <= b.decimal38",
    "arithmetic of both": "a.n = b.n AND a.v + b.v < 90 AND a.double * b.double > 5",
    "either side": "a.n = b.n AND (a.v < 20 OR b.v > 60)",
    "a null test": "a.n = b.n AND (a.w IS NULL OR b.w > a.w)",
    "not": "a.n = b.n AND NOT (a.f AND b.f AND a.w < b.w)",
    "between": "a.n = b.n AND a.v BETWEEN b.w AND b.v",
    "in": "a.n = b.n AND a.w IN (b.w, b.w + 1, 7, 9)",
    "case": "a.n = b.n AND CASE WHEN a.f THEN b.f ELSE a.v > b.v END",
    "coalesce": "a.n = b.n AND coalesce(a.w, b.w, 3) < 12",
    "literals": "a.n = b.n AND (a.t = 'text 7' OR b.date > DATE '1993-01-01' OR a.d < b.d)",
    "functions of a side": "a.n = b.n AND (upper(a.t) < upper(b.t) OR b.s LIKE 'xxx%')",
    "of one side": "a.n = b.n AND a.v < 50 AND b.v > 20",
}


def join_of(kind: str, condition: str) -> str:
    join_type, sql = KINDS[kind]
    return sql + condition + ")" * (join_type == "Existence")


@pytest.mark.parametrize("kind", KINDS)
def test_kinds(spark, kind):
    parts = {name: join_of(kind, condition) for name, condition in CONDITIONS.items()}
    mode = list(MODES)[list(KINDS).index(kind) % len(MODES)]
    check_taken(spark, together(parts), [mode], KINDS[kind][0])


@pytest.mark.parametrize("mode", MODES)
def test_kinds_in_every_mode(spark, mode):
    parts = {}
    for kind in KINDS:
        sql = join_of(kind, "a.n = b.n AND a.v < b.v")
        # Spark prunes columns where nothing is put out but counts.
        parts[kind] = f"SELECT count(*), sum(hash(*)) AS h FROM ({sql})"
        parts["rows of " + kind] = f"SELECT count(*), 0 AS h FROM ({sql})"
    check_taken(spark, together(parts), [mode])


@pytest.mark.parametrize("tables", [("none", "b"), ("a", "none"), ("none", "none")])
def test_empty_sides(spark, tables):
    parts = {}
    for kind in KINDS:
        sql = join_of(kind, "a.n = b.n")
        for name, table in zip("ab", tables):
            for clause in ("FROM", "JOIN"):
                sql = sql.replace(f"{clause} {name} ", f"{clause} {table} AS {name} ")
        sql = sql.replace("few AS a", f"{tables[0]} AS a")
        parts[kind] = f"SELECT count(*), sum(hash(*)) AS h FROM ({sql})"
    # With AQE Spark itself finds that there is nothing to join.
    check_taken(spark, together(parts), ["shuffled-static-2MiB"])
    check_taken(spark, together(parts), ["broadcast-static-2MiB"])


@pytest.mark.parametrize("sql", [
    "SELECT id FROM a WHERE n NOT IN (SELECT n FROM b WHERE id < 300 AND n IS NOT NULL)",
    "SELECT id FROM a WHERE n NOT IN (SELECT n FROM b)",
    "SELECT id FROM a WHERE n NOT IN (SELECT n FROM none)",
    "SELECT id FROM a WHERE string NOT IN (SELECT string FROM few WHERE string IS NOT NULL)",
])
def test_not_in(spark, sql):
    check_taken(spark, sql, ["broadcast-static-2MiB"], "LeftAnti")


def test_not_in_with_aqe(spark):
    # Spark may see that nothing or all comes out once the side is broadcast.
    sql = "SELECT id FROM a WHERE n NOT IN (SELECT n FROM b WHERE id < 300 AND n IS NOT NULL)"
    check_taken(spark, sql, ["broadcast"], "LeftAnti")


def test_single(spark):
    sql = "SELECT id, (SELECT w FROM once WHERE once.n = a.n) AS w FROM a"
    # Spark has no shuffled join of this kind but by nested loops.
    assert check_taken(spark, sql, ["broadcast", "broadcast-static-2MiB"], "LeftSingle")


def test_single_with_several_matches(spark):
    from pyspark.errors import PySparkException

    sql = "SELECT id, (SELECT id FROM b WHERE b.n = a.n) AS w FROM a"
    for mode in ("broadcast", "broadcast-static-2MiB"):
        with settings(spark, MODES[mode]):
            with pytest.raises(PySparkException, match="SCALAR_SUBQUERY_TOO_MANY_ROWS"):
                spark.sql(sql).collect()
            assert all(taken for taken, _, _ in decisions(spark))


@pytest.mark.parametrize("sql", [
    "SELECT n, w FROM a INTERSECT SELECT n, w FROM b",
    "SELECT n, w FROM a EXCEPT SELECT n, w FROM b",
    "SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.n <=> a.n AND b.v <> a.v)",
    "SELECT id FROM a WHERE n IN (SELECT n FROM b) OR v < 5",
    "SELECT id, (SELECT max(v) FROM b WHERE b.n = a.n) AS m FROM a",
])
def test_subqueries_and_sets(spark, sql):
    check_taken(spark, sql, ["shuffled-static-2MiB", "broadcast"])


def test_conditions_that_spark_evaluates(spark):
    sql = """SELECT a.id, b.id, b.t FROM a JOIN b ON a.n = b.n AND (a.v + b.v) % 3 = 0
             AND concat(a.t, b.t) > 'text 5'"""
    assert check_taken(spark, sql, ["broadcast"])


def of_every_type(join: str) -> str:
    columns = ", ".join(
        # Python has no values of intervals.
        f"cast({side}.`{key}` AS STRING) AS {side}_{key}" if key in ("year_month", "day_time", "c")
        else f"{side}.`{key}` AS {side}_{key}" for key in [*KEYS, "c"] for side in "ab")
    return f"SELECT {columns} FROM a {join} b ON a.n = b.n AND a.id < 300"


def test_every_type_comes_out(spark):
    assert check_taken(spark, of_every_type("FULL JOIN"), ["shuffled"])
    assert check_taken(spark, of_every_type("LEFT JOIN"), ["broadcast-static-2MiB"])


def test_tasks_share_the_limit(spark):
    # With each other, and with builds of queries before, which stay for a while.
    for _ in range(30):
        assert check_taken(spark, of_every_type("LEFT JOIN"), ["broadcast-static-2MiB"])


def test_joins_of_joins(spark):
    sql = """SELECT a.id, b.id, c.id, d.w FROM a JOIN b ON a.n = b.n LEFT JOIN few c ON b.v = c.v
             JOIN once d ON a.n = d.n WHERE a.id % 3 = 0"""
    assert check_taken(spark, sql)


def test_existence_into_the_next_join(spark):
    # The mark of one join is a column of the next one.
    sql = """SELECT x.id, x.e, d.w FROM
               (SELECT id, n, CASE WHEN n IN (SELECT n FROM b) THEN 'yes' ELSE 'no' END AS e
                FROM a) x JOIN once d ON x.n = d.n"""
    assert check_taken(spark, sql, ["broadcast", "shuffled-static-2MiB"])


def test_limit_stops_early(spark):
    with settings(spark, MODES["broadcast"]):
        assert len(spark.sql("SELECT a.id FROM a JOIN b ON a.f = b.f LIMIT 10").collect()) == 10
        assert all(taken for taken, _, _ in decisions(spark))


def test_sorted_input_of_parents_is_made(spark):
    # Spark's merge join would have put rows out in order; a window needs that.
    sql = """SELECT id, row_number() OVER (PARTITION BY n ORDER BY id, bid) AS r FROM
               (SELECT a.id, a.n, b.id AS bid FROM a JOIN b ON a.n = b.n)"""
    assert check_taken(spark, sql, ["shuffled"])


def test_writes(spark, tmp_path):
    with settings(spark, MODES["shuffled"]):
        spark.sql("SELECT a.id, b.t FROM a JOIN b ON a.id = b.id").write.parquet(f"{tmp_path}/made")
        assert all(taken for taken, _, _ in decisions(spark))
    assert spark.read.parquet(f"{tmp_path}/made").count() == ROWS["b"]


@pytest.mark.parametrize("mode", ["shuffled", "broadcast"])
def test_more_rows_than_are_handed_over_at_once(spark, mode):
    # Rows are packed by the mebibyte, and Spark writes a next row to the memory of the last one.
    sql = """SELECT count(*), count(DISTINCT a.id), sum(hash(a.id, a.k, b.v)) FROM
               (SELECT id, id * 5 % 4096 AS k FROM range(0, 200000, 1, 2)) AS a JOIN
               (SELECT id AS k, id % 7 AS v FROM range(4096)) AS b ON a.k = b.k"""
    assert check_taken(spark, sql, [mode])
