"""python -m gpujoin, run as its users run it."""

import os
import pty
import select
import subprocess
import sys

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from program import gpujoin, join
from tables import customers_and_orders, line_items, reference_join, rows

import gpujoin as package

SELECT = [("left", "rank"), ("left", "city"), ("right", "day"), ("right", "note")]
NAMES = "rank,city,day,note_right"


def expected():
    return reference_join(*customers_and_orders(), "id", "customer", SELECT)


def test_join_prints_rows_phases_and_totals(device, files):
    run = join(files, "--select", NAMES, "--device", device, "--rows", 3)
    assert (run.returncode, run.stderr) == (0, "")
    lines = run.stdout.splitlines()
    assert lines[0].split() == ["rank", "city", "day", "note_right"]
    assert lines[4] == ""
    assert lines[5].startswith(f"executor {device}: ")
    assert lines[6].startswith("join inner, build=left: ")
    assert f"500 x 3,000 rows -> {sum(expected().values()):,} rows" in run.stdout
    assert lines[-1].startswith("total ")


@pytest.mark.parametrize("ending", ["parquet", "feather", "arrow", "csv"])
def test_output_files(device, files, ending):
    run = join(files, "--select", NAMES, "--device", device, "-o", f"out.{ending}")
    assert (run.returncode, run.stderr) == (0, "")
    assert f"written to out.{ending}" in run.stdout
    path = files / f"out.{ending}"
    if ending == "csv":
        assert sum(1 for _ in path.open()) == 1 + sum(expected().values())
        return
    read = pa.parquet.read_table if ending == "parquet" else pa.feather.read_table
    assert rows(read(path)) == expected()
    assert sorted(p.name for p in files.iterdir()) == ["left.parquet", path.name, "right.parquet"]


@pytest.mark.parametrize("ending", ["feather", "csv"])
def test_input_files(device, files, ending):
    for name, table in zip(("left", "right"), customers_and_orders()):
        if ending == "csv":
            pa.csv.write_csv(table, files / f"{name}.csv")
        else:
            pa.feather.write_feather(table, files / f"{name}.feather", chunksize=100)
    names = {"left": f"left.{ending}", "right": f"right.{ending}"}
    run = join(files, "--select", "rank,order", "--device", device, "-o", "out.parquet", **names)
    assert (run.returncode, run.stderr) == (0, "")
    select = [("left", "rank"), ("right", "order")]
    wanted = reference_join(*customers_and_orders(), "id", "customer", select)
    assert rows(pa.parquet.read_table(files / "out.parquet")) == wanted


def test_all_columns(files):
    run = join(files, "-o", "out.parquet")
    assert run.returncode == 0
    names = pa.parquet.read_schema(files / "out.parquet").names
    assert names == ["id", "city", "rank", "note", "order", "note_right", "day"]


def test_keys_of_one_name(files):
    keys = ["--left-on", "customer", "--select", "order,customer_right,note_right"]
    run = gpujoin(
        "join", "right.parquet", "right.parquet", *keys, "-o", "out.parquet", folder=files
    )
    assert (run.returncode, run.stderr) == (0, "")
    right = customers_and_orders()[1]
    select = [("left", "order"), ("right", "customer"), ("right", "note")]
    wanted = reference_join(right, right, "customer", "customer", select)
    assert rows(pa.parquet.read_table(files / "out.parquet")) == wanted


def test_several_keys(files):
    table = line_items()
    pa.parquet.write_table(table, files / "items.parquet")
    other = table.rename_columns(["o", "l", "day", "w"])
    pa.parquet.write_table(other, files / "others.parquet")
    keys = ["--left-on", "order, line", "--right-on", "o,l", "--select", "what,w"]
    run = gpujoin(
        "join", "items.parquet", "others.parquet", *keys, "-o", "out.parquet", folder=files
    )
    assert (run.returncode, run.stderr) == (0, "")
    select = [("left", "what"), ("right", "w")]
    wanted = reference_join(table, other, ["order", "line"], ["o", "l"], select)
    assert rows(pa.parquet.read_table(files / "out.parquet")) == wanted


def test_version():
    run = gpujoin("--version")
    version = f"gpujoin {package.__version__}, library {package.library_version()}\n"
    assert (run.returncode, run.stdout, run.stderr) == (0, version, "")
    run = gpujoin("--version", GPUJOIN_LIBRARY="/no/such/library.so")
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr.startswith("gpujoin: libgpujoin was not found")


def test_explain_stops_unless_told(files):
    run = join(files, "--explain")
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.strip()
    assert "total " not in run.stdout
    told = join(files, "--explain", "--execute", "--rows", 0)
    assert told.returncode == 0
    assert told.stdout.splitlines()[-1].startswith("total ")


