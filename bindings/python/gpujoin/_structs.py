"""The structs of libgpujoin's C ABI, and Arrow's, for ctypes. include/gpujoin.h is the manual;
names and order are its."""

from __future__ import annotations

import ctypes
from ctypes import (
    CFUNCTYPE,
    POINTER,
    c_char,
    c_char_p,
    c_double,
    c_int32,
    c_int64,
    c_uint32,
    c_uint64,
    c_void_p,
)
from typing import Any

LogFunction = CFUNCTYPE(None, c_int32, c_char_p, c_void_p)
ReadyFunction = CFUNCTYPE(None, c_void_p)
DecideFunction = CFUNCTYPE(c_int32, c_int64, c_void_p, c_void_p, c_void_p, c_void_p)
ProgressFunction = CFUNCTYPE(c_int32, c_char_p, c_int64, c_int64, c_void_p)


class Error(ctypes.Structure):
    _fields_ = [
        ("message", c_char * 512),
        ("status", c_int32),
        ("cuda_code", c_int32),
        ("is_sticky", c_int32),
        ("reserved", c_int32 * 13),
    ]


class Struct(ctypes.Structure):
    """A struct that opens with struct_size: sets it, and zeroes what is not named."""

    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=ctypes.sizeof(type(self)), **fields)


class ContextOptions(Struct):
    _fields_ = [
        ("struct_size", c_uint32),
        ("device", c_int32),
        ("cuda_device_id", c_int32),
        ("cpu_threads", c_int32),
        ("memory_limit_bytes", c_uint64),
        ("cuda_stream", c_void_p),
        ("allocator", c_void_p),
        ("log", LogFunction),
        ("log_user", c_void_p),
        ("progress", ProgressFunction),
        ("progress_user", c_void_p),
        ("calibration_path", c_char_p),
        ("host_limit_bytes", c_uint64),
        ("pinned_limit_bytes", c_uint64),
        ("spill_path", c_char_p),
        ("spill_limit_bytes", c_uint64),
        ("threads", c_int32),
        ("reserved", c_int32),
    ]


class ContextInfo(Struct):
    _fields_ = [
        ("struct_size", c_uint32),
        ("device", c_int32),
        ("device_name", c_char * 128),
        ("reason", c_char * 256),
        ("cuda_device_id", c_int32),
        ("cpu_threads", c_int32),
        ("memory_limit_bytes", c_uint64),
        ("memory_used_bytes", c_uint64),
        ("memory_peak_bytes", c_uint64),
        ("host_limit_bytes", c_uint64),
        ("host_used_bytes", c_uint64),
        ("host_peak_bytes", c_uint64),
        ("pinned_used_bytes", c_uint64),
        ("spill_used_bytes", c_uint64),
        ("spill_peak_bytes", c_uint64),
    ]


class Node(Struct):
    _fields_ = [
        ("struct_size", c_uint32),
        ("operation", c_int32),
        ("argument_count", c_int32),
        ("side", c_int32),
        ("column", c_int32),
        ("reserved", c_int32),
        ("values", c_void_p),
    ]


class Condition(Struct):
    _fields_ = [
        ("struct_size", c_uint32),
        ("node_count", c_int32),
        ("nodes", POINTER(Node)),
    ]


class Asof(Struct):
    _fields_ = [
        ("struct_size", c_uint32),
        ("direction", c_int32),
        ("left_column", c_int32),
        ("right_column", c_int32),
        ("flags", c_int32),
        ("reserved", c_int32),
        ("tolerance", c_int64),
        ("tolerance_float", c_double),
    ]


class Aggregate(Struct):
    _fields_ = [
        ("struct_size", c_uint32),
        ("function", c_int32),
        ("side", c_int32),
        ("column", c_int32),
        ("name", c_char_p),
    ]


class JoinSpec(Struct):
    _fields_ = [
        ("struct_size", c_uint32),
        ("kind", c_int32),
        ("key_count", c_int32),
        ("output", c_int32),
        ("left_keys", POINTER(c_int32)),
        ("right_keys", POINTER(c_int32)),
        ("left_columns", POINTER(c_int32)),
        ("right_columns", POINTER(c_int32)),
        ("left_column_count", c_int32),
        ("right_column_count", c_int32),
        ("key_flags", POINTER(c_int32)),
        ("residual", POINTER(Condition)),
        ("asof", POINTER(Asof)),
        ("aggregates", POINTER(Aggregate)),
        ("aggregate_count", c_int32),
        ("group_side", c_int32),
        ("order", c_int32),
        ("promises", c_int32),
        ("promised_rows", c_int64),
        ("row_limit", c_int64),
        ("byte_limit", c_uint64),
    ]


