"""estimate(): what a join would cost, from schemas and numbers."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from . import _abi
from ._arguments import INT64, check_suffix, whole
from ._columns import SUFFIX, all_columns, select_columns
from ._context import Context, choose, context_or_default, name_of
from ._inputs import Input, is_carried
from ._keys import key_positions
from ._kinds import kind_of
from .errors import InvalidArgument, TypeMismatch

_MEMORY = {"host": 1, "device": 2, "pinned": 3}
_TYPES = {
    **{f"int{bits}": number for number, bits in enumerate((8, 16, 32, 64), 1)},
    **{f"uint{bits}": number for number, bits in enumerate((8, 16, 32, 64), 5)},
    **{"float": 9, "double": 10, "date32[day]": 11, "date64[ms]": 12, "halffloat": 18},
    **{"bool": 22, "string": 23, "large_string": 24, "string_view": 25, "null": 33},
    **{"binary": 26, "large_binary": 27, "binary_view": 28, "month_day_nano_interval": 36},
}
_TIMESTAMPS = {unit: number for number, unit in enumerate(("s", "ms", "us", "ns"), 13)}
_DECIMALS = {4: 30, 8: 31, 16: 17, 32: 32}
_DICTIONARY, _FIXED_BINARY, _BYTES16 = 37, 29, 17
_MOST_BYTES = 1e9


@dataclass(frozen=True)
class Estimate:
    """What a join would cost. Sizes are bytes; those of CUDA are None where the context has none.

    device                   the faster executor, where the columns lie
    output_bytes             as Plan.count() has them
    *_milliseconds           planning and executing, copies of the inputs included
    cuda_fetch_milliseconds  the result's way to host memory
    *_bytes                  memory traffic, read + written
    *_memory                 at the peak, the output included, inputs not
    *_plan                   the plan in one line
    """

    device: str
    output_rows: int
    output_bytes: int
    cpu_milliseconds: float
    cpu_bytes: int
    cpu_memory: int
    cpu_plan: str
    cuda_milliseconds: float | None = None
    cuda_fetch_milliseconds: float | None = None
    cuda_bytes: int | None = None
    cuda_memory: int | None = None
    cuda_plan: str | None = None


def estimate(
    left_schema: pa.Schema,
    right_schema: pa.Schema,
    on: str | Sequence[str] | None = None,
    right_on: str | Sequence[str] | None = None,
    *,
    left_on: str | Sequence[str] | None = None,
    left_rows: int,
    right_rows: int,
    how: str = "inner",
    matches: int | None = None,
    left_matched: int | None = None,
    right_matched: int | None = None,
    left_distinct: int | None = None,
    right_distinct: int | None = None,
    select: Sequence[str] | None = None,
    pairs: bool = False,
    suffix: str = SUFFIX,
    order: str | None = None,
    text_bytes: float | Mapping[str, float] | None = None,
    memory: str = "host",
    context: Context | None = None,
) -> Estimate:
    """What a join would cost on either executor, from numbers alone: nothing is read.

    left_schema, right_schema
                    pyarrow.Schema of both tables; a field that is not nullable has no NULLs
    left_rows, right_rows
                    rows of the tables
    matches         pairs of rows that match; None = as the distinct keys say
    left_matched, right_matched
                    rows of that side with a match; None likewise
    left_distinct, right_distinct
                    different keys of that side; None = as many as the smaller side has rows
    text_bytes      bytes of a value of text or binary on average: a number, or one for each column
                    by its name; None = 16
    memory          where the tables lie: host, pinned, device
    on, left_on, right_on, how, select, pairs, suffix, order, context
                    as of join()

    Errors: InvalidArgument, TypeMismatch, Unsupported (device memory, or no GPU there).
    """
    kind = kind_of(how)
    check_suffix(suffix)
    schemas = {"left": left_schema, "right": right_schema}
    for side, schema in schemas.items():
        if not isinstance(schema, pa.Schema):
            raise InvalidArgument(f"{side}_schema is a {type(schema).__name__}, not a schema")
    inputs = {side: Input(schema.empty_table(), side) for side, schema in schemas.items()}
    keys = key_positions(inputs, kind, on, left_on, right_on, may_lack=False)
    columns = all_columns(left_schema, right_schema, kind, keys, suffix)
    selected = dict.fromkeys(select_columns(columns, kind, keys, select))
    numbers = {
        "left": (left_rows, left_matched, left_distinct),
        "right": (right_rows, right_matched, right_distinct),
    }
    context = context_or_default(context)
    sides, kept = {}, []
    for side, schema in schemas.items():
        outputs = [c.column for c in selected if c.side == side and _is_carried(schema, c.column)]
        used = dict.fromkeys([*keys[side], *outputs])
        places = {column: place for place, column in enumerate(used)}
        described = [_column(schema.field(column), text_bytes) for column in used]
        sides[side] = _side(side, numbers[side], choose("memory", _MEMORY, memory))
        kept += [
            (_abi.ExpectedColumn * len(described))(*described),
            _positions(places[key] for key in keys[side]),
            _positions(places[column] for column in outputs),
        ]
        sides[side].columns, sides[side].keys, sides[side].output_columns = kept[-3:]
        sides[side].column_count = len(described)
        sides[side].output_column_count = len(outputs)
    has_columns = any(sides[side].output_column_count for side in sides) or kind.has_mark
    expected = _abi.ExpectedJoin(
        kind=kind.number,
        left=ctypes.pointer(sides["left"]),
        right=ctypes.pointer(sides["right"]),
        key_count=len(keys["left"]),
        output=_abi.OUTPUT_COLUMNS * has_columns
        | _abi.OUTPUT_PAIRS * (pairs or not has_columns),
        order=0 if order is None else choose("order", _abi.ORDERS, order),
        has_pairs=matches is not None,
        pairs=0 if matches is None else whole("matches", matches, 0, INT64),
    )
    found = _abi.Estimate()
    context._call("estimate_join", context._handle, ctypes.byref(expected), ctypes.byref(found))
    return _read(found)


def _is_carried(schema: pa.Schema, column: int) -> bool:
    return is_carried(schema.field(column).type)


def _positions(numbers: Any) -> Any:
    found = list(numbers)
    return (ctypes.c_int32 * len(found))(*found)


def _side(side: str, numbers: Sequence[int | None], memory: int) -> _abi.ExpectedSide:
    rows, matched, distinct = numbers
    count = whole(side + "_rows", rows, 0, INT64)
    return _abi.ExpectedSide(
        memory=memory,
        rows=count,
        has_matched_rows=matched is not None,
        matched_rows=0 if matched is None else whole(side + "_matched", matched, 0, count),
        distinct_keys=0 if distinct is None else whole(side + "_distinct", distinct, 1, INT64),
    )


def _column(field: pa.Field, text_bytes: float | Mapping[str, float] | None) -> Any:
    """A field as the library describes it. Errors: TypeMismatch, InvalidArgument."""
    given = text_bytes.get(field.name) if isinstance(text_bytes, Mapping) else text_bytes
    size = 0.0 if given is None else given
    if isinstance(size, bool) or not isinstance(size, (int, float)) or not 0 <= size <= _MOST_BYTES:
        raise InvalidArgument(f"text_bytes is {size!r} of {field.name!r}; it must be 0 to 1e9")
    number, width = _number_of(field)
    return _abi.ExpectedColumn(
        type=number, is_nullable=field.nullable, value_width=width, value_bytes=size
    )


def _number_of(field: pa.Field) -> tuple[int, int]:
    """GPUJOIN_TYPE_* and the width where it has one."""
    kind, index_width = field.type, 0
    while True:
        if isinstance(kind, pa.BaseExtensionType):
            kind = kind.storage_type
        elif pa.types.is_run_end_encoded(kind):
            kind = kind.value_type
        elif pa.types.is_dictionary(kind):
            index_width, kind = kind.index_type.bit_width // 8, kind.value_type
        else:
            break
    number = _TYPES.get(str(kind), 0)
    if number in (23, 24, 25, 26, 27, 28) and index_width:
        return _DICTIONARY, index_width
    if number:
        return number, 0
    if pa.types.is_timestamp(kind):
        return _TIMESTAMPS[kind.unit], 0
    if pa.types.is_time(kind):
        return (19 if kind.bit_width == 32 else 20), 0
    if pa.types.is_duration(kind):
        return 21, 0
    if pa.types.is_decimal(kind):
        return _DECIMALS[kind.byte_width], 0
    if pa.types.is_fixed_size_binary(kind):
        return (_BYTES16, 0) if kind.byte_width == 16 else (_FIXED_BINARY, kind.byte_width)
    raise TypeMismatch(f"{field.name!r} has type {kind}, of which nothing is estimated")


def _read(found: _abi.Estimate) -> Estimate:
    of_cuda: dict[str, Any] = {}
    if found.cuda_plan:
        of_cuda = {
            "cuda_milliseconds": found.cuda_milliseconds,
            "cuda_fetch_milliseconds": found.cuda_fetch_milliseconds,
            "cuda_bytes": found.cuda_bytes,
            "cuda_memory": found.cuda_memory_bytes,
            "cuda_plan": _abi.text(found.cuda_plan),
        }
    return Estimate(
        device=name_of(_abi.DEVICES, found.device),
        output_rows=found.output_rows,
        output_bytes=found.output_bytes,
        cpu_milliseconds=found.cpu_milliseconds,
        cpu_bytes=found.cpu_bytes,
        cpu_memory=found.cpu_memory_bytes,
        cpu_plan=_abi.text(found.cpu_plan),
        **of_cuda,
    )
