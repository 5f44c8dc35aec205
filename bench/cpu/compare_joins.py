#!/usr/bin/env python3
"""Times joins of many sorts on the CPU executor, on DuckDB and on Polars.

    export GPUJOIN_LIBRARY=build/cpu/libgpujoin.so
    .venv/bin/python bench/cpu/compare_joins.py --output bench/results/<...>.json

The joins are those of all_cases() in join_cases.py: kinds of joins, types of keys, small builds,
few matches, several keys, text, skew, and one so small that only the call counts. Every engine
starts from its own form of the tables in memory, and its output is whole, in memory.

Every other engine runs in each order of its sides and with each of its settings, which are the
variants in join_engines.py; what is reported of it is its best one. This library is called one way,
and plans for itself. All run in this one process, on the same cores, in turn, so that whatever else
the machine does falls on all of them:

1. Each variant once, and again unless it took 1.25 times as long as another of its engine. The
   first result is checked: its number of rows, and a sum of a hash of each row, must be those that
   follow from how the tables were made. The lesser time counts.
2. The best two variants of each engine, in rounds, until the middle half of the times of every
   engine lies within 5 % of their median, or --most_rounds. Reported is the median of the better,
   in milliseconds of the wall clock.

The tiny join is called 40 times wherever others are called once, and the median taken.

"others" is the share of the machine that other processes had during the rounds; "ratio" is the time
of the best peer over ours; "<" marks one of less than --goal (2). Of such joins the plan and the
stages of ours follow the table. With --scale -4 tables have 1/16 of their rows. Of left, right,
full, semi and anti joins left has each key once; "match" is the share of right rows with a match,
so that even at 100 % a third of the left rows have none.
"""

import argparse
import datetime
import gc
import json
import os
import re
import statistics
import sys
import time
from pathlib import Path

from compare_engines import (
    FINALISTS,
    SPREAD,
    best_of,
    commit_of,
    cpu_name,
    figures_of,
    spread_of,
)

HOPELESS = 1.25  # times as long as another variant: not run again
TITLES = {"gpujoin": "ours", "duckdb": "DuckDB", "polars": "Polars"}


def timed(engine, variant, run, calls):
    """The median of the calls in ms, and the last output."""
    times = []
    gc.collect()
    for _ in range(calls):
        output = None
        engine.set_up(variant)
        start = time.perf_counter()
        output = run()
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times), output


def qualify(name, engine, case, expected, check):
    """({variant: what runs it}, {variant: the lesser of its times}); first results are checked."""
    variants, times = engine.variants(), {}
    qualify_each(variants, times, name, engine, case, expected, check)
    more = engine.more_variants(min(times, key=times.get))
    qualify_each(more, times, name, engine, case, expected, check)
    return {**variants, **more}, times


def qualify_each(variants, times, name, engine, case, expected, check):
    for variant, run in variants.items():
        first, output = timed(engine, variant, run, 1)
        found = check(getattr(engine, "arrow", lambda table: table)(output), case)
        if found != expected:
            sys.exit(f"WRONG RESULT: {case.name}: {name}, {variant}: {found}, not {expected}")
        times[variant] = first
        if case.calls == 1 and first > HOPELESS * min(times.values()):
            continue
        output = None
        second, output = timed(engine, variant, run, case.calls)
        output = None
        times[variant] = min(first, second)


def run_rounds(engines, variants, finalists, case, options):
    """({engine: {variant: times}}, [(time, statistics)] of this library)."""
    times = {name: {variant: [] for variant in finalists[name]} for name in engines}
    ours = []
    for number in range(1, options.most_rounds + 1):
        for name, engine in engines.items():
            for variant in finalists[name]:
                run = variants[name][variant]
                elapsed, output = timed(engine, variant, run, case.calls)
                output = None
                times[name][variant].append(elapsed)
                if name == "gpujoin":
                    ours.append((elapsed, engine.statistics()))
        spreads = [spread_of(each[best_of(each)]) for each in times.values()]
        if number >= options.rounds and all(each and each <= SPREAD for each in spreads):
            break
    return times, sorted(ours, key=lambda each: each[0])


def busy_elsewhere():
    """Seconds of all cores that went to other processes, and those of the wall clock times cores,
    since some time."""
    ticks = [int(word) for word in Path("/proc/stat").read_text().split("\n")[0].split()[1:]]
    idle = ticks[3] + ticks[4]
    own = os.times()
    tick = 1 / os.sysconf("SC_CLK_TCK")
    return (sum(ticks[:8]) - idle) * tick - own.user - own.system, sum(ticks[:8]) * tick


