"""plan() and join()."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from . import _abi
from ._aggregates import Aggregate, aggregate_field, aggregate_structs, aggregates_of, group_columns
from ._arguments import check_suffix
from ._asof import Asof, AsofColumns, asof_of
from ._bounds import Bounds, bounds_of
from ._columns import MARK, SUFFIX, OutputColumn, all_columns, select_columns
from ._condition import Condition, Decide, Where, answers_of, condition_of, naming_nodes
from ._context import Context, context_or_default
from ._inputs import Input, is_carried
from ._keys import OfKeys, key_flags, key_positions, naming_key_types
from ._kinds import KINDS, Kind, kind_of
from ._plan_options import plan_options
from ._promises import Promises, promises_of
from ._result import Result, ResultColumn, TakenColumn
from ._selections import Rows
from ._validate import check_unique, unique_sides
from .errors import BufferTooSmall, InvalidArgument

_EXPLAIN_BYTES = 1 << 14  # at first
_SHORT_PAIRS = 1 << 22
# To plan a join looks at rows, never at pairs. Another thread would take half of a plan's 0.8 ms.
_SOON_PLANNED_ROWS = 1 << 18
_SOON_PLANNED_BYTES = 1 << 26


class Count(NamedTuple):
    """What a plan would put out."""

    rows: int
    bytes: int


class Plan:
    """How to join two inputs, chosen; made by plan(). It may be executed any number of times.

    It keeps the inputs alive; their memory must not change until the plan is closed or gone.
    """

    def __init__(
        self,
        context: Context,
        handle: _abi.Handle,
        columns: Sequence[ResultColumn],
        pair_fields: Sequence[pa.Field],
        is_short: bool,
        condition: Condition | None,
        kept: Sequence[Any] = (),
    ) -> None:
        self._context = context
        self._handle = handle
        self._columns = columns
        self._pair_fields = pair_fields
        self._is_short = is_short
        self._condition = condition
        self._kept = kept  # what the library reads of, until the last execution is over

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

        Errors: SeveralMatches (of a single join), EvaluationError (of `where`), TooManyRows,
        OutOfMemory, MemoryLimit, Cancelled, CudaError, DeviceLost, Forked, InternalError.
        """
        handle = _abi.Handle("result")
        columns = self._columns  # close() forgets them
        call = functools.partial(self._context._call_long, "plan_execute", self._handle)
        with naming_nodes(self._condition):
            call(out=handle, is_short=self._is_short)
        if self._condition is not None and self._condition.decide is not None:
            handle = self._decided(handle, self._condition.decide)
        return Result(self._context, handle, columns, self._pair_fields)

    def count(self) -> Count:
        """How many rows and bytes execute() would put out, counted without putting them out.

        Bytes are those of the library's columns and row numbers: values, offsets and bytes of text,
        validity; columns that pyarrow takes by row number count nothing. Limits of rows and bytes
        do not end it. Errors: as of execute().
        """
        rows, size = ctypes.c_int64(), ctypes.c_uint64()
        numbers = ctypes.byref(rows), ctypes.byref(size)
        call = functools.partial(self._context._call_long, "plan_count", self._handle)
        with naming_nodes(self._condition):
            call(*numbers, out=None, is_short=self._is_short)
        return Count(rows.value, size.value)

    def _decided(self, candidates: _abi.Handle, decide: Decide) -> _abi.Handle:
        """The result, once the caller has said which of the candidates match."""
        fields = KINDS["inner"].pair_fields
        pairs = Result(self._context, candidates, pair_columns(fields), fields).to_batch()
        answers, _ = answers_of(decide, pairs).register(self._context, [0])
        handle = _abi.Handle("result")
        self._context._call_long("result_decide", candidates, answers, out=handle)
        return handle

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
    on: str | Sequence[str] | None = None,
    right_on: str | Sequence[str] | None = None,
    *,
    left_on: str | Sequence[str] | None = None,
    how: str = "inner",
    where: Where | None = None,
    asof: Asof | None = None,
    null_equal: OfKeys = False,
    ieee_float: OfKeys = False,
    select: Sequence[str] | None = None,
    pairs: bool = False,
    aggregates: Mapping[str, Any] | None = None,
    by: str | None = None,
    suffix: str = SUFFIX,
    validate: str | None = None,
    left_rows: Rows | None = None,
    right_rows: Rows | None = None,
    order: str | None = None,
    row_limit: int | None = None,
    byte_limit: int | None = None,
    promise: str | Sequence[str] | None = None,
    promised_rows: int | None = None,
    context: Context | None = None,
    device: str | None = None,
    algorithm: str | None = None,
    transform: str | None = None,
    match: str | None = None,
    gather: str | None = None,
    build_side: str | None = None,
    radix_bits: int | None = None,
    transfer: str | None = None,
    filter: str | None = None,
    skew: str | None = None,
    output: str | None = None,
    passes: int | None = None,
    page_pairs: int | None = None,
    probe_chunk_rows: int | None = None,
    timeout: float | None = None,
) -> Plan:
    """Chooses how to join two tables: on a key of 1 to 16 columns, a condition, an order, or several.

    left, right  pyarrow.Table or RecordBatch, or anything with __arrow_c_stream__,
                 __arrow_c_array__ or __arrow_c_device_array__ (frames of polars and pandas, arrays
                 on a GPU), or a dict of NumPy arrays, or a NumPy array of records. Read in place,
                 except that columns in more than one chunk are copied, of those that are used.
    on           the key column of both sides, or a list of up to 16, of any types but nested ones.
                 Rows match when all of them are equal; a NULL matches nothing. Keys of the two
                 sides are compared by value: integers and decimals of any widths and scales with
                 each other, and so are floats of any widths (NaN equals NaN); timestamps and dates
                 of any units; times, and durations, of any units; text with text and binary with
                 binary, whatever their offsets; dictionaries and runs as their values. Timestamps
                 with a time zone are instants, equal whatever their zones; they do not compare with
                 those that have none.
    left_on      in the place of on, the key columns of left
    right_on     the key columns of right, as many; None = those of left have the same names
    how          which rows come out:
                   inner            each pair of rows that match
                   left, right      and once each row of that side without a match, the other
                                    side's columns NULL
                   full             and those of both sides; also outer, full_outer
                   left_semi        rows of left that have a match, once each; also semi
                   left_anti        rows of left that have none; also anti
                   left_mark        all rows of left, with a boolean column "mark", what SQL answers
                                    for key IN (keys of right): true where there is a match, else
                                    NULL where a NULL key leaves it open, else false; also mark
                   left_not_in      rows of left whose mark is false: NOT IN; also not_in
                   left_single      left, but SeveralMatches when a row has a second match, as for a
                                    scalar subquery; also single
                   cross            each row of left with each of right; without keys
                 and right_semi, right_anti, right_mark, right_not_in, right_single: the same with
                 the sides changed over
    where        what rows have to fulfil besides, to match: SQL, "left.price < right.bid", or an
                 expression, pc.field("left", "price") < pc.field("right", "bid"). Where it stands
                 no key needs to be named. README.md says what it may be made of. Or a function,
                 where the caller evaluates it: it is called with a batch of left_row and
                 right_row of all pairs of rows with equal keys, and answers with as many
                 booleans, NULL for no; not of mark and not_in
    asof         an Asof: of the rows with equal keys, or of all where no keys are named, only the one
                 next to the left row in an ordered column matches. Of inner, left, right, full,
                 left_single, and of semi and anti of either side
    null_equal   keys in which NULL equals NULL (IS NOT DISTINCT FROM): True = all, or a list of
                 names of key columns of left, or a list of a truth value for each key
    ieee_float   keys in which a float NaN equals nothing, named as in null_equal; others ignore it
    select       output columns, in this order; None = all that there are, but
                   inner, left, left_single: not the keys of right
                   right, right_single: not the keys of left
                   semi, anti, mark, not_in: those of one side only; of a mark join "mark" too, last
                 A right column whose name left has too is called name + suffix, in select and in
                 the output, whichever columns are selected; so is "mark". In right and right_single
                 a key of left leaves its name to a column of right that has it, and cannot be
                 selected then. [] = none: the result has its rows, and no columns but those of
                 pairs.
    pairs        whether to put out row numbers too: uint32 columns left_row and right_row, first,
                 NULL where a side has no row; of semi, anti, mark and not_in those of one side only
    aggregates   of aggregate(): these in the place of the rows
    by           of aggregates: None = all rows are one group; "left", "right" = a group for each
                 row of that side that comes out, with the columns of that side alone
    suffix       see select
    validate     "1:1", "1:m", "m:1", or "one_to_one" ...: the sides said to have 1 must have each
                 key at most once, else NotUnique; rows with a NULL in the key are not looked at.
                 "m:m" and None = nothing is checked
    left_rows, right_rows
                 which rows of a side are read, without a copy of it: an array with a truth value
                 for each row (NULL is false), or an array of row numbers, in any order, each as
                 often as it comes; of pyarrow, NumPy or polars, or a list; None = all. Row numbers
                 that come out are those of the whole table
    order        "left", "right": by the rows of that side, those of one row by the other side's;
                 rows that have none of that side come last. "probe": by the side that the plan
                 does not build on. None = any order
    row_limit, byte_limit
                 more output rows, or bytes, end the join with RowLimit or ByteLimit, as soon as
                 they are seen; columns that pyarrow takes by row number count nothing
    promise      what is known of the data: left_unique, right_unique (no two rows of the side have
                 equal keys), left_sorted, right_sorted (its keys do not decrease, NULLs together at
                 one end), or a list of these. It is checked: BrokenPromise names the row
    promised_rows
                 the join has no more rows than that, else BrokenPromise
    context      None = a shared one, on device "auto"
    device       auto, cpu, cuda: a context on a GPU can run a plan on the CPU too
    algorithm    auto, nop, nop_carried, direct_carried, pdj_carried, smj_carried, phj_carried,
                 phj_om, phj_gfur, phj_um, smj_om, smj_um, row_multiset, cpu_radix (gpujoin.h, section 8)
    build_side   auto, left, right: the side that is hashed or sorted into
    transfer, filter, transform, skew, match, output, gather,
    radix_bits, passes, page_pairs, probe_chunk_rows
                 single choices of the plan, as in gpujoin_plan_options; names are in lower case
                 and without their prefix: transform="radix_onesweep", radix_bits=10. None, "auto"
                 and 0 leave a choice to the planner. One that the device does not have is an
                 IllegalPlan: on the CPU, each transfer but "none".
    timeout      seconds that planning, each execution, or join() as a whole may take, else
                 DeadlineExceeded; None = any

    Output columns have the types of the inputs: of runs (run_end_encoded) that of their values, and
    text of more than 2 GiB comes out as large_string or large_binary. Those of nested types (lists,
    structs, maps) must lie in host memory; they come by row number, with pyarrow's take, when the
    result is read, with large_string in the place of string_view.

    Errors: InvalidArgument (unknown names), NotUnique, BrokenPromise, TypeMismatch (keys),
    Unsupported, IllegalPlan (techniques that do not fit together), TooManyRows, OutOfMemory,
    MemoryLimit, Cancelled, CudaError, DeviceLost, Forked.
    """
    options = plan_options(locals())
    promises = promises_of(promise, promised_rows)
    kind = kind_of(how)
    check_suffix(suffix)
    bounds = bounds_of(order, row_limit, byte_limit)
    context = context_or_default(context)
    inputs = {"left": Input(left, "left"), "right": Input(right, "right")}
    inputs["left"].select(left_rows, "left_rows")
    inputs["right"].select(right_rows, "right_rows")
    condition = condition_of(where, *(source.schema for source in inputs.values()))
    ordered = asof_of(asof, *(source.schema for source in inputs.values()))
    may_lack = condition is not None or ordered is not None
    keys = key_positions(inputs, kind, on, left_on, right_on, may_lack)
    if unique_sides(validate) and not keys["left"]:
        raise InvalidArgument(f"validate {validate!r}: there are no keys")
    names = [inputs["left"].schema.names[key] for key in keys["left"]]
    flags = key_flags(names, null_equal, ieee_float)
    check_unique(inputs, keys, flags, validate)
    if aggregates is not None:
        schemas = {side: source.schema for side, source in inputs.items()}
        of_groups = aggregates_of(schemas, aggregates)
        selected = group_columns(schemas, by, select, of_groups)
        return plan_columns(
            *(context, inputs, kind, keys, flags, condition, selected, pairs, bounds, options),
            asof=ordered,
            aggregates=of_groups,
            by=by,
            promises=promises,
        )
    if by is not None:
        raise InvalidArgument("by is given, and aggregates are not")
    columns = all_columns(inputs["left"].schema, inputs["right"].schema, kind, keys, suffix)
    selected = select_columns(columns, kind, keys, select)
    return plan_columns(
        *(context, inputs, kind, keys, flags, condition, selected, pairs, bounds, options),
        asof=ordered,
        promises=promises,
    )


