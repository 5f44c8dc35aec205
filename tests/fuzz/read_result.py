"""Reads a result: by gpujoin_result_fetch or as Arrow, whole or page by page."""

from __future__ import annotations

import ctypes
from ctypes import CFUNCTYPE, c_int64, c_void_p
from dataclasses import dataclass

import numpy as np

from .case import Case, Column
from .column_types import BOOL, INT64, UINT32, ColumnType
from .library import Handle, abi, call
from .way import Reading

NO_ROW = -1
_CANARY = 0x5A
_CANARY_BYTES = 16
_FETCH_COLUMN = 1
_FETCH = {"left": 2, "right": 3}


@dataclass
class Output:
    """rows     how many there are
    indices  of the sides whose row numbers were asked for, -1 = no row
    columns  (values, valid) of each output column; valid None = everywhere
    mark     1 true, 0 false, -1 NULL
    """

    rows: int
    indices: dict[str, np.ndarray]
    columns: list[tuple[np.ndarray, np.ndarray | None]]
    mark: np.ndarray | None = None


class BadResult(Exception):
    """A result that contradicts itself or the header."""


def read(result: Handle, case: Case, reading: Reading) -> Output:
    rows = c_int64()
    call("result_get_rows", result.pointer, ctypes.byref(rows))
    page_of = _fetch_page if reading.form == "fetch" else _export_page
    if not reading.pages and not reading.bytes:
        whole = page_of(result, case, reading, None, rows.value)
        _check(whole.rows == rows.value, f"the whole result is {whole.rows} of {rows.value} rows")
        return whole
    most = rows.value // reading.pages + 1 if reading.pages else 0
    page = abi.Page(max_rows=most, max_bytes=reading.bytes)
    pages = []
    seen = 0
    while True:
        pages.append(page_of(result, case, reading, page, min(most or rows.value, rows.value)))
        seen += page.rows
        _check(page.first_row == seen, f"first_row is {page.first_row} after {seen} rows")
        _check(not most or page.rows <= most, f"a page has {page.rows} rows, {most} at most")
        if page.rows == 0:
            break
        if reading.bytes and len(pages) == 40:  # the rest at once
            page.max_bytes = 0
    _check(seen == rows.value, f"the pages have {seen} of {rows.value} rows")
    return _concatenated(pages)


def _check(holds: bool, problem: str) -> None:
    if not holds:
        raise BadResult(problem)


def _concatenated(pages: list[Output]) -> Output:
    def valid_of(parts: list) -> np.ndarray | None:
        if all(valid is None for _, valid in parts):
            return None
        return np.concatenate(
            [np.ones(len(values), bool) if valid is None else valid for values, valid in parts]
        )

    columns = [
        (np.concatenate([values for values, _ in parts]), valid_of(parts))
        for parts in zip(*(page.columns for page in pages))
    ]
    return Output(
        sum(page.rows for page in pages),
        {s: np.concatenate([page.indices[s] for page in pages]) for s in pages[0].indices},
        columns,
        None if pages[0].mark is None else np.concatenate([page.mark for page in pages]),
    )


