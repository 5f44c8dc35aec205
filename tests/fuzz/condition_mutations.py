"""Conditions with one thing wrong in what they mean: do cases show it?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from . import reference
from .case import Answer, Case
from .column_types import type_of
from .compare import same_answer
from .condition import Node
from .evaluate import is_typed

# Another node, or None: nothing is wrong with this one.
Rule = Callable[[Node], "Node | None"]
_MOST_SEEDS = 6000
_ENOUGH = 2  # cases in which a rule shows
_LARGEST = 3000  # rows of a case that is looked at


def _named(name: str, rule: Callable) -> Callable:
    rule.__name__ = name
    return rule


def _operator(wrong: str, right: str) -> Rule:
    def rule(node: Node) -> Node | None:
        return replace(node, operator=wrong) if node.operator == right else None

    return _named(f"{right} as {wrong}", rule)


def _argument(operator: str, place: int) -> Rule:
    """An operator that answers one of its arguments."""

    def rule(node: Node) -> Node | None:
        return node.arguments[place] if node.operator == operator else None

    return _named(f"{operator} as its argument {place}", rule)


def _list_without_null(node: Node) -> Node | None:
    if node.operator != "in" or node.values.valid is None:
        return None
    return replace(node, values=node.values.take(np.flatnonzero(node.values.valid)))


def _list_without_last(node: Node) -> Node | None:
    if node.operator != "in" or not len(node.values.values):
        return None
    return replace(node, values=node.values.take(np.arange(len(node.values.values) - 1)))


def _between_without_end(node: Node) -> Node | None:
    if node.operator != "between":
        return None
    value, least, _ = node.arguments
    return Node("<=", (least, value))


def _case_without_else(node: Node) -> Node | None:
    if node.operator != "case" or len(node.arguments) % 2 == 0:
        return None
    return replace(node, arguments=node.arguments[:-1])


def _case_of_not_false(node: Node) -> Node | None:
    """A branch is taken where its condition is NULL."""
    if node.operator != "case":
        return None
    no = Node("is_false", (node.arguments[0],))
    return replace(node, arguments=(Node("not", (no,)), *node.arguments[1:]))


def _unsigned(node: Node) -> Node | None:
    """A constant with a sign as one without."""
    if node.operator != "constant" or node.values.type.format not in "csil":
        return None
    if node.values.values[0] >= 0:
        return None
    kind = type_of(node.values.type.format.upper())
    values = node.values.values.view(kind.dtype)
    return replace(node, values=replace(node.values, type=kind, values=values))


_RULES: tuple[Rule, ...] = (
    *(_operator("<=", "<"), _operator("<", "<="), _operator(">", ">="), _operator(">=", ">")),
    *(_operator("not_distinct", "="), _operator("distinct", "<>"), _operator("=", "not_distinct")),
    *(_operator("<>", "distinct"), _operator("or", "and"), _operator("and", "or")),
    *(_operator("is_not_null", "is_null"), _operator("is_null", "is_not_null")),
    *(_operator("=", "starts_with"), _operator("-", "+"), _operator("+", "-"), _operator("+", "*")),
    *(_argument("not", 0), _argument("negate", 0), _argument("abs", 0), _operator("is_null", "is_false")),
    *(_argument("coalesce", 0), _argument("%", 0), _argument("/", 0), _argument("//", 0)),
    *(_list_without_null, _list_without_last, _between_without_end),
    *(_case_without_else, _case_of_not_false, _unsigned),
)


# Wrong ways to join with a condition: another answer of a case.


def _ignored(case: Case) -> Answer:
    return reference.answer(case.changed(residual=None))


def _null_is_true(case: Case) -> Answer:
    no = Node("is_false", (case.residual,))
    return reference.answer(case.changed(residual=Node("not", (no,))))


def _null_is_false(case: Case) -> Answer:
    """Which shows in marks and NOT IN."""
    return reference.answer(case.changed(residual=Node("is_true", (case.residual,))))


def _sides_exchanged(case: Case) -> Answer:
    """Of columns at the same places."""
    other = {"left": "right", "right": "left", "": ""}
    residual = case.residual.changed(lambda node: replace(node, side=other[node.side]))
    most = {side: len(table.columns) for side, table in case.tables.items()}
    nodes = residual.postfix()
    if any(n.side and n.column >= most[n.side] for n in nodes):
        return reference.answer(case)
    return reference.answer(case.changed(residual=residual))


def _after_the_join(case: Case) -> Answer:
    """WHERE, not ON: rows that outer joins keep are lost."""
    found = reference.answer(case)
    if case.kind.rule not in ("outer", "single") or found.is_error:
        return found
    matched = np.logical_and.reduce([numbers >= 0 for numbers in found.rows.values()])
    return Answer({side: numbers[matched] for side, numbers in found.rows.items()})


_WAYS = (_ignored, _null_is_true, _null_is_false, _sides_exchanged, _after_the_join)


def unseen_conditions(draw: Callable[[int], Case]) -> list[str]:
    """The wrong rules that no case shows, in words."""
    left = Counter(dict.fromkeys((*_RULES, *_WAYS), _ENOUGH))
    seed = 0
    while left and seed < _MOST_SEEDS:
        case = draw(seed)
        seed += 1
        if case.residual is None or max(t.rows for t in case.tables.values()) > _LARGEST:
            continue
        expected = reference.answer(case)
        for rule in list(left):
            found = _answer_by(rule, case)
            if found is not None and not same_answer(case, expected, found):
                left[rule] -= 1
                if not left[rule]:
                    del left[rule]
    seen = len(_RULES) + len(_WAYS) - len(left)
    print(f"{seen} wrong conditions show in the cases of {seed} seeds")
    return [f"no case shows the condition {rule.__name__}" for rule in left]


def _answer_by(rule: Callable, case: Case) -> Answer | None:
    if rule in _WAYS:
        return None if case.is_type_error else rule(case)
    if all(rule(node) is None for node in case.residual.postfix()):
        return None
    residual = case.residual.changed(lambda node: rule(node) or node)
    if not is_typed(residual, case.tables):
        return None
    return reference.answer(case.changed(residual=residual))
