#!/usr/bin/env python3
"""Times aggregates over a join and joins of selections on a GPU, beside the join that writes rows.

    GPUJOIN_LIBRARY=build/dev/libgpujoin.so bench/queries/time_queries.py [--log2-build 27]
        [--log2-probe 27] [--calls 7] [--commit TEXT] [--output bench/results/DATE-COMMIT-queries.json]

Needs CuPy. Left has each of its int32 keys once, in random order, right keys drawn from them; each
side has a random int32 value. Rows: the key and both values. Selections: bitmaps of random rows, and
the same rows by number. Every answer is checked. Times are the median of the calls, by two events on
the context's stream, planning and execution from device memory to device memory.
"""

import ctypes
import pathlib
import sys

import cupy as cp

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from on_gpu import FETCH_COLUMN, Session, Values, _abi, expect, options_of, rows_of, words_of, write  # noqa: E402

COUNT_ROWS, SUM = 1, 3
LEFT, RIGHT = _abi.SIDES["left"], _abi.SIDES["right"]
BITMAP, ROWS = 1, 2
KEY, VALUE = 0, 1


def aggregates(*wanted):
    """Of (function, side, column) each, as fields of a specification."""
    described = (_abi.Aggregate * len(wanted))()
    for aggregate, (function, side, column) in zip(described, wanted):
        aggregate.struct_size = ctypes.sizeof(_abi.Aggregate)
        aggregate.function, aggregate.side, aggregate.column = function, side, column
    return {"aggregates": described, "aggregate_count": len(wanted)}


def selected(session, relation, data, form, count):
    selection = _abi.Selection(form=form, data=data.data.ptr, memory=2)
    if form == ROWS:
        selection.count, selection.type = count, _abi.TYPE_UINT32
    cp.cuda.Device().synchronize()
    made = _abi.Handle("relation")
    _abi.invoke("relation_select", relation, ctypes.byref(selection), made.out)
    return made


class Data:
    def __init__(self, build_rows, probe_rows):
        self.left = cp.random.permutation(build_rows).astype(cp.int32), self.values(build_rows)
        self.right = cp.random.randint(0, build_rows, probe_rows, dtype=cp.int32), self.values(probe_rows)
        self.row_of_key = cp.empty(build_rows, cp.uint32)
        self.row_of_key[self.left[KEY]] = cp.arange(build_rows, dtype=cp.uint32)

    @staticmethod
    def values(rows):
        return cp.random.randint(-(1 << 30), 1 << 30, rows, dtype=cp.int64).astype(cp.int32)

    def check_rows(self, session, result, left_bits=None, right_bits=None):
        rows = cp.ones(len(self.right[KEY]), bool)
        if left_bits is not None:
            rows = left_bits[self.row_of_key[self.right[KEY]]] & right_bits
        wanted = cp.flatnonzero(rows)
        expect(rows_of(result) == len(wanted), "rows are missing, or too many")
        columns = [session.fetch(result, FETCH_COLUMN, c)[0].view(cp.int32) for c in range(3)]
        values = self.left[VALUE][self.row_of_key[columns[0]]]
        expect(bool((values == columns[1]).all()), "another value of the left row")

        def total(keys, of_right):
            return int((keys.astype(cp.int64) * (of_right.astype(cp.int64) + (1 << 31))).sum())

        same = total(columns[0], columns[2]) == total(self.right[KEY][wanted], self.right[VALUE][wanted])
        expect(same, "other rows")

    def check_all(self, session, result, sides):
        found = [int(session.fetch(result, FETCH_COLUMN, c, 8)[0].view(cp.int64)[0]) for c in range(1 + len(sides))]
        matched = self.row_of_key[self.right[KEY]]
        sums = {LEFT: self.left[VALUE][matched], RIGHT: self.right[VALUE]}
        wanted = [len(self.right[KEY])] + [int(sums[side].astype(cp.int64).sum()) for side in sides]
        expect(found == wanted, f"{found}, and not {wanted}")

    def check_groups(self, session, result):
        keys = session.fetch(result, FETCH_COLUMN, 0)[0]
        counts, sums = (session.fetch(result, FETCH_COLUMN, c, 8)[0].view(cp.int64) for c in (1, 2))
        wanted_counts = cp.bincount(self.right[KEY], minlength=len(self.left[KEY]))
        wanted_sums = cp.zeros(len(self.left[KEY]), cp.uint64)
        cp.add.at(wanted_sums, self.right[KEY], self.right[VALUE].astype(cp.int64).view(cp.uint64))
        expect(len(keys) == int((wanted_counts != 0).sum()), "groups are missing, or too many")
        expect(bool((cp.bincount(keys) <= 1).all()), "a group comes twice")
        expect(bool((counts == wanted_counts[keys]).all()), "another count")
        expect(bool((sums == wanted_sums.view(cp.int64)[keys]).all()), "another sum")


def main():
    options = options_of(__doc__, log2_build=27, log2_probe=27, calls=7)
    session, measured = Session(), []
    cp.random.seed(1)
    data = Data(1 << options.log2_build, 1 << options.log2_probe)
    left, right = (session.relate([Values(values) for values in side]) for side in (data.left, data.right))
    columns = {"left_columns": (KEY, VALUE), "right_columns": (VALUE,)}

    def measure(name, sides, fields, check):
        figures = session.measure(lambda: session.join(*sides, **fields), options.calls, check)
        measured.append({"query": name, **figures})
        share = figures["ms"] / measured[0]["ms"]
        print(f"{name:28} {figures['ms']:8.3f} ms {share:6.3f} {figures['rows']:>10} rows  "
              f"{figures['plan']}  {figures['stages']}", flush=True)

    both = left, right
    measure("rows", both, columns, lambda result: data.check_rows(session, result))
    of_right, of_left = (SUM, RIGHT, VALUE), (SUM, LEFT, VALUE)
    for name, sums in (("count", ()), ("count, sum", (of_right,)), ("count, both sums", (of_right, of_left))):
        fields = aggregates((COUNT_ROWS, 0, 0), *sums)
        sides = [side for _, side, _ in sums]
        measure(name, both, fields, lambda result: data.check_all(session, result, sides))
    fields = {**aggregates((COUNT_ROWS, 0, 0), of_right), "group_side": LEFT, "left_columns": (KEY,)}
    measure("by left row: count, sum", both, fields, lambda result: data.check_groups(session, result))
    for percent in (10, 30):
        bits = [cp.random.rand(len(side[KEY]), dtype=cp.float32) < percent / 100 for side in (data.left, data.right)]
        for form in (BITMAP, ROWS):
            picked = [words_of(b) if form == BITMAP else cp.flatnonzero(b).astype(cp.uint32) for b in bits]
            sides = [selected(session, side, p, form, len(p)) for side, p in zip(both, picked)]
            name = f"{percent} % by {'bits' if form == BITMAP else 'numbers'}"
            measure(name, sides, columns, lambda result: data.check_rows(session, result, *bits))
            for side in sides:
                side.close()
    left.close(), right.close()
    session.context.close()
    write(options, queries=measured)


if __name__ == "__main__":
    main()
