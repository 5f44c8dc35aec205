#!/usr/bin/env python3
"""Cells drawn at random: AUTO against the best of the plans that the planner weighs.

    bench/random_cells.py BENCH --seed 1 --count 100 --output cells.json

draws cells from the space of sizes, widths, ranges, order, NULLs, match, skew and multiplicity, has
gpujoin_bench run each with AUTO and with every plan by name, and tells how far AUTO is from the
best of them, and from a copy of the inputs and the output. Cells in which AUTO was more than the
tolerance behind are measured again, AUTO and the best in turns, before they count.
"""

import argparse
import json
import math
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

TOLERANCE = 0.05
WORST = 0.15
SHARE_WITHIN = 0.95
MOST_OUTPUT_ROWS = 300_000_000
MOST_BYTES = 24e9

PARTITIONS = "transform=radix_unordered,match=co_partitions,skew=work_units,output=block_chunks"
# What the planner weighs against each other on a GPU; of each with either side as the build side.
PLANS = {
    "direct": "algorithm=direct_carried",
    "direct+key_bits": "algorithm=direct_carried,filter=key_bits",
    "nop_carried": "algorithm=nop_carried",
    "nop_carried+key_bits": "algorithm=nop_carried,filter=key_bits",
    "nop_carried+key_hashes": "algorithm=nop_carried,filter=key_hashes",
    "phj_carried": "algorithm=phj_carried",
    "phj_carried+key_bits": "algorithm=phj_carried,filter=key_bits",
    "phj_carried+key_hashes": "algorithm=phj_carried,filter=key_hashes",
    "carried_rows": f"{PARTITIONS},gather=carried_rows",
    "smj_carried": "algorithm=smj_carried",
    "pdj_carried": "algorithm=pdj_carried",
    "hashed_parts": "transform=write_combined,match=global_table,filter=none",
    "nop": "algorithm=nop",
    "phj_om": "algorithm=phj_om",
    "phj_gfur": "algorithm=phj_gfur",
    "smj_om": "algorithm=smj_om",
}


def log_uniform(draw, low, high):
    return round(math.exp(draw.uniform(math.log(low), math.log(high))))


