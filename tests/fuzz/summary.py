"""Counts what came of a range of seeds; counts of ranges can be added up."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from .measure import BETWEEN, EMPTY, EVERYTHING, NO_TYPE, NO_VALUE, SEVERAL
from .run_seed import Report
from .try_case import FAILED, NO_MEMORY, REFUSED, RIGHT_ANSWER

LEAST_BETWEEN = 0.3
_ENOUGH_JOINS = 200  # for a share to mean something
_COUNTED = (
    *("joins", FAILED, REFUSED, NO_MEMORY, EMPTY, EVERYTHING, BETWEEN),
    *(SEVERAL, NO_TYPE, NO_VALUE),
)


class Summary:
    """joins are answers that were compared, right and wrong; what was refused is none of them, nor
    what a memory limit ended. empty, everything, between, several_matches: the joins by what
    measure.py says of their answers. stands: how many of the joins had what around the equality."""

    def __init__(self) -> None:
        self.ranges: list[tuple[int, int]] = []  # first, count
        self.counts: dict[str, Counter] = {}  # by kind
        self.engines: Counter = Counter()
        self.stands: Counter = Counter()
        self.devices: set[str] = set()
        self.seconds = 0.0

    def add_report(self, report: Report) -> None:
        counts = self.counts.setdefault(report.kind, Counter())
        compared = report.outcomes.get(RIGHT_ANSWER, 0) + report.outcomes.get(FAILED, 0)
        counts["joins"] += compared
        counts[report.measure] += compared
        for what in (FAILED, REFUSED, NO_MEMORY):
            counts[what] += report.outcomes.get(what, 0)
        self.engines.update(report.engines)
        self.stands.update(report.stands)

    def add_death(self) -> None:
        """A seed whose worker died: nobody knows which of its joins it was."""
        self.counts.setdefault("unknown", Counter()).update({"joins": 1, FAILED: 1})

    def total(self, what: str) -> int:
        return sum(counts[what] for counts in self.counts.values())

    def share_between(self) -> float:
        return self.total(BETWEEN) / max(1, self.total("joins"))

    def problems(self) -> list[str]:
        """Why the run as a whole has failed."""
        found = []
        if failed := self.total(FAILED):
            found.append(f"{failed} joins failed")
        enough = self.total("joins") >= _ENOUGH_JOINS and set(self.counts) != {"cross"}
        if enough and self.share_between() < LEAST_BETWEEN:
            found.append(
                f"{self.share_between():.0%} of the answers are neither empty nor everything, "
                f"and {LEAST_BETWEEN:.0%} must be"
            )
        if self.total("joins") == 0:
            found.append("no join was compared")
        return found

    def to_json(self) -> str:
        order = sorted(self.counts)
        return json.dumps(
            {
                "first": min((first for first, _ in self.ranges), default=0),
                "count": sum(count for _, count in self.ranges),
                "ranges": self.ranges,
                "devices": sorted(self.devices),
                **{what: self.total(what) for what in _COUNTED},
                "share_between": round(self.share_between(), 4),
                "seconds": round(self.seconds, 1),
                "engines": dict(sorted(self.engines.items())),
                "stands": dict(sorted(self.stands.items())),
                "by_kind": {k: {w: self.counts[k][w] for w in _COUNTED} for k in order},
            }
        )

    def add_json(self, text: str) -> None:
        """Errors: ValueError, when a range was added before on the same device."""
        read = json.loads(text)
        for first, count in read["ranges"]:
            for known, known_count in self.ranges:
                overlap = first < known + known_count and known < first + count
                if overlap and self.devices & set(read["devices"]):
                    raise ValueError(f"seeds from {max(first, known)} on are there twice")
        self.ranges += [tuple(r) for r in read["ranges"]]
        self.devices |= set(read["devices"])
        self.seconds += read["seconds"]
        self.engines.update(read["engines"])
        self.stands.update(read["stands"])
        for kind, counts in read["by_kind"].items():
            self.counts.setdefault(kind, Counter()).update(counts)


def sum_files(paths: list[Path]) -> Summary:
    """The last line of each file that is a summary. Errors: ValueError."""
    summary = Summary()
    for path in paths:
        lines = [line for line in path.read_text().splitlines() if line.startswith('{"first"')]
        if not lines:
            raise ValueError(f"{path} has no summary")
        summary.add_json(lines[-1])
    return summary
