#!/usr/bin/env python3
"""Times joins of Arrow tables in host memory that become Arrow tables, in Python, in turns.

    GPUJOIN_LIBRARY=build/dev/libgpujoin.so bench/tpc/time_arrow.py TPCH [--repeat 3]
        [--commit TEXT] [--output bench/results/DATE-COMMIT-arrow.json]

TPCH is a folder of Parquet files, TABLE.parquet. gpujoin.join on a GPU and on the CPU, DuckDB and
Acero, each with all the machine's threads; copies to the device and back are in the time. Answers
are compared by their rows and the sum of each column.
"""

import argparse
import datetime
import json
import pathlib
import sys
import time

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bindings/python"))
import gpujoin  # noqa: E402

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
    return right.join(left, right_on, left_on, "inner")


ENGINES = {"gpujoin, GPU": by_gpujoin("cuda"), "gpujoin, CPU": by_gpujoin("cpu"), "DuckDB": by_duckdb,
           "Acero": by_acero}  # fmt: skip


def summary(table):
    """Rows, and the sum of each column that all engines put out."""
    sums = {}
    for name in table.column_names:
        column = table[name]
        if pa.types.is_date(column.type):
            column = column.cast(pa.int32())
        sums[name] = pc.sum(column.cast(pa.decimal128(38, 2)) if pa.types.is_decimal(column.type) else column)
    return table.num_rows, {name: value.as_py() for name, value in sums.items()}


def is_same(found, expected):
    names = found[1].keys() & expected[1].keys()
    return found[0] == expected[0] and all(found[1][n] == expected[1][n] for n in names)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", type=pathlib.Path)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--engines", nargs="*", default=list(ENGINES), choices=list(ENGINES))
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    measured = []
    for name, sides in JOINS.items():
        tables = [pq.read_table(options.tables / f"{t}.parquet", columns=list(c)) for t, *c in sides]
        keys = [side[1] for side in sides]
        times, first, expected = {engine: [] for engine in options.engines}, {}, None
        for _ in range(options.repeat + 1):
            for engine in options.engines:
                began = time.perf_counter()
                joined = ENGINES[engine](*tables, *keys)
                times[engine].append((time.perf_counter() - began) * 1e3)
                if engine not in first:
                    first[engine] = summary(joined)
                    expected = expected or first[engine]
                    if not is_same(first[engine], expected):
                        raise SystemExit(f"{name}: {engine} has another answer")
                del joined
        entry = {"join": name, "rows": expected[0], "input_bytes": sum(t.nbytes for t in tables)}
        entry["ms"] = {engine: round(min(t[1:]), 1) for engine, t in times.items()}
        entry["first_ms"] = {engine: round(t[0], 1) for engine, t in times.items()}
        measured.append(entry)
        print(entry, flush=True)
    if options.output:
        context = {
            "date": datetime.date.today().isoformat(),
            "commit": options.commit,
            "threads": pa.cpu_count(),
            "duckdb": duckdb.__version__,
            "command": f"bench/tpc/time_arrow.py TPCH --repeat {options.repeat}",
        }
        options.output.write_text(json.dumps({"context": context, "joins": measured}, indent=1) + "\n")


if __name__ == "__main__":
    main()
