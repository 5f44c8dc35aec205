"""Draws the types of columns: of a pair of keys, and of payloads."""

from __future__ import annotations

import random

from .column_types import MOST_DIGITS, ColumnType, type_of

_INTEGERS = ("c", "s", "i", "l", "C", "S", "I", "L")
_DECIMAL_BITS = (32, 64, 128, 128, 256)
_ZONES = ("UTC", "+02:00", "Europe/Berlin", "America/New_York")
_STAMP_UNITS = "smun"
_WIDTHS = (1, 2, 3, 4, 5, 7, 8, 9, 11, 12, 13, 15, 16, 16, 17, 20, 24, 32, 33, 40)

# Of keys: how often, and the formats that a plain column can have, and those of Arrow alone.
_FAMILIES = {
    "integer": 24,
    "decimal": 14,
    "text": 22,
    "date": 12,
    "zoned": 4,
    "binary": 9,
    "float": 8,
    "time": 4,
    "duration": 4,
    "bool": 4,
    "months": 1,
    "day_time": 1,
    "month_day_nano": 1,
    "null": 1,
}
# Of which a single column has so few values that most joins of it would be nearly everything.
_SMALL = ("bool", "null")
_SIMPLE = {
    "text": (("u", "U"), ("u", "U", "vu")),
    "float": (("e", "f", "g"),) * 2,
    "time": (("ttm", "ttu"), ("tts", "ttm", "ttu", "ttn")),
    "duration": (("tDu",), ("tDs", "tDm", "tDu", "tDn")),
    "bool": (("b",),) * 2,
    "months": (("tiM",),) * 2,
    "day_time": (("tiD",),) * 2,
    "month_day_nano": (("tin",),) * 2,
    "null": (("n",),) * 2,
    "integer": (_INTEGERS,) * 2,
}


_SIMPLE_PAYLOADS = ("c", "s", "i", "i", "f", "l", "l", "g", "w:16", "w:16")


def _draw_format(rng: random.Random, family: str, plain: bool) -> str:
    if family in _SIMPLE:
        return rng.choice(_SIMPLE[family][not plain])
    if family == "decimal":
        return _decimal(rng)
    if family == "date":
        return rng.choice(("tdD", "tdD", "tdm", *(f"ts{unit}:" for unit in _STAMP_UNITS)))
    if family == "zoned":
        return f"ts{rng.choice(_STAMP_UNITS)}:{rng.choice(_ZONES)}"
    if family == "binary":
        forms = ("z", "Z") if plain else ("z", "Z", "vz")
        return rng.choice(forms) if rng.random() < 0.6 else f"w:{rng.choice(_WIDTHS)}"
    raise ValueError(family)


def _decimal(rng: random.Random) -> str:
    bits = rng.choice(_DECIMAL_BITS)
    most = MOST_DIGITS[bits]
    digits = most if rng.random() < 0.6 else rng.randint(1, most)
    scale = rng.choice((0, 0, 1, 2, 2, 3, 6, digits // 2, digits, -1, -3))
    scale = max(-digits, min(digits, scale))
    return f"d:{digits},{scale}" + ("" if bits == 128 else f",{bits}")


def draw_type(rng: random.Random, plain: bool) -> ColumnType:
    family = rng.choices(list(_FAMILIES), _FAMILIES.values())[0]
    return type_of(_draw_format(rng, family, plain))


def draw_key_types(
    rng: random.Random, plain: dict[str, bool], alone: bool
) -> tuple[ColumnType, ColumnType]:
    """plain  of each side, whether its types must be those of plain columns
    alone  whether it is the only key
    """
    weights = [
        weight / 8 if alone and family in _SMALL else weight for family, weight in _FAMILIES.items()
    ]
    family = rng.choices(list(_FAMILIES), weights)[0]
    one = _draw_format(rng, family, plain["left"])
    if rng.random() < 0.4 and type_of(one).is_plain >= plain["right"]:
        other = one
    elif family == "binary" and one.startswith("w:") and rng.random() < 0.5:
        other = one
    else:
        if family in ("integer", "decimal") and rng.random() < 0.3:  # with each other
            family = "decimal" if family == "integer" else "integer"
        elif rng.random() < 0.02:
            family = "null"
        other = _draw_format(rng, family, plain["right"])
        if one in _INTEGERS and other in _INTEGERS and rng.random() < 0.4:
            other = one.swapcase()  # of the other sign
        if one.startswith("w:") and other.startswith("w:") and rng.random() < 0.8:
            other = one
    return type_of(one), type_of(other)


def draw_simple_key_types(rng: random.Random) -> tuple[ColumnType, ColumnType]:
    """Integers of 4 and 8 bytes, which nothing is made of before they are joined."""
    one = rng.choice(("i", "i", "i", "i", "i", "I", "l", "l", "L", "tdD"))
    other = one
    if one != "tdD" and rng.random() < 0.2:
        other = rng.choice((one.swapcase(), *"ilIL"))
    return type_of(one), type_of(other)


def draw_simple_types(rng: random.Random, count: int) -> list[ColumnType]:
    """Of payloads that every technique may carry: at times all of 4 bytes, or of 8."""
    formats = rng.choice((_SIMPLE_PAYLOADS, "if", "lg", "lg", "iflg"))
    return [type_of(rng.choice(formats)) for _ in range(count)]


def draw_other_type(rng: random.Random, column_type: ColumnType, plain: bool) -> ColumnType:
    """One that does not compare with it."""
    while True:
        other = draw_type(rng, plain)
        if "null" not in (other.family, column_type.family) and other.family != column_type.family:
            return other