def measure(case, engines, options, check):
    expected = case.expected()
    variants, qualified = {}, {}
    for name, engine in engines.items():
        engine.load(case)
        variants[name], qualified[name] = qualify(name, engine, case, expected, check)
    finalists = {
        name: sorted(times, key=times.get)[:FINALISTS] for name, times in qualified.items()
    }
    cell = {
        "case": case.name,
        "left_rows": case.left.num_rows,
        "right_rows": case.right.num_rows,
        "output_rows": expected[0],
        "checksum": expected[1],
        "engines": {},
    }
    before = busy_elsewhere()
    times, ours = run_rounds(engines, variants, finalists, case, options)
    after = busy_elsewhere()
    cell["others_share"] = round(max(0, after[0] - before[0]) / (after[1] - before[1]), 3)
    for name, of_engine in times.items():
        cell["engines"][name] = figures_of(of_engine, qualified[name])
        engines[name].unload()
    cell["statistics"] = ours[len(ours) // 2][1]  # of the median round
    fastest = min(cell["engines"][peer]["median_ms"] for peer in engines if peer != "gpujoin")
    cell["ratio"] = round(fastest / cell["engines"]["gpujoin"]["median_ms"], 2)
    return cell


def print_header(engines):
    titles = "".join(f"{TITLES[name] + ' ms':>11}" for name in engines)
    print(f"{'':36}{titles}  others  ratio")


def print_cell(cell, goal):
    times = [found["median_ms"] for found in cell["engines"].values()]
    digits = 2 if times[0] < 1 else 1
    mark = " <" if cell["ratio"] < goal else ""
    figures = "".join(f"{time:11.{digits}f}" for time in times)
    print(f"{cell['case']:36}{figures} {cell['others_share']:7.0%} {cell['ratio']:6.2f}{mark}", flush=True)


def print_stages(cell):
    said = cell["statistics"]
    print(f"\n{cell['case']}: {cell['output_rows']} rows out, ratio {cell['ratio']:.2f}")
    for name, found in cell["engines"].items():
        spread = f" +- {50 * found['spread']:.0f} %" if found["spread"] is not None else ""
        print(f"  {name}: {found['median_ms']:.2f} ms{spread}, {found['best']}")
    print(f"  {said['plan']}")
    stages = [f"{stage} {ms:.2f} ({technique})" for stage, technique, ms in said["stages"]]
    print("  " + ", ".join(f"{part} {ms:.2f}" for part, ms in said["call_ms"].items()))
    print(f"  execution {said['ms']:.2f} ms: " + ", ".join(stages), flush=True)


def options_of(description):
    """What the command line says; the process is on as many cores as it is to have threads."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, default=2, choices=(2, 16))
    parser.add_argument("--scale", type=int, default=0, help="2^N times the rows (default: 0)")
    parser.add_argument("--cases", default="", metavar="REGEX", help="of their names")
    parser.add_argument("--rounds", type=int, default=4, help="at the least (default: 4)")
    parser.add_argument("--most_rounds", type=int, default=5, help="(default: 5)")
    parser.add_argument("--goal", type=float, default=2.0, help="ratio that is not marked")
    parser.add_argument("--commit", help="for the report (default: asked of git)")
    parser.add_argument("--output", type=Path, help="JSON file (default: none)")
    options = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    if options.threads > len(cores):
        parser.error(f"--threads {options.threads}: only {len(cores)} cores may be used")
    os.sched_setaffinity(0, cores[: options.threads])
    os.environ["POLARS_MAX_THREADS"] = str(options.threads)  # read when it is imported
    return options


def compare(options, names, cases, check):
    """Times all cases, (name, what makes it) each, and reports."""
    from join_engines import ENGINES  # which import Polars

    engines = {name: ENGINES[name](options.threads) for name in names}
    report = {
        "commit": commit_of(options),
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "command": " ".join([f"bench/cpu/{Path(sys.argv[0]).name}", *sys.argv[1:]]),
        "cpu": cpu_name(),
        "threads": options.threads,
        "versions": {name: engine.version for name, engine in engines.items()},
        "cells": [],
    }
    print_header(engines)
    for name, make in cases:
        if not re.search(options.cases, name):
            continue
        report["cells"].append(measure(make(), engines, options, check))
        print_cell(report["cells"][-1], options.goal)
        if options.output:
            options.output.write_text(json.dumps(report, indent=2) + "\n")
    for cell in report["cells"]:
        if cell["ratio"] < options.goal:
            print_stages(cell)


def main():
    options = options_of(__doc__)
    from join_cases import all_cases, rows_and_checksum

    compare(options, ("gpujoin", "duckdb", "polars"), all_cases(options.scale), rows_and_checksum)


if __name__ == "__main__":
    main()
