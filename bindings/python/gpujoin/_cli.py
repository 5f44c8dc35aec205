"""The command line: gpujoin join | info, or python -m gpujoin."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from . import __version__, library_version
from ._cli_columns import UsageError
from ._cli_context import open_context
from ._cli_join import join
from ._cli_parser import make_parser
from ._cli_sources import FileError
from .errors import GpujoinError


class Stopped(BaseException):
    """A signal asks the program to end: exit status 128 + its number."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextlib.contextmanager
def _ending_by_exception() -> Iterator[None]:
    """Signals that would end the program at once raise Stopped, so that unfinished files go."""
    numbers = [
        number
        for number in (signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) == signal.SIG_DFL
        and threading.current_thread() is threading.main_thread()
    ]

    def stop(number: int, _: Any) -> None:
        for other in numbers:  # a second one must not interrupt the clearing away
            signal.signal(other, signal.SIG_IGN)
        raise Stopped(number)

    for number in numbers:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line. Returns the exit status; errors are one line on stderr."""
    try:
        options = make_parser(_info, join).parse_args(arguments)
        with _ending_by_exception():
            options.run(options)
            sys.stdout.flush()
        return 0
    except Stopped as stop:
        return _fail(signal.strsignal(stop.number) or "stopped", 128 + stop.number)
    except UsageError as error:
        return _fail(str(error), 2)
    except (GpujoinError, FileError) as error:
        return _fail(str(error), 1)
    except MemoryError:
        return _fail("out of memory", 1)
    except pa.ArrowException as error:
        return _fail(str(error), 1)
    except KeyboardInterrupt:
        return _fail("interrupted", 130)
    except BrokenPipeError:  # head, or a pager that was left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        return _fail(str(error), 1)


def _fail(message: str, status: int) -> int:
    print("gpujoin: " + " ".join(message.split()), file=sys.stderr)
    return status


def _info(options: argparse.Namespace) -> None:
    with open_context(options, None) as context:
        info = context.info()
        lines = [
            ("device", f"{info.device}: {info.device_name}"),
            ("reason", info.reason),
            ("threads", info.threads),
            ("memory limit", f"{info.memory_limit} bytes" if info.memory_limit else "none"),
            ("library", library_version()),
            ("package", __version__),
        ]
    for name, value in lines:
        print(f"{name:14}{value}")
