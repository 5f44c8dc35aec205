"""The joins that compare_joins.py times: tables of two sides, and what must come out.

Left keys are unique, in random order; each right key is one of them, drawn, or one that left lacks.
Those that it lacks lie between those that it has. Key columns are called k0, k1 ... on the left and
j0, j1 ... on the right, payloads a0 ... and b0 ...
"""

import dataclasses
import datetime
import functools
from collections.abc import Callable
from typing import Any

import numpy
import polars
import pyarrow

TEXT_LETTERS = numpy.frombuffer(b"abcdefghijklmnopqrstuvwxyz0123456789", dtype=numpy.uint8)
FACTORS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)

SWAPPED = {"inner": "inner", "full": "full", "left": "right", "right": "left"}


@dataclasses.dataclass
class Case:
    """One join. left_of_right: the left row that a right row matches, or -1."""

    name: str
    how: str  # inner, left, right, full, semi, anti
    left: pyarrow.Table
    right: pyarrow.Table
    left_of_right: numpy.ndarray
    calls: int = 1  # of one measurement

    def names(self, prefix):
        side = self.left if prefix in "ka" else self.right
        return [name for name in side.column_names if name[0] == prefix]

    def columns(self):
        """Of the output."""
        parts = {"semi": "ka", "anti": "ka", "right": "ajb", "full": "kajb"}.get(self.how, "kab")
        return [name for prefix in parts for name in self.names(prefix)]

    def words(self):
        """How gpujoin.plan is called, besides the tables."""
        keys = self.names("k"), self.names("j")
        return {"on": keys[0], "right_on": keys[1], "how": self.how, "select": self.columns()}

    def queries(self):
        """(order of the sides, SQL, whether it says the same the other way round)."""
        on = " and ".join(f"{k} = {j}" for k, j in zip(self.names("k"), self.names("j")))
        chosen = f"select {', '.join(self.columns())} from"
        yield "left, right", f"{chosen} r {self.how} join s on {on}", False
        if self.how in SWAPPED:
            yield "right, left", f"{chosen} s {SWAPPED[self.how]} join r on {on}", True

    def matches(self):
        """Rows of left, and those of right."""
        rights = numpy.flatnonzero(self.left_of_right >= 0)
        return self.left_of_right[rights], rights

    def expected(self):
        """(rows, checksum) that follow from how the tables were made."""
        lefts, rights = self.matches()
        alone = numpy.ones(self.left.num_rows, dtype=bool)
        alone[lefts] = False
        if self.how in ("semi", "anti"):
            kept = numpy.flatnonzero(alone if self.how == "anti" else ~alone)
            return rows_and_checksum(self.left.take(pyarrow.array(kept)), self)
        if self.how in ("left", "full"):
            more = numpy.flatnonzero(alone)
            lefts, rights = append(lefts, more), append(rights, numpy.full(len(more), -1))
        if self.how in ("right", "full"):
            more = numpy.flatnonzero(self.left_of_right < 0)
            lefts, rights = append(lefts, numpy.full(len(more), -1)), append(rights, more)
        sides = zip((self.left, self.right), (lefts, rights))
        parts = [side.take(pyarrow.array(rows, mask=rows < 0)) for side, rows in sides]
        columns = {name: part.column(name) for part in parts for name in part.column_names}
        return rows_and_checksum(pyarrow.table(columns), self)


def append(first, second):
    return numpy.concatenate([first, second])


def rows_and_checksum(output, case):
    """The checksum is the sum over all rows, in whatever order, of a hash of their columns."""
    frame = polars.from_arrow(output) if isinstance(output, pyarrow.Table) else output
    chosen = []
    for name in case.columns():
        side = case.left if name[0] in "ka" else case.right
        twin = {"k": "j", "j": "k"}.get(name[0], name[0]) + name[1:]  # an equal key
        kind = side.schema.field(name).type
        if pyarrow.types.is_dictionary(kind):
            kind = kind.value_type
        kind = polars.from_arrow(pyarrow.array([], kind)).dtype
        chosen.append(polars.col(name if name in frame.columns else twin).cast(kind).alias(name))
    hashes = frame.select(chosen).hash_rows(seed=1).to_numpy()
    return len(hashes), f"{int(hashes.sum(dtype=numpy.uint64)):016x}"


