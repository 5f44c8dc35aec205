#!/usr/bin/env python3
"""Times joins of Arrow tables in host memory that become Arrow tables, in Python, in turns.

    GPUJOIN_LIBRARY=build/dev/libgpujoin.so bench/tpc/time_arrow.py TPCH --scale 10 [--repeat 3]
        [--seconds N] [--commit TEXT] [--output bench/results/DATE-COMMIT-arrow.json]

TPCH is a folder of Parquet files, TABLE.parquet. gpujoin.join on a GPU and on the CPU, DuckDB and
Acero, each with all the machine's threads; copies to the device and back are in the time. Each
first joins either table as the left one, and then repeats what was faster; a GPU's engine is left
out where there is none. Answers are compared by their rows and the sum of each column.

After --seconds no further join begins, and what has been measured is written.
"""

import argparse
import concurrent.futures
import datetime
import json
import pathlib
import sys
import time

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "bindings/python")]
import gpujoin  # noqa: E402
from device_name import device_name  # noqa: E402

# Left and right: table and columns, the key first.
JOINS = {
    "LineitemSupplier": (("supplier", "s_suppkey"), ("lineitem", "l_suppkey", "l_orderkey")),
    "LineitemOrders": (("orders", "o_orderkey"), ("lineitem", "l_orderkey")),
    "orders x lineitem, 3 + 1 columns": (
        ("orders", "o_orderkey", "o_custkey", "o_orderdate", "o_totalprice"),
        ("lineitem", "l_orderkey", "l_quantity")),
    "part x lineitem, 2 + 3 columns": (
        ("part", "p_partkey", "p_size", "p_retailprice"),
        ("lineitem", "l_partkey", "l_quantity", "l_extendedprice", "l_discount")),
}  # fmt: skip


def by_gpujoin(device):
    def run(left, right, left_on, right_on):
        return gpujoin.join(left, right, left_on=left_on, right_on=right_on, device=device).to_table()

    return run


def by_duckdb(left, right, left_on, right_on):
    connection = duckdb.connect()
    connection.register("l", left), connection.register("r", right)
    columns = ", ".join(c for c in left.column_names + right.column_names if c != right_on)
    return connection.sql(f"SELECT {columns} FROM l, r WHERE {left_on} = {right_on}").to_arrow_table()


def by_acero(left, right, left_on, right_on):
    return left.join(right, left_on, right_on, "inner")


ENGINES = {"gpujoin, GPU": by_gpujoin("cuda"), "gpujoin, CPU": by_gpujoin("cpu"), "DuckDB": by_duckdb,
           "Acero": by_acero}  # fmt: skip


def total(column):
    """Of a decimal's unscaled values, all of which have 64 bits: Arrow adds up in 128, slowly."""
    if pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    if not pa.types.is_decimal(column.type):
        return pc.sum(column).as_py()
    words = (np.frombuffer(chunk.buffers()[1], np.int64) for chunk in column.chunks)
    parts = (w[2 * c.offset :][: 2 * len(c) : 2] for w, c in zip(words, column.chunks))
    return column.type.scale, sum(int(part.sum()) for part in parts)


def summary(table):
    """Rows, and the sum of each column that all engines put out."""
    assert all(table[name].null_count == 0 for name in table.column_names)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        return table.num_rows, dict(zip(table.column_names, pool.map(total, table.columns)))


def is_same(found, expected):
    names = found[1].keys() & expected[1].keys()
    return found[0] == expected[0] and all(found[1][n] == expected[1][n] for n in names)


class Timed:
    """Of one engine and join: the times of both orders, the left table's name first."""

    def __init__(self, run, sides):
        # A side: its name, its table, its key.
        self.orders = {side[0]: (run, side, other) for side, other in (sides, sides[::-1])}
        self.times = {left: [] for left in self.orders}
        self.first_ms = None

    def call(self, left):
        """Its answer."""
        run, (_, left_table, left_on), (_, right_table, right_on) = self.orders[left]
        began = time.perf_counter()
        joined = run(left_table, right_table, left_on, right_on)
        took = (time.perf_counter() - began) * 1e3
        if self.first_ms is None:  # makes contexts and pools
            self.first_ms = took
        else:
            self.times[left].append(took)
        return joined

    @property
    def best(self):
        return min(self.times, key=lambda left: min(self.times[left]))


def measure(name, sides, engines, repeat):
    timed = {engine: Timed(ENGINES[engine], sides) for engine in engines}
    expected = None
    for engine, one in timed.items():
        one.call(sides[0][0])
        for left in one.orders:
            found = summary(one.call(left))
            expected = expected or found
            if not is_same(found, expected):
                raise SystemExit(f"{name}: {engine} has another answer")
    for _ in range(repeat - 1):
        for one in timed.values():
            one.call(one.best)

    def of_each(value):
        return {engine: value(one) for engine, one in timed.items()}

    return {
        "join": name,
        "rows": expected[0],
        "input_bytes": sum(side[1].nbytes for side in sides),
        "ms": of_each(lambda one: round(min(one.times[one.best]), 1)),
        "left": of_each(lambda one: one.best),
        "ms_of_orders": of_each(lambda one: {o: round(min(t), 1) for o, t in one.times.items()}),
        "first_ms": of_each(lambda one: round(one.first_ms, 1)),
    }


def write(options, measured):
    arguments = f"TPCH --scale {options.scale:g} --repeat {options.repeat}"
    context = {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": options.commit,
        "device": device_name(),
        "threads": pa.cpu_count(),
        "duckdb": duckdb.__version__,
        "pyarrow": pa.__version__,
        "command": f"bench/tpc/time_arrow.py {arguments}",
    }
    options.output.write_text(json.dumps({"context": context, "joins": measured}, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", type=pathlib.Path)
    parser.add_argument("--scale", type=float, required=True)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--engines", nargs="*", default=list(ENGINES), choices=list(ENGINES))
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    began, measured = time.monotonic(), []
    engines = [e for e in options.engines if e != "gpujoin, GPU" or device_name() != "CPU"]
    for name, sides in JOINS.items():
        if time.monotonic() - began > options.seconds:
            print(f"{name}: left out, there is no time for it")
            continue
        sides = [(t, pq.read_table(options.tables / f"{t}.parquet", columns=list(c)), c[0])
                 for t, *c in sides]  # fmt: skip
        measured.append(measure(name, sides, engines, options.repeat))
        print(measured[-1], flush=True)
        if options.output:
            write(options, measured)


if __name__ == "__main__":
    main()
