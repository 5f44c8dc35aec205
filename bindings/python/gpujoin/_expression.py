"""Conditions that are expressions of pyarrow.compute.

An expression shows nothing of itself but as text, in which the types of values are lost. What it is
pickled as says all: an Arrow file of one row, with a list of calls, fields and literals in the
metadata of its schema, and with the values of literals and options in its columns.
"""

from __future__ import annotations

import ctypes
import decimal
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyarrow import compute

from . import _abi
from ._condition import Names, Nodes, apply, constant, is_constant, is_in
from ._inputs import _get_pointer
from ._sql_words import like_prefix
from .errors import InvalidArgument, Unsupported

_MOST_DEPTH = 200

# Functions that are operators, with as many arguments. Unchecked ones wrap around in Arrow; here
# what a type does not hold is an error, as of checked ones.
_OPERATORS = {
    **{name: name for name in ("equal", "not_equal", "less", "less_equal")},
    **{name: name for name in ("greater", "greater_equal")},
    **{"and_kleene": "and", "or_kleene": "or", "invert": "not", "xor": "not_equal"},
    **{"is_valid": "is_not_null", "coalesce": "coalesce"},
    **{name: name for name in ("add", "subtract", "multiply", "negate")},
    **{f"{name}_checked": name for name in ("add", "subtract", "multiply", "negate")},
    **{"abs": "absolute", "abs_checked": "absolute"},
}
# null_matching_behavior of SetLookupOptions
_MATCH, _SKIP, _EMIT_NULL, _INCONCLUSIVE = range(4)

_EXACT = (pa.types.is_integer, pa.types.is_decimal)
_TEXT = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
_BINARY = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)


def nodes_of_expression(expression: compute.Expression, names: Names) -> Nodes:
    """Errors: InvalidArgument, Unsupported, which name the field or the function."""
    try:
        (pickled,) = expression.__reduce__()[1]
        reader = pa.ipc.open_file(pickled)
    except pa.ArrowNotImplementedError:
        raise Unsupported(
            f"where: {expression}: fields must be named, not numbered, and values must be single"
        ) from None
    words = iter(_metadata(reader.schema))
    walker = _Walker(words, reader.get_batch(0), names)
    try:
        return walker.expression()
    except (InvalidArgument, Unsupported) as error:
        raise type(error)(f"where: {error}") from None


def _metadata(schema: pa.Schema) -> list[tuple[str, str]]:
    """Of the schema, with the keys that come more than once, which pyarrow leaves out."""
    capsule = schema.__arrow_c_schema__()
    exported = _abi.ArrowSchema.from_address(_get_pointer(capsule, b"arrow_schema"))
    place = exported.metadata

    def take_number() -> int:
        nonlocal place
        place += 4
        return ctypes.c_int32.from_address(place - 4).value

    def take_text() -> str:
        nonlocal place
        size = take_number()
        place += size
        return ctypes.string_at(place - size, size).decode()

    return [(take_text(), take_text()) for _ in range(take_number())]


