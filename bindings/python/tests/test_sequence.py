"""join_sequence(): against joins one after the other in plain Python."""

import itertools
import os
import random
import subprocess
import sys
import textwrap
from collections import Counter, defaultdict

import pyarrow as pa
import pytest
from tables import rows

import gpujoin

HOWS = [
    *itertools.product(["inner", "left"], repeat=3),
    ("left_semi", "inner", "left"),
    ("inner", "left_semi", "left"),
    ("left", "left", "left_semi"),
    ("left_semi", "left_semi", "inner"),
    ("left_semi", "left_semi", "left_semi"),
]


def star(fact_rows=2000, seed=11):
    """A fact table and three dimensions: keys of different types, NULLs, duplicates, text."""
    pick = random.Random(seed)

    def sometimes(value):
        return None if pick.random() < 0.1 else value

    def keys(distinct, kind):
        return pa.array([sometimes(pick.randrange(distinct)) for _ in range(fact_rows)], kind)

    fact = pa.table(
        {
            "a": keys(300, pa.int32()),
            "b": keys(200, pa.int16()),
            "c": keys(100, pa.int64()),
            "amount": pa.array([sometimes(i * 0.5) for i in range(fact_rows)], pa.float64()),
            "note": pa.array([sometimes(f"note {i}") for i in range(fact_rows)]),
        }
    )
    first = pa.table(
        {
            "a": pa.array([sometimes(i) for i in range(250)], pa.int64()),
            "x": pa.array([sometimes(i % 100) for i in range(250)], pa.int8()),
            "note": pa.array([f"first {i}" for i in range(250)]),
        }
    )
    second = pa.table(
        {
            "id": pa.array([i % 150 for i in range(220)], pa.int16()),
            "y": pa.array([sometimes(i * 10) for i in range(220)], pa.int64()),
        }
    )
    third = pa.table({"k": pa.array(range(100), pa.int64()), "z": pa.array(range(100))})
    return fact, first, second, third


def reference(fact, dimensions, select, how=None, null_equal=None):
    """The rows join_sequence() must give; `select` has (number of the input, column name) pairs,
    how and null_equal are of each dimension."""
    found = []
    for i, (table, _, on) in enumerate(dimensions):
        matches = defaultdict(list)
        for row in table.to_pylist():
            if row[on] is not None or (null_equal and null_equal[i]):
                matches[row[on]].append(row)
        found.append(matches)
    output = Counter()
    for row in fact.to_pylist():
        paths = [(row,)]
        for i, ((table, fact_on, _), matches) in enumerate(zip(dimensions, found)):
            kind = how[i] if how else "inner"
            here = matches.get(row[fact_on], [])
            if kind == "left":
                here = here or [dict.fromkeys(table.schema.names)]
            elif kind == "left_semi":
                here = here[:1]
            paths = [(*path, match) for path in paths for match in here]
        for path in paths:
            output[tuple(path[source][name] for source, name in select)] += 1
    return output


@pytest.mark.parametrize("materialize", ["auto", "as_they_come", "at-the-end"])
def test_all_columns(context, materialize):
    fact, first, second, third = star()
    result = gpujoin.join_sequence(
        fact,
        [(first, "a"), (second, "b", "id"), (third, "c", "k", None)],
        materialize=materialize,
        context=context,
    )
    assert result.schema.names == [*fact.schema.names, "x", "note_right", "y", "z"]
    select = [(0, name) for name in fact.schema.names]
    select += [(1, "x"), (1, "note"), (2, "y"), (3, "z")]
    expected = reference(fact, [(first, "a", "a"), (second, "b", "id"), (third, "c", "k")], select)
    assert result.num_rows == sum(expected.values()) > 0
    assert rows(result) == expected
    result.to_table().validate(full=True)


def test_selected_columns(context):
    fact, first, second, _ = star()
    result = gpujoin.join_sequence(
        fact,
        [(second, "b", "id", ["y", "id"]), (first, "a", "a", [])],
        fact_columns=["amount", "a"],
        context=context,
    )
    assert result.schema.names == ["amount", "a", "y", "id"]
    select = [(0, "amount"), (0, "a"), (1, "y"), (1, "id")]
    assert rows(result) == reference(fact, [(second, "b", "id"), (first, "a", "a")], select)


def test_pairs(context):
    fact, first, second, _ = star(500)
    result = gpujoin.join_sequence(
        fact,
        [(first, "a", None, []), (second, "b", "id", ["y"])],
        fact_columns=[],
        pairs=True,
        context=context,
    )
    assert result.schema.names == ["left_row", "right_row_0", "right_row_1", "y"]
    for row, first_row, second_row, y in rows(result):
        assert fact["a"][row].as_py() == first["a"][first_row].as_py()
        assert fact["b"][row].as_py() == second["id"][second_row].as_py()
        assert y == second["y"][second_row].as_py()
    pairs = result.pairs()
    assert pairs.schema.names == ["left_row", "right_row_0", "right_row_1"]
    assert rows(pairs) == rows(result.to_table().select(pairs.schema.names))
    assert rows(pa.Table.from_batches(result.pages(100))) == rows(result)


