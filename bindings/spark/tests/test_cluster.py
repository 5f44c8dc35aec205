"""A driver and two executors, each a process of its own: local-cluster[2,1,...]."""

from __future__ import annotations

import collections
import os
import pathlib
import signal
import threading
import time

import pytest

from conftest import (BROADCAST, FORCED, JVM, SHUFFLED, answer_of_spark, decisions, end,
                      metric_of, rows_of, session, settings)

ROWS = 60_000
KINDS = ["INNER", "LEFT OUTER", "FULL OUTER", "LEFT SEMI", "LEFT ANTI"]
SECONDS = 120


@pytest.fixture(scope="module")
def spark():
    """Four partitions, so that each executor has joins of two, one after the other."""
    made = session("local-cluster[2,1,1024]", **{
        "spark.executor.memory": "900m",
        "spark.executor.extraJavaOptions": JVM,
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.adaptive.enabled": "false",
        "spark.scheduler.minRegisteredResourcesRatio": "1",
    })
    for table, factor in (("a", 7919), ("b", 104729)):
        made.sql(f"""CREATE TEMPORARY VIEW {table} AS
                     SELECT (id * {factor}) % {ROWS} AS k, id,
                            repeat('x', cast(id % 40 AS INT)) AS s
                     FROM range(0, {ROWS}, 1, 4) WHERE id % 5 <> {factor} % 5""")
    yield made
    end(made)


def join(kind: str) -> str:
    other = "" if "SEMI" in kind or "ANTI" in kind else ", b.id AS other, b.s AS t"
    return f"SELECT a.id, a.s{other} FROM a {kind} JOIN b ON a.k = b.k"


def sums_of(kind: str) -> str:
    """An answer of one row, which tells of all rows: few come to the driver."""
    return f"SELECT count(*), bit_xor(xxhash64(*)) FROM ({join(kind)})"


def executors() -> set[int]:
    """Processes of executors on this machine."""
    found = set()
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().decode().split("\0")
        except OSError:
            continue
        if "org.apache.spark.executor.CoarseGrainedExecutorBackend" in words:
            found.add(int(folder.name))
    return found


def executors_of_tasks(spark, group: str) -> set[str]:
    """Those that ran tasks of the group's jobs."""
    store = spark.sparkContext._jsc.sc().statusStore()
    tracker = spark.sparkContext.statusTracker()
    found = set()
    for job in tracker.getJobIdsForGroup(group):
        for stage in tracker.getJobInfo(job).stageIds:
            info = tracker.getStageInfo(stage)
            if info is None:
                continue
            tasks = store.taskList(stage, info.currentAttemptId, 1000)
            found.update(tasks.apply(i).executorId() for i in range(tasks.size()))
    return found


@pytest.mark.parametrize("mode", [SHUFFLED, BROADCAST], ids=["shuffled", "broadcast"])
@pytest.mark.parametrize("kind", KINDS)
def test_kinds(spark, kind, mode):
    expected = answer_of_spark(spark, sums_of(kind))
    with settings(spark, {**FORCED, **mode}):
        decisions(spark)
        assert rows_of(spark, sums_of(kind)) == expected
        made = decisions(spark)
    if mode is SHUFFLED or kind != "FULL OUTER":  # which Spark broadcasts nothing of
        assert made and all(taken for taken, _, _ in made), made


def test_both_executors_join(spark):
    spark.sparkContext.setJobGroup("both", "a join of both executors")
    with settings(spark, {**FORCED, **SHUFFLED}):
        rows_of(spark, sums_of("INNER"))
    assert len(executors_of_tasks(spark, "both")) == 2


def test_more_than_the_budget_of_an_executor(spark):
    """1 MiB, and a partition of a side has 12000 rows of some 40 bytes, without their table."""
    expected = answer_of_spark(spark, sums_of("FULL OUTER"))
    with settings(spark, {**FORCED, **SHUFFLED, "spark.gpujoin.memoryLimit": "1m"}):
        frame = spark.sql(sums_of("FULL OUTER"))
        assert collections.Counter(map(repr, frame.collect())) == expected
        assert metric_of(frame, "spillSize") > 0


class Running:
    """A query of some seconds, in a thread; it joins while this is entered."""

    SQL = ("SELECT count(*), bit_xor(xxhash64(*)) FROM (SELECT x.id, y.id FROM a AS x JOIN (SELECT "
           "* FROM b LATERAL VIEW explode(sequence(1, 150)) AS i) AS y ON x.k = y.k)")

    def __init__(self, spark, group: str) -> None:
        self.answer, self.error, self.stage = None, None, None
        self._spark, self._group = spark, group
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        self._spark.sparkContext.setJobGroup(self._group, self._group, interruptOnCancel=True)
        try:
            self.answer = rows_of(self._spark, self.SQL)
        except Exception as error:
            self.error = error

    def __enter__(self) -> Running:
        self._thread.start()
        tracker = self._spark.sparkContext.statusTracker()
        until = time.monotonic() + SECONDS
        while time.monotonic() < until and self._thread.is_alive():
            for job in tracker.getJobIdsForGroup(self._group):
                stages = sorted(tracker.getJobInfo(job).stageIds)
                # Behind the two that shuffle a side each.
                info = tracker.getStageInfo(stages[2]) if len(stages) > 2 else None
                if info is not None and info.numActiveTasks > 0:
                    self.stage = info
                    return self
            time.sleep(0.02)
        self._thread.join(SECONDS)
        raise AssertionError(f"no task of the join was seen: {self.error or self.answer}")

    def __exit__(self, *_) -> None:
        self._thread.join(SECONDS)
        assert not self._thread.is_alive()

    def tasks(self) -> list[int]:
        """That run."""
        store = self._spark.sparkContext._jsc.sc().statusStore()
        tasks = store.taskList(self.stage.stageId, self.stage.currentAttemptId, 100)
        found = map(tasks.apply, range(tasks.size()))
        return [task.taskId() for task in found if task.status() == "RUNNING"]


@pytest.fixture(scope="module")
def expected(spark):
    return answer_of_spark(spark, Running.SQL)


def test_a_task_that_is_killed_runs_again(spark, expected):
    with settings(spark, {**FORCED, **SHUFFLED}), Running(spark, "killed task") as running:
        [task, *_] = running.tasks()
        assert spark.sparkContext._jsc.sc().killTaskAttempt(task, True, "killed by a test")
    assert running.answer == expected, running.error


def test_an_executor_that_is_killed_is_done_without(spark, expected):
    """What it had shuffled is shuffled again by those that are left, or came in its place."""
    before = executors()
    assert len(before) == 2
    with settings(spark, {**FORCED, **SHUFFLED}), Running(spark, "killed executor") as running:
        os.kill(min(before), signal.SIGKILL)
    assert running.answer == expected, running.error
    assert min(before) not in executors()


def test_a_query_that_is_cancelled_ends(spark, expected):
    with settings(spark, {**FORCED, **SHUFFLED}):
        with Running(spark, "cancelled") as running:
            began = time.monotonic()
            spark.sparkContext.cancelJobGroup("cancelled")
        assert time.monotonic() - began < 10
        assert running.answer is None and "cancelled" in str(running.error)
        assert rows_of(spark, Running.SQL) == expected
