"""The joins of tests/cases as SQL, for hosts that speak it: see the README there.

A host says how it calls types and writes values; what SQL or the host has no words for is left out:
as-of joins, aggregates, orders, selections, promises, residuals, marks, and the types that a
dialect does not name.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

FOLDER = Path(__file__).parent / "cases"
SECTIONS = ("left", "right", "join", "expect")
# With an outer side a join, else a question about each row of a side.
JOINS = {"inner": "JOIN", "left": "LEFT JOIN", "right": "RIGHT JOIN", "full": "FULL JOIN",
         "cross": "CROSS JOIN"}  # fmt: skip
QUESTIONS = {"semi": "EXISTS", "anti": "NOT EXISTS"}
WORDS = {"kind", "on", "output", "pairs"}
UNITS = {"timestamp_s": 1_000_000, "timestamp_ms": 1000, "timestamp_us": 1}
DAY = datetime.date(1970, 1, 1)
ROW = "row_number_"


@dataclasses.dataclass
class Dialect:
    """type_of: the SQL of a type of a case, or None; literal: of a word that is not NULL, and its
    type; null_equal: between two columns where NULL equals NULL, or None."""

    type_of: Callable[[str], str | None]
    literal: Callable[[str, str], str]
    null_equal: str | None


@dataclasses.dataclass
class SqlJoin:
    name: str
    tables: dict[str, str]  # by side: a SELECT that makes it
    query: str
    types: list[str]  # of the answer's columns
    expected: Counter


def read_sections(path: Path) -> list[tuple[str, list[list[str]]]]:
    sections: list[tuple[str, list[list[str]]]] = []
    for line in path.read_text().splitlines():
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) == 1 and words[0] in SECTIONS:
            sections.append((words[0], []))
        else:
            sections[-1][1].append(words)
    return sections


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
        (_, left), (_, right), *rest = read_sections(path)
        tables = {"l": table_of(left, dialect), "r": table_of(right, dialect)}
        if None in tables.values():
            continue
        for number, ((_, join), (_, expect)) in enumerate(zip(rest[::2], rest[1::2], strict=True)):
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


def decimal_numbers(kind: str) -> tuple[int, int] | None:
    """Precision and scale of a decimal type."""
    found = re.fullmatch(r"decimal\d+\((\d+),(-?\d+)\)", kind)
    return (int(found[1]), int(found[2])) if found else None
