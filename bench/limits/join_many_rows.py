#!/usr/bin/env python3
"""Joins more than 2^31 rows a side to more than 2^32 pairs on a GPU, and checks every pair.

    GPUJOIN_LIBRARY=build/dev/libgpujoin.so bench/limits/join_many_rows.py [--rows 2148000000]
        [--commit TEXT] [--output bench/results/DATE-COMMIT-limits.json]

Needs CuPy and a GPU of 140 GB. Left and right row i have the key (i * 5) % keys and (i * 3) % keys,
where half as many keys as rows are there: each key comes two or three times on either side.
"""

import ctypes
import pathlib
import sys
import time

import cupy as cp

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from on_gpu import Session, Values, _abi, expect, options_of, rows_of, stages_of, write  # noqa: E402

PIECE = 1 << 26


def keys_of(rows, factor, keys):
    made = cp.empty(rows, cp.uint32)
    for first in range(0, rows, PIECE):
        numbers = cp.arange(first, min(first + PIECE, rows), dtype=cp.uint64)
        made[first : first + PIECE] = (numbers * factor % keys).astype(cp.uint32)
    return made


def check(session, result, left, right, expected):
    """Each pair has equal keys; the sums of both sides' row numbers, each taken as often as its key
    comes on the other side, are those of all pairs."""
    rows = rows_of(result)
    expect(rows == expected["pairs"], f"{rows} pairs, and there are {expected['pairs']}")
    page = _abi.Page(max_rows=PIECE)
    sums = [0, 0]
    buffers = [cp.empty(PIECE, cp.uint32) for _ in range(2)]
    while True:
        fetches = (_abi.Fetch * 2)()
        for fetch, what, buffer in zip(
            fetches, (_abi.FETCH_LEFT_INDEX, _abi.FETCH_RIGHT_INDEX), buffers
        ):
            fetch.struct_size = ctypes.sizeof(_abi.Fetch)
            fetch.what, fetch.type, fetch.memory = what, _abi.TYPE_UINT32, 2
            fetch.data, fetch.data_bytes = buffer.data.ptr, buffer.nbytes
        _abi.invoke("result_fetch", result, ctypes.byref(page), fetches, 2)
        if page.rows == 0:
            break
        left_rows, right_rows = (buffer[: page.rows] for buffer in buffers)
        expect(bool((left[left_rows] == right[right_rows]).all()), "keys of a pair differ")
        for side, numbers in enumerate((left_rows, right_rows)):
            sums[side] += int(numbers.astype(cp.uint64).sum())
    expect(sums == expected["sums"], "pairs are missing, and others are twice there")


def expectation(left, right, keys):
    """Of pairs, by how often each key comes."""
    counts = []
    for column in (left, right):
        count = cp.zeros(keys, cp.uint8)
        for first in range(0, len(column), PIECE):
            part = cp.bincount(column[first : first + PIECE].astype(cp.int64), minlength=1)
            count[: len(part)] += part.astype(cp.uint8)
            del part
        counts.append(count)
    pairs, sums = 0, []
    for first in range(0, keys, PIECE):
        piece = slice(first, first + PIECE)
        pairs += int((counts[0][piece].astype(cp.uint64) * counts[1][piece]).sum())
    for column, other in ((left, counts[1]), (right, counts[0])):
        total = 0
        for first in range(0, len(column), PIECE):
            numbers = cp.arange(first, min(first + PIECE, len(column)), dtype=cp.uint64)
            total += int((numbers * other[column[first : first + PIECE]]).sum())
        sums.append(total)
    return {"pairs": pairs, "sums": sums}


def main():
    options = options_of(__doc__, rows=2148000000)
    keys = options.rows // 2 - 1
    left, right = keys_of(options.rows, 5, keys), keys_of(options.rows, 3, keys)
    expected = expectation(left, right, keys)
    cp.get_default_memory_pool().free_all_blocks()
    print(f"{options.rows} rows a side, {expected['pairs']} pairs expected", flush=True)
    session = Session()
    relations = [session.relate([Values(column, 7)]) for column in (left, right)]  # UINT32
    cp.cuda.Device().synchronize()
    start = time.perf_counter()
    result = session.join(*relations)
    session.stream.synchronize()
    seconds = time.perf_counter() - start
    plan, stages = stages_of(result)
    print(f"{rows_of(result)} pairs in {seconds * 1e3:.1f} ms by {plan}", flush=True)
    check(session, result, left, right, expected)
    print("every pair checked")
    figures = {"rows": options.rows, "pairs": rows_of(result), "ms": round(seconds * 1e3, 1)}
    for handle in (result, *relations, session.context):
        handle.close()
    write(options, **figures, plan=plan, stages=stages)


if __name__ == "__main__":
    main()
