"""plan() and join()."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from . import _abi
from ._arguments import INT32, INT64, whole
from ._columns import SUFFIX, OutputColumn, select_columns
from ._context import Context, choose, context_or_default
from ._inputs import Input, is_carried, key_types
from ._result import PAIR_FIELDS, Result, ResultColumn, TakenColumn
from .errors import BufferTooSmall, InvalidArgument

_EXPLAIN_BYTES = 1 << 14  # at first

# The single choices of a plan: names for numbers of the library, and numbers with their largest.
_NAMED = {
    "device": _abi.DEVICES,
    "algorithm": _abi.ALGORITHMS,
    "transform": _abi.TRANSFORMS,
    "match": _abi.MATCHES,
    "gather": _abi.GATHERS,
    "build_side": _abi.SIDES,
    "transfer": _abi.TRANSFERS,
    "skew": _abi.SKEWS,
    "output": _abi.OUTPUTS,
    "filter": _abi.FILTERS,
}
_NUMBERS = {"radix_bits": INT32, "passes": INT32, "page_pairs": INT32, "probe_chunk_rows": INT64}


class Plan:
    """How to join two inputs, chosen; made by plan(). It may be executed any number of times.

    It keeps the inputs alive; their memory must not change until the plan is closed or gone.
    """

    def __init__(
        self,
        context: Context,
        handle: _abi.Handle,
        columns: Sequence[ResultColumn],
        has_pairs: bool,
    ) -> None:
        self._context = context
        self._handle = handle
        self._columns = columns
        self._has_pairs = has_pairs

    def explain(self) -> str:
        """The plan as text: its techniques, what was sampled, what each candidate would cost."""
        length = ctypes.c_size_t(_EXPLAIN_BYTES)
        while True:
            buffer = ctypes.create_string_buffer(length.value)
            try:
                self._context._call("plan_explain", self._handle, buffer, ctypes.byref(length))
                return _abi.text(buffer.value)
            except BufferTooSmall:
                if length.value <= len(buffer):
                    raise

    def execute(self) -> Result:
        """Runs the plan. Ctrl-C in the main thread cancels it.

        Errors: OutOfMemory, MemoryLimit, Cancelled, CudaError, DeviceLost, Forked, InternalError.
        """
        handle = _abi.Handle("result")
        columns = self._columns  # close() forgets them
        self._context._call_long("plan_execute", self._handle, out=handle)
        return Result(self._context, handle, columns, self._has_pairs)

    def close(self) -> None:
        """Lets go of the inputs; results stay valid. An execution in another thread goes on."""
        self._handle.close()
        self._columns = ()

    def __enter__(self) -> Plan:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def plan(
    left: Any,
    right: Any,
    left_on: str | Sequence[str] | None = None,
    right_on: str | Sequence[str] | None = None,
    select: Sequence[str] | None = None,
    pairs: bool = False,
    algorithm: str | None = None,
    build_side: str | None = None,
    context: Context | None = None,
    *,
    on: str | Sequence[str] | None = None,
    suffix: str = SUFFIX,
    device: str | None = None,
    transform: str | None = None,
    match: str | None = None,
    gather: str | None = None,
    radix_bits: int | None = None,
    transfer: str | None = None,
    filter: str | None = None,
    skew: str | None = None,
    output: str | None = None,
    passes: int | None = None,
    page_pairs: int | None = None,
    probe_chunk_rows: int | None = None,
) -> Plan:
    """Chooses how to inner-join two tables on a key of one to five columns.

    left, right  pyarrow.Table or RecordBatch, or anything with __arrow_c_stream__,
                 __arrow_c_array__ or __arrow_c_device_array__ (frames of polars and pandas, arrays
                 on a GPU). Read in place, except that a column in more than one chunk is copied.
    left_on      the key column of left, or a list of up to five: integers, date32, date64 or
                 timestamps. Rows match when all of them are equal; a NULL matches nothing, and so
                 does a column of type null. Integer keys of different types are cast to the
                 narrowest type that holds both (int32 and int64: int64), those of 8 and 16 bits to
                 32; that copies them. Timestamps with a time zone are instants, equal whatever
                 their zones; they do not compare with those that have none.
    right_on     the key columns of right, as many; None = the same names
    on           in the place of both, key columns that have the same names on both sides
    select       output columns, in this order; None = all of left, then all of right but its keys.
                 A right column whose name left has too is called name + suffix, in select and in
                 the output, whichever columns are selected. [] = none: the result has its rows, and
                 no columns but those of pairs.
    pairs        whether to put out row numbers too: uint32 columns left_row and right_row, first
    algorithm    auto, nop, nop_carried, direct_carried, phj_carried, phj_om, phj_gfur, phj_um,
                 smj_om, smj_um, row_multiset, cpu_radix (gpujoin.h, section 8)
    build_side   auto, left, right: the side that is hashed or sorted into
    context      None = a shared one, on device "auto"
    device, transfer, filter, transform, skew, match, output, gather,
    radix_bits, passes, page_pairs, probe_chunk_rows
                 single choices of the plan, as in gpujoin_plan_options; names are in lower case
                 and without their prefix: transform="radix_onesweep", radix_bits=10. None, "auto"
                 and 0 leave a choice to the planner. One that the device does not have is an
                 IllegalPlan: on the CPU, each transfer but "none".

    The library carries integers, floats, dates, times, timestamps, durations, decimal128 and
    16-byte binaries. Output columns of another type (text, booleans, lists, dictionaries ...) must
    lie in host memory; they come by row number, with pyarrow's take, when the result is read.
    string_view comes out as large_string, and binary_view as large_binary, in lists and structs
    too.

    Errors: InvalidArgument (unknown names), TypeMismatch (keys), Unsupported, IllegalPlan
    (techniques that do not fit together), TooManyRows, OutOfMemory, MemoryLimit, Cancelled,
    CudaError, DeviceLost, Forked.
    """
    options = plan_options(locals())
    context = context_or_default(context)
    inputs = {"left": Input(left, "left"), "right": Input(right, "right")}
    keys = _keys(inputs, left_on, right_on, on)
    pairs_of_keys = zip(*([inputs[side].schema.field(k) for k in keys[side]] for side in inputs))
    types = zip(*(key_types(*fields) for fields in pairs_of_keys))
    selected = select_columns(
        inputs["left"].schema, inputs["right"].schema, keys["right"], select, suffix
    )
    carried = [
        column
        for column in dict.fromkeys(selected)
        if is_carried(inputs[column.side].schema.field(column.column).type)
    ]
    has_pairs = pairs or not set(selected) <= set(carried) or not selected
    relations = []
    spec = _abi.JoinSpec(
        kind=_abi.INNER,
        key_count=len(keys["left"]),
        output=(_abi.OUTPUT_COLUMNS if carried else 0) | (_abi.OUTPUT_PAIRS if has_pairs else 0),
    )
    for side, types_of_side in zip(inputs, types):
        columns = [c.column for c in carried if c.side == side]
        relation, key_positions, positions = inputs[side].register(
            context, keys[side], types_of_side, columns
        )
        relations.append(relation)
        setattr(spec, side + "_keys", int32_array(key_positions))
        setattr(spec, side + "_columns", int32_array(positions))
        setattr(spec, side + "_column_count", len(positions))
    exported = [c for side in inputs for c in carried if c.side == side]
    result_columns = _result_columns(inputs, selected, exported, pairs, has_pairs)

    handle = _abi.Handle("plan")
    parts = *relations, ctypes.byref(spec), ctypes.byref(options)
    context._call_long("plan_create", context._handle, *parts, out=handle)
    return Plan(context, handle, result_columns, has_pairs)


def _keys(inputs: dict[str, Input], left_on: Any, right_on: Any, on: Any) -> dict[str, list[int]]:
    """The positions of the key columns of each side. Errors: InvalidArgument."""
    if on is not None:
        if not (left_on is None and right_on is None):
            raise InvalidArgument("on names the keys of both sides: no left_on or right_on with it")
        return {side: inputs[side].keys(on, "on") for side in inputs}
    if left_on is None:
        raise InvalidArgument(
            "right_on is given, and left_on is not"
            if right_on is not None
            else "no keys are named: give on, or left_on and right_on"
        )
    keys = {
        "left": inputs["left"].keys(left_on, "left_on"),
        "right": inputs["right"].keys(left_on if right_on is None else right_on, "right_on"),
    }
    if len(keys["left"]) != len(keys["right"]):
        raise InvalidArgument(
            f"left_on names {len(keys['left'])} columns, and right_on {len(keys['right'])}"
        )
    return keys


def plan_options(arguments: Mapping[str, Any]) -> _abi.PlanOptions:
    """The single choices of a plan among a function's arguments. Errors: InvalidArgument."""
    options = _abi.PlanOptions()
    for name, numbers in _NAMED.items():
        setattr(options, name, choose(name, numbers, arguments[name]))
    for name, most in _NUMBERS.items():
        if arguments[name] is not None:
            setattr(options, name, whole(name, arguments[name], 0, most))
    return options


