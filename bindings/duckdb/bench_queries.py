#!/usr/bin/env python3
"""Times queries of files with DuckDB alone and with gpujoin's gate, in turns.

    bindings/duckdb/bench_queries.py TABLES QUERIES [--repeat 5] [--threads 2] [--extension FILE]

TABLES is a folder of Parquet files, one a table; QUERIES a folder of .sql files, or a file with a
line "-- NAME" before each query, as tests/tpch.sql. Prints the least CPU milliseconds of either, in
total and for queries of which gpujoin took a join, and those that it made more than 1.1 times as
long; what seems so runs as often again, twice at most.
"""

from __future__ import annotations

import argparse
import pathlib
import re

import duckdb

from bench import EXTENSION, milliseconds


def queries_of(path):
    """Names and texts."""
    if path.is_dir():
        return [(file.stem, file.read_text()) for file in sorted(path.glob("*.sql"))]
    return re.findall(r"^-- (\d+)\n(.*?);\s*(?=^-- \d+\n|\Z)", path.read_text(), re.M | re.S)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", type=pathlib.Path)
    parser.add_argument("queries", type=pathlib.Path)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--extension", default=EXTENSION)
    options = parser.parse_args()
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    connection.execute(f"LOAD '{options.extension}'")
    connection.execute(f"SET threads = {options.threads}")
    for file in sorted(options.tables.glob("*.parquet")):
        connection.execute(f"CREATE TABLE {file.stem} AS FROM '{file}'")
    totals, slower = [0.0, 0.0], []
    for name, sql in queries_of(options.queries):
        least = [float("inf")] * 2
        for turn in range(3 * options.repeat):
            if turn % options.repeat == 0 and least[1] <= 1.1 * least[0] < float("inf"):
                break
            for is_enabled in (0, 1):
                connection.execute(f"SET gpujoin_enable = {bool(is_enabled)}")
                least[is_enabled] = min(least[is_enabled], milliseconds(connection, sql)[1])
        totals = [total + time for total, time in zip(totals, least)]
        connection.execute("SELECT 1 FROM range(1) a(i) JOIN range(1) b(i) USING (i)").fetchall()
        connection.execute("EXPLAIN " + sql).fetchall()
        taken, = connection.execute(
            "SELECT count(*) FROM gpujoin_decisions() WHERE taken").fetchone()
        if taken:
            print(f"{name}: {taken} joins taken, {least[0]:.0f} -> {least[1]:.0f} ms",
                  flush=True)
        if least[1] > 1.1 * least[0]:
            slower.append(f"{name} {least[0]:.0f} -> {least[1]:.0f} with {taken} taken")
    print(f"all: {totals[0]:.0f} -> {totals[1]:.0f} ms; above 1.1 times: {slower or 'none'}")


if __name__ == "__main__":
    main()
