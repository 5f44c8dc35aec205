"""Every kind of join: its rows, columns and row numbers, against nested loops in plain Python,
polars and duckdb."""

import random
from collections import Counter

import pyarrow as pa
import pytest
from tables import reference_kind, rows

import gpujoin
from gpujoin._kinds import ALIASES, KINDS


def side(prefix, count, seed, distinct=None, nulls=0.15):
    """A table of two keys, a payload of numbers, and text. Keys are unique where `distinct` is
    None."""
    pick = random.Random(seed)

    def column(values, kind=None):
        return pa.array([None if pick.random() < nulls else value for value in values], kind)

    if distinct is None:
        numbers = pick.sample(range(2 * count), count)
    else:
        numbers = [pick.randrange(distinct) for _ in range(count)]
    columns = {
        "k": column(numbers, pa.int32()),
        "j": column([n % 3 for n in numbers], pa.int64()),
        "n": column(range(count), pa.int16()),
        "t": column([f"{prefix} {i}" for i in range(count)]),
    }
    return pa.table({f"{prefix}.{name}": values for name, values in columns.items()})


def join(left, right, keys, how, context, **named):
    on = {"left_on": [f"left.{k}" for k in keys], "right_on": [f"right.{k}" for k in keys]}
    if not KINDS[how].has_keys:
        on = {}
    return gpujoin.join(left, right, how=how, context=context, **on, **named)


def expected(left, right, keys, how, pairs):
    on = [[f"{name}.{key}" for key in keys] for name in ("left", "right")]
    inputs = {"left": left.to_pylist(), "right": right.to_pylist()}
    kind = KINDS[how]
    nothing = {name: dict.fromkeys(t.schema.names) for name, t in zip(inputs, (left, right))}
    output = Counter()
    for left_row, right_row, mark in reference_kind(left, right, *on, how):
        numbers = {"left": left_row, "right": right_row}
        row = [numbers[name] for name in kind.sides] if pairs else []
        for name in kind.sides:
            number = numbers[name]
            source = nothing[name] if number is None else inputs[name][number]
            row += source.values()
        output[tuple([*row, mark] if kind.has_mark else row)] += 1
    return output


def check(left, right, keys, how, context):
    """With row numbers and without; a single join may also end with its error."""
    tables = {"left": left, "right": right}
    names = [name for s in KINDS[how].sides for name in tables[s].schema.names]
    names += ["mark"] if KINDS[how].has_mark else []
    for pairs in (False, True):
        try:
            wanted = expected(left, right, keys, how, pairs)
        except LookupError:
            with pytest.raises(gpujoin.SeveralMatches) as caught:
                join(left, right, keys, how, context, pairs=pairs)
            assert caught.value.status == 16
            continue
        result = join(left, right, keys, how, context, select=names, pairs=pairs)
        table = result.to_table()
        table.validate(full=True)
        assert rows(table) == wanted
        assert result.num_rows == sum(wanted.values())
        assert table.schema == result.schema
        assert [f.name for f in result.schema if f.name.endswith("_row")] == (
            [f"{s}_row" for s in KINDS[how].sides] if pairs else []
        )
        assert all(f.nullable or not table[f.name].null_count for f in result.schema)
        if pairs:
            alone = result.pairs()
            alone.validate(full=True)
            assert rows(alone) == rows(table.select(alone.schema.names))
        pages = list(result.pages(7))
        assert sum(page.num_rows for page in pages) == result.num_rows
        assert sum(map(rows, pages), Counter()) == wanted


SIZES = [(0, 0), (0, 9), (9, 0), (1, 1), (8, 9), (70, 40), (40, 150)]


@pytest.mark.parametrize("keys", ["k", "kj"])
@pytest.mark.parametrize("how", KINDS)
def test_against_nested_loops(context, how, keys):
    for seed, (left_rows, right_rows) in enumerate(SIZES):
        for nulls in (0, 0.2):
            left = side("left", left_rows, seed, 30, nulls)
            right = side("right", right_rows, seed + 100, 30, nulls)
            check(left, right, keys, how, context)


@pytest.mark.parametrize("keys", ["k", "jk"])
@pytest.mark.parametrize("how", [name for name in KINDS if name != "cross"])
def test_unique_keys(context, how, keys):
    for seed, count in enumerate((5, 64, 200)):
        left, right = side("left", count, seed), side("right", count, seed + 100)
        check(left, right, keys, how, context)


