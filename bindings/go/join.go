package gpujoin

// #include "shim.h"
import "C"

import (
	"context"
	"fmt"
	"time"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
)

// A Key is a pair of columns that have to be equal, by value: integers and decimals of any widths
// with each other, floats, dates and timestamps of any units, text of any layout, and so on.
type Key struct {
	Left, Right string
	// NullEqual: NULL equals NULL, and nothing else (IS NOT DISTINCT FROM).
	NullEqual bool
	// IEEEFloat: NaN equals nothing, not even NaN. Ignored for other types.
	IEEEFloat bool
}

// On are keys of columns that are called the same on both sides.
func On(names ...string) []Key {
	keys := make([]Key, len(names))
	for i, name := range names {
		keys[i] = Key{Left: name, Right: name}
	}
	return keys
}

// Asof makes a join an ASOF join: of the right rows whose keys are equal to a left row's, or of
// all without keys, it has one match at most, the one next to it in an ordered column. Neither
// side has to be sorted. Of kinds with one match a row, without a condition and aggregates.
type Asof struct {
	// Left and Right are the ordered columns: numbers, dates, times, which compare.
	Left, Right string
	Direction   Direction
	// Strict: not at the same place.
	Strict bool
	// HasTolerance: no farther away than Tolerance, of floats ToleranceFloat, in units of the finer
	// of the two columns: days, nanoseconds, the last place of a decimal.
	HasTolerance   bool
	Tolerance      int64
	ToleranceFloat float64
}

// An Aggregate is a column over the rows of a join.
type Aggregate struct {
	Function Function
	// Side and Column; of CountRows and Exists neither.
	Side   Side
	Column string
	// Name; "" = the function's name and the column's: "sum(price)".
	Name string
}

// A JoinSpec is what a join is to do, as gpujoin_join_spec of gpujoin.h. Columns are named as in
// the schemas of the relations.
type JoinSpec struct {
	// Kind is required.
	Kind Kind
	// Keys: 1 to 16, all of which must be equal; none of Cross, and where Asof or Where alone says
	// what matches.
	Keys []Key
	// Where is what rows with equal keys have to fulfil besides.
	Where Expr
	Asof  *Asof
	// Left and Right are the output columns, in any order, keys allowed, repeats allowed: the left
	// ones come first, then the right ones, then the mark of a mark join, then the aggregates.
	Left, Right []string
	// Pairs: row numbers come out, too; left_row and right_row before the columns.
	Pairs bool
	// Aggregates in the place of rows: over all of them as one group, or with GroupBy a group for
	// each row of that side that comes out.
	Aggregates []Aggregate
	GroupBy    Side
	Order      Order
	Promises   Promise
	// PromisedRows with PromiseRows.
	PromisedRows int64
	// RowLimit and ByteLimit end a join that would put out more; 0 = no limit.
	RowLimit  int64
	ByteLimit uint64
}

// A joinCall is a JoinSpec in C memory.
type joinCall struct {
	arena
	spec      *C.gpujoin_join_spec
	options   *C.gpujoin_plan_options
	constants []*Relation
}

func (j *joinCall) free() {
	closeAll(j.constants)
	j.arena.free()
}

// describe writes a specification for the library; free it after the call.
func (s *JoinSpec) describe(c *Context, left, right *arrow.Schema) (*joinCall, error) {
	call := new(joinCall)
	if err := s.write(call, c, left, right); err != nil {
		call.free()
		return nil, err
	}
	return call, nil
}

func (s *JoinSpec) write(call *joinCall, c *Context, left, right *arrow.Schema) (err error) {
	memory := &call.arena
	spec := sized[C.gpujoin_join_spec](memory)
	call.spec = spec
	spec.kind = C.gpujoin_join_kind(s.Kind)
	if err := writeKeys(spec, memory, s.Keys, left, right); err != nil {
		return err
	}
	leftColumns, err := positions(left, "Left", s.Left)
	if err != nil {
		return err
	}
	rightColumns, err := positions(right, "Right", s.Right)
	if err != nil {
		return err
	}
	spec.left_columns, spec.left_column_count = int32s(memory, leftColumns), C.int32_t(len(s.Left))
	spec.right_columns = int32s(memory, rightColumns)
	spec.right_column_count = C.int32_t(len(s.Right))
	spec.output = C.GPUJOIN_OUTPUT_COLUMNS
	if s.Pairs {
		spec.output |= C.GPUJOIN_OUTPUT_PAIRS
	}
	spec.residual, call.constants, err = s.Where.describe(memory, c, left, right)
	if err != nil {
		return err
	}
	if s.Asof != nil {
		if spec.asof, err = s.Asof.describe(memory, left, right); err != nil {
			return err
		}
	}
	if err := writeAggregates(spec, memory, s.Aggregates, left, right); err != nil {
		return err
	}
	spec.group_side = C.gpujoin_side(s.GroupBy)
	spec.order = C.gpujoin_order(s.Order)
	spec.promises = C.int32_t(s.Promises)
	spec.promised_rows = C.int64_t(s.PromisedRows)
	spec.row_limit = C.int64_t(s.RowLimit)
	spec.byte_limit = C.uint64_t(s.ByteLimit)
	return nil
}

func keyFlags(nullEqual, ieeeFloat bool) C.int32_t {
	var flags C.int32_t
	if nullEqual {
		flags |= C.GPUJOIN_KEY_NULL_EQUAL
	}
	if ieeeFloat {
		flags |= C.GPUJOIN_KEY_IEEE_FLOAT
	}
	return flags
}

