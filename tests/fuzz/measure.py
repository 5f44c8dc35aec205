"""How much a case asks of a join: whether its answer is nothing, everything, or something between.

A join that finds no match, and one in which each row has one, come out right of much wrong code.
"""

from __future__ import annotations

import numpy as np

from .case import Answer, Case
from .way import Way

EMPTY, EVERYTHING, BETWEEN, SEVERAL = "empty", "everything", "between", "several_matches"
# What a join may have beside its keys, or in their place.
STANDS = (
    *("aggregates", "asof", "batches", "condition", "count", "host_limit", "limit", "order"),
    *("promise", "selection", "without_keys", "decided"),
)
SPILLED = "spilled"  # of those with batches, some
NO_TYPE, NO_VALUE = "wrong_types", "no_value"


def measure(case: Case, answer: Answer) -> str:
    """empty       no row comes out, or none of the rows that do has a match
    everything  all rows of the sides that the kind is about have a match (anti, NOT IN: none)
    """
    kind = case.kind
    if answer.is_error:
        return SEVERAL if answer.several else NO_TYPE if answer.no_type else NO_VALUE
    if answer.count == 0:
        return EMPTY
    if kind.rule == "cross" and case.residual is None:
        return EVERYTHING
    if kind.rule == "mark":
        first = answer.mark[0]
        if (answer.mark != first).any():
            return BETWEEN
        return EVERYTHING if first == 1 else EMPTY
    if len(kind.sides) == 1:
        return EVERYTHING if answer.count == case.tables[kind.side].rows else BETWEEN
    matched = (answer.rows["left"] >= 0) & (answer.rows["right"] >= 0)
    if not matched.any():
        return EMPTY
    if not case.keys["left"] and case.residual is not None:
        pairs = case.tables["left"].rows * case.tables["right"].rows
        return EVERYTHING if matched.sum() == pairs else BETWEEN
    about = ("left", "right") if kind.side == "both" else (kind.side,)
    for side in about:
        if len(np.unique(answer.rows[side][matched])) < case.tables[side].rows:
            return BETWEEN
    return EVERYTHING


def stands_around(case: Case, way: Way) -> list[str]:
    """Of STANDS."""
    bounds = way.bounds
    is_counted = way.planned and bounds.is_counted  # without a plan nothing is asked
    has = (
        *(case.grouped is not None, case.asof is not None, way.batches is not None),
        case.residual is not None,
        is_counted,
        way.batches is not None and way.batches.host_bytes != 0,
        bounds.row_limit is not None or (is_counted and bounds.byte_limit is not None),
        *(bounds.order != 0, way.promises != 0),
        any(encoding.picks is not None for encoding in way.encodings.values()),
        not case.keys["left"] and case.residual is not None,
        way.batches is not None and way.batches.decided,
    )
    return [name for name, is_there in zip(STANDS, has) if is_there]