class _Walker:
    """Turns a list of words, an expression in prefix order, to nodes."""

    def __init__(
        self, words: Iterator[tuple[str, str]], values: pa.RecordBatch, names: Names
    ) -> None:
        self._words = words
        self._values = values
        self._names = names
        self._depth = 0

    def expression(self) -> Nodes:
        what, text = next(self._words)
        return self._expression(what, text)

    def _expression(self, what: str, text: str) -> Nodes:
        if what == "literal":
            return constant(_plain(self._values.column(int(text))))
        if what in ("field_ref", "nested_field_ref"):
            return self._field(what, text)
        return self._call(text)

    def _field(self, what: str, text: str) -> Nodes:
        """field("left", "a"), field("left.a"), or field("a") where only one side has it."""
        if what == "field_ref":
            if any(text in schema.names for schema in self._names.schemas.values()):
                return self._names.alone(text)
            side, _, name = text.partition(".")
            if side not in self._names.schemas or not name:
                return self._names.alone(text)
            return self._names.of_side(side, name)
        path = [next(self._words)[1] for _ in range(int(text))]
        if len(path) == 2 and path[0] in self._names.schemas:
            return self._names.of_side(*path)
        raise InvalidArgument(f"field{tuple(path)}: a column is field('left', name) or 'right'")

    def _call(self, function: str) -> Nodes:
        self._depth += 1
        if self._depth > _MOST_DEPTH:
            raise Unsupported(f"more than {_MOST_DEPTH} calls in one another")
        arguments: list[Any] = []
        options: dict[str, Any] | None = None
        for what, text in self._words:
            if what == "end":
                break
            if what == "options":
                options = self._values.column(int(text))[0]
            elif (what, text) == ("call", "make_struct") and function == "case_when":
                arguments.append(self._conditions())
            else:
                arguments.append(self._expression(what, text))
        self._depth -= 1
        return self._applied(function, arguments, options)

    def _conditions(self) -> list[Nodes]:
        """The arguments of make_struct."""
        conditions = []
        for what, text in self._words:
            if what == "end":
                break
            if what != "options":
                conditions.append(self._expression(what, text))
        return conditions

    def _applied(self, function: str, arguments: list[Any], options: Any) -> Nodes:
        if function in _OPERATORS:
            return apply(_OPERATORS[function], *arguments)
        if function in _WITH_OPTIONS:
            return _WITH_OPTIONS[function](self, *arguments, options)
        if function in _SPECIAL:
            return _SPECIAL[function](self, *arguments)
        raise Unsupported(f"the function {function}")

    def _is_null(self, value: Nodes, options: Any) -> Nodes:
        if options is not None and options["nan_is_null"].as_py():
            raise Unsupported("is_null with nan_is_null=True")
        return apply("is_null", value)

    def _divide(self, one: Nodes, other: Nodes) -> Nodes:
        """Of integers what Arrow has: the quotient, towards zero."""
        both = [self._kinds(nodes) for nodes in (one, other)]
        if any(map(pa.types.is_decimal, both[0] | both[1])):
            raise Unsupported("divide of decimals")
        is_whole = all(kinds and all(map(pa.types.is_integer, kinds)) for kinds in both)
        return apply("quotient" if is_whole else "divide", one, other)

    def _kinds(self, nodes: Nodes) -> set[pa.DataType]:
        """The types of the columns and constants that a value is made of."""
        kinds: list[set[pa.DataType]] = []
        for node in nodes:
            given = kinds[len(kinds) - node.count :]
            del kinds[len(kinds) - node.count :]
            if node.operator == "case":  # not those of its conditions
                given = given[1::2] + given[-1:] * (len(given) % 2)
            kinds.append(set().union(*given))
            if node.operator == "column":
                kinds[-1].add(self._names.type_of(node))
            elif node.operator == "constant":
                kinds[-1].add(node.values.type)
            elif node.operator == "divide":
                kinds[-1] = {pa.float64()}
        return kinds[0]

    def _if_else(self, when: Nodes, then: Nodes, otherwise: Nodes) -> Nodes:
        """NULL where `when` is."""
        return apply("case", when, then, apply("not", when), otherwise)

    def _case_when(self, conditions: Any, *values: Nodes) -> Nodes:
        branches = [nodes for pair in zip(conditions, values) for nodes in pair]
        return apply("case", *branches, *values[len(conditions) :])

    def _is_in(self, value: Nodes, options: Any) -> Nodes:
        listed = options["value_set"].values
        nulls = options["null_matching_behavior"].as_py()
        there = listed.drop_null()
        constants = [there.slice(i, 1) for i in range(len(there))]
        if nulls == _INCONCLUSIVE:
            constants += [pa.nulls(1, listed.type)] * (listed.null_count > 0)
        found = is_in(value, constants) if constants else _in_nothing(value)
        if nulls in (_EMIT_NULL, _INCONCLUSIVE):
            return found
        known = apply("is_true", found)
        if nulls == _MATCH and listed.null_count:
            return apply("or", known, apply("is_null", value))
        return known

    def _starts_with(self, value: Nodes, options: Any) -> Nodes:
        return self._begins(value, options["pattern"].as_py(), options, "starts_with")

    def _match_like(self, value: Nodes, options: Any) -> Nodes:
        prefix, goes_on = like_prefix(_text(options["pattern"].as_py()), "\\")
        return self._begins(value, prefix, options, "starts_with" if goes_on else "equal")

    def _begins(self, value: Nodes, prefix: Any, options: Any, operator: str) -> Nodes:
        if options["ignore_case"].as_py():
            raise Unsupported("ignore_case=True: text is compared by its bytes")
        is_bytes = any(check(kind) for kind in self._kinds(value) for check in _BINARY)
        kind = pa.binary() if is_bytes else pa.string()
        return apply(operator, value, constant(pa.array([prefix], pa.string()).cast(kind)))

    def _cast(self, value: Nodes, options: Any) -> Nodes:
        """A cast that changes no value. Arithmetic is done in the types of its values: zero of a
        wider type makes it wide."""
        kind = options["to_type"].type
        if is_constant(value):
            try:
                return constant(value[0].values.cast(kind))
            except pa.ArrowInvalid as error:
                raise InvalidArgument(f"cast: {error}") from None
        kinds = self._kinds(value)
        if kinds <= {kind}:
            return value
        if not kinds or not all(_keeps_values(each, kind) for each in kinds):
            types = ", ".join(sorted(map(str, kinds)))
            raise Unsupported(f"cast of {types} to {kind}: only casts that change no value")
        if _is_exact(kind) or (pa.types.is_floating(kind) and any(map(_is_exact, kinds))):
            return apply("add", value, constant(_zero(kind)))
        return value


