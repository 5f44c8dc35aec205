"""Filters of builds, against Python's sets, and probes that take them in."""

import datetime
import decimal
import random

import pyarrow as pa
import pytest
from test_build import KINDS, build_of, rows_of, table

import gpujoin

DROPPING = {  # kinds in which rows of the probe side without a match neither come out nor count
    "right": ["inner", "right", "left_semi", "right_semi", "right_anti"],
    "left": ["inner", "left", "left_semi", "right_semi", "left_anti"],
}


def passing_of(made, batch, columns=None):
    return [i for i, passes in enumerate(made.test(batch, columns).to_pylist()) if passes]


def keys_of(kind, values):
    array = pa.array(values, kind)
    return pa.table({"key": array})


DAY = datetime.date(2020, 1, 1)
COLUMNS = {
    "int8": (pa.int8(), lambda i: i - 60),
    "uint16": (pa.uint16(), lambda i: i * 13),
    "int32": (pa.int32(), lambda i: i * 7919 - 5),
    "uint64": (pa.uint64(), lambda i: 2**63 + i * 10 if i % 2 else i),
    "int64": (pa.int64(), lambda i: i * 2**50),
    "float": (pa.float32(), lambda i: [0.0, -0.0, float(i)][i % 3]),
    "double": (pa.float64(), lambda i: i / 3),
    "decimal": (pa.decimal128(10, 2), lambda i: decimal.Decimal(i) / 4),
    "wide decimal": (pa.decimal256(60, 5), lambda i: decimal.Decimal(i) * 10**40),
    "date": (pa.date32(), lambda i: DAY + datetime.timedelta(days=3 * i)),
    "timestamp": (
        pa.timestamp("ms"),
        lambda i: datetime.datetime(2020, 1, 1) + datetime.timedelta(seconds=i),
    ),
    "time": (pa.time64("us"), lambda i: datetime.time(i % 24, i % 60, i % 7)),
    "bool": (pa.bool_(), lambda i: i % 5 != 0),
    "string": (pa.string(), lambda i: f"some text {i}"),
    "large string": (pa.large_string(), lambda i: "x" * (i % 50) + str(i)),
    "view": (pa.string_view(), lambda i: f"text of more than twelve bytes {i}" if i % 2 else str(i)),
    "binary": (pa.binary(), lambda i: bytes([i % 256, 7])),
    "fixed": (pa.binary(16), lambda i: i.to_bytes(16, "little")),
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), lambda i: f"value {i % 40}"),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_no_row_with_a_match_is_dropped(context, name):
    kind, value = COLUMNS[name]
    built = [value(i) if i % 11 else None for i in range(0, 120, 2)]
    probed = [value(i) if i % 13 else None for i in range(120)]
    present = {v for v in built if v is not None}
    for null_equal in (False, True):
        source = keys_of(kind, built)
        with build_of(context, source, 17, on="key", null_equal=null_equal) as build:
            made = build.filter("key")
            assert (made.rows, made.has_null) == (60, True)
            ordered = sorted(present)
            assert (made.min, made.max) == (ordered[0], ordered[-1])
            batch = keys_of(kind, probed)
            found = set(passing_of(made, batch))
            wanted = {
                i
                for i, v in enumerate(probed)
                if (v in present if v is not None else null_equal)
            }
            assert wanted <= found or made.kind == "none"
            if made.kind == "bitmap" or len(found) == len(probed):
                assert made.kind in ("none", "min_max") or wanted == found
            else:
                assert len(found - wanted) <= 5 or made.kind == "min_max"
            # The same rows of a slice begin elsewhere in their bytes.
            sliced = passing_of(made, batch.slice(5))
            assert sliced == [i - 5 for i in sorted(found) if i >= 5]


def test_keys_of_other_types_are_tested_by_value(context):
    with build_of(context, keys_of(pa.int32(), [5, 1000, -3]), 2, on="key") as build:
        for kind in (None, "bloom", "bitmap"):
            made = build.filter(kind=kind)
            given = [5, 6, 1000, -3, 7]
            for other in (pa.int64(), pa.int16(), pa.decimal128(12, 2), pa.decimal64(9, 1)):
                assert passing_of(made, keys_of(other, given)) == [0, 2, 3], (kind, other)
            halves = [decimal.Decimal("5.5"), decimal.Decimal(5)]
            assert passing_of(made, keys_of(pa.decimal128(12, 2), halves)) == [1]
            encoded = pa.table({"key": pa.array(given * 3, pa.int64()).dictionary_encode()})
            assert len(passing_of(made, encoded)) == 9
            runs = pa.RunEndEncodedArray.from_arrays([2, 5], pa.array([5, 6], pa.int32()))
            assert passing_of(made, pa.table({"key": runs})) == [0, 1]
        with pytest.raises(gpujoin.TypeMismatch, match="columns"):
            made.test(keys_of(pa.string(), ["5"]))
    with pytest.raises(gpujoin.InvalidArgument, match="closed"):
        build.filter()


