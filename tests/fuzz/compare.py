"""Compares an output with an answer, as multisets of rows.

A row is one hash of its values, so that two multisets are two sorted arrays; wrong rows have equal
hashes once in 2^64. What differs is then shown with the values themselves.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from .case import Answer, Case, Column, Table
from .read_result import Output

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_NULL = np.uint64(0xD1B54A32D192ED03)
_SHOWN = 3


def difference(
    case: Case, expected: Answer, output: Output, order: np.ndarray | None = None
) -> str:
    """What is wrong with the output, or "".

    order  in which the answer's rows have to come; None = in any
    """
    if expected.is_open:
        return ""
    if expected.is_error:
        names = {"SEVERAL_MATCHES": expected.several, "TYPE": expected.no_type}
        names["EVALUATION"] = expected.no_value
        status = " or ".join(name for name, is_it in names.items() if is_it)
        return f"{output.rows} rows instead of {status}"
    if output.rows != expected.count:
        return f"{output.rows} rows instead of {expected.count}" + _shown(case, expected, output)
    theirs = _row_hashes(
        output.rows,
        [
            *(_hash_bits(numbers.view(np.uint64)) for numbers in output.indices.values()),
            *(_tokens(values, valid) for values, valid in output.columns),
            *_mark_tokens(output.mark),
        ],
    )
    if np.array_equal(np.sort(theirs), np.sort(_expected_hashes(case, expected))):
        if order is None or np.array_equal(theirs, _expected_hashes(case, expected)[order]):
            return ""
        return "the rows do not come in the order that was named"
    return "other rows" + _shown(case, expected, output)


def same_answer(case: Case, one: Answer, other: Answer) -> bool:
    """Whether two answers are equal as multisets of row numbers."""
    if one.is_error or other.is_error:
        return _errors(one) == _errors(other)
    return np.array_equal(*(np.sort(_answer_hashes(case, answer)) for answer in (one, other)))


def _errors(answer: Answer) -> tuple[bool, ...]:
    return answer.several, answer.no_type, answer.no_value, answer.is_open


def _answer_hashes(case: Case, answer: Answer) -> np.ndarray:
    numbers = [answer.rows[side] for side in case.kind.sides]
    tokens = [_hash_bits(n.view(np.uint64)) for n in numbers] + _mark_tokens(answer.mark)
    return _row_hashes(answer.count, tokens)


def order_of(answer: Answer, side: str) -> np.ndarray:
    """Its rows by those of a side, then of the other; those without one last."""
    sides = [side, *(other for other in answer.rows if other != side)]
    # -1 as an unsigned number is above all others.
    numbers = [answer.rows[each].view(np.uint64) for each in sides]
    return np.lexsort(numbers[::-1])


def _expected_hashes(case: Case, expected: Answer) -> np.ndarray:
    """Made once for an answer."""
    key = id(expected)
    if key not in case.tokens:
        tokens = []
        if case.pairs:
            tokens += [_hash_bits(expected.rows[s].view(np.uint64)) for s in case.kind.sides]
        for side, position in _positions(case):
            tokens.append(_column_tokens(case, side, position)[expected.rows[side]])
        tokens += _mark_tokens(expected.mark)
        case.tokens[key] = expected, _row_hashes(expected.count, tokens)
    return case.tokens[key][1]


def row_hashes(table: Table) -> np.ndarray:
    """Of the values of all columns; NULLs are the same whatever lies under them."""
    return _row_hashes(table.rows, [_tokens(c.values, c.valid) for c in table.columns])


def _positions(case: Case) -> list[tuple[str, int]]:
    return [(side, i) for side in ("left", "right") for i in case.outputs[side]]


def _column_tokens(case: Case, side: str, position: int) -> np.ndarray:
    """Of each row, and last that of no row: row number -1 is a NULL."""
    key = (side, position)
    if key not in case.tokens:
        column = case.tables[side].columns[position]
        case.tokens[key] = np.append(_tokens(column.values, column.valid), _NULL)
    return case.tokens[key]


def _tokens(values: np.ndarray, valid: np.ndarray | None) -> np.ndarray:
    """A hash of the bytes of each value; of NULL always the same."""
    width = values.dtype.itemsize
    if values.dtype == object:
        tokens = _hash_bits(np.fromiter(map(hash, values.tolist()), np.int64).view(np.uint64))
    elif width in (1, 2, 4, 8):
        tokens = _hash_bits(values.view(f"u{width}").astype(np.uint64))
    else:
        tokens = np.full(len(values), width, np.uint64)
        for word in _words(values):
            tokens = _hash_bits(tokens ^ word)
    return tokens if valid is None else np.where(valid, tokens, _NULL)


def _words(values: np.ndarray) -> np.ndarray:
    """Values of any width as 8 bytes each, the last ones filled up with zeros: [words][values]."""
    width = values.dtype.itemsize
    raw = np.zeros((len(values), (width + 7) // 8 * 8), np.uint8)
    raw[:, :width] = np.ascontiguousarray(values).view(np.uint8).reshape(len(values), width)
    return raw.view(np.uint64).T


def _mark_tokens(mark: np.ndarray | None) -> list[np.ndarray]:
    return [] if mark is None else [_hash_bits(mark.astype(np.int64).view(np.uint64))]


def _hash_bits(bits: np.ndarray) -> np.ndarray:
    mixed = bits * _MULTIPLIER
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(32)
    return mixed


def _row_hashes(rows: int, tokens: list[np.ndarray]) -> np.ndarray:
    hashes = np.zeros(rows, np.uint64)
    for column in tokens:
        hashes = _hash_bits((hashes ^ column) + np.uint64(1))
    return hashes


def expected_rows(case: Case, expected: Answer) -> list[tuple]:
    """The rows as Python has them, with None for NULL and for no row; the mark last."""
    columns = []
    if case.pairs:
        columns += [_without_no_row(expected.rows[side]) for side in case.kind.sides]
    for side, column in case.output_columns():
        values = [*column.python_values(), None]
        columns.append([values[row] for row in expected.rows[side].tolist()])
    if expected.mark is not None:
        columns.append(_truth(expected.mark))
    return list(zip(*columns)) if columns else [()] * expected.count


def expects(rows: list[tuple], case: Case, answer: Answer) -> bool:
    """Whether rows, as expected_rows has them, are the answer's."""
    # As text: a NaN is not equal to itself.
    return Counter(map(repr, rows)) == Counter(map(repr, expected_rows(case, answer)))


def output_rows(case: Case, output: Output) -> list[tuple]:
    columns = [_without_no_row(numbers) for numbers in output.indices.values()]
    for (_, column), (values, valid) in zip(case.output_columns(), output.columns):
        columns.append(Column("", column.type, values, valid).python_values())
    if output.mark is not None:
        columns.append(_truth(output.mark))
    return list(zip(*columns)) if columns else [()] * output.rows


def _without_no_row(numbers: np.ndarray) -> list:
    return [None if number < 0 else number for number in numbers.tolist()]


def _truth(mark: np.ndarray) -> list:
    return [None if value < 0 else bool(value) for value in mark.tolist()]


def _shown(case: Case, expected: Answer, output: Output) -> str:
    """The first rows that are missing, and those that are too many."""
    # As text: a NaN is not equal to itself.
    want = Counter(map(repr, expected_rows(case, expected)))
    have = Counter(map(repr, output_rows(case, output)))
    parts = []
    for what, rows in (("missing", want - have), ("too many", have - want)):
        if rows:
            some = ", ".join(list(rows.elements())[:_SHOWN])
            parts.append(f"; {sum(rows.values())} {what}: {some}")
    return "".join(parts)
