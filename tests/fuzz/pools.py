"""Values for a pair of key columns: equal on both sides where both types have them, else nearly so.

A logical value is an integer in the finer unit of the two types, a float, a bool, or bytes.
"""

from __future__ import annotations

import random
import struct

import numpy as np

from .column_types import ColumnType

# Around the sizes of views, of words, and of their multiples.
_LENGTHS = (0, 1, 3, 4, 5, 7, 8, 9, 11, 12, 13, 15, 16, 17, 24, 31, 32, 33, 40)
_PREFIXES = ("", "a", "abc", "abcd", "aaaaaaa", "aaaaaaaa", "prefix/of12", "prefix/of_12", "x" * 31)
_STRANGE = ("é", "ßü", "日本語", "😀", "\0", "a\0b\0\0", "\n\t ", "x\u0301")
_FLOATS = (0.0, -0.0, np.inf, -np.inf, np.nan, np.nan, np.nan, 5e-324, 1.1, 1e-40, 6e-8, 65504.0)
_NEAR_BITS = (8, 16, 32, 64, 128)
_NEAR_CASES, _NEAR_SHARES = 0.35, (0.05, 0.2, 0.4)
_ALIKE_CASES = 0.8  # of a signed and an unsigned type
_LONG = 1000
_MANY = 200  # values that are shuffled in Python in less time than a generator takes to be made


