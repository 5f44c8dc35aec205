"""A join takes no memory that Spark's manager does not have."""

from __future__ import annotations

import pytest

from conftest import FORCED, SHUFFLED, decisions, end, rows_of, session, settings

# 24 MB of them are the manager's.
BYTES = 40_000_000
JOIN = """SELECT count(*), max(a.s || b.s) FROM (SELECT id, concat(repeat('x', {0}), id) AS s
            FROM range(0, 300000, 1, 1)) AS a
          JOIN (SELECT id, concat(repeat('y', {0}), id) AS s FROM range(0, 400000, 1, 1)) AS b
          ON a.id = b.id"""


def test_a_build_that_the_manager_has_no_room_for():
    spark = session("local[1]", **{"spark.testing.memory": BYTES,
                                   "spark.testing.reservedMemory": 1})
    try:
        # The library's own limit would let it be.
        with settings(spark, {**FORCED, **SHUFFLED, "spark.gpujoin.memoryLimit": "1g"}):
            decisions(spark)
            with pytest.raises(Exception, match="UNABLE_TO_ACQUIRE_MEMORY"):
                spark.sql(JOIN.format(200)).collect()
            assert [taken for taken, _, _ in decisions(spark)] == [True]
            # What the task held has been given back.
            [row] = rows_of(spark, JOIN.format(1))
            assert "300000" in row
            assert [taken for taken, _, _ in decisions(spark)] == [True]
    finally:
        end(spark)
