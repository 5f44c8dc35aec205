"""Batches of Arrow's columns, which are joined where they lie: of tables that ArrowCache.scala
keeps, as Spark's plug-ins do."""

from __future__ import annotations

import pytest

from conftest import JAR, MODES, end, session, settings
from test_batches import (SHUFFLED, TIMES, TYPES, check_batches, held, sums_of, table,
                          until)

SERIALIZER = "org.apache.spark.sql.gpujoin.ArrowCache"
ALL = {**TYPES, "interval": "make_interval(1, 2, 0, cast(n AS INT))"}
COPIED = ("decimal4", "decimal9", "decimal15", "interval", "void")


@pytest.fixture(scope="module")
def spark():
    made = session(**{"spark.jars": f"{JAR},{JAR.parent / 'tests.jar'}",
                      "spark.sql.cache.serializer": SERIALIZER, **TIMES})
    columns = ", ".join(f"{sql} AS `{name}`" for name, sql in ALL.items() if name not in TYPES)
    for name, rows, seed in (("a", 60_000, 1), ("b", 900, 7)):
        made.sql(f"CACHE TABLE {name} AS SELECT *, {columns} FROM "
                 f"({table(list(TYPES), rows, seed)})")
    yield made
    end(made)


@pytest.fixture(autouse=True)
def closed(spark):
    yield
    assert spark.sparkContext._jvm.org.apache.spark.sql.gpujoin.ArrowCache.open() == 0


@pytest.mark.parametrize("kind", ["LEFT", "LEFT ANTI"])
def test_every_type(spark, kind):
    right = ", " + sums_of(["string", "n"], "r") if kind == "LEFT" else ""
    plan = check_batches(spark, f"SELECT {sums_of(list(ALL), 'l')}{right} FROM a AS l {kind} "
                                "JOIN b AS r ON l.n = r.n")
    assert "In-memory table a " in plan


@pytest.mark.parametrize("key", [key for key in TYPES if key != "void"])
def test_keys(spark, key):
    few = "WHERE id < 20" if key in ("boolean", "tinyint", "decimal4") else ""
    check_batches(spark, f"""SELECT count(*), bit_xor(xxhash64(l.id, l.string, r.id)) FROM a AS l
                             JOIN (SELECT * FROM b {few}) AS r ON l.`{key}` = r.`{key}`""")


def test_columns_that_lie_as_they_are_read_are_not_copied(spark):
    """Text with offsets of 8 bytes, in a third of the batches, is."""
    sql = "SELECT {} FROM a AS l LEFT JOIN b AS r ON l.n = r.n"
    copied = spark.sparkContext._jvm.org.apache.spark.sql.gpujoin.NativeMemory
    for name in ALL:
        if name in ("string", "binary"):
            continue
        before = copied.allocated()
        check_batches(spark, sql.format(sums_of([name], "l")))
        assert (copied.allocated() > before) == (name in COPIED), name


def test_both_sides_of_a_shuffled_join(spark):
    for name, rows in (("even", 30_000), ("odd", 20_000)):
        (spark.sql(f"SELECT id % 7000 AS k, concat('x', id) AS v, id % 3 = 0 AS f "
                   f"FROM range({rows})")
              .repartition(2, "k").cache().createOrReplaceTempView(name))
    for kind in ("INNER", "FULL"):
        plan = check_batches(spark, f"SELECT l.*, r.v AS w, r.f AS g FROM even AS l "
                                    f"{kind} JOIN odd AS r ON l.k = r.k", SHUFFLED)
        assert "Exchange" not in plan.split("InMemoryRelation")[0], plan


def test_aqe(spark):
    sql = "SELECT l.string, r.decimal38 FROM a AS l JOIN b AS r ON l.n = r.n"
    with settings(spark, MODES["broadcast"]):
        assert spark.sql(sql).count() > 1000
    until(lambda: held(spark) == 0)
