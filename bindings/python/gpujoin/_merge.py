"""merge(): pandas.merge, joined by the library."""

from __future__ import annotations

from typing import Any

from ._context import Context
from .errors import Unsupported


def merge(
    left: Any,
    right: Any,
    how: str = "inner",
    on: Any = None,
    left_on: Any = None,
    right_on: Any = None,
    left_index: bool = False,
    right_index: bool = False,
    sort: bool = False,
    suffixes: Any = ("_x", "_y"),
    *,
    indicator: bool | str = False,
    validate: str | None = None,
    context: Context | None = None,
) -> Any:
    """pandas.merge(left, right, ...) of columns: the same frame, its rows found by the library.

    left, right  pandas.DataFrame, or a named Series. Only the keys are read as Arrow; all other
                 columns are taken by row number, of whatever types they are
    how          inner, left, right, outer, cross, left_anti, right_anti (the last two as far as
                 the installed pandas has them)
    on, left_on, right_on
                 names of columns. None = those that both sides have
    sort, suffixes, indicator, validate
                 as pandas has them
    context      None = a shared one, on device "auto"

    As in pandas, and not as in SQL, missing keys match each other (None, NaN, NaT and NA), integers
    are compared with floats as floats, the order of rows is that of pandas, and the indexes are not
    kept. Integers of different signedness are compared exactly, where pandas may compare them as
    floats. Keys are of any types that gpujoin.join takes, and objects if all of a column are of one
    such type.

    Errors: those of pandas.merge (MergeError, KeyError, ValueError, TypeError) for what it refuses;
    Unsupported, a NotImplementedError: keys by index, index level or array, columns in several
    levels, keys of other types; those of gpujoin.join.
    """
    if left_index or right_index:
        raise Unsupported("merge: left_index and right_index; keys are columns")
    try:
        import pandas  # noqa: F401, for the module below
    except ImportError as error:
        raise Unsupported(f"merge() needs the package pandas: {error}") from None
    from ._pandas_merge import merged

    arguments = {
        **{"how": how, "on": on, "left_on": left_on, "right_on": right_on, "sort": sort},
        **{"suffixes": suffixes, "indicator": indicator, "validate": validate},
    }
    return merged(left, right, arguments, context)
