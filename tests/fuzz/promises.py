"""What is promised of a case's data, true or not, and whether that is so: in plain Python."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from .case import Answer, Case, Column
from .comparable import keys_of, values_of

UNIQUE = {"left": 1, "right": 2}  # GPUJOIN_PROMISE_*
SORTED = {"left": 4, "right": 8}
ROWS = 16
# Whose meaning does not depend on where batches end.
OF_BATCHES = UNIQUE["left"] | UNIQUE["right"] | ROWS
_MOST_SORTED_KEYS = 3
_ORDERED = ("number", "float", "text", "binary", "bool", "date", "zoned", "time", "duration")


def _once(find: Callable[[Case, str], bool]) -> Callable[[Case, str], bool]:
    """Every way of a case asks again."""

    def found(case: Case, side: str) -> bool:
        key = find.__name__, side
        if key not in case.tokens:
            case.tokens[key] = find(case, side)
        return case.tokens[key]

    return found


@_once
def are_unique(case: Case, side: str) -> bool:
    keys = [key for key in keys_of(case)[side] if None not in key]
    return len(set(keys)) == len(keys)


def can_be_sorted(case: Case, side: str) -> bool:
    """Whether it can be said of the keys that they are."""
    columns = case.key_columns(side)
    known = all(column.type.family in _ORDERED for column in columns)
    return known and 0 < len(columns) <= _MOST_SORTED_KEYS


@_once
def are_sorted(case: Case, side: str) -> bool:
    """With the NULLs of each column before its values, or behind them."""
    columns = [_ranks(column) for column in case.key_columns(side)]
    for places in itertools.product((0, 2), repeat=len(columns)):
        rows = zip(*map(_placed, columns, places))
        if all(one <= other for one, other in itertools.pairwise(rows)):
            return True
    return False


def _placed(ranks: list, place: int) -> Iterator[tuple]:
    """place  of NULLs; values are at 1"""
    return ((place, 0) if rank is None else (1, rank) for rank in ranks)


def _ranks(column: Column) -> list:
    """Values that are in order as the column's are; None for NULL."""
    values = values_of(column, column.type.scale)
    if column.type.family == "text":
        values = [value.encode() for value in values]
    if column.type.family == "float":
        values = [(1, 0.0) if value != value else (0, value) for value in values]
    if column.valid is None:
        return values
    return [value if ok else None for value, ok in zip(values, column.valid.tolist())]


def sayable(case: Case, promises: int) -> int:
    """Those that have a meaning for it: it may be less than what they were drawn for."""
    for side in ("left", "right"):
        if not case.keys[side]:
            promises &= ~UNIQUE[side]
        if not can_be_sorted(case, side):
            promises &= ~SORTED[side]
    return promises


def are_kept(case: Case, expected: Answer, promises: int, rows: int) -> bool:
    """promises  sayable ones"""
    if promises & ROWS and expected.count > rows:
        return False
    for side in ("left", "right"):
        if promises & UNIQUE[side] and not are_unique(case, side):
            return False
        if promises & SORTED[side] and not are_sorted(case, side):
            return False
    return True
