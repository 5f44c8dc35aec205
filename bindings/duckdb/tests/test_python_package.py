"""gpujoin.duckdb of the Python package loads the extension."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import duckdb
import pytest

from conftest import EXTENSION, ROOT, decisions

for package in ("numpy", "pyarrow"):
    pytest.importorskip(package)
sys.path.append(str(ROOT / "bindings/python"))
gpujoin = pytest.importorskip("gpujoin")
gpujoin_duckdb = pytest.importorskip("gpujoin.duckdb")


@pytest.fixture(autouse=True)
def extensions(monkeypatch):
    monkeypatch.setenv("GPUJOIN_DUCKDB_EXTENSIONS", str(pathlib.Path(EXTENSION).parents[1]))


def check(connection):
    connection.execute("SET gpujoin_force = true")
    sql = "SELECT count(*) FROM range(1000) a(i) JOIN range(500) b(i) USING (i)"
    assert connection.execute(sql).fetchone() == (500,)
    assert decisions(connection)[0][0]


def test_load():
    with gpujoin_duckdb.connect() as connection:
        assert gpujoin_duckdb.load(connection) is connection
        gpujoin_duckdb.load(connection)
        check(connection)


def test_load_from_a_path_into_a_file(tmp_path):
    with gpujoin_duckdb.connect(str(tmp_path / "a.duckdb"), config={"threads": 2}) as connection:
        check(gpujoin_duckdb.load(connection, pathlib.Path(EXTENSION)))


def test_a_database_that_may_not(monkeypatch):
    with duckdb.connect() as connection:
        with pytest.raises(gpujoin.InvalidArgument, match="allow_unsigned_extensions"):
            gpujoin_duckdb.load(connection)


def test_no_extension_for_the_version(monkeypatch, tmp_path):
    monkeypatch.setenv("GPUJOIN_DUCKDB_EXTENSIONS", str(tmp_path))
    with gpujoin_duckdb.connect() as connection:
        with pytest.raises(gpujoin.Unsupported, match=f"DuckDB {duckdb.__version__}.*none"):
            gpujoin_duckdb.load(connection)


@pytest.mark.skipif("GPUJOIN_PACKAGES" not in os.environ, reason="there is no wheel to install")
def test_the_wheel_has_the_extension(tmp_path):
    code = """
import gpujoin.duckdb
connection = gpujoin.duckdb.load(gpujoin.duckdb.connect())
connection.execute("SET gpujoin_force = true")
print(connection.execute(
    "SELECT count(*) FROM range(1000) a(i) JOIN range(500) b(i) USING (i)").fetchone())
print(connection.execute("SELECT taken FROM gpujoin_decisions()").fetchall())
"""
    unset = ("GPUJOIN_LIBRARY", "GPUJOIN_LIB_DIR", "GPUJOIN_DUCKDB_EXTENSIONS", "LD_LIBRARY_PATH")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    environment["PYTHONPATH"] = os.environ["GPUJOIN_PACKAGES"]
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          env=environment, cwd=tmp_path, check=False)
    assert said.stderr == ""
    assert said.stdout == "(500,)\n[(True,)]\n"


def test_files_that_are_none(tmp_path):
    (tmp_path / "it's.duckdb_extension").write_bytes(b"nothing")
    with gpujoin_duckdb.connect() as connection:
        for file in ("it's.duckdb_extension", "absent.duckdb_extension"):
            with pytest.raises(duckdb.Error, match="duckdb_extension"):
                gpujoin_duckdb.load(connection, tmp_path / file)


def test_the_example_prints_what_its_readme_shows():
    example = ROOT / "examples/duckdb"
    shown = (example / "README.md").read_text().split("```text\n")[1].split("```")[0]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "bindings/python")}
    said = subprocess.run([sys.executable, example / "join.py"], capture_output=True, text=True,
                          env=environment, check=False)
    assert said.stderr == ""
    assert said.stdout == shown
