#!/usr/bin/env python3
"""Which plan AUTO picks of cells whose plans were measured, beside the best of them.

    bench/plans/judge_picks.py build/dev/bench/gpujoin_predict_cells \\
        bench/results/<date>-<commit>-random.json

takes the times of a file that random_cells.py wrote, and lays beside them what the planner of this
tree makes of the same cells: of those that it looks at, the pick's time by its name, and the plans
that it takes for the cheapest. No GPU is needed, and no look at keys is timed.
"""

import argparse
import json
import math
import pathlib
import subprocess

TOLERANCES = (0.05, 0.15)
SHOWN = 12
CHEAPEST = 3


def technique(plan):
    """The name that random_cells.py has for it; None where it measures none such."""
    base = {
        ("none", "direct_table", "carried"): "direct",
        ("none", "global_table", "carried"): "nop_carried",
        ("none", "global_table", "untransformed"): "nop",
        ("none", "merge_tiles", "carried"): "smj_carried",
        ("write_combined", "direct_table", "carried"): "pdj_carried",
        ("write_combined", "global_table", "carried"): "hashed_parts",
        ("radix_unordered", "co_partitions", "carried"): "phj_carried",
        ("radix_unordered", "co_partitions", "carried_rows"): "carried_rows",
        ("radix_onesweep", "co_partitions", "transformed"): "phj_om",
        ("radix_onesweep", "co_partitions", "untransformed"): "phj_gfur",
        ("radix_sort", "merge_path", "transformed"): "smj_om",
    }.get((plan["transform"], plan["match"], plan["gather"]))
    if base is None:
        return None
    filtered = "" if plan["filter"] == "none" else f"+{plan['filter']}"
    return f"{base}{filtered}@{plan['build']}"


def measured(cell):
    times = dict(part.rsplit("=", 1) for part in cell["ms"].split())
    return {name: float(time) for name, time in times.items() if name != "AUTO"}


def predictions(program, cells):
    lines = "".join(f"{name}:{cell['words']}\n" for name, cell in cells.items())
    ran = subprocess.run([program], input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in ran.stdout.splitlines()]


def judge(cells, predicted):
    """(behind, cell, pick, its time, best, its time, prediction) of each that was looked at."""
    judged = []
    for made in predicted:
        times = measured(cells[made["cell"]])
        pick = next(technique(plan) for plan in made["plans"] if plan["pick"])
        if made["effort"] == "none" or pick not in times:
            continue
        best = min(times, key=times.get)
        behind = times[pick] / times[best]
        judged.append((behind, made["cell"], pick, times[pick], best, times[best], made))
    return sorted(judged, key=lambda one: -one[0])


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("program")
    arguments.add_argument("file", type=pathlib.Path)
    given = arguments.parse_args()
    cells = json.loads(given.file.read_text())["cells"]
    predicted = predictions(given.program, cells)
    judged = judge(cells, predicted)
    looked = sum(made["effort"] != "none" for made in predicted)
    for behind, name, pick, time, best, least, made in judged[:SHOWN]:
        print(f"{behind:5.2f}  {time:7.3f} ms  {pick}, best {best} {least:.3f} ms  {name}")
        print(f"       {cells[name]['words']}")
        times = measured(cells[name])
        for plan in made["plans"][:CHEAPEST]:
            own = technique(plan)
            ran = f"{times[own]:7.3f}" if own in times else "      -"
            print(f"       predicted {plan['ms']:7.3f}  measured {ran}  {own}")
    shares = [
        f"{sum(one[0] <= 1 + most for one in judged)} within {round(100 * most)} %"
        for most in TOLERANCES
    ]
    mean = math.exp(sum(math.log(one[0]) for one in judged) / max(len(judged), 1))
    print(
        f"{looked} of {len(cells)} cells are looked at, the picks of {len(judged)} were measured: "
        f"{', '.join(shares)} of the best plan, {mean:.3f} times the best, geometric mean"
    )


if __name__ == "__main__":
    main()
