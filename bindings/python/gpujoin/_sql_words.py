"""The words of a condition in SQL, and its literals as Arrow values."""

from __future__ import annotations

import datetime
import decimal
import re
from dataclasses import dataclass

import pyarrow as pa

from .errors import InvalidArgument, Unsupported

_SHOWN = 40  # characters of a text in an error

_TOKEN = re.compile(
    r"""(?P<space>\s+|--[^\n]*|/\*.*?\*/)
    |(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    |(?P<bytes>[xX]'[^']*')
    |(?P<text>'(?:[^']|'')*'(?!'))
    |(?P<quoted>"(?:[^"]|"")+"(?!"))
    |(?P<word>[^\W\d][\w$]*)
    |(?P<sign><>|!=|==|<=|>=|//|\|\||::|[-+*/%=<>(),.\[\];^~&|!@#?])""",
    re.VERBOSE | re.DOTALL,
)
RESERVED = frozenset(
    """and or not is null true false between in like case when then else end distinct from escape
    """.split()
)
_MOST_DIGITS = 76


@dataclass(frozen=True)
class Token:
    """kind   "number", "bytes", "text", "quoted" (a name), "word", "sign" or "end"
    text   as it is written; of words in lower case in `word`
    """

    kind: str
    text: str
    start: int
    end: int

    @property
    def word(self) -> str:
        return self.text.lower() if self.kind in ("word", "sign") else ""


def at_place(source: str, place: int, reason: str) -> str:
    """A reason and where in the text it is."""
    rest = source[place:]
    shown = rest if len(rest) <= _SHOWN else rest[:_SHOWN] + " ..."
    return f"where: {reason}, at " + (f"character {place + 1}: {shown}" if rest else "its end")


def tokens_of(source: str) -> list[Token]:
    """All words, and one that says the end. Errors: InvalidArgument."""
    tokens = []
    place = 0
    while place < len(source):
        found = _TOKEN.match(source, place)
        if found is None:
            what = {"'": "a text without an end", '"': "a name without an end"}.get(source[place])
            reason = what or f"{source[place]!r} means nothing"
            raise InvalidArgument(at_place(source, place, reason))
        if found.lastgroup != "space":
            tokens.append(Token(found.lastgroup, found[0], place, found.end()))
        place = found.end()
    tokens.append(Token("end", "", len(source), len(source)))
    return tokens


def unquoted(token: Token) -> str:
    """Of a text or a name in quotes."""
    quote = token.text[0]
    return token.text[1:-1].replace(2 * quote, quote)


def number(text: str, negative: bool) -> pa.Array:
    """An integer as int32, int64, uint64 or a decimal, the first that holds it; digits with a point
    as a decimal; with an exponent as float64. Errors: InvalidArgument."""
    sign = "-" * negative
    if "e" in text.lower():
        return pa.array([float(sign + text)], pa.float64())
    digits = text.replace(".", "")
    if len(digits) > _MOST_DIGITS:
        raise InvalidArgument(f"a number of {len(digits)} digits; it may have {_MOST_DIGITS}")
    if "." not in text:
        value = int(sign + text)
        for kind, least, most in (
            (pa.int32(), -(1 << 31), (1 << 31) - 1),
            (pa.int64(), -(1 << 63), (1 << 63) - 1),
            (pa.uint64(), 0, (1 << 64) - 1),
        ):
            if least <= value <= most:
                return pa.array([value], kind)
    scale = len(text.partition(".")[2])
    precision = max(len(digits), 1)
    make = pa.decimal128 if precision <= 38 else pa.decimal256
    value = decimal.Decimal((int(negative), tuple(map(int, digits)), -scale))
    return pa.array([value], make(precision, scale))


def binary(text: str) -> pa.Array:
    """X'00ff'. Errors: InvalidArgument."""
    try:
        return pa.array([bytes.fromhex(text[2:-1])], pa.binary())
    except ValueError:
        raise InvalidArgument("two hexadecimal digits make a byte") from None


