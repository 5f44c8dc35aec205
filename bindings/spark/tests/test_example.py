"""The example prints what its README shows."""

from __future__ import annotations

import subprocess
import sys

from conftest import ROOT


def test_the_example_prints_what_its_readme_shows():
    example = ROOT / "examples/spark"
    shown = (example / "README.md").read_text().split("```text\n")[1].split("```")[0]
    said = subprocess.run([sys.executable, example / "join.py"], capture_output=True, text=True,
                          check=False)
    assert said.returncode == 0, said.stderr[-2000:]
    assert said.stdout == shown
