"""examples/postgresql prints what its README shows."""

from __future__ import annotations

import pathlib
import re
import subprocess

from conftest import BIN

EXAMPLE = pathlib.Path(__file__).resolve().parents[3] / "examples" / "postgresql"


def test_example(server):
    shown = re.search(r"^```text\n(.*?)^```$", (EXAMPLE / "README.md").read_text(), re.M | re.S)
    run = subprocess.run([BIN / "psql", "-X", "-q", "-h", server.folder, "-U", "postgres", "-f",
                          EXAMPLE / "join.sql"], capture_output=True, text=True, check=True)
    assert [line.rstrip() for line in run.stdout.rstrip().splitlines()] == \
        [line.rstrip() for line in shown.group(1).splitlines()]
