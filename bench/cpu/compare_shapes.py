#!/usr/bin/env python3
"""Times inner joins of data as it lies in databases, on the CPU executor, on DuckDB and on Polars.

    export GPUJOIN_LIBRARY=build/cpu/libgpujoin.so
    .venv/bin/python bench/cpu/compare_shapes.py --output bench/results/<...>.json

The joins are those of shape_cases.py: sides in the order of their keys or nearly, narrow and wide
columns, NULL keys, skew, few matches, repeated keys. They are timed as compare_joins.py says.
"""

from compare_joins import compare, options_of


def main():
    options = options_of(__doc__)
    from join_cases import rows_and_checksum
    from shape_cases import all_shapes

    compare(options, ("gpujoin", "duckdb", "polars"), all_shapes(options.scale), rows_and_checksum)


if __name__ == "__main__":
    main()
