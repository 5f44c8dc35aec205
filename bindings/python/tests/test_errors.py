"""Every failure is an exception of its own class, with a message that names the culprit."""

import pyarrow as pa
import pytest
from program import run_python
from tables import customers_and_orders, keys

import gpujoin
from gpujoin.errors import error_of


def test_one_class_for_each_status():
    classes = {type(error_of(status, "text")) for status in range(1, 17)}
    assert len(classes) == 16
    assert all(issubclass(cls, gpujoin.GpujoinError) for cls in classes)
    unknown = error_of(999, "", cuda_code=2, is_sticky=True)
    assert type(unknown) is gpujoin.GpujoinError
    assert (unknown.status, unknown.cuda_code, unknown.is_sticky) == (999, 2, True)


def test_python_knows_what_they_are():
    assert issubclass(gpujoin.InvalidArgument, ValueError)
    assert issubclass(gpujoin.TypeMismatch, TypeError)
    assert issubclass(gpujoin.OutOfMemory, MemoryError)
    assert issubclass(gpujoin.LibraryNotFound, ImportError)
    assert issubclass(gpujoin.NotUnique, ValueError)


def table(**columns):
    return pa.table(columns)


KEYS = pa.array([1, 2])


@pytest.mark.parametrize(
    "left, right, named, error, text",
    [
        (table(k=KEYS), table(k=KEYS), {"left_on": "x"}, gpujoin.InvalidArgument, "no column 'x'"),
        (
            table(k=KEYS),
            table(j=KEYS),
            {"left_on": "k"},
            gpujoin.InvalidArgument,
            "right_on: right",
        ),
        (table(k=KEYS), table(k=KEYS), {"left_on": 0}, gpujoin.InvalidArgument, "no column 0"),
        (table(k=KEYS), table(k=KEYS), {"left_on": []}, gpujoin.InvalidArgument, "no column"),
        (
            table(k=KEYS, j=KEYS),
            table(k=KEYS, j=KEYS),
            {"left_on": ["k", "j"], "right_on": "k"},
            gpujoin.InvalidArgument,
            "left_on names 2 columns, and right_on 1",
        ),
        (table(k=KEYS), table(k=KEYS), {"left_on": ["k"] * 17}, gpujoin.Unsupported, "key_count"),
        (
            table(k=KEYS, j=["a", "b"]),
            table(k=KEYS, j=KEYS),
            {"left_on": ["k", "j"]},
            gpujoin.TypeMismatch,
            r"left_keys\[1\].*k \(int64\) and k \(int64\), j \(string\) and j \(int64\)$",
        ),
        (
            table(k=KEYS, j=KEYS),
            table(k=KEYS, j=KEYS),
            {"left_on": ["k", "j"], "gather": "transformed"},
            gpujoin.IllegalPlan,
            "several need",
        ),
        (table(k=["a"]), table(k=[b"a"]), {}, gpujoin.TypeMismatch, r"k \(string\) and k \(binary"),
        (table(k=[[1]]), table(j=["a"]), {"right_on": "j"}, gpujoin.TypeMismatch, '"k" of Arrow'),
        (
            table(k=pa.array([1], pa.date32())),
            table(j=pa.array([1], pa.int32())),
            {"right_on": "j"},
            gpujoin.TypeMismatch,
            r"do not compare: .*; the keys are k \(date32\[day\]\) and j \(int32\)$",
        ),
        (table(k=[0.5]), table(k=KEYS), {}, gpujoin.TypeMismatch, "do not compare"),
        (table(k=[True]), table(k=KEYS), {}, gpujoin.TypeMismatch, r"k \(bool\)"),
        (table(k=KEYS), table(k=KEYS.cast(pa.timestamp("s"))), {}, gpujoin.TypeMismatch, "k"),
        (
            table(k=KEYS.cast(pa.timestamp("ms", "UTC"))),
            table(k=KEYS.cast(pa.timestamp("ms"))),
            {},
            gpujoin.TypeMismatch,
            r"timestamp\[ms, tz=UTC\]",
        ),
        (table(k=KEYS), table(k=KEYS), {"select": ["y"]}, gpujoin.InvalidArgument, "name 'y'"),
        (table(k=KEYS), table(k=KEYS), {"select": "k"}, gpujoin.InvalidArgument, "list"),
        (table(k=KEYS), table(k=KEYS), {"suffix": ""}, gpujoin.InvalidArgument, "suffix"),
        (table(k=KEYS), table(k=KEYS), {"algorithm": "best"}, gpujoin.InvalidArgument, "phj_om"),
        (table(k=KEYS), table(k=KEYS), {"build_side": "up"}, gpujoin.InvalidArgument, "left"),
    ],
)
def test_refusals(context, left, right, named, error, text):
    with pytest.raises(error, match=text):
        gpujoin.join(left, right, **{"left_on": "k", "context": context, **named})


