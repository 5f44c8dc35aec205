"""The kinds of join: GPUJOIN_JOIN_* of gpujoin.h, and which sides come out of them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """name    as text cases write it
    number  GPUJOIN_JOIN_*
    rule    what happens to rows: "inner", "outer", "semi", "anti", "mark", "not_in", "single" or
            "cross"
    side    the side that the rule is about: "left", "right", or "both"
    """

    name: str
    number: int
    rule: str
    side: str

    @property
    def sides(self) -> tuple[str, ...]:
        """The sides whose columns and row numbers come out."""
        if self.rule in ("semi", "anti", "mark", "not_in"):
            return (self.side,)
        return ("left", "right")

    @property
    def has_mark(self) -> bool:
        return self.rule == "mark"

    def unmatched(self, side: str) -> bool:
        """Whether rows of a side come out when the other side has no match, its columns NULL."""
        return self.rule in ("outer", "single") and self.side in (side, "both")


KINDS = {
    kind.name: kind
    for kind in (
        Kind("inner", 1, "inner", "both"),
        Kind("left", 2, "outer", "left"),
        Kind("right", 3, "outer", "right"),
        Kind("full", 4, "outer", "both"),
        Kind("left_semi", 5, "semi", "left"),
        Kind("right_semi", 6, "semi", "right"),
        Kind("left_anti", 7, "anti", "left"),
        Kind("right_anti", 8, "anti", "right"),
        Kind("left_mark", 9, "mark", "left"),
        Kind("right_mark", 10, "mark", "right"),
        Kind("left_not_in", 11, "not_in", "left"),
        Kind("right_not_in", 12, "not_in", "right"),
        Kind("left_single", 13, "single", "left"),
        Kind("right_single", 14, "single", "right"),
        Kind("cross", 15, "cross", "both"),
    )
}
