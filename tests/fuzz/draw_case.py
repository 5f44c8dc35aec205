"""Draws a case from a seed: schemas, data, kind and output."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from .case import Case, Column, Table
from .column_types import KEY_TYPES, PAYLOAD_TYPES, ColumnType
from .kinds import KINDS, Kind

SIDES = ("left", "right")
MOST_PAIRS = 20_000  # of most cases; more takes longer and shows no more
MANY_PAIRS = 150_000  # of a few, and of the largest: a result of several tasks

# Rows of a side: (weight, least, most).
_SIZES = (
    (3, 0, 0),
    (3, 1, 1),
    (25, 2, 12),
    (30, 13, 100),
    (27, 101, 900),
    (10, 901, 2500),
    (2, 2501, 5200),
    (0.3, 60_000, 140_000),  # more than a task of a thread: 2^16 rows
)
# Of the rows of a column, in cases of few NULLs and of many.
_NULL_SHARES = {"few": (0, 0.03, 0.1, 0.25), "many": (0.1, 0.5, 0.9, 1)}
_MOST_KEYS = 5


def draw_case(seed: int, kinds: Sequence[str]) -> Case:
    """The same case for the same seed and kinds, whatever engines and devices there are."""
    rng = random.Random(seed)
    data = np.random.default_rng(seed)
    kind = KINDS[rng.choice(kinds)]
    key_count = 0 if kind.rule == "cross" else rng.choice((1, 1, 1, 2, 2, 3, 4, _MOST_KEYS))
    key_types = [rng.choice(KEY_TYPES) for _ in range(key_count)]
    numbers = _row_numbers(rng, data, kind)
    keys = _key_columns(rng, data, key_types, numbers)
    tables, positions = {}, {}
    for side in SIDES:
        rows = len(numbers[side])
        columns = keys[side] + [
            _payload(rng, data, rng.choice(PAYLOAD_TYPES), rows)
            for _ in range(rng.choice((0, 1, 1, 2, 3, 5)))
        ]
        if not columns:  # a relation of a cross join has columns too
            columns = [_payload(rng, data, rng.choice(PAYLOAD_TYPES), rows)]
        order = list(range(len(columns)))
        rng.shuffle(order)
        tables[side] = Table([columns[i] for i in order], rows)
        for i, column in enumerate(tables[side].columns):
            column.name = f"{side[0]}{i}"
        positions[side] = [order.index(i) for i in range(key_count)]
    case = Case(kind, tables, positions, {"left": [], "right": []}, columns=False, pairs=False)
    if key_count and rng.random() < 0.04:
        _join_with_itself(rng, case)
    if 0 < key_count < _MOST_KEYS and rng.random() < 0.05:
        _repeat_key(rng, case)
    _draw_output(rng, case)
    return case


def _join_with_itself(rng: random.Random, case: Case) -> None:
    """One table on both sides; at times other columns of it are the keys of the right side."""
    table = case.tables["right"] = case.tables["left"]
    case.keys["right"] = list(case.keys["left"])
    if rng.random() < 0.5:
        types = [column.type for column in case.key_columns("left")]
        case.keys["right"] = [
            rng.choice([i for i, c in enumerate(table.columns) if c.type == kind]) for kind in types
        ]
    while _match_count(case) > MANY_PAIRS:
        fewer = table.take(np.arange(table.rows // 2))
        table = case.tables["right"] = case.tables["left"] = fewer


def _match_count(case: Case) -> int:
    """How many pairs have equal keys, NULLs taken for values."""
    columns = [
        np.concatenate([one.values, other.values]).astype(np.int64)
        for one, other in zip(case.key_columns("left"), case.key_columns("right"))
    ]
    _, numbers = np.unique(np.stack(columns), axis=1, return_inverse=True)
    left, right = np.split(numbers.ravel(), [case.tables["left"].rows])
    return _pair_count({"left": left, "right": right})


def _repeat_key(rng: random.Random, case: Case) -> None:
    """A key column once more; with another column of the other side where one has its type."""
    left = rng.choice(case.keys["left"])
    kind = case.tables["left"].columns[left].type
    right = [i for i, c in enumerate(case.tables["right"].columns) if c.type == kind]
    case.keys["left"].append(left)
    case.keys["right"].append(rng.choice(right))


def _draw_output(rng: random.Random, case: Case) -> None:
    what = rng.choice(("columns", "columns", "pairs", "both", "both", "rows"))
    case.pairs = what in ("pairs", "both")
    case.columns = what in ("columns", "both", "rows")
    if what == "pairs" or what == "rows":
        return
    for side in case.kind.sides:
        positions = range(len(case.tables[side].columns))
        style = rng.choice(("all", "some", "some", "repeated", "none"))
        if style == "all":
            case.outputs[side] = list(positions)
        elif style == "some":
            case.outputs[side] = rng.sample(positions, rng.randint(1, len(positions)))
        elif style == "repeated":
            case.outputs[side] = rng.choices(positions, k=rng.randint(1, 2 * len(positions)))


def _size(rng: random.Random) -> int:
    _, least, most = rng.choices(_SIZES, [weight for weight, _, _ in _SIZES])[0]
    return rng.randint(least, most)


def _row_numbers(
    rng: random.Random, data: np.random.Generator, kind: Kind
) -> dict[str, np.ndarray]:
    """For each side the number of each row's key, in one domain of keys."""
    sizes = {side: _size(rng) for side in SIDES}
    if rng.random() < 0.3:  # as large as each other, but for a row
        sizes["right"] = max(0, sizes["left"] + rng.randint(-1, 1))
    many = rng.random() < 0.02 or max(sizes.values()) > MOST_PAIRS
    most = MANY_PAIRS if many else MOST_PAIRS
    if kind.rule == "cross":
        while sizes["left"] * sizes["right"] > most:
            larger = max(SIDES, key=sizes.get)
            sizes[larger] //= 2
        return {side: np.zeros(rows, np.int64) for side, rows in sizes.items()}
    rows = max(sizes.values())
    distinct = max(1, round(rows * rng.choice((0.02, 0.3, 0.7, 1, 1, 1.5, 3))))
    first = {side: 0 for side in SIDES}
    overlap = rng.choices(("full", "part", "none"), (50, 47, 3))[0]
    if overlap != "full":
        first[rng.choice(SIDES)] = distinct if overlap == "none" else rng.randint(0, distinct // 2)
    styles = {side: rng.choice(("unique", "uniform", "uniform", "skewed", "few")) for side in SIDES}
    if kind.rule == "single" and rng.random() < 0.8:  # else nearly all answer SEVERAL_MATCHES
        styles["right" if kind.side == "left" else "left"] = "unique"
    numbers = {
        side: first[side] + _numbers_of(rng, data, styles[side], sizes[side], distinct)
        for side in SIDES
    }
    while (pairs := _pair_count(numbers)) > most:
        # The square root from either side: both stay as large as they can.
        keep = max(0.1, (most / pairs) ** 0.5 * 0.95)
        numbers = {side: n[: int(len(n) * keep)] for side, n in numbers.items()}
    return numbers


def _numbers_of(
    rng: random.Random, data: np.random.Generator, style: str, rows: int, distinct: int
) -> np.ndarray:
    if style == "unique":
        return data.permutation(max(rows, distinct))[:rows]
    if style == "uniform":
        return data.integers(0, distinct, rows)
    if style == "few":
        return data.integers(0, min(distinct, rng.randint(2, 6)), rows)
    # A few numbers come very often, most of them seldom.
    return (distinct * data.random(rows) ** rng.choice((2, 5, 12))).astype(np.int64)


def _pair_count(numbers: dict[str, np.ndarray]) -> int:
    if not all(len(n) for n in numbers.values()):
        return 0
    top = max(int(n.max()) for n in numbers.values()) + 1
    counts = [np.bincount(numbers[side], minlength=top) for side in SIDES]
    return int(counts[0] @ counts[1])


def _key_columns(
    rng: random.Random,
    data: np.random.Generator,
    types: list[ColumnType],
    numbers: dict[str, np.ndarray],
) -> dict[str, list[Column]]:
    """Key columns in which equal numbers, and no others, are equal keys.

    Keys of several columns are equal in part far more often than they are in all columns: the
    digits of the number in a mixed base, one of each column.
    """
    distinct = 1 + max((int(n.max()) for n in numbers.values() if len(n)), default=0)
    bases = _bases(rng, distinct, len(types))
    columns: dict[str, list[Column]] = {side: [] for side in SIDES}
    rest = numbers
    nulls = rng.choices(("few", "many"), (85, 15))[0]
    # Of one side alone: of mark joins the two sides' NULLs mean different things.
    null_sides = rng.choice(((), (), ("left",), ("right",), SIDES, SIDES))
    for key_type, base in zip(types, bases):
        values = _distinct_values(rng, data, key_type, base)
        for side in SIDES:
            digits = rest[side] % base
            valid = _validity(rng, data, len(digits), nulls) if side in null_sides else None
            columns[side].append(Column("", key_type, values[digits], valid))
        rest = {side: n // base for side, n in rest.items()}
    return columns


def _bases(rng: random.Random, distinct: int, columns: int) -> list[int]:
    """How many values each column has: their product is enough for all keys."""
    bases = []
    for left in range(columns, 0, -1):
        need = max(1, round(distinct ** (1 / left)))
        while need**left < distinct:
            need += 1
        base = distinct if left == 1 else rng.choice((1, 2, need, need, 2 * need))
        bases.append(max(1, base))
        distinct = -(-distinct // bases[-1])
    return bases


def _distinct_values(
    rng: random.Random, data: np.random.Generator, key_type: ColumnType, count: int
) -> np.ndarray:
    """So many different values of a key type."""
    info = np.iinfo(key_type.dtype)
    style = rng.choice(("dense", "dense", "negative", "ends", "strided", "random", "high bits"))
    steps = np.arange(count, dtype=np.uint64)
    bits = 8 * key_type.width
    room = bits - count.bit_length()  # steps of 2^room and less come to different values
    start, step = 0, 1
    if style == "dense":
        start = rng.choice((0, 1, 7, rng.randint(int(info.min), int(info.max))))
    elif style == "negative":
        start = -(count // 2)
    elif style == "ends":  # the last before the end, the first after it
        start = int(info.max) - count // 2
    elif style == "strided":
        step = 1 << rng.randint(1, room)
        start = rng.choice((0, -(count // 2) * step))
    elif style == "high bits":
        step = (1 << room) + rng.choice((0, 1))
    else:
        step = rng.randrange(1, 1 << bits, 2)  # odd: different multiples, modulo 2^bits
        start = rng.randint(0, 1 << 60)
    wrapped = np.uint64(start % (1 << 64)) + steps * np.uint64(step % (1 << 64))
    values = wrapped.astype(f"u{key_type.width}").view(key_type.dtype)
    return data.permutation(values)


def _validity(rng: random.Random, data: np.random.Generator, rows: int, nulls: str) -> np.ndarray:
    share = rng.choice(_NULL_SHARES[nulls])
    if rng.random() < 0.1 and rows:  # one NULL; or all but one
        valid = np.full(rows, nulls == "few")
        valid[rng.randrange(rows)] ^= True
        return valid
    return data.random(rows) >= share


_FLOATS = np.array([0.0, -0.0, 1.5, -2.25, np.inf, -np.inf, np.nan])


def _payload(
    rng: random.Random, data: np.random.Generator, column_type: ColumnType, rows: int
) -> Column:
    if column_type.is_float:
        numbers = data.integers(-2000, 2000, rows) / 4
        if rng.random() < 0.2:
            special = data.random(rows) < 0.3
            numbers[special] = _FLOATS[data.integers(0, len(_FLOATS), int(special.sum()))]
        values = numbers.astype(column_type.dtype)
    elif rng.random() < 0.3 and column_type.dtype.kind != "V":
        values = data.integers(0, 100, rows).astype(column_type.dtype)
    else:
        raw = data.integers(0, 256, rows * column_type.width, np.uint8)
        values = raw.view(column_type.dtype)
    nulls = rng.choice(("few", "many"))
    valid = _validity(rng, data, rows, nulls) if rng.random() < 0.5 else None
    return Column("", column_type, values, valid)
