"""Which columns a join puts out, and what they are called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from ._arguments import check_suffix, column_names
from .errors import InvalidArgument

SUFFIX = "_right"


@dataclass(frozen=True)
class OutputColumn:
    """A column of the output: column number `column` of an input, called `name`."""

    side: str  # "left" or "right"
    column: int
    name: str


def all_columns(left: pa.Schema, right: pa.Schema, suffix: str = SUFFIX) -> list[OutputColumn]:
    """All columns of two inputs under their names in an output: left ones keep theirs, and a right
    one whose name is taken gets the suffix, as often as it needs.

    The names depend on the inputs alone, never on which columns are selected.
    """
    columns = [OutputColumn("left", i, name) for i, name in enumerate(left.names)]
    taken = set(left.names)
    for i, name in enumerate(right.names):
        while name in taken:
            if not suffix:
                raise InvalidArgument(f"both inputs have a column {name!r}, and suffix is empty")
            name += suffix
        taken.add(name)
        columns.append(OutputColumn("right", i, name))
    return columns


def select_columns(
    left: pa.Schema,
    right: pa.Schema,
    right_keys: Sequence[int],
    select: Sequence[str] | None,
    suffix: str = SUFFIX,
) -> list[OutputColumn]:
    """The columns named, in that order; for None all but the right keys: they equal the left ones.

    Errors: InvalidArgument for a name that no column or more than one has.
    """
    check_suffix(suffix)
    columns = all_columns(left, right, suffix)
    if select is None:
        return [c for c in columns if c.side == "left" or c.column not in right_keys]
    chosen = []
    for name in column_names("select", select):
        found = [c for c in columns if c.name == name]
        if len(found) != 1:
            reason = "more than one column has" if found else "no column has"
            names = ", ".join(c.name for c in columns)
            raise InvalidArgument(f"select: {reason} the name {name!r}; there are {names}")
        chosen.append(found[0])
    return chosen