def xxh64(data):
    """XXH64 with seed 0, by its specification."""
    p1, p2, p3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
    p4, p5, mask = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5, 2**64 - 1

    def rotated(word, bits):
        return (word << bits | word >> (64 - bits)) & mask

    def round_of(lane, word):
        return rotated((lane + word * p2) & mask, 31) * p1 & mask

    at, end = 0, len(data)
    word = lambda size: int.from_bytes(data[at : at + size], "little")  # noqa: E731
    if end >= 32:
        lanes = [(p1 + p2) & mask, p2, 0, -p1 & mask]
        while at + 32 <= end:
            for i in range(4):
                lanes[i] = round_of(lanes[i], word(8))
                at += 8
        made = sum(rotated(lane, turn) for lane, turn in zip(lanes, (1, 7, 12, 18))) & mask
        for lane in lanes:
            made = ((made ^ round_of(0, lane)) * p1 + p4) & mask
    else:
        made = p5
    made = (made + end) & mask
    while at + 8 <= end:
        made = (rotated(made ^ round_of(0, word(8)), 27) * p1 + p4) & mask
        at += 8
    if at + 4 <= end:
        made = (rotated(made ^ word(4) * p1 & mask, 23) * p2 + p3) & mask
        at += 4
    while at < end:
        made = rotated(made ^ word(1) * p5 & mask, 11) * p1 & mask
        at += 1
    made = (made ^ made >> 33) * p2 & mask
    made = (made ^ made >> 29) * p3 & mask
    return made ^ made >> 32


def passes_bloom(bits, hashed):
    salts = [
        *(0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D),
        *(0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31),
    ]
    blocks = len(bits) // 32
    first = ((hashed >> 32) * blocks >> 32) * 32
    for i, salt in enumerate(salts):
        word = int.from_bytes(bits[first + 4 * i : first + 4 * i + 4], "little")
        if not word >> ((hashed & 0xFFFFFFFF) * salt % 2**32 >> 27) & 1:
            return False
    return True


def hash_of(value):
    if isinstance(value, str):
        return xxh64(value.encode())
    if isinstance(value, decimal.Decimal) and value != int(value):
        sign, digits, exponent = value.normalize().as_tuple()
        mantissa = int("".join(map(str, digits))) * (-1 if sign else 1)
        return xxh64(
            mantissa.to_bytes(32, "little", signed=True)
            + exponent.to_bytes(4, "little", signed=True)
        )
    return xxh64(int(value).to_bytes(8, "little", signed=True))


