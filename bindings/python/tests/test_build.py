"""Builds and probes: the rows of a join in one call, however the batches come."""

import random
import threading
import time

import pyarrow as pa
import pytest

import gpujoin

KINDS = [
    *("inner", "left", "right", "full", "left_semi", "left_anti", "left_mark", "left_not_in"),
    *("right_semi", "right_anti", "right_mark", "right_not_in"),
]


def table(rows, keys, seed, nulls=0.05):
    draw = random.Random(seed)

    def some(value):
        return None if draw.random() < nulls else value

    return pa.table(
        {
            "key": pa.array([some(draw.randrange(keys)) for _ in range(rows)], pa.int32()),
            "text": pa.array([some(f"t{draw.randrange(50)}") for _ in range(rows)]),
            "number": pa.array([draw.random() for _ in range(rows)], pa.float64()),
        }
    )


def rows_of(batches):
    return sorted(
        (tuple(row.values()) for batch in batches for row in batch.to_pylist()), key=repr
    )


def build_of(context, source, batch_rows, **arguments):
    build = gpujoin.Build(source.schema, context=context, **arguments)
    row = 0
    for batch in source.to_batches(max_chunksize=batch_rows):
        build.append(batch, row)
        row += len(batch)
    build.finish()
    return build


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("how", KINDS)
@pytest.mark.parametrize("threads", [1, 3])
def test_kinds(context, how, side, threads):
    left, right = table(900, 700, 1), table(500, 700, 2)
    expected = gpujoin.join(left, right, on="key", how=how, context=context).to_batch()
    build, probe = (left, right) if side == "left" else (right, left)
    with build_of(context, build, 37, on="key") as made:
        found = list(
            made.probe(probe.to_batches(max_chunksize=61), how=how, side=side, threads=threads)
        )
    assert rows_of(found) == rows_of([expected])
    assert not found or found[0].schema.names == expected.schema.names


def test_text_keys_conditions_and_dictionaries(context):
    left, right = table(300, 50, 3), table(200, 50, 4)
    where = "left.number < right.number"
    expected = gpujoin.join(left, right, on="text", where=where, context=context).to_batch()
    encoded = [
        batch.set_column(1, "text", batch.column(1).dictionary_encode())
        for batch in left.to_batches(max_chunksize=40)
    ]
    with build_of(context, right, 30, on="text") as made:
        plain = list(made.probe(left.to_batches(max_chunksize=40), where=where))
        assert rows_of(plain) == rows_of([expected])
        assert rows_of(made.probe(encoded, where=where)) == rows_of([expected])


def test_row_numbers_are_the_callers(context):
    left, right = table(100, 60, 5, 0.0), table(100, 60, 6, 0.0)
    pairs = gpujoin.join(left, right, on="key", select=[], pairs=True, context=context).pairs()
    expected = sorted(
        (row["left_row"] + 7, row["right_row"] + 2**33) for row in pairs.to_pylist()
    )
    build = gpujoin.Build(right.schema, on="key", row_numbers=True, context=context)
    build.append(right, 2**33)
    build.finish()
    with build.operation(left.schema, select=[], pairs=True) as operation:
        with operation.probe() as probe:
            assert probe.append(left, 7)
            probe.finish()
            batch = probe.next()
    assert sorted(zip(*(column.to_pylist() for column in batch.columns))) == expected


def test_not_ready_until_results_are_taken(context):
    left, right = table(600_000, 1000, 7, 0.0), table(1000, 1000, 8, 0.0)
    with build_of(context, right, 1000, on="key") as build:
        with build.operation(left.schema, how="left_semi") as operation:
            with operation.probe() as probe:
                taken = 0
                while probe.append(left):
                    taken += 1
                assert 1 <= taken < 20
                assert probe.next() is not None
                assert operation.progress.rows_in == taken * left.num_rows
                assert operation.progress.rows_out > 0
                with pytest.raises(gpujoin.NotReady):
                    operation.next()


def limited(folder, limit, **arguments):
    return gpujoin.Context("cpu", memory_limit=limit, spill_path=folder, **arguments)


