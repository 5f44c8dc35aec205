#!/usr/bin/env python3
"""Times TPC-H's queries with DataFusion, alone and with gpujoin's rule, in turns.

    GPUJOIN_LIBRARY=build/dev/libgpujoin.so bench/tpc/time_datafusion.py TPCH --scale 10
        [--threads 16] [--turns 2] [--program FILE] [--seconds N] [--commit TEXT]
        [--output bench/results/DATE-COMMIT-datafusion-tpch-10.json]

TPCH is a folder of Parquet files, TABLE.parquet. The queries are run by the program of DataFusion's
tests (times_of_queries of bindings/datafusion/tests/joins/times.rs), which is built where --program
does not name it. Times are the least of the turns, of the wall clock. Each answer is that of
DataFusion, or there are no times.

After --seconds the program is ended, and what has been measured is written.
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
from device_name import device_name  # noqa: E402

CARGO = ["cargo", "test", "--release", "--locked", "-p", "gpujoin-datafusion", "--test", "joins",
         "--"]  # fmt: skip
ENGINES = ("DataFusion", "gpujoin, by the gate", "gpujoin, forced")
LINE = re.compile(
    r"query (\d+): (\d+) ms, gate (\d+) with (\d+) of (\d+) joins, forced (\d+) with (\d+)")


def entries_of(line, scale):
    """One for each engine; none of lines that have no times."""
    found = LINE.search(line)
    if not found:
        return []
    query, *times = (found[i] for i in (1, 2, 3, 6))
    taken = (0, int(found[4]), int(found[7]))
    return [
        {"name": f"datafusion/tpch/{query}/{engine}/{scale:g}", "real_time": float(time),
         "time_unit": "ms", "x": scale, "joins_taken": joins}
        for engine, time, joins in zip(ENGINES, times, taken)
    ]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", type=pathlib.Path)
    parser.add_argument("--scale", type=float, required=True)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--program", type=pathlib.Path)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    library = pathlib.Path(os.environ["GPUJOIN_LIBRARY"]).resolve()
    environment = {**os.environ, "GPUJOIN_THREADS": str(options.threads),
                   "GPUJOIN_TURNS": str(options.turns), "GPUJOIN_LIBRARY": str(library),
                   "GPUJOIN_TPCH_FOLDER": str(options.tables.resolve())}  # fmt: skip
    program = [options.program.resolve()] if options.program else CARGO
    run = subprocess.Popen([*program, "--ignored", "--nocapture", "times_of_queries"],
                           cwd=ROOT / "bindings/datafusion", env=environment, text=True,
                           stdout=subprocess.PIPE, start_new_session=True)  # fmt: skip
    # With the program that cargo has started.
    timer = threading.Timer(options.seconds or threading.TIMEOUT_MAX,
                            lambda: os.killpg(run.pid, signal.SIGKILL))  # fmt: skip
    timer.daemon = True
    timer.start()
    entries = []
    for line in run.stdout:
        print(line, end="", flush=True)
        entries += entries_of(line, options.scale)
    status = run.wait()
    if options.output and entries:
        context = {
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "commit": options.commit,
            "device": device_name(),
            "command": f"bench/tpc/time_datafusion.py TPCH --scale {options.scale:g} "
                       f"--threads {options.threads} --turns {options.turns}",
            "is_complete": status == 0,
        }  # fmt: skip
        text = json.dumps({"context": context, "benchmarks": entries}, indent=1) + "\n"
        options.output.write_text(text)
    raise SystemExit(status != 0)


if __name__ == "__main__":
    main()