_DATE = r"(\d{4})-(\d\d?)-(\d\d?)"
_TIME = r"(\d\d?):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?"
_ZONE = r"(Z|[+-]\d\d(?::?\d\d)?)?"
_NANOSECONDS = 1_000_000_000
_DAY = 86_400


def date(text: str) -> pa.Array:
    """date '2020-01-31'. Errors: InvalidArgument."""
    found = re.fullmatch(_DATE, text.strip(), re.ASCII)
    if not found:
        raise InvalidArgument(f"{text!r} is not a date as 2020-01-31")
    return pa.array([_day(found.groups())], pa.int32()).cast(pa.date32())


def time(text: str) -> pa.Array:
    """time '23:59:59.999999'. Errors: InvalidArgument."""
    found = re.fullmatch(_TIME, text.strip(), re.ASCII)
    if not found:
        raise InvalidArgument(f"{text!r} is not a time as 23:59:59")
    value, unit = _of_day(found.groups())
    return pa.array([value], pa.int64()).cast(pa.time64(unit))


def timestamp(text: str) -> pa.Array:
    """timestamp '2020-01-31 23:59:59.999999', of nanoseconds where it has more than six places;
    with a zone at its end an instant. Errors: InvalidArgument."""
    pattern = f"{_DATE}(?:[ Tt]{_TIME}\\s*{_ZONE})?"
    found = re.fullmatch(pattern, text.strip(), re.ASCII)
    if not found:
        raise InvalidArgument(f"{text!r} is not a timestamp as 2020-01-31 23:59:59")
    parts = found.groups()
    value, unit = _of_day(parts[3:7]) if parts[3] else (0, "us")
    per_second = _NANOSECONDS if unit == "ns" else 1_000_000
    value += (_day(parts[:3]) * _DAY - _offset(parts[7])) * per_second
    if not -(1 << 63) <= value < 1 << 63:
        raise InvalidArgument(f"{text!r} has nanoseconds, of which 64 bits hold 1677 to 2262")
    return pa.array([value], pa.int64()).cast(pa.timestamp(unit, "UTC" if parts[7] else None))


def _day(parts: tuple[str, ...]) -> int:
    try:
        return datetime.date(*map(int, parts)).toordinal() - 719163  # 1970-01-01
    except ValueError as error:
        raise InvalidArgument(f"no date is {'-'.join(parts)}: {error}") from None


def _of_day(parts: tuple[str, ...]) -> tuple[int, str]:
    """Hours, minutes, seconds, places as a number and its unit."""
    hours, minutes, seconds = (int(part or 0) for part in parts[:3])
    if hours > 23 or minutes > 59 or seconds > 59:
        raise InvalidArgument(f"no day has a {hours:02}:{minutes:02}:{seconds:02}")
    places = parts[3] or ""
    unit, digits = ("ns", 9) if len(places) > 6 else ("us", 6)
    whole = (hours * 60 + minutes) * 60 + seconds
    return whole * 10**digits + int(places.ljust(digits, "0") or 0), unit


def _offset(zone: str | None) -> int:
    """Seconds from UTC."""
    if zone in (None, "Z"):
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    seconds = int(digits[:2]) * 3600 + int(digits[2:]) * 60
    return -seconds if zone[0] == "-" else seconds


def like_prefix(pattern: str, escape: str | None = None) -> tuple[str, bool]:
    """What a LIKE pattern begins with, and whether more may follow. Errors: Unsupported, of other
    patterns; InvalidArgument."""
    prefix = ""
    characters = iter(range(len(pattern)))
    for i in characters:
        letter = pattern[i]
        if letter == escape:
            if i + 1 == len(pattern):
                raise InvalidArgument("LIKE: the pattern ends with its escape character")
            prefix += pattern[next(characters)]
        elif letter == "_" or (letter == "%" and pattern[i:].strip("%")):
            raise Unsupported(
                f"LIKE {pattern!r}: only a text with % at its end alone, or without wildcards, can "
                "be compared"
            )
        elif letter == "%":
            return prefix, True
        else:
            prefix += letter
    return prefix, False
