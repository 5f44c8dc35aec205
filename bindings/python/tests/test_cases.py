"""The joins of tests/cases, which every binding runs: see the README there."""

import re
import sys
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.compute
import pytest
from case_conditions import condition_of

import gpujoin
from gpujoin._kinds import KINDS

TESTS = Path(__file__).parents[3] / "tests"
sys.path.append(str(TESTS))
from case_file import read_case  # noqa: E402: where it lies is known only now

FILES = sorted((TESTS / "cases").glob("*.txt"))

TYPES = {
    **{f"int{bits}": getattr(pa, f"int{bits}")() for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": getattr(pa, f"uint{bits}")() for bits in (8, 16, 32, 64)},
    **{"float16": pa.float16(), "float32": pa.float32(), "float64": pa.float64()},
    **{"date32": pa.date32(), "date64": pa.date64()},
    **{f"timestamp_{unit}": pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")},
    **{"time32": pa.time32("ms"), "time64": pa.time64("us"), "duration": pa.duration("us")},
    **{"utf8": pa.string(), "large_utf8": pa.large_string()},
    **{"binary": pa.binary(), "large_binary": pa.large_binary()},
    **{"bytes16": pa.binary(16), "bool": pa.bool_(), "null": pa.null()},
}
WITH_NUMBERS = {
    "fixed_binary": pa.binary,
    **{f"decimal{bits}": getattr(pa, f"decimal{bits}") for bits in (32, 64, 128, 256)},
}
ERRORS = {
    "type": gpujoin.TypeMismatch,
    "several_matches": gpujoin.SeveralMatches,
    "evaluation": gpujoin.EvaluationError,
    "broken_promise": gpujoin.BrokenPromise,
}
VIEWS = {pa.string(): pa.string_view(), pa.binary(): pa.binary_view()}


def type_of(word):
    """int8, fixed_binary(3), decimal64(10,2)"""
    found = re.fullmatch(r"(\w+)\(([-\d,]+)\)", word)
    return WITH_NUMBERS[found[1]](*map(int, found[2].split(","))) if found else TYPES[word]


def value(word, kind):
    """A word as Python has what lies in memory; NaN as text, which equals itself."""
    if word == "NULL":
        return None
    if kind == pa.bool_():
        return {"true": True, "false": False}[word]
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "" if word == '""' else word
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return bytes.fromhex("" if word == '""' else word)
    if pa.types.is_fixed_size_binary(kind):
        return bytes.fromhex(word)
    if pa.types.is_decimal(kind):
        return Decimal(word)
    return comparable(float(word)) if pa.types.is_floating(kind) else int(word)


def comparable(number):
    return number if number == number else "nan"


def stored(kind):
    """The type of the same width whose Python values are the numbers in memory."""
    if not pa.types.is_temporal(kind):
        return kind
    return pa.int32() if kind.bit_width == 32 else pa.int64()


def table(lines, prefix):
    """A table of a section; columns are called prefix.name, so that both inputs differ in all."""
    names, kinds = zip(*(word.split(":") for word in lines[0]))
    columns = [array_of([row[i] for row in lines[1:]], kind) for i, kind in enumerate(kinds)]
    return pa.table(columns, names=[f"{prefix}.{name}" for name in names])


def array_of(words, name):
    """Words as values of the type of that name."""
    kind = type_of(name)
    values = [value(word, kind) for word in words]
    if pa.types.is_floating(kind):
        values = [None if number is None else float(number) for number in values]
    return pa.array(values, stored(kind)).view(kind)


def as_views(column):
    small = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}
    kind = small.get(column.type, column.type)
    return column.cast(kind).cast(VIEWS[kind]) if kind in VIEWS else column


def as_dictionary(column):
    kind = column.type
    is_text = kind in VIEWS or pa.types.is_large_string(kind) or pa.types.is_large_binary(kind)
    return column.dictionary_encode() if is_text or pa.types.is_integer(kind) else column


def as_runs(column):
    return pa.compute.run_end_encode(column) if pa.types.is_integer(column.type) else column


def values_of(kind):
    """The type of the values of a dictionary or of runs."""
    is_encoded = pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind)
    return kind.value_type if is_encoded else kind


def words(column):
    """A column of the answer as a case writes it."""
    values = column.combine_chunks()
    kind = values.type
    if pa.types.is_dictionary(kind):
        values = values.dictionary_decode()
    return map(comparable, values.view(stored(values.type)).to_pylist())


@pytest.mark.skipif(not FILES, reason="tests/cases is not here")
def test_there_are_cases():
    assert len(FILES) > 10


def name_of(shape):
    return shape.__name__ if shape else "as_written"


