"""Types and values as the words of tests/cases."""

from __future__ import annotations

import re

import numpy as np

from .column_types import ColumnType, type_of
from .pools import from_integers, from_values

_FORMATS = {
    **{"int8": "c", "int16": "s", "int32": "i", "int64": "l"},
    **{"uint8": "C", "uint16": "S", "uint32": "I", "uint64": "L"},
    **{"float16": "e", "float32": "f", "float64": "g", "date32": "tdD", "date64": "tdm"},
    **{"timestamp_s": "tss:", "timestamp_ms": "tsm:"},
    **{"timestamp_us": "tsu:", "timestamp_ns": "tsn:"},
    **{"time32": "ttm", "time64": "ttu", "duration": "tDu", "bytes16": "w:16"},
    **{"bool": "b", "utf8": "u", "large_utf8": "U", "binary": "z", "large_binary": "Z"},
    "null": "n",
}
_NAMES = {form: name for name, form in _FORMATS.items()}
_WITH_NUMBERS = re.compile(r"(fixed_binary|decimal)(\d*)\((-?\d+)(?:,(-?\d+))?\)")
_NOT_WORDS = ("NULL", '""', "left", "right", "join", "expect")


def type_name(column_type: ColumnType) -> str | None:
    """None: there is no word for it."""
    if column_type.digits:
        bits = 8 * column_type.width
        return f"decimal{bits}({column_type.digits},{column_type.scale})"
    if column_type.is_fixed_bytes and column_type.width != 16:
        return f"fixed_binary({column_type.width})"
    return _NAMES.get(column_type.format)


def type_named(name: str) -> ColumnType:
    """Errors: ValueError."""
    if name in _FORMATS:
        return type_of(_FORMATS[name])
    found = _WITH_NUMBERS.fullmatch(name)
    if not found:
        raise ValueError(f"no type is called {name}")
    what, bits, first, second = found.groups()
    if what == "fixed_binary":
        return type_of(f"w:{first}")
    return type_of(f"d:{first},{second}" + ("" if bits == "128" else f",{bits}"))


def can_be_word(value: object, column_type: ColumnType) -> bool:
    """Text is words without spaces that mean nothing else; a NaN has one of its many bits."""
    if value is None or column_type.family != "text":
        return value == value
    text = value.decode()
    return text.split() == [text] * bool(text) and text not in _NOT_WORDS and text[:1] != "#"


def word_of(value: object, column_type: ColumnType) -> str:
    """Of a value as Column.python_values has it."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if column_type.digits:
        return _decimal_word(_integer(value), column_type.scale)
    if isinstance(value, bytes):
        text = value.decode() if column_type.family == "text" else value.hex()
        return text or '""'
    if isinstance(value, float):
        return repr(value) if value != value or abs(value) > 1e15 else f"{value:.17g}"
    return str(value)


def _integer(value: int | bytes) -> int:
    return int.from_bytes(value, "little", signed=True) if isinstance(value, bytes) else value


def _decimal_word(integer: int, scale: int) -> str:
    if scale <= 0:
        return str(integer * 10**-scale)
    digits = str(abs(integer)).rjust(scale + 1, "0")
    return "-" * (integer < 0) + digits[:-scale] + "." + digits[-scale:]


def _decimal(word: str, scale: int) -> int:
    whole, _, fraction = word.partition(".")
    integer = int(whole + fraction)
    zeros = scale - len(fraction)
    return integer * 10**zeros if zeros >= 0 else integer // 10**-zeros


def values_of_words(words: list[str], column_type: ColumnType) -> np.ndarray:
    """As they lie in memory; under a NULL zeros. Errors: ValueError."""
    if column_type.digits:
        scale = column_type.scale
        integers = [0 if word == "NULL" else _decimal(word, scale) for word in words]
        return from_integers(column_type, integers)
    return from_values(column_type, [_value(word, column_type) for word in words])


def _value(word: str, column_type: ColumnType) -> object:
    family = column_type.family
    if family in ("text", "binary"):
        if word in ("NULL", '""'):
            return bytes(column_type.width if column_type.is_fixed_bytes else 0)
        return word.encode() if family == "text" else bytes.fromhex(word)
    if word == "NULL":
        return 0
    if family == "bool":
        return word == "true"
    return float(word) if family == "float" else int(word)


def python_values(words: list[str], column_type: ColumnType) -> list:
    values = values_of_words(words, column_type).tolist()
    return [None if word == "NULL" else value for word, value in zip(words, values)]
