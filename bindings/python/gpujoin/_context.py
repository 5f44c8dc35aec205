"""Context: a device, its memory and its callbacks."""

from __future__ import annotations

import ctypes
import itertools
import logging
import os
import re
import threading
import time
import weakref
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Callable

from . import _abi
from ._arguments import INT32, UINT64, path_bytes, whole
from ._threads import run_beside
from .errors import Cancelled, InvalidArgument

Log = Callable[[int, str], Any]
Progress = Callable[[str, int, int], Any]

_UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}
_THREADS_OF = {"own": 0, "caller": 1}
_LEVELS = {1: logging.DEBUG, 2: logging.INFO, 3: logging.WARNING}


def parse_bytes(argument: str, size: Any) -> int:
    """8 * 2**30 for "8GiB", "8 GB", "8g" or 8589934592: units are powers of 1024.

    Errors: InvalidArgument.
    """
    if isinstance(size, str):
        match = re.fullmatch(r"\s*(\d{1,30}(?:\.\d{1,30})?)\s*([kmgt]?)(?:i?b)?\s*", size.lower())
        if not match:
            raise InvalidArgument(f"{argument} {size!r} is not a size such as 8GiB")
        size = int(Fraction(match[1]) * (1 << _UNITS[match[2]]))
    return whole(argument, size, 1, UINT64)


def choose(what: str, names: dict[str, int], name: str | None) -> int:
    """The library's number for a name; "-" and upper case are allowed, None is "auto".

    Errors: InvalidArgument.
    """
    if name is None:
        name = "auto"
    number = names.get(name.lower().replace("-", "_")) if isinstance(name, str) else None
    if number is None:
        raise InvalidArgument(f"{what} {name!r} is none of {', '.join(names)}")
    return number


def name_of(names: dict[str, int], number: int) -> str:
    """The name that choose() takes for a number."""
    return next((name for name, value in names.items() if value == number), str(number))


@dataclass(frozen=True)
class ContextInfo:
    """What a context runs on. Sizes are bytes; memory_limit is None where there is no limit."""

    device: str  # "cuda" or "cpu"
    device_name: str
    reason: str  # why this device was taken
    cuda_device: int | None
    threads: int
    memory_limit: int | None
    memory_used: int
    memory_peak: int
    host_used: int
    host_peak: int
    pinned_used: int
    spill_used: int
    spill_peak: int


