"""The joins of TPC-H's and TPC-DS's queries, tests/queries, as DuckDB answers them."""

import importlib.util
import shutil
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[3] / "tests" / "queries"
PATHS = sorted(FOLDER.glob("tpc*/*.txt"))
SCALE = "0.1"


@pytest.fixture(scope="module")
def queries():
    pytest.importorskip("duckdb")
    if not shutil.which("tpcgen-cli") and not (Path(sys.executable).parent / "tpcgen-cli").exists():
        pytest.skip("no tpcgen-cli, which makes the tables")
    spec = importlib.util.spec_from_file_location("run_queries", FOLDER / "run_queries.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["run_queries"] = module  # for its dataclasses
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def tables(queries, tmp_path_factory):
    """The folder of each benchmark's tables."""
    folders = {name: tmp_path_factory.mktemp(name) for name in ("tpch", "tpcds")}
    for name, folder in folders.items():
        queries.generate(name, SCALE, folder)
    return folders


@pytest.mark.skipif(not PATHS, reason="tests/queries is not here")
def test_there_are_queries():
    assert [len(list((FOLDER / name).iterdir())) for name in ("tpch", "tpcds")] == [20, 20]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: f"{path.parent.name}_{path.stem}")
def test_query(queries, tables, context, path):
    answers = queries.Runner(tables[path.parent.name], context).run(path)
    assert answers
    assert not [(name, problem) for name, _, problem in answers if problem]
    assert any(rows for _, rows, _ in answers) or path.stem == "q95"  # of one warehouse
