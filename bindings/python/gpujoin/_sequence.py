"""join_sequence()."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from . import _abi
from ._arguments import check_suffix, column_names
from ._columns import SUFFIX, free_name
from ._context import Context, choose, context_or_default
from ._inputs import Input, is_carried
from ._keys import OfKeys, key_flags, naming_key_types
from ._kinds import KINDS, Kind, kind_of
from ._plan import input_column, int32_array, pair_columns
from ._plan_options import plan_options
from ._result import LEFT_ROW, RIGHT_ROW, Result, ResultColumn
from ._selections import Rows
from .errors import InvalidArgument

_FACT = 0  # number of the fact table among the inputs; dimension i is number i + 1
_KINDS = [KINDS[name] for name in ("inner", "left", "left_semi")]


@dataclass(frozen=True)
class _Step:
    kind: Kind
    fact_key: int
    dimension_key: int


@dataclass(frozen=True)
class _Output:
    """An output column: column number `column` of input number `source`, called `name`."""

    source: int
    column: int
    name: str


def join_sequence(
    fact: Any,
    dimensions: Sequence[tuple[Any, ...]],
    fact_columns: Sequence[str] | None = None,
    pairs: bool = False,
    materialize: str | None = None,
    context: Context | None = None,
    *,
    how: str | Sequence[str] = "inner",
    null_equal: OfKeys = False,
    ieee_float: OfKeys = False,
    suffix: str = SUFFIX,
    fact_rows: Rows | None = None,
    dimension_rows: Sequence[Rows | None] | None = None,
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
    """Joins a fact table with one dimension after the other, in one call of the library.

    fact          what join() takes as an input; the row numbers of this table are kept from join
                  to join, each next key and the output columns are fetched by them
    dimensions    in the order of the joins, each a tuple of
                    the table;
                    fact_on, the key column of fact;
                    dimension_on, the key column of the dimension; missing or None = the same name;
                    columns, its output columns in this order; missing or None = all but its key,
                    or none of a left_semi join
    fact_columns  output columns of fact, which come first; None = all
    pairs         whether to put out row numbers too: uint32 columns left_row (of fact) and
                  right_row_0, right_row_1 ... (of each dimension but those of left_semi joins, NULL
                  where a row has none), first
    materialize   auto, as_they_come (columns of a dimension are columns of the joins after its
                  own), at_the_end (its row numbers are, and its columns are fetched at the end)
    context       None = a shared one, on device "auto"
    how           of all joins, or a list with that of each: inner; left (a row without a match
                  stays, its columns of the dimension NULL); left_semi (rows with a match stay, once
                  each)
    null_equal, ieee_float
                  what plan() takes under these names: of all keys, or a list of names of key
                  columns of fact, or of a truth value for each dimension
    suffix        for a column whose name is taken, as often as it needs
    fact_rows     which rows of fact are read: what join() takes as left_rows
    dimension_rows
                  the same of each dimension: a list; None = all rows of all
    device ... timeout
                  of every join, what plan() takes under these names

    Keys, types and errors are those of join(); TooManyRows also when a join but the last leaves
    2^32 - 1 rows or more.

    join_sequence(lineitem, [(orders, "l_orderkey", "o_orderkey", ["o_orderdate"]),
                             (part, "l_partkey", "p_partkey")]).to_table()
    """
    chosen = plan_options(locals())
    context = context_or_default(context)
    check_suffix(suffix)
    way = choose("materialize", _abi.MATERIALIZE, materialize)
    dimensions = list(dimensions)
    kinds = _kinds_of(how, len(dimensions))
    inputs = [Input(fact, "fact")]
    inputs[_FACT].select(fact_rows, "fact_rows")
    rows = _rows_of(dimension_rows, len(dimensions))
    steps: list[_Step] = []
    selected = _fact_outputs(inputs[_FACT], fact_columns)
    taken_names = {output.name for output in selected}
    for number, (kind, dimension) in enumerate(zip(kinds, dimensions)):
        step, names = _checked_step(inputs, number, kind, dimension)
        steps.append(step)
        source = number + 1
        inputs[source].select(rows[number], f"dimension_rows[{number}]")
        for column in _columns_of(inputs[source], step, names, number):
            name = free_name(inputs[source].schema.field(column).name, taken_names, suffix)
            selected.append(_Output(source, column, name))
    if not steps:
        raise InvalidArgument("dimensions is empty")
    flags = key_flags(
        [inputs[_FACT].schema.names[step.fact_key] for step in steps], null_equal, ieee_float
    )

    carried, taken = [], []
    for output in selected:
        field = inputs[output.source].schema.field(output.column)
        (carried if is_carried(field.type) else taken).append((output.source, output.column))
    carried = list(dict.fromkeys(carried))
    has_pairs = pairs or not carried or bool(taken)
    spec, exported = _specification(context, inputs, steps, flags, carried)
    spec.output = (_abi.OUTPUT_COLUMNS if carried else 0) | (_abi.OUTPUT_PAIRS if has_pairs else 0)
    spec.materialize = way

    handle = _abi.Handle("result")
    parts = spec.kept[_FACT], ctypes.byref(spec), ctypes.byref(chosen)
    with naming_key_types(_key_fields(inputs, steps)):
        context._call_long("join_sequence", context._handle, *parts, out=handle)
    pair_fields = _pair_fields(steps) if has_pairs else []
    columns = pair_columns(pair_fields) if pairs else []
    for output in selected:
        columns.append(_result_column(inputs, steps, output, exported))
    return Result(context, handle, columns, pair_fields)


def _rows_of(dimension_rows: Any, count: int) -> list[Any]:
    """The rows of each dimension. Errors: InvalidArgument."""
    if dimension_rows is None:
        return [None] * count
    if not isinstance(dimension_rows, (list, tuple)) or len(dimension_rows) != count:
        raise InvalidArgument(
            f"dimension_rows must be a list of the rows of each of {count} dimensions"
        )
    return list(dimension_rows)


def _kinds_of(how: Any, count: int) -> list[Kind]:
    """The kind of each join. Errors: InvalidArgument."""
    if isinstance(how, (list, tuple)):
        if len(how) != count:
            raise InvalidArgument(f"how names {len(how)} kinds, and there are {count} dimensions")
        kinds = [kind_of(name) for name in how]
    else:
        kinds = [kind_of(how)] * count
    for kind in kinds:
        if kind not in _KINDS:
            names = ", ".join(kind.name for kind in _KINDS)
            raise InvalidArgument(f"how {kind.name!r}: joins of a sequence are {names}")
    return kinds


def _key_fields(inputs: list[Input], steps: list[_Step]) -> list[tuple[pa.Field, pa.Field]]:
    fact, *dimensions = inputs
    return [
        (fact.schema.field(step.fact_key), dimension.schema.field(step.dimension_key))
        for step, dimension in zip(steps, dimensions)
    ]


def _may_miss(step: _Step) -> bool:
    """Whether a row may come out that has none of the step's dimension."""
    return "right" in step.kind.without_row


