"""Kinds of joins: which rows of which side come out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from .errors import InvalidArgument

_BOTH = ("left", "right")


@dataclass(frozen=True)
class Kind:
    """A kind of join: GPUJOIN_JOIN_* in gpujoin.h, section 6."""

    name: str
    number: int
    sides: tuple[str, ...]  # whose rows come out
    without_row: tuple[str, ...] = ()  # the sides that may have no row in a row of the output
    dropped_keys: str | None = None  # the side whose keys the other side's say already
    has_mark: bool = False
    has_keys: bool = True

    @property
    def pair_fields(self) -> list[pa.Field]:
        """The row numbers that come out with pairs."""
        return [pa.field(s + "_row", pa.uint32(), s in self.without_row) for s in self.sides]


KINDS = {
    kind.name: kind
    for kind in (
        Kind("inner", 1, _BOTH, (), "right"),
        Kind("left", 2, _BOTH, ("right",), "right"),
        Kind("right", 3, _BOTH, ("left",), "left"),
        Kind("full", 4, _BOTH, _BOTH),
        Kind("left_semi", 5, ("left",)),
        Kind("right_semi", 6, ("right",)),
        Kind("left_anti", 7, ("left",)),
        Kind("right_anti", 8, ("right",)),
        Kind("left_mark", 9, ("left",), has_mark=True),
        Kind("right_mark", 10, ("right",), has_mark=True),
        Kind("left_not_in", 11, ("left",)),
        Kind("right_not_in", 12, ("right",)),
        Kind("left_single", 13, _BOTH, ("right",), "right"),
        Kind("right_single", 14, _BOTH, ("left",), "left"),
        Kind("cross", 15, _BOTH, has_keys=False),
    )
}

# What other libraries call them; a side that is not named is the left one.
ALIASES = {
    **{"outer": "full", "full_outer": "full"},
    **{name: f"left_{name}" for name in ("semi", "anti", "mark", "not_in", "single")},
}


def kind_of(how: Any) -> Kind:
    """The kind of a name or an alias; "-" and upper case are allowed. Errors: InvalidArgument."""
    name = how.lower().replace("-", "_") if isinstance(how, str) else ""
    kind = KINDS.get(ALIASES.get(name, name))
    if kind is None:
        raise InvalidArgument(f"how {how!r} is none of {', '.join([*KINDS, *ALIASES])}")
    return kind
