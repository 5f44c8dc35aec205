"""What the tests of the DuckDB extension share: connections that have it, and comparisons of
answers with and without it."""

from __future__ import annotations

import collections
import contextlib
import os
import pathlib
import subprocess

import duckdb
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
EXTENSION = os.environ.get("GPUJOIN_DUCKDB_EXTENSION",
                           str(ROOT / "build/duckdb" / duckdb.__version__ /
                               "gpujoin.duckdb_extension"))

VERSION = tuple(map(int, duckdb.__version__.split(".")[:2]))

# What a query is run with, beside DuckDB's own answer.
MODES = {
    "on": {"gpujoin_force": False},
    "forced": {"gpujoin_force": True},
    "forced-64MiB": {"gpujoin_force": True, "gpujoin_memory_limit": "64MiB"},
    "forced-4MiB": {"gpujoin_force": True, "gpujoin_memory_limit": "4MiB"},
}


def connect(database: str = ":memory:") -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(database, config={"allow_unsigned_extensions": "true"})
    connection.execute(f"LOAD '{EXTENSION}'")
    return connection


@contextlib.contextmanager
def settings(connection, **values):
    for name, value in values.items():
        connection.execute(f"SET {name} = {value!r}")
    try:
        yield
    finally:
        for name in values:
            connection.execute(f"RESET {name}")


def rows_of(connection, sql: str) -> collections.Counter:
    """The answer as a multiset; text tells NaN from NULL, and 0.0 from -0.0. Sums of floats depend
    on the order of rows in their last digits."""
    return collections.Counter(
        repr(tuple(f"{value:.12g}" if isinstance(value, float) else value for value in row))
        for row in connection.execute(sql).fetchall())


def answer_of_duckdb(connection, sql: str) -> collections.Counter:
    with settings(connection, gpujoin_enable=False):
        return rows_of(connection, sql)


def check_modes(connection, sql: str, modes=MODES) -> collections.Counter:
    """The answer is DuckDB's own in each of the modes, whoever gave it."""
    expected = answer_of_duckdb(connection, sql)
    for mode in modes:
        with settings(connection, **MODES[mode]):
            assert rows_of(connection, sql) == expected, (mode, decisions(connection))
    return expected


def load_tables(connection, benchmark: str, scale: str, folder: pathlib.Path) -> None:
    """Tables of tpch or tpcds, which tpcgen-cli writes to the folder where they are not there."""
    if not any(folder.glob("*.parquet")):
        generator = ROOT / ".venv/bin/tpcgen-cli"
        subprocess.run([str(generator), benchmark, "parquet", "-s", scale,
                        f"--output-dir={folder}"], check=True, capture_output=True)
    for file in sorted(folder.glob("*.parquet")):
        connection.execute(f"CREATE TABLE {file.stem} AS FROM '{file}'")


def decisions(connection) -> list[tuple]:
    return connection.execute("SELECT taken, join_type, reason FROM gpujoin_decisions()").fetchall()


def check_taken(connection, sql: str, expected: collections.Counter, mode: str,
                join_type: str | None = None) -> None:
    """The answer is the same, and in a forced mode gpujoin gave it."""
    with settings(connection, **MODES[mode]):
        got = rows_of(connection, sql)
        made = decisions(connection)
    assert got == expected, (sql, list((got - expected).items())[:5],
                             list((expected - got).items())[:5])
    if MODES[mode]["gpujoin_force"]:
        assert made and all(taken for taken, _, _ in made), (sql, made)
        if join_type is not None:
            assert join_type in [kind for _, kind, _ in made], (sql, made)


@pytest.fixture(scope="module")
def connection():
    with connect() as made:
        yield made
