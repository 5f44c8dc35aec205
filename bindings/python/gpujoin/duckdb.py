"""DuckDB runs the joins of unchanged SQL on the library.

    connection = gpujoin.duckdb.load(gpujoin.duckdb.connect())
    connection.sql("SELECT ... FROM orders JOIN lineitem ON ...")

What is loaded is the extension of bindings/duckdb, built for the version of DuckDB that is there.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ._abi import library
from .errors import InvalidArgument, Unsupported

try:
    import duckdb
except ImportError as error:
    raise ImportError(f"gpujoin.duckdb needs the package duckdb: {error}") from None

# Names a folder in the place of the package's: in it lie VERSION/gpujoin.duckdb_extension.
ENVIRONMENT = "GPUJOIN_DUCKDB_EXTENSIONS"
_FOLDER = Path(__file__).with_name("duckdb_extensions")
_FILE = "gpujoin.duckdb_extension"


def connect(
    database: str = ":memory:", read_only: bool = False, config: dict[str, Any] | None = None
) -> duckdb.DuckDBPyConnection:
    """duckdb.connect(...) to a database that may load the extension: no key of DuckDB's signs it."""
    settings = {"allow_unsigned_extensions": "true", **(config or {})}
    return duckdb.connect(database, read_only=read_only, config=settings)


def load(
    connection: duckdb.DuckDBPyConnection, extension: str | os.PathLike[str] | None = None
) -> duckdb.DuckDBPyConnection:
    """Loads the extension into the connection's database, and answers the connection.

    extension  a file gpujoin.duckdb_extension, with libgpujoin_duckdb.so beside it; None = the one
               for the database's version in this package, or in the folder that the environment
               variable GPUJOIN_DUCKDB_EXTENSIONS names

    Loading it again does nothing. Errors: InvalidArgument where the database may not load it, as it
    was opened without allow_unsigned_extensions; Unsupported where there is none for this version
    of DuckDB; LibraryNotFound; duckdb.Error where DuckDB refuses the file.
    """
    library()  # the extension takes the one that the process has
    asked = "SELECT current_setting('allow_unsigned_extensions'), library_version "
    (is_allowed, version), = connection.execute(asked + "FROM pragma_version()").fetchall()
    if not is_allowed:
        raise InvalidArgument(
            "the database was opened without allow_unsigned_extensions: gpujoin.duckdb.connect, or "
            "duckdb.connect(config={'allow_unsigned_extensions': 'true'}), opens it so"
        )
    path = Path(extension) if extension is not None else _extension_of(version.removeprefix("v"))
    connection.execute("LOAD '{}'".format(str(path).replace("'", "''")))
    return connection


def _extension_of(version: str) -> Path:
    folder = Path(os.environ.get(ENVIRONMENT) or _FOLDER)
    found = sorted(file.parent.name for file in folder.glob(f"*/{_FILE}"))
    if version not in found:
        raise Unsupported(
            f"no extension for DuckDB {version} in {folder}: "
            f"{'there is none' if not found else 'there are those for ' + ', '.join(found)}"
        )
    return folder / version / _FILE
