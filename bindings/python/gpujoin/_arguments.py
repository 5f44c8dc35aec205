"""Checks of single arguments, which name the argument.

A number that a field of the library's structs cannot hold is cut by ctypes without a word, and a
path ends for the library at its first NUL; so both are refused here.
"""

from __future__ import annotations

import operator
import os
from typing import Any

from .errors import InvalidArgument

INT32 = (1 << 31) - 1
INT64 = (1 << 63) - 1
UINT64 = (1 << 64) - 1


def whole(argument: str, number: Any, least: int, most: int) -> int:
    """A whole number in a range, of any type that can be an index; truth values are none.

    Errors: InvalidArgument.
    """
    try:
        value = operator.index(number)
    except TypeError:
        value = None
    if value is None or isinstance(number, bool):
        raise InvalidArgument(f"{argument} is {number!r}; it must be a whole number")
    if not least <= value <= most:
        said = value if value.bit_length() <= 128 else f"a number of {value.bit_length()} bits"
        raise InvalidArgument(f"{argument} is {said}; allowed are {least} to {most}")
    return value


def path_bytes(argument: str, path: Any) -> bytes:
    """A path as the library takes one. Errors: InvalidArgument."""
    try:
        found = os.fsencode(path)
    except TypeError:
        raise InvalidArgument(f"{argument} is a {type(path).__name__}, not a path") from None
    if b"\0" in found:
        raise InvalidArgument(f"{argument} {path!r} has a NUL in it")
    return found


def column_names(argument: str, names: Any) -> list[Any]:
    """A list of column names. Errors: InvalidArgument; whether there are such columns is asked
    later."""
    if isinstance(names, (str, bytes)):
        raise InvalidArgument(f"{argument} is a text; it must be a list of column names")
    try:
        return list(names)
    except TypeError:
        raise InvalidArgument(
            f"{argument} is a {type(names).__name__}; it must be a list of column names"
        ) from None


def check_suffix(suffix: Any) -> None:
    """Errors: InvalidArgument."""
    if not isinstance(suffix, str):
        raise InvalidArgument(f"suffix is a {type(suffix).__name__}; it must be a text")


def milliseconds(timeout: Any) -> int:
    """Seconds as the library counts them; 0 for None. Errors: InvalidArgument."""
    if timeout is None:
        return 0
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not timeout > 0:
        raise InvalidArgument(f"timeout is {timeout!r}, not a number of seconds above 0")
    return max(1, min(INT64, round(timeout * 1000))) if timeout < 2**53 else INT64
