#!/usr/bin/env python3
"""Writes down what compiling the library takes: seconds and bytes of each of its objects.

    rm -rf build/release && CCACHE_DISABLE=1 scripts/release
    scripts/build_cost.py build/release bench/results/<date>-<commit>-build.json

Seconds are of the wall clock, by Ninja's log: beside as many other objects as the machine has
threads. scripts/results.py makes a table of the newest such file.
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
OBJECTS = "CMakeFiles/gpujoin_engine.dir/"
SHOWN = 20  # objects, those that take longest


def logged(folder):
    """{object of the library: seconds}, of the last time that each was compiled."""
    seconds = {}
    for line in (folder / ".ninja_log").read_text().splitlines()[1:]:
        begin, end, _, output, _ = line.split("\t")
        if output.startswith(OBJECTS):
            seconds[output] = (int(end) - int(begin)) / 1000
    return seconds


def line_of(command, pattern):
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return re.search(pattern, said).group(1)


def measure(folder):
    cache = (folder / "CMakeCache.txt").read_text()
    cached = dict(re.findall(r"^(\w+):\w+=(.*)$", cache, re.M))
    cpu = line_of(["lscpu"], r"Model name:\s*(.*)")
    objects = [
        {
            "source": output.removeprefix(OBJECTS).removesuffix(".o"),
            "seconds": seconds,
            "bytes": (folder / output).stat().st_size,
        }
        for output, seconds in logged(folder).items()
        if (folder / output).exists()
    ]
    return {
        "context": {
            "date": datetime.date.today().isoformat(),
            "commit": line_of(["git", "-C", str(ROOT), "rev-parse", "HEAD"], r"(\w+)"),
            "command": "CCACHE_DISABLE=1 scripts/release",
            "device": f"{cpu}, {os.cpu_count()} threads",
            "nvcc": line_of([cached["CMAKE_CUDA_COMPILER"], "--version"], r"release ([\d.]+)"),
            "architectures": cached["GPUJOIN_CUDA_ARCHITECTURES"].split(";"),
        },
        "library_bytes": (folder / "libgpujoin.so").stat().st_size,
        "objects": sorted(objects, key=lambda one: -one["seconds"]),
    }


def newest(results):
    """(path, content), or None."""
    found = [(path, json.loads(path.read_text())) for path in results.glob("*-build.json")]
    return max(found, key=lambda one: one[1]["context"]["date"], default=None)


def section(results, table):
    """For docs/results.md. table(header, rows): as text."""
    found = newest(results)
    if found is None:
        return "No file of `scripts/build_cost.py` is in bench/results yet.\n"
    path, content = found
    context, objects = content["context"], content["objects"]
    seconds = sum(one["seconds"] for one in objects)
    rows = [
        (f"`{one['source']}`", f"{one['seconds']:.0f}", f"{one['bytes'] / 1e6:.2f}")
        for one in objects[:SHOWN]
    ]
    kinds = []
    for kind, ending in (("CUDA", ".cu"), ("C++", ".cpp")):
        of_kind = [one for one in objects if one["source"].endswith(ending)]
        kinds.append(
            f"{len(of_kind)} objects of {kind} take {sum(o['seconds'] for o in of_kind):.0f} s "
            f"and are {sum(o['bytes'] for o in of_kind) / 1e6:.1f} MB"
        )
    of_kinds = ";\n".join(kinds)
    return (
        f"`{context['command']}` on {context['device']}, nvcc {context['nvcc']},\n"
        f"commit {context['commit'][:7]}, {context['date']}, for "
        f"{', '.join(context['architectures'])}:\n`{path.relative_to(ROOT)}`.\n"
        f"The library is {content['library_bytes'] / 1e6:.1f} MB; its objects take {seconds:.0f} s "
        f"in all:\n{of_kinds}.\n\n" + table(["object", "s", "MB"], rows)
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.output.write_text(json.dumps(measure(arguments.folder), indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