@pytest.mark.parametrize("shape", [None, as_views, as_dictionary, as_runs], ids=name_of)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_case(context, path, shape):
    left_lines, right_lines, joins = read_case(path)
    tables = table(left_lines, "left"), table(right_lines, "right")
    assert joins
    for lines, answer in joins:
        check(tables, lines, answer, shape, context)


def aggregate(word):
    """count, exists, or ("sum", "left", "left.a") for sum(left.a)"""
    found = re.fullmatch(r"(\w+)\(((left|right)\.\w+)\)", word)
    return (found[1], found[3], found[2]) if found else word


def type_of_aggregate(asked, types):
    if isinstance(asked, str):
        return pa.bool_() if asked == "exists" else pa.int64()
    function, _, column = asked
    kind = values_of(types[column])
    if function in ("count", "avg"):
        return pa.int64() if function == "count" else pa.float64()
    if function != "sum":
        return types[column]
    if pa.types.is_decimal(kind):
        return pa.decimal128(38, kind.scale)
    if pa.types.is_floating(kind):
        return pa.float64()
    return pa.uint64() if pa.types.is_unsigned_integer(kind) else pa.int64()


def reshaped(table, shape):
    """The same values in other types."""
    columns = [shape(column.combine_chunks()) for column in table.columns]
    return pa.table(columns, names=table.schema.names)


def asof_of(words, left):
    """left_column right_column direction [strict] [within N]"""
    of_left, of_right, direction, *options = words
    tolerance = None
    if "within" in options:
        is_float = pa.types.is_floating(left[f"left.{of_left}"].type)
        tolerance = (float if is_float else int)(options[-1])
    strict = "strict" in options
    return gpujoin.Asof(f"left.{of_left}", f"right.{of_right}", direction, strict, tolerance)


def check(tables, lines, lines_of_answer, shape, context):
    task = {line[0]: line[1:] for line in lines}
    (how,) = task.get("kind", ["inner"])
    (order,) = task.get("order", [None])
    on = [line[1:] for line in lines if line[0] == "on"]
    keys = {
        "left_on": [f"left.{name}" for name, *_ in on],
        "right_on": [f"right.{name}" for _, name, *_ in on],
        "null_equal": ["null_equal" in options for _, _, *options in on],
        "ieee_float": ["ieee" in options for _, _, *options in on],
    }
    if not on:
        keys = {}
    if "asof" in task:
        keys["asof"] = asof_of(task["asof"], tables[0])
    pairs = "pairs" in task
    output = task.get("output", [])
    (by,) = task.get("by", [None])
    aggregates = {word: aggregate(word) for word in task.get("aggregates", [])}
    left, right = (reshaped(side, shape) for side in tables) if shape else tables
    where = None
    if "residual" in task:
        schemas = {"left": left.schema, "right": right.schema}
        where = condition_of(" ".join(task["residual"]), schemas, array_of)
    given = {"how": how, "where": where, "select": output, "pairs": pairs, "context": context}
    given |= {"aggregates": aggregates or None, "by": by, "order": order}
    for side in ("left", "right"):
        if f"{side}_rows" in task:
            given[f"{side}_rows"] = [int(word) for word in task[f"{side}_rows"]]
        elif f"{side}_bits" in task:
            given[f"{side}_rows"] = [digit == "1" for digit in task[f"{side}_bits"][0]]
    given["promise"] = task.get("promise")
    if "error" in task:
        assert not lines_of_answer
        with pytest.raises(ERRORS[task["error"][0]]):
            gpujoin.join(left, right, **keys, **given)
        return
    result = gpujoin.join(left, right, **keys, **given)
    answer = result.to_table()
    answer.validate(full=True)
    row_numbers = [pa.uint32()] * (1 if by else len(KINDS[how].sides)) if pairs else []
    # Dictionaries come out as dictionaries, and runs as their values.
    types = {"mark": pa.bool_()}
    for side in (left, right):
        for name, kind in zip(side.schema.names, side.schema.types):
            types[name] = values_of(kind) if shape is as_runs else kind
    output = [*output, *aggregates]
    for name, asked in aggregates.items():
        types[name] = type_of_aggregate(asked, types)
    assert answer.schema.types == row_numbers + [types[name] for name in output]
    written = {name: side[name].type for side in tables for name in side.schema.names}
    for name, asked in aggregates.items():
        written[name] = type_of_aggregate(asked, written)
    kinds = row_numbers + [written.get(name, pa.bool_()) for name in output]
    assert all(len(line) == len(kinds) for line in lines_of_answer)
    expected = [tuple(map(value, line, kinds)) for line in lines_of_answer]
    rows = list(zip(*map(words, answer.columns)))
    assert Counter(rows) == Counter(expected)
    if order is not None:
        assert rows == expected
    assert result.num_rows == len(expected)
