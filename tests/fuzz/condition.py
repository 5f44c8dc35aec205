"""Conditions of rows beside equal keys: a tree of operators, and its text as tests/cases has it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from .case import Column, Table
from .column_types import ColumnType
from .text_words import can_be_word, type_name, type_named, values_of_words, word_of

# Words of tests/cases: GPUJOIN_OPERATOR_* from 3 on, in this order.
OPERATORS = """= <> < <= > >= distinct not_distinct between in and or not is_null is_not_null
    is_true is_false starts_with case coalesce + - * / // % negate abs""".split()
COLUMN, CONSTANT, _FIRST = 1, 2, 3
# A bracket, or a word, which may have the brackets of a type in it: "1.5:decimal64(3,2)".
_TOKEN = re.compile(r"[()]|[^\s()]+(?:\([^)\s]*\))?")


@dataclass(frozen=True, eq=False)
class Node:
    """operator  a word of OPERATORS, "column" or "constant"
    side      of a column
    column    its position in that side
    values    of a constant a column of one row, of "in" the list
    """

    operator: str
    arguments: tuple[Node, ...] = ()
    side: str = ""
    column: int = 0
    values: Column | None = None

    @property
    def number(self) -> int:
        """GPUJOIN_OPERATOR_*"""
        fixed = {"column": COLUMN, "constant": CONSTANT}
        return fixed.get(self.operator) or _FIRST + OPERATORS.index(self.operator)

    def postfix(self) -> Iterator[Node]:
        for argument in self.arguments:
            yield from argument.postfix()
        yield self

    @property
    def size(self) -> int:
        return sum(1 for _ in self.postfix())

    def columns(self, side: str) -> set[int]:
        return {node.column for node in self.postfix() if node.side == side}

    def changed(self, change: Callable[[Node], Node]) -> Node:
        """With change() of each node, its arguments first."""
        arguments = tuple(argument.changed(change) for argument in self.arguments)
        return change(replace(self, arguments=arguments))

    def with_node(self, old: Node, new: Node) -> Node:
        if self is old:
            return new
        arguments = tuple(argument.with_node(old, new) for argument in self.arguments)
        return replace(self, arguments=arguments)

    def with_columns(self, side: str, moved: Callable[[int], int]) -> Node:
        """Of a table whose columns have other positions."""
        return self.changed(
            lambda node: replace(node, column=moved(node.column)) if node.side == side else node
        )


def can_write(node: Node) -> bool:
    """Whether all of its constants have words."""
    columns = [each.values for each in node.postfix() if each.values is not None]
    return all(
        type_name(column.type) is not None
        and all(_can_be_word(value, column.type) for value in column.python_values())
        for column in columns
    )


def _can_be_word(value: object, column_type: ColumnType) -> bool:
    brackets = column_type.family == "text" and value is not None and {*b"():"} & {*value}
    return can_be_word(value, column_type) and not brackets


def write(node: Node, tables: dict[str, Table]) -> str:
    if node.side:
        return f"{node.side}.{tables[node.side].columns[node.column].name}"
    words = [] if node.values is None else _words(node.values)
    if node.operator == "constant":
        return f"{words[0]}:{type_name(node.values.type)}"
    parts = [write(argument, tables) for argument in node.arguments]
    parts += [type_name(node.values.type), *words] if node.operator == "in" else []
    return f"({' '.join([node.operator, *parts])})"


def _words(column: Column) -> list[str]:
    return [word_of(value, column.type) for value in column.python_values()]


def read(text: str, tables: dict[str, Table]) -> Node:
    """Errors: ValueError."""
    tokens = iter(_TOKEN.findall(text))
    places = {
        f"{side}.{column.name}": Node("column", side=side, column=place)
        for side, table in tables.items()
        for place, column in enumerate(table.columns)
    }

    def expression(token: str) -> Node:
        if token in places:
            return places[token]
        if token != "(":
            word, _, kind = token.rpartition(":")
            return Node("constant", values=_column([word], type_named(kind)))
        name = next(tokens)
        if name not in OPERATORS:
            raise ValueError(f"no operator is called {name}")
        if name == "in":
            value = expression(next(tokens))
            kind, *words = iter(lambda: next(tokens), ")")
            return Node("in", (value,), values=_column(words, type_named(kind)))
        return Node(name, tuple(expression(t) for t in iter(lambda: next(tokens), ")")))

    node = expression(next(tokens))
    if next(tokens, None) is not None:
        raise ValueError(f"a condition goes on behind its end: {text}")
    return node


def _column(words: list[str], column_type: ColumnType) -> Column:
    valid = np.array([word != "NULL" for word in words], bool)
    values = values_of_words(words, column_type)
    return Column("value", column_type, values, None if valid.all() else valid)