@pytest.mark.parametrize("how", [name for name in KINDS if name != "cross"])
def test_keys_that_are_all_null(context, how):
    for left_nulls, right_nulls in ((1, 0), (0, 1), (1, 1)):
        left = side("left", 20, 1, 5, left_nulls)
        right = side("right", 30, 2, 5, right_nulls)
        check(left, right, "k", how, context)


@pytest.mark.parametrize("how", ["left_mark", "right_mark", "left_not_in", "right_not_in"])
@pytest.mark.parametrize("rows_with_null", [0, 1])
def test_one_null_decides(context, how, rows_with_null):
    """A single NULL key among others leaves open what has no match."""
    left = side("left", 50, 3, 10, nulls=0)
    right = side("right", 5, 4, 10, nulls=0)
    nulls = [None] * rows_with_null
    with_null = pa.array([*right["right.k"].to_pylist()[rows_with_null:], *nulls], pa.int32())
    check(left, right.set_column(0, "right.k", with_null), "k", how, context)


def test_several_rows_of_several_keys_leave_it_open(context):
    """(1, NULL) may be (1, 2), and cannot be (2, 2)."""
    left = pa.table({"a": [1, 1, 3, None], "b": [None, 2, None, 5]})
    right = pa.table({"a": [1, 2], "b": [2, 2]})
    result = gpujoin.join(left, right, on=["a", "b"], how="mark", context=context)
    wanted = {(1, None, None): 1, (1, 2, True): 1, (3, None, False): 1, (None, 5, False): 1}
    assert rows(result) == wanted
    result = gpujoin.join(left, right, on=["a", "b"], how="not_in", context=context)
    assert rows(result) == {(3, None): 1, (None, 5): 1}


@pytest.mark.parametrize("how", KINDS)
def test_a_join_whose_columns_are_all_taken_or_none(context, how):
    left, right = side("left", 12, 5), side("right", 12, 6)
    wanted = expected(left, right, "k", how, True)
    texts = [f"{name}.t" for name in KINDS[how].sides]
    of_texts = join(left, right, "k", how, context, select=texts)
    of_all = join(left, right, "k", how, context, pairs=True)
    assert rows(of_texts) == rows(of_all.to_table().select(texts))
    nothing = join(left, right, "k", how, context, select=[])
    assert nothing.num_rows == nothing.to_table().num_rows == sum(wanted.values())
    count = len(KINDS[how].sides)
    assert rows(nothing.pairs()) == Counter(row[:count] for row in wanted.elements())


VALUES = [
    *(pa.array([1, None], kind) for kind in (pa.int8(), pa.uint64(), pa.date32(), pa.time64("us"))),
    *(pa.array([1, None], pa.timestamp("ms", "UTC")), pa.array([0.5, None], pa.float32())),
    *(pa.array([b"0123456789abcdef", None], pa.binary(16)), pa.array(["a", None])),
    *(pa.array([True, None]), pa.array([[1], None]), pa.array([{"x": 1}, None])),
    *(pa.array(["a", None]).dictionary_encode(), pa.array([None, None])),
]


@pytest.mark.parametrize("values", VALUES, ids=lambda values: str(values.type))
@pytest.mark.parametrize("count", [0, 1, 2])
def test_missing_rows_are_null_in_every_type(context, values, count):
    left = pa.table({"k": [1, 2, None]})
    right = pa.table({"k": [1, 2], "v": values}).slice(0, count)
    table = gpujoin.join(left, right, "k", how="left", context=context).to_table()
    table.validate(full=True)
    assert table.schema.field("v").type == values.type
    matched = 0 if pa.types.is_null(values.type) else min(count, 1)
    assert table["v"].null_count == 3 - matched
    empty = pa.Table.from_batches([], right.schema)
    table = gpujoin.join(left, empty, "k", how="full", context=context).to_table()
    table.validate(full=True)
    assert table["v"].null_count == table.num_rows == 3


