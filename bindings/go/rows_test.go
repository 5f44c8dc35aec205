package gpujoin_test

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	gpujoin "github.com/gpujoin/gpujoin/bindings/go"
)

// parts are batches of a batch.
func parts(batch arrow.RecordBatch, rows int64) []arrow.RecordBatch {
	var made []arrow.RecordBatch
	for first := int64(0); first < batch.NumRows(); first += rows {
		made = append(made, batch.NewSlice(first, min(first+rows, batch.NumRows())))
	}
	return made
}

func operationOf(t *testing.T, c *gpujoin.Context, built, probed arrow.RecordBatch,
	kind gpujoin.Kind) *gpujoin.Operation {
	t.Helper()
	operation, err := builtOf(t, c, built, "k").NewOperation(probed.Schema(),
		&gpujoin.JoinSpec{Kind: kind, Left: []string{"k"}, Right: []string{"k"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(operation.Close)
	return operation
}

func TestRows(t *testing.T) {
	built := numbers(t, []string{"k"}, upTo(60_000, 2))
	probed := numbers(t, []string{"k"}, upTo(60_000, 3))
	for name, options := range map[string]*gpujoin.ContextOptions{
		"memory": {Device: gpujoin.DeviceCPU},
		"files":  {Device: gpujoin.DeviceCPU, HostLimit: 2 << 20, SpillPath: t.TempDir()},
	} {
		for _, goroutines := range []int{1, 4} {
			c := newContext(t, options)
			operation := operationOf(t, c, built, probed, gpujoin.Full)
			reader, err := array.NewRecordReader(probed.Schema(), parts(probed, 7000))
			if err != nil {
				t.Fatal(err)
			}
			var matches, left, right int
			for batch, err := range operation.Rows(t.Context(), gpujoin.BatchesOf(reader), goroutines) {
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				for i := range int(batch.NumRows()) {
					switch {
					case batch.Column(0).IsNull(i):
						right++
					case batch.Column(1).IsNull(i):
						left++
					default:
						matches++
					}
				}
				batch.Release()
			}
			reader.Release()
			if matches != 20_000 || left != 40_000 || right != 40_000 {
				t.Errorf("%s: %d matches, %d and %d rows without", name, matches, left, right)
			}
		}
	}
}

func TestRowsEnd(t *testing.T) {
	c := newContext(t, nil)
	batch := numbers(t, []string{"k"}, upTo(10_000, 1))
	before := runtime.NumGoroutine()
	of := func(kind gpujoin.Kind) *gpujoin.Operation { return operationOf(t, c, batch, batch, kind) }
	endless := func(yield func(arrow.RecordBatch, error) bool) {
		for yield(batch, nil) {
		}
	}
	// Nothing is taken after the first.
	for result, err := range of(gpujoin.Inner).Rows(t.Context(), endless, 4) {
		if err != nil {
			t.Fatal(err)
		}
		result.Release()
		break
	}
	// The end of a context, and an error of the batches.
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	failure := errors.New("no more input")
	failing := func(yield func(arrow.RecordBatch, error) bool) {
		_ = yield(batch, nil) && yield(nil, failure)
	}
	for _, each := range []struct {
		ctx     context.Context
		batches iter.Seq2[arrow.RecordBatch, error]
		of      error
	}{{ctx, endless, context.DeadlineExceeded}, {t.Context(), failing, failure}} {
		var errs []error
		for result, err := range of(gpujoin.Inner).Rows(each.ctx, each.batches, 3) {
			if err != nil {
				errs = append(errs, err)
			} else {
				result.Release()
			}
		}
		if len(errs) != 1 || !errors.Is(errs[0], each.of) {
			t.Errorf("errors are %v", errs)
		}
	}
	for _, err := range of(gpujoin.Inner).Rows(t.Context(), endless, 0) {
		if !errors.Is(err, gpujoin.StatusInvalidArgument) {
			t.Errorf("the error is %v", err)
		}
	}
	none := slices.Collect(func(yield func(error) bool) {
		for _, err := range of(gpujoin.Inner).Rows(t.Context(),
			func(func(arrow.RecordBatch, error) bool) {}, 2) {
			if !yield(err) {
				return
			}
		}
	})
	if len(none) != 0 {
		t.Errorf("of no batches there are %v", none)
	}
	for range 100 { // no goroutine is left behind
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines, before there were %d", runtime.NumGoroutine(), before)
}
