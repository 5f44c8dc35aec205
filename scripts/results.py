#!/usr/bin/env python3
"""Writes docs/results.md, and the picture and the tables of README.md, from bench/results/.

    scripts/results.py [--check]

Cells and the picture of them come from the newest run of gpujoin_bench, kernels from the newest
one with --kernels, the CPU's tables from the newest run of bench/cpu/compare_engines.py on each
machine, what compiling takes from the newest file of build_cost.py, peers from bench/peers.json. --check writes nothing: exit status 1 when a file is not what
would be written.
"""

import argparse
import json
import pathlib
import sys

import build_cost
from bench_table import Measured, best_peer, measured_text, peer_texts, read_peers, time_text
from report_picture import picture

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "results.md"
README = ROOT / "README.md"
PICTURE = ROOT / "docs" / "cells.svg"
KERNELS_SHOWN = 8  # of a call, the longest
PEAK = "peak_memory_bytes"
BEYOND = "beyond_input_output_bytes"
OURS = "gpujoin"
ENGINES = {
    OURS: "this library",
    "polars": "Polars",
    "duckdb": "DuckDB",
    "acero": "Acero",
    "datafusion": "DataFusion",
}


def table(header, rows):
    lines = ["| " + " | ".join(line) + " |\n" for line in (header, *rows)]
    return "".join([lines[0], "|" + "---|" * len(header) + "\n", *lines[1:]])


class Run:
    """One file of gpujoin_bench: {cell: {plan: Measured}}, and the traced kernels by benchmark."""

    def __init__(self, path):
        self.path = path.relative_to(ROOT)
        content = json.loads(path.read_text())
        self.context = content.get("context", {})
        self.kernels = content.get("kernels", {})
        self.date = self.context.get("date", "")
        self.cells = {}
        for entry in content.get("benchmarks", []):
            parts = entry["name"].split("/")
            if parts[0] == "cell":
                self.cells.setdefault(parts[1], {})[parts[2]] = Measured(entry)

    def described(self):
        context = self.context
        return (
            f"{self.machine()}, device to device copy\n"
            f"{float(context.get('copy_GBps', 0)):.0f} GB/s: `{self.path}`"
        )

    def machine(self):
        return (
            f"{self.context.get('device', '?')}, CUDA {self.context.get('cuda_runtime', 'none')}, "
            f"commit {self.context.get('commit', '?')[:7]}, {self.date[:10]}"
        )


def newest(runs):
    return max(runs, key=lambda run: run.date, default=None)


def read_runs(folder):
    """(the newest run of the cells at full size, the newest with kernels or None)."""
    runs = [
        Run(path)
        for path in sorted(folder.glob("*.json"))
        if "-cpu-" not in path.name and "-figures" not in path.name
    ]
    full = [run for run in runs if run.cells and run.context.get("scale_log2") == "0"]
    timed = newest(run for run in full if not run.kernels)
    if timed is None:
        sys.exit(f"results.py: no run of the cells in {folder}")
    return timed, newest(run for run in full if run.kernels)


def best_plan(of_cell):
    """(name, Measured) of the fastest plan, which is AUTO's where it chose one without a name."""
    timed = [(name, measured) for name, measured in of_cell.items() if measured.milliseconds]
    return min(timed, key=lambda pair: pair[1].milliseconds, default=None)


def ratio_text(peer, ours):
    """How many times as fast, in bold from 2 on."""
    ratio = peer / ours
    return f"**{ratio:.2f}**" if ratio >= 2 else f"{ratio:.2f}"


def cells_table(run, peers):
    rows = []
    for cell, of_cell in run.cells.items():
        auto, best = of_cell.get("AUTO"), best_plan(of_cell)
        if not auto or not auto.milliseconds or best is None:
            continue
        row = [cell, time_text(auto.milliseconds), f"{time_text(best[1].milliseconds)} ({best[0]})"]
        for with_promise in (False, True):
            peer = best_peer(peers, cell, with_promise)
            row.append(peer_texts(peer, auto)[0])
            row += [ratio_text(peer[0], m.milliseconds) if peer else "" for m in (auto, best[1])]
        rows.append(row)
    header = ["cell", "AUTO", "best plan", "best peer", "/ AUTO", "/ best plan"]
    return table([*header, "best peer, promises", "/ AUTO", "/ best plan"], rows)


def halves_text(run, peers):
    counts = []
    for with_promise, who in ((False, "that is promised nothing"), (True, "of all")):
        ratios = [
            best_peer(peers, cell, with_promise)[0] / of_cell["AUTO"].milliseconds
            for cell, of_cell in run.cells.items()
            if best_peer(peers, cell, with_promise) and of_cell.get("AUTO")
            and of_cell["AUTO"].milliseconds
        ]
        halved = sum(ratio >= 2 for ratio in ratios)
        counts.append(f"{halved} of {len(ratios)} cells against the best peer {who}")
    return "AUTO takes half the peer's time or less in\n" + ",\nin ".join(counts) + ".\n"


def plans_table(run):
    plans = list(dict.fromkeys(plan for of_cell in run.cells.values() for plan in of_cell))
    return table(
        ["cell", *plans],
        [[c, *(measured_text(of_cell.get(p)) for p in plans)] for c, of_cell in run.cells.items()],
    )


