"""Columns of every type come out as they went in, whatever the kind of join, in every shape."""

import decimal
import itertools
import random
from collections import Counter

import pyarrow as pa
import pyarrow.compute
import pytest
from tables import reference_kind

import gpujoin
from gpujoin._kinds import KINDS

ROWS = 12
TEXTS = ["", "a", "a text of more than twelve bytes", "é", "twelve bytes", None] * 2
BYTES = [None if text is None else text.encode() for text in TEXTS]
NUMBERS = [0, 1, None, 3, 100, None, 5, 1, 0, 9, 11, 127]


def encoded(values, index):
    made = values.dictionary_encode()
    return pa.DictionaryArray.from_arrays(made.indices.cast(index), made.dictionary)


def made_of_numbers():
    kinds = [getattr(pa, f"{sign}int{bits}")() for sign in ("", "u") for bits in (8, 16, 32, 64)]
    yield from (pa.array(NUMBERS, kind) for kind in kinds)
    halves = [None if n is None else n / 2 for n in NUMBERS]
    yield from (pa.array(halves, kind) for kind in (pa.float16(), pa.float32(), pa.float64()))
    exact = [None if n is None else decimal.Decimal(n) / 4 for n in NUMBERS]
    for kind in (pa.decimal32(9, 2), pa.decimal64(15, 3), pa.decimal128(30, 2)):
        yield pa.array(exact, kind)
    yield pa.array(exact, pa.decimal256(60, 5))
    narrow = [pa.date32(), pa.time32("s"), pa.time32("ms")]
    wide = [pa.timestamp(u, zone) for u in ("s", "ms", "us", "ns") for zone in (None, "Asia/Tokyo")]
    wide += [pa.time64("us"), pa.time64("ns"), *(pa.duration(u) for u in ("s", "ms", "us", "ns"))]
    for kind in narrow + wide:
        yield pa.array(NUMBERS, pa.int32() if kind in narrow else pa.int64()).view(kind)
    days = [None if n is None else n * 86400000 for n in NUMBERS]
    yield pa.array(days, pa.int64()).view(pa.date64())
    months = [None if n is None else (n, -n, n * 10**9) for n in NUMBERS]
    yield pa.array(months, pa.month_day_nano_interval())


def made_of_text():
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        yield pa.array(TEXTS, kind)
        yield encoded(pa.array(TEXTS, kind), pa.int16())
    for kind in (pa.binary(), pa.large_binary(), pa.binary_view()):
        yield pa.array(BYTES, kind)
    for width in (0, 1, 3, 4, 8, 16, 33):
        fixed = [None if n is None else bytes([n]) * width for n in NUMBERS]
        yield pa.array(fixed, pa.binary(width))
    yield encoded(pa.array(TEXTS), pa.uint8())
    yield encoded(pa.array(NUMBERS, pa.int64()), pa.int32())
    yield encoded(pa.array(NUMBERS, pa.date32()), pa.uint64())
    yield pa.array([i % 3 == 0 if i % 5 else None for i in range(ROWS)])
    yield pa.nulls(ROWS)
    runs = [pa.int16(), pa.int32(), pa.int64()]
    for kind, values in zip(runs, (TEXTS, NUMBERS, [None, True, True, False] * 3)):
        yield pa.compute.run_end_encode(pa.array(values), kind)


def nested():
    lists = [[1, None], [], None, [3]] * 3
    yield pa.array(lists, pa.list_(pa.int8()))
    yield pa.array(lists, pa.large_list(pa.int64()))
    yield pa.array([["a"], None, ["more than twelve bytes", None]] * 4, pa.list_(pa.string()))
    yield pa.array([[1, 2], None] * 6, pa.list_(pa.int32(), 2))
    yield pa.array([{"x": 1, "y": "a"}, None, {"x": None, "y": None}] * 4)
    yield pa.array([[("a", 1)], None, []] * 4, pa.map_(pa.string(), pa.int32()))
    inner = pa.array(lists[:3], pa.list_(pa.int8()))
    indices = pa.array([0, 1, None, 2] * 3, pa.int8())
    yield pa.DictionaryArray.from_arrays(indices, inner)


