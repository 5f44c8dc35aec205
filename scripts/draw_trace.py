#!/usr/bin/env python3
"""Draws what the device does when, of a trace by gpujoin_time_operator, as SVG.

    scripts/draw_trace.py TRACE.json docs/trace.svg

A lane each for copies in, partitioning, joining and copies out, of all streams together. Prints the
share of the time in which each lane is busy, in which two at least are, and in which copies go both
ways.
"""

import argparse
import json
import re
import sys

from report_picture import STYLE, line, text

LANES = ("copy in", "partition", "join", "copy out")

# Kernels that read page-locked memory over the link, and those that hash, sort by bits and scatter.
COPIES_IN = re.compile(r"gather_runs")
PARTITIONS = re.compile(
    r"(number|count|sum|place)_partitions|partition_offsets|radix_unordered|DeviceRadixSort"
    r"|(place|move_to)_runs|place_unordered_tiles|pack_bits"
)

WIDTH, LEFT, RIGHT = 880, 90, 790  # of the picture, of the time; behind it the shares
TOP, LANE, BAR = 84, 46, 30  # the first lane's upper end; from lane to lane; a bar's height
LANE_STYLE = """
.copy-in { fill: #0969da }
.partition { fill: #8250df }
.join { fill: #1a7f37 }
.copy-out { fill: #bc4c00 }
"""


def lane_of(name):
    """None: a copy or a fill on the device, which is of no lane."""
    if name == "copy to device" or COPIES_IN.match(name):
        return "copy in"
    if name == "copy to host":
        return "copy out"
    if name in ("copy", "fill"):
        return None
    return "partition" if PARTITIONS.match(name) else "join"


def united(intervals):
    """The same time as pairs (start, end) that do not touch, in order."""
    together = []
    for start, end in sorted(intervals):
        if together and start <= together[-1][1]:
            together[-1][1] = max(together[-1][1], end)
        else:
            together.append([start, end])
    return [(start, end) for start, end in together]


def lanes_of(trace):
    """Of each lane when it is busy, in milliseconds since the first thing on the device."""
    place = {name: number for number, name in enumerate(trace["columns"])}
    lanes = {lane: [] for lane in LANES}
    for interval in trace["intervals"]:
        lane = lane_of(interval[place["name"]])
        start = interval[place["start_us"]] / 1e3
        if lane is not None:
            lanes[lane].append((start, start + interval[place["us"]] / 1e3))
    return {lane: united(intervals) for lane, intervals in lanes.items()}


def length(intervals):
    return sum(end - start for start, end in intervals)


def busy_together(lanes, least):
    """How long at least so many lanes are busy."""
    changes = sorted(
        change
        for intervals in lanes
        for start, end in intervals
        for change in ((start, 1), (end, -1))
    )
    busy = since = long = 0
    for moment, change in changes:
        if busy >= least:
            long += moment - since
        busy, since = busy + change, moment
    return long


def shares_of(lanes):
    """Of the time from the first start to the last end: (what, share)."""
    every = [interval for intervals in lanes.values() for interval in intervals]
    if not every:
        raise ValueError("the trace has no interval of any lane")
    all_of_it = max(end for _, end in every) - min(start for start, _ in every)
    shares = [(f"{lane} is busy", length(lanes[lane])) for lane in LANES]
    shares.append(("two lanes at least are busy", busy_together(lanes.values(), 2)))
    both_ways = busy_together((lanes["copy in"], lanes["copy out"]), 2)
    shares.append(("copies go both ways", both_ways))
    return [(what, long / all_of_it) for what, long in shares]


def step_of(milliseconds):
    """Between the marks of the axis: 1, 2 or 5 times a power of ten, for 4 to 10 of them."""
    step = 1e-3
    for factor in 10 * (2, 2.5, 2):
        if milliseconds / step <= 10:
            break
        step *= factor
    return step


def picture(trace):
    lanes = lanes_of(trace)
    shares = dict(shares_of(lanes))
    first = min(intervals[0][0] for intervals in lanes.values() if intervals)
    last = max(intervals[-1][1] for intervals in lanes.values() if intervals)
    scale = (RIGHT - LEFT) / (last - first)
    bottom = TOP + LANE * len(LANES)
    height = bottom + 64
    title = "What the device does when, in a join of sides that do not fit in its memory"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}"',
        f'     viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<title>{title}</title>",
        f"<style>{STYLE}{LANE_STYLE}</style>",
        f'<rect x=".5" y=".5" width="{WIDTH - 1}" height="{height - 1}" rx="8" class="card"/>',
        text(16, 26, title, "title"),
        text(16, 48, "; ".join(
            f"{what} {shares[what]:.0%} of the time"
            for what in ("two lanes at least are busy", "copies go both ways")
        ), "soft"),
        text(WIDTH - 18, TOP - 12, "busy", "soft end"),
    ]
    step = step_of(last - first)
    for mark in range(int((last - first) / step) + 1):
        x = LEFT + scale * step * mark
        parts += [
            line(x, TOP - 6, x, bottom - 6, "grid"),
            text(f"{x:.1f}", bottom + 10, f"{step * mark:g} ms", "soft middle"),
        ]
    for number, lane in enumerate(LANES):
        y = TOP + LANE * number
        parts += [
            text(LEFT - 12, y + BAR // 2 + 4, lane, "end"),
            text(WIDTH - 18, y + BAR // 2 + 4, f"{shares[f'{lane} is busy']:.0%}", "soft end"),
        ]
        # What is closer than a third of a pixel is drawn as one bar.
        near = 1 / (3 * scale)
        for start, end in united((start, end + near) for start, end in lanes[lane]):
            x, width = LEFT + scale * (start - first), max(scale * (end - near - start), 0.3)
            parts.append(
                f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{BAR}" '
                f'class="{lane.replace(" ", "-")}"/>'
            )
    parts.append(text(16, height - 16, described(trace), "soft"))
    return "\n".join([*parts, "</svg>", ""])


def described(trace):
    context, join = trace["context"], trace["join"]
    return (
        f"{context['device']}, commit {context['commit'][:7]}, {context['date']}: "
        f"{join['build_rows']:,} x {join['probe_rows']:,} rows of 8 bytes, {join['memory']}, "
        f"{join['threads']} threads, {join['budget_bytes'] / 2**20:,.0f} MiB of device memory"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("trace", metavar="TRACE.json")
    parser.add_argument("picture", metavar="PICTURE.svg")
    arguments = parser.parse_args()
    with open(arguments.trace) as file:
        trace = json.load(file)
    try:
        drawn = picture(trace)
    except ValueError as error:
        sys.exit(f"draw_trace.py: {arguments.trace}: {error}")
    with open(arguments.picture, "w") as file:
        file.write(drawn)
    for what, share in shares_of(lanes_of(trace)):
        print(f"{share:6.1%}  {what}")


if __name__ == "__main__":
    main()
