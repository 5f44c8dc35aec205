"""Cases as text: the format of tests/cases/README.md."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .case import Answer, Case, Column, Table
from .column_types import TYPES, ColumnType
from .compare import expected_rows
from .kinds import KINDS

_SECTIONS = ("left", "right", "join", "expect")
_MARK = "mark"


def write_case(case: Case, expected: Answer, comments: Iterable[str]) -> str:
    """The text; of a single join with several matches `expect` is empty, and a comment says so."""
    if not case.pairs and not case.output_columns() and not case.kind.has_mark:
        comments = [*comments, "asks for no columns and no pairs"]  # which has no rows to expect
        case = case.changed(pairs=True)
    lines = [f"# {line}" for comment in comments for line in comment.splitlines()]
    for side in ("left", "right"):
        columns = case.tables[side].columns
        rows = [[f"{column.name}:{column.type.name}" for column in columns]]
        rows += zip(*([_word(v, c.type) for v in c.python_values()] for c in columns))
        lines += [side, *_aligned(rows)]
    join = [["kind", case.kind.name]] if case.kind.name != "inner" else []
    for left, right in zip(case.key_columns("left"), case.key_columns("right")):
        join.append(["on", left.name, right.name])
    output = [f"{side}.{column.name}" for side, column in case.output_columns()]
    output += [_MARK] * case.kind.has_mark
    if output:
        join.append(["output", *output])
    if case.pairs:
        join.append(["pairs"])
    lines += ["join", *_aligned(join), "expect"]
    if expected.several:
        lines.append("# GPUJOIN_ERROR_SEVERAL_MATCHES")
    else:
        rows = expected_rows(case, expected)
        types = _row_types(case)
        lines += _aligned([[_word(v, t) for v, t in zip(row, types)] for row in rows])
    return "\n".join(lines) + "\n"


def _row_types(case: Case) -> list[ColumnType]:
    """Of the values of an expected row; a mark's is none of them, and does not matter."""
    types = [TYPES["int64"]] * (len(case.kind.sides) if case.pairs else 0)
    types += [column.type for _, column in case.output_columns()]
    return types + [TYPES["int8"]] * case.kind.has_mark


def _word(value: object, column_type: ColumnType) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return value.hex()
    if column_type.is_float:
        return repr(value) if value != value or abs(value) > 1e15 else f"{value:.10g}"
    return str(value)


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths: list[int] = []
    for row in rows:
        for i, word in enumerate(row):
            if i == len(widths):
                widths.append(0)
            widths[i] = max(widths[i], len(word))
    return [
        "  " + "  ".join(word.ljust(width) for word, width in zip(row, widths)).rstrip()
        for row in rows
    ]


@dataclass
class TextJoin:
    """A join of a file; rows: what it expects, as compare.expected_rows has an answer."""

    case: Case
    rows: list[tuple]


def read_cases(path: Path) -> list[TextJoin]:
    """The joins of a file of tests/cases. Errors: ValueError."""
    section = ""
    tables: dict[str, list[list[str]]] = {"left": [], "right": []}
    joins: list[dict[str, list[list[str]]]] = []
    for line in path.read_text().splitlines():
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) == 1 and words[0] in _SECTIONS:
            section = words[0]
            if section == "join":
                joins.append({"join": [], "expect": []})
        elif section in tables:
            tables[section].append(words)
        elif joins:
            joins[-1][section].append(words)
        else:
            raise ValueError(f"{path}: a line before the first section: {line}")
    read = {side: _read_table(lines) for side, lines in tables.items()}
    return [_read_join(read, join["join"], join["expect"]) for join in joins]


def _read_join(
    tables: dict[str, Table], lines: list[list[str]], expected: list[list[str]]
) -> TextJoin:
    positions = {side: {c.name: i for i, c in enumerate(tables[side].columns)} for side in tables}
    case = Case(
        KINDS["inner"],
        tables,
        keys={"left": [], "right": []},
        outputs={"left": [], "right": []},
        columns=False,
        pairs=False,
    )
    for word, *rest in lines:
        if word == "kind":
            case.kind = KINDS[rest[0]]
        elif word == "on":
            for side, name in zip(("left", "right"), rest):
                case.keys[side].append(positions[side][name])
        elif word == "output":
            case.columns = True
            for side, name in (output.split(".", 1) for output in rest if output != _MARK):
                case.outputs[side].append(positions[side][name])
        elif word == "pairs":
            case.pairs = True
        else:
            raise ValueError(f"{word} says nothing about a join")
    types = _row_types(case)
    rows = [tuple(_python_value(w, t) for w, t in zip(row, types)) for row in expected]
    return TextJoin(case, rows)


def _read_table(lines: list[list[str]]) -> Table:
    columns = []
    for i, word in enumerate(lines[0]):
        name, kind = word.split(":")
        column_type = TYPES[kind]
        words = [row[i] for row in lines[1:]]
        valid = np.array([word != "NULL" for word in words], bool)
        values = np.array([_value(word, column_type) for word in words], column_type.dtype)
        columns.append(Column(name, column_type, values, None if valid.all() else valid))
    return Table(columns, len(lines) - 1)


def _python_value(word: str, column_type: ColumnType) -> object:
    if word in ("NULL", "true", "false"):
        return {"NULL": None, "true": True, "false": False}[word]
    return column_type.dtype.type(_value(word, column_type)).item()


def _value(word: str, column_type: ColumnType) -> object:
    if column_type.dtype.kind == "V":
        return bytes(16) if word == "NULL" else bytes.fromhex(word)
    if word == "NULL":
        return 0
    return float(word) if column_type.is_float else int(word)
