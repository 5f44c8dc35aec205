"""What a join is, in plain Python: the three-valued logic of SQL, spelled out.

Keys are tuples of values, None for a NULL that is unknown; comparable.py says what is equal. Joins
of the right side are those of the left side with both sides exchanged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from .case import Answer, Case, error_answer
from .comparable import Rule, keys_of
from .kinds import Kind

Key = tuple
NO_ROW = -1
TRUE, FALSE, UNKNOWN = 1, 0, -1


def equal(one: Key, other: Key) -> bool | None:
    """one = other in SQL: a = c AND b = d, where a comparison with NULL is unknown (None)."""
    columns = [None if a is None or b is None else a == b for a, b in zip(one, other)]
    if False in columns:
        return False
    return None if None in columns else True


def is_in(key: Key, others: Sequence[Key]) -> bool | None:
    """key IN (others): key = others[0] OR key = others[1] ..."""
    comparisons = [equal(key, other) for other in others]
    if True in comparisons:
        return True
    return None if None in comparisons else False


def answer(case: Case, rule: Rule | None = None) -> Answer:
    """The rows that come out, as row numbers.

    rule  another one than the library's, by which keys are equal
    """
    if case.is_type_error and rule is None:
        return error_answer(case, no_type=True)
    keys = keys_of(case, rule)
    if case.kind.side == "right":
        rows = _answer(case.kind, keys["right"], keys["left"])
        names = ("right", "left")
    else:
        rows = _answer(case.kind, keys["left"], keys["right"])
        names = ("left", "right")
    if rows is None:
        return error_answer(case, several=True)
    columns = [np.array(column, np.int64) for column in rows]
    if case.kind.has_mark:
        return Answer({names[0]: columns[0]}, mark=columns[1])
    return Answer({side: columns[names.index(side)] for side in case.kind.sides})


def _answer(
    kind: Kind, ours: list[Key], theirs: list[Key]
) -> tuple[list[int], list[int]] | None:
    """Of each row our row number, and theirs or the mark; None when a row has several matches."""
    if kind.rule == "cross":
        every = range(len(theirs))
        return [i for i in range(len(ours)) for _ in every], [*every] * len(ours)
    if kind.rule == "mark":
        return [*range(len(ours))], marks(ours, theirs)
    if kind.rule == "not_in":
        return _alone(i for i, mark in enumerate(marks(ours, theirs)) if mark == FALSE)
    matches = _matches(ours, theirs)
    if kind.rule == "semi":
        return _alone(i for i, found in enumerate(matches) if found)
    if kind.rule == "anti":
        return _alone(i for i, found in enumerate(matches) if not found)
    if kind.rule == "single" and any(len(found) > 1 for found in matches):
        return None
    our_rows = [i for i, found in enumerate(matches) for _ in found]
    their_rows = [j for found in matches for j in found]
    if kind.rule == "inner":
        return our_rows, their_rows
    without, none = _alone(i for i, found in enumerate(matches) if not found)
    if kind.side == "both":
        seen = set(their_rows)
        others = [j for j in range(len(theirs)) if j not in seen]
        return our_rows + without + [NO_ROW] * len(others), their_rows + none + others
    return our_rows + without, their_rows + none


def _alone(rows: Iterable[int]) -> tuple[list[int], list[int]]:
    """Our rows, without one of theirs."""
    ours = list(rows)
    return ours, [NO_ROW] * len(ours)


def _matches(ours: list[Key], theirs: list[Key]) -> list[list[int]]:
    """For each of our rows those of theirs whose key is equal: none for a key with a NULL."""
    rows_of = defaultdict(list)
    for j, key in enumerate(theirs):
        if None not in key:
            rows_of[key].append(j)
    return [rows_of.get(key, []) for key in ours]  # a key with a NULL was never put there


def marks(ours: list[Key], theirs: list[Key]) -> list[int]:
    """is_in of each of our keys, in less time than a comparison of all with all takes.

    Keys are grouped by where they have NULLs. Keys of two groups compare as unknown when they are
    equal in the columns where both have a value, unless those are all columns.
    """
    groups = defaultdict(set)
    for key in theirs:
        groups[_nulls(key)].add(key)
    cut = {}  # (our NULLs, theirs): their keys without the columns where either has a NULL

    def mark(key: Key) -> int:
        nulls = _nulls(key)
        if not any(nulls) and key in groups.get(nulls, ()):
            return TRUE
        for other_nulls, keys in groups.items():
            both = tuple(a or b for a, b in zip(nulls, other_nulls))
            if not any(both):
                continue
            if (nulls, other_nulls) not in cut:
                cut[nulls, other_nulls] = {_without(k, both) for k in keys}
            if _without(key, both) in cut[nulls, other_nulls]:
                return UNKNOWN
        return FALSE

    return [mark(key) for key in ours]


def _nulls(key: Key) -> tuple[bool, ...]:
    return tuple(value is None for value in key)


def _without(key: Key, columns: tuple[bool, ...]) -> Key:
    return tuple(value for value, out in zip(key, columns) if not out)
