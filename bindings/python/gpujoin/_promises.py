"""What the caller knows of the data: promise=, promised_rows=."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ._arguments import INT64, whole
from .errors import InvalidArgument

_ROWS = 16
_NAMED = {"left_unique": 1, "right_unique": 2, "left_sorted": 4, "right_sorted": 8}


@dataclass(frozen=True)
class Promises:
    """bits  GPUJOIN_PROMISE_*, or-ed
    rows  of the join, at most
    """

    bits: int = 0
    rows: int = 0


def promises_of(promise: str | Sequence[str] | None, promised_rows: Any) -> Promises:
    """Errors: InvalidArgument."""
    names = [promise] if isinstance(promise, str) else promise or ()
    bits = 0
    for name in names:
        known = _NAMED.get(name.lower().replace("-", "_")) if isinstance(name, str) else None
        if known is None:
            raise InvalidArgument(f"promise {name!r} is none of {', '.join(_NAMED)}")
        bits |= known
    if promised_rows is None:
        return Promises(bits)
    return Promises(bits | _ROWS, whole("promised_rows", promised_rows, 0, INT64))
