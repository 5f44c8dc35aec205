"""What the command line's options say of columns: kind, keys, condition, output."""

from __future__ import annotations

import argparse
import re
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ._asof import Asof, AsofColumns, asof_of
from ._aggregates import Aggregate, aggregates_of, group_columns
from ._columns import OutputColumn, all_columns, select_columns
from ._condition import Condition, condition_of
from ._keys import key_flags
from ._kinds import Kind, kind_of
from .errors import InvalidArgument, Unsupported


class UsageError(Exception):
    """What was asked for cannot be: exit status 2."""


def split_names(text: str) -> list[str]:
    """Names of columns with commas between them."""
    return [name.strip() for name in text.split(",")]


class Chosen(NamedTuple):
    """What is joined, and what comes out. Columns are positions in the inputs."""

    kind: Kind
    keys: dict[str, list[int]]
    flags: list[int]
    condition: Condition | None
    columns: list[OutputColumn]
    aggregates: list[Aggregate]

    def read(self, side: str) -> set[int]:
        """The columns of a side that the join reads."""
        needed = {column.column for column in self.columns if column.side == side}
        needed |= {aggregate.column for aggregate in self.aggregates if aggregate.side == side}
        return needed | self.compared(side)

    def compared(self, side: str) -> set[int]:
        """Those of them whose values it looks at."""
        return {*self.keys[side], *(self.condition.columns(side) if self.condition else ())}


def choose_columns(left: pa.Schema, right: pa.Schema, options: argparse.Namespace) -> Chosen:
    """What the options say of keys, conditions and output."""
    select = None if options.select is None else split_names(options.select)
    try:
        kind = kind_of(options.how)
        keys = _choose_keys(left, right, kind, options)
        flags = _choose_flags([left.names[key] for key in keys["left"]], options.null_equal)
        condition = condition_of(options.where, left, right)
        if options.aggregate:
            schemas = {"left": left, "right": right}
            aggregates = aggregates_of(schemas, {text: text for text in options.aggregate})
            columns = group_columns(schemas, options.by, select, aggregates)
            return Chosen(kind, keys, flags, condition, columns, aggregates)
        if options.by is not None:
            raise UsageError("--by is given, and --aggregate is not")
        columns = all_columns(left, right, kind, keys, options.suffix)
        selected = select_columns(columns, kind, keys, select)
        return Chosen(kind, keys, flags, condition, selected, [])
    except (InvalidArgument, Unsupported) as error:
        raise UsageError("--" + str(error).replace("null_equal", "null-equal", 1)) from None


def choose_asof(
    left: pa.Schema, right: pa.Schema, options: argparse.Namespace
) -> AsofColumns | None:
    """What --asof and the options beside it say."""
    if options.asof is None:
        for option in ("direction", "strict", "tolerance"):
            if getattr(options, option):
                raise UsageError(f"--{option} is of --asof")
        return None
    of_left, _, of_right = options.asof.partition("=")
    if options.asof in left.names:
        of_left, of_right = options.asof, ""
    direction = options.direction or "backward"
    tolerance = _tolerance(options.tolerance)
    try:
        return asof_of(
            Asof(of_left, of_right or None, direction, options.strict, tolerance), left, right
        )
    except InvalidArgument as error:
        said = str(error).replace("asof.right_on", "asof").replace("asof.on", "asof")
        raise UsageError("--" + said.replace("asof.", "")) from None


def _tolerance(text: str | None) -> int | float | np.timedelta64 | None:
    """5, 0.5, or 5s: of times."""
    if text is None:
        return None
    found = re.fullmatch(r"(\d+)(ns|us|ms|s|m|h|D)", text)
    if found:
        return np.timedelta64(int(found[1]), found[2])
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    raise UsageError(f"--tolerance {text} is no number, and none of ns, us, ms, s, m, h, D")


def _choose_flags(keys: list[str], null_equal: str | bool) -> list[int]:
    if isinstance(null_equal, str):
        null_equal = [null_equal] if null_equal in keys else split_names(null_equal)
    return key_flags(keys, null_equal, False)


def _choose_keys(
    left: pa.Schema, right: pa.Schema, kind: Kind, options: argparse.Namespace
) -> dict[str, list[int]]:
    of_sides = (options.left_on, options.right_on)
    if not kind.has_keys:
        if any(names is not None for names in (options.on, *of_sides)):
            raise UsageError(f"--how {options.how} has no keys: no --on, --left-on or --right-on")
        return {"left": [], "right": []}
    if options.on is not None and of_sides != (None, None):
        raise UsageError("--on names the keys of both files: no --left-on or --right-on with it")
    may_lack = options.where is not None or options.asof is not None
    if may_lack and options.on is None and of_sides == (None, None):
        return {"left": [], "right": []}
    if options.on is None and options.left_on is None:
        raise UsageError(
            "no keys are named: give --on, or --left-on and --right-on, or --where, or --asof"
        )
    of_left = options.left_on if options.on is None else options.on
    of_right = of_left if options.right_on is None else options.right_on
    keys = {
        "left": _key_positions("left", left, of_left, options),
        "right": _key_positions("right", right, of_right, options),
    }
    counts = len(keys["left"]), len(keys["right"])
    if counts[0] != counts[1]:
        raise UsageError(f"--left-on names {counts[0]} columns, and --right-on {counts[1]}")
    return keys


def _key_positions(
    side: str, schema: pa.Schema, names: str, options: argparse.Namespace
) -> list[int]:
    positions = []
    for name in [names] if names in schema.names else split_names(names):
        if name not in schema.names:
            option = f"--{side}-on" if options.on is None else "--on"
            there = ", ".join(schema.names)
            raise UsageError(
                f"{option}: {getattr(options, side)} has no column {name!r}; it has {there}"
            )
        positions.append(schema.names.index(name))
    return positions
