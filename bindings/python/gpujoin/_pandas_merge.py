"""What gpujoin.merge does, once pandas is known to be there."""

from __future__ import annotations

from typing import Any

import numpy
import pandas

from ._context import Context
from ._pandas_frame import Rows, frame_of, sample
from ._pandas_keys import arrow_keys, sort_codes, warn_of_fractions
from ._row_pairs import row_pairs
from ._validate import unique_sides
from .errors import BrokenPromise, Unsupported

_KINDS = {
    "inner": "inner",
    "left": "left",
    "right": "right",
    "outer": "full",
    "cross": "cross",
    "left_anti": "left",  # of which the rows without a match are taken, and their labels
    "right_anti": "right",
}


def merged(left: Any, right: Any, arguments: dict[str, Any], context: Context | None) -> Any:
    """pandas.merge(left, right, **arguments). Errors: those of gpujoin.merge."""
    how = arguments["how"]
    for name in ("on", "left_on", "right_on"):
        _check_names(name, arguments[name])
    first = [_frame_with_values(side) for side in (left, right)]
    sample(*first, arguments)  # of which pandas says what is wrong with the arguments
    left, right = (side.to_frame() if side.ndim == 1 else side for side in (left, right))
    if left.columns.nlevels > 1:
        raise Unsupported("merge: columns have several levels")

    keys = _keys_of(left, right, arguments)
    pairs_of_keys = [(left[a], right[b]) for a, b in keys]
    arrays = [arrow_keys(*pair) for pair in pairs_of_keys]
    for pair in pairs_of_keys:
        warn_of_fractions(*pair)
    found = _Matches(left, right, keys, arrays, arguments, context)
    rows = Rows(*found.rows())
    if (arguments["sort"] or how == "outer") and keys:
        rows = rows.in_order(_order_of(rows, pairs_of_keys, len(left)))

    index = pandas.RangeIndex(len(rows))
    one_of_each = rows.one_of_each()
    if how in ("left_anti", "right_anti"):
        kept = numpy.flatnonzero(~(rows.has_left & rows.has_right))
        index, rows = index.take(kept), rows.in_order(kept)
        one_of_each = rows.one_of_each() if len(rows) else one_of_each
    like = sample(
        *(
            side.take(numbers or range(min(1, len(side))))
            for side, numbers in zip((left, right), one_of_each)
        ),
        {**arguments, "validate": None},
    )
    shared = [a for a, b in keys if a == b]
    return frame_of(left, right, rows, index, shared, like, bool(arguments["indicator"]))


def _check_names(argument: str, given: Any) -> None:
    arrays = (numpy.ndarray, pandas.api.extensions.ExtensionArray, pandas.Index, pandas.Series)
    for name in given if isinstance(given, (list, tuple)) else [given]:
        if isinstance(name, arrays):
            text = f"merge: {argument} has a {type(name).__name__}; keys are names of columns"
            raise Unsupported(text)


def _frame_with_values(side: Any) -> Any:
    """A row of a side, for pandas to look at the types of: one without missing values, if any."""
    if getattr(side, "ndim", 0) != 2:
        return side[:1] if hasattr(side, "iloc") else side
    whole = side.iloc[:64].dropna()
    return whole.iloc[:1] if len(whole) else side.iloc[:1]


def _keys_of(left: Any, right: Any, arguments: dict[str, Any]) -> list[tuple[Any, Any]]:
    """The names of the key columns, of which pandas found nothing wrong."""

    def listed(names: Any) -> list[Any]:
        return list(names) if isinstance(names, (list, tuple)) else [names]

    if arguments["how"] == "cross":
        return []
    if arguments["on"] is not None:
        of_left = of_right = listed(arguments["on"])
    elif arguments["left_on"] is not None:
        of_left, of_right = listed(arguments["left_on"]), listed(arguments["right_on"])
    else:
        of_left = of_right = list(left.columns.intersection(right.columns))
    keys = list(zip(of_left, of_right))
    for a, b in keys:
        if a not in left.columns or b not in right.columns:
            raise Unsupported(f"merge: {a!r} or {b!r} is a level of an index, not a column")
        if a != b and not (isinstance(a, str) and isinstance(b, str)):
            raise Unsupported(
                f"merge: keys {a!r} and {b!r} are called differently, and not by text"
            )
    return keys


def _order_of(rows: Any, pairs_of_keys: Any, left_rows: int) -> Any:
    """Of the output's rows, by their keys; those of one key as they are."""
    places = numpy.where(rows.has_left, rows.left, rows.right + left_rows)
    codes = [sort_codes(*pair)[places] for pair in pairs_of_keys]
    return numpy.lexsort(codes[::-1])


class _Matches:
    """The rows of two frames that match."""

    def __init__(
        self,
        left: Any,
        right: Any,
        keys: Any,
        arrays: Any,
        arguments: dict[str, Any],
        context: Context | None,
    ) -> None:
        self._left, self._right, self._keys = left, right, keys
        self._arguments = arguments
        self._sides = [a for a, _ in arrays], [b for _, b in arrays]
        self._context = context

    def rows(self) -> tuple[Any, Any]:
        """Row numbers of left and of right. Errors: MergeError of pandas, for `validate`."""
        how, validate = self._arguments["how"], self._arguments["validate"]
        unique = unique_sides(validate)
        if how == "cross" and unique:
            self._refuse_repeated(None)
        order = "right" if _KINDS[how] == "right" else "left"
        promise = [side + "_unique" for side in unique] if self._keys else []
        try:
            pairs = self._pairs(_KINDS[how], order=order, promise=promise or None)
        except BrokenPromise as error:
            self._refuse_repeated(error)
            raise
        names = pairs.schema.names
        missing = numpy.full(pairs.num_rows, -1)
        return tuple(
            _numbers(pairs.column(name)) if name in names else missing
            for name in ("left_row", "right_row")
        )

    def _pairs(self, how: str, **options: Any) -> Any:
        lengths = len(self._left), len(self._right)
        return row_pairs(
            *(*self._sides, how, lengths),
            null_equal=bool(self._keys),
            context=self._context,
            **options,
        )

    def _refuse_repeated(self, error: BrokenPromise | None) -> None:
        """Has pandas say which keys come twice: it merges the rows that have those."""
        sides = (self._left, self._right)
        repeated = [
            side[side.duplicated(list(names), keep=False)] if names else side.iloc[:2]
            for side, names in zip(sides, zip(*self._keys) if self._keys else ([], []))
        ]
        sample(*repeated, self._arguments)


def _numbers(column: Any) -> Any:
    """Row numbers as NumPy has them, -1 where there is none."""
    return column.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False)