def large(seed, rows_of_side=30000):
    """Many rows of few matches each; all columns called alike on both sides."""
    pick = random.Random(seed)
    numbers = [pick.randrange(2 * rows_of_side) for _ in range(rows_of_side)]
    keys = [None if pick.random() < 0.02 else number for number in numbers]
    return pa.table(
        {
            "v": pa.array(range(rows_of_side), pa.int32()),
            "k": pa.array(keys, pa.int64()),
            "text": pa.array([f"row {i % 1000}" for i in range(rows_of_side)]),
        }
    )


@pytest.mark.parametrize("how", ["inner", "left", "right", "full", "semi", "anti", "cross"])
def test_as_polars_has_it(context, how):
    """Rows, names and their order."""
    polars = pytest.importorskip("polars")
    size = 150 if how == "cross" else 30000
    left, right = (polars.from_arrow(large(seed, size)) for seed in (1, 2))
    same = {} if how == "cross" else {"on": "k"}
    named = {} if how == "cross" else {"left_on": "k", "right_on": "j"}
    others = right.rename({"k": "j", "v": "k"}), right.rename({"k": "j", "text": "k"})
    for other, keys in ((right, same), (others[0], named), (others[1], named)):
        ours = gpujoin.join(left, other, how=how, context=context, **keys).to_polars()
        theirs = left.join(other, how=how, **keys)
        assert ours.columns == theirs.columns
        assert ours.schema == theirs.schema
        assert ours.sort(ours.columns).equals(theirs.sort(theirs.columns))


# How a left row compares with the right ones in SQL, where AND has three values. IN of several
# columns is not asked: duckdb takes a NULL inside a row for a value, as it does inside a struct.
COMPARED = "FROM (SELECT {} AS same FROM r)"
OPEN = "CASE WHEN bool_or(same) THEN true WHEN bool_or(same IS NULL) THEN NULL ELSE false END"
SQL = [
    ("left_mark", "k", "SELECT *, k IN (SELECT k FROM r) AS mark FROM l"),
    ("left_mark", "kv", f"SELECT *, (SELECT {OPEN} {COMPARED}) AS mark FROM l"),
    ("left_not_in", "k", "SELECT * FROM l WHERE k NOT IN (SELECT k FROM r)"),
    ("left_not_in", "kv", f"SELECT * FROM l WHERE NOT (SELECT {OPEN} {COMPARED})"),
    ("left_semi", "kv", "SELECT * FROM l WHERE EXISTS (SELECT 1 FROM r WHERE {})"),
    ("left_anti", "kv", "SELECT * FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE {})"),
    ("left_single", "kv", "SELECT *, (SELECT w FROM r WHERE {}) AS w FROM l"),
]


@pytest.mark.parametrize("how, keys, query", SQL, ids=lambda value: value[:12])
@pytest.mark.parametrize("nulls", [0, 0.01])
def test_as_duckdb_has_it(context, how, keys, query, nulls):
    duckdb = pytest.importorskip("duckdb")
    pick = random.Random(5)

    def table(count, payload):
        def numbers(most):
            return [None if pick.random() < nulls else pick.randrange(most) for _ in range(count)]

        return pa.table({"k": numbers(200), "v": numbers(30), payload: range(count)})

    left, right = table(500, "u"), table(150, "w")
    if how == "left_single":
        grouped = right.group_by(["k", "v"]).aggregate([("w", "min")])
        right = grouped.rename_columns(["k", "v", "w"])
    with duckdb.connect() as connection:
        connection.register("l", left)
        connection.register("r", right)
        query = query.format(" AND ".join(f"l.{key} = r.{key}" for key in keys))
        wanted = rows(connection.sql(query).to_arrow_table())
    assert wanted or nulls
    named = {"on": list(keys), "context": context}
    result = gpujoin.join(left, right, how=how, **named)
    assert rows(result) == wanted
    names = ["k", "v", "u", "w"] if how == "left_single" else result.schema.names
    mirrored = gpujoin.join(right, left, how=how.replace("left", "right"), **named)
    assert rows(mirrored.to_table().select(names)) == wanted


def test_a_second_match_ends_a_single_join(context):
    left, right = pa.table({"k": [1, 2, 3]}), pa.table({"k": [2, 3, 3], "v": ["a", "b", "c"]})
    for arguments, how in (((left, right), "single"), ((right, left), "right_single")):
        with pytest.raises(gpujoin.SeveralMatches) as caught:
            gpujoin.join(*arguments, "k", how=how, context=context)
        assert caught.value.status == 16
        assert "2" in str(caught.value)  # the row
    assert gpujoin.join(right, left, "k", how="single", context=context).num_rows == 3


