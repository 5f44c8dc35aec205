package gpujoin

// #include "shim.h"
import "C"

import (
	"fmt"
	"time"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
)

// An ExpectedSide is what is known of one side of a join before there is data.
type ExpectedSide struct {
	// Schema of its columns, of any types but nested ones.
	Schema *arrow.Schema
	Rows   int64
	// TextBytes is the average length of a value of text and binary; 0 = 16.
	TextBytes float64
	// DistinctKeys; 0 = as many as the side of fewer rows has rows.
	DistinctKeys int64
	// MatchedRows are those with a match, where HasMatchedRows; else the keys say it.
	MatchedRows    int64
	HasMatchedRows bool
	// OnDevice: the columns lie in device memory.
	OnDevice bool
}

// An Estimate is what a join would cost on either executor. Sizes are in bytes.
type Estimate struct {
	// Device is the executor that is faster where the columns lie.
	Device      Device
	OutputRows  int64
	OutputBytes uint64
	// CPU and CUDA are of planning and executing, the columns' copies to the device included; of
	// CUDA 0 on a context of the CPU. CUDAFetch is the result's way to host memory.
	CPU, CUDA, CUDAFetch time.Duration
	// CPUBytes and CUDABytes are memory traffic; CPUMemory and CUDAMemory are at the peak, the
	// output included.
	CPUBytes, CUDABytes, CPUMemory, CUDAMemory uint64
	// CPUPlan and CUDAPlan in one line.
	CPUPlan, CUDAPlan string
}

// Estimate is what a join would cost, from numbers alone: nothing is read, and it takes some
// microseconds. Of the specification count the kind, the keys, the output columns, Pairs and
// Order. pairs is how many pairs of rows match; negative = they follow from the keys.
//
// Errors: StatusInvalidArgument, StatusUnsupported (device memory with a CPU context), StatusType.
func (c *Context) Estimate(left, right *ExpectedSide, spec *JoinSpec, pairs int64) (
	Estimate, error) {
	if left == nil || right == nil || spec == nil || left.Schema == nil || right.Schema == nil {
		return Estimate{}, invalid("left, right, their schemas and spec are required")
	}
	call := new(joinCall)
	defer call.free()
	asked := JoinSpec{Kind: spec.Kind, Keys: spec.Keys, Left: spec.Left, Right: spec.Right,
		Pairs: spec.Pairs, Order: spec.Order}
	if err := asked.write(call, c, left.Schema, right.Schema); err != nil {
		return Estimate{}, err
	}
	memory := &call.arena
	raw := sized[C.gpujoin_expected_join](memory)
	raw.kind, raw.key_count, raw.order = call.spec.kind, call.spec.key_count, call.spec.order
	raw.output = call.spec.output
	if pairs >= 0 {
		raw.has_pairs, raw.pairs = 1, C.int64_t(pairs)
	}
	var err error
	raw.left, err = left.describe(memory, "left", call.spec.left_keys, call.spec.left_columns,
		call.spec.left_column_count)
	if err != nil {
		return Estimate{}, err
	}
	raw.right, err = right.describe(memory, "right", call.spec.right_keys, call.spec.right_columns,
		call.spec.right_column_count)
	if err != nil {
		return Estimate{}, err
	}
	found := zeroed[C.gpujoin_estimate]()
	err = c.object.plainly(func(context C.handle, failed *C.gpujoin_error) C.gpujoin_status {
		return C.gpujoin_go_estimate_join(context, raw, found, failed)
	})
	if err != nil {
		return Estimate{}, err
	}
	return Estimate{
		Device:      Device(found.device),
		OutputRows:  int64(found.output_rows),
		OutputBytes: uint64(found.output_bytes),
		CPU:         durationOf(found.cpu_milliseconds),
		CUDA:        durationOf(found.cuda_milliseconds),
		CUDAFetch:   durationOf(found.cuda_fetch_milliseconds),
		CPUBytes:    uint64(found.cpu_bytes),
		CUDABytes:   uint64(found.cuda_bytes),
		CPUMemory:   uint64(found.cpu_memory_bytes),
		CUDAMemory:  uint64(found.cuda_memory_bytes),
		CPUPlan:     C.GoString(&found.cpu_plan[0]),
		CUDAPlan:    C.GoString(&found.cuda_plan[0]),
	}, nil
}

func (s *ExpectedSide) describe(memory *arena, argument string, keys, columns *C.int32_t,
	columnCount C.int32_t) (*C.gpujoin_expected_side, error) {
	side := sized[C.gpujoin_expected_side](memory)
	side.rows = C.int64_t(s.Rows)
	side.keys, side.output_columns, side.output_column_count = keys, columns, columnCount
	side.distinct_keys = C.int64_t(s.DistinctKeys)
	side.matched_rows = C.int64_t(s.MatchedRows)
	side.has_matched_rows = C.int32_t(flag(s.HasMatchedRows))
	if s.OnDevice {
		side.memory = C.GPUJOIN_MEMORY_DEVICE
	}
	described := many[C.gpujoin_expected_column](memory, s.Schema.NumFields())
	for i, field := range s.Schema.Fields() {
		column := &described[i]
		setSize(column)
		column.is_nullable = C.int32_t(flag(field.Nullable))
		column.value_bytes = C.double(s.TextBytes)
		var err error
		column._type, column.value_width, err = typeOf(field.Type)
		if err != nil {
			return nil, fmt.Errorf("%s, column %q: %w", argument, field.Name, err)
		}
	}
	side.columns, side.column_count = unsafe.SliceData(described), C.int32_t(len(described))
	return side, nil
}