FLAT = [*made_of_numbers(), *made_of_text()]
ALL = [*FLAT, *nested()]
CASES = [pytest.param(values, id=f"{i} {values.type}"[:60]) for i, values in enumerate(ALL)]


def type_out(kind):
    return kind.value_type if pa.types.is_run_end_encoded(kind) else kind


def plain(column):
    """Values as text: of all types, also those that Python cannot hash or has no values of."""
    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_time(kind) or pa.types.is_duration(kind):
        integer = pa.int32() if kind.bit_width == 32 else pa.int64()
        column = pa.chunked_array([c.view(integer) for c in column.chunks], integer)
    return [repr(value) for value in column.to_pylist()]


def check(context, left, right, how):
    """Every column of both sides, against nested loops over the keys."""
    kind = KINDS[how]
    tables = {"left": left, "right": right}
    meaning = {side: list(map(plain, table.columns)) for side, table in tables.items()}
    keys = {"left_on": "l.k", "right_on": "r.k"} if kind.has_keys else {}
    names = [name for side in kind.sides for name in tables[side].schema.names]
    result = gpujoin.join(left, right, how=how, select=names, context=context, **keys)
    table = result.to_table()
    table.validate(full=True)
    assert table.schema == result.schema
    wanted = Counter()
    for numbers in reference_kind(left, right, ["l.k"], ["r.k"], how):
        of_sides = dict(zip(("left", "right"), numbers))
        row = []
        for side in kind.sides:
            number = of_sides[side]
            row += ["None" if number is None else values[number] for values in meaning[side]]
        wanted[tuple(row)] += 1
    assert Counter(zip(*map(plain, table.columns))) == wanted
    return result


def keyed(prefix, values, numbers):
    return pa.table({f"{prefix}.k": pa.array(numbers, pa.int32()), f"{prefix}.v": values})


LEFT_KEYS = [1, 2, 2, None, 3, 4, 5, 5, None, 6, 7, 8]
RIGHT_KEYS = [2, 9, 2, 3, None, 10, 5, 1, 8, 8, 11, None]


@pytest.mark.parametrize("values", CASES)
@pytest.mark.parametrize(
    "how", ["inner", "left", "right", "full", "left_semi", "right_anti", "cross"]
)
def test_every_type(context, values, how):
    left, right = keyed("l", values, LEFT_KEYS), keyed("r", values, RIGHT_KEYS)
    result = check(context, left, right, how)
    for field in result.schema:
        if field.name.endswith(".v"):
            assert field.type == type_out(values.type)
    pages = list(result.pages(5))
    assert sum(page.num_rows for page in pages) == result.num_rows
    whole = pa.Table.from_batches(pages)
    assert [plain(column) for column in whole.columns] == [
        plain(column) for column in result.to_table().columns
    ]
    batch = result.to_batch()
    batch.validate(full=True)
    assert batch.schema == result.schema


@pytest.mark.parametrize("values", CASES)
@pytest.mark.parametrize("how", ["inner", "left", "full", "left_semi"])
def test_slices_and_chunks(context, values, how):
    left, right = keyed("l", values, LEFT_KEYS), keyed("r", values, RIGHT_KEYS)
    for first, count in ((3, 7), (1, 11), (9, 3)):
        check(context, left.slice(first, count), right.slice(first - 1, count), how)

    def in_chunks(table, size):
        return pa.concat_tables(table.slice(i, size) for i in range(0, ROWS, size))

    check(context, in_chunks(left, 5), in_chunks(right, 1), how)


