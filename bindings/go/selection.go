package gpujoin

// #include <stdlib.h>
// #include "shim.h"
import "C"

import (
	"context"
	"unsafe"
)

// SelectBits is a relation of the rows whose bit is 1, least significant first, as the validity of
// Arrow has them: row i is read where bits[i/8]>>(i%8)&1 is 1. The bits are copied, the columns are
// not. Row numbers that joins put out are those of the relation as it was made first; a selection
// of a selected relation picks of its rows.
//
// It waits until the bits are counted. Errors: StatusInvalidArgument, StatusOutOfMemory,
// StatusCancelled, StatusCUDA, StatusDeviceLost.
func (r *Relation) SelectBits(ctx context.Context, bits []byte) (*Relation, error) {
	if rows := r.NumRows(); int64(len(bits)) < rows/8+(rows%8+7)/8 {
		return nil, invalid("bits has %d bytes, too few for %d rows", len(bits), rows)
	}
	return selected(ctx, r, bits, C.gpujoin_selection{form: C.GPUJOIN_SELECTION_BITMAP})
}

// SelectRows is a relation of the rows of those numbers, in any order; each time that one comes it
// is a row. The numbers are copied and checked, the columns are not copied. Row numbers that joins
// put out are those of the relation as it was made first.
//
// It waits until they are checked. Errors: those of SelectBits; StatusInvalidArgument names the
// first row that the relation has not; StatusTooManyRows.
func (r *Relation) SelectRows(ctx context.Context, rows []int64) (*Relation, error) {
	return selected(ctx, r, rows, C.gpujoin_selection{
		form:  C.GPUJOIN_SELECTION_ROWS,
		count: C.int64_t(len(rows)),
		_type: C.GPUJOIN_TYPE_INT64,
	})
}

func selected[T byte | int64](ctx context.Context, r *Relation, values []T,
	asked C.gpujoin_selection) (made *Relation, err error) {
	if err := r.object.hold(); err != nil {
		return nil, err
	}
	defer r.object.letGo()
	// It has to outlive the plans that are made from the relation, so it goes with the object.
	var kept arena
	defer func() {
		if made == nil {
			kept.free()
		}
	}()
	copied := many[T](&kept, len(values))
	copy(copied, values)
	asked.memory = C.GPUJOIN_MEMORY_HOST
	asked.data = unsafe.Pointer(unsafe.SliceData(copied))
	setSize(&asked)
	var handle C.handle
	err = compute(ctx, nil, func(stop *C.uint32_t, failed *C.gpujoin_error) C.gpujoin_status {
		return C.gpujoin_go_relation_select(stop, C.handle(r.object.handle), &asked, &handle, failed)
	})
	if err != nil {
		return nil, err
	}
	return newRelation(r.context, r.schema, handle, kept.free, r.object), nil
}