@pytest.mark.parametrize("how", ["inner", "full", "left_anti", "right_mark"])
def test_spilled(context, how, tmp_path):
    left, right = table(60_000, 50_000, 9), table(60_000, 50_000, 10)
    expected = gpujoin.join(left, right, on="key", how=how, context=context).to_batch()
    with limited(tmp_path, "4MiB") as tight, build_of(tight, right, 2048, on="key") as build:
        assert not build.info.is_whole
        operation = build.operation(left.schema, how=how)
        assert "partitions" in operation.explain()
        # One at a time: rows that somebody has count towards the limit.
        found = rows_of(build.probe(left.to_batches(max_chunksize=2048), how=how))
        assert found == rows_of([expected])
        assert tight.info().spill_peak > 0
        assert tight.info().host_peak <= 4 << 20
        assert not list(tmp_path.iterdir())
        build.close()
        operation.close()
        assert tight.info().spill_used == 0


def test_full_folder(tmp_path):
    right = table(60_000, 50_000, 10)
    with limited(tmp_path, "2MiB", spill_limit="64KiB") as tight:
        with pytest.raises(gpujoin.SpillError, match="spill_limit"):
            build_of(tight, right, 2048, on="key")
        assert tight.info().spill_used == 0
        assert not list(tmp_path.iterdir())
        small = right.slice(0, 100)
        assert gpujoin.join(small, small, on="key", context=tight).num_rows > 0


def test_no_folder():
    with gpujoin.Context("cpu", memory_limit="2MiB") as tight:
        with pytest.raises(gpujoin.MemoryLimit):
            build_of(tight, table(100_000, 50_000, 10), 2048, on="key")


def test_timeouts(context):
    left = table(200_000, 3, 11, 0.0)
    with build_of(context, left, 200_000, on="key") as build:
        began = time.monotonic()
        with pytest.raises(gpujoin.DeadlineExceeded):
            list(build.probe(left, how="inner", timeout=0.05))
        assert time.monotonic() - began < 5
    with pytest.raises(gpujoin.DeadlineExceeded):
        gpujoin.join(left, left, on="key", context=context, timeout=0.02)


def test_cancel_from_another_thread(context):
    left = table(100_000, 2, 12, 0.0)
    with build_of(context, left, 100_000, on="key") as build:
        operation = build.operation(left.schema)
        with operation.probe() as probe:
            probe.append(left)
            probe.finish()
            threading.Timer(0.1, operation.cancel).start()
            with pytest.raises(gpujoin.Cancelled):
                while probe.next() is not None:
                    pass
        # Others go on.
        few = left.slice(0, 1)
        assert sum(len(batch) for batch in build.probe(few, how="left_semi")) == 1


@pytest.mark.parametrize("threads", [1, 3])
def test_early_close(context, threads):
    left = table(50_000, 100, 13, 0.0)
    with build_of(context, left.slice(0, 1000), 1000, on="key") as build:
        rows = build.probe(left.to_batches(max_chunksize=500), threads=threads)
        assert len(next(rows)) > 0
        rows.close()


def test_errors_come_from_threads(context):
    left = table(100, 10, 14)
    other = left.drop_columns(["text"]).to_batches()
    with build_of(context, left, 100, on="key") as build:
        with pytest.raises(gpujoin.InvalidArgument, match="columns"):
            list(build.probe(left.to_batches() + other, threads=2))


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"on": "none"}, "no column 'none'"),
        ({"how": "sideways"}, "how"),
        ({"side": "middle"}, "side"),
        ({"select": []}, "select"),
        ({"pairs": True}, "row numbers"),
        ({"timeout": -1}, "timeout"),
    ],
)
def test_bad_arguments(context, arguments, message):
    left = table(10, 10, 15)
    with build_of(context, left, 10, on="key") as build:
        with pytest.raises(gpujoin.InvalidArgument, match=message):
            build.operation(left.schema, **arguments)


def test_unfinished(context):
    left = table(10, 10, 15)
    with gpujoin.Build(left.schema, on="key", context=context) as build:
        with pytest.raises(gpujoin.InvalidArgument, match="not finished"):
            build.operation(left.schema)
        build.finish()
        with pytest.raises(gpujoin.InvalidArgument, match="finished"):
            build.append(left)
