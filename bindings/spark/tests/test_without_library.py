"""Machines that lack the library: the driver's joins stay Spark's, an executor's tasks say why."""

from __future__ import annotations

import pytest

from conftest import FORCED, JVM, LIBRARY, SHUFFLED, decisions, end, rows_of, session, settings

ABSENT = "/nowhere/libgpujoin.so.0"
JOIN = "SELECT a.id FROM range(0, 1000, 1, 2) AS a JOIN range(500, 1500, 1, 2) AS b ON a.id = b.id"


@pytest.fixture
def session_with(monkeypatch):
    """A session whose driver finds the library by its environment, and executors by theirs."""
    made = []

    def make(of_driver: str, of_executor: str):
        monkeypatch.setenv("GPUJOIN_LIBRARY", of_driver)
        made.append(session("local-cluster[1,1,1024]", **{
            "spark.gpujoin.library": "",
            "spark.executorEnv.GPUJOIN_LIBRARY": of_executor,
            "spark.executor.memory": "900m",
            "spark.executor.extraJavaOptions": JVM,
        }))
        return made[-1]

    yield make
    for each in made:
        end(each)


def test_a_driver_without_it_leaves_joins_to_spark(session_with):
    spark = session_with(ABSENT, str(LIBRARY))
    with settings(spark, {**FORCED, **SHUFFLED}):
        assert sum(rows_of(spark, JOIN).values()) == 500
        made = decisions(spark)
    assert made and not any(taken for taken, _, _ in made)
    assert all("no library" in reason for _, _, reason in made), made


def test_an_executor_without_it_fails_its_tasks_with_the_reason(session_with):
    spark = session_with(str(LIBRARY), ABSENT)
    with settings(spark, {**FORCED, **SHUFFLED}):
        with pytest.raises(Exception, match="no library"):
            rows_of(spark, JOIN)
        assert any(taken for taken, _, _ in decisions(spark))
    assert sum(rows_of(spark, JOIN).values()) == 500  # Spark's own join, on the same executor
