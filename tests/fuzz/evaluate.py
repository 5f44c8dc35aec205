"""What a condition answers for a pair of rows: gpujoin.h's "Conditions" in plain Python.

A node becomes a function of a left and a right row number, and a type. Integers are int, decimals
and what counts time are int in their unit, floats are float, text and binary are bytes; NULL is
None, and no value NO_VALUE.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from .case import Column, Table
from .column_types import ColumnType
from .comparable import integers_of
from .condition import Node

DAY = 86_400_000_000_000
MOST_PLACES = 38


class _NoValue:
    def __repr__(self) -> str:
        return "no value"


NO_VALUE = _NoValue()
Value = object
Function = Callable[[int, int], Value]


class WrongTypes(Exception):
    """The library has to answer TYPE."""


@dataclass(frozen=True)
class Type:
    """kind     null, bool, integer, decimal, float, text, binary, date (timestamps too), zoned,
             time, duration
    bits     of an integer, or that a decimal or a time is stored in
    signed   of an integer
    scale    of a decimal
    unit     of what counts time, in nanoseconds
    is_date  whether it counts whole days, date64 too
    """

    kind: str
    bits: int = 0
    signed: bool = True
    scale: int = 0
    unit: int = 1
    is_date: bool = False

    @property
    def is_exact(self) -> bool:
        return self.kind in ("integer", "decimal")

    @property
    def is_number(self) -> bool:
        return self.is_exact or self.kind == "float"

    @property
    def is_point(self) -> bool:
        return self.kind in ("date", "zoned")

    @property
    def counts_time(self) -> bool:
        return self.is_point or self.kind in ("time", "duration")

    @property
    def is_wide(self) -> bool:
        """Whether it can be compared only."""
        return self.kind == "decimal" and self.bits == 256

    def limits(self) -> tuple[int, int]:
        if self.kind == "decimal":
            return 1 - 10**38, 10**38 - 1
        if self.kind == "integer" and not self.signed:
            return 0, (1 << self.bits) - 1
        bits = 64 if self.counts_time and not self.is_date else self.bits
        return -(1 << bits - 1), (1 << bits - 1) - 1


BOOL = Type("bool")
FLOAT = Type("float")
NULL = Type("null")
INT64 = Type("integer", 64)


def is_typed(node: Node, tables: dict[str, Table]) -> bool:
    """Whether its types go together."""
    try:
        Evaluator(node, tables)
    except WrongTypes:
        return False
    return True


def type_of(of: ColumnType) -> Type:
    """Errors: WrongTypes."""
    family = of.family
    if family == "number":
        if of.digits:
            return Type("decimal", 8 * of.width, scale=of.scale)
        return Type("integer", 8 * of.width, of.dtype.kind == "i")
    if family in ("date", "zoned", "time", "duration"):
        return Type(family, 8 * of.width, unit=of.unit, is_date=of.format in ("tdD", "tdm"))
    if family in ("float", "text", "binary", "bool", "null"):
        return Type(family)
    raise WrongTypes


def decimal(scale: int) -> Type:
    return Type("decimal", 128, scale=scale)


def values_of(column: Column) -> list[Value]:
    """As this module has them."""
    if column.type.has_unit:
        values = integers_of(column)
    else:
        values = column.values.tolist()
    if column.valid is None:
        return values if column.type.family != "null" else [None] * len(values)
    return [value if ok else None for value, ok in zip(values, column.valid.tolist())]


class Evaluator:
    """answer(left row, right row): True, False, None or NO_VALUE; row -1: all columns are NULL.

    Errors: WrongTypes, when it is made.
    """

    def __init__(self, node: Node, tables: dict[str, Table]) -> None:
        self._tables = tables
        self._columns: dict[tuple[str, int], list[Value]] = {}
        function, kind = self._made(node)
        self.answer = _as_bool(function, kind)

    def _made(self, node: Node) -> tuple[Function, Type]:
        if node.operator == "column":
            return self._column(node)
        if node.operator == "constant":
            (value,) = values_of(node.values)
            return lambda left, right: value, type_of(node.values.type)
        arguments = [self._made(argument) for argument in node.arguments]
        if node.operator == "in":
            return _in(arguments[0], node.values)
        return _MADE[node.operator](node.operator, arguments)

    def _column(self, node: Node) -> tuple[Function, Type]:
        key = node.side, node.column
        column = self._tables[node.side].columns[node.column]
        kind = type_of(column.type)
        if key not in self._columns:
            self._columns[key] = [*values_of(column), None]
        values = self._columns[key]
        if node.side == "left":
            return lambda left, right: values[left], kind
        return lambda left, right: values[right], kind


# Types together.


def _comparable(one: Type, other: Type) -> Type:
    if "null" in (one.kind, other.kind):
        return other if one.kind == "null" else one
    if one.is_number and other.is_number:
        if "float" in (one.kind, other.kind):
            return FLOAT
        return decimal(max(one.scale, other.scale))
    if one.kind != other.kind:
        raise WrongTypes
    return one if one.unit <= other.unit else other


def _common(one: Type, other: Type) -> Type:
    """What holds the values of both."""
    if "null" in (one.kind, other.kind):
        return other if one.kind == "null" else one
    if one.is_exact and other.is_exact:
        if one.kind == other.kind == "integer":
            is_uint64 = any(each.bits == 64 and not each.signed for each in (one, other))
            if is_uint64 and one.signed != other.signed:
                return decimal(0)  # which INT64 does not hold
            return _wider(one, other)
        if one.kind == other.kind and one.scale == other.scale:
            return one if one.bits >= other.bits else other
        if one.is_wide or other.is_wide:
            raise WrongTypes
        return decimal(max(one.scale, other.scale))
    made = _comparable(one, other)
    if made.counts_time and one.unit == other.unit and one.is_date != other.is_date:
        return other if one.is_date else one
    return made


def _wider(one: Type, other: Type) -> Type:
    """What integers of both are calculated in."""
    if one.signed == other.signed:
        return one if one.bits >= other.bits else other
    signed, without = (one, other) if one.signed else (other, one)
    return Type("integer", max(signed.bits, min(64, 2 * without.bits)))


def _converted(function: Function, kind: Type, to: Type, limited: bool) -> Function:
    """limited  whether what the type does not hold is no value; else it is compared as it is"""
    if kind.kind == "null" or to.kind in ("bool", "text", "binary", "null"):
        return function
    if to.kind == "float":
        return _apart(function, lambda value: _float(value, kind))
    factor = kind.unit // to.unit if kind.counts_time else 10 ** (to.scale - kind.scale)
    least, most = to.limits()
    if factor == 1 and (not limited or to.is_wide or kind == to):
        return function

    def convert(value: int) -> Value:
        made = value * factor
        return made if not limited or least <= made <= most else NO_VALUE

    return _apart(function, convert)


def _float(value: Value, kind: Type) -> float:
    if kind.kind == "float":
        return value
    if kind.scale > 0:
        return value / 10**kind.scale  # of integers, which Python rounds once
    return float(value * 10**-kind.scale)


def _apart(function: Function, change: Callable) -> Function:
    """NULL and no value as they are."""

    def made(left: int, right: int) -> Value:
        value = function(left, right)
        return value if value is None or value is NO_VALUE else change(value)

    return made


# Comparisons.


def _order(value: Value) -> object:
    """NaN is equal to NaN, and above all else."""
    return (value != value, 0 if value != value else value)


_COMPARE = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def _pair(arguments: list[tuple[Function, Type]]) -> tuple[Function, Function]:
    """Both so that they compare."""
    (one, one_type), (other, other_type) = arguments
    as_type = _comparable(one_type, other_type)
    made = [_converted(f, t, as_type, False) for f, t in arguments]
    return tuple(_apart(f, _order) for f in made) if as_type.kind == "float" else tuple(made)


def _strict(one: Function, other: Function, change: Callable) -> Function:
    """NULL where one is, then no value where one is."""

    def made(left: int, right: int) -> Value:
        a, b = one(left, right), other(left, right)
        if a is None or b is None:
            return None
        return NO_VALUE if a is NO_VALUE or b is NO_VALUE else change(a, b)

    return made


def _comparison(name: str, arguments: list) -> tuple[Function, Type]:
    return _strict(*_pair(arguments), _COMPARE[name]), BOOL


def _distinct(name: str, arguments: list) -> tuple[Function, Type]:
    one, other = _pair(arguments)

    def made(left: int, right: int) -> Value:
        a, b = one(left, right), other(left, right)
        if a is NO_VALUE or b is NO_VALUE:
            return NO_VALUE
        return (a == b) == (name == "not_distinct")

    return made, BOOL


def _between(_: str, arguments: list) -> tuple[Function, Type]:
    x, least, most = arguments
    return _and_or("and", [_comparison("<=", [least, x]), _comparison("<=", [x, most])])


def _in(argument: tuple[Function, Type], values: Column) -> tuple[Function, Type]:
    listed = type_of(values.type)
    known = values_of(values)
    _comparable(argument[1], listed)
    tests = [
        _comparison("=", [argument, (lambda left, right, v=value: v, listed)]) for value in known
    ]
    if not known:
        return lambda left, right: False, BOOL
    return _and_or("or", tests)


# Truth values.


def _as_bool(function: Function, kind: Type) -> Function:
    if kind.kind not in ("bool", "null"):
        raise WrongTypes
    return function


def _and_or(name: str, arguments: list) -> tuple[Function, Type]:
    tests = [_as_bool(*argument) for argument in arguments]
    decides = name == "or"

    def made(left: int, right: int) -> Value:
        answers = [test(left, right) for test in tests]
        if any(answer is decides for answer in answers):
            return decides
        if any(answer is NO_VALUE for answer in answers):
            return NO_VALUE
        return None if None in answers else not decides

    return made, BOOL


def _not(_: str, arguments: list) -> tuple[Function, Type]:
    return _apart(_as_bool(*arguments[0]), lambda value: not value), BOOL


def _is(name: str, arguments: list) -> tuple[Function, Type]:
    function, kind = arguments[0]
    if name in ("is_true", "is_false"):
        _as_bool(function, kind)
    test = {
        "is_null": lambda value: value is None,
        "is_not_null": lambda value: value is not None,
        "is_true": lambda value: value is True,
        "is_false": lambda value: value is False,
    }[name]

    def made(left: int, right: int) -> Value:
        value = function(left, right)
        return NO_VALUE if value is NO_VALUE else test(value)

    return made, BOOL


def _starts_with(_: str, arguments: list) -> tuple[Function, Type]:
    (one, one_type), (other, other_type) = arguments
    if _comparable(one_type, other_type).kind not in ("text", "binary", "null"):
        raise WrongTypes
    return _strict(one, other, lambda a, b: a.startswith(b)), BOOL


# Choices.


def _common_of(kinds: list[Type]) -> Type:
    made = NULL
    for kind in kinds:
        made = _common(made, kind)
    return made


def _case(_: str, arguments: list) -> tuple[Function, Type]:
    otherwise = arguments[-1] if len(arguments) % 2 else (lambda left, right: None, NULL)
    branches = list(zip(arguments[::2], arguments[1::2]))
    kind = _common_of([value[1] for _, value in branches] + [otherwise[1]])
    made = [(_as_bool(*when), _converted(*then, kind, True)) for when, then in branches]
    last = _converted(*otherwise, kind, True)

    def choose(left: int, right: int) -> Value:
        for when, then in made:
            answer = when(left, right)
            if answer is NO_VALUE:
                return NO_VALUE
            if answer is True:
                return then(left, right)
        return last(left, right)

    return choose, kind


def _coalesce(_: str, arguments: list) -> tuple[Function, Type]:
    kind = _common_of([each for _, each in arguments])
    made = [_converted(*argument, kind, True) for argument in arguments]

    def choose(left: int, right: int) -> Value:
        for function in made:
            value = function(left, right)
            if value is not None:
                return value
        return None

    return choose, kind


# Arithmetic.


def _towards_zero(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _modulo(a: int, b: int) -> int:
    return a - b * _towards_zero(a, b)


_EXACT = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: NO_VALUE if b == 0 else _towards_zero(a, b),
    "%": lambda a, b: NO_VALUE if b == 0 else _modulo(a, b),
}


def _float_modulo(a: float, b: float) -> Value:
    if b == 0:
        return NO_VALUE
    return math.nan if math.isinf(a) else math.fmod(a, b)


def _float_quotient(a: float, b: float) -> Value:
    return NO_VALUE if b == 0 else a / b


_FLOATS = {**_EXACT, "%": _float_modulo, "/": _float_quotient}


def _within(kind: Type, calculate: Callable) -> Callable:
    least, most = kind.limits()

    def made(*values: int) -> Value:
        value = calculate(*values)
        return value if value is NO_VALUE or least <= value <= most else NO_VALUE

    return made


def _calculated(name: str, kind: Type, arguments: list) -> tuple[Function, Type]:
    one, other = (_converted(*argument, kind, True) for argument in arguments)
    return _strict(one, other, _within(kind, _EXACT[name])), kind


def _arithmetic(name: str, arguments: list) -> tuple[Function, Type]:
    one, other = (kind for _, kind in arguments)
    if "null" in (one.kind, other.kind):
        known = other if one.kind == "null" else one
        if known.kind in ("text", "binary", "bool"):
            raise WrongTypes
        return lambda left, right: None, NULL
    if one.counts_time or other.counts_time:
        return _of_time(name, arguments)
    if not one.is_number or not other.is_number:
        raise WrongTypes
    whole = one.kind == other.kind == "integer"
    if name == "//" and not whole:
        raise WrongTypes
    if name == "/" or "float" in (one.kind, other.kind):
        floats = [_converted(*argument, FLOAT, True) for argument in arguments]
        return _strict(*floats, _FLOATS[name]), FLOAT
    if whole:
        return _calculated(name, _wider(one, other), arguments)
    if one.is_wide or other.is_wide:
        raise WrongTypes
    if name != "*":
        return _calculated(name, decimal(max(one.scale, other.scale)), arguments)
    kind = decimal(one.scale + other.scale)
    if abs(kind.scale) > MOST_PLACES:
        raise WrongTypes
    functions = [_converted(f, t, decimal(t.scale), True) for f, t in arguments]
    return _strict(*functions, _within(kind, _EXACT["*"])), kind


def _of_time(name: str, arguments: list) -> tuple[Function, Type]:
    one, other = (kind for _, kind in arguments)
    if name not in ("+", "-"):
        raise WrongTypes
    if one.is_point and other.kind == "integer":
        return _moved(name, *arguments)
    if name == "+" and one.kind == "integer" and other.is_point:
        return _moved(name, *reversed(arguments))
    durations = [kind.kind == "duration" for kind in (one, other)]
    if (one.is_point and durations[1]) or (name == "+" and durations[0] and other.is_point):
        point = one if one.is_point else other
        unit = min(one.unit, other.unit)
        return _calculated(name, replace(point, unit=unit, bits=64, is_date=False), arguments)
    if one.kind != other.kind:
        raise WrongTypes
    if all(durations):
        return _calculated(name, _common(one, other), arguments)
    if name == "+" or not one.is_point:
        raise WrongTypes
    return _difference(arguments)


def _moved(name: str, point: tuple, by: tuple) -> tuple[Function, Type]:
    """A date by days, a timestamp by its units."""
    kind = point[1]
    factor = DAY // kind.unit if kind.is_date else 1
    change = _within(kind, lambda a, b: _EXACT[name](a, b * factor))
    return _strict(point[0], by[0], change), kind


def _difference(arguments: list) -> tuple[Function, Type]:
    """Of dates days, else units of the finer one."""
    one, other = (kind for _, kind in arguments)
    unit = min(one.unit, other.unit)
    common = Type(one.kind, 64, unit=unit)
    functions = [_converted(*argument, common, True) for argument in arguments]
    factor = DAY // unit if one.is_date and other.is_date else 1
    change = _within(INT64, _EXACT["-"])
    rest = _strict(*functions, change)
    return _apart(rest, lambda value: _towards_zero(value, factor)), INT64


def _of_one(name: str, arguments: list) -> tuple[Function, Type]:
    function, kind = arguments[0]
    if kind.kind == "null":
        return function, kind
    if not (kind.is_number or kind.kind == "duration") or kind.is_wide:
        raise WrongTypes
    change = abs if name == "abs" else lambda value: -value
    if kind.kind == "float":
        return _apart(function, change), FLOAT
    if kind.kind == "integer" and name == "negate" and not kind.signed:
        kind = _wider(kind, Type("integer", 8))
    return _apart(function, _within(kind, change)), kind


_MADE = {
    **dict.fromkeys(_COMPARE, _comparison),
    **dict.fromkeys(("distinct", "not_distinct"), _distinct),
    **dict.fromkeys(("and", "or"), _and_or),
    **dict.fromkeys(("is_null", "is_not_null", "is_true", "is_false"), _is),
    **dict.fromkeys(("+", "-", "*", "/", "//", "%"), _arithmetic),
    **dict.fromkeys(("negate", "abs"), _of_one),
    **{"between": _between, "not": _not, "starts_with": _starts_with},
    **{"case": _case, "coalesce": _coalesce},
}