def _has_row(step: _Step) -> bool:
    """Whether rows of the step's dimension come out."""
    return "right" in step.kind.sides


def _pair_fields(steps: list[_Step]) -> list[pa.Field]:
    fields = [pa.field(LEFT_ROW, pa.uint32(), nullable=False)]
    for i, step in enumerate(steps):
        if _has_row(step):
            fields.append(pa.field(f"{RIGHT_ROW}_{i}", pa.uint32(), _may_miss(step)))
    return fields


def _fact_outputs(fact: Input, names: Sequence[str] | None) -> list[_Output]:
    if names is None:
        return [_Output(_FACT, i, name) for i, name in enumerate(fact.schema.names)]
    names = column_names("fact_columns", names)
    return [_Output(_FACT, fact.column(name, "fact_columns"), name) for name in names]


def _checked_step(
    inputs: list[Input], number: int, kind: Kind, dimension: tuple[Any, ...]
) -> tuple[_Step, Sequence[str] | None]:
    """Appends the dimension to the inputs; answers with its keys and the columns asked for."""
    what = f"dimensions[{number}]"
    if not isinstance(dimension, (tuple, list)) or not 2 <= len(dimension) <= 4:
        raise InvalidArgument(f"{what} must be (table, fact_on[, dimension_on[, columns]])")
    table, fact_on, dimension_on, names = (*dimension, None, None)[:4]
    inputs.append(Input(table, what))
    fact_key = inputs[_FACT].column(fact_on, f"{what}: fact_on")
    dimension_key = inputs[-1].column(
        fact_on if dimension_on is None else dimension_on, f"{what}: dimension_on"
    )
    return _Step(kind, fact_key, dimension_key), names


def _columns_of(
    dimension: Input, step: _Step, names: Sequence[str] | None, number: int
) -> list[int]:
    what = f"dimensions[{number}]: columns"
    if names is None:
        numbers = range(len(dimension.schema.names))
        return [i for i in numbers if i != step.dimension_key and _has_row(step)]
    columns = [dimension.column(name, what) for name in column_names(what, names)]
    if columns and not _has_row(step):
        raise InvalidArgument(f"{what}: a {step.kind.name} join puts out none of its dimension")
    return columns


def _specification(
    context: Context,
    inputs: list[Input],
    steps: list[_Step],
    flags: list[int],
    carried: list[tuple[int, int]],
) -> tuple[_abi.SequenceSpec, list[tuple[int, int]]]:
    """Registers the inputs. Returns the specification, which keeps their relations, and the carried
    columns in the order of the library's export."""
    columns_of = [[c for source, c in carried if source == i] for i in range(len(inputs))]
    used = [*(step.fact_key for step in steps), *columns_of[_FACT]]
    relation, of_fact = inputs[_FACT].register(context, used)
    array = (_abi.SequenceStep * len(steps))()
    spec = _abi.SequenceSpec(
        step_count=len(steps),
        steps=array,
        fact_columns=int32_array([of_fact[column] for column in columns_of[_FACT]]),
        fact_column_count=len(columns_of[_FACT]),
    )
    spec.kept = [relation]  # by ctypes: as long as the specification
    for described, step, flag, dimension, columns in zip(
        array, steps, flags, inputs[1:], columns_of[1:]
    ):
        relation, positions = dimension.register(context, [step.dimension_key, *columns])
        spec.kept.append(relation)
        described.struct_size = ctypes.sizeof(_abi.SequenceStep)
        described.key_count = 1
        described.dimension = relation.open_pointer()
        described.fact_keys = int32_array([of_fact[step.fact_key]])
        described.dimension_keys = int32_array([positions[step.dimension_key]])
        described.dimension_columns = int32_array([positions[column] for column in columns])
        described.dimension_column_count = len(columns)
        described.kind = step.kind.number
        described.key_flags = flag
    exported = [(i, column) for i, columns in enumerate(columns_of) for column in columns]
    return spec, exported


def _result_column(
    inputs: list[Input], steps: list[_Step], output: _Output, exported: list[tuple[int, int]]
) -> ResultColumn:
    source, column = output.source, output.column
    is_there = (source, column) in exported
    number = exported.index((source, column)) - len(exported) if is_there else None
    may_miss = source != _FACT and _may_miss(steps[source - 1])
    rows = LEFT_ROW if source == _FACT else f"{RIGHT_ROW}_{source - 1}"
    return input_column(inputs[source], column, output.name, may_miss, number, rows)
