"""The inputs of a join: what Python hands over, and the columns of it that the library reads."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from . import _abi
from ._context import Context
from ._result import of_rows
from .errors import InvalidArgument, TypeMismatch, Unsupported

_PRIMITIVES = {
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64()),
    *(pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
    *(pa.float16(), pa.float32(), pa.float64(), pa.date32(), pa.date64(), pa.binary(16)),
}
_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.restype = ctypes.c_void_p
_get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


def is_carried(kind: pa.DataType) -> bool:
    """Whether the library carries a type through a join; others are fetched by row number."""
    return (
        kind in _PRIMITIVES
        or (pa.types.is_temporal(kind) and not pa.types.is_interval(kind))
        or pa.types.is_decimal128(kind)
    )


def key_types(left: pa.Field, right: pa.Field) -> tuple[pa.DataType, pa.DataType]:
    """The types that two key columns are joined as.

    They are their own: the library compares integers of any widths and signs by value, and floats
    of any widths. But a column of type null, all of whose rows are NULL, is one of the other's
    type. Errors: TypeMismatch, which names the columns.
    """
    kinds = "integers, floats, dates, times, timestamps, durations, decimals and binaries of 16 bytes"
    types = key_types_of(left, right, is_carried, kinds)
    compare = all(map(pa.types.is_integer, types)) or all(map(pa.types.is_floating, types))
    check_comparable(left, right, "" if compare else why_types_differ(*types))
    return types


def key_types_of(
    left: pa.Field, right: pa.Field, is_key: Callable[[pa.DataType], bool], kinds: str
) -> tuple[pa.DataType, pa.DataType]:
    """The types of two key columns, where one of type null has the other's.

    Errors: TypeMismatch, for a type that is no key, which says what kinds there are."""
    for field in (left, right):
        kind = field.type
        if not (is_key(kind) or pa.types.is_null(kind)):
            raise TypeMismatch(
                f"column {field.name} of type {kind} cannot be a join key; keys are {kinds}"
            )
    types = [left.type, right.type]
    for side, other in ((0, 1), (1, 0)):
        if pa.types.is_null(types[side]):
            types[side] = pa.int32() if pa.types.is_null(types[other]) else types[other]
    return types[0], types[1]


def check_comparable(left: pa.Field, right: pa.Field, why_not: str) -> None:
    """Errors: TypeMismatch, which names both columns, where there is a reason."""
    if why_not:
        raise TypeMismatch(
            f"keys {left.name} ({left.type}) and {right.name} ({right.type}) {why_not}"
        )


def why_types_differ(left: pa.DataType, right: pa.DataType) -> str:
    """Why keys of types that compare with their own do not with each other, or nothing."""
    if pa.types.is_timestamp(left) and pa.types.is_timestamp(right):
        return _why_timestamps_differ(left, right)
    return "" if left == right else "are of different types; cast one of them"


def _why_timestamps_differ(left: pa.TimestampType, right: pa.TimestampType) -> str:
    """Timestamps with a zone are instants, counted in UTC whatever the zone: they compare with each
    other. One without a zone is a clock's reading somewhere, and compares with its kind only."""
    if bool(left.tz) != bool(right.tz):
        return "cannot be compared: one has a time zone and the other has none"
    return "" if left.unit == right.unit else "are of different units; cast one of them"