def join(
    left: Any,
    right: Any,
    left_on: str | Sequence[str] | None = None,
    right_on: str | Sequence[str] | None = None,
    select: Sequence[str] | None = None,
    pairs: bool = False,
    algorithm: str | None = None,
    build_side: str | None = None,
    context: Context | None = None,
    *,
    on: str | Sequence[str] | None = None,
    suffix: str = SUFFIX,
    device: str | None = None,
    transform: str | None = None,
    match: str | None = None,
    gather: str | None = None,
    radix_bits: int | None = None,
    transfer: str | None = None,
    filter: str | None = None,
    skew: str | None = None,
    output: str | None = None,
    passes: int | None = None,
    page_pairs: int | None = None,
    probe_chunk_rows: int | None = None,
) -> Result:
    """Joins two tables: plan() with the same arguments, executed; errors of both.

    join(orders, lines, "o_orderkey", "l_orderkey", select=["o_custkey", "l_quantity"]).to_table()
    join(january, february, on=["store", "item"]).to_table()
    """
    with plan(**locals()) as planned:
        return planned.execute()


def int32_array(numbers: Sequence[int]) -> Any:
    """Numbers as the library takes them."""
    return (ctypes.c_int32 * len(numbers))(*numbers)


def _result_columns(
    inputs: dict[str, Input],
    selected: Sequence[OutputColumn],
    exported: Sequence[OutputColumn],
    pairs: bool,
    has_pairs: bool,
) -> list[ResultColumn]:
    """Where each output column comes from; `exported` is in the order of the library's export."""
    columns = [ResultColumn(field, i) for i, field in enumerate(PAIR_FIELDS)] if pairs else []
    first = len(PAIR_FIELDS) if has_pairs else 0
    for column in selected:
        source = inputs[column.side]
        field = source.schema.field(column.column)
        if column in exported:
            field = pa.field(column.name, field.type, field.nullable)
            columns.append(ResultColumn(field, first + exported.index(column)))
        else:
            row_number = 0 if column.side == "left" else 1
            taken = TakenColumn(source.values(column.column), row_number)
            field = pa.field(column.name, taken.type, field.nullable)
            columns.append(ResultColumn(field, taken=taken))
    return columns
