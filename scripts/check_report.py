#!/usr/bin/env python3
"""Checks the figures of gpujoin_bench and their report against each other, on any machine.

    scripts/check_report.py build/dev/bench/gpujoin_bench

Runs every figure on the CPU at 2^-14 of its size, where most plans are refused and the others
checked row by row; gives the refused ones made-up times; and draws the report of that. Then holds
the report and scripts/compare_runs.py to made-up runs of two commits. Prints what is wrong; exits 1
if anything is.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

from report import ROOT, all_results, read_runs, read_verdicts, write_report
from report_figures import FIGURES


def run_figures(program, folder):
    measured = folder / "figures.json"
    subprocess.run(
        [program, "--device=cpu", "--figures", "--scale=-14", "--calls=1",
         f"--benchmark_out={measured}", "--benchmark_out_format=json"],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )
    return measured


def give_times(measured, filled):
    """Every run that was refused gets the time and counters of one that was not."""
    run = json.loads(measured.read_text())
    ran = [entry for entry in run["benchmarks"] if not entry.get("error_occurred")]
    x = {}
    for entry in run["benchmarks"]:
        point = entry["name"].split("/")[4]
        x.setdefault(point, len(x) + 1)
        if not entry.get("error_occurred"):
            continue
        name = entry["name"]
        entry.clear()
        entry.update(ran[0], name=name, x=x[point])
    filled.write_text(json.dumps(run))


def made_up_run(folder, name, times, date=""):
    """A file of gpujoin_bench at commit a or b, the first letter of its name; None is refused."""
    entries = [
        {"name": f"{what}/iterations:1/manual_time", "real_time": time, "x": 1}
        if time is not None
        else {"name": what, "error_occurred": True, "error_message": "refused"}
        for what, time in times.items()
    ]
    path = folder / f"{name}.json"
    path.write_text(json.dumps(
        {"context": {"commit": name[0], "device": "made up", "date": date}, "benchmarks": entries}
    ))
    return path


def check_newest_counts(folder):
    """Files named against the order of their dates: what the report takes of them wrongly."""
    drawn, other, cell = "wu/fig12/device/AUTO/2", "wu/fig16/device/AUTO/2", "cell/wide2-27x27/AUTO"
    named = "wu/fig12/device/PHJ-OM/2"
    files = [
        made_up_run(folder, "b-cells", {cell: 1.0}, "2026-01-03"),
        made_up_run(folder, "b-figures", {named: 2.0}, "2026-01-02"),
        made_up_run(folder, "a-z", {drawn: 9.0, other: 3.0, named: 8.0}, "2026-01-01"),
    ]
    for given in (files, files[::-1]):
        runs, newest = read_runs(given)
        for figure, series, time, commit in (
            ("wu/fig12", "AUTO", 1.0, "b"),  # the cell of the newest commit
            ("wu/fig16", "AUTO", 3.0, "a"),  # there is no such cell
            ("wu/fig12", "PHJ-OM", 2.0, "b"),
        ):
            found = runs[figure]["device"][series]["2"]
            if (found.milliseconds, found.context["commit"]) != (time, commit):
                yield f"report.py: {figure}, {series} is of {found.context}, not of commit {commit}"
        if newest["commit"] != "b":
            yield f"report.py: takes {newest} for the newest run"


# (cell, its time in each file before and after, what is said of it)
COMPARED = [
    ("long-same", (10.0, 10.1), (10.15, 10.2), ""),
    ("long-slower", (10.0, 10.1), (10.3, 10.4), "beyond 2%"),
    ("long-slower-than-its-spread", (10.0, 11.0), (10.8, 11.0), "beyond 2%"),
    ("short-within-its-spread", (0.1, 0.11), (0.105, 0.115), ""),
    ("short-slower", (0.1, 0.101), (0.104, 0.104), "beyond the spread"),
    ("faster", (10.0, 10.0), (5.0, 5.0), ""),
    ("refused-once-after", (1.0, 1.0), (1.0, None), "no time after"),
    ("refused-before", (None, None), (1.0, 1.0), ""),
]


def check_compare_runs(folder):
    """What scripts/compare_runs.py gets wrong."""
    files = [
        made_up_run(folder, f"{side}{turn}", {
            f"cell/{cell}/AUTO": (before if side == "a" else after)[turn]
            for cell, before, after, _ in COMPARED
        })
        for turn in (0, 1) for side in ("a", "b")
    ]

    def run(*arguments):
        return subprocess.run(
            [sys.executable, ROOT / "scripts" / "compare_runs.py", *map(str, arguments)],
            capture_output=True, text=True, check=False,
        )

    said = run(*files)
    expected = [f"- cell/{cell}/AUTO: {why}" for cell, _, _, why in COMPARED if why]
    if [line for line in said.stdout.splitlines() if line.startswith("- ")] != expected:
        yield f"compare_runs.py: says\n{said.stdout}{said.stderr}and not\n" + "\n".join(expected)
    for arguments, status, what in (
        (files, 1, "slower cells"),
        (["--filter=same|faster", *files], 0, "no slower cell"),
        (files[:2], 2, "a single pair"),
        ([files[0], files[1], files[3], files[2]], 2, "files of two commits on one side"),
    ):
        got = run(*arguments).returncode
        if got != status:
            yield f"compare_runs.py: exits with {got}, not {status}, on {what}"


def main():
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    found = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        try:
            measured = run_figures(sys.argv[1], folder)
        except subprocess.CalledProcessError as error:
            sys.exit(f"{error}\n{error.stderr}")
        runs, _ = read_runs([measured])
        for figure, panels in runs.items():
            for panel, series in panels.items():
                for title, points in series.items():
                    found += [
                        f"{figure}/{panel}/{title}/{point}: {run.error}"
                        for point, run in points.items()
                        if run.error is not None and "GPUJOIN_ERROR_ILLEGAL_PLAN" not in run.error
                        and "GPUJOIN_ERROR_UNSUPPORTED" not in run.error
                    ]
        sources = {figure.runs() for figure in FIGURES if not figure.script}
        found += [f"{name}: is measured, and shown nowhere" for name in runs.keys() - sources]
        found += [f"{name}: is to be shown, and not measured" for name in sources - runs.keys()]

        found += [*check_newest_counts(folder), *check_compare_runs(folder)]
        give_times(measured, folder / "filled.json")
        of_scripts = {figure.name for figure in FIGURES if figure.script}
        kept = {file: read_runs([file])[0].keys() & of_scripts for file in all_results()}
        missing = of_scripts.difference(*kept.values())
        found += [f"{name}: is not in bench/results" for name in missing]
        files = [folder / "filled.json", *(file for file, figures in kept.items() if figures)]
        shown = write_report(files, folder / "report", pyplot)
        page = (folder / "report" / "index.html").read_text()
        verdicts = read_verdicts((ROOT / "docs" / "papers.md").read_text())
        for figure in FIGURES:
            if figure.name not in shown:
                found.append(f"{figure.name}: is not in the report")
            if figure.name not in verdicts:
                found.append(f"{figure.name}: docs/papers.md does not say what the paper concluded")
            picture = folder / "report" / (figure.name.replace("/", "-") + ".png")
            if figure.kind != "table" and not picture.exists():
                found.append(f"{figure.name}: has no picture")
            if figure.kind != "table" and page.count(f"<img alt='{figure.name}'") != 1:
                found.append(f"{figure.name}: its picture is not on the page once")
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
