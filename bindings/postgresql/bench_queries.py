"""What TPC-H's queries cost PostgreSQL alone and with the joins that gpujoin chooses: CPU time of
the session's process, the least of several, in turns.

usage: bench_queries.py [--host FOLDER] [--repeat 3] [--work-mem 64MB] [--scale 1]

A running server on this machine; the tables are made there where they are not, in the schema tpch_N
of the scale factor, with indexes. Prints a line for each query of which gpujoin took a join, all in
all, and those that it made more than 1.1 times as long; what seems so runs as often again, twice at
most.
"""

from __future__ import annotations

import argparse
import pathlib
import sys

import psycopg

from bench import WAYS, run

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "tests"))
from tpch import INDEX_OF_ORDERS, QUERIES, make_tables  # noqa: E402: where it lies is known now


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="/var/run/postgresql")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--work-mem", default="64MB")
    parser.add_argument("--scale", default="1")
    options = parser.parse_args()
    schema = "tpch_" + options.scale.replace(".", "_")
    ways = [WAYS["postgresql"], WAYS["chosen"]]
    totals, slower = [0.0, 0.0], []
    with psycopg.connect(host=options.host, user="postgres", dbname="postgres",
                         autocommit=True) as connection:
        connection.execute("LOAD 'gpujoin'")
        connection.execute(f"SET search_path = {schema}, public")
        connection.execute("SET max_parallel_workers_per_gather = 0")
        connection.execute(f"SET work_mem = '{options.work_mem}'")
        if not connection.execute("SELECT to_regnamespace(%s)", [schema]).fetchone()[0]:
            make_tables(connection, schema, options.scale,
                        HERE.parents[1] / ".venv/bin/tpchgen-cli", [INDEX_OF_ORDERS])
        for number, sql in QUERIES.items():
            least = [float("inf")] * 2
            for turn in range(3 * options.repeat):
                if turn % options.repeat == 0 and least[1] <= 1.1 * least[0] < float("inf"):
                    break
                for way, values in enumerate(ways):
                    took, _, is_taken = run(connection, sql, values)
                    least[way] = min(least[way], took)
            totals = [total + time for total, time in zip(totals, least)]
            if is_taken:
                print(f"{number}: {least[0]:.0f} -> {least[1]:.0f} ms", flush=True)
            if least[1] > 1.1 * least[0]:
                slower.append(f"{number} {least[0]:.0f} -> {least[1]:.0f}")
        print(f"all: {totals[0]:.0f} -> {totals[1]:.0f} ms; above 1.1 times: {slower or 'none'}")


if __name__ == "__main__":
    main()
