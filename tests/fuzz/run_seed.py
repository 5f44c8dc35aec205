"""What one seed means: a case, the answer that an engine gives, and joins in several ways."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field, replace

from . import library, reference
from .beside import together, with_batches, with_beside
from .case import Answer, Case
from .compare import expects, same_answer
from .draw_case import draw_case
from .engines import ALL_KINDS, Engine
from .json_case import WrittenJoin, write_json
from .measure import EMPTY, SPILLED, measure, stands_around
from .shrink import shrink
from .text_case import can_write, write_case
from .try_case import FAILED, RIGHT_ANSWER, try_case
from .way import Way, draw_way

_BATCHES_SHARE = 0.25  # of ways
_POLARS_SHARE = 0.15  # of cases, beside the engine that is drawn for all
_SEEDS_TO_LEAK = 16  # after so many, what is lost shows as well as after one
_LARGEST_TEXT = 300  # rows of a case that is written down
_QUEUE_BYTES = 1 << 20


@dataclass(frozen=True)
class Settings:
    """device  "cpu" or "cuda"
    ways    how many joins of each case
    beside  joins that have these beside their keys alone (measure.py), all that go together
    """

    kinds: tuple[str, ...]
    engines: tuple[str, ...]
    device: str
    ways: int
    library: str | None = None
    beside: tuple[str, ...] = ()

    def command(self, seed: int) -> str:
        return (
            f"python -m tests.fuzz --first {seed} --count 1 --ways {self.ways} "
            f"--device {self.device} --kinds {','.join(self.kinds)}"
            + (f" --beside {','.join(self.beside)}" if self.beside else "")
        )


@dataclass
class Failure:
    """case  as text for tests/cases, or JSON; empty where it could not be made small"""

    seed: int
    kind: str
    problem: str
    case: str = ""


@dataclass
class Report:
    """Of one seed. outcomes: of try_case, how often."""

    seed: int
    kind: str
    measure: str
    engines: list[str]
    outcomes: dict[str, int] = field(default_factory=dict)
    stands: Counter = field(default_factory=Counter)  # around the joins that were compared
    failures: list[Failure] = field(default_factory=list)


def cases_and_ways(seed: int, settings: Settings) -> tuple[Case, list[Way]]:
    case = draw_case(seed, settings.kinds, settings.beside)
    rng = random.Random(f"ways of {seed}")
    ways = [draw_way(rng, case, settings.device) for _ in range(settings.ways)]
    names = together(case.kind, settings.beside)
    rng = random.Random(f"beside of {seed}")
    ways = [with_beside(rng, case, way, names) for way in ways]
    if not settings.beside:
        rng = random.Random(f"batches of {seed}")
        ways = [with_batches(rng, case, w) if rng.random() < _BATCHES_SHARE else w for w in ways]
    return case, ways


def run_seed(
    seed: int, settings: Settings, engines: dict[str, Engine], may_shrink: bool = True
) -> Report:
    case, ways = cases_and_ways(seed, settings)
    if settings.beside:
        names = set(together(case.kind, settings.beside))
        ways = [way for way in ways if names and names.issubset(stands_around(case, way))]
        if not ways:
            return Report(seed, case.kind.name, EMPTY, [])
    rng = random.Random(f"engines of {seed}")
    asked = rng.choice([name for name in ALL_KINDS if name in engines])
    expected = engines[asked](case)
    passed = []
    if expected is None:  # it does not know such keys
        passed = [f"{asked} passed"]
        asked, expected = "reference", reference.answer(case)
    report = Report(seed, case.kind.name, measure(case, expected), [asked, *passed])
    if "polars" in engines and rng.random() < _POLARS_SHARE:
        _ask_polars(case, expected, asked, engines["polars"], report)
    for way in ways:
        outcome = try_case(case, expected, way)
        report.outcomes[outcome.what] = report.outcomes.get(outcome.what, 0) + 1
        if outcome.what in (RIGHT_ANSWER, FAILED):
            report.stands.update(stands_around(case, way) + [SPILLED] * outcome.has_spilled)
        if outcome.what == FAILED:
            failure = Failure(seed, case.kind.name, f"{outcome.problem}\n  {way}")
            if may_shrink and not report.failures:
                engine = engines.get(asked, reference.answer)
                failure.case = minimal_case(case, way, engine, settings.command(seed))
            report.failures.append(failure)
    if seed % _SEEDS_TO_LEAK == 0 and (leak := _leak()):
        report.failures.append(Failure(seed, case.kind.name, leak))
        report.outcomes[FAILED] = report.outcomes.get(FAILED, 0) + 1
    return report


def _leak() -> str:
    """Whether memory is held when no handle but contexts is left."""
    for options, held in library.memory_after_trim():
        # The queue by which a context on a GPU trims its memory keeps its counters.
        if held > (_QUEUE_BYTES if options[0] == library.abi.DEVICES["cuda"] else 0):
            return f"the context of {options} holds {held} bytes, and nothing was left to need them"
    return ""


def _ask_polars(case: Case, expected: Answer, asked: str, polars: Engine, report: Report) -> None:
    answer = polars(case)
    if answer is None:  # no such kind, or no such keys
        report.engines.append("polars passed")
        return
    report.engines.append("polars")
    if not same_answer(case, expected, answer):
        problem = f"polars and {asked} disagree: {answer.count} and {expected.count} rows"
        report.failures.append(Failure(report.seed, case.kind.name, problem))
        report.outcomes[FAILED] = report.outcomes.get(FAILED, 0) + 1


def _ask(engine: Engine, case: Case) -> Answer:
    """A case made smaller may be one that the engine does not know."""
    return engine(case) or reference.answer(case)


def minimal_case(case: Case, way: Way, engine: Engine, command: str) -> str:
    """A case that still fails, as text, with how it was executed as comments."""
    if case.grouped:
        return describe(case, way, engine, command)
    # A failure that comes and goes would not be made smaller, but be lost.
    if not any(_fails(case, way, engine) for _ in range(3)):
        return f"# fails at times only\n# {command}\n# {way}\n"
    if same_answer(case, _ask(engine, case), reference.answer(case)):
        engine = reference.answer  # which takes less time
    case, way = shrink(case, way, lambda c, w: _fails(c, w, engine))
    return describe(case, way, engine, command)


def describe(case: Case, way: Way, engine: Engine, command: str) -> str:
    """The case as text, and what it answers now."""
    expected = _ask(engine, case)
    comments = [command, str(way), "answer: " + try_case(case, expected, way).problem]
    if reference.answer is not engine and not same_answer(case, expected, reference.answer(case)):
        comments.append("the engines disagree about what is expected")
    # Aggregates have no words in files.
    if case.grouped or sum(table.rows for table in case.tables.values()) > _LARGEST_TEXT:
        return "".join(f"# {line}\n" for line in comments)
    return write(case, way, expected, comments)


def write(case: Case, way: Way, expected: Answer, comments: list[str]) -> str:
    """As text where it can be written so, else as JSON."""
    if can_write(case):
        return write_case(case, expected, comments)
    return write_json(case, way, comments)


def _fails(case: Case, way: Way, engine: Engine) -> bool:
    return try_case(case, _ask(engine, case), way).what == FAILED


def run_written_join(join: WrittenJoin, settings: Settings, tries: int) -> list[str]:
    """Executes a join that was written down in many ways; what is wrong, in words."""
    expected = reference.answer(join.case)
    problems = []
    if join.error != (expected.is_error and not expected.no_type) and join.way is None:
        problems.append("the reference and the file disagree about whether an error comes")
    is_told = join.rows is not None and not expected.is_error
    if is_told and not expects(join.rows, join.case, expected):
        problems.append("the reference expects other rows than the file")
    rng = random.Random(0)
    ways = [Way(settings.device)]
    if join.way is not None:
        ways.insert(0, replace(join.way, device=settings.device))
    ways += [draw_way(rng, join.case, settings.device) for _ in range(tries - 1)]
    for way in ways:
        outcome = try_case(join.case, expected, way)
        if outcome.what == FAILED:
            problems.append(f"{outcome.problem}\n  {way}")
    return problems