def test_a_host_tests_rows_as_the_header_says(context):
    draw = random.Random(5)
    kinds = {
        pa.int64(): [draw.randrange(-(2**40), 2**40) for _ in range(2000)],
        pa.string(): ["x" * draw.randrange(60) + str(draw.random()) for _ in range(2000)],
        pa.decimal128(20, 3): [decimal.Decimal(draw.randrange(10**9)) / 1000 for _ in range(2000)],
    }
    for kind, values in kinds.items():
        with build_of(context, keys_of(kind, values[:1000]), 300, on="key") as build:
            made = build.filter(kind="bloom", false_positive_rate=0.1)
            bits = made.bits
            wanted = [i for i, v in enumerate(values) if passes_bloom(bits, hash_of(v))]
            assert passing_of(made, keys_of(kind, values)) == wanted
            assert set(range(1000)) <= set(wanted)
            assert len(wanted) - 1000 <= 200
    source = pa.table({"a": kinds[pa.int64()], "b": kinds[pa.string()]})
    with build_of(context, source.slice(0, 1000), 300, on=["a", "b"]) as build:
        made = build.filter()
        hashes = [
            xxh64(b"".join(hash_of(v).to_bytes(8, "little") for v in row.values()))
            for row in source.to_pylist()
        ]
        wanted = [i for i, h in enumerate(hashes) if passes_bloom(made.bits, h)]
        assert passing_of(made, source) == wanted
        assert made.min is None
        assert build.filter("b").max == max(kinds[pa.string()][:1000])
    values = list(range(100, 4000, 3))
    with build_of(context, keys_of(pa.int32(), values), 300, on="key") as build:
        made = build.filter()
        assert made.kind == "bitmap" and made.distinct_is_exact and made.distinct == len(values)
        found = [
            made.first_value + i for i in range(8 * len(made.bits)) if made.bits[i // 8] >> i % 8 & 1
        ]
        assert found == values


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("how", KINDS)
def test_own_filters_change_no_kind_of_join(device, tmp_path, how, side):
    left, right = table(6000, 9000, 1), table(5000, 9000, 2)
    for limit in (None, 2**20):
        with gpujoin.Context(device, host_limit=limit, spill_path=str(tmp_path)) as context:
            expected = gpujoin.join(left, right, on="key", how=how).to_batch()
            build, probe = (left, right) if side == "left" else (right, left)
            for own in (None, False, True):
                with build_of(context, build, 700, on="key") as made:
                    assert limit is None or not made.info.is_whole
                    batches = probe.to_batches(max_chunksize=610)
                    arguments = {"how": how, "side": side, "own_filter": own}
                    if own and how not in DROPPING[side]:
                        with pytest.raises(gpujoin.Unsupported, match="own_filter"):
                            made.operation(probe.schema, **arguments)
                        continue
                    assert rows_of(made.probe(batches, **arguments)) == rows_of([expected])
                    with made.operation(probe.schema, **arguments) as operation:
                        with operation.probe() as probing:
                            for batch in batches:
                                while not probing.append(batch):
                                    probing.next()
                            probing.finish()
                            while probing.next() is not None:
                                pass
                        assert operation.progress.rows_in == probe.num_rows
                        assert (operation.progress.rows_dropped > 0) == bool(own)
                        assert "own filter" in operation.explain()


@pytest.mark.parametrize("limit", [2**22, None])
def test_the_own_filter_is_sampled(tmp_path, limit):
    """It is off, or not made, while all rows have matches, and on where few have."""
    build = pa.table({"key": pa.array(range(100_000), pa.int64())})
    rows = pa.array(range(400_000), pa.int64())
    with gpujoin.Context("cpu", host_limit=limit, spill_path=str(tmp_path)) as context:
        for shift, word in ((0, "off"), (95_000, "on")):
            with build_of(context, build, 10_000, on="key") as made:
                assert made.info.is_whole == (limit is None)
                with made.operation(build.schema) as operation, operation.probe() as probe:
                    for first in range(0, 400_000, 5000):
                        keys = [k % 100_000 + shift for k in rows[first : first + 5000].to_pylist()]
                        batch = pa.table({"key": pa.array(keys, pa.int64())})
                        while not probe.append(batch):
                            probe.next()
                    probe.finish()
                    is_made = limit is not None or word == "on"
                    said = f", {word}: " if is_made else "own filter not yet"
                    assert said in operation.explain(), operation.explain()
                    dropped = operation.progress.rows_dropped
                    assert (dropped > 200_000) == (word == "on")
                    assert word == "on" or dropped == 0


@pytest.mark.parametrize("limit", [None, 2**20])
@pytest.mark.parametrize("how", ["inner", "left", "right_anti", "full", "left_not_in"])
def test_filters_of_other_builds_drop_rows_as_if_they_had_not_come(device, tmp_path, how, limit):
    left, right = table(5000, 8000, 1), table(4000, 8000, 2)
    kept = {f"t{i}" for i in range(0, 50, 3)}
    words = pa.table({"text": sorted(kept)})
    chosen = left.filter(pa.array([t in kept for t in left["text"].to_pylist()]))
    with gpujoin.Context(device, host_limit=limit, spill_path=str(tmp_path)) as context:
        expected = gpujoin.join(chosen, right, on="key", how=how).to_batch()
        # An exact one: each word passes, and no other of the few that there are.
        with build_of(context, words, 5, on="text") as other:
            made = other.filter(false_positive_rate=1e-6)
            assert made.kind == "bloom"
        with build_of(context, right, 700, on="key") as build:
            for encode in (False, True):
                batches = left.to_batches(max_chunksize=610)
                if encode:
                    batches = [
                        batch.set_column(1, "text", batch["text"].dictionary_encode())
                        for batch in batches
                    ]
                found = build.probe(
                    batches, on="key", how=how, filters=[(made, "text"), (made, None)], threads=2
                )
                plain = rows_of(found)
                assert plain == rows_of([expected])


def test_row_numbers_stay_those_of_the_batches(context):
    left, right = table(900, 700, 1), table(500, 700, 2)
    pairs = gpujoin.join(left, right, on="key", select=[], pairs=True, context=context).pairs()
    expected = sorted((row["left_row"], row["right_row"]) for row in pairs.to_pylist())
    with build_of(context, right, 100, on="key", row_numbers=True) as build:
        found = build.probe(
            left.to_batches(max_chunksize=70), select=[], pairs=True, own_filter=True
        )
        assert sorted(tuple(row.values()) for b in found for row in b.to_pylist()) == expected


def test_arguments(context):
    with build_of(context, table(10, 5, 1), 5, on=["key", "text"]) as build:
        with pytest.raises(gpujoin.InvalidArgument, match="key is"):
            build.filter("number")
        with pytest.raises(gpujoin.InvalidArgument, match="kind"):
            build.filter(kind="sieve")
        with pytest.raises(gpujoin.InvalidArgument, match="false_positive_rate"):
            build.filter(false_positive_rate=2)
        with pytest.raises(gpujoin.Unsupported, match="BITMAP"):
            build.filter(kind="bitmap")
        with pytest.raises(gpujoin.InvalidArgument, match="keys"):
            build.filter().test(table(3, 3, 3), ["key"])
        with pytest.raises(gpujoin.InvalidArgument, match="own_filter"):
            build.operation(build.schema, own_filter="yes")
        with pytest.raises(gpujoin.InvalidArgument, match="filters"):
            build.operation(build.schema, filters=[("key", "key")])
    unfinished = gpujoin.Build(table(1, 1, 1).schema, on="key", context=context)
    with pytest.raises(gpujoin.InvalidArgument, match="not finished"):
        unfinished.filter()
