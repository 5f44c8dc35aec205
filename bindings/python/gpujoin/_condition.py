"""Conditions of rows beside equal keys: nodes in postfix order, as gpujoin_condition has them."""

from __future__ import annotations

import contextlib
import ctypes
import decimal
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Union

import pyarrow as pa
from pyarrow import compute

from . import _abi
from ._context import Context
from ._inputs import Input
from .errors import EvaluationError, GpujoinError, InvalidArgument, TypeMismatch

MOST_NODES = 4096
_MOST_DIGITS = 76

# GPUJOIN_OPERATOR_*: from 1 on, in this order.
_OPERATORS = """column constant equal not_equal less less_equal greater greater_equal distinct
    not_distinct between in and or not is_null is_not_null is_true is_false starts_with case
    coalesce add subtract multiply divide quotient modulo negate absolute caller""".split()
NUMBERS = {name: number for number, name in enumerate(_OPERATORS, 1)}

# Which pairs of rows match, told by the caller: a batch of left_row and right_row -> booleans.
Decide = Callable[[pa.RecordBatch], Any]
# What where= takes.
Where = Union[str, compute.Expression, Decide]


@dataclass(frozen=True)
class Node:
    """operator  as in NUMBERS
    count     of arguments, which are the nodes before it
    side      of a column: "left" or "right"
    column    its position in that side
    values    of a constant an array of one value, of "in" the list
    text      what the node was written as, with its arguments; "" where it is not known
    """

    operator: str
    count: int = 0
    side: str = ""
    column: int = 0
    values: pa.Array | None = None
    text: str = ""


# An expression: its nodes in postfix order.
Nodes = list[Node]


def constant(values: pa.Array, text: str = "") -> Nodes:
    """values  an array of one value"""
    return [Node("constant", values=values, text=text)]


def is_constant(nodes: Nodes) -> bool:
    return len(nodes) == 1 and nodes[0].operator == "constant"


def apply(operator: str, *arguments: Nodes, text: str = "", values: Any = None) -> Nodes:
    """An operator of expressions. Errors: InvalidArgument, of too many nodes."""
    nodes = [node for argument in arguments for node in argument]
    if len(nodes) >= MOST_NODES:
        raise InvalidArgument(f"where has more than {MOST_NODES} columns, values and operators")
    nodes.append(Node(operator, len(arguments), values=values, text=text))
    return nodes


def any_of(*alternatives: Nodes, text: str = "") -> Nodes:
    return apply("or", *alternatives, text=text) if len(alternatives) > 1 else alternatives[0]


def is_in(value: Nodes, constants: Sequence[pa.Array], text: str = "") -> Nodes:
    """value IN (constants): a list a type, in which numbers but floats are one type."""
    lists: dict[str, list[pa.Array]] = {}
    nulls = [each for each in constants if each.null_count]
    for each in constants:
        if not each.null_count:
            kind = each.type
            is_exact = pa.types.is_integer(kind) or pa.types.is_decimal(kind)
            lists.setdefault("exact" if is_exact else str(kind), []).append(each)
    arrays = [_one_array(arrays) for arrays in lists.values()]
    if nulls:
        first = arrays[0] if arrays else pa.nulls(0)
        arrays[:1] = [pa.concat_arrays([first, pa.nulls(1, first.type)])]
    tests = [apply("in", value, values=array, text=text) for array in arrays]
    return any_of(*tests, text=text)


def _one_array(values: Sequence[pa.Array]) -> pa.Array:
    """Arrays of integers and decimals in a type that holds all; others are of one type. Errors:
    InvalidArgument."""
    kinds = {each.type for each in values}
    if len(kinds) > 1:
        numbers = [each[0].as_py() for each in values]
        if all(map(pa.types.is_integer, kinds)) and -(1 << 63) <= min(numbers):
            if max(numbers) < 1 << 63:
                return pa.array(numbers, pa.int64())
            if min(numbers) >= 0:
                return pa.array(numbers, pa.uint64())
        values = [pa.array([decimal.Decimal(number)]) for number in numbers]
        scale = max(each.type.scale for each in values)
        digits = scale + max(each.type.precision - each.type.scale for each in values)
        if digits > _MOST_DIGITS:
            raise InvalidArgument(f"numbers of {digits} digits in all; there may be {_MOST_DIGITS}")
        make = pa.decimal128 if digits <= 38 else pa.decimal256
        values = [each.cast(make(digits, scale)) for each in values]
    return pa.concat_arrays(values)