class Context:
    """A device, a memory pool with a limit, and callbacks. Make one and keep it: it starts CUDA.

    device        "auto" (CUDA when it can be used, else the CPU; info().reason says why), "cuda",
                  "cuda:1" for another GPU than the first, or "cpu"
    memory_limit  bytes, or text such as "8GiB", of the memory that joins run in; None = no limit
    threads       of the CPU executor; None = all that this process may run on. More than those are
                  not made: info().threads says how many run
    threads_of    whose threads the CPU executor runs on. "own": the library's. "caller": the thread
                  that calls, alone, or with those of the oneTBB arena that it is in: no thread is
                  started, and Ctrl-C waits for the join or its next call of progress. For programs
                  with threads of their own, each of which joins or probes; `threads` is then what
                  the planner reckons with
    log           called with a level of the logging module and a line of text:
                  log=logging.getLogger("gpujoin").log
    progress      called between the steps of a join with (stage, steps done, steps in all); a true
                  answer cancels the join, and an exception cancels it and is raised from the call
    calibration   a file that calibrate() wrote on this machine: plans are weighed by its figures;
                  None = by those built in for the architecture
    host_limit, pinned_limit
                  of host memory that the library allocates, and of page-locked memory (CUDA), as
                  memory_limit; on the CPU the smaller of host_limit and memory_limit counts
    spill_path    an existing folder for rows that no limit has room for: those of a Build and its
                  probes. Nothing is left there when the process ends; None = none
    spill_limit   of all files there together; None = no limit

    Any thread may call, and calls on one context run side by side, within its memory limit;
    calibrate() wants to be alone. A join started in the main thread runs in a thread of its own, so
    that Ctrl-C cancels it, but for joins of so few rows that they take a millisecond, and with
    threads_of="caller"; log and progress are called in the thread of the join, of several joins at
    the same time. They must not call this package.

    Errors: NoDevice (device "cuda" only), InvalidArgument, OutOfMemory, CudaError, LibraryNotFound.
    """

    def __init__(
        self,
        device: str = "auto",
        memory_limit: int | str | None = None,
        threads: int | None = None,
        log: Log | None = None,
        progress: Progress | None = None,
        calibration: str | os.PathLike[str] | None = None,
        host_limit: int | str | None = None,
        pinned_limit: int | str | None = None,
        spill_path: str | os.PathLike[str] | None = None,
        spill_limit: int | str | None = None,
        threads_of: str = "own",
    ) -> None:
        kind, cuda_device = _device_of(device)
        for name, function in (("log", log), ("progress", progress)):
            if function is not None and not callable(function):
                raise InvalidArgument(f"{name} is a {type(function).__name__}, not a function")
        self._log = log
        self._progress = progress
        self._callbacks = _Callbacks()
        self._requests = 0  # to cancel, by cancel()
        self._interrupts = 0  # and by Ctrl-C, which means one call alone
        self._late_cancel = False
        of = choose("threads_of", _THREADS_OF, threads_of)
        self._is_on_callers_thread = of == _THREADS_OF["caller"]
        options = _abi.ContextOptions(
            device=kind,
            cuda_device_id=cuda_device,
            # Zero is the library's word for "none given".
            cpu_threads=0 if threads is None else whole("threads", threads, 1, INT32),
            memory_limit_bytes=(
                0 if memory_limit is None else parse_bytes("memory_limit", memory_limit)
            ),
            threads=of,
        )
        for name, size in (
            ("host_limit", host_limit),
            ("pinned_limit", pinned_limit),
            ("spill_limit", spill_limit),
        ):
            if size is not None:
                setattr(options, name + "_bytes", parse_bytes(name, size))
        if spill_path is not None:
            options.spill_path = path_bytes("spill_path", spill_path)
        if calibration is not None:
            options.calibration_path = path_bytes("calibration", calibration)
        number = next(_numbers)
        _contexts[number] = self
        if log is not None:
            options.log, options.log_user = _on_log, number
        if progress is not None:
            options.progress, options.progress_user = _on_progress, number
        self._handle = _abi.Handle("context")
        _abi.invoke("context_create", ctypes.byref(options), self._handle.out)

    def info(self) -> ContextInfo:
        """The device, why it was taken, and the memory in use."""
        raw = _abi.ContextInfo()
        self._call("context_get_info", self._handle, ctypes.byref(raw))
        return ContextInfo(
            device=name_of(_abi.DEVICES, raw.device),
            device_name=_abi.text(raw.device_name),
            reason=_abi.text(raw.reason),
            cuda_device=None if raw.cuda_device_id < 0 else raw.cuda_device_id,
            threads=raw.cpu_threads,
            memory_limit=raw.memory_limit_bytes or None,
            memory_used=raw.memory_used_bytes,
            memory_peak=raw.memory_peak_bytes,
            host_used=raw.host_used_bytes,
            host_peak=raw.host_peak_bytes,
            pinned_used=raw.pinned_used_bytes,
            spill_used=raw.spill_used_bytes,
            spill_peak=raw.spill_peak_bytes,
        )

    def cancel(self) -> None:
        """Stops the plannings and joins that run now, or else the next one: they raise Cancelled.

        From any thread.
        """
        self._late_cancel = False
        self._requests += 1
        _abi.invoke("context_cancel", self._handle)

    def calibrate(self, path: str | os.PathLike[str]) -> None:
        """Measures what the planner has to know of this machine, and uses it from now on.

        Takes seconds. The file is for Context(calibration=path); one that is there is replaced.
        Errors: InvalidArgument (the file cannot be written), OutOfMemory, MemoryLimit, Cancelled.
        """
        self._call_long("context_calibrate", self._handle, path_bytes("path", path), out=None)

    def trim(self) -> None:
        """Gives cached memory that nothing uses back to the system."""
        self._call("context_trim", self._handle)

    def close(self) -> None:
        """Lets go of the device. Plans and results made with the context stay valid."""
        self._handle.close()

    def __enter__(self) -> Context:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _call(self, name: str, *arguments: Any) -> None:
        """A call that does not take long."""
        _abi.invoke(name, *arguments)

    def _call_long(
        self, name: str, *arguments: Any, out: _abi.Handle | None, is_short: bool = False
    ) -> None:
        """A planning, an execution or a calibration: Ctrl-C in the main thread cancels it.

        The call is then made by another thread: should a second Ctrl-C make the main thread leave
        before it is over, Python waits for it before it exits. is_short: it takes a few
        milliseconds at most, less than another thread does, so Ctrl-C may wait for it.
        """
        call = _LongCall()
        # A progress function may take its time.
        is_short = is_short and self._progress is None
        stays = is_short or self._is_on_callers_thread
        if stays or threading.current_thread() is not threading.main_thread():
            self._make(call, name, arguments, out)
            return

        def work() -> None:
            try:
                if call.claim():
                    self._make(call, name, arguments, out)
            except BaseException as error:
                call.error = error
            finally:
                call.is_over = True
                call.done.release()

        try:
            run_beside(work)
            call.done.acquire()  # not an Event: its wait() does not bear being interrupted
        except BaseException:  # KeyboardInterrupt, or what a signal handler raised
            if not call.claim():  # it has begun
                call.is_interrupted = self._late_cancel = True
                self._interrupts += 1
                if self._handle.pointer:
                    _abi.invoke("context_cancel", self._handle)
                while not call.is_over:
                    time.sleep(0.002)
            raise
        if call.error is not None:
            try:
                raise call.error
            finally:
                del call  # else the error keeps itself, and what was joined, alive

    def _make(
        self, call: _LongCall, name: str, arguments: tuple[Any, ...], out: _abi.Handle | None
    ) -> None:
        callbacks = self._callbacks
        callbacks.error, callbacks.cancelled = None, False
        requests, interrupts = self._requests, self._interrupts
        try:
            _abi.invoke(name, *arguments, *([] if out is None else [out.out]))
        except Cancelled:
            error, callbacks.error = callbacks.error, None
            if error is not None:
                raise error from None
            is_meant = call.is_interrupted or callbacks.cancelled or self._requests != requests
            if is_meant or not (self._late_cancel or self._interrupts != interrupts):
                raise
            # A Ctrl-C meant another call, which was over when the request came or ran beside this
            # one.
            self._late_cancel = False
            self._make(call, name, arguments, out)


