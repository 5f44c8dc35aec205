"""The inputs of a join: what Python hands over, and the columns of it that the library reads."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from . import _abi
from ._context import Context
from ._result import of_rows
from ._selections import Rows, Selection
from .errors import InvalidArgument, Unsupported

_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.restype = ctypes.c_void_p
_get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


def is_carried(kind: pa.DataType) -> bool:
    """Whether the library puts a column out; those of nested types are fetched by row number."""
    while True:
        if isinstance(kind, pa.BaseExtensionType):
            kind = kind.storage_type
        elif pa.types.is_run_end_encoded(kind):
            kind = kind.value_type
        else:
            return not pa.types.is_nested(kind)


class Input:
    """One input: a pyarrow.Table, or an Arrow array in the memory of a GPU.

    schema  of all columns
    table   None when the data lies in device memory
    selection  the rows that are read; None = all
    """

    def __init__(self, data: Any, side: str) -> None:
        self.side = side
        self.table: pa.Table | None = None
        self.selection: Selection | None = None
        self._device_array: Any = None
        self._device_rows = 0
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
        elif isinstance(data, Mapping):
            self.table = self._table_of_arrays(data)
        elif _is_numpy(data) and data.dtype.names:
            self.table = self._table_of_arrays({name: data[name] for name in data.dtype.names})
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
                "__arrow_c_device_array__, or be a dict of NumPy arrays or a NumPy array of records"
            )

    def _table_of_arrays(self, columns: Mapping[Any, Any]) -> pa.Table:
        """A table of NumPy and Arrow arrays by their names."""
        arrays = {}
        for name, values in columns.items():
            if not isinstance(name, str):
                raise InvalidArgument(f"{self.side}: the name {name!r} of a column is no text")
            if _is_numpy(values) and values.ndim == 1:
                values = pa.array(values)
            elif not isinstance(values, (pa.Array, pa.ChunkedArray)):
                raise InvalidArgument(
                    f"{self.side}: column {name!r} is a {type(values).__name__}; the columns of a "
                    "dict are NumPy arrays of one dimension, or arrays of pyarrow"
                )
            arrays[name] = values
        return pa.table(arrays)

    def _set_device_array(self, capsules: _DeviceArray) -> None:
        pointer = _get_pointer(capsules.array, b"arrow_device_array")
        kind = _abi.ArrowDeviceArray.from_address(pointer).device_type
        if kind == _abi.ARROW_DEVICE_CPU:
            self.table = self._table_of(pa.array(capsules))
        else:
            self.schema = pa.schema(capsules)
            self._device_array = capsules.array
            self._device_rows = _abi.ArrowDeviceArray.from_address(pointer).array.length

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

    def select(self, rows: Rows | None, argument: str) -> None:
        """Lets joins read these rows alone. Errors: InvalidArgument."""
        if rows is not None:
            count = self._device_rows if self.table is None else self.table.num_rows
            self.selection = Selection(rows, count, argument)

    def values(self, column: int) -> pa.ChunkedArray:
        """A column in host memory, without empty chunks: pyarrow joins none that begin at an
        offset. Errors: Unsupported, in device memory."""
        if self.table is None:
            field = self.schema.field(column)
            raise Unsupported(
                f"column {field.name} of type {field.type} lies in device memory, where columns of "
                "nested types are not fetched; leave it out of select"
            )
        values = self.table.column(column)
        if values.num_chunks <= 1:
            return values
        return pa.chunked_array([chunk for chunk in values.chunks if len(chunk)], values.type)

    def register(
        self, context: Context, columns: Iterable[int]
    ) -> tuple[_abi.Handle, dict[int, int]]:
        """A relation of the library with these columns. Without a copy, except of those in more
        than one chunk.

        Returns the relation, and the position in it of each column. What picks its rows is kept by
        this input alone.
        """
        relation, positions = self._register(context, columns)
        if self.selection is None:
            return relation, positions
        return self.selection.of(context, relation), positions

    def _register(
        self, context: Context, columns: Iterable[int]
    ) -> tuple[_abi.Handle, dict[int, int]]:
        handle = _abi.Handle("relation")
        if self.table is None:
            capsule = self.schema.__arrow_c_schema__()
            schema = _get_pointer(capsule, b"arrow_schema")
            array = _get_pointer(self._device_array, b"arrow_device_array")
            context._call("relation_import_device", context._handle, schema, array, handle.out)
            return handle, {column: column for column in columns}
        positions = {column: i for i, column in enumerate(dict.fromkeys(columns))}
        arrays = [self._one_array(column) for column in positions]
        fields = [self.schema.field(c).with_type(a.type) for c, a in zip(positions, arrays)]
        batch = of_rows(pa.RecordBatch, arrays, pa.schema(fields), self.table.num_rows)
        capsules = batch.__arrow_c_array__()
        schema = _get_pointer(capsules[0], b"arrow_schema")
        array = _get_pointer(capsules[1], b"arrow_array")
        context._call("relation_import", context._handle, schema, array, handle.out)
        return handle, positions

    def _one_array(self, column: int) -> pa.Array:
        """A column in one piece: text of more than 2 GiB with 8-byte offsets, and dictionaries of
        too many values with wider positions. Errors: InvalidArgument, Unsupported."""
        values = self.values(column)
        name = self.schema.field(column).name
        try:
            return _combined(values)
        except pa.ArrowNotImplementedError as error:
            raise Unsupported(f"{self.side}: column {name!r} in chunks: {error}") from None
        except pa.ArrowInvalid as error:
            wider = _widened(values)
            if wider is None:
                raise InvalidArgument(f"{self.side}: column {name!r}: {error}") from None
            return _combined(wider)


def _combined(values: pa.ChunkedArray) -> pa.Array:
    if values.num_chunks == 1:
        return values.chunk(0)
    return values.combine_chunks() if values.num_chunks else pa.nulls(0, values.type)


def _widened(values: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """The same values in a type with room for those of all chunks, or None."""
    kind = values.type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        is_text = pa.types.is_string(kind)
        return values.cast(pa.large_string() if is_text else pa.large_binary())
    if not pa.types.is_dictionary(kind) or kind.index_type.bit_width == 64:
        return None
    chunks = [
        pa.DictionaryArray.from_arrays(
            chunk.indices.cast(pa.int64()), chunk.dictionary, ordered=kind.ordered
        )
        for chunk in values.chunks
    ]
    return pa.chunked_array(chunks)


def _is_numpy(data: Any) -> bool:
    numpy = sys.modules.get("numpy")  # who has one of its arrays has loaded it
    return numpy is not None and isinstance(data, numpy.ndarray)


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
