"""Threads for calls that Ctrl-C in the main thread shall cancel."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Callable

# Calls that the main thread has left, by a second Ctrl-C, keep theirs.
_MOST = 32

_pool: ThreadPoolExecutor | None = None


def run_beside(work: Callable[[], None]) -> None:
    """Starts work, which raises nothing, in another thread; Python waits for it before it exits.

    The thread stays for the next call: a new one, which the library's threads do not know yet, takes
    a tenth of a millisecond, twice in a join of one or two.
    """
    global _pool
    try:
        if _pool is None:
            _pool = ThreadPoolExecutor(_MOST, "gpujoin")
        _pool.submit(work)
    except RuntimeError:  # Python exits, and its pools take nothing more
        threading.Thread(target=work, name="gpujoin").start()


def _forget() -> None:
    global _pool
    _pool = None


# A child has none of its parent's threads.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
