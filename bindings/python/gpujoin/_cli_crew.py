"""Threads that do one phase of the command line's work, while the main thread shows how far it is
and hears signals."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, Callable

from ._cli_bar import Bar, Phase


class Crew:
    """Threads that do one phase after the other: what allocators keep for one is used again."""

    def __init__(self, threads: int, bar: Bar) -> None:
        self.threads = threads
        self._bar = bar
        self._executor = ThreadPoolExecutor(threads, "gpujoin")
        self.is_stopped = False

    def run(
        self, phase: Phase, work: Callable[[], Any], cancel: Callable[[], Any], threads: int
    ) -> None:
        """Waits until `work` has returned in that many threads.

        cancel  called when the phase is given up: makes calls that wait come back
        Errors: the first one of `work`, when it has ended in all threads.
        """
        over: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()

        def guarded() -> None:
            try:
                work()
                over.put(None)
            except BaseException as error:  # raised again by the main thread
                over.put(error)

        started = []
        try:
            phase.show(self._bar)
            for _ in range(threads):
                started.append(self._executor.submit(guarded))
            running = threads
            while running:
                try:
                    error = over.get(timeout=self._bar.PAUSE or 0.01)
                except queue.Empty:
                    phase.show(self._bar)
                    continue
                if error is not None:
                    raise error
                running -= 1
            phase.show(self._bar)
        except BaseException:
            self.is_stopped = True
            cancel()
            raise
        finally:
            wait(started)


class Shared:
    """What several threads take items of."""

    def __init__(self, items: Iterable[Any]) -> None:
        self._items = iter(items)
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[Any]:
        while True:
            with self._lock:
                item = next(self._items, self)
            if item is self:
                return
            yield item
