package gpujoin

// #include "shim.h"
import "C"

import (
	"context"
	"sync"
	"sync/atomic"
)

// A stopFlag ends one call of the library, see shim.h. It lies in memory of its own, to which C
// keeps a pointer while the call lasts.
type stopFlag struct{ value *C.uint32_t }

func (f stopFlag) word() *uint32 { return (*uint32)(f.value) }

// compute makes a call that the end of ctx ends.
//
// cancel is called besides where ctx ends, at most once and never after compute has returned; it
// is the cancel of the object that the call is made on, which ends calls within a step, too. nil:
// there is none that would not end other calls as well.
//
// A panic of a function of the caller's that the call ran goes on here.
func compute(ctx context.Context, cancel func(),
	call func(stop *C.uint32_t, raw *C.gpujoin_error) C.gpujoin_status) error {
	if err := endedBefore(ctx); err != nil {
		return err
	}
	stop := stopFlag{new(C.uint32_t)}
	if ctx.Done() != nil {
		var mutex sync.Mutex
		isOver := false
		unhook := context.AfterFunc(ctx, func() {
			mutex.Lock()
			defer mutex.Unlock()
			if isOver {
				return
			}
			atomic.CompareAndSwapUint32(stop.word(), 0, C.STOP_CANCELLED)
			if cancel != nil {
				cancel()
			}
		})
		defer func() {
			unhook()
			mutex.Lock()
			isOver = true
			mutex.Unlock()
		}()
	}
	raw := new(C.gpujoin_error)
	status := call(stop.value, raw)
	if atomic.LoadUint32(stop.word()) == C.STOP_PANICKED {
		panic(takePanic(stop.value))
	}
	err := errorOf(status, raw)
	if failed, is := err.(*Error); is {
		if failed.Status == StatusCancelled || failed.Status == StatusDeadline {
			failed.cause = causes(ctx)
		}
	}
	return err
}

// plainly makes a call on the object that does not wait.
func (o *object) plainly(call func(handle C.handle, raw *C.gpujoin_error) C.gpujoin_status) error {
	if err := o.hold(); err != nil {
		return err
	}
	defer o.letGo()
	return check(func(raw *C.gpujoin_error) C.gpujoin_status {
		return call(C.handle(o.handle), raw)
	})
}
