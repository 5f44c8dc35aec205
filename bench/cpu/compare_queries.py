#!/usr/bin/env python3
"""Times what a query has around an equality on the CPU executor and on DuckDB.

    export GPUJOIN_LIBRARY=build/cpu/libgpujoin.so
    .venv/bin/python bench/cpu/compare_queries.py --output bench/results/<...>.json

The queries are those of all_cases() in query_cases.py: conditions beside equal keys in each kind of
join, range joins (DuckDB's IEJoin and its merge join), the next row in order (its ASOF join), counts
and sums of the joined rows, and joins of the rows that a filter left.

How it is measured is said in compare_joins.py: DuckDB in each order of the sides, with each of its
settings, into a table and into Arrow, and the best of them counts. The first result of all is held
against what DuckDB answers by default. "ratio" is DuckDB's time over ours.
"""

from compare_joins import compare, options_of


def main():
    options = options_of(__doc__)
    from query_cases import all_cases, rows_and_checksum  # which import Polars

    compare(options, ("gpujoin", "duckdb"), all_cases(options.scale), rows_and_checksum)


if __name__ == "__main__":
    main()
