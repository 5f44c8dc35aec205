"""The wheel as it was installed: nothing is set, and the library in it is the one that is used."""

import ctypes
import importlib.metadata
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import gpujoin
from gpujoin import _abi, _abi_check, _structs

PACKAGE = Path(gpujoin.__file__).parent


def run_python(code, **environment):
    clean = {k: v for k, v in os.environ.items() if k not in ("GPUJOIN_LIBRARY", "PYTHONPATH")}
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**clean, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_joins():
    left = pa.table({"k": [1, 2, 2, None], "a": ["x", "y", "z", "w"]})
    right = pa.table({"k": [2, 3], "b": [0.5, 1.5]})
    found = gpujoin.join(left, right, "k", order="left").to_table()
    assert found.to_pylist() == [{"k": 2, "a": "y", "b": 0.5}, {"k": 2, "a": "z", "b": 0.5}]


def test_the_libraries_of_the_wheel_are_loaded():
    gpujoin.Context("cpu", threads=2).close()
    mapped = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines()}
    assert str(PACKAGE / "libgpujoin.so") in mapped
    threads = [path for path in mapped if "libtbb" in Path(path).name]
    assert [Path(path).parent.name for path in threads] == ["gpujoin.libs"]


def test_nothing_of_cuda_is_needed():
    needed = subprocess.run(["readelf", "-d", PACKAGE / "libgpujoin.so"], capture_output=True)
    assert needed.returncode == 0 and b"NEEDED" in needed.stdout
    assert b"libcud" not in needed.stdout


def test_one_version():
    assert importlib.metadata.version("gpujoin") == gpujoin.__version__
    assert gpujoin.library_version() == gpujoin.__version__


def test_one_wheel_for_every_python():
    tags = importlib.metadata.distribution("gpujoin").read_text("WHEEL")
    assert "Root-Is-Purelib: false" in tags
    assert "Tag: py3-none-manylinux" in tags


def test_the_command_line():
    program = Path(sys.executable).with_name("gpujoin")
    run = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=120)
    version = f"gpujoin {gpujoin.__version__}, library {gpujoin.library_version()}\n"
    assert (run.returncode, run.stdout, run.stderr) == (0, version, "")


STUB = """
#include <stdint.h>
int32_t gpujoin_version_number(void) {{ return {number}; }}
"""


@pytest.mark.parametrize(
    "number, said", [(100, "its version is 0.1, not 0.2"), (200, "undefined symbol")]
)
def test_a_wrong_library_is_an_import_error(tmp_path, number, said):
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    source, library = tmp_path / "stub.c", tmp_path / "libgpujoin.so"
    source.write_text(STUB.format(number=number))
    subprocess.run(["cc", "-shared", "-fPIC", source, "-o", library], check=True)
    code = "try:\n  import gpujoin\nexcept ImportError as e:\n  print(e)\nelse:\n  print('none')"
    run = run_python(code, GPUJOIN_LIBRARY=str(library))
    assert (run.returncode, run.stderr) == (0, "")
    assert said in run.stdout and str(library) in run.stdout


PROBED = {
    "ContextOptions": "options",
    "ContextInfo": "info",
    "ExpectedJoin": "join",
    "Column": "columns[0]",
    "Selection": "selection",
    "JoinSpec": "spec",
    "PlanOptions": "options",
    "BuildOptions": "options",
}


@pytest.mark.parametrize("name", PROBED)
def test_a_struct_that_the_library_does_not_know(monkeypatch, name):
    """A package whose struct has grown, with the library of before."""

    class Grown(getattr(_structs, name)):
        _fields_ = [("added", ctypes.c_int64)]

    assert _abi_check.mismatch_of(_abi.library()) is None
    # The functions take a pointer to the struct as it was, of which the new one is a kind.
    monkeypatch.setattr(_structs, name, Grown)
    said = _abi_check.mismatch_of(_abi.library())
    assert said.startswith(PROBED[name]) and "does not know it" in said
