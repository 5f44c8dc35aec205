"""Draws how many rows there are, and which of them have equal keys."""

from __future__ import annotations

import random

import numpy as np

from .kinds import Kind

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
# Of simple joins, which are cheap to check: more than a block, a chunk or a tile of a GPU has.
_SIMPLE_SIZES = (
    (10, 2, 100),
    (25, 101, 900),
    (35, 901, 5200),
    (30, 5201, 20_000),
    (0.6, 60_000, 200_000),
)
# Of joins that shall not fit in 1 MiB.
_SPILLING_SIZES = (
    (45, 901, 5200),
    (45, 5201, 20_000),
    (10, 20_001, 70_000),
)
_MANY_SHARE = 0.02
_MANY_SIMPLE_SHARE = 0.5  # of simple joins whose pairs come out
_MANY_SIZES = ((1, 300, 5200),)  # of simple joins in which many rows match

_STYLES = ("unique", "uniform", "uniform", "skewed", "few", "heavy")
# Where many rows match, and they shall not all be of a few keys.
_MANY_STYLES = (*(5 * ("groups",)), "skewed", "skewed", "few", "uniform")
_HEAVY_SHARES = (0.1, 0.3, 0.6)  # of the rows of a side: those of its one heavy key
_GROUP_ROWS = (4, 12, 50, 100, 100, 150, 180)
# Of other simple joins: unique keys on one side, most often that of fewer rows, as techniques for
# unique keys want them.
_FOREIGN_KEY_SHARE = 0.7


def _size(rng: random.Random, sizes: tuple) -> int:
    _, least, most = rng.choices(sizes, [weight for weight, _, _ in sizes])[0]
    return rng.randint(least, most)


def draw_row_numbers(
    rng: random.Random,
    data: np.random.Generator,
    kind: Kind,
    is_simple: bool,
    has_keys: bool,
    spills: bool,
) -> dict[str, np.ndarray]:
    """For each side the number of each row's key, in one domain of keys.

    spills  there are so many rows that a little memory does not hold them
    """
    puts_out_pairs = kind.rule in ("inner", "outer")
    many = rng.random() < (_MANY_SIMPLE_SHARE if is_simple and puts_out_pairs else _MANY_SHARE)
    of_sides = (_MANY_SIZES if many else _SIMPLE_SIZES) if is_simple else _SIZES
    if spills:
        of_sides = _SPILLING_SIZES
    sizes = {side: _size(rng, of_sides) for side in SIDES}
    if rng.random() < 0.3:  # as large as each other, but for a row
        sizes["right"] = max(0, sizes["left"] + rng.randint(-1, 1))
    most = MANY_PAIRS if many or max(sizes.values()) > MOST_PAIRS else MOST_PAIRS
    if not has_keys:
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
    styles = {side: rng.choice(_MANY_STYLES if many else _STYLES) for side in SIDES}
    if is_simple and not many and rng.random() < _FOREIGN_KEY_SHARE:
        fewer = min(SIDES, key=sizes.get)
        styles[fewer if rng.random() < 0.5 else rng.choice(SIDES)] = "unique"
    if kind.rule == "single" and rng.random() < 0.8:  # else nearly all answer SEVERAL_MATCHES
        styles["right" if kind.side == "left" else "left"] = "unique"
    numbers = {
        side: first[side] + _numbers_of(rng, data, styles[side], sizes[side], distinct)
        for side in SIDES
    }
    kept = draw_kept_side(rng)
    while (pairs := _pair_count(numbers)) > most:
        shares = kept_shares(most / pairs, kept)
        numbers = {side: n[: int(len(n) * shares[side])] for side, n in numbers.items()}
    return numbers


def draw_kept_side(rng: random.Random) -> str | None:
    """The side that keeps its rows, and keys of many, where rows are taken away."""
    return rng.choice((None, *SIDES))


def kept_shares(share: float, kept: str | None) -> dict[str, float]:
    """Of the rows of each side, when so large a share of the pairs is to stay; of both sides as
    many where neither keeps its own."""
    if kept is None:
        return dict.fromkeys(SIDES, max(0.1, share**0.5 * 0.95))
    return {side: 1 if side == kept else max(0.02, share * 0.95) for side in SIDES}


def _numbers_of(
    rng: random.Random, data: np.random.Generator, style: str, rows: int, distinct: int
) -> np.ndarray:
    if style in ("unique", "heavy"):
        numbers = data.permutation(max(rows, distinct))[:rows]
        return numbers if style == "unique" else _with_heavy(rng, data, numbers)
    if style == "uniform":
        return data.integers(0, distinct, rows)
    if style == "groups":
        numbers = data.integers(0, max(1, min(distinct, rows // rng.choice(_GROUP_ROWS))), rows)
        return _with_heavy(rng, data, numbers) if rng.random() < 0.5 else numbers
    if style == "few":
        return data.integers(0, min(distinct, rng.randint(2, 6)), rows)
    # A few numbers come very often, most of them seldom.
    return (distinct * data.random(rows) ** rng.choice((2, 5, 12))).astype(np.int64)


def _with_heavy(
    rng: random.Random, data: np.random.Generator, numbers: np.ndarray
) -> np.ndarray:
    """One number comes very often."""
    is_heavy = data.random(len(numbers)) < rng.choice(_HEAVY_SHARES)
    return np.where(is_heavy, numbers[:1], numbers)


def _pair_count(numbers: dict[str, np.ndarray]) -> int:
    if not all(len(n) for n in numbers.values()):
        return 0
    top = max(int(n.max()) for n in numbers.values()) + 1
    counts = [np.bincount(numbers[side], minlength=top) for side in SIDES]
    return int(counts[0] @ counts[1])
