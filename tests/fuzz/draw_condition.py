"""Draws conditions of rows beside equal keys: well typed, and true of some pairs of rows."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from .case import Case, Column, Table
from .column_types import ColumnType, type_of
from .condition import Node
from .evaluate import NO_VALUE, Evaluator, WrongTypes
from .pools import from_integers, from_values, own_values

_SIZES = (1, 2, 3, 3, 4, 5, 5, 6, 8, 10, 12)
_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=", "<", ">", "distinct", "not_distinct")
_EXACT = ("+", "-", "*", "//", "//", "%")
_TRIES = 12
_SAMPLE = 120  # pairs of rows
_NO_VALUE_SHARE = 0.15  # of conditions of which some pairs have no value
_WRONG_SHARE = 0.02  # of conditions whose types do not go together
_MOST_LISTED = 6
# Of a COALESCE: draws for one that may be NULL, and how many follow it.
_FIRST_ARGUMENTS = 6
_MORE_ARGUMENTS = (0, *(8 * (1,)), *(4 * (2,)))
_INTERVALS = ("months", "day_time", "month_day_nano")
# Types of constants beside the columns' own.
_CONSTANTS = ("c", "s", "i", "l", "C", "I", "L", "g", "d:9,2,32", "d:18,3,64", "d:38,4")


def draw_condition(
    rng: random.Random, tables: dict[str, Table], pairs: list[tuple[int, int]]
) -> Node:
    """pairs  of rows with equal keys, some of them"""
    drawer = _Drawer(rng, tables)
    if rng.random() < _WRONG_SHARE and (wrong := drawer.wrong()) is not None:
        return wrong
    may_fail = rng.random() < _NO_VALUE_SHARE
    best = None
    for _ in range(_TRIES):
        node = drawer.truth(rng.choice(_SIZES))
        try:
            answers = _answers(node, tables, pairs)
        except WrongTypes:
            continue
        if NO_VALUE in answers and not may_fail:
            continue
        best = node if best is None else best
        if True in answers and len(set(answers)) > 1:
            return node
    return best or drawer.null_test()


def _answers(node: Node, tables: dict[str, Table], pairs: list[tuple[int, int]]) -> list:
    answer = Evaluator(node, tables).answer
    return [answer(*pair) for pair in pairs]


class _Drawer:
    def __init__(self, rng: random.Random, tables: dict[str, Table]) -> None:
        self._rng = rng
        self._tables = tables
        self._by_family: dict[str, list[Node]] = {}
        for side, table in tables.items():
            for place, column in enumerate(table.columns):
                if column.type.family not in _INTERVALS:
                    self._by_family.setdefault(column.type.family, []).append(
                        Node("column", side=side, column=place)
                    )
        columns = [node for nodes in self._by_family.values() for node in nodes]
        self._columns = columns or [_constant_of("i", 1)]
        # Families of values that compare, those that both sides have more often.
        self._families = [family for family in self._by_family if family not in ("bool", "null")]
        both = [f for f in self._families if len({n.side for n in self._by_family[f]}) == 2]
        self._families += [*both, *both, *both]
        self._nullable = [
            f for f in self._families if any(map(self._may_be_null, self._by_family[f]))
        ]

    def truth(self, size: int) -> Node:
        """A condition of about so many nodes."""
        rng = self._rng
        if size <= 1:
            return self._small_truth()
        if size >= 7 or (size >= 3 and rng.random() < 0.25):
            return self._logic(size)
        makes = (
            *(8 * (self._compare,)),
            *(2 * (self._between, self._in, self._starts_with, self._null_or_truth, self._choice)),
            *(self._coalesced, self._not),
        )
        return rng.choice(makes)(size)

    def _small_truth(self) -> Node:
        truths = self._by_family.get("bool", [])
        if truths and self._rng.random() < 0.7:
            return self._rng.choice(truths)
        return self._compare(3)

    def _logic(self, size: int) -> Node:
        count = self._rng.choice((1, 2, 2, 2, 3, 4))
        parts = [self.truth(max(1, (size - 1) // count)) for _ in range(count)]
        return Node(self._rng.choice(("and", "or")), tuple(parts))

    def _not(self, size: int) -> Node:
        return Node("not", (self.truth(size - 1),))

    def _null_or_truth(self, size: int) -> Node:
        if self._rng.random() < 0.5:
            return self.null_test()
        name = self._rng.choice(("is_true", "is_false", "is_null", "is_not_null"))
        return Node(name, (self.truth(size - 1),))

    def null_test(self) -> Node:
        name = self._rng.choice(("is_null", "is_not_null"))
        return Node(name, (self._rng.choice(self._columns),))

    def _family(self) -> str:
        return self._rng.choice(self._families or ["number"])

    def _compare(self, size: int) -> Node:
        family = self._family()
        if family in ("number", "float") and self._rng.random() < 0.15:  # with each other
            family = "any number"
        if family in ("number", "float", "date") and self._rng.random() < 0.3:
            size = max(size, 5)  # arithmetic
        one = self._value(family, max(1, size - 2))
        other = self._value(family, 1)
        if self._rng.random() < 0.05:
            other = _null_constant()
        return Node(self._rng.choice(_COMPARISONS), (one, other))

    def _between(self, size: int) -> Node:
        family = self._family()
        values = [self._value(family, each) for each in (1, 1, max(1, size - 3))]
        self._rng.shuffle(values)
        return Node("between", tuple(values))

    def _in(self, size: int) -> Node:
        family = self._family()
        value = self._value(family, max(1, size - 2))
        column = self._column_of(self._some_column(family))
        node = Node("in", (value,), values=self._listed(column))
        return Node("not", (node,)) if self._rng.random() < 0.3 else node

    def _listed(self, column: Column) -> Column:
        """Some values of a column, or a NULL, or nothing."""
        rng = self._rng
        count = rng.choice((0, 1, 1, 2, 3, rng.randint(2, _MOST_LISTED)))
        there = len(column.values)
        rows = [rng.randrange(there) for _ in range(count if there else 0)]
        taken = column.take(np.array(rows, np.int64))
        valid = np.ones(len(rows), bool) if taken.valid is None else taken.valid
        if rows and rng.random() < 0.5:
            valid = valid.copy()
            valid[0] = False
        return replace(taken, name="value", valid=None if valid.all() else valid)

    def _starts_with(self, size: int) -> Node:
        there = [family for family in ("text", "binary") if family in self._by_family]
        family = self._rng.choice(there or ["text"])
        if family not in self._by_family:
            return self._compare(size)
        value = self._some_column(family)
        word = self._constant_like(self._some_column(family))
        if self._rng.random() < 0.3 or word.values is None or word.values.valid is not None:
            return Node("starts_with", (value, self._some_column(family)))
        full = word.values.values.tolist()[0]
        prefix = full[: self._rng.randint(0, max(1, len(full) // 2))]
        if family == "text":
            prefix = prefix.decode(errors="ignore").encode()
        column_type = type_of("u" if family == "text" else "z")
        word = _constant(column_type, from_values(column_type, [prefix]))
        return Node("starts_with", (value, word))

    def _choice(self, size: int) -> Node:
        """A CASE of truth values, or compared."""
        if self._rng.random() < 0.5:
            return self._case(lambda: self.truth(max(1, size // 4)), size)
        family = self._family()
        made = self._case(lambda: self._value(family, 1), size - 1)
        return Node(self._rng.choice(_COMPARISONS), (made, self._value(family, 1)))

    def _case(self, value: Callable[[], Node], size: int) -> Node:
        rng = self._rng
        parts = []
        for _ in range(rng.choice((1, 1, 2))):
            parts += [self.truth(max(1, size // 4)), value()]
        if rng.random() < 0.7:
            parts.append(value())
        return Node("case", tuple(parts))

    def _coalesced(self, size: int) -> Node:
        """A COALESCE of truth values, or compared."""
        if self._rng.random() < 0.2:
            return self._coalesce(lambda: self.truth(max(1, size // 4)), size)
        family = self._rng.choice(self._nullable or self._families or ["number"])
        made = self._coalesce(lambda: self._value(family, 1), size - 1)
        return Node(self._rng.choice(_COMPARISONS), (made, self._value(family, 1)))

    def _coalesce(self, value: Callable[[], Node], size: int) -> Node:
        """The first argument is NULL for some rows: else the others would decide nothing."""
        rng = self._rng
        values = [value() for _ in range(_FIRST_ARGUMENTS)]
        first = next(filter(self._may_be_null, values), None)
        if first is None:
            first = Node("case", (self.truth(max(1, size // 4)), values[0]))
        return Node("coalesce", (first, *(value() for _ in range(rng.choice(_MORE_ARGUMENTS)))))

    def _may_be_null(self, node: Node) -> bool:
        columns = (self._column_of(each) for each in node.postfix() if each.side)
        return any(column.valid is not None for column in columns)

    def _value(self, family: str, size: int) -> Node:
        rng = self._rng
        if family == "any number":
            there = [f for f in ("number", "float") if f in self._by_family]
            family = rng.choice(there or ["number"])  # of which there are constants
        if family in ("number", "float") and rng.random() < (0.6 if size == 2 else 0.06):
            return Node(rng.choice(("negate", "abs")), (self._value(family, max(1, size - 1)),))
        if size >= 3 and rng.random() < 0.85:
            if family in ("number", "float"):
                return self._arithmetic(family, size)
            if family == "duration" or (family in ("date", "zoned") and rng.random() < 0.6):
                return self._of_time(family)
            if rng.random() < 0.5:
                make = self._coalesce if rng.random() < 0.4 else self._case
                return make(lambda: self._value(family, 1), size)
        if family == "number" and rng.random() < 0.04:
            return self._difference()
        column = self._some_column(family)
        return column if rng.random() < 0.7 else self._constant_like(column)

    def _arithmetic(self, family: str, size: int) -> Node:
        rng = self._rng
        signs = _EXACT if family == "number" else ("+", "-", "*", "/", "%")
        sign = rng.choice((*signs, "+", "-", "/"))  # "/" of numbers is a float
        one = self._value(family, max(1, (size - 1) // 2))
        if rng.random() < 0.8 and sign in ("*", "/", "//", "%"):
            small = rng.choice((1, 2, 2, 3, 3, -1, 7, 0))
            form = rng.choice(("c", "i", "l") if family == "number" else ("i", "g", "f"))
            return Node(sign, (one, _constant_of(form, small)))
        return Node(sign, (one, self._value(family, max(1, (size - 1) // 2))))

    def _of_time(self, family: str) -> Node:
        by = _constant_of(self._rng.choice("csilC"), self._rng.choice((0, 1, 2, 7, 30)))
        point = self._some_column(family)
        if family == "duration" or self._rng.random() < 0.2:
            by = _constant_of("tDs", self._rng.choice((1, 3600, 86400)))
        if self._rng.random() < 0.3 and by.values.type.family == "number" and family != "duration":
            return Node("+", (by, point))
        return Node(self._rng.choice("+-"), (point, by))

    def _difference(self) -> Node:
        family = self._rng.choice(("date", "zoned"))
        if family not in self._by_family:
            return self._some_column("number")
        return Node("-", (self._some_column(family), self._some_column(family)))

    def _some_column(self, family: str) -> Node:
        found = self._by_family.get(family)
        if found is None:
            return _constant_of("i", self._rng.choice((0, 1, 5)))
        side = self._rng.choice(("left", "right"))
        return self._rng.choice([node for node in found if node.side == side] or found)

    def _column_of(self, node: Node) -> Column:
        if node.operator == "constant":
            return node.values
        return self._tables[node.side].columns[node.column]

    def _constant_like(self, node: Node) -> Node:
        """A value of the column, or one of another type that compares."""
        rng = self._rng
        column = self._column_of(node)
        if node.operator == "constant":
            return node
        if column.type.family == "number" and rng.random() < 0.25:
            return _constant_of(rng.choice(_CONSTANTS), rng.choice((0, 1, -1, 2, 10, 100)))
        if column.type.family == "null":
            return _null_constant()
        if not len(column.values):
            return _constant(column.type, own_values(rng, column.type, 1)[:1])
        taken = column.take(np.array([rng.randrange(len(column.values))]))
        return Node("constant", values=replace(taken, name="value"))

    def wrong(self) -> Node | None:
        """A comparison of types that do not compare."""
        families = [f for f in self._by_family if f != "null"]
        one = self._rng.choice(families or ["null"])
        numbers = ("number", "float")
        others = [f for f in families if f != one and not (f in numbers and one in numbers)]
        if not others:
            return None
        parts = self._some_column(one), self._some_column(self._rng.choice(others))
        return Node(self._rng.choice(_COMPARISONS), parts)


def _constant(column_type: ColumnType, values: np.ndarray) -> Node:
    return Node("constant", values=Column("value", column_type, values))


def _constant_of(form: str, number: int) -> Node:
    column_type = type_of(form)
    number = max(0, number) if column_type.dtype.kind == "u" else number
    if not column_type.has_unit:
        return _constant(column_type, from_values(column_type, [number]))
    return _constant(column_type, from_integers(column_type, [number * 10**column_type.scale]))


def _null_constant() -> Node:
    column_type = type_of("n")
    values = np.zeros(1, column_type.dtype)
    return Node("constant", values=Column("value", column_type, values, np.zeros(1, bool)))


def sampled_pairs(rng: random.Random, case: Case, matches: Iterable[list[int]]) -> list[tuple]:
    """Pairs of rows with equal keys; of a case without keys any.

    matches  of some left rows the right rows
    """
    rows = [case.tables[side].rows for side in ("left", "right")]
    if not all(rows):
        return []
    if not case.keys["left"]:
        return [tuple(rng.randrange(n) for n in rows) for _ in range(_SAMPLE)]
    pairs = [(i, j) for i, found in enumerate(matches) for j in found]
    return rng.sample(pairs, min(_SAMPLE, len(pairs)))
