"""What the tests of the Spark extension share: a session that has it, and comparisons of answers
with and without it."""

from __future__ import annotations

import collections
import contextlib
import os
import pathlib

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

ROOT = pathlib.Path(__file__).resolve().parents[3]
JAR = ROOT / "build" / "spark" / "gpujoin-spark.jar"
FOLDER = pathlib.Path(os.environ.get("GPUJOIN_LIB_DIR", ROOT / "build" / "cpu"))
LIBRARY = FOLDER / "libgpujoin.so.0"

BROADCAST = {"spark.sql.autoBroadcastJoinThreshold": "64m"}
SHUFFLED = {"spark.sql.autoBroadcastJoinThreshold": "-1"}
SMALL = {"spark.gpujoin.memoryLimit": "2m"}
FORCED = {"spark.gpujoin.force": "true"}
MODES = {
    "shuffled": {**FORCED, **SHUFFLED, "spark.sql.adaptive.enabled": "true"},
    "shuffled-static-2MiB": {**FORCED, **SHUFFLED, **SMALL, "spark.sql.adaptive.enabled": "false"},
    "broadcast": {**FORCED, **BROADCAST, "spark.sql.adaptive.enabled": "true"},
    "broadcast-static-2MiB": {**FORCED, **BROADCAST, **SMALL,
                              "spark.sql.adaptive.enabled": "false"},
}


# Queries are many and small: what takes longest is to compile.
JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def session(master: str = "local[2]", **more) -> SparkSession:
    """In a JVM of its own; to be ended before there is another one."""
    builder = SparkSession.builder.master(master)
    for name, value in {
            "spark.jars": JAR,
            "spark.sql.extensions": "org.apache.spark.sql.gpujoin.GpuJoinExtension",
            "spark.gpujoin.library": LIBRARY,
            "spark.driver.memory": "2g",
            "spark.driver.extraJavaOptions": JVM,
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.session.timeZone": "UTC",
            **more}.items():
        builder = builder.config(name, str(value))
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("ERROR")
    return made


def end(spark: SparkSession) -> None:
    """The JVM ends, too: it keeps the library that it has loaded, and its environment."""
    gateway = SparkContext._gateway
    if gateway is None:
        return
    spark.stop()
    SparkContext._gateway = SparkContext._jvm = None
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(60)


INTERPRETED = {"spark.sql.codegen.wholeStage": "false",
               "spark.sql.codegen.factoryMode": "NO_CODEGEN"}


@contextlib.contextmanager
def settings(spark, values: dict[str, str]):
    for name, value in values.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name in values:
            spark.conf.unset(name)


def rows_of(spark, sql: str) -> collections.Counter:
    """The answer as a multiset; text tells NaN from NULL, and 0.0 from -0.0."""
    return collections.Counter(map(repr, spark.sql(sql).collect()))


def answer_of_spark(spark, sql: str) -> collections.Counter:
    with settings(spark, {"spark.gpujoin.enabled": "false"}):
        return rows_of(spark, sql)


def decisions(spark) -> list[tuple]:
    """Those since they were last asked for: taken, type of the join, reason."""
    return [tuple(row) for row in
            spark.sql("SELECT taken, join_type, reason FROM gpujoin_decisions()").collect()]


def plan_of(spark, sql: str) -> str:
    return spark.sql("EXPLAIN " + sql).collect()[0][0]


def metric_of(frame, name: str) -> int:
    """Of all joins of gpujoin in the plan that was executed."""
    found = 0
    waiting = [frame._jdf.queryExecution().executedPlan()]
    while waiting:
        node = waiting.pop()
        if node.nodeName().startswith("GpuJoin"):
            found += node.metrics().apply(name).value()
        children = node.children()
        waiting += [children.apply(i) for i in range(children.size())]
    return found


def check_taken(spark, sql: str, modes=MODES, join_type: str | None = None) -> collections.Counter:
    """The answer is Spark's own in each of the modes, and gpujoin gave it. Answers it."""
    expected = answer_of_spark(spark, sql)
    for mode in modes:
        with settings(spark, MODES[mode]):
            decisions(spark)
            got = rows_of(spark, sql)
            made = decisions(spark)
        assert got == expected, (mode, sql, list((got - expected).items())[:5],
                                 list((expected - got).items())[:5])
        assert made and all(taken for taken, _, _ in made), (mode, sql, made)
        if join_type is not None:
            assert join_type in [kind for _, kind, _ in made], (mode, sql, made)
    return expected


@pytest.fixture(scope="module")
def spark():
    made = session()
    yield made
    end(made)
