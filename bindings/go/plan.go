package gpujoin

// #include "shim.h"
import "C"

import (
	"context"
	"sync"
)

// A Plan is how two relations are joined. It may be executed any number of times, from any
// goroutines.
type Plan struct {
	object  *object
	context *Context
	spec    JoinSpec

	// The library's cancel of a plan ends all of its executions: where one alone runs, its.
	mutex   sync.Mutex
	running int
}

// NewPlan chooses how to join two relations. The plan keeps what it needs of both. nil options:
// the planner chooses all. It may read a sample of the keys, or all of them where they do not
// compare as they lie. The ctx is that of this call alone, not of later executions.
//
// Errors: StatusInvalidArgument, StatusType, StatusUnsupported, StatusIllegalPlan,
// StatusBrokenPromise, StatusOutOfMemory, StatusMemoryLimit, StatusCancelled, StatusDeadline,
// StatusNoDevice, StatusCUDA, StatusDeviceLost.
func (c *Context) NewPlan(ctx context.Context, left, right *Relation, spec *JoinSpec,
	options *PlanOptions) (*Plan, error) {
	call, release, err := c.beginJoin(ctx, left, right, spec, options)
	if err != nil {
		return nil, err
	}
	defer release()
	var handle C.handle
	err = compute(ctx, nil, func(stop *C.uint32_t, failed *C.gpujoin_error) C.gpujoin_status {
		return C.gpujoin_go_plan_create(stop, C.handle(c.object.handle), C.handle(left.object.handle),
			C.handle(right.object.handle), call.spec, call.options, &handle, failed)
	})
	if err != nil {
		return nil, err
	}
	made := newObject("plan", uintptr(handle), func(handle uintptr) {
		C.gpujoin_go_plan_destroy(C.handle(handle))
	}, c.object, left.object, right.object)
	return closeWhenUnreachable(&Plan{object: made, context: c, spec: *spec}, made), nil
}

// Close lets go of the plan; its results stay valid.
func (p *Plan) Close() { p.object.close() }

// Explain is the plan as text: its techniques, what was sampled, each candidate with its predicted
// bytes and milliseconds, and why the winner won. It does not wait.
func (p *Plan) Explain() (string, error) {
	return explained(p.object, func(buffer *C.char, length *C.size_t,
		failed *C.gpujoin_error) C.gpujoin_status {
		return C.gpujoin_go_plan_explain(C.handle(p.object.handle), buffer, length, failed)
	})
}

// Execute runs the plan. It waits until the result is complete. Errors: those of [Context.Join].
func (p *Plan) Execute(ctx context.Context) (*Result, error) {
	var handle C.handle
	err := p.run(ctx, func(stop *C.uint32_t, failed *C.gpujoin_error) C.gpujoin_status {
		return C.gpujoin_go_plan_execute(stop, C.handle(p.object.handle), &handle, failed)
	})
	if err != nil {
		return nil, err
	}
	return newResult(p.context, handle, &p.spec, p.object), nil
}

// Count says how many rows and bytes the plan would put out, without putting them out: in about
// the time of the join without its columns. The limits of the JoinSpec do not end it. Of more
// bytes than can be counted they are math.MaxUint64.
//
// Errors: those of [Context.Join].
func (p *Plan) Count(ctx context.Context) (rows int64, bytes uint64, err error) {
	var ofRows C.int64_t
	var ofBytes C.uint64_t
	err = p.run(ctx, func(stop *C.uint32_t, failed *C.gpujoin_error) C.gpujoin_status {
		return C.gpujoin_go_plan_count(stop, C.handle(p.object.handle), &ofRows, &ofBytes, failed)
	})
	return int64(ofRows), uint64(ofBytes), err
}

// Cancel asks all executions of the plan that run now to stop; later ones run.
func (p *Plan) Cancel() error {
	return p.object.plainly(func(plan C.handle, failed *C.gpujoin_error) C.gpujoin_status {
		return C.gpujoin_go_plan_cancel(plan, failed)
	})
}

func (p *Plan) run(ctx context.Context,
	call func(stop *C.uint32_t, failed *C.gpujoin_error) C.gpujoin_status) error {
	if err := p.object.hold(); err != nil {
		return err
	}
	defer p.object.letGo()
	p.count(1)
	defer p.count(-1)
	return compute(ctx, p.cancelTheOneThatRuns, call)
}

func (p *Plan) count(change int) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.running += change
}

func (p *Plan) cancelTheOneThatRuns() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.running != 1 {
		return
	}
	// The call that is to end holds the plan, so there is nothing that could fail.
	_ = check(func(failed *C.gpujoin_error) C.gpujoin_status {
		return C.gpujoin_go_plan_cancel(C.handle(p.object.handle), failed)
	})
}
