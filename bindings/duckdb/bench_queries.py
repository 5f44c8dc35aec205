#!/usr/bin/env python3
"""Times queries of files with DuckDB alone and with gpujoin, in turns.

    bindings/duckdb/bench_queries.py TABLES QUERIES [--repeat 5] [--threads 2] [--forced] [--wall]
        [--device cuda] [--figure duckdb/tpch] [--scale 1] [--commit TEXT] [--output FILE]
        [--extension FILE] [--parquet]

TABLES is a folder of Parquet files, one a table; QUERIES a folder of .sql files, or a file with a
line "-- NAME" before each query, as tests/tpch.sql. Tables are made of the files first, or with
--parquet each query scans the files. Times are the least CPU milliseconds, or with
--wall those of the wall clock, of DuckDB, of the joins that gpujoin's gate takes, and with --forced
of all that it can take. A query that the gate made more than 1.1 times as long runs as often again,
twice at most. Every answer is compared with DuckDB's own.

--output writes what scripts/report.py reads: FIGURE/QUERY/ENGINE/SCALE.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import pathlib
import re
import sys

import duckdb

from bench import EXTENSION, milliseconds

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
from device_name import device_name  # noqa: E402: where it lies is known only now

DUCKDB, GATE, FORCED = "DuckDB", "gpujoin, by the gate", "gpujoin, forced"
SETTINGS = {DUCKDB: (False, False), GATE: (True, False), FORCED: (True, True)}
NEAR = 1e-9  # sums of floating point numbers come in another order


def queries_of(path):
    """Names and texts."""
    if path.is_dir():
        return [(file.stem, file.read_text()) for file in sorted(path.glob("*.sql"))]
    return re.findall(r"^-- (\w+)\n(.*?);\s*(?=^-- \w+\n|\Z)", path.read_text(), re.M | re.S)


def is_same(value, expected):
    if isinstance(value, float) and isinstance(expected, float):
        return math.isclose(value, expected, rel_tol=NEAR)
    return value == expected


def is_same_answer(rows, expected):
    """Rows of equal sort keys may change places."""
    if len(rows) != len(expected):
        return False
    pairs = zip(sorted(rows, key=str), sorted(expected, key=str))
    return all(is_same(*values) for pair in pairs for values in zip(*pair))


def choose(connection, engine):
    for setting, value in zip(("enable", "force"), SETTINGS[engine]):
        connection.execute(f"SET gpujoin_{setting} = {value}")


def taken_of(connection, engine, sql):
    """How many joins of it."""
    if engine == DUCKDB:
        return 0  # the list of decisions stays what it was
    choose(connection, engine)
    connection.execute("SELECT 1 FROM range(1) a(i) JOIN range(1) b(i) USING (i)").fetchall()
    connection.execute("EXPLAIN " + sql).fetchall()
    return connection.execute("SELECT count(*) FROM gpujoin_decisions() WHERE taken").fetchone()[0]


def measure(connection, name, sql, engines, options):
    """The least milliseconds of each engine."""
    least, expected = dict.fromkeys(engines, math.inf), None
    for turn in range(3 * options.repeat):
        is_enough = turn and turn % options.repeat == 0
        if is_enough and least[GATE] <= 1.1 * least[DUCKDB]:
            break
        for engine in engines:
            choose(connection, engine)
            wall, cpu, rows = milliseconds(connection, sql)
            least[engine] = min(least[engine], wall if options.wall else cpu)
            if expected is None:
                expected = rows
            elif not is_same_answer(rows, expected):
                raise SystemExit(f"{name}: {engine} has another answer")
    return least


def write(options, entries):
    left_out = ("tables", "queries", "extension", "output", "commit")
    arguments = [options.queries.name]
    for name, value in vars(options).items():
        if name not in left_out and value is not False:
            arguments.append(f"--{name}" if value is True else f"--{name} {value}")
    context = {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": options.commit,
        "command": " ".join(["bindings/duckdb/bench_queries.py TABLES", *arguments]),
        "device": device_name(),
        "duckdb": duckdb.__version__,
    }
    options.output.write_text(json.dumps({"context": context, "benchmarks": entries}, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", type=pathlib.Path)
    parser.add_argument("queries", type=pathlib.Path)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--forced", action="store_true")
    parser.add_argument("--wall", action="store_true")
    parser.add_argument("--device", default="automatic")
    parser.add_argument("--figure", default="duckdb/tpch")
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--output", type=pathlib.Path)
    parser.add_argument("--extension", default=EXTENSION)
    parser.add_argument("--parquet", action="store_true")
    options = parser.parse_args()
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    connection.execute(f"LOAD '{options.extension}'")
    connection.execute(f"SET threads = {options.threads}")
    connection.execute(f"SET gpujoin_device = '{options.device}'")
    for file in sorted(options.tables.glob("*.parquet")):
        kind = "VIEW" if options.parquet else "TABLE"
        connection.execute(f"CREATE {kind} {file.stem} AS FROM '{file}'")
    engines = [DUCKDB, GATE, FORCED] if options.forced else [DUCKDB, GATE]
    totals, slower, entries = dict.fromkeys(engines, 0.0), [], []
    for name, sql in queries_of(options.queries):
        least = measure(connection, name, sql, engines, options)
        taken = {engine: taken_of(connection, engine, sql) for engine in engines}
        for engine, time in least.items():
            totals[engine] += time
            entries.append({
                "name": f"{options.figure}/{name}/{engine}/{options.scale:g}",
                "real_time": round(time, 3), "time_unit": "ms", "x": options.scale,
                "joins_taken": taken[engine],
            })
        if any(taken.values()):
            print(f"{name}: " + ", ".join(f"{engine} {least[engine]:.0f} ms ({taken[engine]})"
                                          for engine in engines), flush=True)
        if least[GATE] > 1.1 * least[DUCKDB]:
            slower.append(f"{name} {least[DUCKDB]:.0f} -> {least[GATE]:.0f}"
                          f" with {taken[GATE]} taken")
    print("all: " + ", ".join(f"{engine} {time:.0f} ms" for engine, time in totals.items()) +
          f"; above 1.1 times by the gate: {slower or 'none'}")
    if options.output:
        write(options, entries)


if __name__ == "__main__":
    main()
