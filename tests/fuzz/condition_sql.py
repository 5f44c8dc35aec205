"""Conditions as DuckDB has them, where they mean the same there.

Arithmetic does not: DuckDB's types of results, its rounding, and what overflows are its own. Nor
do comparisons of numbers of different scales, or of floats with other numbers, which it converts.
"""

from __future__ import annotations

from .case import Column, Table
from .condition import Node
from .engine_columns import MOST_DIGITS, NoSuchType
from .evaluate import values_of

# A value in SQL, and what it compares with, a family, a scale, and where it has one its unit: of
# other kinds nothing, of "null" all.
Made = "tuple[str, tuple]"
_NULL = ("NULL", ("null", 0))
_BOOL = ("bool", 0)
_SIGNS = {"distinct": "IS DISTINCT FROM", "not_distinct": "IS NOT DISTINCT FROM"}
_TESTS = {
    "is_null": "IS NULL",
    "is_not_null": "IS NOT NULL",
    "is_true": "IS TRUE",
    "is_false": "IS FALSE",
}


def name_of(position: int) -> str:
    """Of a column of the data that DuckDB gets."""
    return f"x{position}"


def sql_of(node: Node, tables: dict[str, Table]) -> str:
    """Errors: NoSuchType."""
    text, kind = _made(node, tables)
    return text if kind == _BOOL else f"{text}::BOOLEAN"


def _made(node: Node, tables: dict[str, Table]) -> Made:
    if node.operator == "column":
        column = tables[node.side].columns[node.column]
        kind, make = _kind(column)
        return (_NULL if kind[0] == "null" else (make(f"{node.side[0]}.x{node.column}"), kind))
    if node.operator == "constant":
        return _constant(node.values, 0)
    arguments = [_made(argument, tables) for argument in node.arguments]
    texts = [text for text, _ in arguments]
    if node.operator in ("=", "<>", "<", "<=", ">", ">=", *_SIGNS):
        _same(arguments)
        return f"({texts[0]} {_SIGNS.get(node.operator, node.operator)} {texts[1]})", _BOOL
    if node.operator in _TESTS:
        return f"({texts[0]} {_TESTS[node.operator]})", _BOOL
    if node.operator in ("and", "or"):
        return "(" + f" {node.operator} ".join(texts) + ")", _BOOL
    if node.operator == "not":
        return f"(NOT {texts[0]})", _BOOL
    if node.operator == "between":
        _same(arguments)
        return f"({texts[0]} BETWEEN {texts[1]} AND {texts[2]})", _BOOL
    if node.operator == "in":
        listed = [_constant(node.values, row) for row in range(len(node.values.values))]
        _same([*arguments, *listed])
        if not listed:
            return "false", _BOOL
        return f"({texts[0]} IN ({', '.join(text for text, _ in listed)}))", _BOOL
    if node.operator == "starts_with":
        if _same(arguments)[0] != "text":
            raise NoSuchType
        return f"starts_with({texts[0]}, {texts[1]})", _BOOL
    if node.operator == "coalesce":
        return f"coalesce({', '.join(texts)})", _one_type(arguments)
    if node.operator == "case":
        kind = _one_type(arguments[1::2] + arguments[-1:] * (len(arguments) % 2))
        pairs = zip(texts[::2], texts[1::2])
        parts = [f"WHEN {when} THEN {then}" for when, then in pairs]
        parts += [f"ELSE {texts[-1]}"] * (len(texts) % 2)
        return f"(CASE {' '.join(parts)} END)", kind
    raise NoSuchType


def _same(arguments: list[Made]) -> tuple:
    """What arguments compare with, whatever their units."""
    kinds = [kind for _, kind in arguments if kind[0] != "null"]
    if len({kind[:2] for kind in kinds}) > 1:
        raise NoSuchType
    return kinds[0] if kinds else ("null", 0)


def _one_type(arguments: list[Made]) -> tuple:
    """The same where one of them is the value: of unlike units it may overflow, a HUGEINT not."""
    if len({kind for _, kind in arguments if kind[0] != "null"}) > 1:
        raise NoSuchType
    return _same(arguments)


def _kind(column: Column) -> tuple:
    """What a column compares with, and the column in SQL of its name."""
    family = column.type.family
    if family == "number":
        scale, digits = column.type.scale, column.type.digits
        if not digits:
            return ("number", 0), lambda name: f"{name}::HUGEINT"
        if column.type.width > 16 or not 0 <= scale <= digits:
            raise NoSuchType
        return ("decimal", scale), lambda name: f"{name}::DECIMAL({MOST_DIGITS},{scale})"
    if column.type.has_unit:
        kind = family, 0, column.type.unit
        return kind, lambda name: f"({name}::HUGEINT * {column.type.unit})"
    if family == "float":
        return (family, 0), lambda name: f"{name}::DOUBLE"
    if family in ("text", "binary", "bool", "null"):
        return (family, 0), lambda name: name
    raise NoSuchType


def _constant(column: Column, row: int) -> Made:
    kind, make = _kind(column)
    value = values_of(column)[row]
    if value is None:
        return "NULL", kind
    if kind[0] == "decimal":
        digits = str(abs(value)).rjust(kind[1] + 1, "0")
        point = len(digits) - kind[1]
        text = f"'{'-' * (value < 0)}{digits[:point]}.{digits[point:]}'"
    elif kind[0] == "text":
        if b"\0" in value:
            raise NoSuchType
        text = "'" + value.decode().replace("'", "''") + "'"
    elif kind[0] == "binary":
        text = "'" + "".join(f"\\x{byte:02X}" for byte in value) + "'::BLOB"
    elif kind[0] == "bool":
        text = str(value).lower()
    else:
        text = f"'{value}'"
    return make(text), kind
