"""TPC-H for PostgreSQL: the queries by number, and the tables in a schema of their own."""

from __future__ import annotations

import pathlib
import re
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SQL = (HERE / "../../duckdb/tests/tpch.sql").read_text()
QUERIES = {int(number): text.strip().rstrip(";")
           for number, text in re.findall(r"^-- (\d+)\n(.*?)(?=^-- \d+\n|\Z)", SQL, re.M | re.S)}
TABLES = ["customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier"]
# Without an index they have nested loops of hours at scale factor 1: PostgreSQL doesn't turn a
# correlated subquery with an aggregate into a join.
INDEXES = ["partsupp (ps_partkey)", "lineitem (l_partkey, l_suppkey)"]
# So has query 21 in PostgreSQL's own plan.
INDEX_OF_ORDERS = "lineitem (l_orderkey)"


def make_tables(connection, schema: str, scale: str, generator: str, more_indexes=()) -> None:
    """generator: the program tpchgen-cli. The connection then looks into the schema first."""
    connection.execute(f"CREATE SCHEMA {schema}")
    connection.execute(f"SET search_path = {schema}, public")
    connection.execute((HERE / "tpch_tables.sql").read_text())
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([generator, "csv", "-s", scale, f"--output-dir={folder}"], check=True,
                       capture_output=True)
        for table in TABLES:
            with connection.cursor().copy(f"COPY {table} FROM STDIN CSV HEADER") as copy, \
                    open(pathlib.Path(folder) / f"{table}.csv", "rb") as file:
                while data := file.read(1 << 20):
                    copy.write(data)
    for index in [*INDEXES, *more_indexes]:
        connection.execute(f"CREATE INDEX ON {index}")
    for table in TABLES:
        connection.execute(f"ANALYZE {table}")
