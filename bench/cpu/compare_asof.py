#!/usr/bin/env python3
"""Times ASOF joins on the CPU beside DuckDB's, the same rows and threads, and checks the answer.

    GPUJOIN_LIBRARY=build/cpu/libgpujoin.so bench/cpu/compare_asof.py [--threads 2] [--calls 3]
        [--left 4000000] [--right 16000000] [--commit TEXT] [--output FILE]

Each left row has its last right row at or before it; out come the left place and the right row's
payload, in Arrow on both sides. Right places are unique within a key, so that there is one answer.
Seconds are the median of the calls, planning counted.
"""

import argparse
import datetime
import json
import os
import pathlib
import statistics
import sys
import time

import duckdb
import numpy as np
import pyarrow as pa

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bindings/python"))
import gpujoin  # noqa: E402

CASES = [(order, keys) for keys in (0, 1000) for order in ("sorted", "any")]


def tables(rng, rows, order, keys):
    made = []
    for count, payload in zip(rows, ("x", "y")):
        places = rng.permutation(2 * max(rows))[:count].astype(np.int64)
        if order == "sorted":
            places.sort()
        columns = {"t": places, payload: np.arange(count, dtype=np.int32)}
        if keys:
            columns["k"] = rng.integers(0, keys, count, dtype=np.int32)
        made.append(pa.table(columns))
    return made


def median(call, calls):
    times, answer = [], None
    for _ in range(calls):
        start = time.perf_counter()
        answer = call()
        times.append(time.perf_counter() - start)
    return round(statistics.median(times), 4), answer


def sums(table):
    values = [table.column(name).to_numpy() for name in ("t", "y")]
    return table.num_rows, *(int(v.sum()) for v in values), int((values[0] * values[1] % 1009).sum())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--calls", type=int, default=3)
    parser.add_argument("--left", type=int, default=4_000_000)
    parser.add_argument("--right", type=int, default=16_000_000)
    parser.add_argument("--commit", default="")
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    rng = np.random.default_rng(1)
    measured = []
    engine = duckdb.connect(config={"threads": options.threads})
    with gpujoin.Context("cpu", threads=options.threads) as context:
        for order, keys in CASES:
            left, right = tables(rng, (options.left, options.right), order, keys)
            engine.register("l", left)
            engine.register("r", right)
            for name in ("l", "r"):
                engine.execute(f"CREATE OR REPLACE TABLE {name}_ AS SELECT * FROM {name}")
            on = "l.k = r.k AND l.t >= r.t" if keys else "l.t >= r.t"
            query = f"SELECT l.t, r.y FROM l_ l ASOF JOIN r_ r ON {on}"
            theirs, wanted = median(lambda: engine.execute(query).to_arrow_table(), options.calls)
            asof = gpujoin.Asof("t")

            def ours():
                on = "k" if keys else None
                made = gpujoin.join(left, right, on, asof=asof, select=["t", "y"], context=context)
                return made.to_table()

            seconds, found = median(ours, options.calls)
            if sums(found) != sums(wanted):
                raise SystemExit(f"WRONG RESULT: {order}, {keys} keys")
            figures = {"order": order, "keys": keys, "rows": found.num_rows}
            figures |= {"gpujoin_s": seconds, "duckdb_s": theirs, "ratio": round(seconds / theirs, 3)}
            print(figures, flush=True)
            measured.append(figures)
    if options.output:
        said = {
            "date": datetime.date.today().isoformat(),
            "commit": options.commit,
            "threads": options.threads,
            "cores": os.cpu_count(),
            "duckdb": duckdb.__version__,
            "left_rows": options.left,
            "right_rows": options.right,
            "command": "bench/cpu/compare_asof.py " + " ".join(sys.argv[1:]),
        }
        options.output.write_text(json.dumps({"context": said, "joins": measured}, indent=2) + "\n")


if __name__ == "__main__":
    main()
