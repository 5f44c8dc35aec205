#!/usr/bin/env python3
"""Times joins with a residual on a GPU beside the same joins without one, and checks every row.

    GPUJOIN_LIBRARY=build/dev/libgpujoin.so bench/conditions/time_residuals.py [--log2-rows 25]
        [--calls 7] [--commit TEXT] [--output bench/results/DATE-COMMIT-residuals.json]

Needs CuPy. Both sides have each of their keys in four rows, in random order, and a random value of 4
bytes; the residual is left.value < right.value, of which `share` of all pairs with equal keys are
true. Output: row numbers. Times are the median of the calls, by two events on the context's stream,
planning and execution from device memory to device memory.
"""

import ctypes
import pathlib
import sys

import cupy as cp

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from on_gpu import Session, Values, _abi, expect, options_of, write  # noqa: E402

ROWS_A_KEY = 4
INNER, LEFT, SEMI, ANTI = 1, 2, 5, 7
NAMES = {INNER: "inner", LEFT: "left", SEMI: "left_semi", ANTI: "left_anti"}
COLUMN, LESS = 1, 5


def is_less():
    """left.value < right.value"""
    nodes = (_abi.Node * 3)()
    for node, (operation, arguments, side) in zip(
        nodes, ((COLUMN, 0, "left"), (COLUMN, 0, "right"), (LESS, 2, "auto"))
    ):
        node.struct_size = ctypes.sizeof(_abi.Node)
        node.operation, node.argument_count = operation, arguments
        node.side, node.column = _abi.SIDES[side], 0 if arguments else 1
    return _abi.Condition(node_count=3, nodes=nodes)


class Truth:
    """What each kind has to put out: the four rows of a key lie side by side once sorted."""

    def __init__(self, left, right):
        self.left, self.right = left, right
        orders = [cp.argsort(key).astype(cp.uint32) for key, _ in (left, right)]
        by_key = [value[order].reshape(-1, ROWS_A_KEY) for (_, value), order in zip((left, right), orders)]
        less = [
            (by_key[0][:, i] < by_key[1][:, j]) for i in range(ROWS_A_KEY) for j in range(ROWS_A_KEY)
        ]
        self.pairs = int(sum(int(one.sum()) for one in less))
        has = cp.stack(
            [sum(less[i * ROWS_A_KEY : (i + 1) * ROWS_A_KEY]) > 0 for i in range(ROWS_A_KEY)], axis=1
        )
        self.matched = cp.empty(len(left[0]), bool)
        self.matched[orders[0]] = has.reshape(-1)

    def check(self, kind, has_residual, left, right):
        if kind in (SEMI, ANTI):
            wanted = self.matched if kind == SEMI else ~self.matched
            seen = cp.bincount(left.astype(cp.int64), minlength=len(wanted))
            expect(bool((seen == wanted).all()), "rows are missing, too many, or others")
            return
        paired = right != cp.uint32(0xFFFFFFFF)
        count = int(paired.sum())
        wanted = self.pairs if has_residual else len(self.left[0]) * ROWS_A_KEY
        expect(count == wanted, f"{count} pairs, not {wanted}")
        l, r = left[paired], right[paired]
        expect(bool((self.left[0][l] == self.right[0][r]).all()), "keys differ")
        if has_residual:
            expect(bool((self.left[1][l] < self.right[1][r]).all()), "the residual is not true")
        codes = (l.astype(cp.uint64) << 32) | r
        codes.sort()
        expect(bool((codes[1:] != codes[:-1]).all()), "a pair comes twice")
        lone = left[~paired]
        expect(
            kind != LEFT or bool((cp.bincount(lone, minlength=len(self.matched)) == ~self.matched).all()),
            "rows without a match are missing, or others",
        )


def main():
    options = options_of(__doc__, log2_rows=25, calls=7)
    count = 1 << options.log2_rows
    session = Session()
    cp.random.seed(1)
    benchmarks = []
    for share in (0.5, 0.05):
        sides = []
        for side in range(2):
            key = cp.random.permutation(count).astype(cp.int32) // ROWS_A_KEY
            value = cp.random.randint(0, 1 << 30, count, dtype=cp.int64).astype(cp.int32)
            # With a share of 0.05 most left values are above all right ones.
            if side == 0 and share < 0.5:
                high = cp.random.rand(count, dtype=cp.float32) >= 2 * share
                value = cp.where(high, value + (1 << 30), value).astype(cp.int32)
            sides.append((key, value))
        truth = Truth(*sides)
        left, right = (session.relate([Values(key), Values(value)]) for key, value in sides)
        for kind in (INNER, LEFT, SEMI, ANTI):
            for has_residual in (False, True):
                if not has_residual and kind in (SEMI, ANTI, LEFT):
                    continue
                fields = {"residual": ctypes.pointer(is_less())} if has_residual else {}

                def check(result, kind=kind, has_residual=has_residual):
                    if kind in (SEMI, ANTI):
                        rows = session.fetch(result, _abi.FETCH_LEFT_INDEX, 0)[0], None
                    else:
                        rows = session.pairs(result)
                    truth.check(kind, has_residual, *rows)

                figures = session.measure(
                    lambda kind=kind, fields=fields: session.join(left, right, kind, **fields),
                    options.calls,
                    check,
                )
                figures = {
                    "kind": NAMES[kind],
                    "share": share,
                    "residual": has_residual,
                    **figures,
                }
                benchmarks.append(figures)
                print(
                    f"{share:4} {figures['kind']:10} {'residual' if has_residual else '        '} "
                    f"{figures['ms']:8.3f} ms {figures['rows']:>10} rows  {figures['plan']}  "
                    f"{figures['stages']}",
                    flush=True,
                )
        left.close(), right.close()
        del truth, sides
        session.trim()
    session.context.close()
    write(options, rows=count, residuals=benchmarks)


if __name__ == "__main__":
    main()
