#!/usr/bin/env python3
"""Draws what gpujoin_bench measured as grouped bars, beside the fastest peers of bench/peers.json.

    scripts/bench_plot.py [--output FILE.png] [--cells PATTERN] FILE.json...
"""

import argparse
import re
import sys

from bench_table import best_peer, read_peers, read_runs

COLORS = ["#1b1b1b", "#3f7fbf", "#d9822b", "#e9b97a", "#4f9d57", "#a5cfa9", "#8c6bb1"]


def draw(pyplot, cells, peers, title):
    plans = list(dict.fromkeys(plan for of_cell in cells.values() for plan in of_cell))
    names = list(cells)
    height = 0.8 / len(plans)
    figure, axes = pyplot.subplots(figsize=(9, 1.5 + 0.16 * len(names) * (len(plans) + 1)))
    for number, plan in enumerate(plans):
        bars = [
            (row + (number - (len(plans) - 1) / 2) * height, cells[cell][plan].milliseconds)
            for row, cell in enumerate(names)
            if plan in cells[cell] and cells[cell][plan].milliseconds
        ]
        places, times = [place for place, _ in bars], [time for _, time in bars]
        axes.barh(places, times, height=height, label=plan, color=COLORS[number % len(COLORS)])
    for with_promise, style, label in (
        (False, "-", "fastest peer"),
        (True, ":", "fastest peer that is promised unique or dense keys"),
    ):
        found = [(row, best_peer(peers, cell, with_promise)) for row, cell in enumerate(names)]
        for row, peer in found:
            if peer is None:
                continue
            axes.vlines(peer[0], row - 0.45, row + 0.45, colors="red", linestyles=style, label=label)
            label = None
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xscale("log")
    axes.set_xlabel("milliseconds")
    axes.set_title(title, fontsize=9)
    axes.grid(axis="x", which="both", alpha=0.25)
    axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1, 1))
    figure.tight_layout()
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="+", metavar="FILE.json")
    parser.add_argument("--output", default="bench.png")
    parser.add_argument("--cells", default="", help="a regular expression of the cells to draw")
    arguments = parser.parse_args()
    try:
        import matplotlib
    except ImportError:
        sys.exit("bench_plot.py: needs matplotlib (pip install matplotlib)")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    cells, contexts = read_runs(arguments.files)
    cells = {name: cell for name, cell in cells.items() if re.search(arguments.cells, name)}
    if not cells:
        sys.exit("bench_plot.py: no such cell was measured in these files")
    title = "; ".join(
        f"{context.get('device', '?')}, commit {context.get('commit', '?')[:12]}"
        for context in contexts
    )
    figure = draw(pyplot, cells, read_peers(contexts), title)
    figure.savefig(arguments.output, dpi=150)
    print(arguments.output)


if __name__ == "__main__":
    main()
