#!/usr/bin/env python3
"""Writes the 99 queries of TPC-DS, as DuckDB's extension tpcds has them, into a folder.

    tpcds_queries.py FOLDER

Runs in an environment with the package duckdb-extension-tpcds, which holds that extension for one
version of DuckDB."""

import pathlib
import sys

import duckdb
import duckdb_extension_tpcds


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    package = pathlib.Path(duckdb_extension_tpcds.__file__).parent
    extension, = package.glob(f"extensions/v{duckdb.__version__}/tpcds.duckdb_extension")
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    connection.execute(f"LOAD '{extension}'")
    folder.mkdir(parents=True, exist_ok=True)
    for number, query in connection.execute("FROM tpcds_queries()").fetchall():
        (folder / f"{number:02}.sql").write_text(query)


main()
