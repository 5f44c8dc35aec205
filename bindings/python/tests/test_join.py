"""join() and plan(): which rows, which columns, under which names."""

import datetime
import decimal
import inspect

import pyarrow as pa
import pytest
from tables import customers_and_orders, keys, line_items, reference_join, rows

import gpujoin
from gpujoin._abi import PlanOptions


def test_all_columns(context):
    left, right = customers_and_orders()
    result = gpujoin.join(left, right, "id", "customer", context=context)
    assert result.schema.names == ["id", "city", "rank", "note", "order", "note_right", "day"]
    select = [("left", n) for n in left.schema.names]
    select += [("right", n) for n in ("order", "note", "day")]
    expected = reference_join(left, right, "id", "customer", select)
    assert result.num_rows == len(result) == sum(expected.values())
    assert rows(result) == expected


def test_selected_columns_in_order(context):
    left, right = customers_and_orders()
    result = gpujoin.join(
        *(left, right, "id", "customer"),
        select=["day", "note_right", "rank", "customer"],
        context=context,
    )
    select = [("right", "day"), ("right", "note"), ("left", "rank"), ("right", "customer")]
    assert rows(result) == reference_join(left, right, "id", "customer", select)
    assert result.to_table().schema == result.schema


def test_keys_of_several_columns(context):
    left, right = line_items(), line_items(seed=2).rename_columns(["o", "l", "d", "w"])
    for left_on, right_on in (
        (["order", "line"], ["o", "l"]),
        (("line", "order", "day"), ("l", "o", "d")),
        (["order"], ["o"]),
    ):
        result = gpujoin.join(left, right, left_on, right_on, context=context)
        others = [name for name in right.schema.names if name not in right_on]
        assert result.schema.names == left.schema.names + others
        select = [("left", name) for name in left.schema.names]
        select += [("right", name) for name in others]
        expected = reference_join(left, right, left_on, right_on, select)
        assert rows(result) == expected
        assert expected


def test_several_keys_of_the_same_names(context):
    table = line_items()
    keys_of_table = ["line", "order"]
    wanted = ["line", "what_right"]
    result = gpujoin.join(
        table, table, on=keys_of_table, select=wanted, pairs=True, context=context
    )
    select = [("left", "line"), ("right", "what")]
    pairless = result.to_table().select(wanted)
    assert rows(pairless) == reference_join(table, table, keys_of_table, keys_of_table, select)
    for left_row, right_row in rows(result.pairs()):
        for name in keys_of_table:
            assert table[name][left_row] == table[name][right_row]


def test_several_keys_are_widened_one_by_one(context):
    left = pa.table({"a": pa.array([1, 2, -3], pa.int16()), "b": pa.array([7, 8, 9], pa.int64())})
    right = pa.table({"a": pa.array([2, 1, -3], pa.int64()), "b": pa.array([8, 9, 9], pa.uint8())})
    result = gpujoin.join(left, right, ["a", "b"], select=["a", "b"], context=context)
    assert rows(result) == {(2, 8): 1, (-3, 9): 1}
    assert result.schema.field("a").type == pa.int16()


def test_a_column_named_twice(context):
    table = keys(5)
    result = gpujoin.join(table, table, "k", select=["v", "k", "v"], context=context)
    assert rows(result) == {(i, i, i): 1 for i in range(5)}


def test_names_that_clash(context):
    left = pa.table({"k": [1], "v": [2], "v_right": [3]})
    right = pa.table({"k": [1], "v": [4]})
    result = gpujoin.join(left, right, "k", context=context)
    assert result.schema.names == ["k", "v", "v_right", "v_right_right"]
    assert rows(result) == {(1, 2, 3, 4): 1}
    result = gpujoin.join(left, right, "k", select=["v!", "k!"], suffix="!", context=context)
    assert rows(result) == {(4, 1): 1}


def test_pairs(context):
    left, right = customers_and_orders()
    result = gpujoin.join(
        left, right, "id", "customer", select=["order"], pairs=True, context=context
    )
    assert result.schema.names == ["left_row", "right_row", "order"]
    for left_row, right_row, order in rows(result):
        assert right_row == order
        assert left["id"][left_row] == right["customer"][right_row]
    assert rows(result.pairs()) == rows(result.to_table().select(["left_row", "right_row"]))


def test_no_columns(context):
    table = keys(10)
    result = gpujoin.join(table, table, "k", select=[], context=context)
    assert result.num_rows == result.to_table().num_rows == 10
    assert result.to_table().num_columns == 0
    assert rows(result.pairs()) == {(i, i): 1 for i in range(10)}


