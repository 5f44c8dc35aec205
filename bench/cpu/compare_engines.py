#!/usr/bin/env python3
"""Times one inner join on the CPU executor and on the CPU engines that are installed beside it.

    bench/cpu/compare_engines.py --threads 16 --output bench/results/cpu-16-threads.json

All engines run in this one process, on the same cores, in turn: each round runs every engine once,
so that whatever else the machine does falls on all of them. The first round warms up and is
checked: every engine must have the same number of rows and the same sum of each column. Reported
is the median of the others, in milliseconds of the wall clock.

The join: R has a key (a random permutation of 0 .. |R| - 1) and a payload, S a key drawn uniformly
from those of R and a payload; int32 all; the output is (key, payload of R, payload of S), whole, in
memory. Every engine starts from its own form of the tables in memory:

    gpujoin   Arrow arrays in, Arrow table out: planning and execution
    polars    frames in, frame out: collect(engine="streaming")
    duckdb    tables of an in-memory database in, a new table out
    duckdb_arrow   the same tables in, Arrow table out
    acero     pyarrow tables in, pyarrow table out: Table.join

An engine that is not installed is reported as such. Needs numpy and pyarrow; the library is found as
the Python binding finds it (GPUJOIN_LIBRARY names it).
"""

import argparse
import datetime
import gc
import importlib
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Gpujoin:
    """The CPU executor, through the Python binding."""

    def __init__(self, tables, threads, options):
        sys.path.insert(0, str(ROOT / "bindings" / "python"))
        self.library = importlib.import_module("gpujoin")
        self.version = self.library.library_version()
        self.left, self.right = tables
        self.context = self.library.Context("cpu", threads=threads)
        self.choices = {"radix_bits": options.radix_bits, "gather": options.gather}
        self.stages = {}
        self.plan = ""

    def join(self):
        result = self.library.join(
            self.left,
            self.right,
            "key",
            select=["key", "a", "b"],
            context=self.context,
            **self.choices,
        )
        table = result.to_table()
        self.plan = result.statistics.plan
        self.stages = {s.stage: round(s.milliseconds, 3) for s in result.statistics.stages}
        return table

    def totals(self, table):
        return arrow_totals(table)


class Polars:
    def __init__(self, tables, threads, options):
        # Read when the module is imported, and not again.
        os.environ["POLARS_MAX_THREADS"] = str(threads)
        self.library = importlib.import_module("polars")
        self.version = self.library.__version__
        self.left, self.right = (self.library.from_arrow(table, rechunk=True) for table in tables)

    def join(self):
        joined = self.left.lazy().join(self.right.lazy(), on="key", how="inner")
        return joined.collect(engine="streaming")

    def totals(self, frame):
        wide = frame.select(self.library.all().cast(self.library.Int64).sum())
        return [frame.height, *wide.row(0)]


class Duckdb:
    def __init__(self, tables, threads, options):
        self.library = importlib.import_module("duckdb")
        self.version = self.library.__version__
        self.connection = self.library.connect()
        self.connection.execute(f"set threads = {threads}")
        for name, table in zip(("r", "s"), tables):
            self.connection.register("arrow_table", table)
            self.connection.execute(f"create table {name} as select * from arrow_table")
            self.connection.unregister("arrow_table")

    QUERY = "select r.key, r.a, s.b from r join s on r.key = s.key"

    def join(self):
        self.connection.execute("create or replace table output as " + self.QUERY)
        return self.connection

    def totals(self, connection):
        query = "select count(*), sum(key)::int64, sum(a)::int64, sum(b)::int64 from output"
        totals = list(connection.execute(query).fetchone())
        connection.execute("drop table output")
        return totals


class DuckdbArrow(Duckdb):
    def join(self):
        return self.connection.sql(self.QUERY).to_arrow_table()

    def totals(self, table):
        return arrow_totals(table)


class Acero:
    def __init__(self, tables, threads, options):
        self.library = importlib.import_module("pyarrow")
        self.library.set_cpu_count(threads)
        self.version = self.library.__version__
        self.left, self.right = tables

    def join(self):
        return self.left.join(self.right, "key", join_type="inner")

    def totals(self, table):
        return arrow_totals(table)


ENGINES = {
    "gpujoin": Gpujoin,
    "polars": Polars,
    "duckdb": Duckdb,
    "duckdb_arrow": DuckdbArrow,
    "acero": Acero,
}


def arrow_totals(table):
    compute = importlib.import_module("pyarrow.compute")
    sums = (compute.sum(table.column(name)).as_py() for name in ("key", "a", "b"))
    return [table.num_rows, *(total or 0 for total in sums)]


