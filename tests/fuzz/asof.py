"""ASOF joins: drawn, and what their matches are, by a loop over the places of each group."""

from __future__ import annotations

import ctypes
import random
from bisect import bisect_left, bisect_right
from collections import defaultdict
from dataclasses import dataclass, replace

from .case import Case, Column
from .comparable import keys_of, values_of
from .kinds import Kind
from .library import abi

BACKWARD, FORWARD, NEAREST = 1, 2, 3  # GPUJOIN_DIRECTION_*
STRICT, TOLERANCE = 1, 2  # GPUJOIN_ASOF_*
DIRECTIONS = {"backward": BACKWARD, "forward": FORWARD, "nearest": NEAREST}
SHARE = 0.12
_KINDS = ("inner", "outer", "semi", "anti")
_ORDERED = ("number", "float", "date", "zoned", "time", "duration")
_MOST_SCALES = 77  # for the distance of two decimals
_MOST = (1 << 63) - 1


@dataclass(frozen=True)
class Asof:
    """As gpujoin_asof has it; positions of columns; tolerance in what the library counts."""

    left: int
    right: int
    direction: int
    flags: int = 0
    tolerance: int | float = 0

    def position(self, side: str) -> int:
        return self.left if side == "left" else self.right

    def moved(self, side: str, removed: int) -> Asof:
        """Without a column of a side."""
        return replace(self, **{side: self.position(side) - (self.position(side) > removed)})

    def described(self) -> ctypes.Structure:
        made = abi.Asof(direction=self.direction, left_column=self.left, right_column=self.right)
        made.flags = self.flags
        if isinstance(self.tolerance, float):
            made.tolerance_float = self.tolerance
        else:
            made.tolerance = self.tolerance
        return made

    def words(self, case: Case) -> list[str]:
        """As text cases write it."""
        names = [case.tables[s].columns[self.position(s)].name for s in ("left", "right")]
        words = [*names, next(n for n, d in DIRECTIONS.items() if d == self.direction)]
        words += ["strict"] * bool(self.flags & STRICT)
        return words + (["within", repr(self.tolerance)] if self.flags & TOLERANCE else [])


def read_words(words: list[str], positions: dict[str, dict[str, int]]) -> Asof:
    left, right, direction, *options = words
    flags = STRICT * ("strict" in options) | TOLERANCE * ("within" in options)
    given = options[-1] if flags & TOLERANCE else "0"
    tolerance = int(given) if given.lstrip("-").isdigit() else float(given)
    places = positions["left"][left], positions["right"][right]
    return Asof(*places, DIRECTIONS[direction], flags, tolerance)


def is_asof_kind(kind: Kind) -> bool:
    return kind.rule in _KINDS or kind.name == "left_single"


def draw_asof(rng: random.Random, case: Case) -> None:
    """One of the keys becomes the ordered column, where one has an order."""
    if not is_asof_kind(case.kind):
        return
    if case.residual is not None or case.is_type_error:
        return
    fits = [
        n
        for n, (left, right, _) in enumerate(case.key_pairs())
        if left.type.family == right.type.family and left.type.family in _ORDERED
    ]
    if not fits:
        return
    n = rng.choice(fits)
    left, right, _ = case.key_pairs()[n]
    direction = rng.choice((BACKWARD, FORWARD, NEAREST))
    flags = rng.choice((0, 0, STRICT)) | rng.choice((0, 0, TOLERANCE))
    if abs(left.type.scale - right.type.scale) > _MOST_SCALES:
        direction, flags = rng.choice((BACKWARD, FORWARD)), flags & STRICT
    tolerance = _draw_tolerance(rng, left, right) if flags & TOLERANCE else 0
    case.asof = Asof(case.keys["left"][n], case.keys["right"][n], direction, flags, tolerance)
    case.keys = {side: keys[:n] + keys[n + 1 :] for side, keys in case.keys.items()}
    case.flags = case.flags[:n] + case.flags[n + 1 :]
    case.tokens.clear()


def _draw_tolerance(rng: random.Random, left: Column, right: Column) -> int | float:
    """About as far as two rows are apart."""
    places, unit = _places(left, right)
    known = [[place for place in side if place is not None] for side in places]
    if left.type.family == "float":
        if all(known):
            apart = abs(rng.choice(known[0]) - rng.choice(known[1]))
            return float(apart) if apart == apart else 0.5
        return 0.5
    apart = abs(rng.choice(known[0]) - rng.choice(known[1])) // unit if all(known) else 3
    return min(rng.choice((0, 1, apart, apart, apart + 1)), _MOST)


def _places(left: Column, right: Column) -> tuple[list[list], int]:
    """Of each row of both sides, None for one that has none; and what one unit is of them."""
    scale = max(left.type.scale, right.type.scale)
    sides = []
    for column in (left, right):
        values = values_of(column, scale)
        valid = [True] * len(values) if column.valid is None else column.valid.tolist()
        sides.append([v if ok and v == v else None for v, ok in zip(values, valid)])
    is_counted = left.type.has_unit and left.type.family != "number"
    return sides, min(left.type.unit, right.type.unit) if is_counted else 1


def matches_of(case: Case) -> dict[int, int]:
    """The right row of each left row that has one."""
    asof = case.asof
    columns = [case.tables[s].columns[asof.position(s)] for s in ("left", "right")]
    (ours, theirs), unit = _places(*columns)
    keys = keys_of(case)
    groups = defaultdict(list)
    for row, (key, place) in enumerate(zip(keys["right"], theirs)):
        if None not in key and place is not None:
            groups[key].append((place, row))
    places = {}
    for key, rows in groups.items():
        rows.sort()
        places[key] = [place for place, _ in rows]
    found = {}
    for row, (key, place) in enumerate(zip(keys["left"], ours)):
        if None in key or place is None or key not in groups:
            continue
        match = _match(asof, groups[key], places[key], place, unit)
        if match is not None:
            found[row] = match
    return found


def _match(asof: Asof, rows: list, places: list, place: object, unit: int) -> int | None:
    is_strict = bool(asof.flags & STRICT)
    before = (bisect_left if is_strict else bisect_right)(places, place) - 1
    after = (bisect_right if is_strict else bisect_left)(places, place)
    near = [
        (_apart(place, places[i]), i)
        for i, wanted in ((before, BACKWARD), (after, FORWARD))
        if 0 <= i < len(rows) and asof.direction in (wanted, NEAREST)
    ]
    if asof.flags & TOLERANCE:
        near = [(apart, i) for apart, i in near if apart <= asof.tolerance * unit]
    if not near:
        return None
    return rows[min(near, key=lambda one: one[0])[1]][1]  # the first, of equals: before


def _apart(one: object, other: object) -> object:
    return 0 if one == other else abs(one - other)
