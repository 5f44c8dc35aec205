"""Settings, wrong values of them, and what is there without a library."""

from __future__ import annotations

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from conftest import (BROADCAST, FORCED, LIBRARY, MODES, SHUFFLED, answer_of_spark, decisions, end,
                      plan_of, rows_of, session, settings)

JOIN = """SELECT a.id, b.id AS other FROM range(1000) AS a
          JOIN (SELECT id, id % 700 AS k FROM range(900)) AS b ON a.id = b.k"""
STATIC = {"spark.sql.adaptive.enabled": "false"}


def test_off(spark):
    with settings(spark, {**FORCED, "spark.gpujoin.enabled": "false"}):
        decisions(spark)
        assert "GpuJoin" not in plan_of(spark, JOIN)
        assert not decisions(spark)


def test_without_force_only_sorts_are_saved(spark):
    with settings(spark, {**BROADCAST, **STATIC}):
        decisions(spark)
        assert "GpuJoin" not in plan_of(spark, JOIN)
        assert decisions(spark) == [(False, "Inner", "not worth it: Spark need not sort for it")]
    with settings(spark, {**SHUFFLED, **STATIC}):
        plan = plan_of(spark, JOIN)
        assert "GpuJoin shuffled" in plan and "Sort " not in plan
        assert decisions(spark) == [(True, "Inner", "")]


def test_force(spark):
    with settings(spark, {**FORCED, **BROADCAST, **STATIC}):
        assert "GpuJoin broadcast" in plan_of(spark, JOIN)
        assert decisions(spark)[0][0]


def test_decisions_are_told_once(spark):
    with settings(spark, MODES["shuffled"]):
        rows_of(spark, JOIN)
        assert decisions(spark)
        assert not decisions(spark)
    with pytest.raises(PySparkException, match=r"gpujoin_decisions\(\) takes no arguments"):
        spark.sql("SELECT * FROM gpujoin_decisions(1)").collect()


@pytest.mark.parametrize("reason, sql", [
    ("no equal key", JOIN.replace("a.id = b.k", "a.id < b.k AND a.id < 20")),
    ("a key of type ARRAY<BIGINT>", JOIN.replace("a.id = b.k", "array(a.id) = array(b.k)")),
    ("a column of type ARRAY<BIGINT>", JOIN.replace("id, id %", "array(id) AS id, id %")),
    ("17 keys: the library takes 16", JOIN + "".join(f" AND a.id % {n} = b.k % {n}"
                                                     for n in range(701, 717))),
    ("a condition of both sides: ", JOIN.replace("JOIN", "LEFT JOIN") +
     " AND hash(a.id, b.id) % 2 = 0"),
])
def test_what_is_left_to_spark(spark, reason, sql):
    expected = answer_of_spark(spark, sql)
    with settings(spark, {**FORCED, **SHUFFLED, **STATIC}):
        decisions(spark)
        assert rows_of(spark, sql) == expected
        [(taken, _, why)] = decisions(spark)
        assert not taken and why.startswith(reason), why


@pytest.mark.parametrize("device", ["cpu", "automatic"])
def test_device(spark, device):
    expected = answer_of_spark(spark, JOIN)
    with settings(spark, {**MODES["shuffled"], "spark.gpujoin.device": device}):
        assert rows_of(spark, JOIN) == expected
    contexts = spark.sparkContext._jvm.org.apache.spark.sql.gpujoin.Contexts
    assert device != "cpu" or "CPU" in contexts.device()


def test_a_device_that_is_not_there(spark):
    with settings(spark, {**MODES["shuffled"], "spark.gpujoin.device": "cuda:9999"}):
        with pytest.raises(Py4JJavaError, match="GPUJOIN_ERROR_"):
            spark.sql(JOIN).collect()
    with settings(spark, MODES["shuffled"]):
        assert rows_of(spark, JOIN)


@pytest.mark.parametrize("name, value", [
    ("enabled", "perhaps"), ("force", "2"), ("memoryLimit", "-1"), ("memoryLimit", "much"),
    ("device", "gpu"), ("device", "cuda:"), ("threads", "-1"), ("threads", "two")])
def test_wrong_values_are_named(spark, name, value):
    with pytest.raises(PySparkException, match="spark.gpujoin." + name):
        spark.conf.set("spark.gpujoin." + name, value)
    with pytest.raises(PySparkException, match="spark.gpujoin." + name):
        spark.sql(f"SET spark.gpujoin.{name} = {value}")


def test_a_limit_that_is_too_small_is_named(spark):
    with settings(spark, {**MODES["shuffled"], "spark.gpujoin.memoryLimit": "1"}):
        with pytest.raises(Py4JJavaError, match="spark.gpujoin.memoryLimit"):
            spark.sql(JOIN).collect()


def test_no_library(spark):
    end(spark)  # the last test of that session
    made = session(**{"spark.gpujoin.library": "/nowhere/libgpujoin.so"})
    try:
        with settings(made, MODES["shuffled"]):
            assert rows_of(made, JOIN)
            [(taken, _, reason)] = decisions(made)
            assert not taken and "no library" in reason and "/nowhere/libgpujoin.so" in reason
            # A path that is right makes up for it.
            made.conf.set("spark.gpujoin.library", str(LIBRARY))
            rows_of(made, JOIN)
            assert [taken for taken, _, _ in decisions(made)] == [True]
    finally:
        end(made)
