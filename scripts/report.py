#!/usr/bin/env python3
"""Redraws the papers' figures from the JSON of gpujoin_bench --figures.

    scripts/report [--output DIR] [FILE.json...]

Writes DIR/<paper>-<figure>.png and DIR/index.html, which needs no other file: the pictures are in
it. Without files: all bench/results/*figures*.json, in the order of their names. Of several files,
the later one counts where two measured the same. What the papers concluded, and whether it holds,
comes from docs/papers.md.
"""

import argparse
import base64
import html
import json
import pathlib
import re
import sys

from bench_table import Measured, is_refusal, time_text
from report_figures import FIGURES, milliseconds

ROOT = pathlib.Path(__file__).resolve().parent.parent
VERDICTS = "What the papers concluded, and what an H200 says"
PAPERS = {
    "wu": "Wu, Koutsoukos, Alonso 2024",
    "paul": "Paul, He, Lu, Lau 2020",
    "rui": "Rui, Tu 2017",
    "lin": "Lin, Liao 2025",
}
COLORS = ["#1b1b1b", "#3f7fbf", "#d9822b", "#4f9d57", "#8c6bb1", "#c0504d", "#2fa6a0", "#9c8a5a"]
STAGE_COLORS = {
    "transfer": "#bbbbbb", "sample": "#e9d8a6", "transform": "#3f7fbf", "match": "#d9822b",
    "materialize": "#4f9d57", "fetch_key": "#8c6bb1", "fetch": "#777777", "planning and host": "#eeeeee",
}
STYLE = """
body { font: 15px/1.5 sans-serif; max-width: 75em; margin: 2em auto; padding: 0 1em; }
img { max-width: 100%; }
table { border-collapse: collapse; font-size: 13px; margin: .5em 0; }
td, th { border: 1px solid #ccc; padding: .15em .6em; text-align: right; }
td:first-child, th:first-child, td.text { text-align: left; }
.verdict { border-left: 4px solid #888; padding-left: 1em; }
.note { color: #555; font-size: 13px; }
"""


def read_runs(files):
    """({figure: {panel: {series: {point: Measured}}}}, the context of each file)."""
    figures, contexts = {}, []
    for file in files:
        run = json.loads(pathlib.Path(file).read_text())
        contexts.append(run["context"])
        for entry in run["benchmarks"]:
            parts = entry["name"].split("/")  # paper/figure/panel/series/point/iterations:1/...
            if parts[0] not in PAPERS or entry.get("run_type", "iteration") != "iteration":
                continue
            panels = figures.setdefault("/".join(parts[:2]), {})
            panels.setdefault(parts[2], {}).setdefault(parts[3], {})[parts[4]] = Measured(entry)
    return figures, contexts


def read_verdicts(document):
    """{figure: (conclusion, here, holds)} of the table under the title."""
    _, _, section = document.partition(f"## {VERDICTS}\n")
    section = section.split("\n## ")[0]
    verdicts = {}
    for line in section.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 4 and re.fullmatch(r"`?(\w+/\w+)`?", cells[0]):
            verdicts[cells[0].strip("`")] = tuple(cell.replace("\\|", "|") for cell in cells[1:])
    return verdicts


class Panel:
    """What a figure shows of one panel: {series: {point: Measured}} of the points that have a time."""

    def __init__(self, figure, name, series, titles):
        self.figure, self.name = figure, name
        self.titles = titles  # of all panels, so that a series has one colour
        self.all_series = {
            title: points
            for title, points in series.items()
            if not figure.series or title in figure.series
        }
        self.series, self.refused = {}, {}
        places = {}
        for title, points in self.all_series.items():
            for point, measured in points.items():
                if figure.points and point not in figure.points:
                    continue
                if measured.error is not None:
                    self.refused.setdefault(title, measured)
                    continue
                self.series.setdefault(title, {})[point] = measured
                places[point] = measured.counter("x")
        self.points = sorted(places, key=places.get)  # along the x axis
        self.x = places

    def value(self, title, point):
        """What the figure shows of it, or None."""
        measured = self.series.get(title, {}).get(point)
        if measured is None:
            return None
        if not self.figure.over:
            return self.figure.value(measured)
        base = self.series.get(self.figure.over, {}).get(point)
        return base.milliseconds / measured.milliseconds if base else None

    def color(self, title):
        return COLORS[self.titles.index(title) % len(COLORS)]

    def shown(self):
        return [title for title in self.series if title != self.figure.over]


def panels_of(figure, runs):
    of_figure = runs.get(figure.runs(), {})
    titles = list(dict.fromkeys(title for series in of_figure.values() for title in series))
    panels = [
        Panel(figure, name, series, titles)
        for name, series in of_figure.items()
        if not figure.panels or name in figure.panels
    ]
    return [panel for panel in panels if panel.all_series]


