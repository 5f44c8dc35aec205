"""Which columns are keys, how pairs of them are compared, and what is said where they cannot be."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Union

import pyarrow as pa

from . import _abi
from ._inputs import Input
from ._kinds import Kind
from .errors import InvalidArgument, TypeMismatch

# Of all keys, or of those named, or a truth value for each.
OfKeys = Union[bool, Sequence[str], Sequence[bool]]


def key_positions(
    inputs: Mapping[str, Input], kind: Kind, on: Any, left_on: Any, right_on: Any, may_lack: bool
) -> dict[str, list[int]]:
    """The positions of the key columns of each side.

    may_lack  whether there is something else than keys that rows have to fulfil
    Errors: InvalidArgument.
    """
    is_named = any(names is not None for names in (on, left_on, right_on))
    if not kind.has_keys and is_named:
        raise InvalidArgument(f"a {kind.name} join has no keys: no on, left_on or right_on")
    if not is_named and (may_lack or not kind.has_keys):
        return {side: [] for side in inputs}
    if on is not None and left_on is not None:
        raise InvalidArgument("on and left_on both name the keys of left: give one of them")
    if on is None and left_on is None:
        raise InvalidArgument(
            "right_on is given, and left_on is not"
            if right_on is not None
            else "no keys are named: give on, or left_on and right_on"
        )
    of_left, names = ("left_on", left_on) if on is None else ("on", on)
    of_right = of_left if right_on is None and on is not None else "right_on"
    keys = {
        "left": inputs["left"].keys(names, of_left),
        "right": inputs["right"].keys(names if right_on is None else right_on, of_right),
    }
    if len(keys["left"]) != len(keys["right"]):
        raise InvalidArgument(
            f"{of_left} names {len(keys['left'])} columns, and right_on {len(keys['right'])}"
        )
    return keys


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
            raise InvalidArgument(f"{argument}: there are no keys")
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
            there = f"the keys are {', '.join(names)}" if names else "there are no keys"
            raise InvalidArgument(f"{argument}: {value!r} is no key; {there}")
    return [name in values for name in names]


@contextlib.contextmanager
def naming_key_types(keys: Sequence[tuple[pa.Field, pa.Field]]) -> Iterator[None]:
    """Adds to a TypeMismatch what Arrow calls the types of the keys: with their zones and units."""
    try:
        yield
    except TypeMismatch as error:
        pairs = [f"{a.name} ({a.type}) and {b.name} ({b.type})" for a, b in keys]
        if not pairs or any(
            part in str(error) for part in ("residual", "asof")  # which are of no key
        ):
            raise
        raise TypeMismatch(f"{error}; the keys are {', '.join(pairs)}") from None
