"""Tries cases that end the process, each in a child of its own."""

from __future__ import annotations

import os
import signal
import sys
import time

from . import library, reference
from .case import Case
from .run_seed import Settings, cases_and_ways, write
from .shrink import shrink
from .try_case import try_case
from .way import Way

_SECONDS = 20  # longer is as bad as a crash


def minimal_crash(seed: int, settings: Settings) -> str:
    """The smallest case of the seed that ends a process, as text; "" when none does.

    This process must not have loaded the library: a child can use no CUDA that its parent started.
    """
    case, ways = cases_and_ways(seed, settings)
    for way in ways:
        if not _dies(case, way, settings):
            continue
        case, way = shrink(case, way, lambda c, w: _dies(c, w, settings), 120, time.monotonic)
        comments = [settings.command(seed), str(way), "ends the process, or does not answer"]
        return write(case, way, reference.answer(case), comments)
    return ""


def _dies(case: Case, way: Way, settings: Settings) -> bool:
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        signal.alarm(_SECONDS)
        library.load(settings.library)
        try_case(case, reference.answer(case), way)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)
