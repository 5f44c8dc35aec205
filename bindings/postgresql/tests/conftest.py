"""What the tests of the PostgreSQL extension share: a server that has it, and comparisons of answers
with and without it."""

from __future__ import annotations

import collections
import contextlib
import os
import pathlib
import shutil
import subprocess

import psycopg
import pytest

BIN = pathlib.Path(os.environ["GPUJOIN_POSTGRES_BIN"])
FOLDER = pathlib.Path(os.environ["GPUJOIN_POSTGRES_FOLDER"])

# What a query is run with, beside PostgreSQL's own answer.
MODES = {
    "on": {},
    "forced": {"gpujoin.force": "on"},
    "forced-64MiB": {"gpujoin.force": "on", "gpujoin.memory_limit": "64MB"},
    "forced-2MiB": {"gpujoin.force": "on", "gpujoin.memory_limit": "2MB"},
}

# A server does not run as root.
USER = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.getuid() == 0 else {}


class Server:
    """One in a fresh folder, on a socket there."""

    def __init__(self, name: str, preload: str = "gpujoin", environment: dict | None = None):
        self.folder = FOLDER / f"{name}-{os.getpid()}"
        self.folder.mkdir()
        if USER:
            shutil.chown(self.folder, "postgres", "postgres")
        self.environment = {**os.environ, **(environment or {})}
        self.run("initdb", "-D", self.folder / "data", "-U", "postgres", "-A", "trust", "-E",
                 "UTF8", "--locale=C.UTF-8", "--no-sync")
        options = {"listen_addresses": "", "unix_socket_directories": self.folder, "fsync": "off",
                   "shared_buffers": "128MB", "session_preload_libraries": preload,
                   "max_connections": 40, "autovacuum": "off", "jit": "off"}
        self.run("pg_ctl", "-D", self.folder / "data", "-w", "-l", self.folder / "log", "-o",
                 " ".join(f"-c {name}='{value}'" for name, value in options.items()), "start")

    def run(self, program: str, *arguments) -> None:
        done = subprocess.run([BIN / program, *map(str, arguments)], env=self.environment,
                              cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, **USER)
        assert done.returncode == 0, done.stdout + done.stderr

    def connect(self, database: str = "postgres", **values) -> psycopg.Connection:
        return psycopg.connect(host=str(self.folder), dbname=database, user="postgres",
                               autocommit=True, **values)

    def log(self) -> str:
        return (self.folder / "log").read_text()

    def stop(self) -> None:
        self.run("pg_ctl", "-D", self.folder / "data", "-w", "-m", "fast", "stop")


@pytest.fixture(scope="session")
def server():
    made = Server("tested")
    with made.connect() as first:
        first.execute("CREATE EXTENSION gpujoin")
    yield made
    made.stop()
    for word in ("PANIC", "terminated by signal", "TRAP"):
        assert word not in made.log()


@pytest.fixture(scope="module")
def connection(server):
    with server.connect() as made:
        yield made


@contextlib.contextmanager
def settings(connection, **values):
    for name, value in values.items():
        connection.execute(f"SET {name} = '{value}'")
    try:
        yield
    finally:
        for name in values:
            connection.execute(f"RESET {name}")


def digest_of(connection, sql: str) -> tuple:
    """The answer as a multiset, told by its size and a sum of hashes of its rows as text, where NaN is
    not NULL and 0 is not -0."""
    return connection.execute(
        f"SELECT count(*), sum(hashtextextended(q::text, 0)::numeric) FROM ({sql}) q").fetchone()


def rows_of(connection, sql: str) -> collections.Counter:
    return collections.Counter(map(repr, connection.execute(sql).fetchall()))


def answer_of_postgres(connection, sql: str, ask=digest_of):
    with settings(connection, **{"gpujoin.enable": "off"}):
        return ask(connection, sql)


def decisions(connection) -> list[tuple]:
    return connection.execute("SELECT taken, join_type, reason FROM gpujoin_decisions()").fetchall()


def check_mode(connection, sql: str, expected, mode: str) -> list[tuple]:
    """The answer is the same. Answers with the decisions."""
    with settings(connection, **MODES[mode]):
        got = digest_of(connection, sql)
        made = decisions(connection)
        if got != expected:
            wrong = rows_of(connection, sql)
            right = answer_of_postgres(connection, sql, rows_of)
            assert wrong == right, (sql, mode, list((wrong - right).items())[:5],
                                    list((right - wrong).items())[:5])
    assert got == expected, (sql, mode)
    return made


def check_taken(connection, sql: str, expected, mode: str, types: set | None = None) -> None:
    """In a forced mode gpujoin gave the answer."""
    made = check_mode(connection, sql, expected, mode)
    if mode != "on":
        assert made and all(taken for taken, _, _ in made), (sql, made)
        assert types is None or types & {kind for _, kind, _ in made}, (sql, made)


def check_modes(connection, sql: str, types: set | None = None) -> bool:
    """Whether there are rows."""
    expected = answer_of_postgres(connection, sql)
    for mode in MODES:
        check_taken(connection, sql, expected, mode, types)
    return expected[0] != 0