class _Callbacks(threading.local):
    """What the progress function of the calling thread's join did."""

    error: BaseException | None = None
    cancelled = False


class _LongCall:
    """A call made by another thread than the one that wants it."""

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self.done = threading.Lock()
        self.done.acquire()
        self.is_over = False
        self.is_interrupted = False
        self._claim = threading.Lock()

    def claim(self) -> bool:
        """True for the first who asks: the thread that makes it, or the one that gives it up."""
        return self._claim.acquire(blocking=False)


def _device_of(device: Any) -> tuple[int, int]:
    """The library's numbers of the executor and of the GPU. Errors: InvalidArgument."""
    match = re.fullmatch(r"(auto|cpu|cuda)|cuda:([0-9]{1,30})", str(device).lower())
    if not match:
        raise InvalidArgument(f"device {device!r} is none of auto, cuda, cuda:N, cpu")
    ordinal = whole("device: the number of the GPU", int(match[2] or 0), 0, INT32)
    return _abi.DEVICES[match[1] or "cuda"], ordinal


# The library's callbacks are these two for as long as the process lives, so that none is called
# after it was freed; `user` is the number of the context.
_contexts: weakref.WeakValueDictionary[int, Context] = weakref.WeakValueDictionary()
_numbers = itertools.count(1)


@_abi.LogFunction
def _on_log(level: int, message: bytes, user: int) -> None:
    context = _contexts.get(user)
    if context is not None and context._log is not None:
        context._log(_LEVELS.get(level, logging.INFO), _abi.text(message))


@_abi.ProgressFunction
def _on_progress(stage: bytes, done: int, total: int, user: int) -> int:
    context = _contexts.get(user)
    if context is None or context._progress is None:
        return 0
    callbacks = context._callbacks
    try:
        callbacks.cancelled = bool(context._progress(_abi.text(stage), done, total))
    except BaseException as error:
        callbacks.error = error
        return 1
    return 1 if callbacks.cancelled else 0


def context_or_default(context: Context | None) -> Context:
    """What an argument `context` means. Errors: InvalidArgument."""
    if context is None:
        return default_context()
    if not isinstance(context, Context):
        raise InvalidArgument(f"context is a {type(context).__name__}, not a gpujoin.Context")
    return context


_default: Context | None = None
_default_process = 0
_default_lock = threading.Lock()


def default_context() -> Context:
    """The context that calls without one share: one a process, device "auto"."""
    global _default, _default_process
    with _default_lock:
        if _default is None or _default_process != os.getpid():
            _default, _default_process = Context(), os.getpid()
        return _default
