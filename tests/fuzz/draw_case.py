"""Draws a case from a seed: schemas, data, kind and output."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .aggregates import draw_grouped
from .asof import SHARE as ASOF_SHARE
from .asof import draw_asof
from .beside import together
from .case import IEEE_FLOAT, NULL_EQUAL, Case, Column, Table
from .column_types import ColumnType, do_compare
from .comparable import pair_count
from .condition import Node
from .draw_condition import draw_condition, sampled_pairs
from .draw_payload import draw_payload, draw_validity
from .draw_rows import (
    MANY_PAIRS,
    MOST_PAIRS,
    SIDES,
    draw_kept_side,
    draw_row_numbers,
    kept_shares,
)
from .draw_types import (
    draw_key_types,
    draw_other_type,
    draw_simple_key_types,
    draw_simple_types,
    draw_type,
)
from .kinds import KINDS, Kind
from .pools import draw_pool
from .reference import matching_rows

MOST_KEYS = 16
_LARGE_ROWS = 20_000
# (weight, least, most)
_KEY_COUNTS = ((45, 1, 1), (25, 2, 2), (12, 3, 3), (8, 4, 5), (6, 6, 10), (4, 11, MOST_KEYS))
_MOST_OUTPUTS = 40
# One key and payloads of fixed width: few cases of all types are such, and most techniques are
# for them; for pairs with columns of both sides more than for rows of one.
_SIMPLE_SHARES = {"cross": 0, "inner": 0.6, "outer": 0.65, "semi": 0.5, "anti": 0.5}
_SIMPLE_SHARE = 0.3  # of other rules
_IN_ORDER_SHARE = 0.25  # of joins with one key
_MOST_TESTED_PAIRS = 40_000
_MOST_UNKNOWN_PAIRS = 300_000


class Shares(NamedTuple):
    """Of cases that have this beside their keys, or in their place."""

    condition: float = 0.3
    without_keys: float = 0.15  # of those
    asof: float = ASOF_SHARE  # of those without a condition
    aggregates: float = 0.12


_SHARES = {
    "aggregates": {"asof": 0, "aggregates": 1},
    "asof": {"condition": 0, "asof": 1},
    "condition": {"condition": 1},
    "without_keys": {"condition": 1, "without_keys": 1},
}


def _shares_for(kind: Kind, beside: Sequence[str]) -> Shares:
    shares = Shares()
    for name in together(kind, beside):
        shares = shares._replace(**_SHARES.get(name, {}))
    return shares


def draw_case(seed: int, kinds: Sequence[str], beside: Sequence[str] = ()) -> Case:
    """The same case for the same seed and the rest, whatever engines and devices there are.

    beside  of measure.STANDS, what the case should have of it
    """
    rng = random.Random(seed)
    data = np.random.default_rng(seed)
    kind = _draw_kind(rng, kinds)
    shares = _shares_for(kind, beside)
    has_residual = rng.random() < shares.condition and kind.rule != "cross"
    has_keys = kind.rule != "cross" and not (has_residual and rng.random() < shares.without_keys)
    is_simple = rng.random() < _SIMPLE_SHARES.get(kind.rule, _SIMPLE_SHARE)
    is_simple = is_simple and has_keys
    spills = "host_limit" in together(kind, beside)
    numbers = draw_row_numbers(rng, data, kind, is_simple, has_keys, spills)
    is_large = max(len(n) for n in numbers.values()) > _LARGE_ROWS
    plain = {side: rng.random() < 0.4 for side in SIDES}
    key_count = _draw_key_count(rng, is_large) if has_keys else 0
    if is_simple:
        key_count = 1
    keys = _key_columns(rng, data, key_count, plain, numbers, is_simple)
    tables, positions = {}, {}
    for side in SIDES:
        rows = len(numbers[side])
        count = rng.choice((0, 1, 1, 2, 2, 3) if is_simple else (0, 1, 1, 2, 3, 5))
        if not count and (has_residual or not key_count):  # a relation has columns
            count = 1
        if is_simple:
            types = draw_simple_types(rng, count)
        else:
            types = [draw_type(rng, plain[side]) for _ in range(count)]
        null_share = 0.2 if is_simple else 0.5
        columns = keys[side] + [draw_payload(rng, data, each, rows, null_share) for each in types]
        order = list(range(len(columns)))
        rng.shuffle(order)
        tables[side] = _with_repeats(rng, Table([columns[i] for i in order], rows))
        for i, column in enumerate(tables[side].columns):
            column.name = f"{side[0]}{i}"
        positions[side] = [order.index(i) for i in range(key_count)]
    if key_count == 1 and rng.random() < _IN_ORDER_SHARE:
        _lie_in_order(rng, tables, positions)
    case = Case(kind, tables, positions, {"left": [], "right": []}, columns=False, pairs=False)
    if key_count and rng.random() < 0.04:
        _join_with_itself(rng, case)
    if 0 < key_count < MOST_KEYS and rng.random() < 0.05:
        _repeat_key(rng, case)
    case.flags = _draw_flags(rng, case, is_simple)
    many = is_large or is_simple or rng.random() < 0.02
    case = _with_fewer_pairs(case, MANY_PAIRS if many else MOST_PAIRS, draw_kept_side(rng))
    if has_residual:
        case.residual = _draw_residual(rng, case)
    if key_count and rng.random() < 0.02:
        _make_types_wrong(rng, data, case)
    elif key_count and rng.random() < shares.asof:
        draw_asof(rng, case)
    _draw_output(rng, case)
    if rng.random() < shares.aggregates:
        case.grouped = draw_grouped(rng, case)
    return case


def _draw_residual(rng: random.Random, case: Case) -> Node | None:
    """None: there are too many pairs to be looked at in Python."""
    rows = [case.tables[side].rows for side in SIDES]
    has_nulls = any(c.valid is not None for side in SIDES for c in case.key_columns(side))
    is_in = case.kind.rule in ("mark", "not_in")
    if is_in and has_nulls and rows[0] * rows[1] > _MOST_UNKNOWN_PAIRS:
        return None
    if case.keys["left"] and pair_count(case) > _MOST_TESTED_PAIRS:
        return None
    return draw_condition(rng, case.tables, sampled_pairs(rng, case, matching_rows(case)))


def _draw_kind(rng: random.Random, kinds: Sequence[str]) -> Kind:
    """Outer joins more often: what becomes of rows without a match is in the matches of each
    technique."""
    known = [KINDS[name] for name in kinds]
    return rng.choices(known, [2 if kind.rule == "outer" else 1 for kind in known])[0]


def _draw_key_count(rng: random.Random, is_large: bool) -> int:
    _, least, most = rng.choices(_KEY_COUNTS, [weight for weight, _, _ in _KEY_COUNTS])[0]
    return min(rng.randint(least, most), 3 if is_large else MOST_KEYS)


def _draw_flags(rng: random.Random, case: Case, is_simple: bool) -> list[int]:
    """Of many NULLs that are equal there are soon too many pairs."""
    null_equal = rng.choice((0, 0, 0, 0, 0.5) if is_simple else (0, 0, 0, 0.5, 0.8))
    flags = []
    for left, _, _ in zip(case.key_columns("left"), case.key_columns("right"), range(MOST_KEYS)):
        ieee_share = 0.35 if left.type.family == "float" else 0.03
        flags.append(
            NULL_EQUAL * (rng.random() < null_equal) | IEEE_FLOAT * (rng.random() < ieee_share)
        )
    return flags


def _with_fewer_pairs(case: Case, most: int, kept: str | None) -> Case:
    """Rows are taken away until no more of them match."""
    while case.keys["left"] and (pairs := pair_count(case)) > most:
        left, right = (case.tables[side] for side in SIDES)
        shares = kept_shares(most / pairs, None if left is right else kept)
        fewer = {
            side: t.take(np.arange(int(t.rows * shares[side]))) for side, t in case.tables.items()
        }
        if left is right:
            fewer["right"] = fewer["left"]
        case = case.changed(tables=fewer)
    return case


def _with_repeats(rng: random.Random, table: Table) -> Table:
    """Some rows as they are elsewhere in the table, which a selection can take for one."""
    if table.rows == 0 or rng.random() < 0.9:
        return table
    share = rng.choice((0.02, 0.3, 0.7))
    rows = [rng.randrange(table.rows) if rng.random() < share else i for i in range(table.rows)]
    return table.take(np.array(rows))


def _lie_in_order(
    rng: random.Random, tables: dict[str, Table], positions: dict[str, list[int]]
) -> None:
    """The rows of tables in the order of their keys, as tables often lie; at times but for one."""
    for side, table in tables.items():
        keys = table.columns[positions[side][0]].values
        if keys.dtype.kind not in "iuf":
            continue
        order = np.argsort(keys, kind="stable")
        if len(order) > 1 and rng.random() < 0.1:
            row = rng.randrange(1, len(order))
            order[[row - 1, row]] = order[[row, row - 1]]
        tables[side] = table.take(order)


def _join_with_itself(rng: random.Random, case: Case) -> None:
    """One table on both sides; at times other columns of it are the keys of the right side."""
    table = case.tables["right"] = case.tables["left"]
    case.keys["right"] = list(case.keys["left"])
    if rng.random() < 0.5:
        types = [column.type for column in case.key_columns("left")]
        case.keys["right"] = [_comparable(rng, table, column_type) for column_type in types]


def _comparable(rng: random.Random, table: Table, column_type: ColumnType) -> int:
    """A column that compares with a type. expected: there is one."""
    return rng.choice([i for i, c in enumerate(table.columns) if do_compare(c.type, column_type)])


def _repeat_key(rng: random.Random, case: Case) -> None:
    """A key column once more; with another column of the other side where one compares."""
    left = rng.choice(case.keys["left"])
    column_type = case.tables["left"].columns[left].type
    case.keys["right"].append(_comparable(rng, case.tables["right"], column_type))
    case.keys["left"].append(left)


def _make_types_wrong(rng: random.Random, data: np.random.Generator, case: Case) -> None:
    """Another type for one of the keys of the right side, where there is one: NULLs compare with
    all."""
    n = rng.randrange(len(case.flags))
    left = case.key_columns("left")[n]
    if left.type.family == "null":
        return
    table = case.tables["right"]
    other = draw_payload(rng, data, draw_other_type(rng, left.type, rng.random() < 0.5), table.rows)
    other.name = f"r{len(table.columns)}"
    case.tables = {**case.tables, "right": Table([*table.columns, other], table.rows)}
    case.keys["right"] = list(case.keys["right"])
    case.keys["right"][n] = len(table.columns)
    case.tokens.clear()


def _draw_output(rng: random.Random, case: Case) -> None:
    what = rng.choice(("columns", "columns", "columns", "pairs", "pairs", "both", "both", "rows"))
    case.pairs = what in ("pairs", "both")
    case.columns = what in ("columns", "both", "rows")
    if what == "pairs" or what == "rows":
        return
    for side in case.kind.sides:
        positions = range(len(case.tables[side].columns))
        style = rng.choice(("all", "all", "some", "some", "repeated", "none"))
        if style == "all":
            case.outputs[side] = list(positions)
        elif style == "some":
            case.outputs[side] = rng.sample(positions, rng.randint(1, len(positions)))
        elif style == "repeated":
            most = _MOST_OUTPUTS // 2 if rng.random() < 0.1 else 2 * len(positions)
            case.outputs[side] = rng.choices(positions, k=rng.randint(1, most))


def _key_columns(
    rng: random.Random,
    data: np.random.Generator,
    count: int,
    plain: dict[str, bool],
    numbers: dict[str, np.ndarray],
    is_simple: bool,
) -> dict[str, list[Column]]:
    """Key columns in which equal numbers are equal keys where both types have the value.

    Keys of several columns are equal in part far more often than they are in all columns: the
    digits of the number in a mixed base, one of each column.
    """
    distinct = 1 + max((int(n.max()) for n in numbers.values() if len(n)), default=0)
    columns: dict[str, list[Column]] = {side: [] for side in SIDES}
    rest = numbers
    nulls = rng.choices(("few", "many"), (85, 15))[0]
    # Of one side alone: of mark joins the two sides' NULLs mean different things.
    null_sides = rng.choice(((), (), ("left",), ("right",), SIDES, () if is_simple else SIDES))
    null_share = min(1, 2.5 / max(1, count))  # of the columns: most rows shall have no NULL
    for left in range(count, 0, -1):
        types = draw_simple_key_types(rng) if is_simple else draw_key_types(rng, plain, count == 1)
        pools = draw_pool(rng, *types, _base(rng, distinct, left))
        base = len(pools[0])  # fewer where a type has no more
        for side, key_type, pool in zip(SIDES, types, pools):
            values = pool[rest[side] % base]
            valid = None
            if key_type.family == "null":
                valid = np.zeros(len(values), bool)
            elif side in null_sides and rng.random() < null_share:
                valid = draw_validity(rng, data, len(values), nulls)
            columns[side].append(Column("", key_type, values, valid))
        rest = {side: n // base for side, n in rest.items()}
        distinct = -(-distinct // base)
    return columns


def _base(rng: random.Random, distinct: int, left: int) -> int:
    """How many values a column has, so that `left` columns have enough for all keys."""
    if left == 1:
        return distinct
    need = max(1, round(distinct ** (1 / left)))
    while need**left < distinct:
        need += 1
    return rng.choice((1, 2, need, need, 2 * need))
