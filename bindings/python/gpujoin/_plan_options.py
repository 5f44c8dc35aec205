"""The single choices of a plan, as the library's numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import _abi
from ._arguments import INT32, INT64, milliseconds, whole
from ._context import choose

# The single choices of a plan: names for numbers of the library, and numbers with their largest.
_NAMED = {
    "device": _abi.DEVICES,
    "algorithm": _abi.ALGORITHMS,
    "transform": _abi.TRANSFORMS,
    "match": _abi.MATCHES,
    "gather": _abi.GATHERS,
    "build_side": _abi.SIDES,
    "transfer": _abi.TRANSFERS,
    "skew": _abi.SKEWS,
    "output": _abi.OUTPUTS,
    "filter": _abi.FILTERS,
}
_NUMBERS = {"radix_bits": INT32, "passes": INT32, "page_pairs": INT32, "probe_chunk_rows": INT64}


def plan_options(arguments: Mapping[str, Any]) -> _abi.PlanOptions:
    """The single choices of a plan among a function's arguments. Errors: InvalidArgument."""
    options = _abi.PlanOptions()
    for name, numbers in _NAMED.items():
        setattr(options, name, choose(name, numbers, arguments.get(name)))
    for name, most in _NUMBERS.items():
        if arguments.get(name) is not None:
            setattr(options, name, whole(name, arguments[name], 0, most))
    options.timeout_milliseconds = milliseconds(arguments.get("timeout"))
    return options
