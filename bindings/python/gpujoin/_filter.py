"""Filter: which rows of another table none of a build's keys equals."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from . import _abi
from ._context import Context
from ._inputs import Input
from ._plan import int32_array
from .errors import InvalidArgument

_KINDS = {number: name for name, number in _abi.KEY_FILTERS.items()}
_OWN_FILTERS = {None: 0, False: 1, True: 2}


class Batch(Input):
    """An input with all its columns, in their order."""

    def register(
        self, context: Context, columns: Iterable[int]
    ) -> tuple[_abi.Handle, dict[int, int]]:
        return super().register(context, range(len(self.schema.names)))


class Filter:
    """What a finished build says of rows that it cannot match; made by Build.filter().

    Any thread may use it, also when the build is closed.
    """

    def __init__(self, context: Context, handle: _abi.Handle, keys: Sequence[pa.Field]) -> None:
        self._context = context
        self._handle = handle
        self._keys = list(keys)
        raw = _abi.KeyFilterInfo()
        context._call("key_filter_get_info", handle, ctypes.byref(raw))
        self._raw = raw

    @property
    def kind(self) -> str:
        """none, min_max, bitmap or bloom."""
        return _KINDS[self._raw.kind]

    @property
    def rows(self) -> int:
        """Of the build."""
        return self._raw.rows

    @property
    def distinct(self) -> int:
        """Different keys; counted where distinct_is_exact, else estimated."""
        return self._raw.distinct

    @property
    def distinct_is_exact(self) -> bool:
        return bool(self._raw.distinct_is_exact)

    @property
    def has_null(self) -> bool:
        """Whether a row of the build has a NULL in a key."""
        return bool(self._raw.has_null)

    @property
    def false_positive_rate(self) -> float:
        """Of rows without a match, the share that is expected to pass."""
        return self._raw.false_positive_rate

    @property
    def min(self) -> Any:
        """The lowest key, as Python has it; None where there is none, or several keys."""
        return self._value(self._raw.min_value, self._raw.value_bytes[0])

    @property
    def max(self) -> Any:
        """The highest key."""
        return self._value(self._raw.max_value, self._raw.value_bytes[1])

    @property
    def bits(self) -> bytes:
        """A copy of its bits, laid out as include/gpujoin.h says, which starts at first_value."""
        return ctypes.string_at(self._raw.bits, self._raw.bytes) if self._raw.bytes else b""

    @property
    def first_value(self) -> int:
        """Of bit 0 of a bitmap, in units of the key's column; the lowest of min_max."""
        return self._raw.first_value

    @property
    def last_value(self) -> int:
        return self._raw.last_value

    def test(self, batch: Any, columns: str | Sequence[str] | None = None) -> pa.BooleanArray:
        """A truth value for each row of a batch: whether it passes.

        batch    anything that join() takes as a side
        columns  that are compared with the build's keys; None = of the same names
        Errors: InvalidArgument, TypeMismatch, MemoryLimit, OutOfMemory.
        """
        source = Batch(batch, "batch")
        positions = self.positions(source, columns, "columns")
        relation, _ = source.register(self._context, ())
        rows = ctypes.c_int64()
        self._context._call("relation_get_size", relation, ctypes.byref(rows), None)
        bits = ctypes.create_string_buffer((rows.value + 63) // 64 * 8)
        self._context._call(
            *("key_filter_test", self._handle, relation, int32_array(positions), len(positions)),
            *(bits, _abi.MEMORY_HOST, None),
        )
        return pa.Array.from_buffers(pa.bool_(), rows.value, [None, pa.py_buffer(bits)])

    def close(self) -> None:
        """Lets go of it; operations that it was given to go on."""
        self._handle.close()

    def __enter__(self) -> Filter:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def positions(self, source: Input, columns: Any, argument: str) -> list[int]:
        names = [field.name for field in self._keys] if columns is None else columns
        found = source.keys(names, argument)
        if len(found) != len(self._keys):
            raise InvalidArgument(
                f"{argument} names {len(found)} columns, and the filter has {len(self._keys)} keys"
            )
        return found

    def _value(self, address: int | None, count: int) -> Any:
        if not address:
            return None
        kind = self._keys[0].type
        while pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
            kind = kind.value_type
        raw = ctypes.string_at(address, count)
        if pa.types.is_boolean(kind):
            return raw != b"\0"
        if kind in (pa.string(), pa.large_string(), pa.string_view()):
            return raw.decode()
        if kind in (pa.binary(), pa.large_binary(), pa.binary_view()):
            return raw
        return pa.Array.from_buffers(kind, 1, [None, pa.py_buffer(raw)])[0].as_py()


def applied(filters: Any, probe: Input) -> tuple[list[_abi.AppliedFilter], list[Any]]:
    """What an operation is given for [(filter, columns), ...], and what has to outlive the call."""
    made: list[_abi.AppliedFilter] = []
    kept: list[Any] = []
    for i, (one, columns) in enumerate(filters or ()):
        if not isinstance(one, Filter):
            raise InvalidArgument(f"filters[{i}] is not a filter and its columns")
        numbers = one.positions(probe, columns, f"filters[{i}]")
        positions = int32_array(numbers)
        kept += [one, positions]
        made.append(
            _abi.AppliedFilter(
                column_count=len(numbers),
                filter=one._handle.open_pointer(),
                columns=ctypes.cast(positions, ctypes.POINTER(ctypes.c_int32)),
            )
        )
    return made, kept


def own_filter_of(own_filter: bool | None) -> int:
    if own_filter not in _OWN_FILTERS:
        raise InvalidArgument(f"own_filter is {own_filter!r}; it is True, False or None")
    return _OWN_FILTERS[own_filter]
