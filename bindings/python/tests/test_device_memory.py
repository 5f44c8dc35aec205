"""Inputs that lie in the memory of a GPU, as the Arrow C device interface hands them over."""

import ctypes
import itertools

import pyarrow as pa
import pytest
from tables import rows

import gpujoin
from gpujoin import _abi

cupy = pytest.importorskip(
    "cupy", reason="needs cupy, to have arrays on a GPU", exc_type=ImportError
)

CUDA = 2
_numbers = itertools.count(1)
_alive = {}  # by private_data, until it is released


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _release(address):
    array = _abi.ArrowArray.from_address(address)
    _alive.pop(array.private_data, None)
    array.release = None


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class CudaBatch:
    """Columns of cupy as one record batch."""

    def __init__(self, **columns):
        # They are written on CuPy's stream, and no event of it is passed on.
        cupy.cuda.Device().synchronize()
        self._columns = columns
        fields = [(name, pa.from_numpy_dtype(values.dtype)) for name, values in columns.items()]
        self.schema = pa.schema(fields)

    def __arrow_c_device_array__(self, requested_schema=None, **_):
        children = [self._array(len(v), [None, v.data.ptr]) for v in self._columns.values()]
        size = len(next(iter(self._columns.values())))
        self._device = _abi.ArrowDeviceArray(device_id=0, device_type=CUDA)
        self._device.array = self._array(size, [None], children)
        capsule = _new_capsule(ctypes.addressof(self._device), b"arrow_device_array", None)
        return self.schema.__arrow_c_schema__(), capsule

    def _array(self, length, buffers, children=()):
        pointers = (ctypes.c_void_p * len(buffers))(*buffers)
        below = (ctypes.c_void_p * len(children))(*map(ctypes.addressof, children))
        array = _abi.ArrowArray(
            length=length,
            n_buffers=len(buffers),
            n_children=len(children),
            buffers=ctypes.addressof(pointers),
            children=ctypes.addressof(below),
            release=ctypes.cast(_release, ctypes.c_void_p),
            private_data=next(_numbers),
        )
        array.kept = pointers, below, children, self
        if children:  # its children live as long
            _alive[array.private_data] = array
        return array


@pytest.fixture
def cuda():
    try:
        context = gpujoin.Context("cuda")
    except gpujoin.NoDevice as error:
        pytest.skip(f"no CUDA: {error}")
    with context:
        yield context


def test_arrays_on_the_gpu(cuda):
    left = CudaBatch(k=cupy.arange(1000, dtype="int64"), a=cupy.arange(1000, dtype="float64"))
    right = pa.table({"k": pa.array([5, None, 999, 1000]), "text": ["five", "none", "last", "out"]})
    result = gpujoin.join(left, right, "k", context=cuda)
    assert rows(result) == {(5, 5.0, "five"): 1, (999, 999.0, "last"): 1}


def test_both_on_the_gpu(cuda):
    left = CudaBatch(k=cupy.arange(1000, dtype="int32"), a=cupy.arange(1000, dtype="int16"))
    right = CudaBatch(j=cupy.arange(500, 1500, dtype="int32"), b=cupy.arange(1000, dtype="uint8"))
    result = gpujoin.join(left, right, "k", "j", select=["b", "a"], pairs=True, context=cuda)
    assert rows(result) == {(i, i - 500, (i - 500) % 256, i): 1 for i in range(500, 1000)}
    assert not _alive


def test_keys_on_the_gpu_of_two_types(cuda):
    left = CudaBatch(k=cupy.arange(-5, 10, dtype="int64"))
    right = CudaBatch(k=cupy.arange(20, dtype="uint8"))
    assert rows(gpujoin.join(left, right, "k", context=cuda)) == {(i,): 1 for i in range(10)}


def test_a_cpu_context_refuses_them(cuda):
    left = CudaBatch(k=cupy.arange(10, dtype="int64"))
    with gpujoin.Context("cpu") as cpu, pytest.raises(gpujoin.Unsupported):
        gpujoin.join(left, pa.table({"k": [1]}), "k", context=cpu)
