"""A page of a result, fetched into buffers with a canary behind each."""

from __future__ import annotations

import ctypes

import numpy as np

from .arrow_nodes import INDEX_FORMATS, Laid
from .case import Case, Column
from .column_types import BOOL, DICTIONARY, INT64, UINT32
from .library import Handle, abi, call
from .output import (
    NO_ROW,
    Output,
    check,
    check_null_count,
    no_values,
    of_dictionary,
    words_between,
    words_of_views,
)
from .way import Reading

_CANARY = 0x5A
_CANARY_BYTES = 16
_COLUMN = 1
_INDICES = {"left": 2, "right": 3}


class _Buffer:
    """Memory for the library to write to, with a canary after its end."""

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes
        self.data = np.full(nbytes + _CANARY_BYTES, _CANARY, np.uint8)
        self.address = self.data.ctypes.data

    def check(self) -> None:
        check(bool((self.data[self.nbytes :] == _CANARY).all()), "wrote past the end of a buffer")

    def values(self, dtype: np.dtype, rows: int) -> np.ndarray:
        return self.data[: rows * dtype.itemsize].view(dtype)

    def bits(self, rows: int) -> np.ndarray:
        return np.unpackbits(self.data[: (rows + 7) // 8], count=rows, bitorder="little") == 1

    def raw(self, nbytes: int) -> bytes:
        return self.data[:nbytes].tobytes()


def _bitmap(rows: int) -> int:
    return (rows + 7) // 8


class _Request:
    """One of the fetches of a call."""

    def __init__(self, fetch, what: int, column: int, number: int) -> None:
        self.fetch = fetch
        fetch.struct_size = ctypes.sizeof(abi.Fetch)
        fetch.what, fetch.column, fetch.type = what, column, number
        self._buffers: dict[str, _Buffer] = {}

    def give(self, field: str, nbytes: int) -> None:
        """Memory for `field`, of which there is a size beside it."""
        buffer = self._buffers[field] = _Buffer(nbytes)
        setattr(self.fetch, field, buffer.address)
        setattr(self.fetch, field + "_bytes", nbytes)

    def check(self) -> None:
        for buffer in self._buffers.values():
            buffer.check()

    def buffer(self, field: str) -> _Buffer:
        return self._buffers[field]

    def valid(self, rows: int) -> np.ndarray | None:
        valid = self._buffers["validity"].bits(rows) if "validity" in self._buffers else None
        check_null_count(valid, self.fetch.null_count)
        return valid


def fetch_page(
    result: Handle, case: Case, reading: Reading, laid: dict[str, dict], page, most_rows: int
) -> Output:
    sides = [side for side in case.kind.sides if case.pairs]
    outputs = case.output_columns()
    count = len(sides) + len(outputs) + case.kind.has_mark
    fetches = (abi.Fetch * max(1, count))()
    requests = []
    index_dtype = np.dtype(np.uint32 if reading.uint32 else np.int64)
    for n, side in enumerate(sides):
        number = UINT32 if reading.uint32 else (INT64 if n else 0)
        requests.append(_Request(fetches[n], _INDICES[side], 0, number))
        requests[-1].give("data", most_rows * index_dtype.itemsize)
    texts = []
    for i, (side, column) in enumerate(outputs):
        lies = laid[side][column.name]
        number = DICTIONARY if lies.wrap == "dictionary" else column.type.number
        request = _Request(fetches[len(requests)], _COLUMN, i, number if i % 2 else 0)
        requests.append(request)
        if not (reading.bare and _has_no_null(case, side, column)):
            request.give("validity", _bitmap(most_rows))
        if column.type.layout == "text" and lies.wrap != "dictionary":
            texts.append((request, column))
            request.give("offsets", (most_rows + 1) * _offset_dtype(column).itemsize)
        elif (nbytes := _data_bytes(column, lies, most_rows)) is not None:
            request.give("data", nbytes)
    if case.kind.has_mark:
        requests.append(_Request(fetches[count - 1], _COLUMN, len(outputs), BOOL))
        requests[-1].give("data", _bitmap(most_rows))
        requests[-1].give("validity", _bitmap(most_rows))
    _call(result, page, fetches, count, texts, reading.roomy, most_rows)
    rows = most_rows if page is None else page.rows
    for request in requests:
        request.check()

    indices = {
        side: _row_numbers(request.buffer("data").values(index_dtype, rows))
        for side, request in zip(sides, requests)
    }
    columns = [
        _values(request, column, laid[side][column.name], rows)
        for request, (side, column) in zip(requests[len(sides) :], outputs)
    ]
    mark = None
    if case.kind.has_mark:
        valid = requests[-1].valid(rows)
        mark = np.where(valid, requests[-1].buffer("data").bits(rows), NO_ROW).astype(np.int64)
    return Output(rows, indices, columns, mark)


def _call(result: Handle, page, fetches, count: int, texts: list, roomy: bool, rows: int) -> None:
    """Text is measured first, by its offsets alone; or there is room for anything."""
    given_page = ctypes.byref(page) if page is not None else None
    first_row = page.first_row if page is not None else 0
    if texts and not roomy:
        call("result_fetch", result.pointer, given_page, fetches, count)
        if page is not None:
            page.first_row = first_row
    for request, column in texts:
        # Of all values only where it is asked for: results of small pieces are many.
        longest = max(map(len, column.values.tolist()), default=0) if roomy else 0
        request.give("data", rows * longest if roomy else request.fetch.text_bytes)
        request.fetch.text_bytes = 0
    if not texts or roomy:
        call("result_fetch", result.pointer, given_page, fetches, count)
        return
    measured = [bytes(request.buffer("offsets").data) for request, _ in texts]
    call("result_fetch", result.pointer, given_page, fetches, count)
    again = [bytes(request.buffer("offsets").data) for request, _ in texts]
    check(measured == again, "offsets that come alone are others than those that come with text")


def _offset_dtype(column: Column) -> np.dtype:
    return np.dtype(np.int32 if column.type.format in "uz" else np.int64)


def _index_dtype(lies: Laid) -> np.dtype:
    return np.dtype(INDEX_FORMATS[lies.indices])


def _data_bytes(column: Column, lies: Laid, rows: int) -> int | None:
    if lies.wrap == "dictionary":
        return rows * _index_dtype(lies).itemsize
    if column.type.layout == "nulls":
        return None
    return _bitmap(rows) if column.type.layout == "bits" else rows * column.type.width


def _has_no_null(case: Case, side: str, column: Column) -> bool:
    other = "right" if side == "left" else "left"
    return column.valid is None and not case.kind.unmatched(other)


def _row_numbers(numbers: np.ndarray) -> np.ndarray:
    """As int64; GPUJOIN_NO_ROW is the last uint32."""
    if numbers.dtype == np.uint32:
        return np.where(numbers == 0xFFFFFFFF, NO_ROW, numbers.astype(np.int64))
    return numbers


def _values(
    request: _Request, column: Column, lies: Laid, rows: int
) -> tuple[np.ndarray, np.ndarray | None]:
    layout = column.type.layout
    if layout == "nulls":
        said = request.fetch.null_count
        check(said == rows, f"null_count is {said} of {rows} rows that are all NULL")
        return no_values(column.type, rows)
    valid = request.valid(rows)
    if lies.wrap == "dictionary":
        indices = request.buffer("data").values(_index_dtype(lies), rows)
        return of_dictionary(indices, valid, lies.values)
    if layout == "bits":
        return request.buffer("data").bits(rows), valid
    if layout == "text":
        offsets = request.buffer("offsets").values(_offset_dtype(column), rows + 1)
        check(offsets[0] == 0, f"the offsets of text begin with {offsets[0]}")
        nbytes = request.fetch.text_bytes
        check(offsets[-1] == nbytes, f"text_bytes is {nbytes}, and offsets end at {offsets[-1]}")
        return words_between(offsets, request.buffer("data").raw(nbytes)), valid
    if layout == "views":
        views = request.buffer("data").raw(16 * rows)
        return words_of_views(views, valid, lies.buffers), valid
    return request.buffer("data").values(column.type.dtype, rows), valid