def plan_columns(
    context: Context,
    inputs: dict[str, Input],
    kind: Kind,
    keys: dict[str, list[int]],
    flags: Sequence[int],
    condition: Condition | None,
    selected: Sequence[OutputColumn],
    pairs: bool,
    bounds: Bounds,
    options: _abi.PlanOptions,
    asof: AsofColumns | None = None,
    aggregates: Sequence[Aggregate] = (),
    by: str | None = None,
    promises: Promises = Promises(),
) -> Plan:
    """plan() once its arguments have been understood."""
    described = describe_join(
        *(context, inputs, kind, keys, flags, condition, selected, pairs, bounds),
        *(asof, aggregates, by, promises),
    )

    # So few rows that even each with each are soon there.
    rows = [source.table.num_rows for source in inputs.values() if source.table is not None]
    is_short = len(rows) == 2 and rows[0] * rows[1] <= _SHORT_PAIRS
    plans_soon = is_short or (
        len(rows) == 2
        and sum(rows) <= _SOON_PLANNED_ROWS
        and sum(source.table.nbytes for source in inputs.values()) <= _SOON_PLANNED_BYTES
    )
    handle = _abi.Handle("plan")
    parts = *described.relations, ctypes.byref(described.spec), ctypes.byref(options)
    fields = [[inputs[side].schema.field(key) for key in keys[side]] for side in inputs]
    with naming_nodes(condition), naming_key_types(list(zip(*fields))):
        context._call_long("plan_create", context._handle, *parts, out=handle, is_short=plans_soon)
    kept = [source.selection for source in inputs.values()]
    fields = described.columns, described.pair_fields
    return Plan(context, handle, *fields, is_short, condition, kept)