def draw_lines(axes, panel):
    for title in panel.shown():
        pairs = [(panel.x[point], panel.value(title, point)) for point in panel.points]
        pairs = [pair for pair in pairs if pair[1] is not None]
        xs, ys = [x for x, _ in pairs], [y for _, y in pairs]
        axes.plot(xs, ys, marker="o", markersize=4, label=title, color=panel.color(title))
    if panel.figure.log_x:
        axes.set_xscale("log", base=2)
    axes.set_xticks([panel.x[point] for point in panel.points], panel.points, fontsize=7)
    axes.set_xticks([], minor=True)
    if panel.figure.log_y:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter("{x:g}")
        axes.tick_params(axis="y", which="minor", labelsize=7)
    else:
        axes.set_ylim(bottom=0)


def draw_bars(axes, panel):
    titles = panel.shown()
    width = 0.8 / max(len(titles), 1)
    for number, title in enumerate(titles):
        values = [panel.value(title, point) or 0 for point in panel.points]
        places = [row + (number - (len(titles) - 1) / 2) * width for row in range(len(values))]
        axes.bar(places, values, width, label=title, color=panel.color(title))
    axes.set_xticks(range(len(panel.points)), panel.points, fontsize=8)


def spent(measured):
    """(stage, milliseconds), without those that took no time; last what is in no stage."""
    stages = [(name, ms) for name, ms in measured.stages() if ms > 0.002 * measured.milliseconds]
    rest = measured.milliseconds - sum(ms for _, ms in measured.stages())
    return [*stages, *([("planning and host", rest)] if rest > 0.002 * measured.milliseconds else [])]


def draw_stages(axes, panel):
    """A group of bars for each point, a bar for each series, stages on top of each other."""
    titles, in_percent = panel.shown(), panel.figure.kind == "shares"
    width, seen, ticks = 0.8 / max(len(titles), 1), set(), []
    for row, point in enumerate(panel.points):
        for number, title in enumerate(titles):
            measured = panel.series[title].get(point)
            if measured is None:
                continue
            place, bottom = row + (number - (len(titles) - 1) / 2) * width, 0
            ticks.append((place, title))
            total = measured.milliseconds
            for stage, ms in spent(measured):
                height = 100 * ms / total if in_percent else ms
                axes.bar(place, height, 0.9 * width, bottom=bottom, color=STAGE_COLORS.get(stage),
                         label=None if stage in seen else stage)
                seen.add(stage)
                bottom += height
        axes.text(row, -0.02, point, transform=axes.get_xaxis_transform(), ha="center", va="top",
                  fontsize=8)
    if len(titles) == 1:
        ticks = []
        axes.set_title(titles[0], loc="right", fontsize=7)
    axes.set_xticks([place for place, _ in ticks], [text for _, text in ticks], rotation=90,
                    fontsize=6)
    axes.tick_params(axis="x", pad=14, length=0)


DRAWERS = {
    "lines": draw_lines, "bars": draw_bars, "stages": draw_stages, "shares": draw_stages,
}


def draw(pyplot, figure, panels):
    bars = max((len(panel.points) * len(panel.shown()) for panel in panels), default=0)
    width = max(5.5, 0.17 * bars if figure.kind in ("stages", "shares") else 0)
    picture, grid = pyplot.subplots(
        1, len(panels), figsize=(width * len(panels) + 1.2, 4.2), squeeze=False
    )
    for axes, panel in zip(grid[0], panels):
        DRAWERS[figure.kind](axes, panel)
        axes.set_title(panel.name if len(panels) > 1 else "", fontsize=9)
        axes.set_xlabel(figure.x, labelpad=14 if not axes.get_xticks().size else None)
        axes.set_ylabel(figure.y)
        axes.grid(axis="y", alpha=0.25)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(fontsize=7)
    picture.suptitle(f"{figure.name}: {figure.title}", fontsize=10)
    picture.tight_layout()
    return picture


def table(header, rows):
    def line(cells, tag):
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    return "<table>" + line(header, "th") + "".join(line(row, "td") for row in rows) + "</table>"


def number_text(value):
    return "" if value is None else f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def numbers_table(figure, panel):
    titles = panel.shown()
    rows = [
        [point, *(number_text(panel.value(title, point)) for title in titles)]
        for point in panel.points
    ]
    return f"<p>{html.escape(panel.name)}, {html.escape(figure.y)}</p>" + table(
        [figure.x, *titles], rows
    )