@pytest.mark.parametrize("left_rows, right_rows", [(0, 0), (0, 5), (5, 0), (1, 1), (100000, 3)])
def test_sizes(context, left_rows, right_rows):
    left, right = keys(left_rows), keys(right_rows)
    result = gpujoin.join(left, right, "k", select=["k", "v_right"], context=context)
    assert rows(result) == {(i, i): 1 for i in range(min(left_rows, right_rows))}


def test_many_to_many(context):
    left = pa.table({"k": pa.array([1, 2, 1, None] * 50, pa.int32()), "a": range(200)})
    right = pa.table({"k": pa.array([None, 1, 1, 3] * 25, pa.int32()), "b": range(100)})
    result = gpujoin.join(left, right, "k", context=context)
    assert result.num_rows == 100 * 50
    select = [("left", "k"), ("left", "a"), ("right", "b")]
    assert rows(result) == reference_join(left, right, "k", "k", select)


KEY_TYPES = [
    pa.int32(),
    pa.uint32(),
    pa.int64(),
    pa.uint64(),
    pa.date32(),
    pa.timestamp("us", "UTC"),
]


@pytest.mark.parametrize("kind", KEY_TYPES, ids=str)
def test_key_types(context, kind):
    integer = pa.int32() if kind.bit_width == 32 else pa.int64()
    left = pa.table({"k": pa.array([5, 7, None, 9], integer).cast(kind)})
    right = pa.table({"k": pa.array([9, None, 5, 5], integer).cast(kind), "row": range(4)})
    result = gpujoin.join(left, right, "k", context=context)
    assert result.schema.field("k").type == kind
    expected = reference_join(left, right, "k", "k", [("left", "k"), ("right", "row")])
    assert rows(result) == expected


MIXED = [
    *((pa.int32(), pa.int64()), (pa.int64(), pa.uint32()), (pa.uint32(), pa.uint64())),
    *((pa.int8(), pa.int16()), (pa.uint16(), pa.uint16()), (pa.int32(), pa.uint32())),
]


@pytest.mark.parametrize("left_type, right_type", MIXED, ids=str)
def test_integer_keys_of_two_types(context, left_type, right_type):
    left, right = keys(100, left_type), keys(50, right_type)
    result = gpujoin.join(left, right, "k", select=["k", "k_right", "v"], context=context)
    assert [field.type for field in result.schema][:2] == [left_type, right_type]
    assert rows(result) == {(i, i, i): 1 for i in range(50)}


def test_a_negative_key_is_no_large_one(context):
    left = pa.table({"k": pa.array([-1], pa.int32())})
    right = pa.table({"k": pa.array([2**32 - 1], pa.uint32())})
    assert gpujoin.join(left, right, "k", context=context).num_rows == 0


INTEGERS = [
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32()),
    *(pa.uint64(), pa.date32(), pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("us")),
    *(pa.timestamp("us", "Europe/Paris"), pa.time32("s"), pa.time64("us"), pa.duration("ms")),
]
NUMBERS = [
    *(pa.array([1, None, 3], kind) for kind in INTEGERS),
    *(pa.array([1.5, None, -0.0], kind) for kind in (pa.float32(), pa.float64())),
    pa.array([0x3E00, None, 0x8000], pa.uint16()).view(pa.float16()),
    pa.array([86400000, None, 0], pa.date64()),
    pa.array([1000, None, 3000], pa.timestamp("ns")),
    pa.array([decimal.Decimal("1.25"), None, decimal.Decimal(-3)], pa.decimal128(15, 2)),
    pa.array([b"0123456789abcdef", None, b"0" * 16], pa.binary(16)),
]
OTHERS = [
    pa.array(["a", None, ""]),
    pa.array(["a", None, "b"], pa.large_string()),
    pa.array([b"a", None, b""]),
    pa.array([True, None, False]),
    pa.array([[1], None, []], pa.list_(pa.int32())),
    pa.array([{"x": 1}, None, {"x": None}]),
    pa.array(["a", None, "a"]).dictionary_encode(),
    pa.array([decimal.Decimal(1), None, None], pa.decimal256(50, 2)),
    pa.array([None, None, None]),
]


@pytest.mark.parametrize("values", NUMBERS + OTHERS, ids=lambda values: str(values.type))
def test_payload_types(context, values):
    left = pa.table({"k": pa.array([2, 0, 1, 0], pa.int32())})
    right = pa.table({"k": pa.array([0, 1, 2], pa.int32()), "values": values})
    result = gpujoin.join(left, right, "k", context=context)
    table = result.to_table()
    table.validate(full=True)
    assert table.schema.field("values").type == values.type
    values = values.to_pylist()
    found = sorted(zip(table["k"].to_pylist(), map(str, table["values"].to_pylist())))
    assert found == sorted((k, str(values[k])) for k in (2, 0, 1, 0))


