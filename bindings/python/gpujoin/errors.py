"""One exception for each status of the library, and those of this package: all GpujoinError."""

from __future__ import annotations


class GpujoinError(Exception):
    """A call failed. Its text is the library's message; the message is not part of the interface.

    status     the library's status: GPUJOIN_ERROR_* in gpujoin.h
    cuda_code  the CUDA code behind it, or 0
    is_sticky  True when the GPU is lost for this process
    """

    default_status = 0

    def __init__(
        self, message: str, status: int = 0, cuda_code: int = 0, is_sticky: bool = False
    ) -> None:
        super().__init__(message)
        self.status = status or self.default_status
        self.cuda_code = cuda_code
        self.is_sticky = is_sticky


class LibraryNotFound(GpujoinError, ImportError):
    """No usable libgpujoin.so; raised by the first call that needs it."""

    def __init__(self, message: str) -> None:
        GpujoinError.__init__(self, message)


class InvalidArgument(GpujoinError, ValueError):
    """An argument cannot be right: an unknown column, an unknown technique, a negative size."""

    default_status = 1


class AbiMismatch(GpujoinError):
    """The library and this package disagree about a struct."""

    default_status = 2


class Unsupported(GpujoinError, NotImplementedError):
    """Well-formed, but this version cannot do it."""

    default_status = 3


class TypeMismatch(GpujoinError, TypeError):
    """A column's type cannot be used here, or two key types differ."""

    default_status = 4


class IllegalPlan(GpujoinError, ValueError):
    """The techniques named do not fit together."""

    default_status = 5


class OutOfMemory(GpujoinError, MemoryError):
    """The machine, or the device, had no memory left."""

    default_status = 6


class MemoryLimit(GpujoinError, MemoryError):
    """The context's memory_limit would be passed."""

    default_status = 7


class TooManyRows(GpujoinError, ValueError):
    """An input has 2^32 - 1 rows or more."""

    default_status = 8


class BufferTooSmall(GpujoinError):
    """A buffer is too small; a defect of this package."""

    default_status = 9


class Cancelled(GpujoinError):
    """Context.cancel(), or the progress callback, stopped the join."""

    default_status = 10


class NoDevice(GpujoinError):
    """CUDA was asked for and cannot be used."""

    default_status = 11


class CudaError(GpujoinError):
    """A CUDA call failed; the context stays usable."""

    default_status = 12


class DeviceLost(GpujoinError):
    """This process cannot use the GPU any more."""

    default_status = 13


class Forked(GpujoinError):
    """The context was made before fork(), in the parent process."""

    default_status = 14


class InternalError(GpujoinError):
    """A defect of the library."""

    default_status = 15


class SeveralMatches(GpujoinError, ValueError):
    """A row of a single join has more than one match; the message names the row."""

    default_status = 16


class EvaluationError(GpujoinError, ArithmeticError):
    """A condition or an aggregate has no value for some rows: an overflow, a division by zero."""

    default_status = 17


class RowLimit(GpujoinError):
    """The join has more rows than its row limit."""

    default_status = 18


class ByteLimit(GpujoinError):
    """The join's output has more bytes than its byte limit."""

    default_status = 19


class BrokenPromise(GpujoinError, ValueError):
    """What was promised of the data is not so; the message names the first row that shows it."""

    default_status = 20


class SpillError(GpujoinError, OSError):
    """The spill folder is full, passes its limit, or cannot be written or read."""

    default_status = 21


class NotReady(GpujoinError):
    """Rows wait to be joined: results are to be taken first; nothing is wrong."""

    default_status = 22


class DeadlineExceeded(GpujoinError, TimeoutError):
    """The call took longer than its timeout."""

    default_status = 23


class NotUnique(GpujoinError, ValueError):
    """Keys that join(validate=) wants to be unique are not; the message names one of them."""


_CLASSES = {cls.default_status: cls for cls in GpujoinError.__subclasses__() if cls.default_status}


def error_of(
    status: int, message: str, cuda_code: int = 0, is_sticky: bool = False
) -> GpujoinError:
    """The exception of a status; GpujoinError itself for a status unknown to this package."""
    cls = _CLASSES.get(status, GpujoinError)
    return cls(message or f"status {status}", status, cuda_code, is_sticky)