var plainTypes = map[arrow.Type]C.gpujoin_type{
	arrow.INT8:                    C.GPUJOIN_TYPE_INT8,
	arrow.INT16:                   C.GPUJOIN_TYPE_INT16,
	arrow.INT32:                   C.GPUJOIN_TYPE_INT32,
	arrow.INT64:                   C.GPUJOIN_TYPE_INT64,
	arrow.UINT8:                   C.GPUJOIN_TYPE_UINT8,
	arrow.UINT16:                  C.GPUJOIN_TYPE_UINT16,
	arrow.UINT32:                  C.GPUJOIN_TYPE_UINT32,
	arrow.UINT64:                  C.GPUJOIN_TYPE_UINT64,
	arrow.FLOAT16:                 C.GPUJOIN_TYPE_FLOAT16,
	arrow.FLOAT32:                 C.GPUJOIN_TYPE_FLOAT32,
	arrow.FLOAT64:                 C.GPUJOIN_TYPE_FLOAT64,
	arrow.DATE32:                  C.GPUJOIN_TYPE_DATE32,
	arrow.DATE64:                  C.GPUJOIN_TYPE_DATE64,
	arrow.TIME32:                  C.GPUJOIN_TYPE_TIME32,
	arrow.TIME64:                  C.GPUJOIN_TYPE_TIME64,
	arrow.DURATION:                C.GPUJOIN_TYPE_DURATION,
	arrow.BOOL:                    C.GPUJOIN_TYPE_BOOL,
	arrow.STRING:                  C.GPUJOIN_TYPE_UTF8,
	arrow.LARGE_STRING:            C.GPUJOIN_TYPE_LARGE_UTF8,
	arrow.STRING_VIEW:             C.GPUJOIN_TYPE_UTF8_VIEW,
	arrow.BINARY:                  C.GPUJOIN_TYPE_BINARY,
	arrow.LARGE_BINARY:            C.GPUJOIN_TYPE_LARGE_BINARY,
	arrow.BINARY_VIEW:             C.GPUJOIN_TYPE_BINARY_VIEW,
	arrow.DECIMAL32:               C.GPUJOIN_TYPE_DECIMAL32,
	arrow.DECIMAL64:               C.GPUJOIN_TYPE_DECIMAL64,
	arrow.DECIMAL128:              C.GPUJOIN_TYPE_BYTES16,
	arrow.DECIMAL256:              C.GPUJOIN_TYPE_DECIMAL256,
	arrow.NULL:                    C.GPUJOIN_TYPE_NULL,
	arrow.INTERVAL_MONTHS:         C.GPUJOIN_TYPE_INTERVAL_MONTHS,
	arrow.INTERVAL_DAY_TIME:       C.GPUJOIN_TYPE_INTERVAL_DAY_TIME,
	arrow.INTERVAL_MONTH_DAY_NANO: C.GPUJOIN_TYPE_INTERVAL_MONTH_DAY_NANO,
}

// typeOf is the library's number of a type, and the bytes of a value where it needs to be told.
func typeOf(of arrow.DataType) (C.gpujoin_type, C.int32_t, error) {
	switch of := of.(type) {
	case arrow.ExtensionType:
		return typeOf(of.StorageType())
	case *arrow.RunEndEncodedType:
		return typeOf(of.Encoded())
	case *arrow.DictionaryType:
		return C.GPUJOIN_TYPE_DICTIONARY, C.int32_t(of.BitWidth() / 8), nil
	case *arrow.FixedSizeBinaryType:
		return C.GPUJOIN_TYPE_FIXED_BINARY, C.int32_t(of.ByteWidth), nil
	case *arrow.TimestampType:
		return map[arrow.TimeUnit]C.gpujoin_type{
			arrow.Second:      C.GPUJOIN_TYPE_TIMESTAMP_S,
			arrow.Millisecond: C.GPUJOIN_TYPE_TIMESTAMP_MS,
			arrow.Microsecond: C.GPUJOIN_TYPE_TIMESTAMP_US,
			arrow.Nanosecond:  C.GPUJOIN_TYPE_TIMESTAMP_NS,
		}[of.Unit], 0, nil
	}
	if found, is := plainTypes[of.ID()]; is {
		return found, 0, nil
	}
	return 0, 0, fail(StatusType, "a column of type %s has no estimate", of)
}
