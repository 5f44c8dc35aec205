"""Joins whose sides many threads bring and take, against DuckDB's own answer."""

from __future__ import annotations

import pytest

from conftest import MODES, decisions, settings

KINDS = {
    "inner": "FROM a JOIN b ON {}",
    "left": "FROM a LEFT JOIN b ON {}",
    "right": "FROM a RIGHT JOIN b ON {}",
    "full": "FROM a FULL JOIN b ON {}",
    "semi": "FROM a SEMI JOIN b ON {}",
    "anti": "FROM a ANTI JOIN b ON {}",
    "right_semi": "FROM b AS a SEMI JOIN a AS b ON {}",
    "right_anti": "FROM b AS a ANTI JOIN a AS b ON {}",
}


@pytest.fixture(scope="module", autouse=True)
def tables(connection):
    for table, rows in (("a", 700000), ("b", 400000)):
        connection.execute(f"""CREATE TABLE {table} AS
            SELECT CASE WHEN i % 97 = 0 THEN NULL ELSE hash(i + {rows}) % 500000 END AS k,
                   i AS v, 'text ' || (i % 5000) AS t FROM range({rows}) AS r(i)""")


@pytest.mark.parametrize("threads", [1, 8])
@pytest.mark.parametrize("condition", ["a.k = b.k", "a.k = b.k AND a.v < b.v"])
@pytest.mark.parametrize("kind", KINDS)
def test_kinds(connection, kind, condition, threads):
    columns = ["a.v", "a.t"] + (["b.v", "b.t"] if "semi" not in kind and "anti" not in kind else [])
    sql = (f"SELECT count(*), sum(hash({', '.join(columns)})::HUGEINT) " +
           KINDS[kind].format(condition))
    with settings(connection, threads=threads):
        with settings(connection, gpujoin_enable=False):
            expected = connection.execute(sql).fetchall()
        for mode in ("forced", "forced-64MiB"):
            with settings(connection, **MODES[mode]):
                assert connection.execute(sql).fetchall() == expected, mode
                assert all(taken for taken, _, _ in decisions(connection))


def test_limits_over_many_threads(connection):
    with settings(connection, threads=8, gpujoin_force=True):
        for limit in (1, 100, 5000, 100000):
            for kind in ("inner", "full"):
                rows = connection.execute(
                    f"SELECT a.v {KINDS[kind].format('a.k = b.k')} LIMIT {limit}").fetchall()
                assert len(rows) == limit