def details_table(panels):
    rows = []
    for panel in panels:
        for title, points in panel.series.items():
            for point, measured in points.items():
                rows.append([
                    f"{panel.name} / {title} / {point}",
                    time_text(milliseconds(measured)),
                    ", ".join(f"{name} {time_text(ms)}" for name, ms in measured.stages()),
                    f"{measured.counter('rows_per_second') / 1e9:.3g}",
                    f"{measured.counter('bytes_predicted') / 1e9:.3g}",
                    f"{measured.counter('achieved_GBps'):.0f}",
                    f"{measured.counter('peak_memory_bytes') / 1e9:.3g}",
                    f"{measured.counter('output_rows'):.0f}",
                    measured.plan_text,
                ])
    header = ["run", "ms", "stages, ms", "G rows/s", "GB predicted", "GB/s", "peak GB",
              "output rows", "plan"]
    return f"<details><summary>every run</summary>{table(header, rows)}</details>"


def section_of(figure, panels, picture, verdict):
    conclusion, here, holds = verdict or ("", "", "")
    parts = [f"<h3 id='{figure.name}'>{figure.name}: {html.escape(figure.title)}</h3>"]
    parts.append(
        f"<p class='verdict'><b>The paper:</b> {html.escape(conclusion)}<br>"
        f"<b>Here:</b> {html.escape(here or 'not judged yet')}<br>"
        f"<b>Holds:</b> {html.escape(holds or 'not judged yet')}</p>"
    )
    if picture:
        data = base64.b64encode(picture.read_bytes()).decode()
        parts.append(f"<img alt='{figure.name}' src='data:image/png;base64,{data}'>")
    parts += [numbers_table(figure, panel) for panel in panels]
    if figure.note:
        parts.append(f"<p class='note'>{html.escape(figure.note)}</p>")
    for panel in panels:
        for title, measured in panel.refused.items():
            what = "refused" if is_refusal(measured) else "failed"
            parts.append(
                f"<p class='note'>{html.escape(f'{panel.name} / {title}: {what}: {measured.error}')}</p>"
            )
    parts.append(details_table(panels))
    return "\n".join(parts)


def page_of(contexts, sections, verdicts):
    described = [
        f"{context.get('device', '?')}, CUDA {context.get('cuda_runtime', 'none')}, commit "
        f"{context.get('commit', '?')[:12]}, {context.get('date', '?')}, copy "
        f"{float(context.get('copy_GBps', 0)):.0f} GB/s, scale 2^{context.get('scale_log2', '0')}"
        for context in contexts
    ]
    parts = [
        "<!doctype html><meta charset='utf-8'><title>The papers' figures, measured</title>",
        f"<style>{STYLE}</style><h1>The papers' figures, measured</h1>",
        *(f"<p>{html.escape(text)}</p>" for text in described),
        "<p>Times are medians of the calls; every row of every first result was checked. What is "
        "timed: bench/results/README.md.</p>",
        table(
            ["figure", "the paper's conclusion", "here", "holds?"],
            [[name, *cells] for name, cells in verdicts.items()],
        ),
    ]
    for paper, title in PAPERS.items():
        of_paper = [text for name, text in sections.items() if name.startswith(paper + "/")]
        if of_paper:
            parts += [f"<h2>{html.escape(title)}</h2>", *of_paper]
    return "\n".join(parts)


def all_results():
    files = sorted((ROOT / "bench" / "results").glob("*figures*.json"))
    if not files:
        sys.exit("report.py: no bench/results/*figures*.json; name a file")
    return files


def write_report(files, output, pyplot):
    """Writes the pictures and the page; answers the names of the figures that it shows."""
    runs, contexts = read_runs(files)
    verdicts = read_verdicts((ROOT / "docs" / "papers.md").read_text())
    output.mkdir(parents=True, exist_ok=True)
    sections = {}
    for figure in FIGURES:
        panels = panels_of(figure, runs)
        if not panels:
            continue
        picture = None
        if figure.kind != "table" and any(panel.points for panel in panels):
            picture = output / (figure.name.replace("/", "-") + ".png")
            drawn = draw(pyplot, figure, [panel for panel in panels if panel.points])
            drawn.savefig(picture, dpi=130)
            pyplot.close(drawn)
        sections[figure.name] = section_of(figure, panels, picture, verdicts.get(figure.name))
    (output / "index.html").write_text(page_of(contexts, sections, verdicts))
    return list(sections)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="*", metavar="FILE.json")
    parser.add_argument("--output", default="report", type=pathlib.Path, metavar="DIR")
    arguments = parser.parse_args()
    try:
        import matplotlib
    except ImportError:
        sys.exit("report.py: needs matplotlib (pip install matplotlib)")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    shown = write_report(arguments.files or all_results(), arguments.output, pyplot)
    if not shown:
        sys.exit("report.py: no figure was measured in these files")
    print(f"{arguments.output / 'index.html'}: {', '.join(shown)}")


if __name__ == "__main__":
    main()
