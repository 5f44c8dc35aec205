"""Joins of polars frames by the library: importing this gives frames the namespace `gpujoin`.

    import gpujoin.polars
    orders.gpujoin.join(lines, left_on="o_orderkey", right_on="l_orderkey", how="left")

DataFrame and LazyFrame have it. Only the keys are read as Arrow; all other columns are gathered by
row number, of whatever types they are.
"""

from __future__ import annotations

from typing import Any

from ._context import Context
from ._row_pairs import row_pairs
from ._validate import unique_sides
from .errors import BrokenPromise, Unsupported

try:
    import polars
except ImportError as error:
    raise ImportError(f"gpujoin.polars needs the package polars: {error}") from None

_KINDS = {"semi": "left_semi", "anti": "left_anti"}
_ORDERS = {"left": "left", "left_right": "left", "right": "right", "right_left": "right"}
_SIDES = {"prefer_left": "left", "force_left": "left", "prefer_right": "right"}
_SIDES["force_right"] = "right"


@polars.api.register_dataframe_namespace("gpujoin")
class DataFrameJoins:
    """What DataFrame.gpujoin has."""

    def __init__(self, frame: polars.DataFrame) -> None:
        self._frame = frame

    def join(
        self,
        other: polars.DataFrame,
        on: Any = None,
        how: str = "inner",
        *,
        left_on: Any = None,
        right_on: Any = None,
        suffix: str = "_right",
        validate: str = "m:m",
        nulls_equal: bool = False,
        coalesce: bool | None = None,
        maintain_order: str | None = None,
        build_side: str = "auto",
        context: Context | None = None,
    ) -> polars.DataFrame:
        """DataFrame.join(other, ...): the same rows and columns, found by the library.

        Arguments are those of polars. maintain_order orders rows as polars does, and with "left"
        and "right" those of one row by the other side's; without it they come in any order, but
        those of semi and anti joins as they are. build_side names the side whose table is built.
        context      None = a shared one, on device "auto"

        Errors: those of DataFrame.join for what polars refuses, ComputeError for `validate` among
        them; Unsupported, a NotImplementedError: keys of nested types and of others that
        gpujoin.join does not take, and key expressions that have another number of rows than the
        frame; those of gpujoin.join.
        """
        if not isinstance(other, polars.DataFrame):
            raise TypeError(f"other is a {type(other).__name__}, not a polars.DataFrame")
        arguments = {
            **{"on": on, "how": how, "left_on": left_on, "right_on": right_on, "suffix": suffix},
            **{"validate": validate, "nulls_equal": nulls_equal, "coalesce": coalesce},
            **{"maintain_order": maintain_order, "build_side": build_side},
        }
        return _join(self._frame, other, arguments, context)


@polars.api.register_lazyframe_namespace("gpujoin")
class LazyFrameJoins:
    """What LazyFrame.gpujoin has."""

    def __init__(self, frame: polars.LazyFrame) -> None:
        self._frame = frame

    def join(
        self,
        other: polars.LazyFrame,
        on: Any = None,
        how: str = "inner",
        *,
        context: Context | None = None,
        **options: Any,
    ) -> polars.LazyFrame:
        """LazyFrame.join(other, ...), with the arguments of DataFrame.gpujoin.join.

        When the frame that it answers with is collected, both sides are, side by side, and then
        joined: nothing that is done to the joined frame moves to before the join.

        Errors: as those of DataFrame.gpujoin.join, when it is collected; polars wraps some of them
        into a ComputeError.
        """
        if not isinstance(other, polars.LazyFrame):
            raise TypeError(f"other is a {type(other).__name__}, not a polars.LazyFrame")
        frame = self._frame

        def joined() -> polars.DataFrame:
            left, right = polars.collect_all([frame, other])
            return left.gpujoin.join(right, on, how, context=context, **options)

        def schema() -> polars.Schema:
            return frame.join(other, on, how, **options).collect_schema()

        return polars.defer(joined, schema=schema)