class Column(Struct):
    _fields_ = [
        ("struct_size", c_uint32),
        ("type", c_int32),
        ("data", c_void_p),
        ("validity", c_void_p),
        ("validity_bit_offset", c_int64),
        ("memory", c_int32),
        ("cuda_device_id", c_int32),
        ("name", c_char_p),
        ("offsets", c_void_p),
        ("first_bit", c_int64),
        ("value_width", c_int32),
        ("decimal_precision", c_int32),
        ("decimal_scale", c_int32),
        ("reserved", c_int32),
    ]


class Selection(Struct):
    _fields_ = [
        ("struct_size", c_uint32),
        ("form", c_int32),
        ("data", c_void_p),
        ("first_bit", c_int64),
        ("count", c_int64),
        ("type", c_int32),
        ("memory", c_int32),
        ("cuda_device_id", c_int32),
        ("reserved", c_int32),
    ]


class PlanOptions(Struct):
    _fields_ = [
        ("struct_size", c_uint32),
        ("device", c_int32),
        ("algorithm", c_int32),
        ("transform", c_int32),
        ("match", c_int32),
        ("gather", c_int32),
        ("build_side", c_int32),
        ("radix_bits", c_int32),
        ("transfer", c_int32),
        ("skew", c_int32),
        ("output", c_int32),
        ("passes", c_int32),
        ("page_pairs", c_int32),
        ("filter", c_int32),
        ("probe_chunk_rows", c_int64),
        ("timeout_milliseconds", c_int64),
    ]


class BuildOptions(Struct):
    _fields_ = [
        ("struct_size", c_uint32),
        ("device", c_int32),
        ("has_row_numbers", c_int32),
        ("reserved", c_int32),
        ("timeout_milliseconds", c_int64),
    ]


class BuildInfo(Struct):
    _fields_ = [
        ("struct_size", c_uint32),
        ("is_finished", c_int32),
        ("rows", c_int64),
        ("bytes", c_uint64),
        ("spilled_bytes", c_uint64),
        ("is_whole", c_int32),
        ("partitions", c_int32),
    ]


class KeyFilterOptions(Struct):
    _fields_ = [
        ("struct_size", c_uint32),
        ("kind", c_int32),
        ("largest_bytes", c_uint64),
        ("false_positive_rate", c_double),
    ]


class KeyFilterInfo(Struct):
    _fields_ = [
        ("struct_size", c_uint32),
        ("kind", c_int32),
        ("key_count", c_int32),
        ("has_null", c_int32),
        ("key_types", POINTER(c_int32)),
        ("rows", c_int64),
        ("distinct", c_int64),
        ("distinct_is_exact", c_int32),
        ("passes_null", c_int32),
        ("false_positive_rate", c_double),
        ("min_value", c_void_p),
        ("max_value", c_void_p),
        ("value_bytes", c_uint64 * 2),
        ("first_value", c_int64),
        ("last_value", c_int64),
        ("bits", c_void_p),
        ("bytes", c_uint64),
    ]


class AppliedFilter(Struct):
    _fields_ = [
        ("struct_size", c_uint32),
        ("column_count", c_int32),
        ("filter", c_void_p),
        ("columns", POINTER(c_int32)),
    ]


class OperationOptions(Struct):
    _fields_ = [
        ("struct_size", c_uint32),
        ("has_row_numbers", c_int32),
        ("plan", POINTER(PlanOptions)),
        ("ready", ReadyFunction),
        ("ready_user", c_void_p),
        ("filters", POINTER(AppliedFilter)),
        ("filter_count", c_int32),
        ("own_filter", c_int32),
        ("decide", DecideFunction),
        ("decide_user", c_void_p),
        ("decide_left_columns", POINTER(c_int32)),
        ("decide_right_columns", POINTER(c_int32)),
        ("decide_left_column_count", c_int32),
        ("decide_right_column_count", c_int32),
    ]


class Progress(Struct):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("rows_in", c_int64),
        ("rows_out", c_int64),
        ("bytes_in", c_uint64),
        ("bytes_out", c_uint64),
        ("spilled_bytes", c_uint64),
        ("pieces_done", c_int64),
        ("pieces", c_int64),
        ("rows_dropped", c_int64),
    ]


class SequenceStep(Struct):
    _fields_ = [
        ("struct_size", c_uint32),
        ("key_count", c_int32),
        ("dimension", c_void_p),
        ("fact_keys", POINTER(c_int32)),
        ("dimension_keys", POINTER(c_int32)),
        ("dimension_columns", POINTER(c_int32)),
        ("dimension_column_count", c_int32),
        ("kind", c_int32),
        ("key_flags", c_int32),
        ("reserved", c_int32),
    ]


