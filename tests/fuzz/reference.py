"""What a join is, in plain Python: the three-valued logic of SQL, spelled out.

Keys are tuples of values, None for a NULL that is unknown; comparable.py says what is equal. Joins
of the right side are those of the left side with both sides exchanged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from .asof import matches_of
from .case import Answer, Case, error_answer
from .comparable import Rule, keys_of
from .evaluate import NO_VALUE, Evaluator
from .kinds import KINDS, Kind

Key = tuple
# The condition of our row and theirs: True, False, None or NO_VALUE.
Test = Callable[[int, int], object]
NO_ROW = -1
TRUE, FALSE, UNKNOWN = 1, 0, -1


class _NoAnswer(Exception):
    """flags  of the answer"""

    def __init__(self, **flags: bool) -> None:
        super().__init__(flags)
        self.flags = flags


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
    names = ("right", "left") if case.kind.side == "right" else ("left", "right")
    matches = None if case.asof is None else _next_rows(case, names[0])
    kind = case.kind
    if matches is not None and kind.name == "left_single":  # a left row has one match at most
        kind = KINDS["left"]
    try:
        rows = _answer(kind, keys[names[0]], keys[names[1]], _test(case, names), matches)
    except _NoAnswer as found:
        return error_answer(case, **found.flags)
    columns = [np.array(column, np.int64) for column in rows]
    if case.kind.has_mark:
        return Answer({names[0]: columns[0]}, mark=columns[1])
    return Answer({side: columns[names.index(side)] for side in case.kind.sides})


def _test(case: Case, names: tuple[str, str]) -> Test | None:
    if case.residual is None:
        return None
    found = Evaluator(case.residual, case.tables).answer
    return found if names[0] == "left" else lambda ours, theirs: found(theirs, ours)


def _answer(
    kind: Kind,
    ours: list[Key],
    theirs: list[Key],
    test: Test | None,
    matches: list[list[int]] | None = None,
) -> tuple[list[int], list[int]]:
    """Of each row our row number, and theirs or the mark. Errors: _NoAnswer.

    matches  None: of rows whose keys are equal
    """
    if kind.rule in ("mark", "not_in"):
        made = marks(ours, theirs) if test is None else _tested_marks(ours, theirs, test)
        if kind.rule == "mark":
            return [*range(len(ours))], made
        return _alone(i for i, mark in enumerate(made) if mark == FALSE)
    if matches is None:
        matches = _matches(ours, theirs)
    if test is not None:
        matches = _tested(matches, test, kind.rule == "single")
    if kind.rule == "semi":
        return _alone(i for i, found in enumerate(matches) if found)
    if kind.rule == "anti":
        return _alone(i for i, found in enumerate(matches) if not found)
    if kind.rule == "single" and any(len(found) > 1 for found in matches):
        raise _NoAnswer(several=True)
    our_rows = [i for i, found in enumerate(matches) for _ in found]
    their_rows = [j for found in matches for j in found]
    if kind.rule in ("inner", "cross"):
        return our_rows, their_rows
    without, none = _alone(i for i, found in enumerate(matches) if not found)
    if kind.side == "both":
        seen = set(their_rows)
        others = [j for j in range(len(theirs)) if j not in seen]
        return our_rows + without + [NO_ROW] * len(others), their_rows + none + others
    return our_rows + without, their_rows + none


def _next_rows(case: Case, side: str) -> list[list[int]]:
    """For each row of a side the rows that an ASOF join matches it with."""
    rows: list[list[int]] = [[] for _ in range(case.tables[side].rows)]
    for left, right in matches_of(case).items():
        rows[left if side == "left" else right].append(right if side == "left" else left)
    return rows


def matching_rows(case: Case) -> list[list[int]]:
    """For each left row the right rows whose keys are equal."""
    keys = keys_of(case)
    return _matches(keys["left"], keys["right"])


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


def _tested(matches: list[list[int]], test: Test, is_single: bool) -> list[list[int]]:
    """Those of which the condition is true. Errors: _NoAnswer."""
    answers = [[test(i, j) for j in found] for i, found in enumerate(matches)]
    several = is_single and any(of_row.count(True) > 1 for of_row in answers)
    if any(answer is NO_VALUE for of_row in answers for answer in of_row):
        raise _NoAnswer(no_value=True, several=several)
    return [
        [j for j, answer in zip(found, of_row) if answer is True]
        for found, of_row in zip(matches, answers)
    ]


def _tested_marks(ours: list[Key], theirs: list[Key], test: Test) -> list[int]:
    """Whether keys equal AND condition, of some row of theirs. Errors: _NoAnswer."""
    matches = _matches(ours, theirs)
    has_nulls = any(None in key for keys in (ours, theirs) for key in keys)
    made, is_open = [], False
    for i, key in enumerate(ours):
        answers = [test(i, j) for j in matches[i]]
        if NO_VALUE in answers:
            raise _NoAnswer(no_value=True)
        if has_nulls:
            unknown = [j for j, other in enumerate(theirs) if equal(key, other) is None]
            left_open = [test(i, j) for j in unknown]
            is_open |= NO_VALUE in left_open
            answers += [None for answer in left_open if answer is not False]
        made.append(TRUE if True in answers else UNKNOWN if None in answers else FALSE)
    if is_open:
        raise _NoAnswer(is_open=True)
    return made


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
