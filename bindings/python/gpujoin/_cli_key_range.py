"""Which pieces of a probe side need not be read: their keys lie outside those of the build side."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

# Kinds in which rows of the probe side that have no match change nothing, whichever side it is.
_PAIRS = ("inner", "left_semi", "right_semi")
# And where the probe side is the one that the name does not say.
_OF_ONE_SIDE = ("left", "right", "left_single", "right_single", "left_anti", "right_anti")


def reads_all(kind: str, build_side: str) -> bool:
    """Whether rows of the probe side without a match matter."""
    return kind not in _PAIRS and not (kind in _OF_ONE_SIDE and kind.startswith(build_side))


class KeyRange:
    """The least and the greatest key of the build side, where it has one key of a plain order."""

    def __init__(self, schema: pa.Schema, keys: Sequence[int]) -> None:
        self.type: pa.DataType | None = None
        self._key = keys[0] if len(keys) == 1 else -1
        if self._key >= 0 and _has_order(schema.field(self._key).type):
            self.type = schema.field(self._key).type
        self._least: Any = None
        self._greatest: Any = None
        self._lock = threading.Lock()

    def add(self, batch: pa.RecordBatch) -> None:
        if self.type is None:
            return
        found = pc.min_max(batch.column(self._key))
        least, greatest = found["min"].as_py(), found["max"].as_py()
        if least is None:
            return
        with self._lock:
            self._least = least if self._least is None else min(self._least, least)
            self._greatest = greatest if self._greatest is None else max(self._greatest, greatest)

    def may_meet(self, least: Any, greatest: Any) -> bool:
        """Whether a key of the build side may lie between these."""
        if self.type is None:
            return True
        if self._least is None:
            return False
        return bool(least <= self._greatest and self._least <= greatest)


def _has_order(kind: pa.DataType) -> bool:
    """Types whose values are ordered here as in the statistics of files. Floats are not: NaN."""
    is_number = pa.types.is_integer(kind) or pa.types.is_decimal128(kind)
    return is_number or pa.types.is_date32(kind)
