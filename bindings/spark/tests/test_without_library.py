"""Machines that lack the library: the driver's joins stay Spark's, an executor's tasks say why."""

from __future__ import annotations

import re
import subprocess

import pytest

from conftest import FORCED, JVM, LIBRARY, ROOT, SHUFFLED, decisions, end, rows_of, session, settings

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


def test_a_driver_with_another_version_leaves_joins_to_spark(session_with, tmp_path):
    other = library_of_version(100, tmp_path)
    spark = session_with(str(other), str(LIBRARY))
    with settings(spark, {**FORCED, **SHUFFLED}):
        assert sum(rows_of(spark, JOIN).values()) == 500
        made = decisions(spark)
    assert made and not any(taken for taken, _, _ in made)
    assert all("libgpujoin is of version 0.1, not 0.2" in reason for _, _, reason in made), made


def library_of_version(number: int, folder):
    """One with all functions that the extension calls, of which that of the version can be."""
    shim = ROOT / "build/spark/classes/native/libgpujoin_spark.so"
    symbols = subprocess.run(["nm", "-D", shim], capture_output=True, text=True, check=True).stdout
    names = sorted(set(re.findall(r" U (gpujoin_\w+)@+(\w+)", symbols)))
    (folder / "other.c").write_text("".join(
        f"int {name}(void) {{ {'return ' + str(number) if 'version' in name else '__builtin_trap()'}"
        "; }\n" for name, _ in names))
    (folder / "other.map").write_text(f"{names[0][1]} {{ global: *; }};")
    made = folder / "libgpujoin.so.0"
    subprocess.run(["cc", "-shared", "-fPIC", "-Wl,-soname,libgpujoin.so.0",
                    f"-Wl,--version-script={folder / 'other.map'}", "-o", made, folder / "other.c"],
                   check=True)
    return made


def test_an_executor_without_it_fails_its_tasks_with_the_reason(session_with):
    spark = session_with(str(LIBRARY), ABSENT)
    with settings(spark, {**FORCED, **SHUFFLED}):
        with pytest.raises(Exception, match="no library"):
            rows_of(spark, JOIN)
        assert any(taken for taken, _, _ in decisions(spark))
    assert sum(rows_of(spark, JOIN).values()) == 500  # Spark's own join, on the same executor
