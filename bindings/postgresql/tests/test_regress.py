"""join.sql and subselect.sql of PostgreSQL's own suite, forced: every query answers as without gpujoin.

They are in the server's source, src/test/regress, whose folder GPUJOIN_POSTGRES_REGRESS names."""

from __future__ import annotations

import collections
import os
import pathlib
import re
import subprocess

import pytest

from conftest import BIN

REGRESS = os.environ.get("GPUJOIN_POSTGRES_REGRESS")
pytestmark = pytest.mark.skipif(not REGRESS, reason="GPUJOIN_POSTGRES_REGRESS names no folder")


def run(server, database: str, script: str) -> str:
    environment = {**os.environ, "PG_ABS_SRCDIR": REGRESS or "", "PG_LIBDIR": "", "PG_DLSUFFIX": "",
                   "PGTZ": "PST8PDT", "PGDATESTYLE": "Postgres, MDY"}
    file = pathlib.Path(REGRESS) / "sql" / f"{script}.sql"
    done = subprocess.run([BIN / "psql", "-X", "-a", "-q", "-h", server.folder, "-U", "postgres",
                           "-d", database], stdin=open(file), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, env=environment, timeout=400)
    assert done.returncode == 0, done.stdout[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def databases(server):
    for database in ("regress_off", "regress_forced"):
        with server.connect() as own:
            own.execute(f"CREATE DATABASE {database}")
            own.execute(f"ALTER DATABASE {database} SET gpujoin.enable = off")
        # The files that make what other tests are about. What they lack without regress.so, a few
        # functions in C, both databases lack.
        for script in ("test_setup", "create_index", "create_misc"):
            run(server, database, script)
        with server.connect(database) as own:
            own.execute("VACUUM ANALYZE")
    with server.connect() as own:
        own.execute("ALTER DATABASE regress_forced SET gpujoin.enable = on")
        own.execute("ALTER DATABASE regress_forced SET gpujoin.force = on")
    yield
    with server.connect() as own:
        for database in ("regress_off", "regress_forced"):
            own.execute(f"DROP DATABASE {database}")


def without_plans(output: str) -> collections.Counter:
    """The lines in any order, as rows may come in any; plans differ, of course."""
    lines, in_plan = collections.Counter(), False
    for line in map(str.rstrip, output.splitlines()):
        in_plan = in_plan or line.strip() == "QUERY PLAN"
        if not in_plan:
            lines[line] += 1
        in_plan = in_plan and not re.match(r"\(\d+ rows?\)", line)
    return lines


@pytest.mark.parametrize("script", ["join", "subselect"])
def test_regress(server, databases, script):
    expected = run(server, "regress_off", script)
    got = run(server, "regress_forced", script)
    assert "GPUJOIN" in got and "GPUJOIN" not in expected
    wanted, made = without_plans(expected), without_plans(got)
    assert made == wanted, (list((made - wanted).items())[:9], list((wanted - made).items())[:9])
    print(script, "lines", sum(made.values()), "plan nodes of ours", got.count("GPUJOIN"))
