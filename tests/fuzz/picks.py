"""A table as some rows of a larger one: its rows among others that no join may read."""

from __future__ import annotations

import ctypes
import random

import numpy as np

from .case import Table
from .compare import row_hashes
from .library import Handle, abi, call
from .way import Picks

_NO_ROW = -1


class Picked:
    """The larger table, and how the rows of a table are picked from it.

    A row that comes several times in the table is one row of the larger one where row numbers pick
    it, so that numbers repeat. Row numbers of the larger table are then those of the first.
    """

    def __init__(self, table: Table, picks: Picks) -> None:
        self._rng = random.Random(picks.seed)
        self._others = picks.others
        self._same = np.arange(table.rows)  # of each row the first that is the same
        self._steps: list[tuple[str, np.ndarray]] = []  # from the table outwards
        rows = np.arange(table.rows)
        for form in reversed(picks.form.split(" of ")):
            rows = self._pick_by_numbers(table, rows) if form == "rows" else self._pick_bits(rows)
        self.table = table.take(rows)
        self._case_rows = rows
        self._is_picked = self._picked_rows(len(rows))
        self._kept: list = []

    def select(self, relation: Handle) -> Handle:
        """Selections of the relation, one of the other; what they are made of lives as long as
        this."""
        for form, what in reversed(self._steps):
            made = Handle("relation")
            selection = abi.Selection()
            if form == "bitmap":
                first = self._rng.choice((0, 0, 1, 7, 8, 61, 64))
                bits = np.concatenate([np.ones(first, bool), what, np.ones(5, bool)])
                data = np.packbits(bits, bitorder="little")
                selection.form, selection.first_bit = abi.SELECTION_BITMAP, first
            else:
                is_narrow = self._rng.random() < 0.5
                data = what.astype(np.uint32 if is_narrow else np.int64)
                selection.form, selection.count = abi.SELECTION_ROWS, len(what)
                selection.type = abi.TYPE_UINT32 if is_narrow else abi.TYPE_INT64
            selection.memory = self._rng.choice((0, abi.MEMORY_HOST))
            selection.data = data.ctypes.data
            self._kept.append(data)
            call("relation_select", relation.pointer, ctypes.byref(selection), made.out)
            relation.close()
            relation = made
        return relation

    def named(self, rows: np.ndarray) -> np.ndarray:
        """Rows of the table as the first ones that are the same; -1 stays."""
        return np.append(self._same, _NO_ROW)[rows]

    def rows_of(self, numbers: np.ndarray) -> np.ndarray:
        """Row numbers of the larger table as those; of rows that are not picked -2."""
        known = np.where(self._is_picked, self._same[self._case_rows], -2)
        inside = np.where(numbers < len(known), numbers, _NO_ROW)
        return np.where(numbers < len(known), np.append(known, _NO_ROW)[inside], -2)

    def _among_others(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The rows with others between them, and where they are."""
        count = len(rows)
        between = [int(self._rng.expovariate(1) * self._others + 0.5) for _ in range(count + 1)]
        places = np.cumsum(between[:count]).astype(np.int64) + np.arange(count)
        if count == 0:
            return rows, places
        made = rows[_numbers_below(self._rng, count, count + sum(between))]
        made[places] = rows
        return made, places

    def _pick_bits(self, rows: np.ndarray) -> np.ndarray:
        made, places = self._among_others(rows)
        bits = np.zeros(len(made), bool)
        bits[places] = True
        self._steps.append(("bitmap", bits))
        return made

    def _pick_by_numbers(self, table: Table, rows: np.ndarray) -> np.ndarray:
        hashes = row_hashes(table)[rows]
        _, first, which = np.unique(hashes, return_index=True, return_inverse=True)
        same = rows[first][which]
        if len(self._steps) == 0:
            self._same = same
        else:  # of rows that were picked already
            self._same = same_of(self._same, rows, same)
        order = np.array(self._rng.sample(range(len(first)), len(first)), np.int64)
        made, places = self._among_others(rows[first[order]])
        place_of = np.zeros(len(first), np.int64)
        place_of[order] = places
        self._steps.append(("rows", place_of[which]))
        return made

    def _picked_rows(self, count: int) -> np.ndarray:
        numbers = np.arange(count)
        for form, what in reversed(self._steps):
            numbers = numbers[what]
        picked = np.zeros(count, bool)
        picked[numbers] = True
        return picked


def _numbers_below(rng: random.Random, limit: int, count: int) -> np.ndarray:
    """What as many calls of randrange(limit) draw, and it leaves rng as they do: seeds keep their
    meaning. expected: count is not 0."""
    unused_bits = 32 - limit.bit_length()
    found: list[np.ndarray] = []
    while count:
        drawn = rng.getrandbits(32 * count).to_bytes(4 * count, "little")
        numbers = np.frombuffer(drawn, "<u4") >> unused_bits
        found.append(numbers[numbers < limit])
        count -= len(found[-1])
    return np.concatenate(found)


def same_of(same: np.ndarray, rows: np.ndarray, firsts: np.ndarray) -> np.ndarray:
    """`same`, where of `rows`, all rows among others, those are the same as `firsts`."""
    made = same.copy()
    made[rows] = firsts
    return made[made]
