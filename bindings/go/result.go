package gpujoin

// #include <stdlib.h>
// #include "shim.h"
import "C"

import (
	"context"
	"iter"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/cdata"
)

// A Result is the output of a join. It owns its memory, and needs the relations no longer.
type Result struct {
	object  *object
	context *Context
}

// newResult is of a join of those inputs, which candidates for Decide need until they are closed.
func newResult(c *Context, handle C.handle, spec *JoinSpec, inputs ...*object) *Result {
	if spec == nil || !spec.Where.isCaller() {
		inputs = nil
	}
	made := newObject("result", uintptr(handle), func(handle uintptr) {
		C.gpujoin_go_result_destroy(C.handle(handle))
	}, append([]*object{c.object}, inputs...)...)
	return closeWhenUnreachable(&Result{made, c}, made)
}

// Close lets go of the result; record batches of it stay valid.
func (r *Result) Close() { r.object.close() }

// NumRows is the number of output rows. Of a result that is closed it is 0.
func (r *Result) NumRows() int64 {
	var rows C.int64_t
	// It has no error but that of a result that is closed.
	_ = r.object.plainly(func(result C.handle, failed *C.gpujoin_error) C.gpujoin_status {
		return C.gpujoin_go_result_get_rows(result, &rows, failed)
	})
	return int64(rows)
}

// Record is the whole result as a record batch, which is to be released. Its columns are the row
// numbers, where JoinSpec.Pairs asked for them (left_row, right_row: uint32, of probes int64, NULL
// where a side has no row; of a join with rows of one side alone that side's), then the output
// columns with their names and types. Of a CPU result nothing is copied.
//
// Errors: StatusInvalidArgument, StatusUnsupported, StatusOutOfMemory, StatusCUDA,
// StatusDeviceLost.
func (r *Result) Record() (arrow.RecordBatch, error) {
	batch, _, err := r.page(0, 0)
	return batch, err
}

// Pages are record batches of at most that many rows, each to be released, in their order; after
// an error there is no other. Errors: those of Record, and of a number of rows below 1.
func (r *Result) Pages(rows int64) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		if rows < 1 {
			yield(nil, invalid("a page has %d rows, and has to have 1 or more", rows))
			return
		}
		for first := int64(0); ; {
			batch, next, err := r.page(first, rows)
			if err != nil {
				yield(nil, err)
				return
			}
			if next == first {
				batch.Release()
				return
			}
			if !yield(batch, nil) {
				return
			}
			first = next
		}
	}
}

// page is of the rows from first on, and the row after it.
func (r *Result) page(first, most int64) (arrow.RecordBatch, int64, error) {
	if err := r.object.hold(); err != nil {
		return nil, 0, err
	}
	defer r.object.letGo()
	schema := (*C.struct_ArrowSchema)(C.calloc(1, C.sizeof_struct_ArrowSchema))
	defer C.free(unsafe.Pointer(schema))
	exported := (*C.struct_ArrowArray)(C.calloc(1, C.sizeof_struct_ArrowArray))
	defer C.free(unsafe.Pointer(exported))
	page := zeroed[C.gpujoin_page]()
	page.first_row, page.max_rows = C.int64_t(first), C.int64_t(most)
	err := check(func(failed *C.gpujoin_error) C.gpujoin_status {
		return C.gpujoin_go_result_export(C.handle(r.object.handle), page, schema, exported, failed)
	})
	if err != nil {
		return nil, 0, err
	}
	// What is imported is moved out of both, and marked so.
	defer C.gpujoin_go_release_schema(schema)
	defer C.gpujoin_go_release_array(exported)
	batch, err := cdata.ImportCRecordBatch((*cdata.CArrowArray)(unsafe.Pointer(exported)),
		(*cdata.CArrowSchema)(unsafe.Pointer(schema)))
	if err != nil {
		return nil, 0, fail(StatusUnsupported, "arrow-go cannot read the result: %v", err)
	}
	return batch, int64(page.first_row), nil
}

// ExportDevice writes the whole result where it lies, without a copy: device memory of a CUDA
// result, host memory of a CPU result. Both structures are overwritten, lie in C memory, and are
// the caller's to release. Errors: those of Record.
func (r *Result) ExportDevice(schema *cdata.CArrowSchema, device *cdata.CArrowDeviceArray) error {
	return r.object.plainly(func(result C.handle, failed *C.gpujoin_error) C.gpujoin_status {
		return C.gpujoin_go_result_export_device(result, nil,
			(*C.struct_ArrowSchema)(unsafe.Pointer(schema)),
			(*C.struct_ArrowDeviceArray)(unsafe.Pointer(device)), failed)
	})
}

