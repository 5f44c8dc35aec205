"""Reads a result: by gpujoin_result_fetch or as Arrow, whole or page by page."""

from __future__ import annotations

import ctypes
from ctypes import c_int64

import numpy as np

from .case import Case
from .library import Handle, abi, call
from .output import BadResult, Output, check
from .read_arrow import export_page
from .read_fetch import fetch_page
from .way import Reading

__all__ = ["BadResult", "Output", "read"]
_MOST_PAGES = 40


def read(result: Handle, case: Case, reading: Reading, laid: dict[str, dict]) -> Output:
    """laid  how the columns of each side were laid out, by their names"""
    rows = c_int64()
    call("result_get_rows", result.pointer, ctypes.byref(rows))
    page_of = fetch_page if reading.form == "fetch" else export_page
    if not reading.pages and not reading.bytes:
        whole = page_of(result, case, reading, laid, None, rows.value)
        check(whole.rows == rows.value, f"the whole result is {whole.rows} of {rows.value} rows")
        return whole
    most = rows.value // reading.pages + 1 if reading.pages else 0
    page = abi.Page(max_rows=most, max_bytes=reading.bytes)
    pages = []
    seen = 0
    while True:
        at_most = min(most or rows.value, rows.value)
        pages.append(page_of(result, case, reading, laid, page, at_most))
        seen += page.rows
        check(page.first_row == seen, f"first_row is {page.first_row} after {seen} rows")
        check(not most or page.rows <= most, f"a page has {page.rows} rows, {most} at most")
        if page.rows == 0:
            break
        if reading.bytes and len(pages) == _MOST_PAGES:  # the rest at once
            page.max_bytes = 0
    check(seen == rows.value, f"the pages have {seen} of {rows.value} rows")
    return concatenated(pages)


def concatenated(pages: list[Output]) -> Output:
    """expected: pages is not empty."""

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