def mix(numbers, which=0):
    """64 bits that tell numbers apart, far from each other."""
    mixed = (numbers.astype(numpy.uint64) + numpy.uint64(which)) * numpy.uint64(FACTORS[which])
    return mixed ^ (mixed >> numpy.uint64(29))


@functools.lru_cache(maxsize=1)
def sides(left_rows, right_rows, match, zipf):
    """Numbers of the keys of both sides, and the left row of each right one."""
    random = numpy.random.default_rng(20)
    numbers = random.permutation(left_rows if match == 1 else 2 * left_rows)
    if zipf:
        weights = numpy.cumsum(1 / numpy.arange(1, left_rows + 1))
        drawn = numpy.searchsorted(weights, random.random(right_rows) * weights[-1])
        drawn = numpy.minimum(drawn, left_rows - 1)
    else:
        drawn = random.integers(0, left_rows, right_rows)
    if match < 1:
        drawn[random.random(right_rows) >= match] += left_rows
    right = numbers[drawn]
    return numbers[:left_rows], right, numpy.where(drawn < left_rows, drawn, -1)


def fixed_text(numbers, width, digits):
    """So many characters a number, of the first so many of the letters."""
    data = numpy.empty((len(numbers), width), numpy.uint8)
    letters = numpy.roll(TEXT_LETTERS, 10)  # 0 .. 9, a .. z
    left = numbers.astype(numpy.uint64)
    for place in range(width - 1, -1, -1):
        left, digit = numpy.divmod(left, numpy.uint64(digits))
        data[:, place] = letters[digit]
    offsets = numpy.arange(len(numbers) + 1, dtype=numpy.int32) * numpy.int32(width)
    return text_of(offsets, data)


def text_of(offsets, data):
    buffers = [None, pyarrow.py_buffer(offsets), pyarrow.py_buffer(data)]
    return pyarrow.Array.from_buffers(pyarrow.string(), len(offsets) - 1, buffers)


def long_text(numbers):
    return fixed_text(mix(numbers) % numpy.uint64(10**18), 18, 10)


def short_text(numbers):
    return fixed_text(numbers.astype(numpy.uint64) * numpy.uint64(1999) + 60466176, 6, 36)


def decimals(numbers):
    words = numpy.zeros((len(numbers), 2), numpy.int64)
    words[:, 0] = numbers.astype(numpy.int64) * 117 + 5
    buffers = [None, pyarrow.py_buffer(words)]
    return pyarrow.Array.from_buffers(pyarrow.decimal128(18, 2), len(numbers), buffers)


def timestamps(numbers):
    first = int(datetime.datetime(2026, 1, 1).timestamp()) * 10**6
    return pyarrow.array(numbers.astype(numpy.int64) * 1234567 + first, pyarrow.timestamp("us"))


def dates(numbers):
    return pyarrow.array((numbers % 256 + 20000).astype(numpy.int32), pyarrow.date32())


def int32(numbers):
    return pyarrow.array(numbers.astype(numpy.int32))


KEYS: dict[str, Callable[[Any], list[Any]]] = {
    "int32": lambda n: [int32(n)],
    "int64 sparse": lambda n: [pyarrow.array(mix(n).view(numpy.int64))],
    "2 x int64 sparse": lambda n: [
        pyarrow.array(mix(part, which).view(numpy.int64))
        for which, part in enumerate((n >> 10, n & 1023))
    ],
    "int32, date32": lambda n: [int32(n >> 8), dates(n)],
    "float64": lambda n: [pyarrow.array(n * 0.37)],
    "decimal128(18,2)": lambda n: [decimals(n)],
    "timestamp[us]": lambda n: [timestamps(n)],
    "utf8 of 18": lambda n: [long_text(n)],
    "utf8 of 6": lambda n: [short_text(n)],
    "3 x int32": lambda n: [int32(n & 127), int32((n >> 7) & 127), int32(n >> 14)],
}


def words_payload(random, rows):
    """Text of 16 to 24 characters."""
    offsets = numpy.zeros(rows + 1, numpy.int32)
    numpy.cumsum(random.integers(16, 25, rows), out=offsets[1:])
    return text_of(offsets, TEXT_LETTERS[random.integers(0, 26, offsets[-1])])