@pytest.mark.skipif(not hasattr(pa, "string_view"), reason="this pyarrow has no string_view")
def test_string_views_stay_so(context):
    left = pa.table({"k": [1, 0]})
    right = pa.table({"k": [0, 1], "text": pa.array(["zero", None], pa.string_view())})
    result = gpujoin.join(left, right, "k", context=context)
    assert result.schema.field("text").type == pa.string_view()
    assert rows(result) == {(0, "zero"): 1, (1, None): 1}


def test_text_from_both_sides(context):
    left = pa.table({"k": [1, 2], "l": ["a", "b"]})
    right = pa.table({"k": [2, 1], "r": ["c", "d"]})
    result = gpujoin.join(left, right, "k", select=["r", "l"], context=context)
    assert rows(result) == {("d", "a"): 1, ("c", "b"): 1}


def test_dates_stay_dates(context):
    day = datetime.date(2024, 2, 29)
    table = pa.table({"k": pa.array([day], pa.date32()), "v": [1]})
    assert rows(gpujoin.join(table, table, "k", select=["k", "v"], context=context)) == {
        (day, 1): 1
    }


def test_plan_explains_and_runs_again(context):
    left, right = keys(1000), keys(100)
    with gpujoin.plan(left, right, "k", context=context) as plan:
        assert plan.explain().strip()
        first, second = plan.execute(), plan.execute()
    assert rows(first) == rows(second) == {(i, i, i): 1 for i in range(100)}


def test_explain_of_any_length(context, monkeypatch):
    with gpujoin.plan(keys(10), keys(10), "k", context=context) as plan:
        text = plan.explain()
        monkeypatch.setattr("gpujoin._plan._EXPLAIN_BYTES", 1)
        assert plan.explain() == text


@pytest.mark.parametrize("build_side", ["left", "right"])
def test_build_side(context, build_side):
    left, right = keys(1000), keys(100)
    result = gpujoin.join(left, right, "k", build_side=build_side, context=context)
    assert result.num_rows == 100


@pytest.mark.parametrize(
    "algorithm",
    ["nop", "phj_om", "phj_gfur", "smj_om", "SMJ-UM", "cpu_radix", "nop_carried", "direct_carried"],
)
def test_algorithms(device, context, algorithm):
    left, right = customers_and_orders()
    select = ["rank", "day", "city"]
    arguments = left, right, "id", "customer"
    if device == "cpu" and algorithm != "cpu_radix":
        with pytest.raises((gpujoin.IllegalPlan, gpujoin.Unsupported, gpujoin.NoDevice)):
            gpujoin.join(*arguments, select=select, algorithm=algorithm, context=context)
        return
    result = gpujoin.join(*arguments, select=select, algorithm=algorithm, context=context)
    sides = [("left", "rank"), ("right", "day"), ("left", "city")]
    assert rows(result) == reference_join(*arguments, sides)
    assert result.statistics.device == ("cpu" if algorithm == "cpu_radix" else "cuda")


@pytest.mark.parametrize("filter", ["auto", "none", "key_bits", "key_hashes"])
def test_filter(device, context, filter):
    left, right = customers_and_orders()
    select = ["rank", "day", "city"]
    arguments = left, right, "id", "customer"
    if device == "cpu" and filter.startswith("key_"):
        with pytest.raises(gpujoin.IllegalPlan, match=filter):
            gpujoin.join(*arguments, select=select, filter=filter, context=context)
        return
    result = gpujoin.join(*arguments, select=select, filter=filter, context=context)
    sides = [("left", "rank"), ("right", "day"), ("left", "city")]
    assert rows(result) == reference_join(*arguments, sides)


def test_the_default_context():
    assert rows(gpujoin.join(keys(3), keys(2), "k", select=["k"])) == {(0,): 1, (1,): 1}


def test_right_on_beside_on(context):
    """The older order of arguments: the keys of left, then those of right."""
    left, right = customers_and_orders()
    named = gpujoin.join(left, right, left_on="id", right_on="customer", context=context)
    for ours in (
        gpujoin.join(left, right, "id", "customer", context=context),
        gpujoin.join(left, right, on="id", right_on="customer", context=context),
    ):
        assert ours.schema == named.schema
        assert rows(ours) == rows(named)


def test_on_names_the_keys_of_both_sides(context):
    table = line_items()
    for on in ("line", ["order", "line"], ("day", "order")):
        ours = gpujoin.join(table, table, on=on, context=context)
        theirs = gpujoin.join(table, table, on, context=context)
        assert ours.schema == theirs.schema
        assert rows(ours) == rows(theirs)
    with gpujoin.plan(table, table, on="line", context=context) as plan:
        assert plan.execute().num_rows > 0


