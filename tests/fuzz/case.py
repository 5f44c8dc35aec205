"""A join to be tried: two tables, a spec, and nothing about how it is to be executed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any
from typing import TYPE_CHECKING

import numpy as np

from .column_types import ColumnType, do_compare
from .kinds import Kind

if TYPE_CHECKING:
    from .aggregates import Grouped
    from .condition import Node


@dataclass
class Column:
    """valid: True where there is a value; None = everywhere. What lies under a NULL is of use to
    the fuzzer: often the value of another row, which must not match."""

    name: str
    type: ColumnType
    values: np.ndarray
    valid: np.ndarray | None = None

    def take(self, rows: np.ndarray) -> Column:
        return replace(
            self,
            values=self.values[rows],
            valid=None if self.valid is None else self.valid[rows],
        )

    def python_values(self) -> list:
        """As they lie in memory: None for NULL, numbers, bytes for all that is neither."""
        values = self.values.tolist()
        if self.valid is None:
            return values
        return [v if ok else None for v, ok in zip(values, self.valid.tolist())]


@dataclass
class Table:
    columns: list[Column]
    rows: int

    def take(self, rows: np.ndarray) -> Table:
        return Table([column.take(rows) for column in self.columns], len(rows))

    @property
    def is_plain(self) -> bool:
        return all(column.type.is_plain for column in self.columns)


NULL_EQUAL, IEEE_FLOAT = 1, 2  # GPUJOIN_KEY_*


@dataclass
class Case:
    """keys     positions of key columns, as many on either side
    flags    GPUJOIN_KEY_* of each pair of keys, or-ed
    outputs  positions of output columns
    columns  whether columns are asked for, be they none
    pairs    whether row numbers are asked for
    residual what rows with equal keys have to fulfil besides
    asof     the ordered columns of an ASOF join, and how they are compared
    grouped  aggregates in the place of rows
    """

    kind: Kind
    tables: dict[str, Table]
    keys: dict[str, list[int]]
    outputs: dict[str, list[int]]
    columns: bool
    pairs: bool
    flags: list[int] = field(default_factory=list)
    residual: Node | None = None
    asof: Any = None  # of asof.py
    grouped: Grouped | None = None
    # Of compare.py, promises.py and reference.py, made when needed.
    tokens: dict = field(default_factory=dict, repr=False)

    def changed(self, **fields) -> Case:
        """A copy with other fields."""
        return replace(self, tokens={}, **fields)

    def key_columns(self, side: str) -> list[Column]:
        return [self.tables[side].columns[i] for i in self.keys[side]]

    def key_pairs(self) -> list[tuple[Column, Column, int]]:
        """(left column, right column, flags) of each key."""
        columns = [self.key_columns(side) for side in ("left", "right")]
        return list(zip(*columns, self.flags))

    @property
    def is_type_error(self) -> bool:
        """Whether a key's two types do not compare, or those in the condition do not go together,
        so that there is no answer."""
        from .evaluate import is_typed  # which knows cases

        if self.residual is not None and not is_typed(self.residual, self.tables):
            return True
        return not all(do_compare(one.type, other.type) for one, other, _ in self.key_pairs())

    def output_columns(self) -> list[tuple[str, Column]]:
        """(side, column), in the order of the result."""
        return [
            (side, self.tables[side].columns[i])
            for side in ("left", "right")
            for i in self.outputs[side]
        ]


@dataclass
class Answer:
    """What comes out, as row numbers: of a side that is in the result, one for each output row,
    and -1 where there is no row of it.

    mark     1 true, 0 false, -1 NULL; None but of mark joins
    several  a single join's row has several matches: there is no answer but this
    no_type  keys do not compare: likewise
    no_value the condition of a pair of rows with equal keys has no value: likewise
    is_open  that of a pair whose keys compare as unknown has none: anything may come of it
    """

    rows: dict[str, np.ndarray]
    mark: np.ndarray | None = None
    several: bool = False
    no_type: bool = False
    no_value: bool = False
    is_open: bool = False

    @property
    def is_error(self) -> bool:
        return self.several or self.no_type or self.no_value or self.is_open

    @property
    def count(self) -> int:
        return len(next(iter(self.rows.values())))


def error_answer(case: Case, **which: bool) -> Answer:
    return Answer({side: np.zeros(0, np.int64) for side in case.kind.sides}, **which)
