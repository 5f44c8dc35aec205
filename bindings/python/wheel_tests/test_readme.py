"""What the README shows of frames can be run as it stands."""

import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_the_examples_of_frames_run(capsys):
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    shown = [block for block in blocks if "import pandas" in block or "gpujoin.polars" in block]
    assert len(shown) == 2
    for block in shown:
        exec(block, {})
    printed = capsys.readouterr().out
    assert "left_only" in printed and "Rome" in printed