class Input:
    """One input: a pyarrow.Table, or an Arrow array in the memory of a GPU.

    schema  of all columns
    table   None when the data lies in device memory
    """

    def __init__(self, data: Any, side: str) -> None:
        self.side = side
        self.table: pa.Table | None = None
        self._device_array: Any = None
        try:
            self._import(data)
            if self.table is not None:
                self.table.validate()
                self.schema = self.table.schema
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
            raise InvalidArgument(f"{side}: {error}") from None

    def _import(self, data: Any) -> None:
        if isinstance(data, pa.RecordBatch) and getattr(data, "is_cpu", True):
            self.table = pa.Table.from_batches([data])
        elif isinstance(data, pa.Table):
            self.table = data
        elif hasattr(data, "__arrow_c_device_array__"):
            self._set_device_array(_DeviceArray(*data.__arrow_c_device_array__()))
        elif hasattr(data, "__arrow_c_array__"):
            self.table = self._table_of(pa.array(_Array(*data.__arrow_c_array__())))
        elif hasattr(data, "__arrow_c_stream__"):
            self.table = self._table_of(pa.chunked_array(_Stream(data)))
        else:
            raise InvalidArgument(
                f"{self.side} is a {type(data).__name__}; it must be a pyarrow.Table or "
                "RecordBatch, or offer __arrow_c_stream__, __arrow_c_array__ or "
                "__arrow_c_device_array__"
            )

    def _set_device_array(self, capsules: _DeviceArray) -> None:
        pointer = _get_pointer(capsules.array, b"arrow_device_array")
        kind = _abi.ArrowDeviceArray.from_address(pointer).device_type
        if kind == _abi.ARROW_DEVICE_CPU:
            self.table = self._table_of(pa.array(capsules))
        else:
            self.schema = pa.schema(capsules)
            self._device_array = capsules.array

    def _table_of(self, structs: pa.Array | pa.ChunkedArray) -> pa.Table:
        """The fields of structs as columns.

        pyarrow makes batches of structs too, but leaves those that are slices as long as they were.
        """
        kind = structs.type
        if not pa.types.is_struct(kind):
            raise InvalidArgument(
                f"{self.side} is an Arrow array of type {kind}; a table is one of structs"
            )
        if structs.null_count:
            raise InvalidArgument(
                f"{self.side}: {structs.null_count} rows of the struct itself are NULL; "
                "a table has no such rows"
            )
        schema = pa.schema([kind.field(i) for i in range(kind.num_fields)])
        chunks = structs.chunks if isinstance(structs, pa.ChunkedArray) else [structs]
        batches = [pa.RecordBatch.from_arrays(chunk.flatten(), schema=schema) for chunk in chunks]
        return pa.Table.from_batches(batches, schema)

    def column(self, name: Any, argument: str) -> int:
        """The position of a column. Errors: InvalidArgument, when it is not there exactly once."""
        found = self.schema.get_all_field_indices(name) if isinstance(name, str) else []
        if len(found) == 1:
            return found[0]
        if found:
            raise InvalidArgument(
                f"{argument}: {len(found)} columns of {self.side} are named {name!r}"
            )
        raise InvalidArgument(
            f"{argument}: {self.side} has no column {name!r}; it has {', '.join(self.schema.names)}"
        )

    def keys(self, names: Any, argument: str) -> list[int]:
        """The positions of one key column or of several. Errors: InvalidArgument."""
        names = list(names) if isinstance(names, (list, tuple)) else [names]
        if not names:
            raise InvalidArgument(f"{argument} names no column")
        return [self.column(name, argument) for name in names]

    def values(self, column: int) -> pa.ChunkedArray:
        """A column in host memory, without empty chunks: pyarrow joins none that begin at an
        offset. Errors: Unsupported, in device memory."""
        if self.table is None:
            field = self.schema.field(column)
            raise Unsupported(
                f"column {field.name} of type {field.type} lies in device memory, and the library "
                "carries no such type; leave it out of select"
            )
        values = self.table.column(column)
        if values.num_chunks <= 1:
            return values
        return pa.chunked_array([chunk for chunk in values.chunks if len(chunk)], values.type)

    def register(
        self,
        context: Context,
        keys: Sequence[int],
        key_types: Sequence[pa.DataType],
        carried: Sequence[int],
    ) -> tuple[_abi.Handle, list[int], list[int]]:
        """A relation of the library: the keys, cast to their key types where they are of others,
        and the carried columns. Without a copy, except of columns in more than one chunk and of
        cast keys.

        Returns the relation, the positions of the keys in it and those of the carried columns.
        """
        handle = _abi.Handle("relation")
        if self.table is None:
            capsule = self.schema.__arrow_c_schema__()
            schema = _get_pointer(capsule, b"arrow_schema")
            array = _get_pointer(self._device_array, b"arrow_device_array")
            context._call("relation_import_device", context._handle, schema, array, handle.out)
            return handle, list(keys), list(carried)
        columns = list(dict.fromkeys(carried))
        fields = [self.schema.field(i) for i in columns]
        arrays = [self.values(i) for i in columns]
        key_positions = []
        for key, key_type in zip(keys, key_types):
            key_field = self.schema.field(key)
            if key in columns and key_field.type == key_type:
                key_positions.append(columns.index(key))
                continue
            key_positions.append(len(fields))
            fields.append(key_field.with_type(key_type))
            arrays.append(self.values(key).cast(key_type))
        table = of_rows(pa.Table, arrays, pa.schema(fields), self.table.num_rows)
        batch = _one_batch(table)
        capsules = batch.__arrow_c_array__()
        schema = _get_pointer(capsules[0], b"arrow_schema")
        array = _get_pointer(capsules[1], b"arrow_array")
        context._call("relation_import", context._handle, schema, array, handle.out)
        return handle, key_positions, [columns.index(i) for i in carried]


def _one_batch(table: pa.Table) -> pa.RecordBatch:
    if not table.num_columns:  # which a cross join may need nothing of but its rows
        return of_rows(pa.RecordBatch, [], table.schema, table.num_rows)
    batches = table.combine_chunks().to_batches()
    if not batches:
        empty = [pa.array([], field.type) for field in table.schema]
        return pa.RecordBatch.from_arrays(empty, schema=table.schema)
    return batches[0]


class _Capsules:
    """A schema and an array of it, as capsules, for pyarrow to take."""

    def __init__(self, schema: Any, array: Any) -> None:
        self.schema = schema
        self.array = array

    def __arrow_c_schema__(self) -> Any:
        return self.schema


class _Array(_Capsules):
    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        return self.schema, self.array


class _DeviceArray(_Capsules):
    def __arrow_c_device_array__(self, requested_schema: Any = None, **_: Any) -> Any:
        return self.schema, self.array


class _Stream:
    """A stream and nothing else, so that pyarrow asks for nothing else."""

    def __init__(self, data: Any) -> None:
        self._data = data

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._data.__arrow_c_stream__(requested_schema)
