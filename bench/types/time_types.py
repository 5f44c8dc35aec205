#!/usr/bin/env python3
"""Times joins on a GPU by what lies in their columns: NULLs and text; checks every row.

    GPUJOIN_LIBRARY=build/dev/libgpujoin.so bench/types/time_types.py [--scale 0] [--calls 7]
        [--commit TEXT] [--output bench/results/DATE-COMMIT-types.json]

Needs CuPy. Left keys are unique, in random order; each right key is one of them, drawn. `nulls`: so
many of a hundred are NULL, drawn. `of`: times the same join without NULLs. Text has 18 characters.
Times are the median of the calls, by two events on the context's stream, planning and execution
from device memory to device memory. --scale -7: a hundredth of the rows.
"""

import pathlib
import sys

import cupy as cp

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from on_gpu import (  # noqa: E402
    FETCH_COLUMN,
    TYPE_INT64,
    TYPE_UTF8,
    Session,
    Values,
    _abi,
    expect,
    options_of,
    rows_of,
    spread_keys,
    words_of,
    write,
)

TEXT_BYTES = 18


def keep(rows, nulls):
    """Which rows are not NULL."""
    return cp.random.random(rows, dtype=cp.float32) >= nulls / 100


def texts(numbers):
    """18 digits a number."""
    data = cp.empty((len(numbers), TEXT_BYTES), cp.uint8)
    left = numbers.astype(cp.uint64) * cp.uint64(7919)
    for place in range(TEXT_BYTES - 1, -1, -1):
        data[:, place] = (left % 10 + 48).astype(cp.uint8)
        left //= 10
    offsets = cp.arange(len(numbers) + 1, dtype=cp.int64) * TEXT_BYTES
    return Values(data.reshape(-1), TYPE_UTF8, offsets=offsets.astype(cp.int32))


class Sides:
    """Numbers of the keys of both sides, and the left row of each right one."""

    def __init__(self, left_rows, right_rows):
        self.left = cp.random.permutation(left_rows)
        row_of = cp.empty(left_rows, cp.int64)
        row_of[self.left] = cp.arange(left_rows)
        self.right = cp.random.randint(0, left_rows, right_rows)
        self.left_of_right = row_of[self.right].astype(cp.uint32)

    def matches(self, left_valid=None, right_valid=None):
        found = cp.ones(len(self.right), bool)
        if left_valid is not None:
            found &= left_valid[self.left_of_right]
        if right_valid is not None:
            found &= right_valid
        return found


def check_rows(sides, matches, left_rows, right_rows):
    """Of an inner join: each right row with a match once, with its left row."""
    expect(bool((sides.left_of_right[right_rows] == left_rows).all()), "no pair")
    seen = cp.bincount(right_rows.astype(cp.int64), minlength=len(matches))
    expect(bool((seen == matches).all()), "rows are missing, or too many")


