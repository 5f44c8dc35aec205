"""Batches of columns from scans of files and from cached tables, against Spark's own answer: they
reach the join as batches."""

from __future__ import annotations

import collections
import contextlib
import re
import threading
import time

import pytest

from conftest import (FORCED, MODES, answer_of_spark, decisions, metric_of, plan_of, rows_of,
                      settings)
from test_joins import KEYS

BROADCAST = MODES["broadcast-static-2MiB"]
SHUFFLED = MODES["shuffled-static-2MiB"]
TIMES = {"spark.sql.timeType.enabled": "true"}
OFF_HEAP = {"spark.sql.columnVector.offheap.enabled": "true"}
# Longer than a block of copied columns, and much shorter.
BATCH_ROWS = {"long": "40000", "short": "100"}

TYPES = {**KEYS,
         "decimal9": "cast(n AS DECIMAL(9, 1))",
         "decimal15": "cast(n * -10001 AS DECIMAL(15, 2))",
         "time": "make_time(cast(n % 24 AS INT), 5, cast(n / 1000 AS DECIMAL(16, 6)))",
         "void": "NULL"}
WITHOUT_VOID = [name for name in TYPES if name != "void"]  # which no file has
ROWS = 40_000


def table(types: list[str], rows: int = ROWS, seed: int = 1) -> str:
    columns = ", ".join(f"{TYPES[name]} AS `{name}`" for name in types)
    return f"""SELECT {columns}, n, id, cast(id < 100 AS INT) AS part
               FROM (SELECT id, CASE WHEN rand({seed}) < 0.1 THEN NULL
                                     ELSE cast(rand({seed + 1}) * 3000 AS BIGINT) END AS n
                     FROM range(0, {rows}, 1, 2))"""