def test_no_rows(files):
    empty = customers_and_orders()[0].slice(0, 0)
    pa.parquet.write_table(empty, files / "empty.parquet")
    run = join(files, "-o", "out.parquet", left="empty.parquet")
    assert (run.returncode, run.stderr) == (0, "")
    assert "-> 0 rows" in run.stdout
    assert pa.parquet.read_table(files / "out.parquet").num_rows == 0


@pytest.mark.parametrize(
    "arguments, status, text",
    [
        (["--select", "rank,color"], 2, "no column has the name 'color'"),
        (["--left-on", "nobody"], 2, "left.parquet has no column 'nobody'"),
        (["--right-on", "nobody"], 2, "right.parquet has no column 'nobody'"),
        (["--left-on", "id,rank"], 2, "--left-on names 2 columns, and --right-on 1"),
        (["--left-on", "id,nobody"], 2, "left.parquet has no column 'nobody'"),
        (["--algorithm", "best"], 2, "phj_om"),
        (["--memory-limit", "lots"], 2, "lots"),
        (["--threads", "0"], 2, "--threads is 0"),
        (["--threads", str(1 << 40)], 2, "--threads is 1099511627776"),
        (["--memory-limit", "99999999999T"], 2, "--memory-limit is "),
        (["-o", "left.parquet"], 2, "left.parquet is the input left.parquet"),
        (["-o", "s3://bucket/x.parquet"], 2, "s3://bucket/x.parquet is a URL"),
        (["--rows", "-1"], 2, "--rows"),
        (["-o", "out.xls"], 2, "out.xls"),
        (["-o", "nowhere/out.parquet"], 2, "nowhere"),
        (["--left-on", "city"], 1, "the keys are city (string) and customer (int64)"),
        (["--memory-limit", "1KiB", "--device", "cpu"], 1, "gpujoin: "),
    ],
)
def test_wrong_arguments(files, arguments, status, text):
    run = join(files, *arguments)
    assert run.returncode == status
    assert text in run.stderr
    assert run.stderr.startswith("gpujoin: ")
    assert len(run.stderr.splitlines()) == 1
    assert len(list(files.iterdir())) == 2  # no output was begun


def test_no_input_is_overwritten(files):
    """However it is spelled, and through links of both kinds."""
    (files / "soft.parquet").symlink_to("right.parquet")
    (files / "hard.parquet").hardlink_to(files / "right.parquet")
    (files / "folder").mkdir()
    (files / "LEFT.csv").symlink_to("left.parquet")  # whatever the format of the output
    before = {path.name: path.read_bytes() for path in files.glob("*.parquet")}
    spellings = ["left.parquet", "./left.parquet", "folder/../left.parquet", files / "left.parquet"]
    for output in [*spellings, "right.parquet", "soft.parquet", "hard.parquet", "LEFT.csv"]:
        run = join(files, "-o", output)
        assert (run.returncode, run.stdout) == (2, "")
        assert f"gpujoin: {output} is the input " in run.stderr
    run = join(files, "-o", "right.parquet", right="soft.parquet")
    assert run.returncode == 2
    assert {path.name: path.read_bytes() for path in files.glob("*.parquet")} == before
    assert join(files, "-o", "other.parquet").returncode == 0
    assert join(files, "-o", "other.parquet").returncode == 0  # what is no input is replaced


def test_many_rows_to_print_are_all(files):
    run = join(files, "--select", "order", "--rows", 1 << 70)
    assert (run.returncode, run.stderr) == (0, "")
    assert len(run.stdout.splitlines()) > sum(expected().values())


def test_csv_files_of_a_header_alone(device, files):
    """All that is known of their columns is that nothing is in them."""
    (files / "left.csv").write_text("id,name\n")
    (files / "right.csv").write_text("customer,v\n1,2.5\n")
    for left, right in (("left.csv", "right.csv"), ("left.csv", "right.parquet")):
        for ending in ("parquet", "csv", "feather"):
            run = join(files, "-o", f"out.{ending}", "--device", device, left=left, right=right)
            assert (run.returncode, run.stderr) == (0, "")
            assert "-> 0 rows" in run.stdout
    assert pa.parquet.read_table(files / "out.parquet").num_rows == 0
    assert (files / "out.csv").read_text() == '"id","name","order","note","day"\n'


@pytest.mark.parametrize("ending", ["csv", "feather", "parquet"])
def test_two_columns_of_one_name(files, ending):
    """Readers find columns by their names, and would give the first one twice."""
    table = pa.table([[1], [2], [3]], names=["id", "v", "v"])
    name = f"twice.{ending}"
    if ending == "csv":
        pa.csv.write_csv(table, files / name)
    elif ending == "feather":
        with pa.ipc.new_file(str(files / name), table.schema) as file:
            file.write_table(table)
    else:
        pa.parquet.write_table(table, files / name)
    run = join(files, left=name)
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr == f"gpujoin: {name}: more than one column is named 'v'\n"
    assert join(files, "--select", "id,order", left=name).returncode == 0


