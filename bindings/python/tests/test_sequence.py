"""join_sequence(): against joins one after the other in plain Python."""

import random
from collections import Counter, defaultdict

import pyarrow as pa
import pytest
from tables import rows

import gpujoin


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


def reference(fact, dimensions, select):
    """The rows join_sequence() must give; `select` has (number of the input, column name) pairs."""
    found = []
    for table, _, on in dimensions:
        matches = defaultdict(list)
        for row in table.to_pylist():
            if row[on] is not None:
                matches[row[on]].append(row)
        found.append(matches)
    output = Counter()
    for row in fact.to_pylist():
        paths = [(row,)]
        for (_, fact_on, _), matches in zip(dimensions, found):
            paths = [(*path, match) for path in paths for match in matches.get(row[fact_on], [])]
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
        gpujoin.join_sequence(fact, dimensions, context=context, match="merge_path", gather="auto",
                              transform="none")


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
    with pytest.raises(gpujoin.TypeMismatch):
        gpujoin.join_sequence(fact, [(third, "amount", "k")], context=context)


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
