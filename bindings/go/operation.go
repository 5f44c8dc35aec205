package gpujoin

// #include "shim.h"
import "C"

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
)

// An Operation is one join with a build. Its results and those of its probes together are the rows
// of a join of all rows of both sides.
type Operation struct {
	object  *object
	context *Context
}

// Progress is how far an operation is. Sizes are in bytes.
type Progress struct {
	// RowsIn of the probe side that came, RowsOut of the results.
	RowsIn, RowsOut   int64
	BytesIn, BytesOut uint64
	// SpilledBytes of both sides, in files.
	SpilledBytes uint64
	// PiecesDone of the Pieces that are known so far.
	PiecesDone, Pieces int64
	// RowsDropped of RowsIn did not pass a filter.
	RowsDropped int64
}

// State is what a call for the next result found.
type State int32

// The states.
const (
	// NotReady: nothing yet: of a probe, as rows have to come; of an operation, as its probes run.
	NotReady State = C.GPUJOIN_STATE_NOT_READY
	// Ready: a result.
	Ready State = C.GPUJOIN_STATE_READY
	// Finished: nothing, and there never will be.
	Finished State = C.GPUJOIN_STATE_FINISHED
)

func (s State) String() string {
	switch s {
	case NotReady:
		return "not ready"
	case Ready:
		return "ready"
	case Finished:
		return "finished"
	}
	return "unknown"
}

// Close lets go of the operation; its probes and results stay valid.
func (o *Operation) Close() { o.object.close() }

// Explain is how the operation joins, and why. It does not wait.
func (o *Operation) Explain() (string, error) {
	return explained(o.object, func(buffer *C.char, length *C.size_t,
		failed *C.gpujoin_error) C.gpujoin_status {
		return C.shim_operation_explain(C.handle(o.object.handle), buffer, length, failed)
	})
}

// CloseInput says that no further probe will come; those that there are may still be at work.
func (o *Operation) CloseInput() error {
	return o.object.plainly(func(operation C.handle, failed *C.gpujoin_error) C.gpujoin_status {
		return C.shim_operation_close(operation, failed)
	})
}

// Next is the next rows of those that come out when all rows have come: rows of the build side by
// their matches, and what did not fit into memory. The result is nil where the state is not Ready.
// Any number of goroutines join partitions side by side. The end of ctx ends the operation.
//
// Errors: those of [Plan.Execute], StatusSpill; StatusInvalidArgument where a probe failed, as
// rows are missing then. What one call's join ended with all later calls answer.
func (o *Operation) Next(ctx context.Context) (*Result, State, error) {
	return o.next(ctx, o.object, func(stop *C.uint32_t, state *C.gpujoin_state, out *C.handle,
		failed *C.gpujoin_error) C.gpujoin_status {
		return C.shim_operation_next(stop, C.handle(o.object.handle), state, out, failed)
	})
}

// next is of the operation or of a probe of it.
func (o *Operation) next(ctx context.Context, of *object, call func(stop *C.uint32_t,
	state *C.gpujoin_state, out *C.handle, failed *C.gpujoin_error) C.gpujoin_status) (
	*Result, State, error) {
	var handle C.handle
	var state C.gpujoin_state
	err := o.run(ctx, of, func(stop *C.uint32_t, failed *C.gpujoin_error) C.gpujoin_status {
		return call(stop, &state, &handle, failed)
	})
	if err != nil || State(state) != Ready {
		return nil, State(state), err
	}
	return newResult(o.context, handle, nil), Ready, nil
}

// run makes a call on the operation or on a probe of it, which the end of ctx ends with all of
// them: without this call's rows none of them are complete.
func (o *Operation) run(ctx context.Context, of *object,
	call func(stop *C.uint32_t, failed *C.gpujoin_error) C.gpujoin_status) error {
	if err := of.hold(); err != nil {
		return err
	}
	defer of.letGo()
	return compute(ctx, func() { _ = o.Cancel() }, call)
}

