package gpujoin

// #include "shim.h"
import "C"

import (
	"context"
	"fmt"
	"unsafe"
)

// Materialize says how the columns of dimensions come to the end of a sequence.
type Materialize int32

// The ways.
const (
	// MaterializeAutomatic: for each dimension the one that moves fewer bytes.
	MaterializeAutomatic Materialize = C.GPUJOIN_MATERIALIZE_AUTOMATIC
	// MaterializeAsTheyCome: output columns of a dimension are columns of the joins after its own.
	MaterializeAsTheyCome Materialize = C.GPUJOIN_MATERIALIZE_AS_THEY_COME
	// MaterializeAtTheEnd: they are fetched by row number after the last join.
	MaterializeAtTheEnd Materialize = C.GPUJOIN_MATERIALIZE_AT_THE_END
)

// A SequenceStep joins what is left of the fact relation with a dimension.
type SequenceStep struct {
	Dimension *Relation
	// Kind is Inner, Left or LeftSemi; 0 = Inner.
	Kind Kind
	// Key: Left is the column of the fact relation, Right that of the dimension.
	Key Key
	// Columns of the dimension that come out.
	Columns []string
}

// A SequenceSpec is what a sequence of joins is to do: each step in order, on what is left of the
// fact relation after the steps before.
type SequenceSpec struct {
	Steps []SequenceStep
	// Columns of the fact relation that come out, before those of the dimensions.
	Columns []string
	// Pairs: row numbers come out, too: left_row, right_row_0, right_row_1, ...
	Pairs       bool
	Materialize Materialize
}

// JoinSequence joins a fact relation with dimensions, one after the other, in one call; nil
// options: all joins are planned.
//
// It waits until the result is complete. Errors: those of [Context.Join], with the step named;
// StatusIllegalPlan also for GPUJOIN_TRANSFER_PROBE_CHUNKS.
func (c *Context) JoinSequence(ctx context.Context, fact *Relation, spec *SequenceSpec,
	options *PlanOptions) (*Result, error) {
	if err := endedBefore(ctx); err != nil {
		return nil, err
	}
	if spec == nil {
		return nil, invalid("spec is nil")
	}
	if err := c.checkRelation("fact", fact); err != nil {
		return nil, err
	}
	held := []*object{c.object, fact.object}
	for i := range spec.Steps {
		dimension := spec.Steps[i].Dimension
		if err := c.checkRelation(fmt.Sprintf("Steps[%d].Dimension", i), dimension); err != nil {
			return nil, err
		}
		held = append(held, dimension.object)
	}
	if err := holdAll(held...); err != nil {
		return nil, err
	}
	defer letGoAll(held)
	var memory arena
	defer memory.free()
	described, err := spec.describe(&memory, fact)
	if err != nil {
		return nil, err
	}
	raw, err := options.describe(&memory)
	if err != nil {
		return nil, err
	}
	raw.timeout_milliseconds = untilDeadline(ctx, raw.timeout_milliseconds)
	var handle C.handle
	err = compute(ctx, nil, func(stop *C.uint32_t, failed *C.gpujoin_error) C.gpujoin_status {
		return C.gpujoin_go_join_sequence(stop, C.handle(c.object.handle), C.handle(fact.object.handle),
			described, raw, &handle, failed)
	})
	if err != nil {
		return nil, err
	}
	return newResult(c, handle, nil), nil
}

func (s *SequenceSpec) describe(memory *arena, fact *Relation) (*C.gpujoin_sequence_spec, error) {
	spec := sized[C.gpujoin_sequence_spec](memory)
	columns, err := positions(fact.schema, "Columns", s.Columns)
	if err != nil {
		return nil, err
	}
	spec.fact_columns, spec.fact_column_count = int32s(memory, columns), C.int32_t(len(columns))
	spec.materialize = C.gpujoin_materialize(s.Materialize)
	spec.output = C.GPUJOIN_OUTPUT_COLUMNS
	if s.Pairs {
		spec.output |= C.GPUJOIN_OUTPUT_PAIRS
	}
	steps := many[C.gpujoin_sequence_step](memory, len(s.Steps))
	for i := range s.Steps {
		if err := s.Steps[i].write(&steps[i], memory, fact, fmt.Sprintf("Steps[%d]", i)); err != nil {
			return nil, err
		}
	}
	spec.steps, spec.step_count = unsafe.SliceData(steps), C.int32_t(len(steps))
	return spec, nil
}

func (s *SequenceStep) write(to *C.gpujoin_sequence_step, memory *arena, fact *Relation,
	name string) error {
	setSize(to)
	factKey, err := position(fact.schema, name+".Key.Left", s.Key.Left)
	if err != nil {
		return err
	}
	dimensionKey, err := position(s.Dimension.schema, name+".Key.Right", s.Key.Right)
	if err != nil {
		return err
	}
	columns, err := positions(s.Dimension.schema, name+".Columns", s.Columns)
	if err != nil {
		return err
	}
	to.key_count = 1
	to.fact_keys = int32s(memory, []C.int32_t{factKey})
	to.dimension_keys = int32s(memory, []C.int32_t{dimensionKey})
	to.dimension_columns = int32s(memory, columns)
	to.dimension_column_count = C.int32_t(len(columns))
	to.kind = C.gpujoin_join_kind(s.Kind)
	to.key_flags = keyFlags(s.Key.NullEqual, s.Key.IEEEFloat)
	setHandle(unsafe.Pointer(&to.dimension), s.Dimension.object.handle)
	return nil
}
