"""In which order rows are to come, how many of them may, and how many there are said to be."""

from __future__ import annotations

import ctypes
import random
from ctypes import c_int64, c_uint64
from dataclasses import dataclass

from . import library
from .case import Answer, Case
from .library import Answered, Handle, call
from .output import check

_SIDES = {2: "left", 3: "right"}  # of GPUJOIN_ORDER_*
_PROBE = 1
_NEAR = (-1, 0, 1)


@dataclass(frozen=True)
class Bounds:
    """order       GPUJOIN_ORDER_*
    row_limit   so many rows more than there are; None = no limit
    byte_limit  likewise; only where rows are counted
    is_counted  gpujoin_plan_count is asked first
    """

    order: int = 0
    row_limit: int | None = None
    byte_limit: int | None = None
    is_counted: bool = False

    def __str__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in vars(self).items() if value)

    def ordering_side(self, case: Case, seen: Case, options: dict[str, int]) -> str | None:
        """By whose rows they come; None = nobody knows, or nobody asked.

        seen  what the result is read as
        """
        if case.grouped is not None and self.order == _PROBE:
            return None
        side = _SIDES.get(self.order)
        build_side = options.get("build_side")
        if self.order == _PROBE and build_side:
            side = "right" if build_side == 1 else "left"
        if self.order == _PROBE and (case.asof is not None or not case.keys["left"]):
            side = None
        if self.order == _PROBE and case.kind.rule == "cross":
            side = "left"
        if self.order and len(seen.kind.sides) == 1:
            side = seen.kind.sides[0]
        return side

    def say(self, spec: ctypes.Structure, expected: Answer) -> None:
        spec.order = self.order
        spec.row_limit = self._limit_of(expected)

    def must_fail(self, expected: Answer) -> bool:
        """Whether the limit of rows is below what there is."""
        return 0 < self._limit_of(expected) < expected.count

    def _limit_of(self, expected: Answer) -> int:
        if self.row_limit is None or expected.is_error:
            return 0
        return max(0, expected.count + self.row_limit)

    def count(self, plan: Handle, expected: Answer) -> int:
        """The bytes that the library counts. Errors: BadResult, Answered."""
        rows, size = c_int64(), c_uint64()
        call("plan_count", plan.pointer, ctypes.byref(rows), ctypes.byref(size))
        check(
            rows.value == expected.count,
            f"plan_count says {rows.value} rows, and there are {expected.count}",
        )
        return size.value

    def check_byte_limit(self, parts: list, spec: ctypes.Structure, size: int) -> None:
        """Joins once more with a limit near to the size. Errors: BadResult, Answered."""
        if self.byte_limit is None or size + self.byte_limit <= 0 or spec.row_limit:
            return
        spec.byte_limit = size + self.byte_limit
        try:
            with Handle("result") as result:
                call("join", *parts, result.out)
            check(self.byte_limit >= 0, f"{size} bytes within a limit of {spec.byte_limit}")
        except Answered as answer:
            if self.byte_limit >= 0 or answer.status != library.BYTE_LIMIT:
                raise
        finally:
            spec.byte_limit = 0


def draw_bounds(rng: random.Random) -> Bounds:
    is_counted = rng.random() < 0.15
    return Bounds(
        order=draw_order(rng) if rng.random() < 0.25 else 0,
        row_limit=rng.choice((*_NEAR, -100)) if rng.random() < 0.12 else None,
        byte_limit=rng.choice(_NEAR) if is_counted and rng.random() < 0.5 else None,
        is_counted=is_counted,
    )


def draw_order(rng: random.Random) -> int:
    return rng.choice((1, 2, 2, 3, 3))


def draw_limits(rng: random.Random, is_counted: bool) -> dict[str, int]:
    """Fields of Bounds. Fewer limits of rows that must fail: whatever else there is of such a join
    is not seen in rows."""
    if is_counted and rng.random() < 0.5:
        return {"byte_limit": rng.choice(_NEAR)}
    return {"row_limit": rng.choice((*_NEAR, 0, 1))}
