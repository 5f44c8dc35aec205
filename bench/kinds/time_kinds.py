#!/usr/bin/env python3
"""Times every kind of join on a GPU beside the inner join of the same rows, and checks every row.

    GPUJOIN_LIBRARY=build/dev/libgpujoin.so bench/kinds/time_kinds.py [--log2-rows 27] [--calls 7]
        [--commit TEXT] [--output bench/results/DATE-COMMIT-kinds.json]

Needs CuPy. Left keys are unique, in random order; right keys are drawn from as many. `match`: the
share of left keys that lie where right ones are drawn. Output: row numbers, or two columns of 4
bytes a side. Times are the median of the calls, by two events on the context's stream, planning and
execution from device memory to device memory.
"""

import pathlib
import sys

import cupy as cp

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from on_gpu import FETCH_COLUMN, KINDS, NO_ROW, Session, Values, _abi, expect, options_of, write  # noqa: E402

# Each as the inner join of the same rows, but with a policy; NOT IN is anti where no key is NULL.
TIMED = [name for name in KINDS if not name.endswith(("not_in", "single")) and name != "cross"]
MARK = "mark"


def sides_of(kind):
    """Which sides come out."""
    return tuple(side in KINDS[kind].sides for side in ("left", "right"))


class Truth:
    """What each kind has to put out of two key columns, the left one's unique."""

    def __init__(self, left, right):
        row_of_key = cp.full(int(max(left.max(), right.max())) + 1, NO_ROW, cp.uint32)
        row_of_key[left] = cp.arange(len(left), dtype=cp.uint32)
        self.left_of_right = row_of_key[right]  # the left row of each right row, or none
        self.right_matches = self.left_of_right != NO_ROW
        self.left_matches = cp.zeros(len(left), bool)
        self.left_matches[self.left_of_right[self.right_matches]] = True

    def check(self, kind, left, right, mark):
        """left, right: row numbers of the answer, None for a side that does not come out."""
        if left is not None and right is not None:
            self._check_pairs(kind, left, right)
            return
        rows = left if left is not None else right
        matches = self.left_matches if left is not None else self.right_matches
        if kind.endswith(MARK):
            expect(bool((mark == matches[rows]).all()), "a mark is wrong")
            matches = cp.ones(len(matches), bool)
        wanted = ~matches if kind.endswith("anti") else matches
        seen = cp.bincount(rows.astype(cp.int64), minlength=len(matches))
        expect(bool((seen == wanted).all()), "rows are missing, too many, or others")

    def _check_pairs(self, kind, left, right):
        lone_left, lone_right = right == NO_ROW, left == NO_ROW
        paired = ~(lone_left | lone_right)
        expect(bool((self.left_of_right[right[paired]] == left[paired]).all()), "no pair")
        self._check_once(right[paired], self.right_matches)
        none = cp.zeros(1, bool)
        outer_left, outer_right = kind in ("left", "full"), kind in ("right", "full")
        self._check_once(left[lone_left], ~self.left_matches if outer_left else none)
        self._check_once(right[lone_right], ~self.right_matches if outer_right else none)

    @staticmethod
    def _check_once(rows, wanted):
        seen = cp.bincount(rows.astype(cp.int64), minlength=len(wanted))
        expect(bool((seen == wanted).all()), "rows are missing, too many, or others")


def check(session, result, kind, with_columns, truth, payloads):
    """The second column of each side says its row."""
    rows, column = [], 0
    for side, comes in enumerate(sides_of(kind)):
        if not comes:
            rows.append(None)
        elif with_columns:
            keys, _ = session.fetch(result, FETCH_COLUMN, column)
            numbers, valid = session.fetch(result, FETCH_COLUMN, column + 1)
            same = payloads[side].view(cp.uint32)[numbers[valid]] == keys[valid]
            expect(bool(same.all()), "a key and a payload are of different rows")
            rows.append(cp.where(valid, numbers, NO_ROW).astype(cp.uint32))
            column += 2
        else:
            what = _abi.FETCH_RIGHT_INDEX if side else _abi.FETCH_LEFT_INDEX
            rows.append(session.fetch(result, what, 0)[0])
    mark = None
    if kind.endswith(MARK):
        mark, valid = session.fetch(result, FETCH_COLUMN, column, width=0)
        expect(bool(valid.all()), "a mark is NULL")
    truth.check(kind, *rows, mark)


def main():
    options = options_of(__doc__, log2_rows=27, calls=7)
    count = 1 << options.log2_rows
    session = Session()
    cp.random.seed(1)
    benchmarks = []
    for match in (1.0, 0.5):
        left_key = cp.random.permutation(count).astype(cp.int32)
        right_key = cp.random.randint(0, count, count, dtype=cp.int64).astype(cp.int32)
        if match < 1:
            left_key = cp.where(left_key % 2 == 0, left_key, left_key + count).astype(cp.int32)
        numbers = cp.arange(count, dtype=cp.int32)
        cp.cuda.Device().synchronize()
        left, right = (
            session.relate([Values(key), Values(numbers)]) for key in (left_key, right_key)
        )
        truth = Truth(left_key, right_key)
        for with_columns in (False, True):
            inner = None
            for kind in TIMED:
                payloads = (left_key, right_key)
                columns = [(0, 1) if with_columns and comes else () for comes in sides_of(kind)]
                figures = session.measure(
                    lambda: session.join(left, right, KINDS[kind].number, (0,), *columns),
                    options.calls,
                    lambda result: check(session, result, kind, with_columns, truth, payloads),
                )
                inner = inner or figures["ms"]
                figures = {
                    "kind": kind,
                    "match": match,
                    "output": "columns" if with_columns else "pairs",
                    "of_inner": round(figures["ms"] / inner, 3),
                    **figures,
                }
                benchmarks.append(figures)
                print(
                    f"{match:4} {figures['output']:7} {kind:10} {figures['ms']:8.3f} ms "
                    f"{figures['of_inner']:6.3f} of inner  {figures['rows']:>10} rows",
                    flush=True,
                )
        left.close(), right.close()
        del truth, left_key, right_key, numbers, payloads
        session.trim()
    # It outlives nothing of what it works on.
    session.context.close()
    write(options, rows=count, kinds=benchmarks)


if __name__ == "__main__":
    main()