def test_two_columns_of_one_name(context):
    left = pa.table([KEYS, KEYS, KEYS], names=["k", "v", "v"])
    with pytest.raises(gpujoin.InvalidArgument, match="more than one"):
        gpujoin.join(left, table(k=KEYS), "k", select=["v"], context=context)
    with pytest.raises(gpujoin.InvalidArgument, match="2 columns"):
        gpujoin.join(left, table(k=KEYS), "v", "k", context=context)
    assert gpujoin.join(left, table(k=KEYS), "k", context=context).num_rows == 2


def test_techniques_that_do_not_fit(context):
    with pytest.raises((gpujoin.IllegalPlan, gpujoin.Unsupported)):
        gpujoin.join(
            *(keys(10), keys(10), "k"), transform="none", match="merge_path", context=context
        )


NUMBERS = [
    ("radix_bits", 1 << 31),
    ("passes", 1 << 31),
    ("page_pairs", 1 << 31),
    ("probe_chunk_rows", 1 << 63),
]


@pytest.mark.parametrize("name, too_much", NUMBERS)
def test_numbers_of_a_plan(name, too_much):
    """ctypes would cut them: of 2**64 it would leave 0, which means automatic."""
    for number in (too_much, 1 << 64, 1 << 70, -1, -(1 << 40), 2.0, 2.5, True, "2", [2]):
        with pytest.raises(gpujoin.InvalidArgument, match=f"^{name} is "):
            gpujoin.plan(keys(3), keys(3), "k", **{name: number})
        with pytest.raises(gpujoin.InvalidArgument, match=f"^{name} is "):
            gpujoin.join_sequence(keys(3), [(keys(3), "k")], **{name: number})
    assert gpujoin.join(keys(3), keys(3), "k", **{name: 0}).num_rows == 3


def test_names_that_are_no_names(context):
    for named in ({"algorithm": 5}, {"algorithm": ""}, {"transfer": False}, {"device": b"cpu"}):
        (name,) = named
        with pytest.raises(gpujoin.InvalidArgument, match=f"^{name} "):
            gpujoin.join(keys(3), keys(3), "k", context=context, **named)
    for named in ({"select": 5}, {"select": "k"}, {"suffix": None}, {"context": "cpu"}):
        (name,) = named
        with pytest.raises(gpujoin.InvalidArgument, match=f"^{name} is a "):
            gpujoin.join(keys(3), keys(3), "k", **{"context": context, **named})


def test_transfers_are_of_the_gpu():
    """What is named must fit: the CPU transfers nothing."""
    with gpujoin.Context("cpu") as context:
        for transfer in ("explicit_copies", "managed", "zero_copy", "probe_chunks"):
            with pytest.raises(gpujoin.IllegalPlan, match=f"transfer={transfer} is of CUDA plans"):
                gpujoin.join(keys(3), keys(3), "k", transfer=transfer, context=context)
        for transfer in (None, "auto", "none"):
            result = gpujoin.join(keys(3), keys(3), "k", transfer=transfer, context=context)
            assert result.num_rows == 3


