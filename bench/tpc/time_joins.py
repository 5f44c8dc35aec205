#!/usr/bin/env python3
"""Times the joins of Wu, Koutsoukos, Alonso 2024, table 6, on a GPU: of generated TPC tables.

    GPUJOIN_LIBRARY=build/dev/libgpujoin.so bench/tpc/time_joins.py --tpch FOLDER --tpcds FOLDER
        [--joins J1 ...] [--calls 5] [--commit TEXT] [--output bench/results/DATE-COMMIT-figures-tpc.json]

Each folder has Parquet files, TABLE.parquet or TABLE/*.parquet; without a folder its joins are left
out. Needs CuPy and DuckDB, which reads the inputs. As in the paper text is encoded as numbers, rows
are shuffled, and columns and result lie on the device. Columns keep their NULLs. Keys, of other
tables too, have 4 bytes and other columns 8, then all have 8. Every first result is checked: its
rows, the sum of each column, and the sum of products of a column of either side.

--output has what scripts/report.py reads: wu/fig17-data/WIDTHS/PLAN/JOIN.
"""

import argparse
import dataclasses
import pathlib
import sys

import cupy as cp
import duckdb
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from on_gpu import FETCH_COLUMN, TYPE_INT32, TYPE_INT64, Session, Values, _abi, expect, words_of, write  # noqa: E402

SERIES = {"cuDF (NOP)": "nop", "SMJ-UM": "smj_um", "SMJ-OM": "smj_om", "PHJ-UM": "phj_um",
          "PHJ-OM": "phj_om", "AUTO": "auto"}
WIDTHS = {"4B keys 8B others": 4, "all 8B": 8}  # of keys
BUILD_LEFT = 1


@dataclasses.dataclass
class Side:
    """The join's key first; of the columns so many are keys, the others are not."""

    table: str
    columns: tuple
    keys: int
    where: str = "true"


# Q19 and Q7 as DuckDB pushes their conditions down; d_year = 1999 of Q64 by numbers of its days.
JOINS = {
    "J1": ("tpch", Side("orders", ("o_orderkey", "o_custkey"), 2),
           Side("lineitem", ("l_orderkey", "l_suppkey", "l_extendedprice", "l_discount", "l_shipdate"),
                2, "l_shipdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31'")),
    "J2": ("tpch", Side("orders", ("o_orderkey", "o_custkey", "o_orderdate", "o_totalprice"), 2),
           Side("lineitem", ("l_orderkey", "l_quantity"), 1)),
    "J3": ("tpch", Side("part", ("p_partkey", "p_brand", "p_size", "p_container"), 1),
           Side("lineitem", ("l_partkey", "l_quantity", "l_extendedprice", "l_discount"), 1,
                "l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON'")),
    "J4": ("tpcds", Side("customer_demographics", ("cd_demo_sk", "cd_marital_status"), 1),
           Side("store_sales",
                ("ss_cdemo_sk", "ss_item_sk", "ss_ticket_number", "ss_customer_sk", "ss_hdemo_sk",
                 "ss_addr_sk", "ss_store_sk", "ss_promo_sk", "ss_wholesale_cost", "ss_list_price",
                 "ss_coupon_amt"), 8, "ss_sold_date_sk BETWEEN 2451180 AND 2451544")),
    "J5": ("tpcds", Side("web_sales", ("ws_order_number", "ws_warehouse_sk"), 1),
           Side("web_sales", ("ws_order_number", "ws_warehouse_sk"), 1)),
}  # fmt: skip


def expression(column, type):
    """A whole number for each value, NULLs as they are."""
    if type == "VARCHAR":
        return f"(dense_rank() OVER (ORDER BY {column}))::BIGINT"
    if type == "DATE":
        return f"date_diff('day', DATE '1970-01-01', {column})::BIGINT"
    return f"({column} * 100)::BIGINT" if type.startswith("DECIMAL") else f"{column}::BIGINT"


def read(connection, folder, side):
    """Its columns as 8-byte numbers on the device, in random order, and where they are valid."""
    file = folder / f"{side.table}.parquet"
    source = f"read_parquet('{file if file.exists() else folder / side.table / '*.parquet'}')"
    types = dict(row[:2] for row in connection.execute(f"DESCRIBE FROM {source}").fetchall())
    wanted = ", ".join(f"{expression(c, types[c])} AS {c}" for c in side.columns)
    found = connection.execute(f"SELECT {wanted} FROM {source} WHERE {side.where}").fetchnumpy()
    order = cp.random.permutation(len(found[side.columns[0]]))
    columns = []
    for name in side.columns:
        values = found[name]
        has_nulls = isinstance(values, np.ma.MaskedArray) and values.mask.any()
        valid = cp.asarray(~values.mask)[order] if has_nulls else None
        numbers = cp.asarray(np.ma.getdata(values))[order]
        columns.append((numbers if valid is None else cp.where(valid, numbers, 0), valid))
    return columns


