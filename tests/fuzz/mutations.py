"""Rules that are not the library's, each with one thing wrong: do cases show them?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from . import reference
from .case import IEEE_FLOAT, NULL_EQUAL, Case, Column
from .column_types import type_of
from .comparable import Rule, integers_of
from .compare import same_answer
from .pools import from_integers

Changed = "tuple[Column, Column, int] | None"
_MOST_SEEDS = 4000
_ENOUGH = 2  # cases in which a rule shows
_LARGEST = 6000  # rows of a case that is looked at


def _both(left: Column, right: Column, flags: int, change: Callable) -> Changed:
    return change(left), change(right), flags


def _null_equal_ignored(left: Column, right: Column, flags: int) -> Changed:
    return (left, right, flags & ~NULL_EQUAL) if flags & NULL_EQUAL else None


def _null_always_equal(left: Column, right: Column, flags: int) -> Changed:
    return left, right, flags | NULL_EQUAL


def _nan_flipped(left: Column, right: Column, flags: int) -> Changed:
    return (left, right, flags ^ IEEE_FLOAT) if left.type.family == "float" else None


def _floats_by_bits(left: Column, right: Column, flags: int) -> Changed:
    if left.type.family != "float":
        return None
    bits = type_of("L")
    return _both(
        *(left, right, flags),
        lambda c: replace(c, type=bits, values=c.values.astype("f8").view("u8")),
    )


def _words(length: int) -> Callable:
    def rule(left: Column, right: Column, flags: int) -> Changed:
        if left.type.family not in ("text", "binary"):
            return None
        return _both(left, right, flags, lambda c: _changed_words(c, lambda w: w[:length]))

    rule.__name__ = f"_first_{length}_bytes_alone"
    return rule


def _changed_words(column: Column, change: Callable[[bytes], bytes]) -> Column:
    values = np.empty(len(column.values), object)
    values[:] = [change(word) for word in column.values.tolist()]
    return replace(column, type=type_of("z"), values=values)


def _zeros_at_the_end_ignored(left: Column, right: Column, flags: int) -> Changed:
    if left.type.family not in ("text", "binary"):
        return None
    return _both(left, right, flags, lambda c: _changed_words(c, lambda w: w.rstrip(b"\0")))


def _until_the_first_zero(left: Column, right: Column, flags: int) -> Changed:
    if left.type.family not in ("text", "binary"):
        return None
    return _both(left, right, flags, lambda c: _changed_words(c, lambda w: w.split(b"\0")[0]))


def _scale_ignored(left: Column, right: Column, flags: int) -> Changed:
    if left.type.family != "number" or left.type.scale == right.type.scale:
        return None
    return _both(left, right, flags, lambda c: replace(c, type=replace(c.type, scale=0)))


def _unit_ignored(left: Column, right: Column, flags: int) -> Changed:
    if not left.type.has_unit or left.type.unit == right.type.unit:
        return None
    return _both(left, right, flags, lambda c: replace(c, type=replace(c.type, unit=1)))


def _remainder_ignored(left: Column, right: Column, flags: int) -> Changed:
    """The finer one is divided, and what remains is forgotten."""
    if not left.type.has_unit:
        return None
    types = left.type, right.type
    coarse = max(types, key=lambda t: (t.unit, -t.scale))

    def divided(column: Column) -> Column:
        scale = column.type.scale - coarse.scale
        by = 10**scale if column.type.family == "number" else coarse.unit // column.type.unit
        wide = type_of("d:76,0,256")
        values = [v // by for v in integers_of(column)]
        return replace(
            column, type=replace(wide, scale=coarse.scale), values=from_integers(wide, values)
        )

    return _both(left, right, flags, divided)


def _low_word_alone(left: Column, right: Column, flags: int) -> Changed:
    if left.type.family != "number" or left.type.scale != right.type.scale:
        return None
    low = replace(type_of("L"), scale=left.type.scale)

    def cut(column: Column) -> Column:
        values = [v % (1 << 64) for v in integers_of(column)]
        return replace(column, type=low, values=np.array(values, np.uint64))

    return _both(left, right, flags, cut)


def _index_in_the_place_of_value(left: Column, right: Column, flags: int) -> Changed:
    """As of two dictionaries, each in the order of its column."""

    def indices(column: Column) -> Column:
        known: dict = {}
        values = column.values
        if values.dtype.kind == "f":
            values = values.view(f"u{values.dtype.itemsize}")
        codes = [known.setdefault(v, len(known)) for v in values.tolist()]
        return replace(column, type=type_of("l"), values=np.array(codes, np.int64))

    return _both(left, right, flags, indices)


def _null_is_a_value(left: Column, right: Column, flags: int) -> Changed:
    """What lies under it."""
    return _both(left, right, flags, lambda c: replace(c, valid=None))


_RULES = (
    *(_null_equal_ignored, _null_always_equal, _nan_flipped, _floats_by_bits),
    *(_words(length) for length in (4, 8, 12, 1000)),
    *(_zeros_at_the_end_ignored, _until_the_first_zero),
    *(_scale_ignored, _unit_ignored, _remainder_ignored, _low_word_alone),
    *(_index_in_the_place_of_value, _null_is_a_value),
)


def _for_one_family(rule: Rule) -> Rule:
    """A NULL column compares with all, and has nothing to be changed."""

    def guarded(left: Column, right: Column, flags: int) -> Changed:
        return rule(left, right, flags) if left.type.family == right.type.family else None

    return guarded


def unseen_rules(draw: Callable[[int], Case]) -> list[str]:
    """The rules by which no case that is drawn has another answer, in words."""
    left = {rule: _ENOUGH for rule in _RULES}
    wrong_types = _ENOUGH  # as if zones, for one, were ignored
    seed = 0
    while (left or wrong_types > 0) and seed < _MOST_SEEDS:
        case = draw(seed)
        seed += 1
        if max(table.rows for table in case.tables.values()) > _LARGEST:
            continue
        if case.is_type_error:
            wrong_types -= 1
            continue
        expected = None
        for rule in list(left):
            guarded = _for_one_family(rule)
            if all(guarded(*pair) is None for pair in case.key_pairs()):
                continue
            expected = expected or reference.answer(case)
            if not same_answer(case, expected, reference.answer(case, guarded)):
                left[rule] -= 1
                if not left[rule]:
                    del left[rule]
    print(f"{len(_RULES) - len(left)} wrong rules show in the cases of {seed} seeds")
    problems = [f"no case shows the rule {rule.__name__[1:]}" for rule in left]
    return problems + ["no case has keys that do not compare"] * (wrong_types > 0)
