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
    (30, 101, 900),
    (40, 901, 5200),
    (20, 5201, 20_000),
    (0.6, 60_000, 140_000),
)
_MANY_SHARE, _MANY_SIMPLE_SHARE = 0.02, 0.15


def _size(rng: random.Random, is_simple: bool) -> int:
    sizes = _SIMPLE_SIZES if is_simple else _SIZES
    _, least, most = rng.choices(sizes, [weight for weight, _, _ in sizes])[0]
    return rng.randint(least, most)


def draw_row_numbers(
    rng: random.Random, data: np.random.Generator, kind: Kind, is_simple: bool
) -> dict[str, np.ndarray]:
    """For each side the number of each row's key, in one domain of keys."""
    sizes = {side: _size(rng, is_simple) for side in SIDES}
    if rng.random() < 0.3:  # as large as each other, but for a row
        sizes["right"] = max(0, sizes["left"] + rng.randint(-1, 1))
    many_share = _MANY_SIMPLE_SHARE if is_simple else _MANY_SHARE
    many = rng.random() < many_share or max(sizes.values()) > MOST_PAIRS
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