def _join(
    left: polars.DataFrame,
    right: polars.DataFrame,
    arguments: dict[str, Any],
    context: Context | None,
) -> polars.DataFrame:
    how, on = arguments["how"], arguments["on"]
    # Polars says what is wrong with the arguments, and names and types of columns.
    like = left.head(0).join(right.head(0), **arguments)
    keys = [
        [] if how == "cross" else _keys_of(frame, on if on is not None else arguments[name])
        for frame, name in ((left, "left_on"), (right, "right_on"))
    ]
    arrays = [_arrow_keys(a, b) for a, b in zip(*keys)]
    is_of_left = how in ("semi", "anti")
    unique = unique_sides(arguments["validate"])
    if how == "full":  # of which polars counts rows with a null key too
        _check_unique(keys, unique, arguments["validate"])
        unique = ()
    options = {
        "order": "left" if is_of_left else _ORDERS.get(arguments["maintain_order"]),
        "build_side": _SIDES.get(arguments["build_side"]),
        "promise": [side + "_unique" for side in unique] or None,
    }
    try:
        pairs = row_pairs(
            *([a for a, _ in arrays], [b for _, b in arrays]),
            _KINDS.get(how, how),
            (left.height, right.height),
            null_equal=bool(arrays) and arguments["nulls_equal"],
            context=context,
            **options,
        )
    except BrokenPromise:
        raise _not_unique(arguments["validate"]) from None
    rows = [polars.from_arrow(column) for column in pairs.columns]
    if is_of_left:
        columns = [column.gather(rows[0]) for column in left.get_columns()]
    else:
        is_coalesced = like.width < left.width + right.width
        names = [{key.name for key in side} if is_coalesced else set() for side in keys]
        columns = _columns(left, right, rows, how, names, keys)
    return polars.DataFrame(
        [
            column.cast(kind).alias(name) if column.dtype != kind else column.alias(name)
            for column, (name, kind) in zip(columns, like.schema.items())
        ]
    )


def _check_unique(keys: list[list[polars.Series]], sides: tuple[str, ...], validate: str) -> None:
    for side, columns in zip(("left", "right"), keys):
        if side in sides:
            named = [column.alias(str(i)) for i, column in enumerate(columns)]
            if polars.DataFrame(named).is_duplicated().any():
                raise _not_unique(validate)


def _not_unique(validate: str) -> Exception:
    return polars.exceptions.ComputeError(f"join keys did not fulfill {validate} validation")


def _columns(
    left: polars.DataFrame,
    right: polars.DataFrame,
    rows: list[polars.Series],
    how: str,
    coalesced: list[set[str]],
    keys: list[list[polars.Series]],
) -> list[polars.Series]:
    """The columns of the output; keys that are coalesced come once."""
    of_left, of_right = rows
    other = {a.name: b for a, b in zip(*keys)}
    found = []
    for column in left.get_columns():
        is_key = column.name in coalesced[0]
        if is_key and how == "right":
            continue
        values = column.gather(of_left)
        if is_key and how == "full":
            there = other[column.name].gather(of_right).cast(values.dtype)
            values = there.zip_with(of_left.is_null(), values)
        found.append(values)
    for column in right.get_columns():
        if column.name not in coalesced[1] or how == "right":
            found.append(column.gather(of_right))
    return found


def _keys_of(frame: polars.DataFrame, given: Any) -> list[polars.Series]:
    """The columns that a name, an expression, or several of them stand for."""
    given = [given] if isinstance(given, (str, polars.Expr)) else list(given)
    keys = [column for expression in given for column in frame.select(expression).get_columns()]
    for key in keys:
        if len(key) != frame.height:
            text = f"join: the key {key.name!r} has {len(key)} rows, and its frame {frame.height}"
            raise Unsupported(text)
    return keys


def _arrow_keys(left: polars.Series, right: polars.Series) -> tuple[Any, Any]:
    """One key of both sides, in types that the library compares. Errors: Unsupported."""
    if left.dtype != right.dtype and (left.dtype.is_float() or right.dtype.is_float()):
        # Polars compares them as their supertype.
        sides = [side.head(0).to_frame("k") for side in (left, right)]
        empty = polars.concat(sides, how="vertical_relaxed")
        left, right = (side.cast(empty["k"].dtype) for side in (left, right))
    try:
        return left.to_arrow(), right.to_arrow()
    except (polars.exceptions.PolarsError, TypeError, ValueError) as error:
        text = f"join: keys {left.name!r} of type {left.dtype} have no Arrow type: {error}"
        raise Unsupported(text) from None
