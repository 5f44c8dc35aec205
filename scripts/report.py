#!/usr/bin/env python3
"""Redraws the papers' figures from the JSON of gpujoin_bench --figures.

    scripts/report [--output DIR] [FILE.json...]

Writes DIR/<paper>-<figure>.png and DIR/index.html, which needs no other file: the pictures are in
it. Without files: all of bench/results. Of several files, the one measured later counts where two
measured the same, whatever they are called. What the papers concluded, and whether it holds, comes
from docs/papers.md.

AUTO is the planner's choice, which changes from commit to commit: where the figure's own run of it
is not of the newest commit that the files have, the cells of that commit take its place, as far as
they are the same joins (report_figures.CELLS). An AUTO that is left from an older commit says so.
"""

import argparse
import base64
import html
import json
import pathlib
import re
import sys

from bench_table import Measured, is_refusal, time_text
from report_figures import CELLS, FIGURES, milliseconds

ROOT = pathlib.Path(__file__).resolve().parent.parent
VERDICTS = "What the papers concluded, and what an H200 says"
PAPERS = {
    "wu": "Wu, Koutsoukos, Alonso 2024",
    "paul": "Paul, He, Lu, Lau 2020",
    "rui": "Rui, Tu 2017",
    "lin": "Lin, Liao 2025",
}
AUTO = "AUTO"
AUTO_COLOR = "#0969da"  # in every figure
COLORS = ["#1b1b1b", "#d9822b", "#4f9d57", "#8c6bb1", "#c0504d", "#2fa6a0", "#9c8a5a", "#8a8a8a"]
STAGE_COLORS = {
    "transfer": "#bbbbbb", "filter": "#2fa6a0", "transform": "#3f7fbf", "match": "#d9822b",
    "materialize": "#4f9d57", "fetch_key": "#8c6bb1", "fetch": "#777777",
    "planning and host": "#eeeeee",
}
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1f2328; background: #fff; text-align: left;
       max-width: 80em; margin: 2em auto; padding: 0 1.5em; }