// Cancel ends calls on the operation and its probes, those that run now and later ones, with
// StatusCancelled. The build and other operations go on.
func (o *Operation) Cancel() error {
	// A probe may still be at work when its operation is closed, and keeps the handle.
	return check(func(failed *C.gpujoin_error) C.gpujoin_status {
		return C.shim_operation_cancel(C.handle(o.object.handle), failed)
	})
}

// Progress is how far the operation is. It does not wait.
func (o *Operation) Progress() (Progress, error) {
	raw := zeroed[C.gpujoin_progress]()
	err := o.object.plainly(func(operation C.handle, failed *C.gpujoin_error) C.gpujoin_status {
		return C.shim_operation_get_progress(operation, raw, failed)
	})
	return Progress{
		RowsIn:       int64(raw.rows_in),
		RowsOut:      int64(raw.rows_out),
		BytesIn:      uint64(raw.bytes_in),
		BytesOut:     uint64(raw.bytes_out),
		SpilledBytes: uint64(raw.spilled_bytes),
		PiecesDone:   int64(raw.pieces_done),
		Pieces:       int64(raw.pieces),
		RowsDropped:  int64(raw.rows_dropped),
	}, err
}

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
		return C.shim_probe_create(C.handle(o.object.handle), &handle, failed)
	})
	if err != nil {
		return nil, err
	}
	made := newObject("probe", uintptr(handle), func(handle uintptr) {
		C.shim_probe_destroy(C.handle(handle))
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
	if err := endedBefore(ctx); err != nil {
		return err
	}
	relation, err := p.operation.context.NewRelation(batch)
	if err != nil {
		return err
	}
	defer relation.Close()
	return p.AppendRelation(ctx, relation, firstRow)
}

// AppendRelation is Append of a relation, which may be a selected one. It is not to be closed
// before Next no longer answers Ready.
func (p *Probe) AppendRelation(ctx context.Context, batch *Relation, firstRow int64) error {
	if err := p.operation.context.checkRelation("batch", batch); err != nil {
		return err
	}
	if err := batch.object.hold(); err != nil {
		return err
	}
	defer batch.object.letGo()
	return p.run(ctx, func(stop *C.uint32_t, failed *C.gpujoin_error) C.gpujoin_status {
		return C.shim_probe_append(stop, C.handle(p.object.handle), C.handle(batch.object.handle),
			C.int64_t(firstRow), failed)
	})
}

// Flush has what was appended joined by the next calls of Next, however little it is. Errors:
// those of Append.
func (p *Probe) Flush(ctx context.Context) error {
	return p.run(ctx, func(stop *C.uint32_t, failed *C.gpujoin_error) C.gpujoin_status {
		return C.shim_probe_flush(stop, C.handle(p.object.handle), failed)
	})
}

// Next joins what waits until there is a result, which is nil where the state is not Ready:
// NotReady wants more rows, or Finish. Errors: those of [Operation.Next]; after one the probe is
// lost.
func (p *Probe) Next(ctx context.Context) (*Result, State, error) {
	return p.operation.next(ctx, p.object, func(stop *C.uint32_t, state *C.gpujoin_state,
		out *C.handle, failed *C.gpujoin_error) C.gpujoin_status {
		return C.shim_probe_next(stop, C.handle(p.object.handle), state, out, failed)
	})
}

// Finish says that no further batch will come; results are taken until Finished. Errors: those of
// Append.
func (p *Probe) Finish(ctx context.Context) error {
	return p.run(ctx, func(stop *C.uint32_t, failed *C.gpujoin_error) C.gpujoin_status {
		return C.shim_probe_finish(stop, C.handle(p.object.handle), failed)
	})
}

func (p *Probe) run(ctx context.Context,
	call func(stop *C.uint32_t, failed *C.gpujoin_error) C.gpujoin_status) error {
	return p.operation.run(ctx, p.object, call)
}