def as_values(columns, side, key_width):
    def one(number, values, valid):
        is_narrow = number < side.keys and key_width == 4
        data = values.astype(cp.int32) if is_narrow else values
        type = TYPE_INT32 if is_narrow else TYPE_INT64
        return Values(data, type, None if valid is None else words_of(valid))

    return [one(number, *column) for number, column in enumerate(columns)]


class Expected:
    """Of the join of two sides' columns, by counting keys; sums are modulo 2^64."""

    def __init__(self, left, right):
        keys = [self.valid(side[0]) for side in (left, right)]
        self.size = int(max(k.max() for k in keys)) + 1
        counts = [cp.bincount(k, minlength=self.size) for k in keys]
        self.rows = int((counts[0] * counts[1]).sum())
        self.sums = [self.of_keys(left, c, counts[1]) for c in range(len(left))]
        # The key of both sides comes out once.
        self.sums += [self.of_keys(right, c, counts[0]) for c in range(1, len(right))]
        totals = [self.totals(side, len(side) - 1) for side in (left, right)]
        self.product = int((totals[0] * totals[1]).sum())

    @staticmethod
    def valid(column):
        values, valid = column
        return values if valid is None else values[valid]

    def of_keys(self, side, column, weights):
        (keys, valid), values = side[0], side[column][0]
        weight = weights[keys] if valid is None else weights[keys] * valid
        return int((values * weight).sum())

    def totals(self, side, column):
        """Of each key, 0 where it is NULL, which no row of the other side has."""
        totals = cp.zeros(self.size, cp.uint64)
        cp.add.at(totals, side[0][0], side[column][0].view(cp.uint64))
        return totals.view(cp.int64)

    def check(self, session, result, widths, left_columns):
        found = []
        for number, width in enumerate(widths):
            values, valid = session.fetch(result, FETCH_COLUMN, number, width)
            values = values.view(cp.int32 if width == 4 else cp.int64)
            expect(len(values) == self.rows, f"{len(values)} rows, and not {self.rows}")
            values = values if bool(valid.all()) else cp.where(valid, values, 0)
            found.append(int(values.sum(dtype=cp.int64)))
            if number == left_columns - 1:
                last_of_left = values.astype(cp.int64)
        expect(found == self.sums, f"sums {found}, and not {self.sums}")
        product = int((last_of_left * values.astype(cp.int64)).sum())
        expect(product == self.product, "other pairs")


def measure(session, name, sides, columns, calls):
    """An entry for each plan and width of keys."""
    expected = Expected(*columns)
    rows = sum(len(side[0][0]) for side in columns)
    for label, key_width in WIDTHS.items():
        values = [as_values(c, side, key_width) for c, side in zip(columns, sides)]
        left, right = (session.relate(v) for v in values)
        left_columns, right_columns = (range(len(v)) for v in values)
        out = [*values[0], *values[1][1:]]
        widths = [4 if v.type == TYPE_INT32 else 8 for v in out]
        for series, algorithm in SERIES.items():
            side = BUILD_LEFT if algorithm != "auto" else 0
            plan = _abi.PlanOptions(algorithm=_abi.ALGORITHMS[algorithm], build_side=side)
            fields = {"left_columns": left_columns, "right_columns": right_columns[1:], "plan": plan}
            figures = session.measure(
                lambda: session.join(left, right, **fields), calls,
                lambda result: expected.check(session, result, widths, len(values[0])))
            yield {
                "name": f"wu/fig17-data/{label}/{series}/{name}/iterations:1/manual_time",
                "real_time": figures["ms"], "time_unit": "ms", "x": int(name[1:]),
                "spread": figures["spread"], "left_rows": len(columns[0][0][0]), "right_rows": len(columns[1][0][0]),
                "output_rows": figures["rows"], "rows_per_second": rows / figures["ms"] * 1e3,
                **{f"ms_{stage}": ms for stage, ms in figures["stages"].items()},
                "label": figures["plan"],
            }
            session.trim()
        left.close(), right.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tpch", type=pathlib.Path)
    parser.add_argument("--tpcds", type=pathlib.Path)
    parser.add_argument("--joins", nargs="*", default=list(JOINS), choices=list(JOINS))
    parser.add_argument("--calls", type=int, default=5)
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    session, connection, entries = Session(), duckdb.connect(), []
    cp.random.seed(1)
    for name, (suite, left, right) in JOINS.items():
        folder = getattr(options, suite)
        if folder is None or name not in options.joins:
            continue
        columns = [read(connection, folder, side) for side in (left, right)]
        for entry in measure(session, name, (left, right), columns, options.calls):
            print(f"{entry['name']:60} {entry['left_rows']:>9} x {entry['right_rows']:>9} -> "
                  f"{entry['output_rows']:>9} rows {entry['real_time']:8.3f} ms", flush=True)
            entries.append(entry)
        del columns
        session.trim()
    session.context.close()  # before CuPy's stream goes
    write(options, benchmarks=entries)


if __name__ == "__main__":
    main()