func writeKeys(spec *C.gpujoin_join_spec, memory *arena, keys []Key,
	left, right *arrow.Schema) (err error) {
	ofLeft := many[C.int32_t](memory, len(keys))
	ofRight := many[C.int32_t](memory, len(keys))
	flags := many[C.int32_t](memory, len(keys))
	for i, key := range keys {
		name := fmt.Sprintf("Keys[%d]", i)
		if ofLeft[i], err = position(left, name+".Left", key.Left); err != nil {
			return err
		}
		if ofRight[i], err = position(right, name+".Right", key.Right); err != nil {
			return err
		}
		flags[i] = keyFlags(key.NullEqual, key.IEEEFloat)
	}
	spec.key_count = C.int32_t(len(keys))
	spec.left_keys, spec.right_keys = unsafe.SliceData(ofLeft), unsafe.SliceData(ofRight)
	spec.key_flags = unsafe.SliceData(flags)
	return nil
}

func (a *Asof) describe(memory *arena, left, right *arrow.Schema) (
	asof *C.gpujoin_asof, err error) {
	asof = sized[C.gpujoin_asof](memory)
	asof.direction = C.gpujoin_direction(a.Direction)
	if asof.left_column, err = position(left, "Asof.Left", a.Left); err != nil {
		return nil, err
	}
	if asof.right_column, err = position(right, "Asof.Right", a.Right); err != nil {
		return nil, err
	}
	if a.Strict {
		asof.flags |= C.GPUJOIN_ASOF_STRICT
	}
	if a.HasTolerance {
		asof.flags |= C.GPUJOIN_ASOF_TOLERANCE
	}
	asof.tolerance = C.int64_t(a.Tolerance)
	asof.tolerance_float = C.double(a.ToleranceFloat)
	return asof, nil
}

func writeAggregates(spec *C.gpujoin_join_spec, memory *arena, aggregates []Aggregate,
	left, right *arrow.Schema) (err error) {
	described := many[C.gpujoin_aggregate](memory, len(aggregates))
	for i, from := range aggregates {
		to := &described[i]
		setSize(to)
		to.function = C.gpujoin_function(from.Function)
		to.side = C.gpujoin_side(from.Side)
		to.name = memory.textOrNil(from.Name)
		if from.Column == "" {
			continue
		}
		schema := left
		if from.Side == RightSide {
			schema = right
		}
		name := fmt.Sprintf("Aggregates[%d].Column", i)
		if to.column, err = position(schema, name, from.Column); err != nil {
			return err
		}
	}
	spec.aggregates = unsafe.SliceData(described)
	spec.aggregate_count = C.int32_t(len(aggregates))
	return nil
}

// Join plans and executes a join of two relations of the context. nil options: the planner
// chooses.
//
// It waits until the result is complete. Errors: StatusInvalidArgument, StatusType,
// StatusUnsupported, StatusIllegalPlan, StatusNoDevice, StatusTooManyRows, StatusSeveralMatches,
// StatusEvaluation, StatusRowLimit, StatusByteLimit, StatusBrokenPromise, StatusOutOfMemory,
// StatusMemoryLimit, StatusCancelled, StatusDeadline, StatusCUDA, StatusDeviceLost.
func (c *Context) Join(ctx context.Context, left, right *Relation, spec *JoinSpec,
	options *PlanOptions) (*Result, error) {
	call, release, err := c.beginJoin(ctx, left, right, spec, options)
	if err != nil {
		return nil, err
	}
	defer release()
	// Of this call alone, so its deadline may be the library's: that is looked at within stages.
	call.options.timeout_milliseconds = untilDeadline(ctx, call.options.timeout_milliseconds)
	var handle C.handle
	err = compute(ctx, nil, func(stop *C.uint32_t, failed *C.gpujoin_error) C.gpujoin_status {
		return C.gpujoin_go_join(stop, C.handle(c.object.handle), C.handle(left.object.handle),
			C.handle(right.object.handle), call.spec, call.options, &handle, failed)
	})
	if err != nil {
		return nil, err
	}
	return newResult(c, handle, spec, left.object, right.object), nil
}

// beginJoin holds the context and both relations until release is called.
func (c *Context) beginJoin(ctx context.Context, left, right *Relation, spec *JoinSpec,
	options *PlanOptions) (call *joinCall, release func(), err error) {
	if err := endedBefore(ctx); err != nil {
		return nil, nil, err
	}
	if spec == nil {
		return nil, nil, invalid("spec is nil")
	}
	if err := c.checkRelation("left", left); err != nil {
		return nil, nil, err
	}
	if err := c.checkRelation("right", right); err != nil {
		return nil, nil, err
	}
	held := []*object{c.object, left.object, right.object}
	if err := holdAll(held...); err != nil {
		return nil, nil, err
	}
	call, err = spec.describe(c, left.schema, right.schema)
	if err != nil {
		letGoAll(held)
		return nil, nil, err
	}
	release = func() {
		call.free()
		letGoAll(held)
	}
	if call.options, err = options.describe(&call.arena); err != nil {
		release()
		return nil, nil, err
	}
	return call, release, nil
}

// untilDeadline is the shorter of a timeout (0: none) and the time until the deadline of ctx,
// rounded up: the library is not to end a call before ctx would.
func untilDeadline(ctx context.Context, timeout C.int64_t) C.int64_t {
	deadline, is := ctx.Deadline()
	if !is {
		return timeout
	}
	left := C.int64_t(max(time.Until(deadline), 0)/time.Millisecond) + 1
	if timeout != 0 && timeout < left {
		return timeout
	}
	return left
}