def with_nulls(random, values, share=0.1):
    """The values, of which some are NULL, and which are not."""
    nulls = random.random(len(values)) < share
    return pyarrow.array(values.to_numpy(), values.type, mask=nulls), ~nulls


PAYLOADS: dict[str, Callable[[Any, int], Any]] = {
    "int32": lambda random, rows: int32(random.integers(0, 1 << 30, rows)),
    "nulls": lambda random, rows: with_nulls(random, int32(random.integers(0, 1 << 30, rows)))[0],
    "bool": lambda random, rows: pyarrow.array(random.integers(0, 2, rows).astype(bool)),
    "text": words_payload,
}


def table_of(keys, payloads, names):
    columns = {f"{names[0]}{i}": values for i, values in enumerate(keys)}
    return pyarrow.table({**columns, **{f"{names[1]}{i}": p for i, p in enumerate(payloads)}})


def make(
    name,
    rows,
    how="inner",
    key="int32",
    payloads=(("int32",), ("int32",)),
    match=1.0,
    zipf=False,
    null_keys=False,
    calls=1,
):
    """A case of so many rows, by the words of the lists below."""
    random = numpy.random.default_rng(22)
    *numbers, left_of_right = sides(*rows, match, zipf)
    keys = [KEYS[key](each) for each in numbers]
    if null_keys:
        keys[0][0], left_valid = with_nulls(random, keys[0][0])
        keys[1][0], right_valid = with_nulls(random, keys[1][0])
        left_of_right = numpy.where(left_valid[left_of_right] & right_valid, left_of_right, -1)
    values = [[PAYLOADS[kind](random, n) for kind in kinds] for kinds, n in zip(payloads, rows)]
    left, right = (table_of(*each) for each in zip(keys, values, ("ka", "jb")))
    return Case(name, how, left, right, left_of_right, calls)


def dictionaries(case, is_shared):
    """The same with keys in dictionaries, of both sides together or of each its own."""
    left = case.left.column("k0").combine_chunks().dictionary_encode()
    right = case.right.column("j0").combine_chunks()
    if is_shared:
        indices = pyarrow.array(case.left_of_right.astype(numpy.int32))
        right = pyarrow.DictionaryArray.from_arrays(indices, left.dictionary)
    else:
        right = right.dictionary_encode()
    tables = case.left.set_column(0, "k0", left), case.right.set_column(0, "j0", right)
    return dataclasses.replace(case, left=tables[0], right=tables[1])


def all_cases(scale) -> list[tuple[str, Callable[[], Case]]]:
    """(name, what makes it); of 2^scale times the rows."""
    found = []

    def add(name, left, right, then=lambda case: case, **words):
        rows = 1 << left + scale, 1 << right + scale
        found.append((name, lambda: then(make(name, rows, **words))))

    for match in (1.0, 0.5):
        for how in ("inner", "left", "right", "full", "semi", "anti"):
            add(f"{how}, match {match:.0%}", 22, 22, how=how, match=match)
    for key in KEYS:
        if key != "3 x int32":
            add(f"key {key}", 20, 22, key=key)
    for label, is_shared in (("one dictionary", True), ("a dictionary a side", False)):
        add(
            f"key utf8 of 18, {label}", 20, 22, key="utf8 of 18",
            then=lambda case, is_shared=is_shared: dictionaries(case, is_shared),
        )
    add("key int32, 10 % NULL", 20, 22, null_keys=True)
    add("payload int32, 10 % NULL", 20, 22, payloads=(("nulls",), ("int32",)))
    add("payload bool", 20, 22, payloads=(("bool",), ("bool",)))
    add("small build 2^10", 10, 24)
    add("small build 2^16", 16, 24)
    add("3 % match, 2 payloads", 22, 24, match=0.03, payloads=(("int32",) * 2,) * 2)
    add("3 x int32, 2 payloads", 20, 22, key="3 x int32", payloads=(("int32",) * 2,) * 2)
    add("text payloads", 20, 22, payloads=(("text",), ("text",)))
    add("zipf 1.0", 20, 22, zipf=True)
    add("tiny 2^10 x 2^10", 10 - scale, 10 - scale, calls=40)
    return found