BOTH = "^on and left_on both name the keys of left: give one of them$"


@pytest.mark.parametrize(
    "named, text",
    [
        ({}, "^no keys are named: give on, or left_on and right_on$"),
        ({"right_on": "k"}, "^right_on is given, and left_on is not$"),
        ({"on": "k", "left_on": "k"}, BOTH),
        ({"on": "k", "right_on": "v"}, "^right_on: right has no column 'v'; it has k, w$"),
        ({"on": "v"}, "^on: right has no column 'v'; it has k, w$"),
        ({"on": "w"}, "^on: left has no column 'w'; it has k, v$"),
        ({"on": []}, "^on names no column$"),
        ({"left_on": "v"}, "^right_on: right has no column 'v'; it has k, w$"),
    ],
)
def test_ways_to_name_no_keys(context, named, text):
    left, right = pa.table({"k": [1], "v": [2]}), pa.table({"k": [1], "w": [2]})
    for call in (gpujoin.join, gpujoin.plan):
        with pytest.raises(gpujoin.InvalidArgument, match=text):
            call(left, right, context=context, **named)


def test_everything_public_has_a_real_signature():
    public = [getattr(gpujoin, name) for name in gpujoin.__all__]
    methods = [
        getattr(cls, name)
        for cls in public
        if inspect.isclass(cls)
        for name in vars(cls)
        if inspect.isfunction(getattr(cls, name)) and not name.startswith("_")
    ]
    for function in public + methods:
        if inspect.isclass(function) and issubclass(function, Exception):
            continue
        kinds = {parameter.kind for parameter in inspect.signature(function).parameters.values()}
        assert not kinds & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    of_join, of_plan = inspect.signature(gpujoin.join), inspect.signature(gpujoin.plan)
    assert of_join.parameters == of_plan.parameters
    named = {"timeout_milliseconds": "timeout"}  # in seconds there
    fields = {name for name, *_ in PlanOptions._fields_} - {"struct_size"}
    choices = {named.get(name, name) for name in fields}
    assert choices < set(of_join.parameters)
    assert choices < set(inspect.signature(gpujoin.join_sequence).parameters)


ZONES = ["UTC", "Europe/Paris", "+05:30"]


@pytest.mark.parametrize("left_zone", ZONES)
@pytest.mark.parametrize("right_zone", ZONES)
def test_timestamps_with_zones_are_instants(context, left_zone, right_zone):
    instants = pa.array([0, 3600, None, 7200], pa.int64())
    left = pa.table({"k": instants.cast(pa.timestamp("s", left_zone)), "v": [1, 2, 3, 4]})
    right = pa.table({"k": instants.cast(pa.timestamp("s", right_zone))})
    result = gpujoin.join(left, right, "k", select=["k", "k_right", "v"], context=context)
    assert [result.schema.field(i).type.tz for i in (0, 1)] == [left_zone, right_zone]
    found = result.to_table()
    assert found["k"].cast(pa.int64()) == found["k_right"].cast(pa.int64())
    assert sorted(found["v"].to_pylist()) == [1, 2, 4]


def test_a_timestamp_without_a_zone_is_no_instant(context):
    naive = pa.table({"here": pa.array([0, 1], pa.timestamp("us"))})
    zoned = pa.table({"there": pa.array([0, 1], pa.timestamp("us", "UTC"))})
    text = r"here \(timestamp\[us\]\) and there \(timestamp\[us, tz=UTC\]\)"
    with pytest.raises(gpujoin.TypeMismatch, match=text):
        gpujoin.join(naive, zoned, "here", "there", context=context)
    text = r"there \(timestamp\[us, tz=UTC\]\) and here \(timestamp\[us\]\)"
    with pytest.raises(gpujoin.TypeMismatch, match=text):
        gpujoin.join_sequence(zoned, [(naive, "there", "here")], context=context)
    assert gpujoin.join(naive, naive, "here", context=context).num_rows == 2


@pytest.mark.parametrize("other", [pa.int8(), pa.int64(), pa.date32(), pa.timestamp("ms", "UTC")])
def test_a_key_of_type_null_matches_nothing(context, other):
    nothing = pa.table({"k": pa.nulls(3), "v": [1, 2, 3]})
    something = pa.table({"k": pa.array([None, 1], other)})
    for left, right in ((nothing, something), (something, nothing), (nothing, nothing)):
        result = gpujoin.join(left, right, "k", context=context)
        assert result.num_rows == result.to_table().num_rows == 0
        assert result.schema.field("k").type == left.schema.field("k").type
    sequence = gpujoin.join_sequence(nothing, [(something, "k")], context=context)
    assert sequence.to_table().num_rows == 0
