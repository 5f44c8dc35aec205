"""Result: the output of a join, whole or page by page, and what it cost."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from . import _abi
from ._arguments import INT64, UINT64, whole
from ._context import Context, name_of
from .errors import InvalidArgument, Unsupported

LEFT_ROW = "left_row"
RIGHT_ROW = "right_row"
_TAKE_ROWS = 1 << 20  # at a time: the text of so many rows fits one Arrow array

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_SCHEMA = b"arrow_schema"  # a capsule keeps the address of its name
_ARRAY = b"arrow_array"


@dataclass(frozen=True)
class Stage:
    """One stage of a join that ran."""

    stage: str  # "transfer", "transform", "match" ...; of a sequence "steps[1].match"
    technique: str  # "" where there was nothing to do
    milliseconds: float  # of the GPU, or of the wall clock on the CPU
    predicted_bytes: int  # memory traffic, read + written; for transfers, bytes on the link


@dataclass(frozen=True)
class Statistics:
    """What a join did and cost. Sizes are bytes."""

    device: str  # "cuda" or "cpu": the executor that ran
    plan: str  # in one line
    reason: str  # why this executor and this plan
    left_rows: int
    right_rows: int  # of a sequence, of all dimensions
    output_rows: int
    milliseconds: float  # of the execution, seen by the caller
    predicted_bytes: int
    peak_memory_bytes: int
    output_resumes: int  # times the match stopped for more output memory
    stages: tuple[Stage, ...]


class TakenColumn:
    """A column of a nested type, whose output is taken by row number."""

    def __init__(self, values: pa.ChunkedArray, rows: str) -> None:
        self.rows = rows  # the row numbers of the export that it is taken by
        self._values = values
        self._is_combined = False
        self.type = _without_views(values.type)

    def take(self, rows: pa.Array) -> pa.ChunkedArray:
        if not self._is_combined:
            self._values = self._combined()
            self._is_combined = True
        chunks: list[pa.Array] = []
        try:
            for first in range(0, len(rows), _TAKE_ROWS):
                piece = self._values.take(rows.slice(first, _TAKE_ROWS))
                chunks.extend(piece.chunks if isinstance(piece, pa.ChunkedArray) else [piece])
        except pa.ArrowNotImplementedError as error:
            raise Unsupported(f"pyarrow cannot take rows of type {self.type}: {error}") from None
        return pa.chunked_array(chunks, self.type)

    def _combined(self) -> Any:
        is_cast = self._values.type != self.type
        values = self._values.cast(self.type) if is_cast else self._values
        # Taking from one chunk is much faster than from many. Text over 2 GiB stays in several.
        values = pa.table([values], names=["values"]).combine_chunks().column(0)
        return values.chunk(0) if values.num_chunks == 1 else values


def _without_views(kind: pa.DataType) -> pa.DataType:
    """The type with large_string in the place of string_view, and large_binary in that of
    binary_view, however deep: pyarrow cannot take rows of views."""
    if str(kind) == "string_view":
        return pa.large_string()
    if str(kind) == "binary_view":
        return pa.large_binary()
    if pa.types.is_struct(kind):
        fields = [kind.field(i) for i in range(kind.num_fields)]
        return pa.struct([field.with_type(_without_views(field.type)) for field in fields])
    if pa.types.is_map(kind):
        key, item = (f.with_type(_without_views(f.type)) for f in (kind.key_field, kind.item_field))
        return pa.map_(key, item, kind.keys_sorted)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        value = kind.value_field.with_type(_without_views(kind.value_type))
        if pa.types.is_fixed_size_list(kind):
            return pa.list_(value, kind.list_size)
        return pa.large_list(value) if pa.types.is_large_list(kind) else pa.list_(value)
    return kind


@dataclass(frozen=True)
class ResultColumn:
    """Where an output column comes from: from the library's export, or taken."""

    name: str
    nullable: bool
    # Row numbers, by what the export calls them; they come first. Others from the last one on: -1.
    exported: str | int | None = None
    extension: pa.DataType | None = None  # of pyarrow, for which the export's type stands
    taken: TakenColumn | None = None

    def type_in(self, exported: pa.RecordBatch) -> pa.DataType:
        """Its type, with an export or a page of it."""
        if self.taken is not None:
            return self.taken.type
        found = _column_of(exported, self.exported).type
        stands_for = self.extension is not None and self.extension.storage_type == found
        return self.extension if stands_for else found

    def values_in(self, exported: pa.RecordBatch) -> Any:
        """Its rows of an export, or of a page of it."""
        if self.taken is not None:
            return self.taken.take(_column_of(exported, self.taken.rows))
        found = _column_of(exported, self.exported)
        kind = self.type_in(exported)
        return found if kind == found.type else kind.wrap_array(found)


