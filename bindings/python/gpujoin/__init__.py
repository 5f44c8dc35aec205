"""Relational joins on an NVIDIA GPU, or on the CPU of a machine without one: libgpujoin for Python.

    import gpujoin
    result = gpujoin.join(orders, lines, left_on="o_orderkey", right_on="l_orderkey", how="left")
    table = result.to_table()  # or to_polars(), to_pandas()

Tables come and go as Arrow. `python -m gpujoin` joins files from the command line.
"""

from . import _program  # noqa: F401, I001, before all that loads pyarrow
from ._abi import check_library as _check_library
from ._abi import library as _library
from ._aggregate import aggregate
from ._asof import Asof
from ._build import Build, BuildInfo, Operation, Probe, Progress
from ._context import Context, ContextInfo
from ._estimate import Estimate, estimate
from ._filter import Filter
from ._merge import merge
from ._plan import Count, Plan, join, plan
from ._result import Result, Stage, Statistics
from ._sequence import join_sequence
from ._version import __version__ as __version__
from .errors import (
    AbiMismatch,
    BrokenPromise,
    BufferTooSmall,
    ByteLimit,
    Cancelled,
    CudaError,
    DeadlineExceeded,
    DeviceLost,
    EvaluationError,
    Forked,
    GpujoinError,
    IllegalPlan,
    InternalError,
    InvalidArgument,
    LibraryNotFound,
    MemoryLimit,
    NoDevice,
    NotReady,
    NotUnique,
    OutOfMemory,
    RowLimit,
    SeveralMatches,
    SpillError,
    TooManyRows,
    TypeMismatch,
    Unsupported,
)

if not _program.IS_PROGRAM:  # which prints an error in one line, of its first call
    _check_library()

__all__ = [
    "AbiMismatch",
    "Asof",
    "BrokenPromise",
    "Build",
    "BuildInfo",
    "BufferTooSmall",
    "ByteLimit",
    "Cancelled",
    "Context",
    "ContextInfo",
    "Count",
    "CudaError",
    "DeadlineExceeded",
    "DeviceLost",
    "Estimate",
    "EvaluationError",
    "Filter",
    "Forked",
    "GpujoinError",
    "IllegalPlan",
    "InternalError",
    "InvalidArgument",
    "LibraryNotFound",
    "MemoryLimit",
    "NoDevice",
    "NotReady",
    "NotUnique",
    "Operation",
    "OutOfMemory",
    "Plan",
    "Probe",
    "Progress",
    "Result",
    "RowLimit",
    "SeveralMatches",
    "SpillError",
    "Stage",
    "Statistics",
    "TooManyRows",
    "TypeMismatch",
    "Unsupported",
    "aggregate",
    "estimate",
    "join",
    "join_sequence",
    "library_version",
    "merge",
    "plan",
]


def library_version() -> str:
    """The version of the loaded library, for example "0.2.0". Errors: LibraryNotFound."""
    return _library().gpujoin_version_string().decode()
