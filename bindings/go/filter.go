package gpujoin

// #include "shim.h"
import "C"

import (
	"context"
	"fmt"
	"slices"
	"unsafe"
)

// FilterKind is what a filter knows of keys.
type FilterKind int32

// The kinds; gpujoin.h says what the bits of each are.
const (
	// FilterAutomatic: the library decides.
	FilterAutomatic FilterKind = C.GPUJOIN_KEY_FILTER_AUTOMATIC
	// FilterNone: all rows pass.
	FilterNone FilterKind = C.GPUJOIN_KEY_FILTER_NONE
	// FilterMinMax: rows from the lowest to the highest key pass.
	FilterMinMax FilterKind = C.GPUJOIN_KEY_FILTER_MIN_MAX
	// FilterBitmap: a bit for each value from the lowest to the highest. Exact.
	FilterBitmap FilterKind = C.GPUJOIN_KEY_FILTER_BITMAP
	// FilterBloom: the split block Bloom filter of Apache Parquet, of the keys' hashes.
	FilterBloom FilterKind = C.GPUJOIN_KEY_FILTER_BLOOM
)

// FilterOptions are how a filter is made. nil = all automatic.
type FilterOptions struct {
	// Key is one of the build's key columns; "" = all of them together.
	Key  string
	Kind FilterKind
	// LargestBytes of the bits; 0 = the library decides.
	LargestBytes uint64
	// FalsePositiveRate of a FilterBloom, between 0 and 1; 0 = 0.01.
	FalsePositiveRate float64
}

// A Filter says which rows of another table none of a build's keys equals: a row that does not
// pass has no match, one that passes may have none. It is const.
type Filter struct {
	object  *object
	context *Context
}

// FilterInfo is what a filter is.
type FilterInfo struct {
	Kind FilterKind
	Keys int
	// Rows of the build, and Distinct values of their keys, counted where DistinctIsExact.
	Rows, Distinct  int64
	DistinctIsExact bool
	// HasNull: a row of the build has a NULL in a key. PassesNull: rows with a NULL pass.
	HasNull, PassesNull bool
	// FalsePositiveRate is what share of rows without a match is expected to pass.
	FalsePositiveRate float64
	// Min and Max are the lowest and the highest value, as bytes of a column of the key's type;
	// nil where there is none.
	Min, Max []byte
	// First and Last of FilterMinMax and FilterBitmap, in units of the build's column: what passes
	// lies between.
	First, Last int64
	// Bits of FilterBitmap and FilterBloom.
	Bits []byte
}

// Filter makes a filter of all rows of the build, which is finished. It is kept for the next call
// that asks for such a one. The end of ctx ends the making of filters of the build for good; joins
// with it go on.
//
// Errors: StatusInvalidArgument (also: the build is not finished, or has no keys),
// StatusUnsupported (a kind that the key's type has not), StatusMemoryLimit, StatusOutOfMemory,
// StatusSpill, StatusCancelled, StatusDeadline, StatusCUDA, StatusDeviceLost.
func (b *Build) Filter(ctx context.Context, options *FilterOptions) (*Filter, error) {
	if options == nil {
		options = &FilterOptions{}
	}
	key := C.int32_t(-1)
	if options.Key != "" {
		found := slices.Index(b.keys, options.Key)
		if found < 0 {
			return nil, invalid("Key is %q, and the build's keys are %q", options.Key, b.keys)
		}
		key = C.int32_t(found)
	}
	var memory arena
	defer memory.free()
	raw := sized[C.gpujoin_key_filter_options](&memory)
	raw.kind = C.gpujoin_key_filter_kind(options.Kind)
	raw.largest_bytes = C.uint64_t(options.LargestBytes)
	raw.false_positive_rate = C.double(options.FalsePositiveRate)
	var handle C.handle
	err := b.run(ctx, func(stop *C.uint32_t, failed *C.gpujoin_error) C.gpujoin_status {
		return C.gpujoin_go_build_get_filter(stop, C.handle(b.object.handle), key, raw, &handle, failed)
	})
	if err != nil {
		return nil, err
	}
	made := newObject("filter", uintptr(handle), func(handle uintptr) {
		C.gpujoin_go_key_filter_destroy(C.handle(handle))
	}, b.context.object)
	return closeWhenUnreachable(&Filter{made, b.context}, made), nil
}

// Close lets go of the filter; operations that it was given to go on.
func (f *Filter) Close() { f.object.close() }

// Info is what the filter is, copied. It does not wait.
func (f *Filter) Info() (FilterInfo, error) {
	if err := f.object.hold(); err != nil {
		return FilterInfo{}, err
	}
	defer f.object.letGo()
	raw := zeroed[C.gpujoin_key_filter_info]()
	err := check(func(failed *C.gpujoin_error) C.gpujoin_status {
		return C.gpujoin_go_key_filter_get_info(C.handle(f.object.handle), raw, failed)
	})
	if err != nil {
		return FilterInfo{}, err
	}
	return FilterInfo{
		Kind:              FilterKind(raw.kind),
		Keys:              int(raw.key_count),
		Rows:              int64(raw.rows),
		Distinct:          int64(raw.distinct),
		DistinctIsExact:   raw.distinct_is_exact != 0,
		HasNull:           raw.has_null != 0,
		PassesNull:        raw.passes_null != 0,
		FalsePositiveRate: float64(raw.false_positive_rate),
		Min:               copied(raw.min_value, raw.value_bytes[0]),
		Max:               copied(raw.max_value, raw.value_bytes[1]),
		First:             int64(raw.first_value),
		Last:              int64(raw.last_value),
		Bits:              copied(raw.bits, raw.bytes),
	}, nil
}

// copied is nil of nothing, and not of no bytes.
func copied(from unsafe.Pointer, bytes C.uint64_t) []byte {
	if from == nil {
		return nil
	}
	return append([]byte{}, unsafe.Slice((*byte)(from), int(bytes))...)
}

// Test says which rows of a relation pass: a bit for each row, least significant first, as
// [Relation.SelectBits] takes them, and how many there are. columns are as many as the filter has
// keys, of types that compare with the build's.
//
// Errors: StatusInvalidArgument, StatusType, StatusUnsupported, StatusMemoryLimit,
// StatusOutOfMemory, StatusCancelled, StatusDeadline, StatusCUDA, StatusDeviceLost.
func (f *Filter) Test(ctx context.Context, relation *Relation, columns ...string) (
	bits []byte, passing int64, err error) {
	if err := f.context.checkRelation("relation", relation); err != nil {
		return nil, 0, err
	}
	found := make([]C.int32_t, len(columns))
	for i, name := range columns {
		argument := fmt.Sprintf("columns[%d]", i)
		if found[i], err = position(relation.schema, argument, name); err != nil {
			return nil, 0, err
		}
	}
	if err := holdAll(f.object, relation.object); err != nil {
		return nil, 0, err
	}
	defer letGoAll([]*object{f.object, relation.object})
	rows := relation.NumRows()
	bits = make([]byte, (rows+7)/8)
	var count C.int64_t
	err = compute(ctx, nil, func(stop *C.uint32_t, failed *C.gpujoin_error) C.gpujoin_status {
		return C.gpujoin_go_key_filter_test(stop, C.handle(f.object.handle),
			C.handle(relation.object.handle), unsafe.SliceData(found), C.int32_t(len(found)),
			unsafe.Pointer(unsafe.SliceData(bits)), &count, failed)
	})
	if err != nil {
		return nil, 0, err
	}
	return bits, int64(count), nil
}