@pytest.fixture(scope="module", autouse=True)
def tables(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    for name, value in TIMES.items():
        spark.conf.set(name, value)
    made = spark.sql(table(WITHOUT_VOID))
    for name, dictionary in (("plain", "false"), ("coded", "true")):
        (made.write.partitionBy("part").option("parquet.enable.dictionary", dictionary)
             .parquet(f"{folder}/{name}"))
        # `part` is a constant of each file, and a column that files lack is NULL.
        schema = spark.read.parquet(f"{folder}/{name}").schema.add("lacking", "string")
        spark.read.schema(schema).parquet(f"{folder}/{name}").createOrReplaceTempView(name)
    # ORC has no times of the day, nor intervals.
    made.drop("time", "year_month", "day_time").write.orc(f"{folder}/orc")
    spark.read.orc(f"{folder}/orc").createOrReplaceTempView("orc")
    spark.sql("CACHE TABLE numbers AS SELECT boolean, tinyint, smallint, int, bigint, float, "
              "double, n, id FROM coded")
    spark.sql("CACHE TABLE small AS SELECT *, concat('x', n) AS s FROM "
              f"({table(list(TYPES), 900, 7)})")
    yield
    spark.catalog.clearCache()


def held(spark) -> int:
    """Bytes of copied columns."""
    return spark.sparkContext._jvm.org.apache.spark.sql.gpujoin.NativeMemory.used()


def check_batches(spark, sql: str, mode=BROADCAST, more=None) -> str:
    """The answer is Spark's, and batches came in of the probe side, no row. Answers the plan."""
    expected = answer_of_spark(spark, sql)
    with settings(spark, {**mode, **(more or {})}):
        frame = spark.sql(sql)
        got = collections.Counter(map(repr, frame.collect()))
        batches = metric_of(frame, "numInputBatches")
        plan = frame._jdf.queryExecution().executedPlan().toString()
    assert got == expected, (sql, list((got - expected).items())[:5],
                             list((expected - got).items())[:5])
    assert expected and batches > 0, plan
    # Below the join; above it Spark wants rows.
    assert "ColumnarToRow" not in probe_side(plan), plan
    assert held(spark) == 0
    return plan


def probe_side(plan: str) -> str:
    """What lies below the lowest join, up to what is broadcast, or how a table was cached."""
    return re.split("BroadcastExchange|InMemoryRelation", plan[plan.rindex("GpuJoin"):])[0]


def sums_of(types: list[str], side: str) -> str:
    """Of each column a number that tells which value is in which row of `l`."""
    return ", ".join(f"sum(hash(l.id, cast({side}.`{name}` AS STRING))) AS `{side}_{name}`"
                     for name in types)


def types_of(name: str) -> list[str]:
    without = {"orc": ("time", "year_month", "day_time")}.get(name, ())
    return [kind for kind in WITHOUT_VOID if kind not in without]


@pytest.mark.parametrize("heap", ["on", "off"])
@pytest.mark.parametrize("name", ["plain", "coded", "orc"])
def test_every_type_from_files(spark, name, heap):
    lacking = [] if name == "orc" else ["lacking", "part"]
    sql = f"""SELECT count(l.n), {sums_of(types_of(name) + lacking, "l")}, {sums_of(["s"], "r")}
              FROM {name} AS l LEFT JOIN small AS r ON l.n = r.n"""
    with settings(spark, OFF_HEAP if heap == "off" else {}):
        plan = check_batches(spark, sql)
    assert "Batched: true" in plan


@pytest.mark.parametrize("name", ["plain", "coded", "orc"])
def test_keys_of_every_type_from_files(spark, name):
    for key in types_of(name):
        few = "AND r.id < 20" if key in ("boolean", "tinyint", "decimal4") else ""
        check_batches(spark, f"""SELECT count(*), bit_xor(xxhash64(l.id, r.id))
                                 FROM {name} AS l JOIN (SELECT * FROM small AS r WHERE true {few})
                                 AS r ON l.`{key}` = r.`{key}`""")


@pytest.mark.parametrize("rows", BATCH_ROWS)
@pytest.mark.parametrize("kind", ["INNER", "LEFT", "LEFT SEMI", "LEFT ANTI"])
def test_batches_of_any_length(spark, kind, rows):
    name = "orc" if "SEMI" in kind else "coded"
    right = "" if "SEMI" in kind or "ANTI" in kind else ", r.id"
    sql = f"""SELECT count(*), sum(hash(l.id, l.string, l.decimal9{right}))
              FROM {name} AS l {kind} JOIN small AS r ON l.n = r.n"""
    check_batches(spark, sql, more={
        f"spark.sql.{form}.columnarReaderBatchSize": BATCH_ROWS[rows] for form in ("parquet", "orc")
    })


@pytest.mark.parametrize("heap", ["on", "off"])
def test_cached_tables(spark, heap):
    with settings(spark, OFF_HEAP if heap == "off" else {}):
        plan = check_batches(spark, "SELECT l.*, r.s FROM numbers AS l JOIN small AS r "
                                    "ON l.n = r.n AND l.int = r.int")
        assert "In-memory table numbers" in probe_side(plan)
        check_batches(spark, "SELECT l.*, r.s FROM numbers AS l LEFT JOIN small AS r ON l.n = r.n")


def test_cached_tables_with_aqe(spark):
    sql = "SELECT l.*, r.s FROM numbers AS l JOIN small AS r ON l.n = r.n"
    expected = answer_of_spark(spark, sql)
    with settings(spark, MODES["broadcast"]):
        frame = spark.sql(sql)
        assert collections.Counter(map(repr, frame.collect())) == expected
        plan = frame._jdf.queryExecution().executedPlan().toString().split("== Initial Plan")[0]
    assert "In-memory table" in probe_side(plan) and "ColumnarToRow" not in probe_side(plan)


@pytest.mark.parametrize("kind", ["INNER", "LEFT", "FULL", "LEFT SEMI"])
def test_both_sides_of_a_shuffled_join(spark, kind):
    """Tables that are distributed by the key already are not shuffled."""
    for name, rows in (("even", 30_000), ("odd", 20_000)):
        (spark.sql(f"SELECT id % 7000 AS k, id * 1.5D AS v, id % 3 = 0 AS f FROM range({rows})")
              .repartition(2, "k").cache().createOrReplaceTempView(name))
    right = "" if "SEMI" in kind else ", r.v AS w, r.f AS g"
    sql = f"SELECT l.*{right} FROM even AS l {kind} JOIN odd AS r ON l.k = r.k"
    plan = check_batches(spark, sql, SHUFFLED)
    assert "Exchange" not in plan.split("InMemoryRelation")[0], plan
    with settings(spark, SHUFFLED):
        frame = spark.sql(sql)
        frame.collect()
        assert metric_of(frame, "numInputBatches") >= 4
        assert metric_of(frame, "buildRows") >= 20_000


def test_text_that_takes_several_blocks(spark, tmp_path):
    # Of 4096 rows a batch: 6 MB of text, values of more than a block's, and empty ones.
    spark.sql("""SELECT id, id % 50 AS k, CASE WHEN id % 1000 = 7 THEN repeat('y', 3000000)
                                               WHEN id % 11 = 0 THEN NULL WHEN id % 13 = 0 THEN ''
                                               ELSE repeat('x', cast(id % 3000 AS INT)) END AS s
                 FROM range(0, 6000, 1, 1)""").write.parquet(f"{tmp_path}/text")
    spark.read.parquet(f"{tmp_path}/text").createOrReplaceTempView("text")
    for column in ("l.s", "cast(l.s AS BINARY)"):
        check_batches(spark, f"""SELECT l.id, length(l.s), xxhash64({column}), r.s
                                 FROM text AS l LEFT JOIN small AS r ON l.k = r.n""",
                      {**BROADCAST, "spark.gpujoin.memoryLimit": "64m"})


def test_values_that_repeat_and_are_all_null(spark):
    check_batches(spark, "SELECT l.id, l.part, l.lacking, r.s FROM plain AS l "
                         "LEFT JOIN small AS r ON l.part = r.n")
    assert not rows_of(spark, "SELECT * FROM plain WHERE lacking IS NOT NULL")


# What of a filter is left out, and where it has to stay.
FILTERS = {
    "of a key": ("SELECT l.id, r.s FROM coded AS l JOIN small AS r ON l.n = r.n", True),
    "of two keys": ("SELECT l.id, r.s FROM coded AS l JOIN small AS r ON l.n = r.n "
                    "AND l.string = r.string", True),
    "of a semi join": ("SELECT id FROM coded AS l LEFT SEMI JOIN small AS r ON l.n = r.n", True),
    "of renamed keys": ("SELECT i, r.s FROM (SELECT n AS k, id AS i FROM coded) AS l "
                        "JOIN (SELECT n AS q, s FROM small) AS r ON k = q", True),
    "of another column": ("SELECT l.id, r.s FROM coded AS l JOIN small AS r ON l.n = r.n "
                          "WHERE l.string IS NOT NULL", False),
    "of values": ("SELECT l.id, r.s FROM coded AS l JOIN small AS r ON l.n = r.n "
                  "WHERE l.id % 3 = 0", False),
    "of a null-safe key": ("SELECT l.id, r.s FROM coded AS l JOIN small AS r ON l.n <=> r.n "
                           "WHERE l.n IS NOT NULL", False),
    "of a side that is kept": ("SELECT l.id, r.s FROM coded AS l LEFT JOIN small AS r "
                               "ON l.n = r.n WHERE l.n IS NOT NULL", False),
    "of an anti join": ("SELECT l.id FROM coded AS l LEFT ANTI JOIN small AS r "
                        "ON l.n = r.n AND l.int = r.int WHERE l.n IS NOT NULL", False),
}


@pytest.mark.parametrize("name", FILTERS)
def test_filters(spark, name):
    sql, is_left_out = FILTERS[name]
    expected = answer_of_spark(spark, sql)
    with settings(spark, BROADCAST):
        plan = probe_side(plan_of(spark, sql))
        decisions(spark)
        assert rows_of(spark, sql) == expected and expected
        assert all(taken for taken, _, _ in decisions(spark))
    assert (" Filter " not in plan) == is_left_out, plan
    assert ("ColumnarToRow" not in plan) == is_left_out, plan


def test_columns_by_other_names(spark):
    # Two of one, in another order.
    plan = check_batches(spark, """SELECT x.m, x.n, x.i, y.s
                                   FROM (SELECT id AS i, n, n AS m FROM coded) AS x
                                   LEFT JOIN small AS y ON x.m = y.n""")
    assert "PickColumns" in plan


def test_rows_where_spark_reads_no_batches(spark):
    sql = "SELECT l.id, r.s FROM coded AS l LEFT JOIN small AS r ON l.n = r.n"
    expected = answer_of_spark(spark, sql)
    with settings(spark, {**BROADCAST, "spark.sql.parquet.enableVectorizedReader": "false"}):
        frame = spark.sql(sql)
        assert collections.Counter(map(repr, frame.collect())) == expected
        assert metric_of(frame, "numInputBatches") == 0


def test_no_batch_at_all(spark, tmp_path):
    spark.sql("SELECT * FROM coded WHERE id < 0").write.parquet(f"{tmp_path}/none")
    spark.read.parquet(f"{tmp_path}/none").createOrReplaceTempView("nothing")
    with settings(spark, BROADCAST):
        assert not rows_of(spark, "SELECT l.id, r.s FROM nothing AS l LEFT JOIN small AS r "
                                  "ON l.n = r.n")


def test_a_limit_that_stops_early(spark):
    with settings(spark, BROADCAST):
        for _ in range(3):
            assert len(spark.sql("SELECT l.string, r.s FROM coded AS l LEFT JOIN small AS r "
                                 "ON l.n = r.n LIMIT 10").collect()) == 10
    until(lambda: held(spark) == 0)


def until(is_so) -> None:
    # By the number of looks: the clock of a machine that was stopped runs ahead.
    for _ in range(1200):
        if is_so():
            return
        time.sleep(0.05)
    assert is_so()


@contextlib.contextmanager
def running(spark, sql: str, group: str):
    """A query in a thread, which is cancelled. Gives what says whether it still runs."""
    ends = []

    def run():
        spark.sparkContext.setJobGroup(group, group, interruptOnCancel=True)
        try:
            ends.append(rows_of(spark, sql))
        except Exception as error:
            ends.append(error)

    def is_running() -> bool:
        assert not ends, ends
        return True

    thread = threading.Thread(target=run)
    thread.start()
    yield is_running
    spark.sparkContext.cancelJobGroup(group)
    thread.join(60)
    assert not thread.is_alive() and "cancelled" in str(ends[0])


@pytest.mark.parametrize("mode", [BROADCAST, SHUFFLED], ids=["broadcast", "shuffled"])
def test_a_task_that_is_killed_lets_go(spark, mode):
    # So many pairs that it never ends by itself.
    (spark.sql("SELECT id, id % 20 AS k, cast(id AS DOUBLE) AS v FROM range(400000)")
          .repartition(2, "k").cache().createOrReplaceTempView("killed"))
    assert spark.sql("SELECT * FROM killed").count() == 400_000
    sql = "SELECT count(*), sum(l.v + r.v) FROM killed AS l JOIN {} AS r ON l.k = r.k".format(
        "killed" if mode is SHUFFLED else "(SELECT * FROM killed WHERE id < 200000)")
    with settings(spark, {**mode, **FORCED, "spark.gpujoin.memoryLimit": "256m"}):
        with running(spark, sql, f"killed {id(mode)}") as is_running:
            until(lambda: is_running() and held(spark) > 0)
    until(lambda: held(spark) == 0)
    # Another one joins as before.
    check_batches(spark, "SELECT l.id, l.v, r.s FROM killed AS l JOIN small AS r ON l.k = r.n")