class Names:
    """The columns that a condition may name."""

    def __init__(self, left: pa.Schema, right: pa.Schema) -> None:
        self.schemas = {"left": left, "right": right}

    def of_side(self, side: str, name: str, text: str = "") -> Nodes:
        """Errors: InvalidArgument, where there is no such column or more than one."""
        found = self.schemas[side].get_all_field_indices(name)
        if len(found) == 1:
            return [Node("column", side=side, column=found[0], text=text or f"{side}.{name}")]
        if found:
            raise InvalidArgument(f"{len(found)} columns of {side} are named {name!r}")
        there = ", ".join(self.schemas[side].names)
        raise InvalidArgument(f"{side} has no column {name!r}; it has {there}")

    def alone(self, name: str, text: str = "") -> Nodes:
        """A column that only one side has. Errors: InvalidArgument."""
        found = [side for side, schema in self.schemas.items() if name in schema.names]
        if len(found) == 1:
            return self.of_side(found[0], name, text or name)
        if found:
            raise InvalidArgument(f"both sides have a column {name!r}: write left. or right.")
        there = "; ".join(f"{side} has {', '.join(s.names)}" for side, s in self.schemas.items())
        raise InvalidArgument(f"no side has a column {name!r}; {there}")

    def type_of(self, node: Node) -> pa.DataType:
        """Of a column."""
        return self.schemas[node.side].field(node.column).type


@dataclass(frozen=True)
class Condition:
    """What where= says."""

    nodes: Nodes
    decide: Decide | None = None  # the caller evaluates it

    def columns(self, side: str) -> list[int]:
        """The positions of the columns of a side that it names, once each."""
        return list(dict.fromkeys(n.column for n in self.nodes if n.side == side))

    def moved(self, positions: Mapping[str, Mapping[int, int]]) -> Condition:
        """Of tables whose columns are elsewhere: at positions[side][column]."""
        return Condition(
            [replace(n, column=positions[n.side][n.column]) if n.side else n for n in self.nodes]
        )

    def described(
        self, context: Context, positions: Mapping[str, Mapping[int, int]]
    ) -> _abi.Condition:
        """For the library, with the relations of its constants, which it keeps.

        positions  in the relations, of each side's columns
        """
        array = (_abi.Node * len(self.nodes))()
        described = _abi.Condition(node_count=len(array), nodes=array)
        constants = [node.values for node in self.nodes if node.operator == "constant"]
        described.kept = []  # by ctypes: as long as the structure
        one_row = self._relation(context, constants, described) if constants else None
        used = 0
        for node, given in zip(self.nodes, array):
            given.struct_size = ctypes.sizeof(_abi.Node)
            given.operation = NUMBERS[node.operator]
            given.argument_count = node.count
            if node.side:
                given.side = _abi.SIDES[node.side]
                given.column = positions[node.side][node.column]
            elif node.operator == "constant":
                given.values = one_row
                given.column = used
                used += 1
            elif node.operator == "in":
                given.values = self._relation(context, [node.values], described)
        return described

    @staticmethod
    def _relation(context: Context, columns: Sequence[pa.Array], described: Any) -> Any:
        table = pa.table(list(columns), names=[f"constant {i}" for i in range(len(columns))])
        handle, _ = Input(table, "where").register(context, range(len(columns)))
        described.kept.append(handle)
        return handle.open_pointer()


@contextlib.contextmanager
def naming_nodes(condition: Condition | None) -> Iterator[None]:
    """Adds to errors of the library what the node that they name was written as."""
    try:
        yield
    except (TypeMismatch, EvaluationError, InvalidArgument) as error:
        found = re.search(r"residual\.nodes\[(\d+)\]", str(error))
        if condition is None or found is None or not condition.nodes[int(found[1])].text:
            raise
        raise _with_text(error, f"{error}; where: {condition.nodes[int(found[1])].text}") from None


def _with_text(error: GpujoinError, text: str) -> GpujoinError:
    return type(error)(text, error.status, error.cuda_code, error.is_sticky)


def condition_of(where: Any, left: pa.Schema, right: pa.Schema) -> Condition | None:
    """What where= says of tables of these columns. Errors: InvalidArgument, TypeMismatch,
    Unsupported."""
    from ._expression import nodes_of_expression
    from ._sql import nodes_of_text

    if where is None or isinstance(where, Condition):
        return where
    names = Names(left, right)
    if isinstance(where, str):
        return Condition(nodes_of_text(where, names))
    if isinstance(where, compute.Expression):
        return Condition(nodes_of_expression(where, names))
    if callable(where):
        return Condition([Node("caller")], where)
    raise InvalidArgument(
        f"where is a {type(where).__name__}; it must be a text of SQL, a "
        "pyarrow.compute.Expression or a function"
    )


def checked_answers(given: Any, rows: int) -> pa.Array | pa.ChunkedArray:
    """What the caller's function answered of so many candidates. Errors: InvalidArgument."""
    try:
        answers = given if isinstance(given, (pa.Array, pa.ChunkedArray)) else pa.array(given)
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError) as error:
        raise InvalidArgument(f"where: its answer is no array of booleans: {error}") from None
    if not pa.types.is_boolean(answers.type) or len(answers) != rows:
        raise InvalidArgument(
            f"where: {rows} booleans are wanted, and {len(answers)} of type {answers.type} came"
        )
    return answers


def answers_of(decide: Decide, pairs: pa.RecordBatch) -> Input:
    """What the caller says of candidate pairs, as a table of one column. Errors: InvalidArgument,
    and those of the caller's function."""
    answers = checked_answers(decide(pairs), pairs.num_rows)
    return Input(pa.table({"answers": answers}), "where")
