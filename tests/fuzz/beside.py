"""What joins are asked to have beside their keys: what of it goes together; ways that have it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from . import promises
from .asof import is_asof_kind
from .batches import can_spill, draw_batches
from .bounds import Bounds, draw_limits, draw_order
from .case import Case
from .kinds import Kind
from .measure import stands_around
from .way import Way, draw_picks, draw_promises

# Fields of gpujoin_plan_options that name none.
_NO_TECHNIQUES = ("build_side", "device", "page_pairs", "probe_chunk_rows")
_NOT_OF_ASOF = ("aggregates", "condition", "without_keys")
_OF_BATCHES = ("batches", "host_limit")
_FEW_BATCHES_SHARE = 0.9  # of joins that spill: laying out many is half of a seed's time
_ROWS_OF_FEW_BATCHES = (5000, 1 << 14, 1 << 20)
_NOT_OF_BATCHES = ("count", "limit", "order", "selection")


def together(kind: Kind, names: Sequence[str]) -> list[str]:
    """Those of measure.STANDS that a join of the kind can have at once; of two that exclude each
    other the first."""
    chosen: list[str] = []
    for name in names:
        if _is_of(kind, name) and not any(_exclude(name, other) for other in chosen):
            chosen.append(name)
    return chosen


def _is_of(kind: Kind, name: str) -> bool:
    if name == "asof":
        return is_asof_kind(kind)
    if name == "aggregates":
        return kind.rule != "mark"
    return kind.rule != "cross" or name not in ("condition", "without_keys")


def _exclude(one: str, other: str) -> bool:
    return ("asof" in (one, other) and (one in _NOT_OF_ASOF or other in _NOT_OF_ASOF)) or any(
        mine in _OF_BATCHES and its in _NOT_OF_BATCHES for mine, its in ((one, other), (other, one))
    )


def with_beside(rng: random.Random, case: Case, way: Way, names: Sequence[str]) -> Way:
    """The way, and what it has not of those names that say something of ways."""
    has = stands_around(case, way)
    if "without_keys" in names and way.names_techniques and rng.random() < 0.9:
        way = replace(way, options=_without_techniques(way.options))
    for name, add in _ADDED.items():
        if name in names and name not in has:
            way = add(rng, case, way)
    return way


def _without_techniques(options: dict[str, int]) -> dict[str, int]:
    """A join without keys has none that can be named: it would be refused."""
    return {name: options[name] for name in _NO_TECHNIQUES if name in options}


def _with_count(rng: random.Random, case: Case, way: Way) -> Way:
    return replace(way, planned=True, bounds=replace(way.bounds, is_counted=True))


def _with_limit(rng: random.Random, case: Case, way: Way) -> Way:
    is_counted = "count" in stands_around(case, way)
    return replace(way, bounds=replace(way.bounds, **draw_limits(rng, is_counted)))


def _with_order(rng: random.Random, case: Case, way: Way) -> Way:
    return replace(way, bounds=replace(way.bounds, order=draw_order(rng)))


def _with_promise(rng: random.Random, case: Case, way: Way) -> Way:
    if case.is_type_error:
        return way
    drawn = draw_promises(rng, case)
    if way.batches is not None:
        drawn &= promises.OF_BATCHES
    return replace(way, promises=drawn or promises.ROWS)


def _with_selection(rng: random.Random, case: Case, way: Way) -> Way:
    is_one_table = case.tables["left"] is case.tables["right"]  # which is encoded as the left one
    side = "left" if is_one_table else rng.choice(("left", "right"))
    encoding = replace(way.encodings[side], picks=draw_picks(rng, case.tables[side].rows))
    return replace(way, encodings={**way.encodings, side: encoding})


def with_batches(rng: random.Random, case: Case, way: Way) -> Way:
    """The way by a build and probes, where an operation does such a join."""
    batches = draw_batches(rng, case)
    if batches is None:
        return way
    encodings = {
        side: replace(encoding, picks=None, wraps=False) for side, encoding in way.encodings.items()
    }
    return replace(
        way,
        options={},
        encodings=encodings,
        reading=replace(way.reading, uint32=False, numbers=True),
        limit_bytes=0,
        planned=False,
        bounds=Bounds(),
        promises=way.promises & promises.OF_BATCHES,
        batches=batches,
    )


def _with_host_limit(rng: random.Random, case: Case, way: Way) -> Way:
    """By a build and probes, within so little memory that rows go to files."""
    if way.batches is None:
        way = with_batches(rng, case, way)
    if way.batches is None or not can_spill(case):
        return way
    limit = rng.choice((1 << 20, 1 << 20, 1 << 20, 1 << 21))
    batches = replace(way.batches, host_bytes=limit)
    if rng.random() < _FEW_BATCHES_SHARE:
        batches = replace(
            batches,
            build_rows=rng.choice(_ROWS_OF_FEW_BATCHES),
            probe_rows=rng.choice(_ROWS_OF_FEW_BATCHES),
        )
    return replace(way, batches=batches)


_ADDED = {  # limits of bytes are of rows that are counted
    "batches": with_batches,
    "count": _with_count,
    "host_limit": _with_host_limit,
    "limit": _with_limit,
    "order": _with_order,
    "promise": _with_promise,
    "selection": _with_selection,
}
