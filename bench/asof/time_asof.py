#!/usr/bin/env python3
"""Times ASOF joins on a GPU beside CUB's sort of both sides, and checks every row.

    GPUJOIN_LIBRARY=build/dev/libgpujoin.so bench/asof/time_asof.py [--calls 5] [--shrink 0]
        [--commit TEXT] [--output bench/results/DATE-COMMIT-asof.json]

Needs CuPy and nvcc. Places are int64, drawn from 2^40 of them, or from 2^62; keys are int32. Output:
row numbers. Times are the median of the calls, by two events on the context's stream, planning and
execution from device memory to device memory. sort_ms: cub::DeviceRadixSort::SortPairs of 8-byte
keys and 4-byte row numbers of each side, by all 64 bits. --shrink: the rows are halved so often.
"""

import ctypes
import pathlib
import subprocess
import sys
import tempfile

import cupy as cp

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from on_gpu import TYPE_INT32, TYPE_INT64, Session, Values, _abi, expect, options_of, write  # noqa: E402

BACKWARD, FORWARD, NEAREST, STRICT, TOLERANCE = 1, 2, 3, 1, 2
WITHIN = 1 << 14

# order: of the rows; by time, and with keys by time whatever the key. bits: of places.
CASES = [
    {"order": "sorted"},
    {"order": "sorted", "direction": NEAREST, "flags": STRICT | TOLERANCE},
    {"order": "sorted", "direction": FORWARD},
    {"order": "any"},
    {"order": "any", "bits": 62},
    {"order": "any", "keys": 1000},
    {"order": "any", "keys": 1 << 20},
    {"order": "sorted", "keys": 1000},
    {"order": "any", "keys": 1000, "direction": NEAREST},
]


def sorter(folder):
    """sort_pairs.cu, built."""
    library = pathlib.Path(folder) / "sort_pairs.so"
    source = pathlib.Path(__file__).with_name("sort_pairs.cu")
    arguments = ["-O3", "-std=c++17", "-arch=native", "-shared", "-Xcompiler=-fPIC"]
    subprocess.run(["nvcc", *arguments, "-o", library, source], check=True)
    return ctypes.CDLL(str(library)).sort_pairs


def sort_ms(session, sort, sides, calls):
    """Milliseconds for both sides."""
    best = []
    for rows in sides:
        keys = cp.random.randint(0, 1 << 62, rows, cp.int64).view(cp.uint64)
        numbers = cp.arange(rows, dtype=cp.uint32)
        keys_out, numbers_out = cp.empty_like(keys), cp.empty_like(numbers)
        arrays = [ctypes.c_void_p(a.data.ptr) for a in (keys, keys_out, numbers, numbers_out)]
        bytes_, stream = ctypes.c_size_t(), ctypes.c_void_p(session.stream.ptr)
        count = ctypes.c_uint32(rows)
        expect(sort(None, ctypes.byref(bytes_), *arrays, count, 64, stream) == 0, "sizing a sort")
        storage = cp.empty(bytes_.value, cp.uint8)
        cp.cuda.Device().synchronize()
        times = []
        for _ in range(calls + 2):
            start, end = cp.cuda.Event(), cp.cuda.Event()
            start.record(session.stream)
            place = ctypes.c_void_p(storage.data.ptr)
            expect(sort(place, ctypes.byref(bytes_), *arrays, count, 64, stream) == 0, "a sort")
            end.record(session.stream)
            end.synchronize()
            times.append(cp.cuda.get_elapsed_time(start, end))
        best.append(sorted(times[2:])[calls // 2])
    return round(sum(best), 4)


class Side:
    def __init__(self, rows, case):
        self.places = cp.random.randint(0, 1 << case.get("bits", 40), rows, cp.int64)
        if case["order"] == "sorted":
            self.places.sort()
        self.keys = cp.zeros(rows, cp.int32)
        if "keys" in case:
            self.keys = cp.random.randint(0, case["keys"], rows, cp.int32)
        self.values = [Values(self.places, TYPE_INT64), Values(self.keys, TYPE_INT32)]


def neighbours(left, right, is_strict):
    """The places before and after each left row, and whether there are any."""
    # By one key and the place: both together have 62 bits at most.
    shift = max(int(max(left.places.max(), right.places.max())).bit_length(), 1)
    packed = [(side.keys.astype(cp.int64) << shift) | side.places for side in (left, right)]
    ordered = cp.sort(packed[1])
    before = cp.searchsorted(ordered, packed[0], "left" if is_strict else "right") - 1
    after = cp.searchsorted(ordered, packed[0], "right" if is_strict else "left")
    found = []
    for places in (before, after):
        inside = cp.clip(places, 0, len(ordered) - 1)
        has = (places == inside) & (ordered[inside] >> shift == left.keys)
        found.append((ordered[inside] & ((1 << shift) - 1), has))
    return found


def check(session, case, left, right, result):
    left_rows, right_rows = session.pairs(result)
    expect(bool((cp.bincount(left_rows) <= 1).all()), "a left row comes twice")
    direction, flags = case.get("direction", BACKWARD), case.get("flags", 0)
    (low, has_low), (high, has_high) = neighbours(left, right, bool(flags & STRICT))
    if flags & TOLERANCE:
        has_low &= left.places - low <= WITHIN
        has_high &= high - left.places <= WITHIN
    if direction == BACKWARD:
        has_high[:] = False
    if direction == FORWARD:
        has_low[:] = False
    nearer = has_high & (~has_low | (high - left.places < left.places - low))
    expect(len(left_rows) == int((has_low | has_high).sum()), "rows are missing or too many")
    wanted = cp.where(nearer, high, low)[left_rows]
    expect(bool((right.places[right_rows] == wanted).all()), "another place")
    expect(bool((right.keys[right_rows] == left.keys[left_rows]).all()), "another key")
    # Of equal places the last row, or the first: sides in order lie so.
    if case["order"] == "sorted" and "keys" not in case:
        step = cp.where(nearer[left_rows], -1, 1)
        beside = right_rows.astype(cp.int64) + step
        inside = cp.clip(beside, 0, len(right.places) - 1)
        same = (beside == inside) & (right.places[inside] == wanted)
        expect(not bool(same.any()), "another row of the same place")


def main():
    options = options_of(__doc__, shrink=0, calls=5)
    session, measured = Session(), []
    cp.random.seed(1)
    with tempfile.TemporaryDirectory() as folder:
        sort = sorter(folder)
        for logs in ((25, 27), (27, 25)):
            rows = [1 << (log - options.shrink) for log in logs]
            sorted_in = sort_ms(session, sort, rows, options.calls)
            print(f"{logs}: cub sorts both in {sorted_in} ms", flush=True)
            for case in CASES:
                left, right = (Side(count, case) for count in rows)
                relations = [session.relate(side.values) for side in (left, right)]
                asof = _abi.Asof(direction=case.get("direction", BACKWARD))
                asof.flags = case.get("flags", 0)
                asof.tolerance = WITHIN if asof.flags & TOLERANCE else 0
                fields = {"asof": ctypes.pointer(asof)}
                keys = (1,) if "keys" in case else ()
                figures = session.measure(
                    lambda: session.join(*relations, keys=keys, **fields),
                    options.calls,
                    lambda result: check(session, case, left, right, result),
                )
                figures = {"left": rows[0], "right": rows[1], **case, "sort_ms": sorted_in, **figures}
                print(figures, flush=True)
                measured.append(figures)
                for relation in relations:
                    relation.close()
                del left, right
                session.trim()
    session.context.close()  # before its stream
    write(options, joins=measured)


if __name__ == "__main__":
    main()
