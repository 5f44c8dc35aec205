"""The joins that compare_shapes.py times: inner joins of data as it lies in databases.

The names are those of the cells in bench/cells.cpp with rows of a CPU's size. Keys and payloads are
called as in join_cases.py.
"""

import dataclasses
from collections.abc import Callable

import numpy
import pyarrow
from join_cases import Case, mix, table_of

BLOCK = 65536  # rows within which shuffled ones move


@dataclasses.dataclass
class RepeatedCase(Case):
    """Left has each key several times; left_of_right names the first of them, in left_order."""

    repeats: int = 1
    left_order: numpy.ndarray = dataclasses.field(default_factory=lambda: numpy.empty(0, int))

    def matches(self):
        rights = numpy.flatnonzero(self.left_of_right >= 0).repeat(self.repeats)
        places = numpy.arange(len(rights)) % self.repeats + self.left_of_right[rights]
        return self.left_order[places], rights


@dataclasses.dataclass(frozen=True)
class Shape:
    """A join: 2^left x 2^right rows, the types of key and payloads, and how the rows lie."""

    left: int
    right: int
    payloads: int = 2
    key: type = numpy.int32
    payload: type = numpy.int32
    order: str = "any"  # "key": both sides in the order of the keys; "blocks": but for blocks
    is_sparse: bool = False  # keys anywhere in 31 or 62 bits
    match: float = 1.0
    zipf: float = 0.0
    nulls: float = 0.0
    repeats: int = 1  # of each key on the left


SHAPES = {
    "clustered-22x22": Shape(22, 22, order="key"),
    "clustered-22x24": Shape(22, 24, order="key"),
    "sorted-sparse-22x22": Shape(22, 22, order="key", is_sparse=True),
    "sorted-sparse-8B8B-22x24": Shape(
        22, 24, order="key", is_sparse=True, key=numpy.int64, payload=numpy.int64
    ),
    "shuffled-64K-22x22": Shape(22, 22, order="blocks"),
    "shuffled-64K-22x24": Shape(22, 24, order="blocks"),
    "narrow8x1B-22x22": Shape(22, 22, payloads=8, payload=numpy.int8),
    "nulls10-22x22": Shape(22, 22, nulls=0.1),
    "keys8B32bit-22x22": Shape(22, 22, key=numpy.int64, payload=numpy.int64),
    "wide2-8B8B-22x22": Shape(22, 22, key=numpy.int64, payload=numpy.int64, is_sparse=True),
    "narrow-22x22": Shape(22, 22, payloads=1),
    "narrow-22x24": Shape(22, 24, payloads=1),
    "narrow-20x22": Shape(20, 22, payloads=1),
    "wide2-22x22": Shape(22, 22),
    "wide2-22x24": Shape(22, 24),
    "wide2-18x22": Shape(18, 22),
    "wide4-22x22": Shape(22, 22, payloads=4),
    "wide2-4B8B-22x22": Shape(22, 22, payload=numpy.int64),
    "zipf75-22x22": Shape(22, 22, zipf=0.75),
    "zipf100-22x22": Shape(22, 22, zipf=1.0),
    "match25-22x22": Shape(22, 22, match=0.25),
    "sparse-match25-22x22": Shape(22, 22, match=0.25, is_sparse=True),
    "sparse-match3-22x22": Shape(22, 22, match=0.03, is_sparse=True),
    "sparse-20x22": Shape(20, 22, payloads=1, is_sparse=True),
    "sparse-16x16": Shape(16, 16, is_sparse=True),
    "sparse-20x20": Shape(20, 20, is_sparse=True),
    "many-20x20": Shape(20, 20, repeats=8, payloads=1),
    "fkfk4-21x21": Shape(21, 21, repeats=4),
}


def keys_of(shape, numbers):
    """Keys in the order of the numbers, as far apart as the shape says."""
    if not shape.is_sparse:
        return numbers.astype(shape.key)
    bits = 31 if shape.key == numpy.int32 else 62
    if shape.order == "any":
        # Odd factors permute what so many bits count.
        mixed = mix(numbers) if bits == 62 else numbers.astype(numpy.uint64) * numpy.uint64(2654435761)
        return (mixed & numpy.uint64((1 << bits) - 1)).astype(shape.key)
    gap = (1 << bits) // (int(numbers.max()) + 1)
    within = mix(numbers) % numpy.uint64(gap)
    return (numbers.astype(numpy.uint64) * numpy.uint64(gap) + within).astype(shape.key)


def drawn_keys(random, shape, distinct, rows):
    """Of each right row the number of a key that left has."""
    if shape.zipf:
        weights = numpy.cumsum(numpy.arange(1, distinct + 1) ** -shape.zipf)
        drawn = numpy.searchsorted(weights, random.random(rows) * weights[-1])
        return random.permutation(distinct)[numpy.minimum(drawn, distinct - 1)]
    if rows >= distinct and rows % distinct == 0 and shape.order != "any":
        return numpy.arange(rows) // (rows // distinct)
    return random.integers(0, distinct, rows)


def in_blocks(random, rows):
    """Rows in an order that is any within blocks."""
    order = numpy.arange(rows)
    for first in range(0, rows, BLOCK):
        random.shuffle(order[first : first + BLOCK])
    return order


def make(name, shape, scale):
    random = numpy.random.default_rng(24)
    left_rows, right_rows = 1 << shape.left + scale, 1 << shape.right + scale
    distinct = left_rows // shape.repeats
    numbers = numpy.arange(left_rows) // shape.repeats
    right = drawn_keys(random, shape, distinct, right_rows)
    # Keys that left lacks lie behind those that it has, or among them where keys are sparse.
    lacks = random.random(right_rows) >= shape.match
    right = right + lacks * distinct
    if shape.order == "any":
        left_order = random.permutation(left_rows)
    elif shape.order == "blocks":
        left_order = in_blocks(random, left_rows)
        right = right[in_blocks(random, right_rows)]
    else:
        left_order = numpy.arange(left_rows)
    place_of = numpy.empty(left_rows, int)
    place_of[left_order] = numpy.arange(left_rows)
    found = numpy.where(right < distinct, right * shape.repeats, -1)

    keys = [[pyarrow.array(keys_of(shape, each))] for each in (numbers[left_order], right)]
    if shape.nulls:
        nulls = [random.random(len(each[0])) < shape.nulls for each in keys]
        keys = [[pyarrow.array(k[0].to_numpy(), mask=n)] for k, n in zip(keys, nulls)]
        found = numpy.where(nulls[0][place_of[found]] | nulls[1], -1, found)
    most = min(numpy.iinfo(shape.payload).max, 1 << 40)
    payloads = [
        [pyarrow.array(random.integers(0, most, rows).astype(shape.payload)) for _ in range(shape.payloads)]
        for rows in (left_rows, right_rows)
    ]
    left, right = (table_of(*each) for each in zip(keys, payloads, ("ka", "jb")))
    if shape.repeats > 1:
        return RepeatedCase(name, "inner", left, right, found, 1, shape.repeats, place_of)
    return Case(name, "inner", left, right, numpy.where(found < 0, -1, place_of[found]))


def all_shapes(scale) -> list[tuple[str, Callable[[], Case]]]:
    """(name, what makes it); of 2^scale times the rows."""
    return [(name, lambda n=name, s=shape: make(n, s, scale)) for name, shape in SHAPES.items()]