def peers_table(run, peers):
    names = list(peers["implementations"])
    rows = []
    for cell, of_cell in run.cells.items():
        auto = of_cell.get("AUTO")
        row = [cell]
        for name in names:
            figure = peers["cells"].get(cell, {}).get(name)
            shown = figure is not None and auto and auto.milliseconds
            row.append(f"{time_text(figure)} ({figure / auto.milliseconds:.2f})" if shown else "")
        rows.append(row)
    return table(["cell", *names], rows)


def traffic_table(run):
    copy = float(run.context.get("copy_GBps", 0))
    rows = []
    for cell, of_cell in run.cells.items():
        auto = of_cell.get("AUTO")
        if not auto or not auto.milliseconds:
            continue
        for stage, milliseconds in auto.stages():
            predicted = auto.counter(f"bytes_{stage}")
            if milliseconds < 0.01 * auto.milliseconds or not predicted:
                continue
            achieved = predicted / milliseconds / 1e6
            share = f"{100 * achieved / copy:.0f} %" if copy else ""
            rows.append([cell, stage, time_text(milliseconds), f"{predicted / 1e9:.3g}",
                         f"{achieved:.0f}", share])
    return table(["cell", "stage", "ms", "GB predicted", "GB/s", "of a copy"], rows)


def gigabytes(number):
    return "" if number is None else f"{number / 1e9:.3g}"


def memory_table(run):
    rows = []
    for cell, of_cell in run.cells.items():
        shown = dict([("AUTO", of_cell.get("AUTO")), best_plan(of_cell) or ("", None)])
        for name, measured in shown.items():
            if measured and measured.milliseconds:
                figures = [measured.counters.get(key) for key in (PEAK, "output_bytes", BEYOND)]
                rows.append([cell, name, *map(gigabytes, figures)])
    return table(["cell", "plan", "peak GB", "its output", "beyond input and output"], rows)


def wu_memory_table(run, memory):
    """Ours beyond input and output, beside table 5 less the same; its G in both readings."""
    rows = []
    for cell, figures in memory["cells"].items():
        columns = memory["input_bytes"][cell] + memory["output_bytes"][cell]
        published = {
            plan: (figure * 1e9 - columns, figure * 2**30 - columns)
            for plan, figure in figures.items()
        }
        reference = published["PHJ-OM"]
        for plan, measured in run.cells.get(cell, {}).items():
            if not measured.milliseconds:
                continue
            held = measured.counter(PEAK) - memory["output_bytes"][cell]
            twin = published.get(plan)
            rows.append([
                cell, plan, gigabytes(held), " to ".join(map(gigabytes, twin)) if twin else "",
                " to ".join(f"{held / each:.2f}" for each in reversed(reference)),
            ])
    return table(["cell", "plan", "here", "table 5", "here / PHJ-OM of table 5"], rows)


def kernels_table(run):
    rows = []
    for name, kernels in run.kernels.items():
        cell, plan = name.split("/")[1:3]
        if plan != "AUTO":
            continue
        for kernel in kernels[:KERNELS_SHOWN]:
            shared = f"{kernel['static_shared_bytes']} + {kernel['dynamic_shared_bytes']}"
            rows.append([
                cell, f"`{kernel['name']}`", str(kernel["launches"]), time_text(kernel["ms"]),
                str(kernel["threads"]), str(kernel["registers"]), shared,
                str(kernel["local_bytes"]), str(kernel["resident_blocks"]),
                f"{100 * kernel['occupancy']:.0f} %",
            ])
    return table(["cell", "kernel", "launches", "ms", "threads", "registers", "shared bytes",
                  "local bytes", "blocks a multiprocessor", "occupancy"], rows)


def size_text(rows):
    bits = rows.bit_length() - 1
    return f"2^{bits}" if rows == 1 << bits else str(rows)


def cpu_runs(folder):
    """The newest run of bench/cpu/compare_engines.py on each machine and number of threads."""
    found = {}
    for path in sorted(folder.glob("*-cpu-*.json")):
        run = json.loads(path.read_text()) | {"path": path.relative_to(ROOT)}
        key = (-run["threads"], run["cpu"])
        if key not in found or found[key]["date"] < run["date"]:
            found[key] = run
    return [found[key] for key in sorted(found)]


def cpu_cell_text(cell):
    return f"{size_text(cell['left_rows'])} x {size_text(cell['right_rows'])}"


def cpu_table(run):
    """Every engine that was there, at its best."""
    engines = [name for name in ENGINES if name not in run["absent"]]
    rows = []
    for cell in run["cells"]:
        times = {name: cell["engines"][name]["median_ms"] for name in engines}
        best = min((name for name in engines if name != OURS), key=times.get, default=None)
        rows.append([cpu_cell_text(cell), *(f"{times[name]:.1f}" for name in engines)])
        if best:
            rows[-1].append(f"{ratio_text(times[best], times[OURS])} ({ENGINES[best]})")
    last = ["best of them / this library"] if len(engines) > 1 else []
    return table(["ms", *(ENGINES[name] for name in engines), *last], rows)


