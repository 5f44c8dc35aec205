"""Functions that decide the pairs of an operation, while the library joins."""

from __future__ import annotations

import ctypes
import itertools
import weakref
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as compute

from . import _abi
from ._columns import OutputColumn
from ._condition import Decide, checked_answers

_FAILED = 17  # GPUJOIN_ERROR_EVALUATION


class Decider:
    """What an operation asks of where=, a function, with columns of both sides.

    error  what the function raised, of the last call that failed
    """

    def __init__(self, decide: Decide, pairs: Sequence[str], shown: Sequence[OutputColumn]) -> None:
        self._decide = decide
        of = {side: [c for c in shown if c.side == side] for side in ("left", "right")}
        self._names = [*pairs, *(c.name for c in (*of["left"], *of["right"]))]
        self._columns = {
            side: (ctypes.c_int32 * len(of[side]))(*(c.column for c in of[side])) for side in of
        }
        self.error: BaseException | None = None
        self._number = next(_numbers)
        _deciders[self._number] = self

    def fill(self, options: _abi.OperationOptions) -> None:
        """The options' fields that name it. It has to live as long as the operation."""
        options.decide = _on_decide
        options.decide_user = self._number
        options.decide_left_columns = self._columns["left"]
        options.decide_right_columns = self._columns["right"]
        options.decide_left_column_count = len(self._columns["left"])
        options.decide_right_column_count = len(self._columns["right"])

    def answer(self, rows: int, schema: int, array: int, matches: int) -> None:
        batch = pa.RecordBatch._import_from_c(array, schema)
        answers = checked_answers(self._decide(batch.rename_columns(self._names)), rows)
        if isinstance(answers, pa.ChunkedArray):
            answers = answers.combine_chunks()
        written = compute.fill_null(answers, False).cast(pa.uint8())
        ctypes.memmove(matches, written.buffers()[1].address + written.offset, rows)


# The library calls this one for as long as the process lives; `user` is the number of the decider.
_deciders: weakref.WeakValueDictionary[int, Decider] = weakref.WeakValueDictionary()
_numbers = itertools.count(1)


@_abi.DecideFunction
def _on_decide(rows: int, schema: int, array: int, matches: int, user: int) -> int:
    decider = _deciders.get(user)
    if decider is None:
        return _FAILED
    try:
        decider.answer(rows, schema, array, matches)
    except BaseException as error:
        decider.error = error
        return _FAILED
    return 0