class Bench:
    def __init__(self, calls):
        self.session, self.calls, self.figures = Session(), calls, []

    def add(self, name, make_result, check, of=None):
        figures = {"join": name, **self.session.measure(make_result, self.calls, check)}
        if of is not None:
            figures["of"] = round(figures["ms"] / of["ms"], 3)
        self.figures.append(figures)
        beside = f" {figures['of']:6.3f} of without" if of else ""
        print(f"{name:48} {figures['ms']:8.3f} ms{beside}  {figures['rows']:>11} rows", flush=True)
        return figures

    def nulls_in_keys(self, name, rows, sparse, payloads, nulls):
        """Both sides with so many 4-byte payloads, of which the first is the row's number."""
        sides = Sides(rows, rows)
        without, columns = None, range(1, 1 + payloads)
        for share in (0, nulls):
            valid = [keep(rows, share) if share else None for _ in range(2)]
            relations, held = [], []
            for numbers, bits in zip((sides.left, sides.right), valid):
                words = words_of(bits) if share else None
                if sparse:
                    key = Values(spread_keys(numbers), TYPE_INT64, validity=words)
                else:
                    key = Values(numbers.astype(cp.int32), validity=words)
                own = Values(cp.arange(rows, dtype=cp.int32))
                held.append([key] + [own] * payloads)
                relations.append(self.session.relate(held[-1]))

            def check(result):
                numbers = [self.session.fetch(result, FETCH_COLUMN, i)[0] for i in (0, payloads)]
                check_rows(sides, sides.matches(*valid), *numbers)

            found = self.add(
                f"{name}, {share} % NULL keys",
                lambda: self.session.join(*relations, 1, (0,), columns, columns),
                check,
                without,
            )
            without = without or found
            for relation in relations:
                relation.close()
        self.session.trim()

    def nulls_in_payloads(self, rows, nulls):
        """One 4-byte payload a side, which is the row's number."""
        sides = Sides(rows, rows)
        without = None
        for share in (0, nulls):
            valid = [keep(rows, share) if share else None for _ in range(2)]
            held = [
                [
                    Values(numbers.astype(cp.int32)),
                    Values(
                        cp.arange(rows, dtype=cp.int32), validity=words_of(bits) if share else None
                    ),
                ]
                for numbers, bits in zip((sides.left, sides.right), valid)
            ]
            relations = [self.session.relate(each) for each in held]

            def check(result):
                keys, _ = self.session.fetch(result, FETCH_COLUMN, 0)
                left, left_valid = self.session.fetch(result, FETCH_COLUMN, 1)
                right, right_valid = self.session.fetch(result, FETCH_COLUMN, 2)
                # Of a row whose number is NULL the key tells which left row it is.
                row_of = cp.empty(rows, cp.uint32)
                row_of[sides.left] = cp.arange(rows, dtype=cp.uint32)
                wanted = row_of[keys]
                expect(rows_of(result) == rows, "rows are missing, or too many")
                expect(bool((left[left_valid] == wanted[left_valid]).all()), "a left row")
                if share:
                    expect(bool((left_valid == valid[0][wanted]).all()), "a left NULL")
                    count = int(right_valid.sum())
                    expect(count == int(valid[1].sum()), "right NULLs")
                own = right[right_valid]
                expect(bool((sides.right[own] == keys[right_valid]).all()), "a right row")
                seen = cp.bincount(own.astype(cp.int64), minlength=rows)
                expect(int(seen.max()) == 1, "a right row twice")

            found = self.add(
                f"4-byte keys, {share} % NULLs in one payload a side",
                lambda: self.session.join(*relations, 1, (0,), (0, 1), (1,)),
                check,
                without,
            )
            without = without or found
            for relation in relations:
                relation.close()
        self.session.trim()

    def text_keys(self, left_rows, right_rows):
        sides = Sides(left_rows, right_rows)
        held = [[texts(sides.left)], [texts(sides.right)]]
        relations = [self.session.relate(each) for each in held]
        every = sides.matches()

        self.add(
            "18 characters, row numbers",
            lambda: self.session.join(*relations),
            lambda result: check_rows(sides, every, *self.session.pairs(result)),
        )

        def check_semi(result):
            rows, _ = self.session.fetch(result, _abi.FETCH_LEFT_INDEX, 0)
            wanted = cp.zeros(left_rows, bool)
            wanted[sides.left_of_right] = True
            seen = cp.bincount(rows.astype(cp.int64), minlength=left_rows)
            expect(bool((seen == wanted).all()), "rows are missing, too many, or others")

        self.add("18 characters, left semi", lambda: self.session.join(*relations, 5), check_semi)
        for relation in relations:
            relation.close()
        # By a 4-byte key, with the text put out.
        keys = [Values(sides.left.astype(cp.int32)), Values(sides.right.astype(cp.int32))]
        relations = [self.session.relate([key, *each]) for key, each in zip(keys, held)]
        without = self.add(
            "4-byte keys, the key put out",
            lambda: self.session.join(*relations, 1, (0,), (0,), ()),
            lambda result: expect(rows_of(result) == right_rows, "rows"),
        )
        self.add(
            "4-byte keys, and text of 18 characters of the left side",
            lambda: self.session.join(*relations, 1, (0,), (0, 1), ()),
            lambda result: self.check_text(result, right_rows),
            without,
        )
        for relation in relations:
            relation.close()
        self.session.trim()

    def check_text(self, result, rows):
        """Each row's text is its key's."""
        import ctypes

        expect(rows_of(result) == rows, "rows are missing, or too many")
        keys, _ = self.session.fetch(result, FETCH_COLUMN, 0)
        data = cp.empty(rows * TEXT_BYTES, cp.uint8)
        offsets = cp.empty(rows + 1, cp.int32)
        fetch = _abi.Fetch(what=FETCH_COLUMN, column=1, memory=2)
        fetch.data, fetch.data_bytes = data.data.ptr, data.nbytes
        fetch.offsets, fetch.offsets_bytes = offsets.data.ptr, offsets.nbytes
        _abi.invoke("result_fetch", result, None, ctypes.byref(fetch), 1)
        expect(fetch.text_bytes == data.nbytes, "bytes of text")
        expect(bool((offsets == cp.arange(rows + 1) * TEXT_BYTES).all()), "offsets of text")
        for first in range(0, rows, 1 << 22):
            part = slice(first, first + (1 << 22))
            same = texts(keys[part]).data == data[first * TEXT_BYTES : part.stop * TEXT_BYTES]
            expect(bool(same.all()), "a text is another's")


def main():
    options = options_of(__doc__, scale=0, calls=7)

    def scaled(rows):
        return rows << options.scale if options.scale >= 0 else rows >> -options.scale

    cp.random.seed(1)
    bench = Bench(options.calls)
    bench.nulls_in_keys("4-byte keys, one payload", scaled(1 << 27), False, 1, 10)
    bench.nulls_in_keys("sparse 8-byte keys, two payloads", scaled(10**8), True, 2, 10)
    bench.nulls_in_payloads(scaled(1 << 27), 10)
    bench.text_keys(scaled(1 << 24), scaled(1 << 26))
    bench.session.context.close()
    write(options, joins=bench.figures)


if __name__ == "__main__":
    main()