def draw_pool(
    rng: random.Random, left: ColumnType, right: ColumnType, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """As many values for the left side as for the right one, at most `count`."""
    if left.family != right.family or left.family == "null":
        count = min(count, 50)
        return tuple(_repeated(own_values(rng, t, count), count) for t in (left, right))
    logical = _logical_values(rng, left, right, count)[: max(1, count)]
    scale = max(left.scale, right.scale)
    values = []
    for column_type in (left, right):
        places = _places(column_type, scale, logical)
        if not places:  # fixed widths that are not the other's
            values.append(_repeated(own_values(rng, column_type, len(logical)), len(logical)))
            continue
        of = logical
        if len(places) < len(logical):
            chosen = set(places)
            of = [v if i in chosen else logical[rng.choice(places)] for i, v in enumerate(logical)]
        values.append(_in_memory(rng, column_type, scale, of))
    return tuple(values)


def own_values(rng: random.Random, column_type: ColumnType, count: int) -> np.ndarray:
    """At least one value of a type, at most `count`."""
    if column_type.family == "null":
        return np.zeros(1, column_type.dtype)
    logical = _logical_values(rng, column_type, column_type, count)
    places = _places(column_type, column_type.scale, logical)[: max(1, count)]
    return _in_memory(rng, column_type, column_type.scale, [logical[i] for i in places])


def _repeated(values: np.ndarray, count: int) -> np.ndarray:
    return values[np.arange(count) % len(values)]


def from_values(column_type: ColumnType, values: list) -> np.ndarray:
    """Values as Column.python_values has them."""
    if column_type.dtype == object:
        made = np.empty(len(values), object)
        made[:] = values
        return made
    if column_type.dtype.kind == "V":
        return np.frombuffer(b"".join(values), column_type.dtype).copy()
    with np.errstate(over="ignore"):
        return np.array(values, column_type.dtype)


def from_integers(column_type: ColumnType, integers: list[int]) -> np.ndarray:
    """Values of a type that has a unit."""
    if column_type.dtype.kind != "V":
        return np.array(integers, column_type.dtype)
    width = column_type.width
    return from_values(column_type, [i.to_bytes(width, "little", signed=True) for i in integers])


def unit_at(column_type: ColumnType, scale: int) -> int:
    """What 1 in memory is, in units of 10^-scale or in nanoseconds."""
    if column_type.family == "number":
        return 10 ** (scale - column_type.scale)
    return column_type.unit


def _logical_values(rng: random.Random, left: ColumnType, right: ColumnType, count: int) -> list:
    """At least one, and about `count`, in any order."""
    count = max(1, count)
    if left.has_unit:
        logical = _integers(rng, left, right, count)
    elif left.family == "float":
        logical = _floats(rng, left, right, count)
    elif left.family == "text":
        logical = [text.encode() for text in _texts(rng, count)]
    elif left.family == "binary":
        logical = _binaries(rng, left, right, count)
    elif left.family == "bool":
        logical = [True, False]
    elif left.family == "day_time":
        logical = [struct.pack("<ii", i % 3 - 1, i // 3) for i in range(count)]
    else:
        logical = [struct.pack("<iiq", i % 2, i % 5, -(i // 4)) for i in range(count)]
    if len(logical) <= _MANY:
        rng.shuffle(logical)
        return logical
    order = np.random.default_rng(rng.getrandbits(64)).permutation(len(logical))
    return [logical[i] for i in order.tolist()]


def _places(column_type: ColumnType, scale: int, logical: list) -> list[int]:
    """Where the values are that a type has."""
    if column_type.has_unit:
        unit = unit_at(column_type, scale)
        least, most = (limit * unit for limit in column_type.limits())
        return [i for i, v in enumerate(logical) if least <= v <= most and v % unit == 0]
    if column_type.family == "float":
        values = np.array(logical)
        with np.errstate(over="ignore"):
            back = values.astype(column_type.dtype).astype(np.float64)
        return np.flatnonzero((back == values) | np.isnan(values)).tolist()
    if column_type.is_fixed_bytes:
        return [i for i, v in enumerate(logical) if len(v) == column_type.width]
    return list(range(len(logical)))


def _in_memory(
    rng: random.Random, column_type: ColumnType, scale: int, logical: list
) -> np.ndarray:
    if column_type.has_unit:
        unit = unit_at(column_type, scale)
        return from_integers(column_type, [v // unit for v in logical] if unit > 1 else logical)
    values = from_values(column_type, logical)
    if column_type.family == "float":
        for i in np.flatnonzero(np.isnan(values)).tolist():  # any of the many NaNs
            bits = values.view(f"u{column_type.width}")
            bits[i] ^= rng.choice((0, 1, 1 << (8 * column_type.width - 1)))
    return values


def _integers(rng: random.Random, left: ColumnType, right: ColumnType, count: int) -> list[int]:
    scale = max(left.scale, right.scale)
    units = [unit_at(column_type, scale) for column_type in (left, right)]
    limits = [t.limits() for t in (left, right)]
    coarse = max(units)  # of which the finer one is a part
    least = -(-max(limit[0] * unit for limit, unit in zip(limits, units)) // coarse)
    most = min(limit[1] * unit for limit, unit in zip(limits, units)) // coarse
    shared = [v * coarse for v in _spread(rng, least, most, min(count, most - least + 1))]
    if rng.random() < _NEAR_CASES:
        share = rng.choice(_NEAR_SHARES)
        steps = [1, *units, *(unit << bits for unit in units for bits in _NEAR_BITS)]
        shared += [
            v + rng.choice((1, -1)) * rng.choice(steps) for v in shared if rng.random() < share
        ]
    if {t.dtype.kind for t in (left, right)} == {"i", "u"} and rng.random() < _ALIKE_CASES:
        bits = 8 * (left if left.dtype.kind == "u" else right).width
        for i in range(max(1, count // 8)):  # in which the same bits are two numbers
            shared += [-1 - i, (1 << bits) - 1 - i]
    return list(dict.fromkeys(shared))


def _spread(rng: random.Random, least: int, most: int, count: int) -> list[int]:
    """So many integers between two, both included; not always different ones."""
    styles = ("dense", "dense", "dense", "negative", "ends", "strided", "random", "high bits")
    style = rng.choice(styles)
    room = (most - least + 1) // count
    step = 1
    if style == "random":
        return [rng.randint(least, most) for _ in range(count)]
    if style == "ends":
        return [least + i // 2 if i % 2 else most - i // 2 for i in range(count)]
    if style == "dense":
        start = rng.choice((0, 1, 7, rng.randint(least, most)))
    elif style == "negative":
        start = -(count // 2)
    else:
        powers = [1 << bits for bits in range(1, room.bit_length())]
        powers += [10**digits for digits in range(1, room.bit_length() // 4 + 1)]
        if powers:
            step = max(powers) if style == "high bits" else rng.choice(powers)
        start = rng.choice((0, -(count // 2) * step, least))
    start = max(least, min(start, most - (count - 1) * step))
    return [start + i * step for i in range(count)]


def _floats(rng: random.Random, left: ColumnType, right: ColumnType, count: int) -> list[float]:
    narrow = min(left, right, key=lambda column_type: column_type.width)
    if narrow.width == 2:
        count, step = min(count, 3000), rng.choice((0.25, 0.5, 2.0**-12))
    else:
        step = rng.choice((1.0, 0.25, 2.0**-30, 2.0**20))
    start = rng.choice((0, -(count // 2), 1))
    values = [(start + i) * step for i in range(count)]
    for special in rng.sample(_FLOATS, rng.randint(0, min(count, len(_FLOATS)))):
        values[rng.randrange(count)] = special
    if rng.random() < _NEAR_CASES:
        wide = np.array(values)
        with np.errstate(over="ignore", invalid="ignore"):
            near = [*np.nextafter(wide, 1e9), *np.nextafter(wide.astype("f4"), np.float32(1e9))]
        values += [float(v) for v in near if rng.random() < 0.1]
    return [*values, 0.5]  # which all types have


def _letters(number: int) -> str:
    word = ""
    while True:
        word = chr(97 + number % 26) + word
        number = number // 26 - 1
        if number < 0:
            return word


def _texts(rng: random.Random, count: int) -> list[str]:
    style = rng.choice(("short", "prefix", "prefix", "suffix", "lengths", "lengths", "mixed"))
    prefix = rng.choice(_PREFIXES) if rng.random() < 0.8 else rng.choice(_STRANGE)
    made = {}
    for i in range(count):
        how = rng.choice(("prefix", "suffix", "lengths")) if style == "mixed" else style
        word = _letters(i)
        if how == "prefix":
            word = prefix + word
        elif how == "suffix":
            word = word + "." + prefix
        elif how == "lengths":
            word += "." + prefix
            word += "." * max(0, rng.choice(_LENGTHS) - len(word))
        made[word] = None
    words = list(made)
    if rng.random() < 0.4:
        words[rng.randrange(len(words))] = ""
    for _ in range(rng.choice((0, 0, 1, 3))):  # of which one is often the start of another
        word = words[rng.randrange(len(words))]
        words += [word + "\0", word + rng.choice(_STRANGE), word[: rng.randint(0, len(word))]]
    if rng.random() < 0.05:
        start = rng.choice(words)
        words[-1:] = [start + "y" * _LONG, start + "y" * (_LONG - 1) + "z", start + "y" * 999]
    rng.shuffle(words)
    return list(dict.fromkeys(words))


def _binaries(rng: random.Random, left: ColumnType, right: ColumnType, count: int) -> list[bytes]:
    widths = [t.width for t in (left, right) if t.is_fixed_bytes]
    if not widths:
        words = [text.encode() for text in _texts(rng, count)]
        if rng.random() < 0.5:
            words += [word + rng.choice((b"\xff", b"\x80\0", b"\0")) for word in words[::5]]
        return list(dict.fromkeys(words))
    width = rng.choice(widths)
    digits = min(width, 4)
    filler = bytes(rng.choice((0, 0x61, rng.randrange(256))) for _ in range(width - digits))
    numbers = [i.to_bytes(digits, "big") for i in range(min(count, 256**digits))]
    at_end = rng.random() < 0.5
    values = [filler + number if at_end else number + filler for number in numbers]
    if len(widths) == 1 and rng.random() < 0.6:  # the other side has values of other lengths
        values += [v.rstrip(b"\0") for v in values[::4]]
        values += [v + b"\0" for v in values[::7]]
    return list(dict.fromkeys(values))
