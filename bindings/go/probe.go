package gpujoin

// #include "shim.h"
import "C"

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
)

// A Probe is rows of the probe side of an operation, of one goroutine or stream.
type Probe struct {
	object    *object
	operation *Operation
}

// NewProbe is a probe of the operation. Errors: StatusInvalidArgument (also: CloseInput was
// called).
func (o *Operation) NewProbe() (*Probe, error) {
	if err := o.object.hold(); err != nil {
		return nil, err
	}
	defer o.object.letGo()
	var handle C.handle
	err := check(func(failed *C.gpujoin_error) C.gpujoin_status {
		return C.gpujoin_go_probe_create(C.handle(o.object.handle), &handle, failed)
	})
	if err != nil {
		return nil, err
	}
	made := newObject("probe", uintptr(handle), func(handle uintptr) {
		C.gpujoin_go_probe_destroy(C.handle(handle))
	}, o.object)
	return closeWhenUnreachable(&Probe{made, o}, made), nil
}

// Close lets go of the probe; its results stay valid. The operation is not complete unless Next
// said that the probe is Finished.
func (p *Probe) Close() { p.object.close() }

// Append copies the rows of a batch; numbered from firstRow on, where the operation has row
// numbers. By joins on a GPU a batch of 2^20 rows or more may be read where it lies, which keeps it
// retained until Next no longer answers Ready.
//
// Errors: StatusNotReady: rows wait to be joined, and none was taken; call Next, and this again.
// Else those of [Build.Append]; after one but of the batch's columns the probe is lost.
func (p *Probe) Append(ctx context.Context, batch arrow.RecordBatch, firstRow int64) error {
	return p.operation.context.ofBatch(ctx, batch, func(relation *Relation) error {
		return p.AppendRelation(ctx, relation, firstRow)
	})
}

// AppendRelation is Append of a relation, which may be a selected one. It is not to be closed
// before Next no longer answers Ready.
func (p *Probe) AppendRelation(ctx context.Context, batch *Relation, firstRow int64) error {
	return p.operation.context.holding("batch", batch, func() error {
		return p.run(ctx, func(stop *C.uint32_t, failed *C.gpujoin_error) C.gpujoin_status {
			return C.gpujoin_go_probe_append(stop, C.handle(p.object.handle),
				C.handle(batch.object.handle), C.int64_t(firstRow), failed)
		})
	})
}

// Flush has what was appended joined by the next calls of Next, however little it is. Errors:
// those of Append.
func (p *Probe) Flush(ctx context.Context) error {
	return p.run(ctx, func(stop *C.uint32_t, failed *C.gpujoin_error) C.gpujoin_status {
		return C.gpujoin_go_probe_flush(stop, C.handle(p.object.handle), failed)
	})
}

// Next joins what waits until there is a result, which is nil where the state is not Ready:
// NotReady wants more rows, or Finish. Errors: those of [Operation.Next]; after one the probe is
// lost.
func (p *Probe) Next(ctx context.Context) (*Result, State, error) {
	return p.operation.next(ctx, p.object, func(stop *C.uint32_t, state *C.gpujoin_state,
		out *C.handle, failed *C.gpujoin_error) C.gpujoin_status {
		return C.gpujoin_go_probe_next(stop, C.handle(p.object.handle), state, out, failed)
	})
}

// Finish says that no further batch will come; results are taken until Finished. Errors: those of
// Append.
func (p *Probe) Finish(ctx context.Context) error {
	return p.run(ctx, func(stop *C.uint32_t, failed *C.gpujoin_error) C.gpujoin_status {
		return C.gpujoin_go_probe_finish(stop, C.handle(p.object.handle), failed)
	})
}

func (p *Probe) run(ctx context.Context,
	call func(stop *C.uint32_t, failed *C.gpujoin_error) C.gpujoin_status) error {
	return p.operation.run(ctx, p.object, call)
}
