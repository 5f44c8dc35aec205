#!/usr/bin/env python3
"""Holds the demo's output against the same join by DuckDB.

usage: demo_check.py DATA JOINED [DATA JOINED]...

DATA    folder with lineitem.parquet and orders.parquet
JOINED  the output, a parquet file

Prints a line for each thing compared; exit status 1 when one differs.
"""

import sys
from pathlib import Path

import duckdb

NUMBERS = ["l_orderkey", "l_quantity", "l_extendedprice", "o_custkey", "o_totalprice"]
DATES = ["l_shipdate", "o_orderdate"]
TEXTS = ["o_orderpriority"]

# Each as SQL over the rows of either side. The last one sees whether values share the right row.
MEASURES = {
    "rows": "count(*)",
    **{f"sum({name})": f"sum({name})" for name in NUMBERS},
    **{f"sum({name}), days": f"sum({name} - DATE '1970-01-01')" for name in DATES},
    **{f"sum(length({name}))": f"sum(length({name}))" for name in TEXTS},
    "sum(hash(row))": f"sum(hash({', '.join(NUMBERS + DATES + TEXTS)})::HUGEINT)",
}


def measure(source: str) -> tuple:
    return (
        duckdb.connect()
        .execute(f"SELECT {', '.join(MEASURES.values())} FROM {source}")
        .fetchall()[0]
    )


def compare(data: Path, joined: Path) -> int:
    """How many things differ."""
    ours = measure(f"'{joined}'")
    theirs = measure(
        f"'{data / 'lineitem.parquet'}' JOIN '{data / 'orders.parquet'}' ON l_orderkey = o_orderkey"
    )
    failed = 0
    print(f"{'':6}{data.name:24}{'gpujoin':>28}{'DuckDB':>28}")
    for name, a, b in zip(MEASURES, ours, theirs):
        failed += a != b
        print(f"{'PASS' if a == b else 'FAIL':6}{name:24}{a!s:>28}{b!s:>28}")
    return failed


def main() -> int:
    paths = [Path(argument) for argument in sys.argv[1:]]
    pairs = list(zip(paths[::2], paths[1::2]))
    failed = sum(compare(data, joined) for data, joined in pairs)
    print(f"{len(pairs) * len(MEASURES) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