_SPECIAL = {
    "divide": _Walker._divide,
    "divide_checked": _Walker._divide,
    "if_else": _Walker._if_else,
    "case_when": _Walker._case_when,
}
_WITH_OPTIONS = {
    "is_null": _Walker._is_null,
    "is_in": _Walker._is_in,
    "starts_with": _Walker._starts_with,
    "match_like": _Walker._match_like,
    "cast": _Walker._cast,
}


def _plain(values: pa.Array) -> pa.Array:
    """A literal, of an extension type as its storage."""
    return values.storage if isinstance(values.type, pa.BaseExtensionType) else values


def _in_nothing(value: Nodes) -> Nodes:
    """value IN (): false, NULL or not."""
    return apply("is_true", apply("and", apply("is_null", value), apply("is_not_null", value)))


def _is_exact(kind: pa.DataType) -> bool:
    return any(check(kind) for check in _EXACT)


def _zero(kind: pa.DataType) -> pa.Array:
    if pa.types.is_decimal(kind):
        return pa.array([decimal.Decimal(0)], kind)
    return pa.array([0], pa.float64() if pa.types.is_floating(kind) else kind)


def _keeps_values(one: pa.DataType, other: pa.DataType) -> bool:
    """Whether each value of a type is one of another type, with the same bits to compare."""
    if one == other:
        return True
    if pa.types.is_integer(one):
        digits = one.bit_width - pa.types.is_signed_integer(one)
        if pa.types.is_integer(other):
            is_signed = pa.types.is_signed_integer(other)
            fits = digits <= other.bit_width - is_signed
            return fits and (is_signed or not pa.types.is_signed_integer(one))
        if pa.types.is_decimal(other):
            return other.precision - other.scale >= len(str(1 << digits))
        return pa.types.is_floating(other) and digits <= {16: 11, 32: 24, 64: 53}[other.bit_width]
    if pa.types.is_decimal(one) and pa.types.is_decimal(other):
        more = other.precision - other.scale - (one.precision - one.scale)
        return other.scale >= one.scale and more >= 0
    if pa.types.is_floating(one):
        return pa.types.is_floating(other) and one.bit_width <= other.bit_width
    if any(check(one) for check in _TEXT):
        return any(check(other) for check in _TEXT)
    if pa.types.is_date(one):
        return pa.types.is_date(other) or (pa.types.is_timestamp(other) and other.tz is None)
    if pa.types.is_timestamp(one) and pa.types.is_timestamp(other):
        units = ("s", "ms", "us", "ns")
        finer = units.index(one.unit) <= units.index(other.unit)
        return finer and (one.tz is None) == (other.tz is None)
    return False


def _text(pattern: Any) -> str:
    return pattern.decode() if isinstance(pattern, bytes) else pattern