def test_no_columns_and_no_rows(context):
    fact, first, _, third = star(50)
    result = gpujoin.join_sequence(fact, [(third, "c", "k", [])], fact_columns=[], context=context)
    assert result.to_table().num_columns == 0
    assert result.num_rows == result.pairs().num_rows == result.to_table().num_rows > 0
    empty = third.slice(0, 0)
    result = gpujoin.join_sequence(fact, [(empty, "c", "k"), (first, "a")], context=context)
    assert result.num_rows == 0
    assert result.schema.names == [*fact.schema.names, "z", "x", "note_right"]
    assert result.to_table().schema == result.schema


def test_options_are_those_of_each_join(device, context):
    fact, first, second, _ = star()
    dimensions = [(first, "a"), (second, "b", "id")]
    algorithm = "cpu_radix" if device == "cpu" else "smj_um"
    result = gpujoin.join_sequence(fact, dimensions, context=context, algorithm=algorithm)
    statistics = result.statistics
    assert statistics.device == device
    assert algorithm.replace("_", "-").upper() in statistics.plan
    assert (statistics.left_rows, statistics.right_rows) == (2000, 470)
    assert "steps[1].match" in [stage.stage for stage in statistics.stages]
    with pytest.raises(gpujoin.IllegalPlan):
        gpujoin.join_sequence(
            fact, dimensions, context=context, match="merge_path", transform="none"
        )


def test_what_is_refused(context):
    fact, first, _, third = star(10)
    refused = [
        ({"dimensions": []}, "dimensions is empty"),
        ({"dimensions": [third]}, r"dimensions\[0\]"),
        ({"dimensions": [(third,)]}, r"dimensions\[0\]"),
        ({"dimensions": [(third, "c")]}, r"dimensions\[0\]: dimension_on"),
        ({"dimensions": [(third, "nothing", "k")]}, r"dimensions\[0\]: fact_on"),
        ({"dimensions": [(third, "c", "k", ["q"])]}, r"dimensions\[0\]: columns"),
        ({"dimensions": [(third, "c", "k", "z")]}, r"dimensions\[0\]: columns"),
        ({"dimensions": [(third, "c", "k")], "fact_columns": "a"}, "fact_columns"),
        ({"dimensions": [(third, "c", "k")], "fact_columns": ["q"]}, "fact_columns"),
        ({"dimensions": [(third, "c", "k")], "materialize": "never"}, "materialize"),
        ({"dimensions": [(third, "c", "k")], "radix_bits": 1 << 40}, "radix_bits"),
        ({"dimensions": [(first, "a")], "suffix": ""}, "suffix is empty"),
    ]
    for arguments, message in refused:
        with pytest.raises(gpujoin.InvalidArgument, match=message):
            gpujoin.join_sequence(fact, context=context, **arguments)
    dimensions = [(first, "a"), (third, "c", "k", ["z"])]
    refused = [
        ({"how": "full"}, "how 'full': joins of a sequence are inner, left, left_semi"),
        ({"how": ["left"]}, "how names 1 kinds, and there are 2 dimensions"),
        ({"how": ["inner", "best"]}, "how 'best' is none of"),
        ({"how": ["inner", "semi"]}, r"dimensions\[1\]: columns: a left_semi join puts out none"),
        ({"null_equal": ["k"]}, "null_equal: 'k' is no key; the keys are a, c"),
        ({"null_equal": [True]}, "null_equal has 1 truth values, and there are 2 keys"),
        ({"ieee_float": 5}, "ieee_float is a int"),
    ]
    for arguments, message in refused:
        with pytest.raises(gpujoin.InvalidArgument, match=message):
            gpujoin.join_sequence(fact, dimensions, context=context, **arguments)
    text = r"steps\[1\].*amount \(double\) and k \(int64\)$"
    with pytest.raises(gpujoin.TypeMismatch, match=text):
        gpujoin.join_sequence(fact, [(first, "a"), (third, "amount", "k")], context=context)


def test_inputs_may_go(context):
    fact, first, second, _ = star()
    select = [(0, "amount"), (1, "x"), (2, "y")]
    expected = reference(fact, [(first, "a", "a"), (second, "b", "id")], select)
    result = gpujoin.join_sequence(
        fact,
        [(first, "a", None, ["x"]), (second, "b", "id", ["y"])],
        fact_columns=["amount"],
        context=context,
    )
    del fact, first, second
    context.close()
    assert rows(result) == expected


def encode(table, name, kind):
    """A table with a column of numbers as text, dictionary or decimal."""
    values = table[name].cast(pa.int64())
    if pa.types.is_decimal(kind):
        values = values.cast(pa.decimal128(38, 0)).cast(kind)
    elif not pa.types.is_integer(kind):
        texts = [None if v is None else f"the number {v}" for v in values.to_pylist()]
        values = pa.chunked_array([pa.array(texts, pa.string())])
        values = values.dictionary_encode() if pa.types.is_dictionary(kind) else values.cast(kind)
    return table.set_column(table.schema.get_field_index(name), name, values)


