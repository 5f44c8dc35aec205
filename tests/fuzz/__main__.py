"""python -m tests.fuzz: joins drawn at random, compared with what other engines answer."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from . import isolated, library, self_check, summary
from .engines import available
from .kinds import KINDS
from .measure import STANDS
from .run_seed import Failure, Settings, run_written_join
from .workers import resolve_device, run_range
from .written import read_joins

_ENGINES = ("duckdb", "polars", "reference")
_CASE_TRIES = 100


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=1000, help="how many seeds")
    parser.add_argument("--ways", type=int, default=4, help="joins of each seed's case")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--kinds", type=_names(KINDS), default=tuple(KINDS), help="a,b,c")
    parser.add_argument("--engines", type=_names(_ENGINES), default=_ENGINES, help="a,b,c")
    parser.add_argument("--beside", type=_names(STANDS), default=(), help="joins with a, b, c")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--library", help="libgpujoin.so; else GPUJOIN_LIBRARY, else build/*")
    parser.add_argument(
        "--save",
        type=Path,
        default=library.ROOT / "build" / "fuzz",
        help="the folder for cases that fail",
    )
    parser.add_argument(
        "--self-check", action="store_true", help="whether wrong answers are found, for these seeds"
    )
    parser.add_argument("--case", type=Path, nargs="+", help="run cases written down, in many ways")
    parser.add_argument("--sum", type=Path, nargs="+", help="add up the summaries in these files")
    return parser.parse_args()


def _names(known):
    def names(text: str) -> tuple[str, ...]:
        given = tuple(text.split(","))
        for name in given:
            if name not in known:
                raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(known)}")
        return given

    return names


def main() -> int:
    arguments = _arguments()
    if arguments.sum:
        return _conclude(summary.sum_files(arguments.sum))
    settings = Settings(
        kinds=arguments.kinds,
        engines=arguments.engines,
        device=resolve_device(arguments.device, arguments.library),
        ways=arguments.ways,
        library=arguments.library,
        beside=arguments.beside,
    )
    if arguments.case or arguments.self_check:
        library.load(arguments.library)
    if arguments.case:
        return _tell(
            [
                f"{path}, join {number}, {join.case.kind.name}: {problem}"
                for path in arguments.case
                for number, join in enumerate(read_joins(path), 1)
                for problem in run_written_join(join, settings, _CASE_TRIES)
            ]
        )
    seeds = range(arguments.first, arguments.first + arguments.count)
    if arguments.self_check:
        return _tell(self_check.self_check(seeds, settings, available(list(settings.engines))))
    return _fuzz(seeds, arguments.jobs, settings, arguments.save)


def _fuzz(seeds: range, jobs: int, settings: Settings, save: Path) -> int:
    began = time.monotonic()
    counted = summary.Summary()
    counted.ranges.append((seeds.start, len(seeds)))
    counted.devices.add(settings.device)
    print(f"seeds {seeds.start} to {seeds.stop - 1}, {settings.device}", flush=True)
    for report in run_range(seeds, jobs, settings):
        if isinstance(report, Failure):
            counted.add_death()
            report.case = isolated.minimal_crash(report.seed, settings)
            report.problem += "" if report.case else "; not of this seed alone"
            _show(report, save)
            continue
        counted.add_report(report)
        for failure in report.failures:
            _show(failure, save)
    counted.seconds = time.monotonic() - began
    return _conclude(counted)


def _show(failure: Failure, save: Path) -> None:
    print(f"FAILED seed {failure.seed}, {failure.kind}: {failure.problem}", flush=True)
    if failure.case:
        save.mkdir(parents=True, exist_ok=True)
        ending = "json" if failure.case.startswith("{") else "txt"
        path = save / f"seed_{failure.seed}.{ending}"
        path.write_text(failure.case)
        print(f"  {path}", flush=True)


def _conclude(counted: summary.Summary) -> int:
    status = _tell(counted.problems())
    print(counted.to_json())
    return status


def _tell(problems: list[str]) -> int:
    for problem in problems:
        print("FAILED " + problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
