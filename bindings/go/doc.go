// Package gpujoin joins tables on an NVIDIA GPU, or on the CPU of a machine without one, by the
// library libgpujoin.
//
// The short way: a [Context] opens a device, [Context.NewRelation] takes an Arrow record batch as
// it lies, without a copy, and [Context.Join] plans and executes a join of two relations, whose
// [Result] is an Arrow record batch, a sequence of pages, or pairs of row numbers.
//
// The longer way: [Context.NewPlan] chooses how to join, to be explained, counted and executed
// any number of times; [Context.Estimate] says what a join would cost before there is data;
// [Context.JoinSequence] joins a fact table with several dimensions. Where rows come in batches,
// from many goroutines, or are more than memory holds, a [Build] keeps one side, an [Operation] is
// one join with it, and a [Probe] of each goroutine brings rows of the other side.
//
// # Cancelling
//
// Calls that compute take a [context.Context]. Its end ends the call, and no other one, at the next
// step of the join: on the CPU a part of a loop, on a GPU a stage. Within a step a deadline ends
// [Context.Join], and any end an execution that is its plan's only one. Of a build, and of an
// operation with its probes, it is the end of the object.
//
// The error then is both the status of the library and the error of the context: errors.Is says
// true of [StatusCancelled] or [StatusDeadline] and of [context.Canceled] or
// [context.DeadlineExceeded]. A call that was complete before is a success.
//
// # Errors
//
// Errors of the library are an [*Error], which errors.Is compares with a [Status].
//
// # Lifetime
//
// Close lets go of what an object holds, once; more calls of it do nothing. What was made of an
// object keeps what it needs of it, and calls that run go on, so objects may be closed in any
// order and at any time. What is never closed is closed some time after the garbage collector
// finds that nobody can use it: that is a safety net, as large memory outside of Go does not make
// the collector run.
//
// Arrow record batches that results answer with hold memory of the library until they are
// released, as the batches of arrow-go do; they may outlive the result and the context. Strings and
// bytes of their columns point to that memory: what is to stay, be it as the key of a map, is cloned
// first (strings.Clone), since a map takes over the string of each assignment.
//
// # Goroutines
//
// Any function may be called from any goroutine at any time. Calls on one [Probe] run one after
// the other; all others run side by side.
package gpujoin