@pytest.mark.parametrize("values", CASES)
def test_no_rows(context, values):
    left, right = keyed("l", values, LEFT_KEYS), keyed("r", values, RIGHT_KEYS)
    nothing = pa.Table.from_batches([], right.schema)
    for empty in (right.slice(0, 0), right.slice(5, 0), nothing):
        for how in ("inner", "left", "right", "full", "left_semi", "left_anti"):
            result = gpujoin.join(left, empty, "l.k", "r.k", how=how, context=context)
            table = result.to_table()
            table.validate(full=True)
            assert table.num_rows == (ROWS if how in ("left", "full", "left_anti") else 0)
            names = [name for name in ("l.v", "r.v") if name in table.schema.names]
            for name in names:
                assert table.schema.field(name).type == type_out(values.type)
                assert name == "l.v" or table[name].null_count == table.num_rows
            assert result.schema == table.schema
    none = gpujoin.join(nothing, nothing, "r.k", context=context)
    assert none.to_table().num_rows == 0
    assert list(none.pages()) == []


def test_three_hundred_columns(context):
    picked = random.Random(5)
    columns = [picked.choice(ALL) for _ in range(150)]
    left = keyed("l", NUMBERS, LEFT_KEYS)
    right = keyed("r", NUMBERS, RIGHT_KEYS)
    for i, values in enumerate(columns):
        left = left.append_column(f"l.{i}", values)
        right = right.append_column(f"r.{i}", columns[-i - 1])
    for how in ("inner", "full"):
        result = check(context, left, right, how)
        assert len(result.schema) == 304


@pytest.mark.parametrize("values", CASES)
def test_columns_named_twice(context, values):
    left = keyed("l", values, LEFT_KEYS)
    named = {"select": ["l.v", "l.k", "l.v"], "pairs": True, "context": context}
    table = gpujoin.join(left, keyed("r", values, RIGHT_KEYS), "l.k", "r.k", **named).to_table()
    numbers = table["left_row"].to_pylist()
    for place in (2, 4):
        assert plain(table.column(place)) == [plain(left["l.v"])[i] for i in numbers]


def test_dictionaries_of_each_chunk(context):
    """Chunks with dictionaries of their own; unified, with wider positions where they must be."""
    few = [encoded(pa.array(texts), pa.int8()) for texts in (["a", "b", None], ["b", "c", "a"])]
    texts = [str(i) for i in range(100)], [str(i) for i in range(50, 150)]
    many = [encoded(pa.array(part), pa.int8()) for part in texts]
    for chunks, index in ((few, pa.int8()), (many, pa.int64())):
        values = pa.chunked_array(chunks)
        table = pa.table({"k": range(len(values)), "v": values})
        result = gpujoin.join(table, table.select(["k"]), "k", context=context).to_table()
        assert result.schema.field("v").type == pa.dictionary(index, pa.string())
        found = dict(zip(result["k"].to_pylist(), result["v"].to_pylist()))
        assert [found[i] for i in range(len(values))] == values.to_pylist()
        # and as keys
        again = gpujoin.join(table, table, "v", select=["v"], context=context)
        assert Counter(again.to_table()["v"].to_pylist()) == {
            text: count * count
            for text, count in Counter(values.to_pylist()).items()
            if text is not None
        }


def test_an_ordered_dictionary_stays_so(context):
    ordered = pa.DictionaryArray.from_arrays(
        pa.array([1, 0, None], pa.int8()), pa.array(["low", "high"]), ordered=True
    )
    table = pa.table({"k": [1, 2, 3], "v": ordered})
    result = gpujoin.join(table, table.select(["k"]), "k", context=context)
    assert result.schema.field("v").type == ordered.type


def test_extension_types(context):
    table = pa.table(
        {
            "k": pa.array([b"0123456789abcdef", b"x" * 16, None], pa.binary(16)).cast(pa.uuid()),
            "text": pa.array(['{"a": 1}', None, "[]"], pa.json_()),
        }
    )
    result = gpujoin.join(table, table.slice(1), "k", select=["k", "text_right"], context=context)
    assert result.schema.types == [pa.uuid(), pa.json_()]
    found = result.to_table()
    found.validate(full=True)
    assert found["k"].to_pylist() == table["k"].to_pylist()[1:2]
    assert found["text_right"].to_pylist() == [None]


