"""In which order rows come out, and how many of them may."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import _abi
from ._arguments import INT64, UINT64, whole
from ._context import choose


@dataclass(frozen=True)
class Bounds:
    """What a join's specification says of that; 0 = nothing."""

    order: int = 0
    row_limit: int = 0
    byte_limit: int = 0

    def say(self, spec: _abi.JoinSpec) -> None:
        """Writes it to a specification."""
        spec.order = self.order
        spec.row_limit = self.row_limit
        spec.byte_limit = self.byte_limit


def bounds_of(order: Any, row_limit: Any, byte_limit: Any) -> Bounds:
    """Of join()'s arguments. Errors: InvalidArgument."""
    return Bounds(
        0 if order is None else choose("order", _abi.ORDERS, order),
        0 if row_limit is None else whole("row_limit", row_limit, 1, INT64),
        0 if byte_limit is None else whole("byte_limit", byte_limit, 1, UINT64),
    )
