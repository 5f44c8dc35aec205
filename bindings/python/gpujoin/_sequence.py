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
from ._plan import int32_array, plan_options
from ._result import LEFT_ROW, Result, ResultColumn, TakenColumn
from ._sequence_keys import sequence_key_types
from .errors import InvalidArgument

_FACT = 0  # number of the fact table among the inputs; dimension i is number i + 1


@dataclass(frozen=True)
class _Step:
    fact_key: int
    dimension_key: int
    key_types: tuple[pa.DataType, pa.DataType]


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
    suffix: str = SUFFIX,
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
) -> Result:
    """Inner-joins a fact table with one dimension after the other, in one call of the library.

    fact          what join() takes as an input; the row numbers of this table are kept from join
                  to join, each next key and the output columns are fetched by them
    dimensions    in the order of the joins, each a tuple of
                    the table;
                    fact_on, the key column of fact;
                    dimension_on, the key column of the dimension; missing or None = the same name;
                    columns, its output columns in this order; missing or None = all but its key
    fact_columns  output columns of fact, which come first; None = all
    pairs         whether to put out row numbers too: uint32 columns left_row (of fact) and
                  right_row_0, right_row_1 ... (of each dimension), first
    materialize   auto, as_they_come (columns of a dimension are columns of the joins after its
                  own), at_the_end (its row numbers are, and its columns are fetched at the end)
    context       None = a shared one, on device "auto"
    suffix        for a column whose name is taken, as often as it needs
    device ... probe_chunk_rows
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
    inputs = [Input(fact, "fact")]
    steps: list[_Step] = []
    selected = _fact_outputs(inputs[_FACT], fact_columns)
    taken_names = {output.name for output in selected}
    for number, dimension in enumerate(dimensions):
        step, names = _checked_step(inputs, number, dimension)
        steps.append(step)
        source = number + 1
        for column in _columns_of(inputs[source], step.dimension_key, names, number):
            name = free_name(inputs[source].schema.field(column).name, taken_names, suffix)
            selected.append(_Output(source, column, name))
    if not steps:
        raise InvalidArgument("dimensions is empty")

    carried = {
        (output.source, output.column): None
        for output in selected
        if is_carried(inputs[output.source].schema.field(output.column).type)
    }
    has_pairs = pairs or len(carried) == 0 or any(
        (output.source, output.column) not in carried for output in selected
    )
    spec, exported = _specification(context, inputs, steps, list(carried))
    spec.output = (_abi.OUTPUT_COLUMNS if carried else 0) | (_abi.OUTPUT_PAIRS if has_pairs else 0)
    spec.materialize = way

    handle = _abi.Handle("result")
    parts = spec.kept[_FACT], ctypes.byref(spec), ctypes.byref(chosen)
    context._call_long("join_sequence", context._handle, *parts, out=handle)
    pair_fields = _pair_fields(len(steps)) if has_pairs else []
    columns = [ResultColumn(field, i) for i, field in enumerate(pair_fields)] if pairs else []
    for output in selected:
        columns.append(_result_column(inputs, output, exported, len(pair_fields)))
    return Result(context, handle, columns, pair_fields)


def _pair_fields(steps: int) -> list[pa.Field]:
    names = [LEFT_ROW, *(f"right_row_{i}" for i in range(steps))]
    return [pa.field(name, pa.uint32(), nullable=False) for name in names]


def _fact_outputs(fact: Input, names: Sequence[str] | None) -> list[_Output]:
    if names is None:
        return [_Output(_FACT, i, name) for i, name in enumerate(fact.schema.names)]
    names = column_names("fact_columns", names)
    return [_Output(_FACT, fact.column(name, "fact_columns"), name) for name in names]


def _checked_step(
    inputs: list[Input], number: int, dimension: tuple[Any, ...]
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
    fields = inputs[_FACT].schema.field(fact_key), inputs[-1].schema.field(dimension_key)
    return _Step(fact_key, dimension_key, sequence_key_types(*fields)), names


def _columns_of(
    dimension: Input, key: int, names: Sequence[str] | None, number: int
) -> list[int]:
    if names is None:
        return [i for i in range(len(dimension.schema.names)) if i != key]
    what = f"dimensions[{number}]: columns"
    return [dimension.column(name, what) for name in column_names(what, names)]


def _specification(
    context: Context,
    inputs: list[Input],
    steps: list[_Step],
    carried: list[tuple[int, int]],
) -> tuple[_abi.SequenceSpec, list[tuple[int, int]]]:
    """Registers the inputs. Returns the specification, which keeps their relations, and the carried
    columns in the order of the library's export."""
    fact_columns = [column for source, column in carried if source == _FACT]
    relation, fact_keys, positions = _register_fact(context, inputs[_FACT], steps, fact_columns)
    exported = [(_FACT, column) for column in fact_columns]
    array = (_abi.SequenceStep * len(steps))()
    spec = _abi.SequenceSpec(
        step_count=len(steps),
        steps=array,
        fact_columns=int32_array(positions),
        fact_column_count=len(positions),
    )
    spec.kept = [relation]  # by ctypes: as long as the specification
    for number, step in enumerate(steps):
        source = number + 1
        columns = [column for s, column in carried if s == source]
        relation, keys, positions = inputs[source].register(
            context, [step.dimension_key], [step.key_types[1]], columns
        )
        spec.kept.append(relation)
        exported += [(source, column) for column in columns]
        described = array[number]
        described.struct_size = ctypes.sizeof(_abi.SequenceStep)
        described.key_count = 1
        described.dimension = relation.open_pointer()
        described.fact_keys = int32_array([fact_keys[number]])
        described.dimension_keys = int32_array(keys)
        described.dimension_columns = int32_array(positions)
        described.dimension_column_count = len(positions)
    return spec, exported


def _register_fact(
    context: Context, fact: Input, steps: list[_Step], columns: list[int]
) -> tuple[_abi.Handle, list[int], list[int]]:
    """The fact relation with a key for each step, cast where a dimension's is of another type.

    Returns the relation, the position of each step's key and those of the columns.
    """
    keys = [step.fact_key for step in steps]
    if fact.table is not None:
        table = fact.table
        for number, step in enumerate(steps):
            key = fact.values(step.fact_key)
            if key.type != step.key_types[0]:
                keys[number] = table.num_columns
                table = table.append_column(f"key {number}", key.cast(step.key_types[0]))
        fact = Input(table, fact.side)
    type_of_first = fact.schema.field(keys[0]).type
    relation, _, positions = fact.register(context, keys[:1], [type_of_first], [*keys, *columns])
    return relation, positions[: len(keys)], positions[len(keys) :]


def _result_column(
    inputs: list[Input], output: _Output, exported: list[tuple[int, int]], first: int
) -> ResultColumn:
    source = inputs[output.source]
    field = source.schema.field(output.column)
    if (output.source, output.column) in exported:
        number = first + exported.index((output.source, output.column))
        return ResultColumn(pa.field(output.name, field.type, field.nullable), number)
    taken = TakenColumn(source.values(output.column), output.source)
    return ResultColumn(pa.field(output.name, taken.type, field.nullable), taken=taken)