def cpu_described(run):
    spreads = [
        found["spread"] for cell in run["cells"] for found in cell["engines"].values()
        if found["spread"] is not None
    ]
    versions = ", ".join(
        f"{title} {run['versions'][name]}" for name, title in ENGINES.items()
        if name in run["versions"] and name != OURS
    )
    described = [
        f"{run['cpu'].replace('(R)', '')}, {run['threads']} threads, commit {run['commit'][:7]}, "
        f"{run['date'][:10]}:",
        f"`{run['path']}`.",
    ]
    if versions:
        described.append(versions + ".")
    if spreads:
        described.append(
            f"The middle half of each engine's times spans {100 * max(spreads):.0f} % of its "
            "median at the most."
        )
    return "\n".join(described) + "\n"


def cpu_text(runs, *tables):
    """What each run is, and the tables made of it."""
    if not runs:
        return "No run of it is in bench/results yet.\n"
    parts = [part for run in runs for part in (cpu_described(run), *(made(run) for made in tables))]
    return "\n".join(parts)


def cpu_settings_table(run):
    rows = [
        [cpu_cell_text(cell), title, f"{found['median_ms']:.1f}",
         "" if found["spread"] is None else f"{100 * found['spread']:.1f} %", found["best"]]
        for cell in run["cells"] for name, title in ENGINES.items()
        if (found := cell["engines"].get(name))
    ]
    return table(["rows", "engine", "ms", "middle half", "its best order and settings"], rows)


def page(run, traced, peers, cpu, build):
    kernels = "No run with `--kernels` is in bench/results yet.\n"
    if traced is not None:
        kernels = (
            f"Of one call of AUTO, its {KERNELS_SHOWN} longest, by the driver's word; the times\n"
            f"are those of a traced call.\n{traced.described()}.\n\n{kernels_table(traced)}"
        )
    return "\n".join([
        "# Results\n",
        "Made by `scripts/results.py` from bench/results and bench/peers.json; not to be edited.",
        "[bench/results/README.md](../bench/results/README.md) says what is timed, and what the",
        "cells are.\n",
        f"{run.described()}. Milliseconds, median of the calls.\n",
        "## Cells\n",
        "\"Best peer\" is the fastest one that is promised nothing about the keys,",
        "\"best peer, promises\" the fastest of all. Ratios are the peer's time over ours, in bold",
        "where ours is half of it or less.\n",
        halves_text(run, peers),
        cells_table(run, peers),
        "## Every plan\n",
        plans_table(run),
        "## Every peer, and its time over AUTO's\n",
        "What each is, and where its figure comes from:",
        "[bench/peers.json](../bench/peers.json).\n",
        peers_table(run, peers),
        "## Where AUTO's time goes\n",
        "Bytes as the library's traffic functions predict them; GB/s are those bytes over the",
        "stage's time, to be held against a copy on the device.\n",
        traffic_table(run),
        "## Device memory\n",
        "What the join holds at the most beside its input; \"beyond input and output\" without its",
        "result too, where the run reports it.\n",
        memory_table(run),
        "### Beside table 5 of Wu et al. 2024\n",
        "Beyond input and output, GB, of the same rows and columns. The paper's figures have",
        "inputs and output in them, which are taken off here; its G is read as 10^9 bytes and as",
        "2^30.\n",
        wu_memory_table(run, peers["memory"]),
        "## Kernels\n",
        kernels,
        "## CPU\n",
        "`bench/cpu/compare_engines.py`: every engine in its best order of sides and settings.\n",
        cpu_text(cpu, cpu_table, cpu_settings_table),
        "## Build\n",
        build,
    ])


def between_marks(text, mark, made):
    """The text with what is made between <!-- mark-begin --> and <!-- mark-end -->."""
    begin, end = f"<!-- {mark}-begin -->\n", f"<!-- {mark}-end -->"
    head, found, rest = text.partition(begin)
    _, closed, tail = rest.partition(end)
    if not found or not closed:
        sys.exit(f"results.py: README.md has no {begin.strip()} with its end")
    return head + begin + made + end + tail


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()

    results = ROOT / "bench" / "results"
    run, traced = read_runs(results)
    peers = read_peers([run.context])
    cpu = cpu_runs(results)
    readme = between_marks(
        README.read_text(), "cells",
        f"{run.described()}\n\n{cells_table(run, peers)}\n{halves_text(run, peers)}",
    )
    readme = between_marks(readme, "cpu", cpu_text(cpu, cpu_table))
    made = {
        PAGE: page(run, traced, peers, cpu, build_cost.section(results, table)),
        PICTURE: picture(run.cells, peers, run.machine()),
        README: readme,
    }
    stale = False
    for path, text in made.items():
        if path.exists() and path.read_text() == text:
            continue
        stale = True
        if not arguments.check:
            path.write_text(text)
        said = "is not what scripts/results.py makes of bench/results"
        print(f"{path.relative_to(ROOT)}: {said if arguments.check else 'written'}")
    return 1 if stale and arguments.check else 0


if __name__ == "__main__":
    sys.exit(main())
