package gpujoin

// #include "shim.h"
import "C"

import (
	"context"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// An Operation is one join with a build. Its results and those of its probes together are the rows
// of a join of all rows of both sides.
type Operation struct {
	object  *object
	context *Context
	decider *decider // nil: the library evaluates the condition
}

// OwnFilter says whether rows of probes are tested by a filter of the operation's own build before
// they are kept.
type OwnFilter int32

// The choices.
const (
	// OwnFilterAutomatic: where the build does not fit, as long as a sample says that it pays.
	OwnFilterAutomatic OwnFilter = C.GPUJOIN_OWN_FILTER_AUTOMATIC
	OwnFilterOff       OwnFilter = C.GPUJOIN_OWN_FILTER_OFF
	OwnFilterOn        OwnFilter = C.GPUJOIN_OWN_FILTER_ON
)

// An AppliedFilter is a filter of another build that rows of probes have to pass: those that do not
// are as if they had not come.
type AppliedFilter struct {
	Filter *Filter
	// Columns of the probe side, as many as the filter has keys.
	Columns []string
}

// OperationOptions are how an operation joins. nil = all automatic.
type OperationOptions struct {
	// BuildSide of the JoinSpec that the build is; 0 = the right one.
	BuildSide Side
	// RowNumbers: rows of probes have numbers, which Append is given. JoinSpec.Pairs needs them of
	// both sides that come out.
	RowNumbers bool
	// Plan; its BuildSide does not count.
	Plan      *PlanOptions
	Filters   []AppliedFilter
	OwnFilter OwnFilter
	// Decide says which candidates match, pairs of rows with equal keys, where JoinSpec.Where is
	// [CallerDecides]. There are 1 to 65536 of them in host memory, with left_row and right_row
	// (int64) of the sides whose rows have numbers, then the columns DecideLeft and DecideRight, of
	// the types that results have. The answer has a row for each; NULL is no. It is released, as the
	// candidates are.
	//
	// Next calls it, on as many goroutines at once as Next is called on. It must not call methods of
	// the operation and of its probes, but for Cancel. An error is to be found in that of Next by
	// errors.Is, and a panic is an error there; where several calls of Next failed so, all of them
	// answer the first.
	Decide                  func(candidates arrow.RecordBatch) (*array.Boolean, error)
	DecideLeft, DecideRight []string
}

// NewOperation is one join of the build, which is finished, with rows of a probe side of that
// schema. The keys of the specification are those of the build, in its order; where they are left
// out, they have the same names on both sides. Results have row numbers as int64.
//
// Errors: those of [Context.NewPlan]; StatusUnsupported for what no operation does, such as an order
// of the build side, or a promise of one.
func (b *Build) NewOperation(probe *arrow.Schema, spec *JoinSpec, options *OperationOptions) (
	*Operation, error) {
	if spec == nil {
		return nil, invalid("spec is nil")
	}
	if options == nil {
		options = &OperationOptions{}
	}
	like, err := b.context.relationLike(probe)
	if err != nil {
		return nil, err
	}
	defer like.Close()
	held := []*object{b.object, like.object}
	for i, each := range options.Filters {
		if each.Filter == nil {
			return nil, invalid("Filters[%d].Filter is nil", i)
		}
		held = append(held, each.Filter.object)
	}
	if err := holdAll(held...); err != nil {
		return nil, err
	}
	defer letGoAll(held)
	asked := *spec
	left, right := probe, b.schema
	if options.BuildSide == LeftSide {
		left, right = b.schema, probe
	}
	b.completeKeys(&asked)
	call, err := asked.describe(b.context, left, right)
	if err != nil {
		return nil, err
	}
	defer call.free()
	raw, err := options.describe(&call.arena, probe)
	if err != nil {
		return nil, err
	}
	decider, err := options.describeDecide(&call.arena, raw, left, right)
	if err != nil {
		return nil, err
	}
	var handle C.handle
	err = check(func(failed *C.gpujoin_error) C.gpujoin_status {
		return C.gpujoin_go_operation_create(C.handle(b.object.handle), C.handle(like.object.handle),
			call.spec, raw, &handle, failed)
	})
	if err != nil {
		decider.forget()
		return nil, err
	}
	made := newObject("operation", uintptr(handle), func(handle uintptr) {
		C.gpujoin_go_operation_destroy(C.handle(handle))
		decider.forget()
	}, b.object)
	return closeWhenUnreachable(&Operation{made, b.context, decider}, made), nil
}

func (b *Build) completeKeys(spec *JoinSpec) {
	if len(spec.Keys) != 0 || spec.Kind == Cross {
		return
	}
	spec.Keys = On(b.keys...)
	for i := range spec.Keys {
		spec.Keys[i].NullEqual = b.options.isNullEqual(i)
		spec.Keys[i].IEEEFloat = b.options.isIEEEFloat(i)
	}
}

func (o *OperationOptions) describe(memory *arena, probe *arrow.Schema) (
	*C.gpujoin_operation_options, error) {
	raw := sized[C.gpujoin_operation_options](memory)
	raw.has_row_numbers = C.int32_t(flag(o.RowNumbers))
	raw.own_filter = C.gpujoin_own_filter(o.OwnFilter)
	plan, err := o.Plan.describe(memory)
	if err != nil {
		return nil, err
	}
	plan.build_side = C.gpujoin_side(o.BuildSide)
	raw.plan = plan
	filters := many[C.gpujoin_applied_filter](memory, len(o.Filters))
	for i, each := range o.Filters {
		columns, err := positions(probe, "Filters.Columns", each.Columns)
		if err != nil {
			return nil, err
		}
		setSize(&filters[i])
		filters[i].columns = int32s(memory, columns)
		filters[i].column_count = C.int32_t(len(columns))
		setHandle(unsafe.Pointer(&filters[i].filter), each.Filter.object.handle)
	}
	raw.filters, raw.filter_count = unsafe.SliceData(filters), C.int32_t(len(filters))
	return raw, nil
}

// describeDecide answers nil without a function; the decider is to be forgotten with the operation.
func (o *OperationOptions) describeDecide(memory *arena, raw *C.gpujoin_operation_options,
	left, right *arrow.Schema) (*decider, error) {
	ofLeft, err := positions(left, "DecideLeft", o.DecideLeft)
	if err != nil {
		return nil, err
	}
	ofRight, err := positions(right, "DecideRight", o.DecideRight)
	if err != nil {
		return nil, err
	}
	raw.decide_left_columns = int32s(memory, ofLeft)
	raw.decide_left_column_count = C.int32_t(len(ofLeft))
	raw.decide_right_columns = int32s(memory, ofRight)
	raw.decide_right_column_count = C.int32_t(len(ofRight))
	made := newDecider(o.Decide)
	if made != nil {
		C.gpujoin_go_set_decide(raw, C.uintptr_t(made.number))
	}
	return made, nil
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
		return C.gpujoin_go_operation_explain(C.handle(o.object.handle), buffer, length, failed)
	})
}

// CloseInput says that no further probe will come; those that there are may still be at work.
func (o *Operation) CloseInput() error {
	return o.object.plainly(func(operation C.handle, failed *C.gpujoin_error) C.gpujoin_status {
		return C.gpujoin_go_operation_close(operation, failed)
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
		return C.gpujoin_go_operation_next(stop, C.handle(o.object.handle), state, out, failed)
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
		return nil, State(state), o.decider.reason(err)
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
		return C.gpujoin_go_operation_cancel(C.handle(o.object.handle), failed)
	})
}

// Progress is how far the operation is. It does not wait.
func (o *Operation) Progress() (Progress, error) {
	raw := zeroed[C.gpujoin_progress]()
	err := o.object.plainly(func(operation C.handle, failed *C.gpujoin_error) C.gpujoin_status {
		return C.gpujoin_go_operation_get_progress(operation, raw, failed)
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
