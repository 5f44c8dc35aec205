"""The context that the command line joins in, and what its memory limit leaves to whom."""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass
from typing import Any

from ._arguments import INT32, whole
from ._cli_columns import UsageError
from ._context import Context, parse_bytes
from .errors import InvalidArgument


@dataclass(frozen=True)
class Shares:
    """Bytes of a memory limit. The rest is what the program itself and its libraries take.

    joins    of the library: the side that is kept, what is joined and what comes out
    reading  of batches that are read
    writing  of batches that wait to be written, and of those that are
    """

    limit: int

    @property
    def joins(self) -> int:
        return self.limit - self.reading - self.writing

    @property
    def reading(self) -> int:
        return self.limit // 8

    @property
    def writing(self) -> int:
        return self.limit // 8


def shares_of(options: argparse.Namespace) -> Shares | None:
    """Of --memory-limit; None = there is none. Errors: UsageError."""
    if options.memory_limit is None:
        return None
    try:
        return Shares(parse_bytes("--memory-limit", options.memory_limit))
    except InvalidArgument as error:
        raise UsageError(str(error)) from None


def open_context(options: argparse.Namespace, memory: int | None, **callbacks: Any) -> Context:
    """memory: bytes of the joins, None = --memory-limit as it stands. Errors: UsageError, and those
    of Context."""
    shares = shares_of(options)
    if memory is None and shares is not None:
        memory = shares.limit
    try:
        if options.threads is not None:
            whole("--threads", options.threads, 1, INT32)
    except InvalidArgument as error:
        raise UsageError(str(error)) from None
    return Context(
        options.device,
        memory,
        options.threads,
        host_limit=memory,
        spill_path=options.spill_path or tempfile.gettempdir(),
        **callbacks,
    )
