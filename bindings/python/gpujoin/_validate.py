"""What join(validate=) asks of keys: that a side has none of them twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute

from ._inputs import Input
from .errors import InvalidArgument, NotUnique, Unsupported

# The sides whose keys must be unique.
_UNIQUE: dict[str, tuple[str, ...]] = {
    "1:1": ("left", "right"),
    "1:m": ("left",),
    "m:1": ("right",),
    "m:m": (),
    "one_to_one": ("left", "right"),
    "one_to_many": ("left",),
    "many_to_one": ("right",),
    "many_to_many": (),
}


def unique_sides(validate: Any) -> tuple[str, ...]:
    """The sides whose keys must be unique. Errors: InvalidArgument."""
    if validate is None:
        return ()
    sides = _UNIQUE.get(validate.lower()) if isinstance(validate, str) else None
    if sides is None:
        raise InvalidArgument(f"validate {validate!r} is none of {', '.join(_UNIQUE)}")
    return sides


def check_unique(
    inputs: Mapping[str, Input], keys: Mapping[str, Sequence[int]], validate: Any
) -> None:
    """Errors: NotUnique, which names a key that comes twice; InvalidArgument; Unsupported, where
    the keys lie in device memory."""
    for side in unique_sides(validate):
        found = _repeated(inputs[side], keys[side])
        if found is None:
            continue
        *values, count = found
        names = ", ".join(inputs[side].schema.field(key).name for key in keys[side])
        text = ", ".join(map(str, values))
        raise NotUnique(
            f"validate {validate!r}: the keys of {side} are not unique: {names} = {text} is in "
            f"{count} rows"
        )


def _repeated(source: Input, keys: Sequence[int]) -> list[Any] | None:
    """The values of a key that more than one row has, and the number of those rows. A NULL matches
    nothing, so that rows with one may be as many as they like."""
    if source.table is None:
        raise Unsupported(f"validate: {source.side} lies in device memory, where keys are not read")
    columns = [source.table.column(key) for key in keys]
    names = [str(i) for i in range(len(keys))]
    rows = pa.table(columns, names=names).drop_null()
    if rows.num_rows < 2:
        return None
    counts = rows.group_by(names).aggregate([([], "count_all")])
    repeated = counts.filter(pyarrow.compute.greater(counts["count_all"], 1)).slice(0, 1)
    if repeated.num_rows == 0:
        return None
    (found,) = repeated.to_pylist()
    return [*(found[name] for name in names), found["count_all"]]
