"""The keys of gpujoin.merge as Arrow arrays, and where each sorts: what pandas finds equal is."""

from __future__ import annotations

import warnings
from typing import Any

import numpy
import pandas
import pyarrow as pa
from pyarrow import compute

from .errors import Unsupported


def arrow_keys(left: Any, right: Any) -> tuple[Any, Any]:
    """One key of both sides in types that the library compares. Errors: Unsupported."""
    if _is_plain_object(left) and _is_number(right) or _is_number(left) and _is_plain_object(right):
        raise Unsupported(f"merge: keys {left.name!r} are of numbers and of objects")
    if isinstance(left.dtype, pandas.PeriodDtype) and left.dtype != right.dtype:
        raise Unsupported(f"merge: keys {left.name!r} are periods of one side alone")
    found = [_arrow_of(left), _arrow_of(right)]
    are_truths = [pa.types.is_boolean(_value_type(values.type)) for values in found]
    if any(are_truths) and not all(are_truths):
        found = [_cast_from(values, pa.types.is_boolean, pa.int8()) for values in found]
    if any(pa.types.is_floating(_value_type(values.type)) for values in found):
        # With which pandas compares integers as floats.
        found = [_cast_from(values, pa.types.is_integer, pa.float64()) for values in found]
    return found[0], found[1]


def warn_of_fractions(left: Any, right: Any) -> None:
    """Warns, as pandas does, of integers that are merged with floats that are none."""
    for whole, values in ((left, right), (right, left)):
        if pandas.api.types.is_integer_dtype(whole.dtype) and pandas.api.types.is_float_dtype(
            values.dtype
        ):
            given = values.to_numpy(dtype=float, na_value=numpy.nan)
            given = given[~numpy.isnan(given)]
            if not (numpy.isfinite(given) & (given == numpy.trunc(given))).all():
                warnings.warn(
                    "You are merging on int and float columns where the float values are not "
                    "equal to their int representation.",
                    UserWarning,
                    stacklevel=5,
                )


def sort_codes(left: Any, right: Any) -> numpy.ndarray:
    """Numbers that sort as the keys of left, then those of right, by pandas.merge(sort=True)."""
    both = pandas.concat([left, right], ignore_index=True)
    if isinstance(both.dtype, pandas.CategoricalDtype):
        return both.cat.codes.to_numpy()
    if isinstance(both.dtype, numpy.dtype) and both.dtype.kind in "iufbmM":
        values = both.to_numpy()  # which sort as they are: NaN last, and NaT, as a number, first
        return values.view("int64") if values.dtype.kind in "mM" else values
    codes, values = pandas.factorize(both, sort=True)
    if _is_time(left.dtype) and _is_time(right.dtype):
        return codes
    return numpy.where(codes < 0, len(values), codes)


def _is_time(dtype: Any) -> bool:
    """Whether pandas has it as a number, and what is missing as the least one, as in categories."""
    is_numpy = isinstance(dtype, numpy.dtype) and dtype.kind in "mM"
    return is_numpy or isinstance(dtype, (pandas.DatetimeTZDtype, pandas.PeriodDtype))


def _is_number(values: Any) -> bool:
    types = pandas.api.types
    return types.is_numeric_dtype(values.dtype) and not types.is_bool_dtype(values.dtype)


def _is_plain_object(values: Any) -> bool:
    return values.dtype == object


def _arrow_of(values: Any) -> Any:
    try:
        array = pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise Unsupported(
            f"merge: keys {values.name!r} of type {values.dtype} have no Arrow type: {error}"
        ) from None
    if isinstance(values.dtype, pandas.PeriodDtype):
        return array.storage
    return array


def _value_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _cast_from(values: Any, is_from: Any, to: pa.DataType) -> Any:
    kind = _value_type(values.type)
    if not is_from(kind):
        return values
    return compute.cast(values.cast(kind), to, safe=False)