class SequenceSpec(Struct):
    _fields_ = [
        ("struct_size", c_uint32),
        ("step_count", c_int32),
        ("steps", POINTER(SequenceStep)),
        ("fact_columns", POINTER(c_int32)),
        ("fact_column_count", c_int32),
        ("output", c_int32),
        ("materialize", c_int32),
        ("reserved", c_int32),
    ]


class Page(Struct):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("first_row", c_int64),
        ("max_rows", c_int64),
        ("max_bytes", c_uint64),
        ("rows", c_int64),
    ]


class Fetch(Struct):
    _fields_ = [
        ("struct_size", c_uint32),
        ("what", c_int32),
        ("column", c_int32),
        ("type", c_int32),
        ("data", c_void_p),
        ("data_bytes", c_uint64),
        ("validity", c_void_p),
        ("validity_bytes", c_uint64),
        ("memory", c_int32),
        ("reserved", c_int32),
        ("null_count", c_int64),
        ("offsets", c_void_p),
        ("offsets_bytes", c_uint64),
        ("text_bytes", c_uint64),
    ]


class Statistics(Struct):
    _fields_ = [
        ("struct_size", c_uint32),
        ("device", c_int32),
        ("plan", c_char * 192),
        ("reason", c_char * 256),
        ("left_rows", c_int64),
        ("right_rows", c_int64),
        ("output_rows", c_int64),
        ("milliseconds", c_double),
        ("predicted_bytes", c_uint64),
        ("peak_memory_bytes", c_uint64),
        ("stage_count", c_int32),
        ("output_resumes", c_int32),
    ]


class StageStatistics(Struct):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("stage", c_char * 32),
        ("technique", c_char * 64),
        ("milliseconds", c_double),
        ("predicted_bytes", c_uint64),
    ]


class ExpectedColumn(Struct):
    _fields_ = [
        ("struct_size", c_uint32),
        ("type", c_int32),
        ("is_nullable", c_int32),
        ("value_width", c_int32),
        ("value_bytes", c_double),
    ]


class ExpectedSide(Struct):
    _fields_ = [
        ("struct_size", c_uint32),
        ("memory", c_int32),
        ("rows", c_int64),
        ("columns", POINTER(ExpectedColumn)),
        ("keys", POINTER(c_int32)),
        ("output_columns", POINTER(c_int32)),
        ("column_count", c_int32),
        ("output_column_count", c_int32),
        ("distinct_keys", c_int64),
        ("matched_rows", c_int64),
        ("has_matched_rows", c_int32),
        ("reserved", c_int32),
    ]


class ExpectedJoin(Struct):
    _fields_ = [
        ("struct_size", c_uint32),
        ("kind", c_int32),
        ("left", POINTER(ExpectedSide)),
        ("right", POINTER(ExpectedSide)),
        ("key_count", c_int32),
        ("output", c_int32),
        ("order", c_int32),
        ("has_pairs", c_int32),
        ("pairs", c_int64),
    ]


class Estimate(Struct):
    _fields_ = [
        ("struct_size", c_uint32),
        ("device", c_int32),
        ("output_rows", c_int64),
        ("output_bytes", c_uint64),
        ("cpu_milliseconds", c_double),
        ("cuda_milliseconds", c_double),
        ("cuda_fetch_milliseconds", c_double),
        ("cpu_bytes", c_uint64),
        ("cuda_bytes", c_uint64),
        ("cpu_memory_bytes", c_uint64),
        ("cuda_memory_bytes", c_uint64),
        ("cpu_plan", c_char * 192),
        ("cuda_plan", c_char * 192),
    ]


class ArrowSchema(ctypes.Structure):
    _fields_ = [
        ("format", c_char_p),
        ("name", c_char_p),
        ("metadata", c_void_p),
        ("flags", c_int64),
        ("n_children", c_int64),
        ("children", c_void_p),
        ("dictionary", c_void_p),
        ("release", c_void_p),
        ("private_data", c_void_p),
    ]


class ArrowArray(ctypes.Structure):
    _fields_ = [
        ("length", c_int64),
        ("null_count", c_int64),
        ("offset", c_int64),
        ("n_buffers", c_int64),
        ("n_children", c_int64),
        ("buffers", c_void_p),
        ("children", c_void_p),
        ("dictionary", c_void_p),
        ("release", c_void_p),
        ("private_data", c_void_p),
    ]


class ArrowDeviceArray(ctypes.Structure):
    _fields_ = [
        ("array", ArrowArray),
        ("device_id", c_int64),
        ("device_type", c_int32),
        ("sync_event", c_void_p),
        ("reserved", c_int64 * 3),
    ]
