"""What the README shows can be run as it stands."""

import importlib.util
import os
import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


@pytest.mark.skipif(not README.exists(), reason="the README is not here")
def test_the_examples_run(capsys):
    named = {}
    for block in re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL):
        if "import pandas" in block and importlib.util.find_spec("pandas") is None:
            continue  # the wheel's tests run it
        if "import gpujoin.duckdb" in block and not os.environ.get("GPUJOIN_DUCKDB_EXTENSIONS"):
            continue  # bindings/duckdb/tests load it
        exec(block, named)
    assert "customer: string" in capsys.readouterr().out
    joined = named["result"].to_table()
    assert joined.schema.names == ["amount", "customer", "name"]
    assert sorted(joined["name"].to_pylist()) == ["Monday", "Tuesday", "Tuesday"]
