"""What join(validate=) asks of keys: that a side has none of them twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyarrow import compute

from . import _abi
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
    inputs: Mapping[str, Input],
    keys: Mapping[str, Sequence[int]],
    flags: Sequence[int],
    validate: Any,
) -> None:
    """Errors: NotUnique, which names a key that comes twice; InvalidArgument; Unsupported, where
    the keys lie in device memory, or are of types that pyarrow cannot group."""
    for side in unique_sides(validate):
        found = _repeated(inputs[side], keys[side], flags)
        if found is None:
            continue
        *values, count = found
        names = ", ".join(inputs[side].schema.field(key).name for key in keys[side])
        text = ", ".join(map(str, values))
        raise NotUnique(
            f"validate {validate!r}: the keys of {side} are not unique: {names} = {text} is in "
            f"{count} rows"
        )


def _repeated(source: Input, keys: Sequence[int], flags: Sequence[int]) -> list[Any] | None:
    """The values of a key that more than one row has, and the number of those rows. A row that
    matches nothing, because of a NULL or a NaN, may come as often as it likes."""
    if source.table is None:
        raise Unsupported(f"validate: {source.side} lies in device memory, where keys are not read")
    names = [str(i) for i in range(len(keys))]
    try:
        columns = [_grouped(source.values(key)) for key in keys]
        rows = pa.table([*columns, pa.nulls(source.table.num_rows)], names=[*names, "rows"])
        if source.selection is not None:
            rows = source.selection.rows_of(rows)
        for name, column, flag in zip(names, columns, flags):
            if not flag & _abi.KEY_NULL_EQUAL:
                rows = rows.filter(compute.is_valid(rows[name]))
            if flag & _abi.KEY_IEEE_FLOAT and pa.types.is_floating(column.type):
                is_nan = compute.fill_null(compute.is_nan(rows[name]), False)
                rows = rows.filter(compute.invert(is_nan))
        if rows.num_rows < 2:
            return None
        counts = rows.group_by(names).aggregate([([], "count_all")])
    except pa.ArrowNotImplementedError as error:
        text = f"validate: pyarrow cannot group keys of {source.side}: {error}"
        raise Unsupported(text) from None
    repeated = counts.filter(compute.greater(counts["count_all"], 1)).slice(0, 1)
    if repeated.num_rows == 0:
        return None
    (found,) = repeated.to_pylist()
    return [*(found[name] for name in names), found["count_all"]]


def _grouped(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """The same values in a type that pyarrow groups, and equal where the library finds them so."""
    while True:
        kind = values.type
        if isinstance(kind, pa.BaseExtensionType):
            chunks = [chunk.storage for chunk in values.chunks]
            values = pa.chunked_array(chunks, kind.storage_type)
        elif pa.types.is_run_end_encoded(kind):
            chunks = [compute.run_end_decode(chunk) for chunk in values.chunks]
            values = pa.chunked_array(chunks, kind.value_type)
        elif pa.types.is_dictionary(kind):
            values = values.cast(kind.value_type)
        else:
            break
    if kind == pa.string_view() or kind == pa.binary_view():
        return values.cast(pa.large_string() if kind == pa.string_view() else pa.large_binary())
    if pa.types.is_decimal32(kind) or pa.types.is_decimal64(kind):
        return values.cast(pa.decimal128(kind.precision, kind.scale))
    if pa.types.is_null(kind):
        return values.cast(pa.int8())
    if not pa.types.is_floating(kind):
        return values
    wide = values.cast(pa.float64())
    one_nan = compute.if_else(compute.is_nan(wide), float("nan"), wide)
    return compute.add(one_nan, 0.0)  # of -0.0 too
