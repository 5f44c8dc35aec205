"""The joins of tests/cases, which every binding runs: see the README there."""

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

import gpujoin
from gpujoin._kinds import KINDS

FOLDER = Path(__file__).parents[3] / "tests" / "cases"
FILES = sorted(FOLDER.glob("*.txt"))

TYPES = {
    **{f"int{bits}": getattr(pa, f"int{bits}")() for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": getattr(pa, f"uint{bits}")() for bits in (8, 16, 32, 64)},
    **{"float16": pa.float16(), "float32": pa.float32(), "float64": pa.float64()},
    **{"date32": pa.date32(), "date64": pa.date64()},
    **{f"timestamp_{unit}": pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")},
    **{"time32": pa.time32("ms"), "time64": pa.time64("us"), "duration": pa.duration("us")},
    "bytes16": pa.binary(16),
}
SECTIONS = ("left", "right", "join", "expect")


def read_case(path):
    """The lines of the two tables, as lists of words, and of each join with its answer."""
    sections = []
    for line in path.read_text().splitlines():
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) == 1 and words[0] in SECTIONS:
            sections.append((words[0], []))
        else:
            sections[-1][1].append(words)
    names, (left, right, *rest) = zip(*sections)
    assert names == ("left", "right", *("join", "expect") * (len(rest) // 2)), path
    return left, right, list(zip(rest[::2], rest[1::2]))


def value(word, kind):
    """A word as Python has what lies in memory."""
    if word == "NULL":
        return None
    if kind == pa.bool_():
        return {"true": True, "false": False}[word]
    if kind == pa.binary(16):
        return bytes.fromhex(word)
    return float(word) if pa.types.is_floating(kind) else int(word)


def stored(kind):
    """The type of the same width whose Python values are the numbers in memory."""
    if not pa.types.is_temporal(kind):
        return kind
    return pa.int32() if kind.bit_width == 32 else pa.int64()


def table(lines, prefix):
    """A table of a section; columns are called prefix.name, so that both inputs differ in all."""
    names, kinds = zip(*(word.split(":") for word in lines[0]))
    columns = []
    for i, kind in enumerate(TYPES[kind] for kind in kinds):
        values = [value(row[i], kind) for row in lines[1:]]
        columns.append(pa.array(values, stored(kind)).view(kind))
    return pa.table(columns, names=[f"{prefix}.{name}" for name in names])


def words(column):
    """A column of the answer as a case writes it."""
    kind = column.type
    values = column.combine_chunks()
    for text in values.view(stored(kind)).to_pylist():
        yield text.hex() if isinstance(text, bytes) else text


@pytest.mark.skipif(not FILES, reason="tests/cases is not here")
def test_there_are_cases():
    assert len(FILES) > 10


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_case(context, path):
    left_lines, right_lines, joins = read_case(path)
    left, right = table(left_lines, "left"), table(right_lines, "right")
    assert joins
    for lines, answer in joins:
        check(left, right, lines, answer, context)


def check(left, right, lines, lines_of_answer, context):
    task = {line[0]: line[1:] for line in lines}
    (how,) = task.get("kind", ["inner"])
    on = [line[1:] for line in lines if line[0] == "on"]
    keys = {
        "left_on": [f"left.{name}" for name, _ in on],
        "right_on": [f"right.{name}" for _, name in on],
    }
    pairs = "pairs" in task
    output = task.get("output", [])
    result = gpujoin.join(
        *(left, right),
        **(keys if on else {}),
        how=how,
        select=output,
        pairs=pairs,
        context=context,
    )
    answer = result.to_table()
    answer.validate(full=True)
    kinds = [field.type for field in answer.schema]
    types = {field.name: field.type for side in (left, right) for field in side.schema}
    types["mark"] = pa.bool_()
    row_numbers = [pa.uint32()] * len(KINDS[how].sides) if pairs else []
    assert kinds == row_numbers + [types[name] for name in output]
    expected = Counter(
        tuple(
            word if kind == pa.binary(16) and word != "NULL" else value(word, kind)
            for word, kind in zip(line, kinds)
        )
        for line in lines_of_answer
    )
    assert all(len(row) == len(kinds) for row in expected)
    assert Counter(zip(*map(words, answer.columns))) == expected
    assert result.num_rows == sum(expected.values())
