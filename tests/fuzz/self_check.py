"""Whether the fuzzer would find what it is there to find: answers with something wrong in them must
fail, and those who say what is right must agree."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from . import reference
from .case import Case
from .comparable import keys_of
from .compare import expects, same_answer
from .condition_mutations import unseen_conditions
from .draw_case import draw_case
from .engines import Engine
from .json_case import write_json
from .mutations import unseen_rules
from .output import NO_ROW, Output
from .run_seed import Settings, cases_and_ways
from .text_case import can_write, write_case
from .try_case import FAILED, try_case
from .way import Way
from .written import read_joins

_SMALL = 40  # rows of a side, for what takes the time of a comparison of all with all


def _take(output: Output, rows: np.ndarray) -> None:
    output.rows = len(rows)
    output.indices = {side: numbers[rows] for side, numbers in output.indices.items()}
    output.columns = [(v[rows], None if ok is None else ok[rows]) for v, ok in output.columns]
    output.mark = None if output.mark is None else output.mark[rows]


def _drop_row(output: Output, rng: random.Random) -> bool:
    if output.rows == 0:
        return False
    _take(output, np.delete(np.arange(output.rows), rng.randrange(output.rows)))
    return True


def _repeat_row(output: Output, rng: random.Random) -> bool:
    if output.rows == 0:
        return False
    _take(output, np.append(np.arange(output.rows), rng.randrange(output.rows)))
    return True


def _flip_value(output: Output, rng: random.Random) -> bool:
    """One bit of a value that is no NULL."""
    if output.rows == 0 or not output.columns:
        return False
    column = rng.randrange(len(output.columns))
    values, valid = output.columns[column]
    places = np.arange(output.rows) if valid is None else np.flatnonzero(valid)
    if len(places) == 0:
        return False
    flipped = np.array(values)  # what was exported can be read alone
    place = places[rng.randrange(len(places))]
    if values.dtype == object:
        flipped[place] = _changed_word(values[place], rng)
        output.columns[column] = flipped, valid
        return True
    if values.dtype == bool:
        flipped[place] ^= True
        output.columns[column] = flipped, valid
        return True
    raw = flipped.view(np.uint8).reshape(output.rows, -1)
    raw[place, rng.randrange(raw.shape[1])] ^= 1 << rng.randrange(8)
    output.columns[column] = flipped, valid
    return True


def _changed_word(word: bytes, rng: random.Random) -> bytes:
    """A byte more, a byte less, or another one."""
    if not word or rng.random() < 0.3:
        return word + b"\0"
    if rng.random() < 0.5:
        return word[:-1]
    place = rng.randrange(len(word))
    return word[:place] + bytes([word[place] ^ 1 << rng.randrange(8)]) + word[place + 1 :]


def _flip_validity(output: Output, rng: random.Random) -> bool:
    if output.rows == 0 or not output.columns:
        return False
    column = rng.randrange(len(output.columns))
    values, valid = output.columns[column]
    changed = np.ones(output.rows, bool) if valid is None else np.array(valid)
    changed[rng.randrange(output.rows)] ^= True
    output.columns[column] = values, changed
    return True


def _move_row_number(output: Output, rng: random.Random) -> bool:
    if output.rows == 0 or not output.indices:
        return False
    side = rng.choice(sorted(output.indices))
    numbers = np.array(output.indices[side])
    numbers[rng.randrange(output.rows)] += 1
    output.indices[side] = numbers
    return True


def _turn_mark(output: Output, rng: random.Random) -> bool:
    if output.rows == 0 or output.mark is None:
        return False
    row = rng.randrange(output.rows)
    others = [mark for mark in (1, 0, NO_ROW) if mark != output.mark[row]]
    output.mark[row] = rng.choice(others)
    return True


_DISTURBANCES = (
    _drop_row,
    _repeat_row,
    _flip_value,
    _flip_validity,
    _move_row_number,
    _turn_mark,
)


def _disturb_with(
    disturbance: Callable[[Output, random.Random], bool], rng: random.Random, done: list[bool]
) -> Callable[[Output], None]:
    """Notes whether there was anything to disturb."""
    return lambda output: done.append(disturbance(output, rng))


def self_check(seeds: range, settings: Settings, engines: dict[str, Engine]) -> list[str]:
    """What is wrong with the fuzzer, in words."""
    problems: list[str] = []
    disturbed: Counter = Counter()
    for seed in seeds:
        case, ways = cases_and_ways(seed, settings)
        rng = random.Random(f"disturbances of {seed}")
        problems += [f"seed {seed}: {p}" for p in _check_engines(case, engines)]
        problems += [f"seed {seed}: {p}" for p in _check_written(case, ways[0])]
        expected = reference.answer(case)
        for disturbance in _DISTURBANCES:
            way = rng.choice(ways)
            done: list[bool] = []
            outcome = try_case(case, expected, way, _disturb_with(disturbance, rng, done))
            if not any(done):
                continue
            disturbed[disturbance.__name__] += 1
            if outcome.what != FAILED:
                problems.append(f"seed {seed}: {disturbance.__name__} was not found; {way}")
    problems += unseen_rules(lambda seed: draw_case(seed, settings.kinds))
    problems += unseen_conditions(lambda seed: draw_case(seed, settings.kinds, ("condition",)))
    for disturbance in _DISTURBANCES:
        needs_mark = disturbance is _turn_mark and not any("mark" in k for k in settings.kinds)
        if not disturbed[disturbance.__name__] and not needs_mark:
            problems.append(f"{disturbance.__name__} was never tried")
    print("disturbed: " + ", ".join(f"{n[1:]} {c}" for n, c in sorted(disturbed.items())))
    return problems


def _check_engines(case: Case, engines: dict[str, Engine]) -> list[str]:
    """The engines against the reference, and its marks against the definition of IN."""
    expected = reference.answer(case)
    problems = []
    for name, engine in engines.items():
        answer = engine(case)
        if answer is not None and not same_answer(case, expected, answer):
            problems.append(f"{name} disagrees with the reference about {case.kind.name}")
    if case.kind.rule in ("mark", "not_in") and not case.is_type_error:
        ours, theirs = (keys[:_SMALL] for keys in keys_of(case).values())
        truth = {True: reference.TRUE, False: reference.FALSE, None: reference.UNKNOWN}
        if reference.marks(ours, theirs) != [truth[reference.is_in(k, theirs)] for k in ours]:
            problems.append("the reference's marks are not what IN says")
    return problems


def _check_written(case: Case, way: Way) -> list[str]:
    """A case that was written and read again has the same answer."""
    if max(table.rows for table in case.tables.values()) > _SMALL:
        return []
    expected = reference.answer(case)
    texts = [write_json(case, way, [])]
    if can_write(case):
        texts.append(write_case(case, expected, []))
    problems = []
    for text in texts:
        with TemporaryDirectory() as folder:
            path = Path(folder) / ("case.json" if text.startswith("{") else "case.txt")
            path.write_text(text)
            (again,) = read_joins(path)
        if again.way not in (None, way):
            problems.append("a way read again is another one")
        if not same_answer(case, expected, reference.answer(again.case)):
            problems.append("a case read again has another answer")
        elif again.rows and not expected.is_error and not expects(again.rows, again.case, expected):
            problems.append("a case read again expects other rows")
    return problems
