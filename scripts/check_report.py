#!/usr/bin/env python3
"""Checks the figures of gpujoin_bench and their report against each other, on any machine.

    scripts/check_report.py build/dev/bench/gpujoin_bench

Runs every figure on the CPU at 2^-14 of its size, where most plans are refused and the others
checked row by row; gives the refused ones made-up times; and draws the report of that. Prints what
is wrong; exits 1 if anything is.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

from report import ROOT, read_runs, read_verdicts, write_report
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
        sources = {figure.runs() for figure in FIGURES}
        found += [f"{name}: is measured, and shown nowhere" for name in runs.keys() - sources]
        found += [f"{name}: is to be shown, and not measured" for name in sources - runs.keys()]

        give_times(measured, folder / "filled.json")
        shown = write_report([folder / "filled.json"], folder / "report", pyplot)
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