def make_tables(left_rows, right_rows):
    numpy = importlib.import_module("numpy")
    pyarrow = importlib.import_module("pyarrow")
    random = numpy.random.default_rng(20)
    keys = random.permutation(left_rows).astype(numpy.int32)
    drawn = keys[random.integers(0, left_rows, right_rows)]
    left = pyarrow.table({"key": keys, "a": keys ^ numpy.int32(0x2A5A5A5A)})
    right = pyarrow.table({"key": drawn, "b": numpy.arange(right_rows, dtype=numpy.int32)})
    return left, right


def measure(size, names, options):
    left_rows, right_rows = size
    tables = make_tables(left_rows, right_rows)
    engines, versions, missing = {}, {}, {}
    for name in names:
        try:
            engines[name] = ENGINES[name](tables, options.threads, options)
            versions[name] = engines[name].version
        except ImportError as error:
            missing[name] = str(error)
    times = {name: [] for name in engines}
    stages = {}
    expected = None
    for round_number in range(options.rounds + 1):
        for name, engine in engines.items():
            gc.collect()
            start = time.perf_counter()
            output = engine.join()
            elapsed = (time.perf_counter() - start) * 1000
            if round_number == 0:
                totals = engine.totals(output)
                if expected is None:
                    expected = totals
                if totals != expected:
                    sys.exit(f"WRONG RESULT: {name} has {totals}, the others have {expected}")
            else:
                times[name].append(round(elapsed, 3))
                if name == "gpujoin":
                    stages[round_number] = (elapsed, engine.stages)
            del output
    medians = {name: round(statistics.median(each), 3) for name, each in times.items()}
    cell = {
        "left_rows": left_rows,
        "right_rows": right_rows,
        "output_rows": expected[0],
        "median_ms": medians,
        "all_ms": times,
        "missing": missing,
    }
    if stages:
        cell["gpujoin_plan"] = engines["gpujoin"].plan
        middle = sorted(stages.values(), key=lambda each: each[0])[len(stages) // 2]
        cell["gpujoin_stages_ms"] = middle[1]
        others = [median for name, median in medians.items() if name != "gpujoin"]
        if others:
            cell["fastest_other_over_gpujoin"] = round(min(others) / medians["gpujoin"], 3)
    return cell, versions


def cpu_name():
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def commit_of(options):
    if options.commit:
        return options.commit
    said = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return said.stdout.strip() or "unknown"


def parse_size(text):
    left, right = text.split("x")
    return 1 << int(left), 1 << int(right)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=5, help="timed rounds (default: 5)")
    parser.add_argument(
        "--size",
        action="append",
        metavar="RxS",
        help="powers of two, may be repeated (default: 20x22 and 24x26)",
    )
    parser.add_argument("--engines", default=",".join(ENGINES), help="of " + ", ".join(ENGINES))
    parser.add_argument("--radix_bits", type=int, help="of the CPU executor (default: the plan's)")
    parser.add_argument("--gather", choices=["transformed", "untransformed"])
    parser.add_argument("--commit", help="for the report (default: asked of git)")
    parser.add_argument("--output", type=Path, help="JSON file (default: none)")
    options = parser.parse_args()

    cores = sorted(os.sched_getaffinity(0))
    if options.threads > len(cores):
        parser.error(f"--threads {options.threads}: only {len(cores)} cores may be used")
    os.sched_setaffinity(0, cores[: options.threads])

    names = options.engines.split(",")
    report = {
        "commit": commit_of(options),
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "command": " ".join(["bench/cpu/compare_engines.py", *sys.argv[1:]]),
        "cpu": cpu_name(),
        "threads": options.threads,
        "versions": {},
        "cells": [],
    }
    for size in map(parse_size, options.size or ["20x22", "24x26"]):
        cell, versions = measure(size, names, options)
        report["versions"].update(versions)
        report["cells"].append(cell)
        print(f"{cell['left_rows']} x {cell['right_rows']}, {cell['output_rows']} rows out:")
        for name, median in sorted(cell["median_ms"].items(), key=lambda each: each[1]):
            print(f"  {name:14} {median:10.1f} ms")
        for name, why in cell["missing"].items():
            print(f"  {name:14} missing: {why}")
        if "gpujoin_stages_ms" in cell:
            print(f"  {cell['gpujoin_plan']}: {cell['gpujoin_stages_ms']}")
        print(flush=True)
    if options.output:
        options.output.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
