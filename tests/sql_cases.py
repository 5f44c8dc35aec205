"""The joins of tests/cases as SQL, for hosts that speak it: see the README there.

What SQL or a host's dialect has no words for is left out: as-of joins, aggregates, orders,
selections, promises, residuals, marks, and the types that the dialect does not name.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from case_file import read_case

FOLDER = Path(__file__).parent / "cases"
# With an outer side a join, else a question about each row of a side.
JOINS = {"inner": "JOIN", "left": "LEFT JOIN", "right": "RIGHT JOIN", "full": "FULL JOIN",
         "cross": "CROSS JOIN"}  # fmt: skip
QUESTIONS = {"semi": "EXISTS", "anti": "NOT EXISTS"}
WORDS = {"kind", "on", "output", "pairs"}
UNITS = {"timestamp_s": 1_000_000, "timestamp_ms": 1000, "timestamp_us": 1}
DAY = datetime.date(1970, 1, 1)
ROW = "row_number_"


def family_of(kind: str) -> str:
    """What types are one in SQL, but for their numbers."""
    if kind in UNITS:
        return "timestamp"
    if kind.startswith("decimal"):
        return "decimal"
    if kind.startswith("fixed_binary") or kind in ("bytes16", "large_binary"):
        return "binary"
    return "utf8" if kind == "large_utf8" else kind


@dataclasses.dataclass
class Dialect:
    """Types of a case that types does not have are left out, and joins with keys of which NULL
    equals NULL where null_equal is None."""

    types: dict[str, str]  # "utf8", "binary" and "timestamp" are all such
    decimal: str  # with places for the precision and the scale
    most_digits: int  # of a decimal
    least_scale: int
    binary: str  # with a place for hexadecimal digits
    date: str  # for days since 1970
    null_equal: str | None  # between two columns
    timestamp: Callable[[int], str] | None = None  # of microseconds since 1970

    def type_of(self, kind: str) -> str | None:
        family = family_of(kind)
        if family != "decimal":
            return self.types.get(family)
        precision, scale = map(int, re.findall(r"-?\d+", kind.partition("(")[2]))
        has_room = precision <= self.most_digits and scale >= self.least_scale
        return self.decimal.format(precision, scale) if has_room else None

    def literal(self, word: str, kind: str) -> str:
        """Of a word that is not NULL."""
        family = family_of(kind)
        if family == "date32":
            return self.date.format(word)
        if family == "timestamp":
            return self.timestamp(int(word) * UNITS[kind])
        text = "" if word == '""' else word
        return self.binary.format(text) if family == "binary" else f"'{text}'"


@dataclasses.dataclass
class SqlJoin:
    name: str
    tables: dict[str, str]  # by side: a SELECT that makes it
    query: str
    types: list[str]  # of the answer's columns
    expected: Counter


def value(word: object, kind: str) -> object:
    """Of a word of a case, or what the host answered: equal where both say the same."""
    if word is None or word == "NULL":
        return None
    if "int" in kind:
        return int(word)
    if kind.startswith("float"):
        number = float(word)
        return number if number == number else "nan"
    if kind.startswith("decimal"):
        return decimal.Decimal(word).normalize()
    if kind == "bool":
        return word if isinstance(word, bool) else word == "true"
    if kind == "date32":
        return (word - DAY).days if isinstance(word, datetime.date) else int(word)
    if kind in UNITS:
        if not isinstance(word, datetime.datetime):
            return int(word)
        since = word.replace(tzinfo=None) - datetime.datetime(1970, 1, 1)
        return since // datetime.timedelta(microseconds=UNITS[kind])
    word = "" if word == '""' else word
    return bytes(word).hex() if isinstance(word, bytes | bytearray) else word


def table_of(lines: list[list[str]], dialect: Dialect) -> tuple[dict[str, str], str] | None:
    """Its columns' types, and a SELECT of its rows."""
    types = dict(word.split(":") for word in lines[0])
    names = {name: dialect.type_of(kind) for name, kind in types.items()}
    if None in names.values():
        return None
    rows = [[str(number), *row] for number, row in enumerate(lines[1:])]
    kinds = {ROW: "int32", **types}
    names = {ROW: dialect.type_of("int32"), **names}

    def cell(word: str, name: str) -> str:
        written = "NULL" if word == "NULL" else dialect.literal(word, kinds[name])
        return f"CAST({written} AS {names[name]}) AS {name}"

    # Of no rows, too, a table has types.
    empty = ", ".join(cell("NULL", name) for name in names)
    selects = [f"SELECT {empty} WHERE 1 = 0"]
    selects += ["SELECT " + ", ".join(map(cell, row, names)) for row in rows]
    return types, " UNION ALL ".join(selects)


def side_asked(kind: str) -> str | None:
    """Of a semi or anti join, which is a question about each row of it."""
    side, _, question = kind.partition("_")
    return side if question in QUESTIONS else None


def join_of(lines: list[list[str]], dialect: Dialect) -> tuple[str, list[list[str]], str] | None:
    """Its kind, the columns that it puts out as [side, name], and how rows are compared."""
    if {words[0] for words in lines} - WORDS:
        return None
    by_word = {words[0]: words[1:] for words in lines if words[0] != "on"}
    kind = by_word.get("kind", ["inner"])[0]
    output = [word.split(".") for word in by_word.get("output", [])]
    side = side_asked(kind)
    if (kind not in JOINS and side is None) or ["mark"] in output:
        return None
    conditions = []
    for words in lines:
        if words[0] != "on":
            continue
        left, right, *flags = words[1:]
        if "ieee" in flags or ("null_equal" in flags and dialect.null_equal is None):
            return None
        operator = dialect.null_equal if "null_equal" in flags else "="
        conditions.append(f"l_.{left} {operator} r_.{right}")
    if "pairs" in by_word:
        output = [[of, ROW] for of in ([side] if side else ["left", "right"])] + output
    return kind, output, " AND ".join(conditions)


def query_of(kind: str, output: list[list[str]], condition: str) -> str:
    columns = ", ".join(f"{side[0]}_.{name} AS c{i}" for i, (side, name) in enumerate(output))
    side = side_asked(kind)
    if side is None:
        on = f" ON {condition}" if condition else ""
        return f"SELECT {columns} FROM case_l l_ {JOINS[kind]} case_r r_{on}"
    own, other = ("l", "r") if side == "left" else ("r", "l")
    question = kind.removeprefix(f"{side}_")
    query = f"SELECT {columns} FROM case_{own} {own}_"
    asked = f"SELECT 1 FROM case_{other} {other}_ WHERE {condition}"
    return f"{query} WHERE {QUESTIONS[question]} ({asked})"


def sql_joins(dialect: Dialect) -> Iterator[SqlJoin]:
    """Tables are case_l and case_r."""
    for path in sorted(FOLDER.glob("*.txt")):
        left, right, joins = read_case(path)
        tables = {"l": table_of(left, dialect), "r": table_of(right, dialect)}
        if None in tables.values():
            continue
        for number, (join, expect) in enumerate(joins):
            asked = join_of(join, dialect)
            if asked is None or not asked[1]:
                continue
            kind, output, condition = asked
            types = [{ROW: "int32", **tables[side[0]][0]}[name] for side, name in output]
            expected = Counter(tuple(map(value, words, types)) for words in expect)
            yield SqlJoin(f"{path.stem}-{number}-{kind}", {s: t[1] for s, t in tables.items()},
                          query_of(kind, output, condition), types, expected)  # fmt: skip


def answer(join: SqlJoin, rows: list[tuple]) -> Counter:
    return Counter(tuple(map(value, row, join.types)) for row in rows)
