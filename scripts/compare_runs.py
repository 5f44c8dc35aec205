#!/usr/bin/env python3
"""Compares two commits, measured in turns on one machine, and says which cells became slower.

    scripts/compare_runs.py [--filter PATTERN] BEFORE.json AFTER.json [BEFORE.json AFTER.json ...]

The files are those of gpujoin_bench, in the order in which they were measured: before, after,
before, after. The more pairs, the better the spread is known; at least two.

A row is one cell and plan, or one point of a figure: the median before and after over the files,
their ratio, and the spread of each, which is the slowest time less the fastest over the median.
Slower is

    of more than 1 ms    a ratio beyond 1.02
    of less              a ratio beyond 1 by more than the larger of the two spreads
    of any time          none in a file after, where there was one before: refused, failed, not run

Exit status: 0 when nothing is slower, 1 when something is, 2 when the files cannot be compared.
"""

import argparse
import json
import pathlib
import re
import statistics
import sys

from bench_table import NOISE, Measured, print_table, time_text

LONG = 1.0  # ms, from where on NOISE is the limit
FACTS = ("device", "cuda_runtime", "scale_log2", "l2_flushed")  # one machine, one kind of run


class Files:
    """The files of one commit: {row: [milliseconds of each file that has a time]}."""

    def __init__(self, paths):
        self.commits, self.facts, self.times = set(), set(), {}
        for path in paths:
            run = json.loads(pathlib.Path(path).read_text())
            self.commits.add(run["context"].get("commit", "unknown"))
            self.facts.add(tuple(run["context"].get(fact, "") for fact in FACTS))
            for entry in run["benchmarks"]:
                if entry.get("run_type", "iteration") != "iteration":
                    continue
                times = self.times.setdefault(entry["name"].split("/iterations:")[0], [])
                measured = Measured(entry)
                if measured.milliseconds is not None:
                    times.append(measured.milliseconds)


def spread(times):
    return (max(times) - min(times)) / statistics.median(times)


def why_slower(before, after):
    """The reason, or an empty text."""
    if len(after) < len(before):
        return "no time after"
    ratio = statistics.median(after) / statistics.median(before)
    if statistics.median(before) > LONG:
        return f"beyond {NOISE - 1:.0%}" if ratio > NOISE else ""
    return "beyond the spread" if ratio - 1 > max(spread(before), spread(after)) else ""


def row_of(name, before, after, why):
    row = [name, time_text(statistics.median(before))]
    if not after:
        return [*row, "", "", f"{spread(before):.1%}", "", why]
    ratio = statistics.median(after) / statistics.median(before)
    row += [time_text(statistics.median(after)), f"{ratio:.3f}"]
    return [*row, f"{spread(before):.1%}", f"{spread(after):.1%}", f"**{why}**" if why else ""]


def refuse(why):
    print(f"compare_runs.py: {why}", file=sys.stderr)
    sys.exit(2)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="+", metavar="FILE.json")
    parser.add_argument("--filter", default="", help="a regular expression of the rows to compare")
    arguments = parser.parse_args()
    if len(arguments.files) % 2 or len(arguments.files) < 4:
        refuse("takes two pairs of files at the least: BEFORE AFTER BEFORE AFTER")
    before, after = Files(arguments.files[0::2]), Files(arguments.files[1::2])
    for side, name in ((before, "BEFORE"), (after, "AFTER")):
        if len(side.commits) != 1:
            refuse(f"the {name} files are of several commits: {', '.join(sorted(side.commits))}")
    if len(before.facts | after.facts) != 1:
        refuse(f"the files differ in {', '.join(FACTS)}: {sorted(before.facts | after.facts)}")

    rows, slower = [], []
    for name, times in before.times.items():
        if not times or not re.search(arguments.filter, name):
            continue
        why = why_slower(times, after.times.get(name, []))
        rows.append(row_of(name, times, after.times.get(name, []), why))
        slower += [f"{name}: {why}"] if why else []
    if not rows:
        refuse("nothing that was measured before is to be compared")
    print(f"Before: {before.commits.pop()}, after: {after.commits.pop()}, "
          f"{len(arguments.files) // 2} pairs. Milliseconds, medians.\n")
    print_table(["", "before", "after", "after / before", "spread before", "after", "slower"], rows)
    print(f"{len(slower)} of {len(rows)} slower")
    for line in slower:
        print(f"- {line}")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