class _Buffer:
    """Memory for the library to write to, with a canary after its end."""

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes
        self.data = np.full(nbytes + _CANARY_BYTES, _CANARY, np.uint8)
        self.address = self.data.ctypes.data

    def check(self) -> None:
        _check(bool((self.data[self.nbytes :] == _CANARY).all()), "wrote past the end of a buffer")

    def values(self, dtype: np.dtype, rows: int) -> np.ndarray:
        return self.data[: rows * dtype.itemsize].view(dtype)

    def bits(self, rows: int) -> np.ndarray:
        return np.unpackbits(self.data[: (rows + 7) // 8], count=rows, bitorder="little") == 1


def _fetch_page(result: Handle, case: Case, reading: Reading, page, most_rows: int) -> Output:
    index_dtype = np.dtype(np.uint32 if reading.uint32 else np.int64)
    sides = [side for side in case.kind.sides if case.pairs]
    outputs = case.output_columns()
    types = [column.type for _, column in outputs]
    count = len(sides) + len(types) + case.kind.has_mark
    fetches = (abi.Fetch * max(1, count))()
    buffers = []

    def request(n: int, what: int, column: int, number: int, data: int, validity: int) -> None:
        buffers.append((_Buffer(data), _Buffer(validity)))
        fetch = fetches[n]
        fetch.struct_size = ctypes.sizeof(abi.Fetch)
        fetch.what, fetch.column, fetch.type = what, column, number
        fetch.data, fetch.data_bytes = buffers[n][0].address, data
        fetch.validity, fetch.validity_bytes = buffers[n][1].address if validity else None, validity

    bitmap = (most_rows + 7) // 8
    bitmaps = [0 if reading.bare and _has_no_null(case, *c) else bitmap for c in outputs]
    for n, side in enumerate(sides):
        number = UINT32 if reading.uint32 else (INT64 if n else 0)
        request(n, _FETCH[side], 0, number, most_rows * index_dtype.itemsize, 0)
    for i, kind in enumerate(types):
        number = kind.number if i % 2 else 0
        request(len(sides) + i, _FETCH_COLUMN, i, number, most_rows * kind.width, bitmaps[i])
    if case.kind.has_mark:
        request(count - 1, _FETCH_COLUMN, len(types), BOOL, bitmap, bitmap)
    given_page = ctypes.byref(page) if page is not None else None
    call("result_fetch", result.pointer, given_page, fetches, count)
    rows = most_rows if page is None else page.rows
    for data, validity in buffers:
        data.check()
        validity.check()

    indices = {
        side: _row_numbers(buffers[n][0].values(index_dtype, rows)) for n, side in enumerate(sides)
    }
    columns = []
    for n, kind in enumerate(types, len(sides)):
        valid = buffers[n][1].bits(rows) if buffers[n][1].nbytes else None
        _check_null_count(valid, fetches[n].null_count)
        columns.append((buffers[n][0].values(kind.dtype, rows), valid))
    mark = None
    if case.kind.has_mark:
        valid = buffers[-1][1].bits(rows)
        _check_null_count(valid, fetches[count - 1].null_count)
        mark = np.where(valid, buffers[-1][0].bits(rows), NO_ROW).astype(np.int64)
    return Output(rows, indices, columns, mark)


def _has_no_null(case: Case, side: str, column: Column) -> bool:
    other = "right" if side == "left" else "left"
    return column.valid is None and not case.kind.unmatched(other)


def _row_numbers(numbers: np.ndarray) -> np.ndarray:
    """As int64; GPUJOIN_NO_ROW is the last uint32."""
    if numbers.dtype == np.uint32:
        return np.where(numbers == 0xFFFFFFFF, NO_ROW, numbers.astype(np.int64))
    return numbers


def _check_null_count(valid: np.ndarray | None, said: int) -> None:
    counted = 0 if valid is None else int(len(valid) - np.count_nonzero(valid))
    _check(said == counted, f"null_count is {said}, and {counted} values are NULL")


def _export_page(result: Handle, case: Case, reading: Reading, page, most_rows: int) -> Output:
    schema, device_array = abi.ArrowSchema(), abi.ArrowDeviceArray()
    array = device_array.array
    given_page = ctypes.byref(page) if page is not None else None
    if reading.form == "export":
        out = ctypes.byref(array)
    else:
        out = ctypes.byref(device_array)
    first_row = 0 if page is None else page.first_row
    call("result_" + reading.form, result.pointer, given_page, ctypes.byref(schema), out)
    if device_array.device_type not in (0, abi.ARROW_DEVICE_CPU):
        # Nothing here reads a GPU's memory: the same page is exported to the host's.
        _release(schema, array)
        if page is not None:
            page.first_row = first_row
        call("result_export", result.pointer, given_page, ctypes.byref(schema), ctypes.byref(array))
    try:
        _check(page is None or array.length == page.rows, "the array is not as long as the page")
        if page is None and reading.late:
            result.close()  # what was exported outlives it
        return _imported(case, schema, array)
    finally:
        _release(schema, array)


def _release(*structs) -> None:
    for struct in structs:
        CFUNCTYPE(None, c_void_p)(struct.release)(ctypes.addressof(struct))


def _imported(case: Case, schema, array) -> Output:
    columns = case.output_columns()
    sides = [side for side in case.kind.sides if case.pairs]
    names = [f"{side}_row" for side in sides] + [column.name for _, column in columns]
    names += ["mark"] * case.kind.has_mark
    _check(schema.format == b"+s", f"the schema's format is {schema.format}")
    _check(
        schema.n_children == array.n_children == len(names),
        f"{schema.n_children} and {array.n_children} children instead of {len(names)}",
    )
    children = []
    for i, name in enumerate(names):
        child_schema = _child(abi.ArrowSchema, schema, i)
        _check(child_schema.name == name.encode(), f"child {i} is {child_schema.name}, not {name}")
        children.append((child_schema.format.decode(), _child(abi.ArrowArray, array, i)))
    start, rows = array.offset, array.length
    indices = {}
    for side, (form, child) in zip(sides, children):
        _check(form == "I", f"{side}_row has the format {form}")
        values, valid = _child_values(child, np.dtype(np.uint32), start, rows)
        indices[side] = values.astype(np.int64)
        if valid is not None:
            indices[side][~valid] = NO_ROW
    values = []
    for (_, column), (form, child) in zip(columns, children[len(sides) :]):
        _check_format(column.type, form)
        values.append(_child_values(child, column.type.dtype, start, rows))
    mark = None
    if case.kind.has_mark:
        form, child = children[-1]
        _check(form == "b", f"the mark has the format {form}")
        bits, valid = _child_values(child, None, start, rows)
        mark = bits.astype(np.int64)
        if valid is not None:
            mark[~valid] = NO_ROW
    return Output(rows, indices, values, mark)


def _check_format(kind: ColumnType, form: str) -> None:
    _check(form in kind.formats, f"a column of {kind.name} is exported as {form}")


def _child(struct: type, parent, i: int):
    pointers = ctypes.cast(parent.children, ctypes.POINTER(c_void_p))
    return struct.from_address(pointers[i])


def _child_values(
    child, dtype: np.dtype | None, start: int, rows: int
) -> tuple[np.ndarray, np.ndarray | None]:
    """Copies of the values and of where they are valid; dtype None = bits."""
    first = start + child.offset
    buffers = ctypes.cast(child.buffers, ctypes.POINTER(c_void_p))
    validity, data = buffers[0], buffers[1]
    valid = _bits_at(validity, first, rows) if validity else None
    if start == 0 and child.length == rows and child.null_count != -1:  # -1: not counted
        _check_null_count(valid, child.null_count)
    if dtype is None:
        return _bits_at(data, first, rows), valid
    if rows == 0:
        return np.zeros(0, dtype), valid
    raw = ctypes.string_at(data + first * dtype.itemsize, rows * dtype.itemsize)
    return np.frombuffer(raw, dtype), valid


def _bits_at(address: int, first: int, rows: int) -> np.ndarray:
    if rows == 0:
        return np.zeros(0, bool)
    raw = np.frombuffer(ctypes.string_at(address, (first + rows + 7) // 8), np.uint8)
    return np.unpackbits(raw, count=first + rows, bitorder="little")[first:] == 1