TYPES = [
    *((pa.int64(), pa.decimal128(30, 2)), (pa.string(), pa.large_string())),
    *((pa.string_view(), pa.dictionary(pa.int32(), pa.string())), (pa.decimal32(9, 1),) * 2),
]


@pytest.mark.parametrize("of_fact, of_dimension", TYPES, ids=str)
@pytest.mark.parametrize("materialize", ["auto", "as_they_come", "at_the_end"])
@pytest.mark.parametrize("how", HOWS, ids="-".join)
def test_kinds_and_types_of_keys(context, how, materialize, of_fact, of_dimension):
    plain = fact, first, second, third = star(300)
    plain_dimensions = [(first, "a", "a"), (second, "b", "id"), (third, "c", "k")]
    fact = encode(encode(fact, "a", of_fact), "b", of_fact)
    first, second = encode(first, "a", of_dimension), encode(second, "id", of_dimension)
    dimensions = [(first, "a", "a"), (second, "b", "id"), (third, "c", "k")]
    wanted_of = ["x", "note"], ["y"], ["z"]
    columns = [[] if kind == "left_semi" else names for kind, names in zip(how, wanted_of)]
    select = [(0, "amount"), (0, "note"), (0, "c")]
    select += [(i + 1, name) for i, names in enumerate(columns) for name in names]
    described = [(*d, names) for d, names in zip(dimensions, columns)]
    for null_equal in (False, [True, False, True]):
        result = gpujoin.join_sequence(
            fact,
            described,
            ["amount", "note", "c"],
            how=how,
            null_equal=null_equal,
            materialize=materialize,
            context=context,
        )
        wanted = reference(plain[0], plain_dimensions, select, how, null_equal)
        assert rows(result) == wanted
        result.to_table().validate(full=True)
        assert result.num_rows == sum(wanted.values())


def test_row_numbers_of_left_joins(context):
    fact, first, second, _ = star(400)
    lists = pa.array([[i] for i in range(first.num_rows)])
    first = first.append_column("list", lists)
    dimensions = [(first, "a", "a", ["x", "list"]), (second, "b", "id", ["y"])]
    named = {"how": "left", "fact_columns": ["amount"], "context": context}
    result = gpujoin.join_sequence(fact, dimensions, pairs=True, **named)
    table = result.to_table()
    select = [(0, "amount"), (1, "x"), (2, "y")]
    wanted = reference(fact, [(first, "a", "a"), (second, "b", "id")], select, how=["left", "left"])
    assert rows(table.select(["amount", "x", "y"])) == wanted
    assert [result.schema.field(i).nullable for i in range(3)] == [False, True, True]
    for row in table.to_pylist():
        number = row["right_row_0"]
        assert row["list"] == (None if number is None else [number])
        assert row["x"] == (None if number is None else first["x"][number].as_py())
    pairs = result.pairs()
    pairs.validate(full=True)
    assert rows(pairs) == rows(table.select(pairs.schema.names))
    assert pairs["right_row_0"].null_count > 0


SEMI = """
    import pyarrow as pa, gpujoin
    fact = pa.table({"a": [1, 2, 1, None], "b": ["x", "x", "y", "x"], "list": [[1], [2], [3], [4]]})
    first = pa.table({"a": [1, 1, 3]})
    second = pa.table({"b": ["y", "x", "x"], "v": [1, 2, 3]})
    context = gpujoin.Context("cpu")
    for dimensions, how, wanted in (
        ([(first, "a"), (second, "b")], ["semi", "inner"], {(0, 1, 2), (0, 2, 3), (2, 0, 1)}),
        ([(second, "b"), (first, "a")], ["inner", "semi"], {(0, 1, 2), (0, 2, 3), (2, 0, 1)}),
        ([(second, "b"), (first, "a")], ["semi", "semi"], {(0,), (2,)}),
        ([(first, "a")], "semi", {(0,), (2,)}),
    ):
        for materialize in ("auto", "as_they_come", "at_the_end"):
            named = {"how": how, "context": context, "materialize": materialize}
            result = gpujoin.join_sequence(fact, dimensions, ["list"], pairs=True, **named)
            table = result.to_table()
            rows = [tuple(v for k, v in row.items() if k != "list") for row in table.to_pylist()]
            assert sorted(rows) == sorted(wanted), (how, rows)
            assert all([row["left_row"] + 1] == row["list"] for row in table.to_pylist())
            assert result.pairs() == table.select(result.pairs().schema.names).to_batches()[0]
    print("done")
"""


def test_row_numbers_beside_semi_joins():
    """A semi join has no row of its dimension. In a process of its own: it once brought it down."""
    run = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(SEMI)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (run.returncode, run.stdout) == (0, "done\n"), run.stderr