h1 { font-size: 24px; margin-bottom: 0; }
h2 { font-size: 20px; margin: 2.5em 0 0; padding-bottom: .3em; border-bottom: 1px solid #d0d7de; }
h3 { font-size: 16px; margin: 0 0 .5em; }
a { color: #0969da; text-decoration: none; }
img { max-width: 100%; }
section { margin: 2em 0; }
.beside { display: grid; grid-template-columns: 3fr 2fr; gap: 0 2em; align-items: start; }
.scrolls { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13px; margin: .5em 0; }
td, th { border-bottom: 1px solid #d0d7de; padding: .2em .9em .2em 0; text-align: left;
         vertical-align: top; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
dl { margin: 0; }
dt { font-weight: 600; }
dd { margin: 0 0 .6em; }
.note { color: #59636e; font-size: 13px; margin: .4em 0; }
summary { color: #59636e; font-size: 13px; cursor: pointer; }
"""
NUMBER = re.compile(r"[\d.]*")


def read_runs(files):
    """({figure: {panel: {series: {point: Measured}}}}, the newest context).

    Each Measured has the context of its run."""
    runs = [json.loads(pathlib.Path(file).read_text()) for file in files]
    runs = [run for run in runs if "benchmarks" in run]  # others are of other questions
    runs = [run for run in runs if run["context"].get("kernels_traced") != "yes"]
    runs.sort(key=lambda run: run["context"].get("date", ""))
    figures, cells = {}, {}
    for run in runs:
        for entry in run["benchmarks"]:
            if entry.get("run_type", "iteration") != "iteration":
                continue
            measured = Measured(entry)
            measured.context = run["context"]
            parts = entry["name"].split("/")
            if parts[0] in PAPERS:  # paper/figure/panel/series/point/iterations:1/...
                panels = figures.setdefault("/".join(parts[:2]), {})
                panels.setdefault(parts[2], {}).setdefault(parts[3], {})[parts[4]] = measured
            elif parts[0] == "cell" and parts[2] == AUTO:  # cell/<cell>/<plan>/...
                cells[parts[1]] = measured
    newest = runs[-1]["context"] if runs else {}
    renew_auto(figures, {name: m for name, m in cells.items() if is_of(m, newest)}, newest)
    return figures, newest


def commit_of(context):
    return context.get("commit", "?")[:7]


def is_of(measured, context):
    return commit_of(measured.context) == commit_of(context)


def renew_auto(figures, cells, newest):
    """Puts cells of the newest commit in the place of AUTO's older runs of a figure."""
    for name, panels in figures.items():
        points = panels.get("device", {}).get(AUTO, {})
        if not points or all(is_of(measured, newest) for measured in points.values()):
            continue
        renewed = {}
        for point, cell in CELLS.get(name, {}).items():
            if point in points and cell in cells:
                renewed[point] = Measured(cells[cell].counters | {"x": points[point].counter("x")})
                renewed[point].context = newest
        if renewed:
            panels["device"][AUTO] = renewed


def read_verdicts(document):
    """{figure: (conclusion, here, holds)} of the table under the title."""
    _, _, section = document.partition(f"## {VERDICTS}\n")
    section = section.split("\n## ")[0]
    verdicts = {}
    for line in section.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 4 and re.fullmatch(r"`?(\w+/[\w-]+)`?", cells[0]):
            verdicts[cells[0].strip("`")] = tuple(cell.replace("\\|", "|") for cell in cells[1:])
    return verdicts


class Panel:
    """What a figure shows of one panel: {series: {point: Measured}} of the points with a time."""

    def __init__(self, figure, name, series, titles, newest):
        self.figure, self.name, self.newest = figure, name, newest
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
        if self.figure.kind in ("stages", "shares"):
            return milliseconds(measured)
        if not self.figure.over:
            return self.figure.value(measured)
        base = self.series.get(self.figure.over, {}).get(point)
        return base.milliseconds / measured.milliseconds if base else None

    def color(self, title):
        if title == AUTO:
            return AUTO_COLOR
        return COLORS[self.titles.index(title) % len(COLORS)]

    def label(self, title):
        """The series, and the commit of an AUTO that is not the newest."""
        measured = next(iter(self.series[title].values()))
        if title != AUTO or is_of(measured, self.newest):
            return title
        return f"{AUTO} of {commit_of(measured.context)}"

    def shown(self):
        return [title for title in self.series if title != self.figure.over]


def panels_of(figure, runs, newest):
    of_figure = runs.get(figure.runs(), {})
    titles = dict.fromkeys(title for series in of_figure.values() for title in series)
    titles = [title for title in titles if title != AUTO]
    panels = [
        Panel(figure, name, series, titles, newest)
        for name, series in of_figure.items()
        if not figure.panels or name in figure.panels
    ]
    return [panel for panel in panels if panel.all_series]


def draw_lines(axes, panel):
    for title in panel.shown():
        pairs = [(panel.x[point], panel.value(title, point)) for point in panel.points]
        pairs = [pair for pair in pairs if pair[1] is not None]
        xs, ys = [x for x, _ in pairs], [y for _, y in pairs]
        # What lies between points that are far apart is not known.
        joined = title != AUTO or len(pairs) == len(panel.points)
        axes.plot(xs, ys, marker="o", markersize=6 if title == AUTO else 4,
                  linestyle="-" if joined else "none", linewidth=2.5 if title == AUTO else 1.5,
                  label=panel.label(title), color=panel.color(title))
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
        axes.bar(places, values, width, label=panel.label(title), color=panel.color(title))
    axes.set_xticks(range(len(panel.points)), panel.points, fontsize=8)


def spent(measured):
    """(stage, milliseconds), without those that took no time; last what is in no stage."""
    stages = [(name, ms) for name, ms in measured.stages() if ms > 0.002 * measured.milliseconds]
    rest = measured.milliseconds - sum(ms for _, ms in measured.stages())
    if rest > 0.002 * measured.milliseconds:
        stages.append(("planning and host", rest))
    return stages


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
            ticks.append((place, panel.label(title)))
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
        axes.set_title(panel.label(titles[0]), loc="right", fontsize=7)
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
    picture.tight_layout()
    return picture


def table(header, rows):
    """Columns of numbers stand to the right, all others and the first to the left."""
    columns = list(zip(*rows))
    kinds = ["", *(
        " class='number'" if all(map(NUMBER.fullmatch, column)) else "" for column in columns[1:]
    )]

    def line(cells, tag):
        made = (
            f"<{tag}{kind}>{html.escape(text)}</{tag}>" for text, kind in zip(cells, kinds)
        )
        return f"<tr>{''.join(made)}</tr>"

    body = line(header, "th") + "".join(line(row, "td") for row in rows)
    return f"<div class='scrolls'><table>{body}</table></div>"


def number_text(value):
    return "" if value is None else f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def numbers_table(figure, panel):
    titles = panel.shown()
    rows = [
        [point, *(number_text(panel.value(title, point)) for title in titles)]
        for point in panel.points
    ]
    unit = "ms" if figure.kind in ("stages", "shares") else figure.y
    return f"<p class='note'>{html.escape(panel.name)}, {html.escape(unit)}</p>" + table(
        [figure.x, *map(panel.label, titles)], rows
    )


def details_table(panels):
    rows = []
    for panel in panels:
        for title, points in panel.series.items():
            for point, measured in points.items():
                rows.append([
                    f"{panel.name} / {panel.label(title)} / {point}",
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


def prose(text):
    """A cell of docs/papers.md as HTML."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))


def verdict_of(verdict):
    conclusion, here, holds = verdict or ("", "", "")
    return (
        f"<dl><dt>The paper</dt><dd>{prose(conclusion)}</dd>"
        f"<dt>Here</dt><dd>{prose(here or 'not judged yet')}</dd>"
        f"<dt>Holds?</dt><dd>{prose(holds or 'not judged yet')}</dd></dl>"
    )


def commits_text(panels):
    """Which commits the runs shown are of, and when they were made."""
    contexts = {}
    for panel in panels:
        for title, points in panel.series.items():
            for measured in points.values():
                context = measured.context
                key = (context.get("date", "")[:10], commit_of(context))
                contexts.setdefault(key, {})[title] = None
    return "; ".join(
        f"{', '.join(titles)}: commit {commit}, {date}" for (date, commit), titles
        in sorted(contexts.items())
    )


def image(name, kind, content):
    return f"<img alt='{name}' src='data:image/{kind};base64,{base64.b64encode(content).decode()}'>"


def section_of(figure, panels, picture, verdict):
    parts = [
        f"<section id='{figure.name}'>",
        f"<h3>{figure.name}: {html.escape(figure.title)}</h3>",
    ]
    beside = picture and len(panels) == 1
    parts.append("<div class='beside'>" if beside else "<div>")
    if picture:
        parts.append(image(figure.name, "png", picture.read_bytes()))
    parts += [verdict_of(verdict), "</div>"]
    parts += [numbers_table(figure, panel) for panel in panels]
    if figure.note:
        parts.append(f"<p class='note'>{html.escape(figure.note)}</p>")
    parts.append(f"<p class='note'>{html.escape(commits_text(panels))}</p>")
    for panel in panels:
        for title, measured in panel.refused.items():
            what = "refused" if is_refusal(measured) else "failed"
            said = html.escape(f"{panel.name} / {title}: {what}: {measured.error}")
            parts.append(f"<p class='note'>{said}</p>")
    parts += [details_table(panels), "</section>"]
    return "\n".join(parts)


def page_of(newest, sections, verdicts, cells_picture):
    described = (
        f"{newest.get('device', '?')}, CUDA {newest.get('cuda_runtime', 'none')}, newest commit "
        f"{commit_of(newest)}, {newest.get('date', '?')[:10]}, copy "
        f"{float(newest.get('copy_GBps', 0)):.0f} GB/s, scale 2^{newest.get('scale_log2', '0')}"
    )
    papers = {
        paper: [text for name, text in sections.items() if name.startswith(paper + "/")]
        for paper in PAPERS
    }
    links = " &middot; ".join(
        f"<a href='#{paper}'>{PAPERS[paper]}</a>" for paper, found in papers.items() if found
    )
    parts = [
        "<!doctype html><html lang='en'><meta charset='utf-8'>",
        "<title>Joins, measured</title>",
        f"<style>{STYLE}</style><h1>Joins, measured</h1>",
        f"<p class='note'>{html.escape(described)} &middot; {links}</p>",
    ]
    if cells_picture:
        parts.append(image("cells", "svg+xml", cells_picture))
    for paper, found in papers.items():
        if found:
            parts += [f"<h2 id='{paper}'>{html.escape(PAPERS[paper])}</h2>", *found]
    not_run = [(name, verdict) for name, verdict in verdicts.items() if name not in sections]
    if not_run:
        parts.append("<h2>Not drawn</h2>")
    for name, verdict in not_run:
        parts.append(f"<section><h3>{name}</h3>{verdict_of(verdict)}</section>")
    parts.append(
        "<p class='note'>Times are medians of the calls; every row of every first result was "
        "checked. What is timed: bench/results/README.md.</p>"
    )
    return "\n".join(parts)


def all_results():
    return sorted((ROOT / "bench" / "results").glob("*.json"))


def write_report(files, output, pyplot, cells_picture=b""):
    """Writes the pictures and the page; answers the names of the figures that it shows."""
    runs, newest = read_runs(files)
    verdicts = read_verdicts((ROOT / "docs" / "papers.md").read_text())
    output.mkdir(parents=True, exist_ok=True)
    sections = {}
    for figure in FIGURES:
        panels = panels_of(figure, runs, newest)
        if not panels:
            continue
        picture = None
        if figure.kind != "table" and any(panel.points for panel in panels):
            picture = output / (figure.name.replace("/", "-") + ".png")
            drawn = draw(pyplot, figure, [panel for panel in panels if panel.points])
            drawn.savefig(picture, dpi=130)
            pyplot.close(drawn)
        sections[figure.name] = section_of(figure, panels, picture, verdicts.get(figure.name))
    page = page_of(newest, sections, verdicts, cells_picture)
    (output / "index.html").write_text(page)
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

    cells_picture = b"" if arguments.files else (ROOT / "docs" / "cells.svg").read_bytes()
    files = arguments.files or all_results()
    shown = write_report(files, arguments.output, pyplot, cells_picture)
    if not shown:
        sys.exit("report.py: no figure was measured in these files")
    print(f"{arguments.output / 'index.html'}: {', '.join(shown)}")


if __name__ == "__main__":
    main()
