"""Correlated subqueries, whose joins read the distinct values of the outer query's columns, against
DuckDB's own answer."""

from __future__ import annotations

import pytest

from conftest import VERSION, check_modes, decisions, settings

# Rows with equal keys on both sides, keys of one side alone, and NULLs in keys and values. What
# compares with <> or a function keeps DuckDB from making an ordinary join of it.
SUBQUERIES = {
    "scalar of a range": "SELECT id, (SELECT count(*) FROM b WHERE b.v < a.v) FROM a WHERE id < 300",
    "scalar aggregate": "SELECT id, (SELECT sum(b.v + a.v) FROM b WHERE b.n = a.n) FROM a",
    "scalar of two columns":
        "SELECT id, (SELECT max(b.id) FROM b WHERE b.n = a.n AND b.v <> a.v + a.id % 2) FROM a",
    "count over nothing": "SELECT id, (SELECT count(b.n) FROM b WHERE b.n = a.n + 5000) FROM a",
    "limit inside":
        "SELECT id, (SELECT b.id FROM b WHERE b.n = a.n ORDER BY b.id DESC LIMIT 1) FROM a",
    "exists": "SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.n = a.n AND b.v <> a.v)",
    "not exists": "SELECT id FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.n = a.n AND b.v < a.v)",
    "exists as a value": "SELECT id, EXISTS (SELECT 1 FROM b WHERE b.n = a.n AND b.v < a.v) FROM a",
    "in": "SELECT id FROM a WHERE w IN (SELECT w FROM b WHERE b.n = a.n)",
    "in as a value": "SELECT id, w IN (SELECT w FROM b WHERE b.n = a.n) FROM a",
    "not in": "SELECT id FROM a WHERE w NOT IN (SELECT w FROM b WHERE b.n = a.n)",
    "in as a value, of null-safe":
        "SELECT id, w IN (SELECT w FROM b WHERE b.n IS NOT DISTINCT FROM a.n) FROM a",
    "not equal to all": "SELECT id, w <> ALL (SELECT w FROM b WHERE b.n = a.n) FROM a",
    "less than any": "SELECT id, w < ANY (SELECT w FROM b WHERE b.n = a.n) FROM a",
    "lateral": """SELECT a.id, r.id, r.t
                  FROM a, LATERAL (SELECT b.id, b.t FROM b WHERE b.n = a.n AND b.v + a.v > 90) r""",
    "left lateral": """SELECT a.id, r.top FROM a LEFT JOIN LATERAL
                       (SELECT max(b.v) AS top FROM b WHERE b.n = a.n HAVING max(b.v) > 50) r
                       ON true""",
    "nested": """SELECT id, (SELECT sum((SELECT max(c.v) FROM few c WHERE c.w = b.w AND c.v <> a.v))
                             FROM b WHERE b.n = a.n) FROM a WHERE id < 400""",
    "of text": "SELECT id, (SELECT min(b.t || a.t) FROM b WHERE b.n = a.n) FROM a",
    "of a small outer side": "SELECT id, (SELECT sum(b.v + few.v) FROM b WHERE b.n = few.n) FROM few",
    "of an empty outer side":
        "SELECT id, (SELECT sum(b.v + a.v) FROM b WHERE b.n = a.n) FROM a WHERE id < 0",
}


@pytest.fixture(scope="module", autouse=True)
def tables(connection):
    for seed, (table, rows) in enumerate({"a": 3000, "b": 2000, "few": 40}.items()):
        connection.execute(f"""CREATE TABLE {table} AS
            SELECT i AS id, CASE WHEN hash(i + {seed}) % 20 = 0 THEN NULL
                                 ELSE hash(i * 3 + {seed}) % 700 END::BIGINT AS n,
                   (i * 7919 + {seed}) % 101 AS v, 'text ' || i AS t,
                   CASE WHEN i % 5 = 0 THEN NULL ELSE i % 3 END AS w
            FROM range({rows}) AS r(i)""")


@pytest.mark.parametrize("subquery", SUBQUERIES)
def test_subquery(connection, subquery):
    sql = SUBQUERIES[subquery]
    assert check_modes(connection, sql) or "empty" in subquery
    with settings(connection, gpujoin_force=True):
        connection.execute(sql).fetchall()
        made = decisions(connection)
    assert all(taken or reason.startswith("no key") for taken, _, reason in made), made


@pytest.mark.parametrize("threads", [1, 8])
def test_both_sides_of_duckdbs_operator(connection, threads):
    """It names the outer rows in a build, or keeps them to probe with."""
    plans = ""
    for subquery in SUBQUERIES:
        with settings(connection, threads=threads):
            check_modes(connection, SUBQUERIES[subquery], ["forced"])
            with settings(connection, gpujoin_force=True):
                plan = connection.execute("EXPLAIN " + SUBQUERIES[subquery]).fetchall()[0][1]
        assert "DELIM_JOIN" not in plan or "HASH_JOIN" not in plan, plan
        plans += plan
    for operator in ("LEFT_DELIM_JOIN", "RIGHT_DELIM_JOIN"):
        assert (operator in plans) == (VERSION < (2, 0))  # later ones make CTEs of them
