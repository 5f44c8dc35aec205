"""The library, by its C ABI: the structs and the loading of the Python binding, without the rest of
it, so that nothing stands between a case and the library, and pyarrow is not needed."""

from __future__ import annotations

import ctypes
import os
import sys
import tempfile
import types
from collections.abc import Iterator
from ctypes import POINTER, c_int32, c_int64, c_void_p
from pathlib import Path

ROOT = Path(__file__).parents[2]
BUILDS = ("cpu", "release", "dev")

OK = 0
UNSUPPORTED = 3
TYPE = 4
ILLEGAL_PLAN = 5
MEMORY_LIMIT = 7
TOO_MANY_ROWS = 8
NO_DEVICE = 11
SEVERAL_MATCHES = 16
BROKEN_PROMISE = 20
EVALUATION = 17
ROW_LIMIT = 18
BYTE_LIMIT = 19


def _abi_module() -> types.ModuleType:
    """gpujoin._abi without gpujoin/__init__.py, which imports pyarrow."""
    if "gpujoin" not in sys.modules:
        package = types.ModuleType("gpujoin")
        package.__path__ = [str(ROOT / "bindings" / "python" / "gpujoin")]
        sys.modules["gpujoin"] = package
    from gpujoin import _abi

    return _abi


abi = _abi_module()
Column = sys.modules["gpujoin._structs"].Column


class Answered(Exception):
    """A function answered another status than GPUJOIN_OK."""

    def __init__(self, function: str, status: int, message: str) -> None:
        super().__init__(f"{function}: {status}: {message}")
        self.status = status
        self.message = message


_HANDLE, _OUT = abi.HANDLE, abi.OUT
# Functions that the Python binding does not call.
_FUNCTIONS = {
    "relation_create": [_HANDLE, c_int64, POINTER(Column), c_int32, _OUT],
    "join": [
        *(_HANDLE, _HANDLE, _HANDLE),
        *(POINTER(abi.JoinSpec), POINTER(abi.PlanOptions), _OUT),
    ],
    "result_export_device": [
        *(_HANDLE, POINTER(abi.Page)),
        *(POINTER(abi.ArrowSchema), POINTER(abi.ArrowDeviceArray)),
    ],
}

_loaded: ctypes.CDLL | None = None


def load(path: str | None = None) -> ctypes.CDLL:
    """The library at `path`, else at GPUJOIN_LIBRARY, else the first that was built here."""
    global _loaded
    if _loaded is None:
        built = [ROOT / "build" / preset / "libgpujoin.so" for preset in BUILDS]
        found = path or os.environ.get(abi.ENVIRONMENT) or next(filter(Path.exists, built), None)
        if found:
            os.environ[abi.ENVIRONMENT] = str(found)
        _loaded = abi.library()
        for name, arguments in _FUNCTIONS.items():
            function = getattr(_loaded, "gpujoin_" + name)
            function.argtypes = [*arguments, abi.ERROR]
            function.restype = c_int32
    return _loaded


_error = abi.Error()  # one call at a time in a process


def call(name: str, *arguments) -> None:
    """gpujoin_<name>. Errors: Answered."""
    status = getattr(_loaded, "gpujoin_" + name)(*arguments, ctypes.byref(_error))
    if status != OK:
        raise Answered(name, status, abi.text(_error.message))


class Handle:
    """Owns a handle until the end of a with block."""

    def __init__(self, noun: str) -> None:
        self._destroy = getattr(_loaded, f"gpujoin_{noun}_destroy")
        self.pointer = c_void_p()
        self.out = ctypes.byref(self.pointer)

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def close(self) -> None:
        self._destroy(self.pointer)
        self.pointer.value = None


_contexts: dict[tuple, Handle] = {}


def context(
    device: str, threads: int = 0, limit_bytes: int = 0, host_bytes: int = 0
) -> c_void_p:
    """A context of these options; each is made once, so that its pools serve many joins.

    host_bytes  beyond which builds and probes spill; 0 = they do not
    """
    options = (abi.DEVICES[device], threads, limit_bytes, host_bytes)
    if options not in _contexts:
        handle = Handle("context")
        given = abi.ContextOptions(
            device=options[0],
            cpu_threads=threads,
            memory_limit_bytes=limit_bytes,
            host_limit_bytes=host_bytes,
            spill_path=tempfile.gettempdir().encode() if host_bytes else None,
        )
        call("context_create", ctypes.byref(given), handle.out)
        _contexts[options] = handle
    return _contexts[options].pointer


def device_of(context_pointer: c_void_p) -> str:
    info = abi.ContextInfo()
    call("context_get_info", context_pointer, ctypes.byref(info))
    return "cpu" if info.device == abi.DEVICES["cpu"] else "cuda"


def memory_after_trim() -> Iterator[tuple[tuple, int]]:
    """(options, bytes) of each context: what its pools hold once their cache is given back."""
    for options, handle in _contexts.items():
        call("context_trim", handle.pointer)
        info = abi.ContextInfo()
        call("context_get_info", handle.pointer, ctypes.byref(info))
        yield options, info.memory_used_bytes
