"""Draws columns that are no keys, and NULLs."""

from __future__ import annotations

import random

import numpy as np

from .case import Column
from .column_types import ColumnType
from .pools import own_values

# Of the rows of a column, in cases of few NULLs and of many.
_NULL_SHARES = {"few": (0, 0.03, 0.1, 0.25), "many": (0.1, 0.5, 0.9, 1)}


def draw_validity(
    rng: random.Random, data: np.random.Generator, rows: int, nulls: str
) -> np.ndarray:
    share = rng.choice(_NULL_SHARES[nulls])
    if rng.random() < 0.1 and rows:  # one NULL; or all but one
        valid = np.full(rows, nulls == "few")
        valid[rng.randrange(rows)] ^= True
        return valid
    return data.random(rows) >= share


_MOST_VALUES = 200


def draw_payload(
    rng: random.Random,
    data: np.random.Generator,
    column_type: ColumnType,
    rows: int,
    null_share: float = 0.5,
) -> Column:
    """Of widths up to 8 bytes often any bits, else a choice of some values.

    null_share  how often it may have NULLs
    """
    if column_type.family == "null":
        return Column("", column_type, np.zeros(rows, column_type.dtype), np.zeros(rows, bool))
    is_number = column_type.dtype.kind in "iufV" and not column_type.digits
    if is_number and rng.random() < 0.4:
        raw = data.integers(0, 256, rows * column_type.width, np.uint8)
        values = raw.view(column_type.dtype)
    else:
        pool = own_values(rng, column_type, min(rows, rng.randint(1, _MOST_VALUES)))
        values = pool[data.integers(0, len(pool), rows)]
    nulls = rng.choice(("few", "many"))
    valid = draw_validity(rng, data, rows, nulls) if rng.random() < null_share else None
    return Column("", column_type, values, valid)
