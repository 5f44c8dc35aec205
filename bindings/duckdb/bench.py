#!/usr/bin/env python3
"""Times one join under an aggregate with DuckDB's own join and with gpujoin, in turns.

    bindings/duckdb/bench.py [--threads 2] [--repeat 5] [--extension FILE]

Prints a line for each size and way that keys lie: the least wall clock and the least CPU
milliseconds of either, and what the cost gate says. The keys of the build side are all different,
each probe row has one match.
"""

from __future__ import annotations

import argparse
import itertools
import pathlib
import resource
import time

import duckdb

EXTENSION = (pathlib.Path(__file__).resolve().parents[2] / "build/duckdb" / duckdb.__version__ /
             "gpujoin.duckdb_extension")
# One key of so many numbers is there, and whether both sides lie in the order of their keys.
WAYS = {"dense": (1, False), "in order": (1, True), "one of 4": (4, False),
        "scattered": (1000003, False)}
# log2 of the rows of either side, and how many payload columns of 8 bytes each has.
SIZES = [(16, 20, 1), (18, 20, 1), (20, 20, 1), (20, 22, 0), (20, 22, 1), (20, 22, 3), (20, 24, 1),
         (22, 22, 1), (22, 24, 1)]


def make_tables(connection, build_bits, probe_bits, payloads, gap=1, is_in_order=False):
    connection.execute("DROP TABLE IF EXISTS build; DROP TABLE IF EXISTS probe")
    columns = "".join(f", i + {j} AS {{}}{j}" for j in range(payloads))
    order = "ORDER BY k" if is_in_order else ""
    connection.execute(f"""CREATE TABLE build AS
        SELECT ((i * 2654435761) % {2**build_bits})::BIGINT * {gap} AS k {columns.replace('{}', 'w')}
        FROM range({2**build_bits}) AS r(i) {order}""")
    connection.execute(f"""CREATE TABLE probe AS
        SELECT (hash(i) % {2**build_bits})::BIGINT * {gap} AS k {columns.replace('{}', 'v')}
        FROM range({2**probe_bits}) AS r(i) {order}""")
    sums = "".join(f", sum(w{j}), sum(v{j})" for j in range(payloads))
    return f"SELECT count(*){sums} FROM probe JOIN build ON probe.k = build.k"


def milliseconds(connection, sql):
    used = resource.getrusage(resource.RUSAGE_SELF)
    began = time.perf_counter()
    rows = connection.execute(sql).fetchall()
    wall = time.perf_counter() - began
    now = resource.getrusage(resource.RUSAGE_SELF)
    cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    return wall * 1e3, cpu * 1e3, rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--extension", default=EXTENSION)
    options = parser.parse_args()
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    connection.execute(f"LOAD '{options.extension}'")
    connection.execute(f"SET threads = {options.threads}")
    for size, way in itertools.product(SIZES, WAYS):
        sql = make_tables(connection, *size, *WAYS[way])
        runs = {False: [], True: []}
        for _ in range(options.repeat):
            for is_ours, times in runs.items():
                connection.execute(f"SET gpujoin_enable = {is_ours}")
                connection.execute(f"SET gpujoin_force = {is_ours}")
                times.append(milliseconds(connection, sql))
        if len({str(rows) for times in runs.values() for _, _, rows in times}) != 1:
            raise SystemExit(f"the answers of {size}, {way}, differ")
        connection.execute("SET gpujoin_force = false")
        connection.execute(sql).fetchall()
        reason, = connection.execute("SELECT reason FROM gpujoin_decisions()").fetchone()
        least = {who: [min(run[i] for run in times) for i in (0, 1)] for who, times in runs.items()}
        print("2^{} with 2^{} rows, {} payload columns, ".format(*size) + way +
              ": duckdb {:.0f} ms ({:.0f} of CPU), ".format(*least[False]) +
              "gpujoin {:.0f} ms ({:.0f} of CPU); gate: ".format(*least[True]) + reason, flush=True)


if __name__ == "__main__":
    main()
