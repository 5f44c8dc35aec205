#!/usr/bin/env python3
"""Times aggregates over a join on the CPU beside DuckDB, and checks every answer.

    GPUJOIN_LIBRARY=build/cpu/libgpujoin.so PYTHONPATH=bindings/python \\
        bench/aggregates/time_on_cpu.py [--log2-rows 22] [--threads 2] [--calls 5]

Keys of 4 bytes: of the left side unique, each with a random match on the right side, which has four
times as many rows; and one payload of 4 bytes a side. Times are the median of the calls, in which
both engines take turns, from Arrow tables to an answer in memory.
"""

import argparse
import statistics
import time

import duckdb
import numpy as np
import pyarrow as pa

import gpujoin

QUERIES = {
    "rows": (None, "select count(*), sum(l.x), sum(r.y) from l join r using (k)"),
    "all": (None, "select count(*), sum(r.y) from l join r using (k)"),
    "by left": ("left", "select l.i, count(*), sum(r.y) from l join r using (k) group by l.i"),
    "by right": ("right", "select r.i, count(*), sum(l.x) from l join r using (k) group by r.i"),
}


def ask(name, context, left, right):
    by = QUERIES[name][0]
    if name == "rows":
        return gpujoin.join(left, right, "k", select=["x", "y"], context=context)
    added = "sum(left.x)" if by == "right" else "sum(right.y)"
    select = None if by is None else ["i"]
    return gpujoin.aggregate(
        *(left, right), "k", by=by, select=select, context=context,
        aggregates={"n": "count", "s": added},
    )


def answer_of(name, result):
    table = result.to_table()
    if name == "rows":
        values = [pa.compute.sum(table[column]).as_py() for column in ("x", "y")]
        return [[table.num_rows], *([value] for value in values)]
    names = table.schema.names
    return [table.sort_by("i")[n].to_pylist() if "i" in names else table[n].to_pylist() for n in names]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--log2-rows", type=int, default=22)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--calls", type=int, default=5)
    options = parser.parse_args()
    rows = 1 << options.log2_rows
    data = np.random.default_rng(1)
    left = pa.table(
        {
            "k": data.permutation(rows).astype(np.int32),
            "x": data.integers(-1000, 1000, rows, np.int32),
            "i": np.arange(rows, dtype=np.int32),
        }
    )
    right = pa.table(
        {
            "k": data.integers(0, rows, 4 * rows, np.int32),
            "y": data.integers(-1000, 1000, 4 * rows, np.int32),
            "i": np.arange(4 * rows, dtype=np.int32),
        }
    )
    context = gpujoin.Context("cpu", threads=options.threads)
    connection = duckdb.connect(config={"threads": options.threads})
    connection.register("l_given", left)
    connection.register("r_given", right)
    connection.execute("create table l as from l_given; create table r as from r_given")
    for name, (_, query) in QUERIES.items():
        times = {"gpujoin": [], "duckdb": []}
        for _ in range(options.calls):
            start = time.perf_counter()
            result = ask(name, context, left, right)
            times["gpujoin"].append(time.perf_counter() - start)
            start = time.perf_counter()
            found = connection.sql(query).to_arrow_table()
            times["duckdb"].append(time.perf_counter() - start)
        found = found.sort_by(found.schema.names[0])
        assert answer_of(name, result) == [column.to_pylist() for column in found.columns], name
        ours, theirs = (1000 * statistics.median(times[engine]) for engine in times)
        print(f"{name:9} {ours:8.1f} ms, DuckDB {theirs:8.1f} ms: {ours / theirs:.2f}", flush=True)


if __name__ == "__main__":
    main()
