package gpujoin

import (
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
)

// Rows brings batches by as many probes, each of a goroutine, and hands out the rows of the join
// as record batches, each to be released, in any order, while they come. It is the whole
// operation: it closes its input, and takes what comes out when all rows have come.
//
// batches may be an array.RecordReader by [BatchesOf]. A batch need not be valid after the next
// one is asked for; rows are numbered from 0 on. An error that comes with one ends the operation,
// as does ctx, and no longer taking what is handed out. After an error there is nothing more; it
// is the first one that there was: those of [Probe.Append] and [Operation.Next], or that of
// batches.
func (o *Operation) Rows(ctx context.Context, batches iter.Seq2[arrow.RecordBatch, error],
	goroutines int) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		if err := endedBefore(ctx); err != nil {
			yield(nil, err)
			return
		}
		if goroutines < 1 {
			yield(nil, invalid("goroutines is %d, and has to be 1 or more", goroutines))
			return
		}
		next, stop := iter.Pull2(batches)
		ctx, end := context.WithCancelCause(ctx)
		run := &rowsOfProbes{operation: o, next: next, ctx: ctx, end: end,
			results: make(chan arrow.RecordBatch, goroutines)}
		go run.all(goroutines)
		defer func() { // also where nobody takes the rest: nothing runs on behind the caller
			end(nil)
			for batch := range run.results {
				batch.Release()
			}
			stop()
		}()
		for batch := range run.results {
			if !yield(batch, nil) {
				return
			}
		}
		if run.err != nil {
			yield(nil, run.err)
		}
	}
}

// BatchesOf are the batches of a reader such as array.RecordReader, and its error at the end.
func BatchesOf(reader interface {
	Next() bool
	RecordBatch() arrow.RecordBatch
	Err() error
}) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for reader.Next() {
			if !yield(reader.RecordBatch(), nil) {
				return
			}
		}
		if err := reader.Err(); err != nil {
			yield(nil, err)
		}
	}
}

type rowsOfProbes struct {
	operation *Operation
	ctx       context.Context
	end       context.CancelCauseFunc
	results   chan arrow.RecordBatch

	source  sync.Mutex
	next    func() (arrow.RecordBatch, error, bool)
	lastRow int64

	failure sync.Mutex
	err     error
}

// all closes the results when every goroutine is done; err may be read then.
func (r *rowsOfProbes) all(goroutines int) {
	defer close(r.results)
	if r.sideBySide(goroutines, r.probe) != nil {
		return
	}
	if err := r.operation.CloseInput(); err != nil {
		r.fail(err)
		return
	}
	_ = r.sideBySide(goroutines, func() error {
		return r.take(r.operation.Next)
	})
}

func (r *rowsOfProbes) sideBySide(goroutines int, work func() error) error {
	var workers sync.WaitGroup
	for range goroutines {
		workers.Go(func() {
			if err := work(); err != nil {
				r.fail(err)
			}
		})
	}
	workers.Wait()
	return r.err
}

// fail keeps the first error, which ends the calls of the others.
func (r *rowsOfProbes) fail(err error) {
	r.failure.Lock()
	defer r.failure.Unlock()
	if r.err == nil {
		r.err = err
		r.end(err)
	}
}

// nextBatch is to be released; nil: there is none.
func (r *rowsOfProbes) nextBatch() (batch arrow.RecordBatch, firstRow int64, err error) {
	r.source.Lock()
	defer r.source.Unlock()
	if r.ctx.Err() != nil {
		return nil, 0, endedBefore(r.ctx)
	}
	batch, err, is := r.next()
	if !is || err != nil {
		return nil, 0, err
	}
	batch.Retain()
	firstRow = r.lastRow
	r.lastRow += batch.NumRows()
	return batch, firstRow, nil
}

func (r *rowsOfProbes) probe() error {
	probe, err := r.operation.NewProbe()
	if err != nil {
		return err
	}
	defer probe.Close()
	for {
		batch, firstRow, err := r.nextBatch()
		if err != nil {
			return err
		}
		if batch == nil {
			break
		}
		err = r.append(probe, batch, firstRow)
		batch.Release()
		if err != nil {
			return err
		}
	}
	if err := probe.Finish(r.ctx); err != nil {
		return err
	}
	return r.take(probe.Next)
}

func (r *rowsOfProbes) append(probe *Probe, batch arrow.RecordBatch, firstRow int64) error {
	relation, err := r.operation.context.NewRelation(batch)
	if err != nil {
		return err
	}
	// Rows may be read where they lie until they are joined.
	defer relation.Close()
	for {
		err := probe.AppendRelation(r.ctx, relation, firstRow)
		isTaken := err == nil
		if !isTaken && !errors.Is(err, StatusNotReady) {
			return err
		}
		if err := r.take(probe.Next); err != nil || isTaken {
			return err
		}
	}
}

// take hands out results until there is none.
func (r *rowsOfProbes) take(
	next func(context.Context) (*Result, State, error)) error {
	for {
		result, state, err := next(r.ctx)
		if err != nil || state != Ready {
			return err
		}
		batch, err := result.Record()
		result.Close()
		if err != nil {
			return err
		}
		select {
		case r.results <- batch:
		case <-r.ctx.Done():
			batch.Release()
			return endedBefore(r.ctx)
		}
	}
}