class DescribedJoin(NamedTuple):
    """A join as the library takes it, and what comes of it."""

    relations: Sequence[_abi.Handle]  # of left and right
    spec: _abi.JoinSpec
    columns: Sequence[ResultColumn]
    pair_fields: Sequence[pa.Field]


def describe_join(
    context: Context,
    inputs: dict[str, Input],
    kind: Kind,
    keys: dict[str, list[int]],
    flags: Sequence[int],
    condition: Condition | None,
    selected: Sequence[OutputColumn],
    pairs: bool,
    bounds: Bounds,
    asof: AsofColumns | None = None,
    aggregates: Sequence[Aggregate] = (),
    by: str | None = None,
    promises: Promises = Promises(),
) -> DescribedJoin:
    """The specification of a join of these inputs, whose columns it registers."""
    carried = [
        column
        for column in dict.fromkeys(selected)
        if column.side == MARK or is_carried(inputs[column.side].schema.field(column.column).type)
    ]
    is_taken = not set(selected) <= set(carried)
    has_pairs = pairs or is_taken or not (selected or aggregates)
    has_columns = bool(carried) or kind.has_mark or bool(aggregates)
    relations, registered = [], {}
    spec = _abi.JoinSpec(
        kind=kind.number,
        key_count=len(flags),
        output=_abi.OUTPUT_COLUMNS * has_columns | _abi.OUTPUT_PAIRS * has_pairs,
        key_flags=int32_array(flags),
        promises=promises.bits,
        promised_rows=promises.rows,
    )
    exported = []  # in the order of the library's export
    for side, source in inputs.items():
        columns = [column for column in carried if column.side == side]
        used = [*keys[side], *(column.column for column in columns)]
        used += condition.columns(side) if condition is not None else []
        used += [asof.positions[side]] if asof is not None else []
        used += [aggregate.column for aggregate in aggregates if aggregate.side == side]
        relation, positions = source.register(context, used)
        registered[side] = positions
        relations.append(relation)
        exported += columns
        setattr(spec, side + "_keys", int32_array([positions[key] for key in keys[side]]))
        setattr(spec, side + "_columns", int32_array([positions[c.column] for c in columns]))
        setattr(spec, side + "_column_count", len(columns))
    bounds.say(spec)
    if condition is not None:
        described = condition.described(context, registered)
        spec.residual = ctypes.pointer(described)
    if asof is not None:
        ordered = asof.described(registered)
        spec.asof = ctypes.pointer(ordered)
    if kind.has_mark:  # which comes out last, selected or not
        exported.append(next((column for column in carried if column.side == MARK), None))
    spec.group_side = _abi.SIDES["auto" if by is None else by]
    spec.aggregate_count = len(aggregates)
    if aggregates:
        spec.aggregates = aggregate_structs(aggregates, registered)
    exported += [aggregate.output for aggregate in aggregates]
    pair_fields = kind.pair_fields if has_pairs else []
    if by is not None:
        pair_fields = [field for field in pair_fields if field.name.startswith(by)]
    result_columns = pair_columns(pair_fields) if pairs else []
    for column in selected:
        number = exported.index(column) - len(exported) if column in exported else None
        result_columns.append(_result_column(inputs, kind, column, number))
    for i, aggregate in enumerate(aggregates):
        field = aggregate_field({s: inputs[s].schema for s in inputs}, aggregate)
        extension = field.type if field and isinstance(field.type, pa.BaseExtensionType) else None
        place = i - len(aggregates)
        result_columns.append(ResultColumn(aggregate.name, aggregate.nullable, place, extension))

    return DescribedJoin(relations, spec, result_columns, pair_fields)


