"""python -m gpujoin, run as its users run it."""

import os
import subprocess
import sys


def gpujoin(*arguments, folder=None, **environment):
    return subprocess.run(
        [sys.executable, "-m", "gpujoin", *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


def join(files, *arguments, left="left.parquet", right="right.parquet"):
    keys = ["--left-on", "id", "--right-on", "customer"]
    return gpujoin("join", left, right, *keys, *arguments, folder=files)
