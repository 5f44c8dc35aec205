package gpujoin

// #include "shim.h"
import "C"

import (
	"sync"
	"sync/atomic"
)

// LogLevel says how much a line of the log matters.
type LogLevel int32

// From the least to the most.
const (
	LogDebug   LogLevel = C.GPUJOIN_LOG_DEBUG
	LogInfo    LogLevel = C.GPUJOIN_LOG_INFO
	LogWarning LogLevel = C.GPUJOIN_LOG_WARNING
)

// callbacks are the functions of a context, known to C by a number: it is given to no other, so a
// call that comes after the context is gone finds nothing.
type callbacks struct {
	progress func(stage string, done, total int64) bool
	log      func(level LogLevel, message string)
}

var (
	registered   sync.Map // uintptr to *callbacks or *decider
	lastCallback atomic.Uintptr
	panics       sync.Map // *C.uint32_t, of the call, to what its callback panicked with
)

func (c *callbacks) register() uintptr {
	number := lastCallback.Add(1)
	registered.Store(number, c)
	return number
}

// keepPanic ends the call, as Go frames must not be unwound through those of the library.
func keepPanic(stop *C.uint32_t) {
	if value := recover(); value != nil && stop != nil {
		panics.Store(stop, value)
		atomic.StoreUint32((*uint32)(stop), C.STOP_PANICKED)
	}
}

func takePanic(stop *C.uint32_t) any {
	value, _ := panics.LoadAndDelete(stop)
	return value
}

//export gpujoinGoProgress
func gpujoinGoProgress(number C.uintptr_t, stop *C.uint32_t, stage *C.char,
	done, total C.int64_t) (answer C.int32_t) {
	found, is := registered.Load(uintptr(number))
	if !is {
		return 0
	}
	answer = 1 // of a function that panics
	defer keepPanic(stop)
	if found.(*callbacks).progress(C.GoString(stage), int64(done), int64(total)) {
		answer = 0
	}
	return answer
}

//export gpujoinGoLog
func gpujoinGoLog(number C.uintptr_t, stop *C.uint32_t, level C.int32_t, message *C.char) {
	if found, is := registered.Load(uintptr(number)); is {
		defer keepPanic(stop)
		found.(*callbacks).log(LogLevel(level), C.GoString(message))
	}
}
