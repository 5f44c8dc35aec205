"""How pairs of key columns are compared, and what is said where they cannot be."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, Union

import pyarrow as pa

from . import _abi
from .errors import InvalidArgument, TypeMismatch

# Of all keys, or of those named, or a truth value for each.
OfKeys = Union[bool, Sequence[str], Sequence[bool]]


def key_flags(names: Sequence[str], null_equal: Any, ieee_float: Any) -> list[int]:
    """GPUJOIN_KEY_* of each key, or-ed.

    names  of the keys, as the arguments may say them
    Errors: InvalidArgument, which names the argument.
    """
    nulls = _chosen("null_equal", null_equal, names)
    floats = _chosen("ieee_float", ieee_float, names)
    return [
        _abi.KEY_NULL_EQUAL * null | _abi.KEY_IEEE_FLOAT * ieee for null, ieee in zip(nulls, floats)
    ]


def _chosen(argument: str, given: Any, names: Sequence[str]) -> list[bool]:
    """Whether it is said of each key."""
    if isinstance(given, bool):
        if given and not names:
            raise InvalidArgument(f"{argument}: a cross join has no keys")
        return [given] * len(names)
    if isinstance(given, (bytes, dict)) or not hasattr(given, "__iter__"):
        raise InvalidArgument(
            f"{argument} is a {type(given).__name__}; it must be True, False, a list of key names, "
            "or a list of a truth value for each key"
        )
    values = [given] if isinstance(given, str) else list(given)
    if values and all(isinstance(value, bool) for value in values):
        if len(values) != len(names):
            raise InvalidArgument(
                f"{argument} has {len(values)} truth values, and there are {len(names)} keys"
            )
        return values
    for value in values:
        if value not in names:
            there = f"the keys are {', '.join(names)}" if names else "a cross join has no keys"
            raise InvalidArgument(f"{argument}: {value!r} is no key; {there}")
    return [name in values for name in names]


@contextlib.contextmanager
def naming_key_types(keys: Sequence[tuple[pa.Field, pa.Field]]) -> Iterator[None]:
    """Adds to a TypeMismatch what Arrow calls the types of the keys: with their zones and units."""
    try:
        yield
    except TypeMismatch as error:
        pairs = [f"{a.name} ({a.type}) and {b.name} ({b.type})" for a, b in keys]
        raise TypeMismatch(f"{error}; the keys are {', '.join(pairs)}") from None
