"""Programs of their own: python -m gpujoin, run as its users run it, and lines of Python."""

import os
import subprocess
import sys
import textwrap


def gpujoin(*arguments, folder=None, **environment):
    return subprocess.run(
        [sys.executable, "-m", "gpujoin", *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


def run_python(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


def join(files, *arguments, left="left.parquet", right="right.parquet"):
    keys = ["--left-on", "id", "--right-on", "customer"]
    return gpujoin("join", left, right, *keys, *arguments, folder=files)
