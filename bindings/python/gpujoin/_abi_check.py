"""Whether a library reads the structs that this package sends: asked before the first call.

Structs grow at their ends, and gpujoin.h promises that a library refuses, with ABI_MISMATCH, a
field that it does not know and that is set. So each struct goes out with its last bytes set, in a
call that has to fail for another reason too: one argument is out of its range.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from ctypes import byref, c_int32, c_int64, c_void_p
from typing import Any

from . import _structs
from .errors import AbiMismatch

_NO_SUCH = -1
_CPU, _INT32, _INNER = 2, 3, 1


def mismatch_of(loaded: ctypes.CDLL) -> str | None:
    """What the library, whose functions are declared, says of the first struct it cannot read.

    Nothing is joined and no thread starts, so that a later fork finds the process as it was.
    Takes a tenth of a millisecond.
    """
    for name, arguments in _probes(loaded):
        error = _structs.Error()
        status = getattr(loaded, "gpujoin_" + name)(*arguments, byref(error))
        if status == AbiMismatch.default_status:
            return error.message.decode("utf-8", "replace")
    return None


def _ended(struct: Any, **fields: Any) -> Any:
    """A struct with its last bytes set."""
    made = struct(**fields)
    size = ctypes.sizeof(struct)
    ctypes.memset(ctypes.addressof(made) + size - 4, 0xFF, 4)
    return byref(made)


def _probes(loaded: ctypes.CDLL) -> Iterator[tuple[str, tuple[Any, ...]]]:
    handles = []

    def made(kind: str, name: str, *arguments: Any) -> c_void_p:
        out = c_void_p()
        getattr(loaded, "gpujoin_" + name)(*arguments, byref(out), None)
        handles.append((kind, out))
        return out

    try:
        out = c_void_p()
        wrong = _ended(_structs.ContextOptions, device=_NO_SUCH)
        yield "context_create", (wrong, byref(out))
        cpu = _structs.ContextOptions(device=_CPU, cpu_threads=1)
        context = made("context", "context_create", byref(cpu))
        yield "context_get_info", (context, _ended(_structs.ContextInfo))
        estimate = _ended(_structs.Estimate)
        yield "estimate_join", (context, _ended(_structs.ExpectedJoin), estimate)
        yield "relation_create", (context, 0, _ended(_structs.Column, type=_NO_SUCH), 1, byref(out))
        value = c_int32()
        column = _structs.Column(type=_INT32, data=ctypes.addressof(value))
        side = made("relation", "relation_create", context, c_int64(0), byref(column), 1)
        selection = _ended(_structs.Selection, form=_NO_SUCH)
        yield "relation_select", (side, selection, byref(out))
        spec = _ended(_structs.JoinSpec, kind=_NO_SUCH)
        yield "plan_create", (context, side, side, spec, None, byref(out))
        key = (c_int32 * 1)(0)
        fit = _structs.JoinSpec(kind=_INNER, key_count=1, left_keys=key, right_keys=key)
        options = _ended(_structs.PlanOptions, device=_NO_SUCH)
        yield "plan_create", (context, side, side, byref(fit), options, byref(out))
        options = _ended(_structs.BuildOptions, device=_NO_SUCH)
        yield "build_create", (context, side, key, 1, None, options, byref(out))
    finally:
        for kind, handle in reversed(handles):
            getattr(loaded, f"gpujoin_{kind}_destroy")(handle)
