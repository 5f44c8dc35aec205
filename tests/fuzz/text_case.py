"""Cases as text: the format of tests/cases/README.md, which has not all types."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from ..case_file import read_case
from . import condition
from .asof import read_words
from .case import IEEE_FLOAT, NULL_EQUAL, Answer, Case, Column, Table
from .column_types import ColumnType, type_of
from .compare import expected_rows
from .json_case import WrittenJoin
from .kinds import KINDS
from .text_words import can_be_word, python_values, type_name, type_named, values_of_words, word_of

_MARK = "mark"
# Of ways and of aggregates, which the fuzzer draws for itself.
_DRAWN = ("left_rows", "left_bits", "right_rows", "right_bits", "promise", "by", "aggregates")
_FLAGS = {"null_equal": NULL_EQUAL, "ieee": IEEE_FLOAT}


def can_write(case: Case) -> bool:
    """Whether all of its types and values have words."""
    columns = [column for table in case.tables.values() for column in table.columns]
    has_words = case.residual is None or condition.can_write(case.residual)
    return has_words and not case.is_type_error and all(
        type_name(column.type) is not None
        and all(can_be_word(value, column.type) for value in column.python_values())
        for column in columns
    )


def write_case(case: Case, expected: Answer, comments: Iterable[str]) -> str:
    """The text; where the answer is an error, it says which, and `expect` is empty."""
    if not case.pairs and not case.output_columns() and not case.kind.has_mark:
        comments = [*comments, "asks for no columns and no pairs"]  # which has no rows to expect
        case = case.changed(pairs=True)
    lines = [f"# {line}" for comment in comments for line in comment.splitlines()]
    for side in ("left", "right"):
        columns = case.tables[side].columns
        rows = [[f"{column.name}:{type_name(column.type)}" for column in columns]]
        rows += zip(*([word_of(v, c.type) for v in c.python_values()] for c in columns))
        lines += [side, *_aligned(rows)]
    join = [["kind", case.kind.name]] if case.kind.name != "inner" else []
    for left, right, flags in case.key_pairs():
        words = [word for word, flag in _FLAGS.items() if flags & flag]
        join.append(["on", left.name, right.name, *words])
    if case.asof is not None:
        join.append(["asof", *case.asof.words(case)])
    output = [f"{side}.{column.name}" for side, column in case.output_columns()]
    output += [_MARK] * case.kind.has_mark
    if output:
        join.append(["output", *output])
    if case.pairs:
        join.append(["pairs"])
    if case.residual is not None:
        join.append(["residual", condition.write(case.residual, case.tables)])
    if expected.is_error:
        join.append(["error", "several_matches" if expected.several else "evaluation"])
    lines += ["join", *_aligned(join), "expect"]
    if not expected.is_error:
        rows = expected_rows(case, expected)
        types = _row_types(case)
        lines += _aligned([[word_of(v, t) for v, t in zip(row, types)] for row in rows])
    return "\n".join(lines) + "\n"


def _row_types(case: Case) -> list[ColumnType]:
    """Of the values of an expected row; a mark's is none of them, and does not matter."""
    types = [type_of("l")] * (len(case.kind.sides) if case.pairs else 0)
    types += [column.type for _, column in case.output_columns()]
    return types + [type_of("b")] * case.kind.has_mark


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


def read_cases(path: Path) -> list[WrittenJoin]:
    """The joins of a file of tests/cases. Errors: ValueError."""
    left, right, joins = read_case(path)
    tables = {"left": _read_table(left), "right": _read_table(right)}
    made = [_read_join(tables, join, expect) for join, expect in joins]
    return [join for join in made if join is not None]


def _read_join(
    tables: dict[str, Table], lines: list[list[str]], expected: list[list[str]] | None
) -> WrittenJoin | None:
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
            case.flags.append(sum(_FLAGS[flag] for flag in rest[2:]))
        elif word == "output":
            case.columns = True
            for side, name in (output.split(".", 1) for output in rest if output != _MARK):
                case.outputs[side].append(positions[side][name])
        elif word == "pairs":
            case.pairs = True
        elif word == "asof":
            case.asof = read_words(rest, positions)
        elif word == "order":
            pass  # that of a way
        elif word == "residual":
            case.residual = condition.read(" ".join(rest), tables)
        elif word in _DRAWN:
            return None
        elif word == "error":
            expected = None
        else:
            raise ValueError(f"{word} says nothing about a join")
    if expected is None:
        return WrittenJoin(case, error=True)
    types = _row_types(case)
    columns = [python_values(list(words), t) for words, t in zip(zip(*expected), types)]
    return WrittenJoin(case, list(zip(*columns)))


def _read_table(lines: list[list[str]]) -> Table:
    columns = []
    for i, word in enumerate(lines[0]):
        name, kind = word.split(":")
        column_type = type_named(kind)
        words = [row[i] for row in lines[1:]]
        valid = np.array([word != "NULL" for word in words], bool)
        values = values_of_words(words, column_type)
        columns.append(Column(name, column_type, values, None if valid.all() else valid))
    return Table(columns, len(lines) - 1)