@pytest.mark.parametrize(
    "how, names",
    [
        ("inner", ["a", "k", "mark", "k_right", "v", "mark_right"]),
        ("left_single", ["a", "k", "mark", "k_right", "v", "mark_right"]),
        ("right", ["k", "mark", "k_right", "v", "b", "mark_right"]),
        ("right_single", ["k", "mark", "k_right", "v", "b", "mark_right"]),
        ("full", ["a", "k", "mark", "k_right", "v", "b", "mark_right"]),
        ("semi", ["a", "k", "mark"]),
        ("right_anti", ["k", "v", "b", "mark"]),
        ("not_in", ["a", "k", "mark"]),
        ("mark", ["a", "k", "mark", "mark_right"]),
        ("right_mark", ["k", "v", "b", "mark", "mark_right"]),
    ],
)
def test_names(context, how, names):
    """The keys are a and b, and the name k is taken by other columns."""
    left = pa.table({"a": [1, 2], "k": [0, 0], "mark": ["x", "y"]})
    right = pa.table({"k": [7, 8], "v": [3, 4], "b": [1, 3], "mark": [0.5, 1.5]})
    named = {"left_on": "a", "right_on": "b", "how": how, "context": context}
    result = gpujoin.join(left, right, **named)
    assert result.schema.names == result.to_table().schema.names == names
    again = gpujoin.join(left, right, select=names[::-1], **named)
    assert rows(again.to_table().select(names)) == rows(result)
    renamed = gpujoin.join(left, right, suffix="!", **named)
    assert renamed.schema.names == [name.replace("_right", "!") for name in names]


def test_the_keys_of_a_right_join_are_those_of_right(context):
    left = pa.table({"k": [1, 2], "l": ["a", "b"], "r": [1, 2]})
    right = pa.table({"k": [2, 3], "r": [0.5, 1.5]})
    for how in ("right", "right_single"):
        result = gpujoin.join(left, right, "k", how=how, context=context)
        assert result.schema.names == ["l", "r", "k", "r_right"]
        assert rows(result) == {("b", 2, 2, 0.5): 1, (None, None, 3, 1.5): 1}
        result = gpujoin.join(left, right, "k", how=how, select=["k"], context=context)
        assert rows(result) == {(2,): 1, (3,): 1}
        with pytest.raises(gpujoin.InvalidArgument, match="no column has the name 'k_right'"):
            gpujoin.join(left, right, "k", how=how, select=["k_right"], context=context)
    other = right.rename_columns(["j", "r"])
    result = gpujoin.join(left, other, "k", "j", how="right", select=["k", "j"], context=context)
    assert rows(result) == {(2, 2): 1, (None, 3): 1}


def test_the_mark(context):
    left, right = pa.table({"k": [1, 2, None], "v": [1, 2, 3]}), pa.table({"k": [1, None]})
    named = {"on": "k", "how": "mark", "context": context}
    result = gpujoin.join(left, right, **named)
    assert result.schema.field("mark") == pa.field("mark", pa.bool_())
    assert rows(result) == {(1, 1, True): 1, (2, 2, None): 1, (None, 3, None): 1}
    assert rows(gpujoin.join(left, right, select=["mark"], **named)) == {(True,): 1, (None,): 2}
    twice = gpujoin.join(left, right, select=["mark", "v", "mark"], pairs=True, **named)
    assert rows(twice) == {(0, True, 1, True): 1, (1, None, 2, None): 1, (2, None, 3, None): 1}
    assert rows(gpujoin.join(left, right, select=["v"], **named)) == {(i,): 1 for i in (1, 2, 3)}
    with pytest.raises(gpujoin.InvalidArgument, match="^suffix is empty, .*'mark'$"):
        gpujoin.join(left.rename_columns(["k", "mark"]), right, suffix="", **named)