def join(
    left: Any,
    right: Any,
    on: str | Sequence[str] | None = None,
    right_on: str | Sequence[str] | None = None,
    *,
    left_on: str | Sequence[str] | None = None,
    how: str = "inner",
    where: Where | None = None,
    asof: Asof | None = None,
    null_equal: OfKeys = False,
    ieee_float: OfKeys = False,
    select: Sequence[str] | None = None,
    pairs: bool = False,
    aggregates: Mapping[str, Any] | None = None,
    by: str | None = None,
    suffix: str = SUFFIX,
    validate: str | None = None,
    left_rows: Rows | None = None,
    right_rows: Rows | None = None,
    order: str | None = None,
    row_limit: int | None = None,
    byte_limit: int | None = None,
    promise: str | Sequence[str] | None = None,
    promised_rows: int | None = None,
    context: Context | None = None,
    device: str | None = None,
    algorithm: str | None = None,
    transform: str | None = None,
    match: str | None = None,
    gather: str | None = None,
    build_side: str | None = None,
    radix_bits: int | None = None,
    transfer: str | None = None,
    filter: str | None = None,
    skew: str | None = None,
    output: str | None = None,
    passes: int | None = None,
    page_pairs: int | None = None,
    probe_chunk_rows: int | None = None,
    timeout: float | None = None,
) -> Result:
    """Joins two tables: plan() with the same arguments, where they are described, executed; errors
    of both.

    join(january, february, on=["store", "item"], how="full").to_table()
    join(orders, lines, left_on="o_orderkey", right_on="l_orderkey", how="anti").to_polars()
    join(orders, lines, "o_orderkey", "l_orderkey", select=["o_custkey", "l_quantity"]).to_table()
    """
    with plan(**locals()) as planned:
        return planned.execute()


