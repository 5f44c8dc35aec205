"""The picture of README.md: for each cell our time, and the best peers' beside it, as SVG.

Nothing but text: the same run gives the same bytes. It brings its own background, so that it reads
on a white page and on a dark one.
"""

import html
import math

from bench_table import best_peer, time_text

WIDTH = 880
LEFT, RIGHT = 160, 640  # of the axis
TOP, ROW = 98, 17  # the first row's middle; from row to row
COLUMNS = (712, 790, 862)  # where the columns of figures end

STYLE = """
text { font: 12px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328 }
.title { font-size: 15px; font-weight: 600 }
.soft { fill: #59636e }
.end { text-anchor: end }
.middle { text-anchor: middle }
.card { fill: #ffffff; stroke: #d0d7de }
.grid { stroke: #d8dee4 }
.row { stroke: #eff2f5 }
.span { stroke: #8c959f; stroke-width: 1.5 }
.ours { fill: #0969da }
.peer { fill: #bc4c00 }
.promised { fill: none; stroke: #bc4c00; stroke-width: 1.5 }
"""


class Axis:
    """Milliseconds on a logarithmic scale, from the power of ten below the least to that above."""

    def __init__(self, times):
        self.first = math.floor(math.log10(min(times)))
        self.last = math.ceil(math.log10(max(times)))

    def place(self, milliseconds):
        share = (math.log10(milliseconds) - self.first) / (self.last - self.first)
        return LEFT + (RIGHT - LEFT) * share

    def drawn(self, bottom):
        for power in range(self.first, self.last + 1):
            x = self.place(10.0**power)
            yield line(x, TOP - 14, x, bottom, "grid")
            yield text(f"{x:.1f}", bottom + 16, f"{10.0**power:g} ms", "soft middle")


def text(x, y, content, kind="plain"):
    return f'<text x="{x}" y="{y}" class="{kind}">{html.escape(content)}</text>'


def line(x1, y1, x2, y2, kind):
    return f'<line x1="{x1:.1f}" y1="{y1}" x2="{x2:.1f}" y2="{y2}" class="{kind}"/>'


def ours(x, y):
    return f'<circle cx="{x:.1f}" cy="{y}" r="5" class="ours"/>'


def peer(x, y):
    return f'<circle cx="{x:.1f}" cy="{y}" r="3" class="peer"/>'


def promised(x, y):
    return f'<circle cx="{x:.1f}" cy="{y}" r="5.5" class="promised"/>'


def legend(y):
    """The marks with what they stand for, from left to right."""
    parts = []
    for x, mark, content in (
        (22, ours, "this library, AUTO"),
        (180, peer, "best peer that is promised nothing"),
        (440, promised, "best peer of all, some promised unique or dense keys"),
    ):
        parts += [mark(x, y), text(x + 11, y + 4, content)]
    return parts


def rows_of(cells, peers):
    """(cell, our time, the best peer's that is promised nothing, the best of all's)."""
    for cell, of_cell in cells.items():
        auto = of_cell.get("AUTO")
        plain, best = (best_peer(peers, cell, promise) for promise in (False, True))
        if auto and auto.milliseconds and plain:
            yield cell, auto.milliseconds, plain[0], best[0]


def picture(cells, peers, described):
    rows = list(rows_of(cells, peers))
    axis = Axis([time for _, *times in rows for time in times])
    bottom = TOP + ROW * len(rows) - 4
    height = bottom + 42
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}"',
        f'     viewBox="0 0 {WIDTH} {height}" role="img">',
        "<title>Time of one join, and the best peers' beside it</title>",
        f"<style>{STYLE}</style>",
        f'<rect x=".5" y=".5" width="{WIDTH - 1}" height="{height - 1}" rx="8" class="card"/>',
        text(16, 26, "Time of one join: this library and its best peers", "title"),
        *legend(50),
        text(LEFT, 76, "logarithmic; further left is faster", "soft"),
        text(COLUMNS[2], 26, "right: the peer's time over ours", "soft end"),
        *(
            text(x, 76, head, "soft end")
            for x, head in zip(COLUMNS, ("ours, ms", "no promise", "of all"))
        ),
    ]
    parts += axis.drawn(bottom)
    for number, (cell, mine, plain, best) in enumerate(rows):
        y = TOP + ROW * number
        parts += [
            line(LEFT, y, RIGHT, y, "row"),
            line(axis.place(mine), y, axis.place(plain), y, "span"),
            promised(axis.place(best), y),
            peer(axis.place(plain), y),
            ours(axis.place(mine), y),
            text(LEFT - 12, y + 4, cell, "end"),
        ]
        figures = (time_text(mine), f"{plain / mine:.1f}", f"{best / mine:.1f}")
        parts += [text(x, y + 4, figure, "end") for x, figure in zip(COLUMNS, figures)]
    parts.append(text(16, bottom + 34, described, "soft"))
    return "\n".join([*parts, "</svg>", ""])