// NoRow is the row number of a side that has no row in an output row, as uint32 and as int64.
const (
	NoRow32 uint32 = C.GPUJOIN_NO_ROW
	NoRow64 int64  = C.GPUJOIN_NO_ROW_INT64
)

// Pairs are the row numbers of each output row, in the relations as they were made first; -1 of a
// side that has no row in it. Of a join with rows of one side alone the other slice is nil; of a
// sequence there are those of the fact relation alone, and Record has all.
//
// Errors: StatusInvalidArgument where JoinSpec.Pairs did not ask for them, and those of Record.
func (r *Result) Pairs() (left, right []int64, err error) {
	batch, _, err := r.page(0, 1) // whose schema says what there is
	if err != nil {
		return nil, nil, err
	}
	rows := r.NumRows()
	if batch.Schema().HasField("left_row") {
		left = make([]int64, rows)
	}
	if batch.Schema().HasField("right_row") {
		right = make([]int64, rows)
	}
	batch.Release()
	if _, err := FetchPairs(r, 0, left, right); err != nil {
		return nil, nil, err
	}
	return left, right, nil
}

// FetchPairs writes row numbers of output rows from first on into slices of the caller's, as many
// rows as there are and as both have room for, and answers how many. nil leaves a side out: of a
// join with rows of one side alone the other has none.
//
// Errors: StatusInvalidArgument (also: there are no row numbers, slices of different lengths),
// StatusOutOfMemory, StatusCUDA, StatusDeviceLost.
func FetchPairs[T uint32 | int64](r *Result, first int64, left, right []T) (int, error) {
	room := len(left)
	if left == nil {
		room = len(right)
	} else if right != nil && len(right) != len(left) {
		return 0, invalid("left has %d places and right %d", len(left), len(right))
	}
	if room == 0 {
		return 0, nil
	}
	if err := r.object.hold(); err != nil {
		return 0, err
	}
	defer r.object.letGo()
	var memory arena
	defer memory.free()
	fetches := many[C.gpujoin_fetch](&memory, 2)
	count := 0
	for _, side := range []struct {
		what   C.int32_t
		values []T
	}{{C.GPUJOIN_FETCH_LEFT_INDEX, left}, {C.GPUJOIN_FETCH_RIGHT_INDEX, right}} {
		if side.values == nil {
			continue
		}
		to := &fetches[count]
		count++
		setSize(to)
		to.what = side.what
		to._type = C.GPUJOIN_TYPE_INT64
		if unsafe.Sizeof(side.values[0]) == 4 {
			to._type = C.GPUJOIN_TYPE_UINT32
		}
		memory.pins.Pin(&side.values[0])
		to.data = unsafe.Pointer(&side.values[0])
		to.data_bytes = C.uint64_t(len(side.values)) * C.uint64_t(unsafe.Sizeof(side.values[0]))
		to.memory = C.GPUJOIN_MEMORY_HOST
	}
	page := zeroed[C.gpujoin_page]()
	page.first_row, page.max_rows = C.int64_t(first), C.int64_t(room)
	err := check(func(failed *C.gpujoin_error) C.gpujoin_status {
		return C.gpujoin_go_result_fetch(C.handle(r.object.handle), page, &fetches[0],
			C.int32_t(count), failed)
	})
	return int(page.rows), err
}

// Decide is the result of a join whose condition the caller evaluates ([CallerDecides]): answers
// has a row for each of the candidates, in their order, of whether the pair matches; NULL is no.
// The candidates stay as they are.
//
// It waits until the result is complete. Errors: StatusInvalidArgument (also: candidates of
// another join, another number of rows), StatusType, and those of [Context.Join].
func (r *Result) Decide(ctx context.Context, answers *array.Boolean) (*Result, error) {
	if answers == nil {
		return nil, invalid("answers is nil")
	}
	relation, err := r.context.relationOfValues(answers)
	if err != nil {
		return nil, err
	}
	defer relation.Close()
	if err := holdAll(r.object, relation.object); err != nil {
		return nil, err
	}
	defer letGoAll([]*object{r.object, relation.object})
	var handle C.handle
	err = compute(ctx, nil, func(stop *C.uint32_t, failed *C.gpujoin_error) C.gpujoin_status {
		return C.gpujoin_go_result_decide(stop, C.handle(r.object.handle),
			C.handle(relation.object.handle), &handle, failed)
	})
	if err != nil {
		return nil, err
	}
	return newResult(r.context, handle, nil), nil
}
