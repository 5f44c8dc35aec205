"""Which columns a join puts out, and what they are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from ._arguments import column_names
from ._kinds import Kind
from .errors import InvalidArgument

SUFFIX = "_right"
MARK = "mark"


@dataclass(frozen=True)
class OutputColumn:
    """A column of the output: column number `column` of an input, called `name`."""

    side: str  # "left" or "right"; MARK of the mark of a mark join, which is in no input
    column: int
    name: str


def free_name(name: str, taken: set[str], suffix: str) -> str:
    """The name, with the suffix as often as it needs; it is taken from then on.

    Errors: InvalidArgument, when it needs one that is empty.
    """
    while name in taken:
        if not suffix:
            raise InvalidArgument(f"suffix is empty, and two columns would be named {name!r}")
        name += suffix
    taken.add(name)
    return name


def all_columns(
    left: pa.Schema,
    right: pa.Schema,
    kind: Kind,
    keys: Mapping[str, Sequence[int]],
    suffix: str = SUFFIX,
) -> list[OutputColumn]:
    """All columns that a join may put out, under their names in the output.

    The first side's keep their names, and one after them whose name is taken gets the suffix, as
    often as it needs. Where the left keys are dropped the right ones have their names, so that a
    left key whose name a right column has cannot be put out.
    The names depend on the inputs, the kind and the keys, never on which columns are selected.
    """
    schemas = {"left": left, "right": right}
    first, *others = kind.sides
    columns = [OutputColumn(first, i, name) for i, name in enumerate(schemas[first].names)]
    late = []
    if kind.dropped_keys == first:
        late = [column for column in columns if column.column in keys[first]]
        columns = [column for column in columns if column.column not in keys[first]]
    taken = {column.name for column in columns}
    for side in others:
        for i, name in enumerate(schemas[side].names):
            columns.append(OutputColumn(side, i, free_name(name, taken, suffix)))
    columns += [column for column in late if column.name not in taken]
    if kind.has_mark:
        columns.append(OutputColumn(MARK, 0, free_name(MARK, taken, suffix)))
    return columns


def select_columns(
    columns: Sequence[OutputColumn],
    kind: Kind,
    keys: Mapping[str, Sequence[int]],
    select: Sequence[str] | None,
) -> list[OutputColumn]:
    """The columns named, in that order; for None all but the keys that the other side's say.

    columns  what all_columns() gave
    Errors: InvalidArgument for a name that no column or more than one has.
    """
    if select is None:
        dropped = kind.dropped_keys
        return [c for c in columns if c.side != dropped or c.column not in keys[c.side]]
    chosen = []
    for name in column_names("select", select):
        found = [c for c in columns if c.name == name]
        if len(found) != 1:
            reason = "more than one column has" if found else "no column has"
            names = ", ".join(c.name for c in columns)
            raise InvalidArgument(f"select: {reason} the name {name!r}; there are {names}")
        chosen.append(found[0])
    return chosen