def draw_cell(draw):
    """Words of a cell, as gpujoin_bench takes them; None where they do not go together."""
    words = {
        "r": log_uniform(draw, 10_000, 1 << 27),
        "s": log_uniform(draw, 10_000, 1 << 28),
        "kw": draw.choices([4, 8], [7, 3])[0],
        "rpw": draw.choices([1, 2, 4, 8, 16], [1, 1, 6, 3, 1])[0],
        "spw": draw.choices([1, 2, 4, 8, 16], [1, 1, 6, 3, 1])[0],
        "rp": draw.randint(0, 4),
        "sp": draw.randint(0, 4),
    }
    if draw.random() < 0.15:
        words["output"] = "pairs"
        words["rp"] = words["sp"] = 0
    keys = draw.choices(["dense", "stride", "sparse"], [4, 2, 4])[0]
    if keys == "stride":
        words["stride"] = draw.choice([2, 3, 5, 10, 20])
    if keys == "sparse":
        words["sparse"] = 1
    if draw.random() < 0.3:
        words["match"] = round(math.exp(draw.uniform(math.log(0.01), 0)), 3)
    if draw.random() < 0.15:
        words["nulls"] = round(draw.uniform(0.02, 0.4), 2)
    if draw.random() < 0.2:
        words["mult"] = draw.randint(2, 8)
    if draw.random() < 0.35:
        words["order"] = draw.choice([1, 1, 1 << draw.randint(8, 20)])
    elif draw.random() < 0.25:
        words["zipf"] = round(draw.uniform(0.4, 1.4), 2)
    elif "mult" not in words and draw.random() < 0.15:
        words["distinct"] = max(1, words["r"] // draw.randint(1, 20))
    return words if fits(words) else None


def key_count(words):
    return words.get("distinct") or -(-words["r"] // words.get("mult", 1))


def output_rows(words):
    return words["s"] * words["r"] / key_count(words)


def side_width(words, payloads, width):
    return words["kw"] + words[payloads] * words[width]


def input_bytes(words):
    return words["r"] * side_width(words, "rp", "rpw") + words["s"] * side_width(
        words, "sp", "spw"
    )


def fits(words):
    keys = key_count(words) * (2 if "match" in words else 1) * words.get("stride", 1)
    rows = output_rows(words)
    output = rows * (words["kw"] + words["rp"] * words["rpw"] + words["sp"] * words["spw"])
    return (
        keys < 1 << 31
        and words["r"] <= 4 * words["s"]
        and rows <= MOST_OUTPUT_ROWS
        and 2 * input_bytes(words) + 2 * output <= MOST_BYTES
    )


def draw_cells(seed, count):
    draw = random.Random(seed)
    cells = []
    while len(cells) < count:
        words = draw_cell(draw)
        if words is not None:
            cells.append(words)
    return {f"random-{seed}-{i}": words for i, words in enumerate(cells)}


def plan_arguments(plans):
    arguments = []
    for name in plans:
        if name == "AUTO":
            continue  # one of the standard plans
        technique, side = name.split("@")
        arguments.append(f"--plan={name}:{PLANS[technique]},build={side}")
    return arguments


def text_of(words):
    return ",".join(f"{key}={value}" for key, value in words.items())


def measure(bench, cells, plans, calls):
    """What was measured by cell and plan, what failed, and the run's context.

    plans  of each cell, by its name
    """
    named = sorted({plan for each in plans.values() for plan in each})
    arguments = [str(bench.resolve()), f"--calls={calls}", *plan_arguments(named)]
    for name in plans:
        arguments.append(f"--cell={name}:{text_of(cells[name])}")
    wanted = (f"{name}/({'|'.join(map(escaped, each))})" for name, each in plans.items())
    arguments.append(f"--benchmark_filter=cell/({'|'.join(wanted)})/")
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "run.json"
        arguments += [f"--benchmark_out={output}", "--benchmark_out_format=json"]
        run = subprocess.run(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if not output.exists():
            sys.exit(f"gpujoin_bench ended with {run.returncode}: {run.stderr[-500:]}")
        made = json.loads(output.read_text())
    times, wrong = {}, []
    for each in made["benchmarks"]:
        _, cell, plan, *_ = each["name"].split("/")
        if each.get("error_occurred"):
            if "WRONG" in each["error_message"] or plan == "AUTO":
                wrong.append(f"{cell} {plan}: {each['error_message']}")
            continue
        times.setdefault(cell, {})[plan] = {
            "ms": each["real_time"],
            "output_bytes": each.get("output_bytes", 0),
            "label": each["label"],
        }
    return times, wrong, made["context"]


def escaped(name):
    return name.replace("+", "\\+")


def best_of(times):
    return min((plan for plan in times if plan != "AUTO"), key=lambda plan: times[plan]["ms"])


def behind(times):
    return times["AUTO"]["ms"] / times[best_of(times)]["ms"] - 1


def measure_again(bench, cells, times, rounds):
    """AUTO and the best of the others in turns: their medians take the place of the first."""
    plans = {name: ["AUTO", best_of(times[name])] for name in times}
    found = {(name, plan): [] for name in plans for plan in plans[name]}
    for _ in range(rounds):
        measured, _, _ = measure(bench, cells, plans, 7)
        for name, plan in found:
            if plan in measured.get(name, {}):
                found[name, plan].append(measured[name][plan]["ms"])
    for (name, plan), each in found.items():
        if each:
            times[name][plan]["ms"] = statistics.median(each)


def line_of(name, words, times, copy_gbps):
    best = best_of(times)
    floor = (input_bytes(words) + times["AUTO"]["output_bytes"]) / copy_gbps / 1e6
    return (
        f"{behind(times) * 100:6.1f} %  {times['AUTO']['ms']:8.3f} ms  {best} "
        f"{times[best]['ms']:.3f}  copy {floor:.3f}  {name} {text_of(words)}\n"
        f"          AUTO: {times['AUTO']['label']}"
    )


def as_kept(cells, times):
    """Of each cell its words, the plan that AUTO took, and ms by plan, a line each."""
    return {
        name: {
            "words": text_of(cells[name]),
            "auto": each["AUTO"]["label"],
            "output_bytes": each["AUTO"]["output_bytes"],
            "ms": " ".join(f"{plan}={measured['ms']:.4g}" for plan, measured in each.items()),
        }
        for name, each in times.items()
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bench", type=pathlib.Path, help="gpujoin_bench")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 31))
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--calls", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3, help="in which cells are measured again")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--output", type=pathlib.Path, help="JSON of all times")
    options = parser.parse_args()
    cells = draw_cells(options.seed, options.count)
    plans = ["AUTO", *(f"{name}@{side}" for name in PLANS for side in ("left", "right"))]
    every = dict.fromkeys(cells, plans)
    times, wrong, context = measure(options.bench, cells, every, options.calls)
    judged = {name: each for name, each in times.items() if "AUTO" in each and len(each) > 1}
    late = {name: each for name, each in judged.items() if behind(each) > TOLERANCE}
    if late:
        measure_again(options.bench, cells, late, options.rounds)
    ordered = sorted(judged, key=lambda name: -behind(judged[name]))
    for name in ordered:
        print(line_of(name, cells[name], judged[name], float(context["copy_GBps"])))
    within = sum(behind(judged[name]) <= TOLERANCE for name in judged)
    worst = behind(judged[ordered[0]]) if ordered else 0
    for each in wrong:
        print(f"failed: {each}")
    print(
        f"seed {options.seed}: {within} of {len(cells)} cells within {TOLERANCE * 100:.0f} % of the "
        f"best plan, the worst {worst * 100:.1f} % behind, {len(wrong)} failed"
    )
    if options.output:
        command = (
            f"bench/random_cells.py gpujoin_bench --seed {options.seed} --count {options.count} "
            f"--calls {options.calls} --rounds {options.rounds}"
        )
        context.update(commit=options.commit, command=command, executable=options.bench.name)
        made = {"context": context, "cells": as_kept(cells, judged), "failed": wrong}
        options.output.write_text(json.dumps(made, indent=1) + "\n")
    met = within >= SHARE_WITHIN * len(cells) and worst <= WORST and not wrong
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