def int32_array(numbers: Sequence[int]) -> Any:
    """Numbers as the library takes them."""
    return (ctypes.c_int32 * len(numbers))(*numbers)


def pair_columns(fields: Sequence[pa.Field]) -> list[ResultColumn]:
    """The row numbers as output columns."""
    return [ResultColumn(field.name, field.nullable, field.name) for field in fields]


def _result_column(
    inputs: dict[str, Input], kind: Kind, column: OutputColumn, exported: int | None
) -> ResultColumn:
    """Where an output column comes from; `exported` is its place in the export, if it is there."""
    if column.side == MARK:
        return ResultColumn(column.name, True, exported)
    may_miss = column.side in kind.without_row
    rows = column.side + "_row"
    return input_column(inputs[column.side], column.column, column.name, may_miss, exported, rows)


def input_column(
    source: Input, number: int, name: str, may_miss: bool, exported: int | None, rows: str
) -> ResultColumn:
    """An output column of an input: exported, or taken by row numbers of the export.

    may_miss  whether an output row may have no row of this input
    """
    field = source.schema.field(number)
    nullable = field.nullable or may_miss
    if exported is None:
        return ResultColumn(name, nullable, taken=TakenColumn(source.values(number), rows))
    extension = field.type if isinstance(field.type, pa.BaseExtensionType) else None
    return ResultColumn(name, nullable, exported, extension)
