"""The progress bar of the command line."""

from __future__ import annotations

import os
import threading
import time
from typing import TextIO


class Bar:
    """A progress bar on a terminal, for work of more than half a second; silent anywhere else."""

    WIDTH = 30
    WAIT = 0.5  # seconds until it appears
    PAUSE = 0.1  # seconds between two drawings

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_on = stream.isatty()
        self._next = time.monotonic() + self.WAIT
        self._drawn = 0

    def show(self, what: str, done: int, total: int) -> None:
        """what: the phase, and what there is to say of it; done of total: how far it is."""
        now = time.monotonic()
        if not self._is_on or now < self._next:
            return
        self._next = now + self.PAUSE
        filled = self.WIDTH * min(done, total) // total if total > 0 else 0
        line = f"[{'#' * filled}{' ' * (self.WIDTH - filled)}] {what}"
        width = os.get_terminal_size(self._stream.fileno()).columns
        line = line[: width - 1] if width else line
        self._stream.write("\r" + line.ljust(self._drawn))
        self._stream.flush()
        self._drawn = len(line)

    def stage(self, stage: str, done: int, total: int) -> None:
        """As Context's progress callback."""
        self.show(f"joining: {stage}", done, total)

    def clear(self) -> None:
        if self._drawn:
            self._stream.write("\r" + " " * self._drawn + "\r")
            self._stream.flush()
            self._drawn = 0


class Phase:
    """How far one phase is. Any thread adds to it, and one shows it.

    rows   all that there are; None = not known
    bytes  of the files that they are read from
    """

    def __init__(self, what: str, rows: int | None, bytes: int) -> None:
        self.what = what
        self.rows_done = 0
        self.bytes_done = 0
        self._rows, self._bytes = rows, bytes
        self._began = time.monotonic()
        self._lock = threading.Lock()

    def add(self, rows: int, bytes: int = 0) -> None:
        with self._lock:
            self.rows_done += rows
            self.bytes_done += bytes

    def show(self, bar: Bar) -> None:
        seconds = time.monotonic() - self._began
        rows = f"{self.rows_done:,}"
        rows += "" if self._rows is None else f" of {self._rows:,}"
        text = f"{self.what}: {rows} rows"
        done, total = self.bytes_done, self._bytes
        if self._rows:
            done, total = self.rows_done, self._rows
        if seconds > 0 and self.rows_done:
            text += f", {self.rows_done / seconds:,.0f} rows/s"
        if 0 < done <= total:
            text += f", {_seconds(seconds * (total - done) / done)} left"
        bar.show(text, done, total)


def _seconds(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