def test_a_cross_join_has_no_keys(context):
    left, right = pa.table({"v": [1, 2]}), pa.table({"v": ["a", "b", None], "w": [7, 8, 9]})
    result = gpujoin.join(left, right, how="cross", context=context)
    assert result.schema.names == ["v", "v_right", "w"]
    assert result.num_rows == len(rows(result)) == 6
    for select, distinct in ((["v"], 2), (["w"], 3), (["v_right"], 3)):
        result = gpujoin.join(left, right, how="cross", select=select, context=context)
        assert sorted(rows(result).values()) == [6 // distinct] * distinct
    for named in ({"on": "v"}, {"left_on": "v"}, {"right_on": "v"}):
        with pytest.raises(gpujoin.InvalidArgument, match="^a cross join has no keys"):
            gpujoin.join(left, right, how="cross", context=context, **named)


@pytest.mark.parametrize("how", [*ALIASES, "LEFT", "Left-Semi", "RIGHT_NOT_IN"])
def test_other_names(context, how):
    left, right = side("left", 20, 1), side("right", 20, 2)
    name = how.lower().replace("-", "_")
    on = {"left_on": "left.k", "right_on": "right.k", "context": context}
    ours = gpujoin.join(left, right, how=how, **on)
    assert rows(ours) == rows(join(left, right, "k", ALIASES.get(name, name), context))


@pytest.mark.parametrize("how", ["best", "", None, 1, "left outer"])
def test_a_kind_that_is_none(context, how):
    table = pa.table({"k": [1]})
    with pytest.raises(gpujoin.InvalidArgument, match=f"^how {how!r} is none of ") as caught:
        gpujoin.join(table, table, "k", how=how, context=context)
    for name in (*KINDS, *ALIASES):
        assert name in str(caught.value)


@pytest.mark.parametrize("how", KINDS)
def test_a_plan_runs_again(context, how):
    left, right = side("left", 30, 1), side("right", 30, 2)
    on = {"left_on": "left.k", "right_on": "right.k"} if how != "cross" else {}
    with gpujoin.plan(left, right, how=how, context=context, **on) as plan:
        assert plan.explain().strip()
        first, second = plan.execute(), plan.execute()
    assert rows(first) == rows(second)


@pytest.mark.parametrize("rows", [10, 6000])
def test_null_in_a_dictionary_leaves_not_in_unknown(context, rows):
    """Of many rows several keys become one code, which does not say which of them was NULL."""
    words = pa.DictionaryArray.from_arrays(
        pa.array([i % 3 for i in range(rows)]), pa.array([7, 8, None], pa.int32())
    )
    left = pa.table({"a": range(rows), "b": words})
    right = pa.table({"a": [0, 1, 2], "b": pa.array([7, 9, 8], pa.int32())})
    found = gpujoin.join(left, right, on=["a", "b"], how="not_in", context=context)
    # (0, 7) is there, (2, NULL) may be: only its last row's comparison is unknown.
    kept = sorted(row["a"] for row in found.to_table().to_pylist())
    assert kept == [1, *range(3, rows)]


def test_text_of_one_side_comes_back_with_every_chunk(context, device):
    if device != "cuda":
        pytest.skip("chunks of the probe side are a GPU's")
    left = pa.table({"k": range(1000), "a": [f"text {i}" for i in range(1000)]})
    right = pa.table({"k": [i % 1500 for i in range(4000)]})
    for side in ("left", "right"):
        pair = (left, right) if side == "left" else (right, left)
        found = gpujoin.join(
            *pair, on="k", transfer="probe_chunks", probe_chunk_rows=500, context=context
        ).to_table()
        assert sorted(found["a"].to_pylist()) == sorted(
            f"text {i % 1500}" for i in range(4000) if i % 1500 < 1000
        )


def test_marks_of_nulls_that_are_equal_in_runs_of_a_dictionary(context):
    words = pa.array(["a", None, "b"]).dictionary_encode()
    left = pa.table(
        {"n": pa.array([1, 1, 2]), "word": pa.RunEndEncodedArray.from_arrays([1, 2, 3], words)}
    )
    for word, is_in in (("c", False), ("a", True)):
        right = pa.table({"m": [1], "text": [word]})
        found = gpujoin.join(
            *(left, right, ["n", "word"], ["m", "text"]),
            how="right_mark",
            null_equal=["word"],
            context=context,
        )
        assert found.to_table().column(-1).to_pylist() == [is_in]
