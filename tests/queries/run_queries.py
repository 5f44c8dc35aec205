#!/usr/bin/env python3
"""Runs the joins of TPC-H's and TPC-DS's queries, and compares each with what DuckDB answers.

    tests/queries/run_queries.py --scale 1 [tpch/q21 tpcds/q72 ...] [--device cuda] [--keep FOLDER]

Each file is the joins of one query: README.md. Exit status 1: an answer differs.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import pyarrow as pa

import gpujoin

FOLDER = Path(__file__).parent
_ONE_SIDE = ("semi", "anti", "not_in", "mark")


@dataclass
class Input:
    """A table that DuckDB makes, of base tables and of what was joined before."""

    name: str
    sql: str


@dataclass
class Join:
    name: str
    left: str
    kind: str
    right: str
    on: list[tuple[str, str]] = field(default_factory=list)
    where: str | None = None
    select: list[str] | None = None


def read_query(path: Path) -> list[Input | Join]:
    """Its inputs and joins, in order. Errors: ValueError."""
    steps: list[Input | Join] = []
    clause = ""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        words = line.split()
        if not words or line.startswith("#"):
            continue
        try:
            if line.startswith("input "):
                name, _, sql = line[len("input ") :].partition(":")
                steps.append(Input(name, sql.strip()))
            elif line.startswith("join "):
                _, name, left, kind, right = words
                steps.append(Join(name.rstrip(":"), left, kind, right))
            elif isinstance(steps[-1], Input):
                steps[-1].sql += " " + line.strip()
            else:
                clause = words[0] if words[0] in ("on", "where", "select") else clause
                text = line.strip()
                _add_clause(steps[-1], clause, text[len(clause) :] if words[0] == clause else text)
        except (ValueError, IndexError) as error:
            raise ValueError(f"{path}:{number}: {error}: {line}") from None
    return steps


def _add_clause(join: Join, clause: str, text: str) -> None:
    if clause == "on":
        for pair in text.split(","):
            left, right = pair.split("=")
            join.on.append((left.strip(), right.strip()))
    elif clause == "where":
        join.where = f"{join.where or ''} {text.strip()}".strip()
    elif clause == "select":
        join.select = (join.select or []) + text.split()
    else:
        raise ValueError("a line of no clause")


def generate(benchmark: str, scale: str, folder: Path) -> None:
    """Parquet files of all tables, unless they are there."""
    if any(folder.glob("*.parquet")):
        return
    tool = shutil.which("tpcgen-cli") or str(Path(sys.executable).parent / "tpcgen-cli")
    command = [tool, benchmark, "parquet", "-s", scale, "--output-dir", str(folder)]
    subprocess.run(command, check=True, capture_output=True)


class Runner:
    """Runs the queries of one benchmark."""

    def __init__(self, folder: Path, context: gpujoin.Context) -> None:
        self._folder = folder
        self._context = context

    def run(self, path: Path) -> list[tuple[str, int, str]]:
        """Of each join its name, its rows, and what is wrong with it."""
        with duckdb.connect() as connection:
            for file in self._folder.glob("*.parquet"):
                sql = f"CREATE VIEW base_{file.stem} AS SELECT * FROM '{file}'"
                connection.execute(sql)
            tables: dict[str, pa.Table] = {}
            answers = []
            for step in read_query(path):
                if isinstance(step, Input):
                    tables[step.name] = self._input(connection, step, tables)
                else:
                    found, problem = self._join(connection, step, tables)
                    tables[step.name] = found
                    answers.append((step.name, found.num_rows, problem))
            return answers

    def _input(self, connection, step: Input, tables: dict[str, pa.Table]) -> pa.Table:
        """Names are those of base tables, else of tables that were made before."""
        names = {file.stem for file in self._folder.glob("*.parquet")}
        for name, table in tables.items():
            connection.register(name, table)
        pattern = r"\b(FROM|JOIN|,)(\s+)(" + "|".join(sorted(names, key=len, reverse=True)) + r")\b"
        sql = re.sub(pattern, r"\1\2base_\3", step.sql)
        made = connection.sql(sql).to_arrow_table()
        for name in tables:
            connection.unregister(name)
        return made

    def _join(self, connection, step: Join, tables: dict[str, pa.Table]) -> tuple[pa.Table, str]:
        left, right = tables[step.left], tables[step.right]
        keys = {"left_on": [a for a, _ in step.on], "right_on": [b for _, b in step.on]}
        columns = left.schema.names + ([] if step.kind in _ONE_SIDE else right.schema.names)
        columns = step.select or columns + ["mark"] * (step.kind == "mark")
        result = gpujoin.join(
            *(left, right),
            **(keys if step.on else {}),
            how=step.kind,
            where=step.where,
            select=columns,
            context=self._context,
        )
        found = result.to_table()
        connection.register("found", found)
        connection.register("of_left", left)
        connection.register("of_right", right)
        sql = join_in_sql(step, columns)
        difference = (
            f"WITH wanted AS MATERIALIZED ({sql}), more AS (FROM found EXCEPT ALL FROM wanted), "
            "less AS (FROM wanted EXCEPT ALL FROM found) "
            "SELECT (SELECT count(*) FROM more), (SELECT count(*) FROM less)"
        )
        more, less = connection.execute(difference).fetchall()[0]
        problem = f"{more} rows too many, {less} missing" if more or less else ""
        return found, problem


def join_in_sql(step: Join, columns: list[str]) -> str:
    """The join as DuckDB has it."""
    quoted = [f'"{name}"' for name in columns if name != "mark"]
    parts = [f'l."{a}" = r."{b}"' for a, b in step.on]
    if step.where:
        parts.append("(" + re.sub(r"\b(l)eft\.|\b(r)ight\.", r"\1\2.", step.where) + ")")
    condition = " AND ".join(parts)
    source = "FROM of_left AS l"
    if step.kind in ("mark", "not_in"):
        ((a, b),) = step.on
        test = f'l."{a}" IN (SELECT "{b}" FROM of_right)'
        if step.kind == "mark":
            return f"SELECT {', '.join([*quoted, test + ' AS mark'])} {source}"
        return f"SELECT {', '.join(quoted)} {source} WHERE NOT ({test})"
    words = {"semi": "SEMI JOIN", "anti": "ANTI JOIN", "inner": "JOIN", "single": "LEFT JOIN"}
    word = words.get(step.kind, f"{step.kind.upper()} JOIN")
    return f"SELECT {', '.join(quoted)} {source} {word} of_right AS r ON {condition}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("queries", nargs="*", help="tpch/q21; default: all")
    parser.add_argument("--scale", default="0.1", help="scale factor, default 0.1")
    parser.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"))
    parser.add_argument("--keep", type=Path, help="where the tables are, or are to be made")
    arguments = parser.parse_args()
    paths = sorted(FOLDER.glob("tpc*/*.txt"))
    if arguments.queries:
        paths = [FOLDER / f"{name}.txt" for name in arguments.queries]
    wrong = 0
    with tempfile.TemporaryDirectory() as made, gpujoin.Context(arguments.device) as context:
        for path in paths:
            benchmark = path.parent.name
            folder = (arguments.keep or Path(made)) / f"{benchmark}_{arguments.scale}"
            generate(benchmark, arguments.scale, folder)
            began = time.monotonic()
            answers = Runner(folder, context).run(path)
            rows = ", ".join(f"{name} {count}" for name, count, _ in answers)
            seconds = time.monotonic() - began
            print(f"{benchmark}/{path.stem}: {rows} rows; {seconds:.1f} s", flush=True)
            for name, _, problem in answers:
                if problem:
                    wrong += 1
                    print(f"FAILED {benchmark}/{path.stem}, {name}: {problem}")
    print(f"{wrong} joins differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