def _column_of(exported: pa.RecordBatch, place: Any) -> pa.Array:
    names = exported.schema.names
    return exported.column(names.index(place) if isinstance(place, str) else len(names) + place)


class Result:
    """The output of a join. It owns its memory: the inputs may go, and so may the context.

    Arrow hands it on as it is: pyarrow.table(result), polars.DataFrame(result).
    The order of its rows is not specified.
    """

    def __init__(
        self,
        context: Context,
        handle: _abi.Handle,
        columns: Sequence[ResultColumn],
        pair_fields: Sequence[pa.Field],
    ) -> None:
        self._context = context
        self._handle = handle
        self._columns = columns
        self._pair_fields = pair_fields  # of the row numbers in the library's result; [] = none
        self._schema: pa.Schema | None = None
        rows = ctypes.c_int64()
        context._call("result_get_rows", handle, ctypes.byref(rows))
        self._rows = rows.value

    @property
    def num_rows(self) -> int:
        """Output rows."""
        return self._rows

    @property
    def schema(self) -> pa.Schema:
        """Of to_table(), to_batch() and the pages. Columns have the types of the inputs, but text
        of more than 2 GiB is large_string or large_binary, and runs are the type of their values.
        """
        if self._schema is None:
            self._schema = self._schema_of(self._export(_abi.Page(first_row=self._rows)))
        return self._schema

    def to_table(self) -> pa.Table:
        """The whole output. Columns of a CPU result share its memory; those of a GPU result are
        copied to the host. Columns of nested types have chunks of 2^20 rows.
        Without a column (select=[]) it still has num_rows rows.

        Errors: OutOfMemory, CudaError, DeviceLost, Forked, Unsupported.
        """
        return self._assemble(pa.Table, self._export(None), lambda values: values)

    def to_batch(self) -> pa.RecordBatch:
        """to_table() as one batch: copies the columns that are in more than one chunk."""
        return self._batch(self._export(None))

    def pages(
        self, max_rows: int | None = 1 << 20, max_bytes: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The output from front to back, in batches of at most max_rows rows and max_bytes bytes.

        max_rows, max_bytes  None = no limit. max_bytes counts values and validity bits of the
                             columns but those of nested types; one row is always allowed.
        An empty output has no page. Errors: those of to_table, InvalidArgument.
        """
        page = _abi.Page(
            max_rows=0 if max_rows is None else whole("max_rows", max_rows, 1, INT64),
            max_bytes=0 if max_bytes is None else whole("max_bytes", max_bytes, 1, UINT64),
        )
        return self._pages(page)

    def to_polars(self) -> Any:
        """The whole output as a polars.DataFrame, which shares the memory of to_table().

        Errors: those of to_table; Unsupported, when polars is not installed.
        """
        try:
            import polars
        except ImportError as error:
            raise Unsupported(f"to_polars() needs the package polars: {error}") from None
        return polars.from_arrow(self.to_table())

    def to_pandas(self) -> Any:
        """The whole output as a pandas.DataFrame, with pyarrow's choice of types.

        Errors: those of to_table; Unsupported, when pandas is not installed.
        """
        try:
            import pandas  # noqa: F401, for pyarrow
        except ImportError as error:
            raise Unsupported(f"to_pandas() needs the package pandas: {error}") from None
        return self.to_table().to_pandas()

    def pairs(self) -> pa.RecordBatch:
        """The pairs alone: columns left_row and right_row, uint32, row numbers in the inputs, NULL
        where a side has no row; of a semi, anti, mark or not_in join that of its side alone. Of a
        sequence left_row, right_row_0, right_row_1 ...: in the fact table and in each dimension but
        those of semi joins.

        Errors: those of to_table, InvalidArgument when pairs were not asked for (pairs=True).
        """
        count = len(self._pair_fields)
        if not count:
            raise InvalidArgument("this join has no pairs; ask for them with pairs=True")
        fetches = (_abi.Fetch * count)()
        buffers = []
        for field, fetch in zip(self._pair_fields, fetches):
            values = pa.allocate_buffer(4 * self._rows)
            validity = pa.allocate_buffer((self._rows + 7) // 8) if field.nullable else None
            buffers.append([validity, values])
            fetch.struct_size = ctypes.sizeof(_abi.Fetch)
            if field.name == LEFT_ROW:
                fetch.what = _abi.FETCH_LEFT_INDEX
            else:  # of a sequence, with the number of the step
                step = field.name.removeprefix(RIGHT_ROW).removeprefix("_")
                fetch.what, fetch.column = _abi.FETCH_RIGHT_INDEX, int(step or 0)
            fetch.type = _abi.TYPE_UINT32
            fetch.data, fetch.data_bytes = values.address, values.size
            if validity is not None:
                fetch.validity, fetch.validity_bytes = validity.address, validity.size
            fetch.memory = _abi.MEMORY_HOST
        self._context._call("result_fetch", self._handle, None, fetches, count)
        arrays = [pa.Array.from_buffers(pa.uint32(), self._rows, parts) for parts in buffers]
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(self._pair_fields))

    @property
    def statistics(self) -> Statistics:
        """What the join did and cost, stage by stage."""
        raw = _abi.Statistics()
        call = self._context._call
        call("result_get_statistics", self._handle, ctypes.byref(raw))
        stages = []
        for number in range(raw.stage_count):
            stage = _abi.StageStatistics()
            call("result_get_stage", self._handle, number, ctypes.byref(stage))
            stages.append(
                Stage(
                    stage=_abi.text(stage.stage),
                    technique=_abi.text(stage.technique),
                    milliseconds=stage.milliseconds,
                    predicted_bytes=stage.predicted_bytes,
                )
            )
        return Statistics(
            device=name_of(_abi.DEVICES, raw.device),
            plan=_abi.text(raw.plan),
            reason=_abi.text(raw.reason),
            left_rows=raw.left_rows,
            right_rows=raw.right_rows,
            output_rows=raw.output_rows,
            milliseconds=raw.milliseconds,
            predicted_bytes=raw.predicted_bytes,
            peak_memory_bytes=raw.peak_memory_bytes,
            output_resumes=raw.output_resumes,
            stages=tuple(stages),
        )

    def close(self) -> None:
        """Frees the result's memory now; Arrow data that came from it stays valid."""
        self._handle.close()

    def __enter__(self) -> Result:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __len__(self) -> int:
        return self._rows

    def __arrow_c_schema__(self) -> Any:
        return self.schema.__arrow_c_schema__()

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        return self.to_batch().__arrow_c_array__(requested_schema)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.to_table().__arrow_c_stream__(requested_schema)

    def _pages(self, page: _abi.Page) -> Iterator[pa.RecordBatch]:
        while True:
            exported = self._export(page)
            if page.rows == 0:
                return
            yield self._batch(exported)

    def _export(self, page: _abi.Page | None) -> pa.RecordBatch:
        exported = _Exported()
        where = None if page is None else ctypes.byref(page)
        parts = ctypes.byref(exported.schema), ctypes.byref(exported.array)
        self._context._call("result_export", self._handle, where, *parts)
        return pa.record_batch(exported)

    def _schema_of(self, exported: pa.RecordBatch) -> pa.Schema:
        return pa.schema([pa.field(c.name, c.type_in(exported), c.nullable) for c in self._columns])

    def _assemble(self, kind: Any, exported: pa.RecordBatch, of: Callable[[Any], Any]) -> Any:
        arrays = [of(column.values_in(exported)) for column in self._columns]
        return of_rows(kind, arrays, self._schema_of(exported), exported.num_rows)

    def _batch(self, exported: pa.RecordBatch) -> pa.RecordBatch:
        return self._assemble(pa.RecordBatch, exported, _one_array)


def of_rows(kind: Any, arrays: Sequence[Any], schema: pa.Schema, rows: int) -> Any:
    """A Table or a RecordBatch. One without columns has its rows all the same; pyarrow makes such
    a one by leaving columns out, and one of NULLs costs no memory."""
    if arrays:
        return kind.from_arrays(arrays, schema=schema)
    return kind.from_arrays([pa.nulls(rows)], names=["left out"]).select([])


def _one_array(values: Any) -> pa.Array:
    if not isinstance(values, pa.ChunkedArray):
        return values
    return values.chunk(0) if values.num_chunks == 1 else values.combine_chunks()


class _Exported:
    """Arrow structs that the library filled, as pyarrow takes them; it moves their content out."""

    def __init__(self) -> None:
        self.schema = _abi.ArrowSchema()
        self.array = _abi.ArrowArray()

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        return (
            _new_capsule(ctypes.addressof(self.schema), _SCHEMA, None),
            _new_capsule(ctypes.addressof(self.array), _ARRAY, None),
        )