def test_memory_limit(device):
    left, right = keys(1000000), keys(1000000)
    # Of the host, too: in pieces the device needs less, and the CPU joins what it has no room for.
    with gpujoin.Context(device, memory_limit="8 MiB", host_limit="1 MiB") as context:
        with pytest.raises(gpujoin.MemoryLimit):
            gpujoin.join(left, right, "k", context=context)
        assert gpujoin.join(keys(10), keys(10), "k", context=context).num_rows == 10


@pytest.mark.parametrize(
    "named",
    [
        {"device": "tpu"},
        {"device": "cpu:1"},
        {"device": "cuda:x"},
        {"threads": 0},
        {"threads": -1},
        {"memory_limit": 0},
        {"memory_limit": "much"},
        {"memory_limit": -5},
        {"memory_limit": 1 << 64},
        {"memory_limit": 1 << 70},
        {"memory_limit": "99999999999 TiB"},
        {"memory_limit": "9" * 400 + "g"},
        {"memory_limit": 1.5},
        {"memory_limit": True},
        {"memory_limit": "0.1"},
        {"threads": 1 << 31},
        {"threads": 1 << 40},
        {"threads": 1.0},
        {"threads": True},
        {"threads": "2"},
        {"threads_of": "callers"},
        {"threads_of": None},
        {"threads_of": 1},
        {"device": "cuda:4294967296"},
        {"device": "cuda:\u00b2"},
        {"device": "cuda:"},
        {"device": 5},
        {"device": None},
        {"calibration": "a\0b"},
        {"calibration": 5},
        {"log": "loud"},
        {"progress": 1},
    ],
)
def test_contexts_refuse(named):
    (name,) = named
    with pytest.raises(gpujoin.InvalidArgument, match=name):
        gpujoin.Context(**{"device": "cpu", **named})


def test_numbers_may_be_of_any_whole_type():
    numpy = pytest.importorskip("numpy")
    with gpujoin.Context("cpu", numpy.uint64(1 << 40), numpy.int8(1)) as context:
        assert (context.info().memory_limit, context.info().threads) == (1 << 40, 1)
    with gpujoin.Context("cpu", memory_limit=(1 << 64) - 1) as context:
        assert context.info().memory_limit == (1 << 64) - 1
    with gpujoin.Context("cpu", memory_limit="9007199254740993 b") as context:
        assert context.info().memory_limit == (1 << 53) + 1


def test_a_gpu_that_is_not_there():
    with pytest.raises(gpujoin.NoDevice) as caught:
        gpujoin.Context("cuda:1000")
    assert str(caught.value)
    assert caught.value.status == 11


def test_no_library():
    run = run_python("import gpujoin; gpujoin.Context()", GPUJOIN_LIBRARY="/no/such/library.so")
    assert run.returncode != 0
    assert "LibraryNotFound: libgpujoin was not found; set GPUJOIN_LIBRARY" in run.stderr


def test_a_library_that_is_another_one():
    run = run_python("import gpujoin; gpujoin.Context()", GPUJOIN_LIBRARY="libc.so.6")
    assert "LibraryNotFound" in run.stderr


def test_fork():
    """A context of the parent is refused in the child, where the shared one is made anew."""
    run = run_python("""
        import os, pyarrow, gpujoin
        table = pyarrow.table({"k": [1, 2, 3]})
        context = gpujoin.Context("cpu")
        assert gpujoin.join(table, table, "k", context=context).num_rows == 3
        child = os.fork()
        if child == 0:
            try:
                gpujoin.join(table, table, "k", context=context)
            except gpujoin.Forked:
                context.close()
                os._exit(0)
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        assert gpujoin.join(table, table, "k", context=context).num_rows == 3
        """)
    assert run.returncode == 0, run.stderr


def test_nothing_is_printed(capfd, context):
    left, right = customers_and_orders()
    gpujoin.join(left, right, "id", "customer", context=context).to_table()
    with pytest.raises(gpujoin.GpujoinError):
        gpujoin.join(left, right, "id", "note", context=context)
    assert capfd.readouterr() == ("", "")
