"""Runs a range of seeds in processes, so that a crash costs a seed and not the run."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait

from . import library
from .engines import available
from .run_seed import Failure, Report, Settings, run_seed

_SILENT_SECONDS = 180  # a worker that reports nothing for so long hangs
_ROUND_SECONDS = 5  # of waiting; where one takes longer the machine stood still, workers too
_MOST_SHRUNK = 10  # failures of one worker that are made small


def resolve_device(device: str, path: str | None) -> str:
    """What "auto" is here, found out in a process of its own: this one stays without CUDA."""
    if device != "auto":
        return device
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_automatic_device, (path,))


def _automatic_device(path: str | None) -> str:
    library.load(path)
    return library.device_of(library.context("auto"))


def _work(pipe: Connection, seeds: range, settings: Settings) -> None:
    library.load(settings.library)
    faulthandler.enable()
    engines = available(list(settings.engines))
    shrunk = 0
    for seed in seeds:
        try:
            report = run_seed(seed, settings, engines, shrunk < _MOST_SHRUNK)
        except Exception:
            pipe.send(RuntimeError(f"seed {seed}: {traceback.format_exc()}"))
            return
        shrunk += bool(report.failures)
        pipe.send(report)
    pipe.send(None)


class _Worker:
    """A process and the seeds that it has not reported on."""

    def __init__(self, seeds: range, settings: Settings) -> None:
        self.seeds = seeds
        self._settings = settings
        self._start()

    def _start(self) -> None:
        spawn = multiprocessing.get_context("spawn")  # with nothing of this process
        self.pipe, other = spawn.Pipe(duplex=False)
        self._process = spawn.Process(
            target=_work, args=(other, self.seeds, self._settings), daemon=True
        )
        self._process.start()
        other.close()
        self._silent_seconds = 0.0

    def receive(self) -> Report | None:
        """The next report; None when there are no more seeds. Errors: EOFError, when it died; what
        it raised itself, which is a defect of the fuzzer."""
        report = self.pipe.recv()
        if isinstance(report, Exception):
            raise report
        self._silent_seconds = 0.0
        if report is not None:
            self.seeds = self.seeds[1:]
        return report

    def hangs(self, waited: float) -> bool:
        """After a round of so many seconds in which nothing came."""
        self._silent_seconds += min(waited, _ROUND_SECONDS)
        return self._silent_seconds > _SILENT_SECONDS

    def tell_where(self) -> None:
        """On stderr, of one that hangs: nobody may see it hang again."""
        if gdb := shutil.which("gdb"):
            command = [gdb, "-batch", "-p", str(self._process.pid), "-ex", "thread apply all bt 30"]
            stacks = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
            print(stacks, file=sys.stderr, flush=True)
        os.kill(self._process.pid, signal.SIGABRT)  # of which it tells Python's stack

    def bury(self, why: str) -> Failure:
        """Ends the process, starts one for the seeds after the one that it was at."""
        self._process.join(5)  # one that hangs is ended, of another the exit code is its own
        self._process.kill()
        self._process.join()
        code = self._process.exitcode
        seed = self.seeds[0]
        self.seeds = self.seeds[1:]
        self._start()
        return Failure(seed, "unknown", f"{why}; exit code {code}")


def run_range(seeds: range, jobs: int, settings: Settings) -> Iterator[Report | Failure]:
    """A report of each seed, in no particular order; of one that a worker died of, a failure."""
    shares = [seeds[i::jobs] for i in range(jobs)]
    workers = [_Worker(share, settings) for share in shares if len(share)]
    while workers:
        began = time.monotonic()
        ready = wait([worker.pipe for worker in workers], timeout=_ROUND_SECONDS)
        waited = time.monotonic() - began
        for worker in list(workers):
            if worker.pipe in ready:
                try:
                    report = worker.receive()
                except (EOFError, OSError):
                    if not worker.seeds:
                        workers.remove(worker)
                    else:
                        yield worker.bury("the process died")
                    continue
                if report is None:
                    workers.remove(worker)
                else:
                    yield report
            elif worker.hangs(waited):
                worker.tell_where()
                yield worker.bury(f"no answer in {_SILENT_SECONDS} s")
