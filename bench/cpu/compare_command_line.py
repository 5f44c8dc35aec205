#!/usr/bin/env python3
"""Times TPC-H lineitem x orders from Parquet to Parquet: gpujoin join, DuckDB and Polars.

    GPUJOIN_LIBRARY=build/release/libgpujoin.so bench/cpu/compare_command_line.py DATA \\
        --output bench/results/<date>-<commit>-command-line-<threads>-threads.json

DATA is a folder with lineitem.parquet and orders.parquet, as scripts/demo makes it. Each join is a
process of its own, from its start to its end: engines and their settings take turns, round by
round. All write with Snappy, DuckDB by COPY without keeping the order, Polars by its streaming
sink. The rows of what each wrote are checked by DuckDB once.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timezone
from pathlib import Path

from compare_engines import commit_of, cpu_name

ROOT = Path(__file__).resolve().parents[2]
EIGHT = "l_orderkey,l_quantity,l_extendedprice,l_shipdate,o_custkey,o_totalprice,o_orderdate"
EIGHT += ",o_orderpriority"

DUCKDB = """
import duckdb, sys
data, output, columns, options, threads = sys.argv[1:]
query = duckdb.connect()
query.execute(f"SET threads={threads}; SET preserve_insertion_order=false")
query.execute(
    f"COPY (SELECT {columns} FROM '{data}/lineitem.parquet' JOIN '{data}/orders.parquet' "
    f"ON l_orderkey = o_orderkey) TO '{output}' (FORMAT parquet, COMPRESSION snappy{options})"
)
"""

POLARS = """
import polars, sys
data, output, columns = sys.argv[1:]
joined = polars.scan_parquet(f"{data}/lineitem.parquet").join(
    polars.scan_parquet(f"{data}/orders.parquet"), left_on="l_orderkey", right_on="o_orderkey",
    maintain_order="none",
)
if columns:
    joined = joined.select(columns.split(","))
joined.sink_parquet(output, compression="snappy", maintain_order=False)
"""


def gpujoin(data, output, columns, threads):
    command = [sys.executable, "-m", "gpujoin", "join", f"{data}/lineitem.parquet"]
    command += [f"{data}/orders.parquet", "--left-on", "l_orderkey", "--right-on", "o_orderkey"]
    command += ["--device", "cpu", "--rows", "0", "--threads", str(threads), "-o", output]
    return command + (["--select", columns] if columns else [])


def duckdb(data, output, columns, threads):
    options = ", PER_THREAD_OUTPUT" if output.endswith("/") else ""
    chosen = columns or "* EXCLUDE (o_orderkey)"
    return [sys.executable, "-c", DUCKDB, data, output, chosen, options, str(threads)]


def polars(data, output, columns, threads):
    return [sys.executable, "-c", POLARS, data, output, columns]


CELLS = {
    "8 columns, one file": (EIGHT, "joined.parquet", [gpujoin, duckdb, polars]),
    "8 columns, a folder": (EIGHT, "joined/", [gpujoin, duckdb]),
    "all columns, one file": ("", "joined.parquet", [gpujoin, duckdb, polars]),
    "all columns, a folder": ("", "joined/", [gpujoin, duckdb]),
}


def timed(command, threads, compiled):
    """Seconds of the clock and of the processors, and the most resident memory, of a process.

    compiled  the folder where Python keeps what it compiled: as of packages that are installed
    """
    environment = {**os.environ, "POLARS_MAX_THREADS": str(threads)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment["PYTHONPYCACHEPREFIX"] = str(compiled)
    environment["PYTHONPATH"] = str(ROOT / "bindings" / "python")
    began = time.perf_counter()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{command[:4]} failed")
    return seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def checksum(output, columns):
    import duckdb as engine

    files = f"{output}*.parquet" if output.endswith("/") else output
    named = columns or "*"
    query = f"SELECT count(*), sum(hash(x))::VARCHAR FROM (SELECT {named} FROM '{files}') x"
    return engine.connect().execute(query).fetchone()


def measure(name, data, rounds, threads, folder):
    columns, file, engines = CELLS[name]
    output = str(folder / file) + ("/" if file.endswith("/") else "")
    found = {engine.__name__: [] for engine in engines}
    sums = {}
    for number in range(rounds + 1):  # the first one reads the files into memory, and is checked
        for engine in engines:
            if os.path.exists(output):
                (shutil.rmtree if file.endswith("/") else os.remove)(output)
            one = timed(engine(data, output, columns, threads), threads, folder / "compiled")
            if number == 0:
                sums[engine.__name__] = checksum(output, columns)
            else:
                found[engine.__name__].append(one)
    if len(set(sums.values())) != 1:
        sys.exit(f"{name}: the engines do not agree: {sums}")
    cell = {"case": name, "rows": sums["gpujoin"][0], "checksum": sums["gpujoin"][1], "engines": {}}
    for engine, runs in found.items():
        seconds, processor, memory = zip(*runs)
        cell["engines"][engine] = {
            "median_s": round(statistics.median(seconds), 3),
            "least_s": round(min(seconds), 3),
            "median_cpu_s": round(statistics.median(processor), 3),
            "peak_mib": round(max(memory)),
            "rounds_s": [round(one, 3) for one in seconds],
            "rounds_cpu_s": [round(one, 3) for one in processor],
        }
        print(
            f"{name:24}{engine:10}"
            f"{cell['engines'][engine]['median_s']:8.2f} s"
            f"{cell['engines'][engine]['least_s']:8.2f} s least"
            f"{cell['engines'][engine]['median_cpu_s']:8.2f} s of processors"
            f"{cell['engines'][engine]['peak_mib']:8} MiB",
            flush=True,
        )
    return cell


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", help="the folder with lineitem.parquet and orders.parquet")
    parser.add_argument("--output", help="the JSON (default: none)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--case", action="append", choices=CELLS, help="may be repeated")
    parser.add_argument("--commit", help="for the report (default: asked of git)")
    options = parser.parse_args()
    cells = []
    with tempfile.TemporaryDirectory() as folder:
        for name in options.case or CELLS:
            cells.append(
                measure(name, options.data, options.rounds, options.threads, Path(folder))
            )
    if options.output:
        import duckdb as duckdb_package
        import polars as polars_package

        report = {
            "commit": commit_of(options),
            "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "command": " ".join(["bench/cpu/compare_command_line.py", *sys.argv[1:]]),
            "cpu": cpu_name(),
            "threads": options.threads,
            "versions": {
                "duckdb": duckdb_package.__version__,
                "polars": polars_package.__version__,
            },
            "cells": cells,
        }
        Path(options.output).write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