def test_wrong_files(files):
    (files / "text.parquet").write_text("this is no table")
    wrong = [("none.parquet", 1), ("text.parquet", 1), (".", 1), ("left.xls", 2)]
    wrong += [("s3://b/x.parquet", 2), ("https://b/x.csv", 2), (".//none.csv", 1)]
    for left, status in wrong:
        run = join(files, left=left)
        assert run.returncode == status
        assert len(run.stderr.splitlines()) == 1
        assert left in run.stderr
    assert gpujoin("join", "left.parquet", folder=files).returncode == 2
    assert gpujoin(folder=files).returncode == 2


def test_no_cuda_is_one_line(files):
    run = join(files, "--device", "cuda")
    if run.returncode == 0:
        pytest.skip("there is a GPU")
    assert run.returncode == 1
    assert len(run.stderr.splitlines()) == 1


def test_no_library_is_one_line(files):
    run = gpujoin("info", GPUJOIN_LIBRARY="/no/such/library.so")
    assert run.returncode == 1
    assert run.stderr.startswith("gpujoin: libgpujoin was not found")
    assert len(run.stderr.splitlines()) == 1


def test_info(device):
    run = gpujoin("info", "--device", device)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.splitlines()[0].startswith("device")
    assert device in run.stdout
    assert "library" in run.stdout


# What a test changes in the program before it runs.
PATCHED = """
import os, signal, sys
import gpujoin._cli as cli, gpujoin._cli_bar as bar
import gpujoin._cli_join as joining, gpujoin._cli_output as output
{}
sys.exit(cli.main(sys.argv[1:]))
"""


def start(files, patch, *arguments, **named):
    keys = ["--left-on", "id", "--right-on", "customer"]
    return subprocess.Popen(
        [sys.executable, "-c", PATCHED.format(patch), "join", "left.parquet", "right.parquet"]
        + [*keys, *arguments],
        cwd=files,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        **named,
    )


def test_the_bar_is_for_terminals(files):
    """With stderr a terminal, long work draws a bar there and takes it away; stdout stays clean."""
    ours, theirs = pty.openpty()
    patch = "bar.Bar.WAIT = bar.Bar.PAUSE = 0"
    process = start(files, patch, "-o", "out.parquet", stderr=theirs)
    output, _ = process.communicate(timeout=120)
    drawn = b""
    while select.select([ours], [], [], 0)[0]:
        drawn += os.read(ours, 1 << 16)
    os.close(ours)
    os.close(theirs)
    assert process.returncode == 0
    assert b"\r" not in output
    for what in (b"reading left.parquet: ", b"joining right.parquet: ", b"writing out.parquet: "):
        assert b"] " + what in drawn
    for rows in (b"500 of 500 rows, ", b"3,000 of 3,000 rows, ", b" rows/s, 0 s left"):
        assert rows in drawn
    assert drawn.endswith(b"\r")


@pytest.mark.parametrize("what", ["reading", "joining", "writing"])
@pytest.mark.parametrize(
    "name, status, text",
    [("INT", 130, "interrupted"), ("TERM", 143, "Terminated"), ("HUP", 129, "Hangup")],
)
def test_signals(files, what, name, status, text):
    patch = f"""
def show(self, what, done, total):
    if what.startswith("{what}"):
        os.kill(os.getpid(), signal.SIG{name})
bar.Bar.show = show
"""
    process = start(files, patch, "-o", "out.parquet", stderr=subprocess.PIPE)
    output, errors = process.communicate(timeout=120)
    assert (process.returncode, output, errors) == (status, b"", f"gpujoin: {text}\n".encode())
    assert len(list(files.iterdir())) == 2  # no output is left


def test_a_second_signal_leaves_no_file_either(files):
    patch = """
def show(self, what, done, total):
    if what.startswith("writing"):
        os.kill(os.getpid(), signal.SIGTERM)
bar.Bar.show = show
unlink = output.Path.unlink
def slowly(path):
    os.kill(os.getpid(), signal.SIGTERM)
    unlink(path)
output.Path.unlink = slowly
"""
    process = start(files, patch, "-o", "out.parquet", stderr=subprocess.PIPE)
    assert process.communicate(timeout=120) == (b"", b"gpujoin: Terminated\n")
    assert process.returncode == 143
    assert len(list(files.iterdir())) == 2


def test_a_hangup_that_is_ignored_stays_so(files):
    """As nohup wants it."""
    patch = """
signal.signal(signal.SIGHUP, signal.SIG_IGN)
def show(self, what, done, total):
    os.kill(os.getpid(), signal.SIGHUP)
bar.Bar.show = show
"""
    process = start(files, patch, "-o", "out.parquet", stderr=subprocess.PIPE)
    assert process.communicate(timeout=120)[1] == b""
    assert process.returncode == 0
    assert (files / "out.parquet").exists()


def test_a_reader_that_leaves(files):
    process = start(files, "joining.head = lambda _: 'row ' * 1000000", stderr=subprocess.PIPE)
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=120) == 1
