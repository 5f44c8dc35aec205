"""What is read of a result, and how its columns are turned into values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .column_types import ColumnType

NO_ROW = -1


@dataclass
class Output:
    """rows     how many there are
    indices  of the sides whose row numbers were asked for, -1 = no row
    columns  (values, valid) of each output column; valid None = everywhere
    mark     1 true, 0 false, -1 NULL
    """

    rows: int
    indices: dict[str, np.ndarray]
    columns: list[tuple[np.ndarray, np.ndarray | None]]
    mark: np.ndarray | None = None


class BadResult(Exception):
    """A result that contradicts itself or the header."""


def check(holds: bool, problem: str) -> None:
    if not holds:
        raise BadResult(problem)


def check_null_count(valid: np.ndarray | None, said: int) -> None:
    counted = 0 if valid is None else int(len(valid) - np.count_nonzero(valid))
    check(said == counted, f"null_count is {said}, and {counted} values are NULL")


def no_values(column_type: ColumnType, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Of a column in which all is NULL."""
    return np.zeros(rows, column_type.dtype), np.zeros(rows, bool)


def words_between(offsets: np.ndarray, data: bytes) -> np.ndarray:
    """The text between offsets. Errors: BadResult."""
    check(bool((np.diff(offsets) >= 0).all()), "the offsets of text decrease")
    check(offsets[-1] <= len(data), f"offsets end at {offsets[-1]} of {len(data)} bytes of text")
    places = offsets.tolist()
    words = np.empty(len(places) - 1, object)
    words[:] = [data[a:b] for a, b in zip(places, places[1:])]
    return words


def words_of_views(views: bytes, valid: np.ndarray | None, buffers: list[bytes]) -> np.ndarray:
    """The text that views of 16 bytes hold or name; of a NULL nothing. Errors: BadResult."""
    rows = len(views) // 16
    words = np.full(rows, b"", object)
    lengths = np.frombuffer(views, np.int32).reshape(rows, 4)
    for row in range(rows) if valid is None else np.flatnonzero(valid).tolist():
        length, _, number, start = lengths[row].tolist()
        place = 16 * row
        if 0 <= length <= 12:
            words[row] = views[place + 4 : place + 4 + length]
            padding = views[place + 4 + length : place + 16]
            check(not any(padding), f"row {row}: a short view is not filled up with zeros")
            continue
        inside = 0 <= number < len(buffers) and 0 <= start <= len(buffers[number]) - length
        check(length >= 0 and inside, f"row {row}: a view of ({length}, {number}, {start})")
        words[row] = word = buffers[number][start : start + length]
        check(word[:4] == views[place + 4 : place + 8], f"row {row}: a view has another prefix")
    return words


def of_dictionary(
    indices: np.ndarray,
    valid: np.ndarray | None,
    entries: tuple[np.ndarray, np.ndarray | None],
) -> tuple[np.ndarray, np.ndarray | None]:
    """The entries at positions in a dictionary, some of which may be NULL. Errors: BadResult."""
    places = indices.astype(np.int64) if valid is None else np.where(valid, indices, 0)
    places = places.astype(np.int64)
    inside = (places >= 0) & (places < len(entries[0]))
    check(bool(inside.all()), "a position is outside of the dictionary")
    values, entries_valid = entries
    if entries_valid is not None:
        there = entries_valid[places]
        valid = there if valid is None else valid & there
    return values[places], valid
