"""The C ABI of libgpujoin for ctypes. include/gpujoin.h is the manual; names and order are its."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
from collections.abc import Iterator
from ctypes import POINTER, c_char_p, c_int32, c_int64, c_size_t, c_uint64, c_void_p
from pathlib import Path
from typing import Any

from ._abi_check import mismatch_of
from ._structs import (
    ArrowArray,
    ArrowSchema,
    BuildInfo,
    BuildOptions,
    Column,
    ContextInfo,
    ContextOptions,
    Estimate,
    ExpectedJoin,
    Error,
    Fetch,
    JoinSpec,
    KeyFilterInfo,
    KeyFilterOptions,
    OperationOptions,
    Page,
    PlanOptions,
    Progress,
    Selection,
    SequenceSpec,
    StageStatistics,
    Statistics,
)
from ._structs import Aggregate as Aggregate  # for who imports this module
from ._structs import AppliedFilter as AppliedFilter
from ._structs import ArrowDeviceArray as ArrowDeviceArray
from ._structs import Asof as Asof
from ._structs import Condition as Condition
from ._structs import DecideFunction as DecideFunction
from ._structs import ExpectedColumn as ExpectedColumn
from ._structs import ExpectedSide as ExpectedSide
from ._structs import LogFunction as LogFunction
from ._structs import Node as Node
from ._structs import ProgressFunction as ProgressFunction
from ._structs import SequenceStep as SequenceStep
from ._structs import Struct as Struct
from ._version import __version__
from .errors import InvalidArgument, LibraryNotFound, error_of

VERSION = tuple(map(int, __version__.split(".")[:2]))  # of the header that this file follows
ENVIRONMENT = "GPUJOIN_LIBRARY"
NAMES = ("libgpujoin.so.0.2", "libgpujoin.so.0", "libgpujoin.so")

DEVICES = {"auto": 0, "cuda": 1, "cpu": 2}
ALGORITHMS = {
    "auto": 0,
    "nop": 1,
    "phj_om": 2,
    "phj_gfur": 3,
    "smj_om": 4,
    "smj_um": 5,
    "cpu_radix": 6,
    "phj_um": 7,
    "row_multiset": 8,
    "phj_carried": 9,
    "nop_carried": 10,
    "direct_carried": 11,
    "smj_carried": 12,
    "pdj_carried": 13,
}


def _numbered(*names: str) -> dict[str, int]:
    return {name: number for number, name in enumerate(("auto", *names))}


TRANSFERS = _numbered(
    "none",
    "explicit_copies",
    "overlapped_copies",
    "managed",
    "managed_prefetch",
    "zero_copy",
    "probe_chunks",
)
TRANSFORMS = _numbered(
    "none",
    "radix_onesweep",
    "radix_sort",
    "histogram_thread",
    "histogram_warp",
    "histogram_block",
    "bucket_chains",
    "merge_sort",
    "radix_unordered",
    "write_combined",
)
SKEWS = _numbered("none", "work_units", "redistributed_blocks", "child_kernels")
MATCHES = _numbered(
    "global_table",
    "co_partitions",
    "merge_path",
    "nested_loop",
    "merge_two_bounds",
    "merge_one_bound",
    "row_multiset",
    "direct_table",
    "merge_tiles",
)
OUTPUTS = _numbered(
    "grown", "counted", "thread_pages", "block_chunks", "two_passes", "estimated_groups"
)
GATHERS = {"auto": 0, "untransformed": 1, "transformed": 2, "carried": 3, "carried_rows": 4}
FILTERS = {"auto": 0, "none": 1, "key_bits": 2, "key_hashes": 3}
KEY_FILTERS = _numbered("none", "min_max", "bitmap", "bloom")
SIDES = {"auto": 0, "left": 1, "right": 2}

ORDERS = {"auto": 0, "probe": 1, "left": 2, "right": 3}

MATERIALIZE = {"auto": 0, "as_they_come": 1, "at_the_end": 2}

OUTPUT_COLUMNS = 1
OUTPUT_PAIRS = 2

KEY_NULL_EQUAL = 1
KEY_IEEE_FLOAT = 2

SELECTION_BITMAP = 1
SELECTION_ROWS = 2

FETCH_LEFT_INDEX = 2
FETCH_RIGHT_INDEX = 3
TYPE_INT64 = 4
TYPE_UINT32 = 7
MEMORY_HOST = 1

ARROW_DEVICE_CPU = 1

HANDLE = c_void_p
OUT = POINTER(c_void_p)
ERROR = POINTER(Error)

# name: argument types, the error excepted. All of these answer a status and take an error last.
FUNCTIONS: dict[str, list[Any]] = {
    "context_create": [POINTER(ContextOptions), OUT],
    "context_get_info": [HANDLE, POINTER(ContextInfo)],
    "context_cancel": [HANDLE],
    "context_calibrate": [HANDLE, c_char_p],
    "context_trim": [HANDLE],
    "relation_create": [HANDLE, c_int64, POINTER(Column), c_int32, OUT],
    "relation_import": [HANDLE, c_void_p, c_void_p, OUT],
    "relation_import_device": [HANDLE, c_void_p, c_void_p, OUT],
    "relation_get_size": [HANDLE, POINTER(c_int64), POINTER(c_int32)],
    "relation_select": [HANDLE, POINTER(Selection), OUT],
    "plan_create": [HANDLE, HANDLE, HANDLE, POINTER(JoinSpec), POINTER(PlanOptions), OUT],
    "plan_explain": [HANDLE, c_char_p, POINTER(c_size_t)],
    "plan_execute": [HANDLE, OUT],
    "plan_cancel": [HANDLE],
    "estimate_join": [HANDLE, POINTER(ExpectedJoin), POINTER(Estimate)],
    "plan_count": [HANDLE, POINTER(c_int64), POINTER(c_uint64)],
    "join_sequence": [HANDLE, HANDLE, POINTER(SequenceSpec), POINTER(PlanOptions), OUT],
    "result_decide": [HANDLE, HANDLE, OUT],
    "result_get_rows": [HANDLE, POINTER(c_int64)],
    "result_fetch": [HANDLE, POINTER(Page), POINTER(Fetch), c_int32],
    "result_export": [HANDLE, POINTER(Page), POINTER(ArrowSchema), POINTER(ArrowArray)],
    "result_get_statistics": [HANDLE, POINTER(Statistics)],
    "result_get_stage": [HANDLE, c_int32, POINTER(StageStatistics)],
    "build_create": [
        *(HANDLE, HANDLE, POINTER(c_int32), c_int32, POINTER(c_int32)),
        *(POINTER(BuildOptions), OUT),
    ],
    "build_append": [HANDLE, HANDLE, c_int64],
    "build_finish": [HANDLE],
    "build_get_info": [HANDLE, POINTER(BuildInfo)],
    "build_cancel": [HANDLE],
    "build_get_filter": [HANDLE, c_int32, POINTER(KeyFilterOptions), OUT],
    "key_filter_get_info": [HANDLE, POINTER(KeyFilterInfo)],
    "key_filter_test": [
        *(HANDLE, HANDLE, POINTER(c_int32), c_int32, c_void_p, c_int32, POINTER(c_int64)),
    ],
    "operation_create": [HANDLE, HANDLE, POINTER(JoinSpec), POINTER(OperationOptions), OUT],
    "operation_explain": [HANDLE, c_char_p, POINTER(c_size_t)],
    "operation_close": [HANDLE],
    "operation_next": [HANDLE, POINTER(c_int32), OUT],
    "operation_cancel": [HANDLE],
    "operation_get_progress": [HANDLE, POINTER(Progress)],
    "probe_create": [HANDLE, OUT],
    "probe_append": [HANDLE, HANDLE, c_int64],
    "probe_flush": [HANDLE],
    "probe_next": [HANDLE, POINTER(c_int32), OUT],
    "probe_finish": [HANDLE],
}
HANDLE_TYPES = (
    *("context", "relation", "plan", "result", "build", "key_filter", "operation", "probe"),
)

STATE_READY = 1
STATE_FINISHED = 2

_library: ctypes.CDLL | None = None


def _candidates() -> Iterator[str]:
    named = os.environ.get(ENVIRONMENT)
    if named:
        yield named
        return
    beside = Path(__file__).parent
    yield from (str(beside / name) for name in NAMES if (beside / name).exists())
    yield from NAMES
    found = ctypes.util.find_library("gpujoin")
    if found:
        yield found


def library() -> ctypes.CDLL:
    """The library, loaded at the first call.

    It is looked for under the path in the environment variable GPUJOIN_LIBRARY, and nowhere else
    when that is set; then beside this package; then by name, as the system's loader does.
    Errors: LibraryNotFound, which says what was tried.
    """
    global _library
    if _library is None:
        _library = _load()
    return _library


def check_library() -> None:
    """Loads the library where there is one, so that a wrong one is found when this is imported.

    Errors: LibraryNotFound, an ImportError, of a library that is there and is of another version,
    lacks functions, or does not read the structs. One that is not there is left to the first call.
    """
    global _library
    if _library is None:
        _library, tried, is_there = _find()
        if _library is None and is_there:
            raise _not_found(tried)


def _load() -> ctypes.CDLL:
    found, tried, _ = _find()
    if found is None:
        raise _not_found(tried)
    return found


def _not_found(tried: list[str]) -> LibraryNotFound:
    return LibraryNotFound(
        f"libgpujoin was not found; set {ENVIRONMENT} to its path. Tried: " + "; ".join(tried)
    )


def _find() -> tuple[ctypes.CDLL | None, list[str], bool]:
    """The library, what is wrong with the candidates before it, and whether any is there."""
    tried = []
    is_there = False
    for path in _candidates():
        try:
            loaded = ctypes.CDLL(path)
        except OSError as error:
            tried.append(f"{path} ({error})")
            continue
        is_there = True
        complaint = _complaint_of(loaded)
        if complaint is None:
            return loaded, tried, is_there
        tried.append(f"{path} ({complaint})")
    return None, tried, is_there


def _complaint_of(loaded: ctypes.CDLL) -> str | None:
    """Why a library is not the one that this package is for."""
    try:
        number = loaded.gpujoin_version_number()
        version = (number // 10000, number // 100 % 100)
        if version != VERSION:
            wanted = ".".join(map(str, VERSION))
            return f"its version is {version[0]}.{version[1]}, not {wanted}"
        _declare(loaded)
    except AttributeError as error:
        return str(error)
    mismatch = mismatch_of(loaded)
    return None if mismatch is None else f"it is older than this package: {mismatch}"


def _declare(loaded: ctypes.CDLL) -> None:
    for name, arguments in FUNCTIONS.items():
        function = getattr(loaded, "gpujoin_" + name)
        function.argtypes = [*arguments, ERROR]
        function.restype = c_int32
    for name in HANDLE_TYPES:
        destroy = getattr(loaded, f"gpujoin_{name}_destroy")
        destroy.argtypes = [HANDLE]
        destroy.restype = None
    loaded.gpujoin_version_string.restype = c_char_p


def invoke(name: str, *arguments: Any) -> None:
    """Calls gpujoin_<name>; raises the exception of its status when that is not 0."""
    error = Error()
    values = [a.open_pointer() if isinstance(a, Handle) else a for a in arguments]
    status = getattr(library(), "gpujoin_" + name)(*values, ctypes.byref(error))
    if status != 0:
        message = error.message.decode("utf-8", "replace")
        raise error_of(status, message, error.cuda_code, bool(error.is_sticky))


class Handle:
    """Owns one gpujoin_<kind>; destroyed with the object, or earlier by close().

    Calls take it as it is, not its pointer: so it outlives a call in another thread.
    In a child made by fork nothing is destroyed: the handle is the parent's.
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._destroy = getattr(library(), f"gpujoin_{kind}_destroy")
        self._process = os.getpid()
        self.pointer = c_void_p()

    @property
    def out(self) -> Any:
        """What a create function takes as its `out`."""
        return ctypes.byref(self.pointer)

    def open_pointer(self) -> c_void_p:
        """The pointer. Errors: InvalidArgument, after close()."""
        if not self.pointer:
            raise InvalidArgument(f"the {self._kind} is closed")
        return self.pointer

    def close(self) -> None:
        pointer, self.pointer = self.pointer, c_void_p()
        if pointer and os.getpid() == self._process:
            self._destroy(pointer)

    def __del__(self) -> None:
        if hasattr(self, "pointer"):
            self.close()


def text(raw: bytes) -> str:
    """A fixed char array, or a const char*, as text."""
    return raw.decode("utf-8", "replace")