def test_a_zone_and_a_scale_stay(context):
    kinds = [pa.timestamp("ms", "America/New_York"), pa.decimal256(76, -2), pa.time32("s")]
    columns = {str(i): pa.nulls(2, kind) for i, kind in enumerate(kinds)}
    table = pa.table({"k": [1, 2], **columns})
    result = gpujoin.join(table, table.select(["k"]), "k", how="left", context=context)
    assert result.schema.types[1:] == kinds


def test_only_what_is_used_is_read(context):
    """A column that nobody asked for may be of any type, and cannot even be put together."""
    broken = pa.chunked_array(
        [pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), pa.array([[i]])) for i in (1, 2)]
    )
    left = pa.table({"k": pa.chunked_array([[1], [2]]), "v": broken})
    with pytest.raises(gpujoin.Unsupported, match="^left: column 'v' in chunks: "):
        gpujoin.join(left, left.select(["k"]), "k", context=context)
    result = gpujoin.join(left, left.select(["k"]), "k", select=["k"], context=context)
    assert result.num_rows == 2


def test_nothing_is_copied_that_lies_in_one_piece(context):
    """What a relation reads of text are the buffers of the table."""
    before = pa.total_allocated_bytes()
    big = pa.table({"k": pa.array(range(1000)), "v": pa.array(["x" * 10000] * 1000)})
    size = pa.total_allocated_bytes() - before
    with gpujoin.plan(big, pa.table({"k": [7]}), "k", context=context) as plan:
        assert pa.total_allocated_bytes() - before < size * 1.1
        assert plan.execute().to_table()["v"].to_pylist() == ["x" * 10000]


@pytest.mark.parametrize("how", ["inner", "left", "full", "left_semi", "cross"])
def test_many_rows(context, how):
    """Of tables that take more than one thread, page and word of bits."""
    count = 200 if how == "cross" else 5000
    pick = random.Random(how)

    def table(prefix):
        texts = [pick.choice([None, "", "é" * pick.randrange(40), str(i)]) for i in range(count)]
        return pa.table(
            {
                f"{prefix}.k": [pick.randrange(count) for _ in range(count)],
                f"{prefix}.text": texts,
                f"{prefix}.view": pa.array(texts, pa.string_view()),
                f"{prefix}.large": pa.array(texts, pa.large_string()),
                f"{prefix}.bit": [pick.choice([True, False, None]) for _ in range(count)],
                f"{prefix}.word": pa.array(texts).dictionary_encode(),
                f"{prefix}.wide": pa.array(
                    [pick.choice([None, decimal.Decimal(i)]) for i in range(count)],
                    pa.decimal256(50, 1),
                ),
                f"{prefix}.run": pa.compute.run_end_encode(
                    pa.array([i // 50 for i in range(count)])
                ),
                f"{prefix}.list": [[i] * (i % 3) for i in range(count)],
            }
        )

    left, right = table("l"), table("r")
    tables = [left, right][: len(KINDS[how].sides)]
    names = [name for table in tables for name in table.schema.names]
    keys = {"left_on": "l.k", "right_on": "r.k"} if how != "cross" else {}
    named = {"how": how, "select": names, "pairs": True, "context": context}
    result = gpujoin.join(left, right, **keys, **named)
    answer = result.to_table()
    answer.validate(full=True)
    assert answer.num_rows > 1000
    for side, source in zip(("left", "right"), tables):
        numbers = answer[f"{side}_row"].to_pylist()
        for name in source.schema.names:
            values = source[name].to_pylist()
            wanted = [None if i is None else values[i] for i in numbers]
            assert answer[name].to_pylist() == wanted, name
    joined = itertools.chain.from_iterable(
        page["l.text"].to_pylist() for page in result.pages(777, max_bytes=50000)
    )
    assert list(joined) == answer["l.text"].to_pylist()
