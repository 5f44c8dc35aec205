package gpujoin

// #include "shim.h"
import "C"

import (
	"context"
	"fmt"
	"time"
)

// A Status says how a call of the library failed. It is an error, for errors.Is.
type Status int32

// GPUJOIN_ERROR_* of gpujoin.h, which says of each function which of them it answers with.
const (
	// StatusInvalidArgument: the message names the argument.
	StatusInvalidArgument Status = C.GPUJOIN_ERROR_INVALID_ARGUMENT
	// StatusABIMismatch: the library is older than this package, and was given what it cannot read.
	StatusABIMismatch Status = C.GPUJOIN_ERROR_ABI_MISMATCH
	// StatusUnsupported: well-formed, but this version cannot do it.
	StatusUnsupported Status = C.GPUJOIN_ERROR_UNSUPPORTED
	// StatusType: a column's type cannot be used here, or two key types do not compare.
	StatusType Status = C.GPUJOIN_ERROR_TYPE
	// StatusIllegalPlan: the techniques named do not fit together, or are not in the library.
	StatusIllegalPlan Status = C.GPUJOIN_ERROR_ILLEGAL_PLAN
	// StatusOutOfMemory: the machine or the device had none left.
	StatusOutOfMemory Status = C.GPUJOIN_ERROR_OUT_OF_MEMORY
	// StatusMemoryLimit: a limit of the context would be passed.
	StatusMemoryLimit Status = C.GPUJOIN_ERROR_MEMORY_LIMIT
	// StatusTooManyRows: a relation has 2^32 - 1 rows or more.
	StatusTooManyRows Status = C.GPUJOIN_ERROR_TOO_MANY_ROWS
	// StatusBufferTooSmall: a buffer of the caller's is too small; nothing was written.
	StatusBufferTooSmall Status = C.GPUJOIN_ERROR_BUFFER_TOO_SMALL
	// StatusCancelled: the context.Context of the call, a Cancel method, or the progress function
	// asked for it.
	StatusCancelled Status = C.GPUJOIN_ERROR_CANCELLED
	// StatusNoDevice: CUDA was asked for and cannot be used; the message says why.
	StatusNoDevice Status = C.GPUJOIN_ERROR_NO_DEVICE
	// StatusCUDA: a CUDA call failed; the context stays usable.
	StatusCUDA Status = C.GPUJOIN_ERROR_CUDA
	// StatusDeviceLost: this process cannot use the device any more.
	StatusDeviceLost Status = C.GPUJOIN_ERROR_DEVICE_LOST
	// StatusForked: the context was made in the parent process.
	StatusForked Status = C.GPUJOIN_ERROR_FORKED
	// StatusInternal: a defect of the library.
	StatusInternal Status = C.GPUJOIN_ERROR_INTERNAL
	// StatusSeveralMatches: a row of a single join has more than one match.
	StatusSeveralMatches Status = C.GPUJOIN_ERROR_SEVERAL_MATCHES
	// StatusEvaluation: a condition or an aggregate has no value for some rows.
	StatusEvaluation Status = C.GPUJOIN_ERROR_EVALUATION
	// StatusRowLimit: more rows than JoinSpec.RowLimit.
	StatusRowLimit Status = C.GPUJOIN_ERROR_ROW_LIMIT
	// StatusByteLimit: more bytes than JoinSpec.ByteLimit.
	StatusByteLimit Status = C.GPUJOIN_ERROR_BYTE_LIMIT
	// StatusBrokenPromise: what was promised of the data is not so; the message names the row.
	StatusBrokenPromise Status = C.GPUJOIN_ERROR_BROKEN_PROMISE
	// StatusSpill: the spill folder is full, passes its limit, or cannot be written or read.
	StatusSpill Status = C.GPUJOIN_ERROR_SPILL
	// StatusNotReady: rows wait to be joined, or probes still run.
	StatusNotReady Status = C.GPUJOIN_ERROR_NOT_READY
	// StatusDeadline: the deadline of the context.Context, or a timeout of the options, is over.
	StatusDeadline Status = C.GPUJOIN_ERROR_DEADLINE
)

// String is the name in gpujoin.h, such as "GPUJOIN_ERROR_CANCELLED".
func (s Status) String() string { return C.GoString(C.gpujoin_status_name(C.gpujoin_status(s))) }

// Error is String: a status is what errors.Is finds in an [*Error].
func (s Status) Error() string { return s.String() }

// An Error is a failed call of the library.
type Error struct {
	Status Status
	// Message says what is wrong, and of a wrong argument which one.
	Message string
	// CUDACode is the cudaError_t or CUresult behind it, or 0.
	CUDACode int
	// Sticky: the device is lost for this process.
	Sticky bool
	// Of a call that its context.Context ended: why.
	cause []error
}

func (e *Error) Error() string {
	if len(e.cause) != 0 {
		return fmt.Sprintf("gpujoin: %s: %s: %v", e.Status, e.Message, e.cause[0])
	}
	return fmt.Sprintf("gpujoin: %s: %s", e.Status, e.Message)
}

// Unwrap is the status, and of a call that its context.Context ended the context's error and
// cause.
func (e *Error) Unwrap() []error { return append([]error{e.Status}, e.cause...) }

func fail(status Status, format string, values ...any) *Error {
	return &Error{Status: status, Message: fmt.Sprintf(format, values...)}
}

func invalid(format string, values ...any) *Error {
	return fail(StatusInvalidArgument, format, values...)
}

// errorOf is nil where the call succeeded.
func errorOf(status C.gpujoin_status, raw *C.gpujoin_error) error {
	if status == C.GPUJOIN_OK {
		return nil
	}
	return &Error{
		Status:   Status(status),
		Message:  C.GoString(&raw.message[0]),
		CUDACode: int(raw.cuda_code),
		Sticky:   raw.is_sticky != 0,
	}
}

// check makes a call that does not wait.
func check(call func(raw *C.gpujoin_error) C.gpujoin_status) error {
	raw := new(C.gpujoin_error)
	return errorOf(call(raw), raw)
}

// causes is what ended ctx, if it has: its error, and where that says more its cause.
func causes(ctx context.Context) []error {
	err := ctx.Err()
	if err == nil {
		// The library may see the deadline before the timer of ctx does.
		if deadline, is := ctx.Deadline(); !is || time.Now().Before(deadline) {
			return nil
		}
		return []error{context.DeadlineExceeded}
	}
	if cause := context.Cause(ctx); cause != err {
		return []error{err, cause}
	}
	return []error{err}
}

// endedBefore is the error of a call whose ctx has ended before it began; nil: it has not.
func endedBefore(ctx context.Context) error {
	if ctx == nil {
		return invalid("ctx is nil")
	}
	if ctx.Err() == nil {
		return nil
	}
	failed := fail(StatusCancelled, "ctx was over before the call")
	if ctx.Err() == context.DeadlineExceeded {
		failed.Status = StatusDeadline
	}
	failed.cause = causes(ctx)
	return failed
}
