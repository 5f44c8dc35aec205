"""DuckDB's own join tests with the extension loaded and forced.

GPUJOIN_DUCKDB_TESTS is a folder with files of DuckDB's repository of about the same version, say its
test/sql; of these are run those below any folder named join or subquery, but for the slow ones
(*.test_slow). A file that DuckDB
does not pass here without the extension is skipped, and says so."""

from __future__ import annotations

import os
import pathlib

import pytest

from conftest import MODES, connect
from sqllogictest import Failure, Runner, Skip

FOLDER = pathlib.Path(os.environ.get("GPUJOIN_DUCKDB_TESTS", "/nowhere"))
FILES = sorted(file for file in FOLDER.rglob("*.test")
               if {"join", "subquery"} & set(file.relative_to(FOLDER.parent).parts))
pytestmark = pytest.mark.skipif(not FILES, reason="GPUJOIN_DUCKDB_TESTS names no tests of DuckDB's")


def run(file, folder, **values) -> int:
    def connect_with(database):
        made = connect(database) if isinstance(database, str) else database.cursor()
        for name, value in values.items():
            made.execute(f"SET {name} = {value!r}")
        return made

    folder.mkdir()
    runner = Runner(connect_with, folder)
    try:
        runner.run(file.read_text())
    finally:
        runner.close()
    return runner.checks


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(FOLDER)))
def test_file(file, tmp_path):
    try:
        checks = run(file, tmp_path / "without", gpujoin_enable=False)
    except Skip as missing:
        pytest.skip(str(missing))
    except Failure as failed:
        pytest.skip(f"DuckDB fails: {failed}")
    assert run(file, tmp_path / "forced", **MODES["forced"]) == checks
