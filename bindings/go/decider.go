package gpujoin

// #include "shim.h"
import "C"

import (
	"sync"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/cdata"
)

// A decider is OperationOptions.Decide, known to C by a number as the callbacks of a context are.
type decider struct {
	decide func(candidates arrow.RecordBatch) (*array.Boolean, error)
	number uintptr

	mutex sync.Mutex
	// The first that a call of it ended with.
	failed error
}

// newDecider is nil of no function.
func newDecider(
	decide func(candidates arrow.RecordBatch) (*array.Boolean, error)) *decider {
	if decide == nil {
		return nil
	}
	made := &decider{decide: decide, number: lastCallback.Add(1)}
	registered.Store(made.number, made)
	return made
}

func (d *decider) forget() {
	if d != nil {
		registered.Delete(d.number)
	}
}

// reason is what a call ended with, of which the library knows only that the function failed.
func (d *decider) reason(err error) error {
	failed, is := err.(*Error)
	if d == nil || !is || failed.Status != StatusEvaluation {
		return err
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.failed == nil {
		return err
	}
	return d.failed
}

func (d *decider) fail(err error) C.gpujoin_status {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.failed == nil {
		d.failed = err
	}
	return C.GPUJOIN_ERROR_EVALUATION
}

// answer writes 1 for candidates that match. The array is moved out of.
func (d *decider) answer(schema *cdata.CArrowSchema, candidates *cdata.CArrowArray,
	matches []C.uint8_t) error {
	batch, err := cdata.ImportCRecordBatch(candidates, schema)
	if err != nil {
		return fail(StatusUnsupported, "arrow-go cannot read the candidates: %v", err)
	}
	defer batch.Release()
	answers, err := d.decide(batch)
	if err != nil {
		failed := fail(StatusEvaluation, "Decide failed")
		failed.cause = []error{err}
		return failed
	}
	if answers == nil {
		return invalid("Decide answered nil")
	}
	defer answers.Release()
	if answers.Len() != len(matches) {
		return invalid("Decide: %d answers for %d candidates", answers.Len(), len(matches))
	}
	for i := range matches {
		if answers.IsValid(i) && answers.Value(i) {
			matches[i] = 1
		}
	}
	return nil
}

//export gpujoinGoDecide
func gpujoinGoDecide(number C.uintptr_t, rows C.int64_t, schema *C.struct_ArrowSchema,
	candidates *C.struct_ArrowArray, matches *C.uint8_t) (status C.gpujoin_status) {
	found, is := registered.Load(uintptr(number))
	if !is {
		return C.GPUJOIN_ERROR_INTERNAL
	}
	asked := found.(*decider)
	// Go frames must not be unwound through those of the library.
	defer func() {
		if value := recover(); value != nil {
			failed := fail(StatusEvaluation, "Decide panicked: %v", value)
			if err, is := value.(error); is {
				failed.cause = []error{err}
			}
			status = asked.fail(failed)
		}
	}()
	err := asked.answer((*cdata.CArrowSchema)(unsafe.Pointer(schema)),
		(*cdata.CArrowArray)(unsafe.Pointer(candidates)), unsafe.Slice(matches, int(rows)))
	if err != nil {
		return asked.fail(err)
	}
	return C.GPUJOIN_OK
}
