"""The frame that gpujoin.merge answers with, of the rows that were found to match.

pandas itself says what its columns are called and of which types: it merges one row of each sort
that is in the output, and all values are put in as those are.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy
import pandas


class Rows:
    """Row numbers of both sides for each row of the output; -1 where a side has none."""

    def __init__(self, left: numpy.ndarray, right: numpy.ndarray) -> None:
        self.left = left
        self.right = right
        self.has_left = left >= 0
        self.has_right = right >= 0

    def __len__(self) -> int:
        return len(self.left)

    def in_order(self, order: numpy.ndarray) -> Rows:
        return Rows(self.left[order], self.right[order])

    def one_of_each(self) -> tuple[list[int], list[int]]:
        """Rows of left and of right: of a pair, and of a row that each side has alone.

        The row of a pair comes twice, unless all rows of both sides are in the output as they were:
        pandas answers with the finer of two units of time for the one, and not for the other.
        """
        of_left, of_right = [], []
        for sort in (
            self.has_left & self.has_right,
            self.has_left & ~self.has_right,
            ~self.has_left & self.has_right,
        ):
            first = int(sort.argmax()) if len(sort) else 0
            if len(sort) and sort[first]:
                if self.has_left[first]:
                    of_left.append(int(self.left[first]))
                if self.has_right[first]:
                    of_right.append(int(self.right[first]))
        numbers = numpy.arange(len(self))
        if not (numpy.array_equal(self.left, numbers) and numpy.array_equal(self.right, numbers)):
            of_right += of_right[:1]
        return of_left, of_right


def sample(left: Any, right: Any, arguments: dict[str, Any]) -> Any:
    """What pandas makes of a few rows. Errors: those of pandas.merge."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of these few rows alone
        return pandas.merge(left, right, **arguments)


def frame_of(
    left: Any,
    right: Any,
    rows: Rows,
    index: Any,
    shared_keys: Sequence[Any],
    like: Any,
    indicator: bool,
) -> Any:
    """The output.

    shared_keys  the keys that are called the same on both sides: one column for both
    like         sample() of rows of each sort that the output has
    """
    columns = []
    for position, name in enumerate(left.columns):
        wanted = like.dtypes.iloc[len(columns)]
        values = left.iloc[:, position]
        if name in shared_keys:
            columns.append(_either(values, right[name], rows, wanted))
        else:
            columns.append(_taken(values, rows.left, rows.has_left, wanted))
    for position, name in enumerate(right.columns):
        if name not in shared_keys:
            wanted = like.dtypes.iloc[len(columns)]
            columns.append(_taken(right.iloc[:, position], rows.right, rows.has_right, wanted))
    if indicator:
        sides = rows.has_left + 2 * rows.has_right - 1
        columns.append(pandas.Categorical.from_codes(sides, dtype=like.dtypes.iloc[len(columns)]))
    frame = pandas.DataFrame(dict(enumerate(columns)), index=range(len(rows)), copy=False)
    frame.index, frame.columns = index, like.columns
    frame.attrs = like.attrs
    return frame


def _taken(values: Any, rows: numpy.ndarray, has_row: numpy.ndarray, wanted: Any) -> Any:
    """Values by row number, missing where there is no row."""
    if pandas.api.types.is_object_dtype(wanted):
        values = values.astype(object)  # before it lacks values: what is missing is NaN then
    array, is_filled = values.array, not has_row.all()
    if isinstance(array, pandas.arrays.NumpyExtensionArray):
        # Of a type that has no missing value another one is made.
        taken = pandas.api.extensions.take(array.to_numpy(), rows, allow_fill=is_filled)
    else:
        taken = array.take(rows, allow_fill=is_filled)
    return pandas.Series(taken, dtype=taken.dtype, copy=False).astype(wanted)


def _either(left: Any, right: Any, rows: Rows, wanted: Any) -> Any:
    """The key of left, or where there is no row of left, that of right."""
    here = rows.has_left
    if here.all():
        return _taken(left, rows.left, here, wanted)
    there = ~here
    parts = [
        _taken(values, numbers, numbers >= 0, wanted)
        for values, numbers in ((left, rows.left[here]), (right, rows.right[there]))
        if len(numbers)
    ]
    if len(parts) == 1:
        return parts[0]
    places = numpy.empty(len(rows), dtype=numpy.intp)
    places[here] = numpy.arange(here.sum())
    places[there] = numpy.arange(here.sum(), len(rows))
    return pandas.concat(parts, ignore_index=True).take(places).reset_index(drop=True)
