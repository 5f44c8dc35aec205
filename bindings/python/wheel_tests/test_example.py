"""examples/python prints what its README shows."""

import re
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[3] / "examples" / "python"


def test_the_example_prints_what_its_readme_shows():
    shown = re.search(r"```text\n(.*?)```", (EXAMPLE / "README.md").read_text(), re.DOTALL)
    said = subprocess.run(
        [sys.executable, EXAMPLE / "join.py"], capture_output=True, text=True, check=False
    )
    assert said.stderr == ""
    assert said.stdout == shown[1]
