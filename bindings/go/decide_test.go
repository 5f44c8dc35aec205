package gpujoin_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	gpujoin "github.com/gpujoin/gpujoin/bindings/go"
)

// decidedSide has keys and values, some of both NULL.
func decidedSide(t testing.TB, value string, rows, distinct int64) arrow.RecordBatch {
	t.Helper()
	keys := array.NewInt64Builder(memory.DefaultAllocator)
	values := array.NewInt64Builder(memory.DefaultAllocator)
	defer keys.Release()
	defer values.Release()
	for i := range rows {
		if keys.Append(i * 7 % distinct); i%8 == 0 {
			keys.SetNull(int(i))
		}
		if values.Append(i * 37 % 97); i%11 == 0 {
			values.SetNull(int(i))
		}
	}
	schema := arrow.NewSchema([]arrow.Field{field("k", arrow.PrimitiveTypes.Int64),
		field(value, arrow.PrimitiveTypes.Int64)}, nil)
	columns := []arrow.Array{keys.NewArray(), values.NewArray()}
	batch := array.NewRecordBatch(schema, columns, rows)
	for _, column := range columns {
		column.Release()
	}
	t.Cleanup(batch.Release)
	return batch
}

// isLess is of the last two columns, and NULL where one of them is.
func isLess(candidates arrow.RecordBatch) (*array.Boolean, error) {
	last := int(candidates.NumCols()) - 1
	a, b := candidates.Column(last-1).(*array.Int64), candidates.Column(last).(*array.Int64)
	answers := array.NewBooleanBuilder(memory.DefaultAllocator)
	defer answers.Release()
	for i := range a.Len() {
		if a.IsNull(i) || b.IsNull(i) {
			answers.AppendNull()
			continue
		}
		answers.Append(a.Value(i) < b.Value(i))
	}
	return answers.NewBooleanArray(), nil
}

func decidedSpec(kind gpujoin.Kind, where gpujoin.Expr) *gpujoin.JoinSpec {
	spec := &gpujoin.JoinSpec{Kind: kind, Keys: gpujoin.On("k"), Where: where}
	if kind != gpujoin.RightSemi && kind != gpujoin.RightAnti {
		spec.Left = []string{"k", "a"}
	}
	if kind != gpujoin.LeftSemi && kind != gpujoin.LeftAnti {
		spec.Right = []string{"k", "b"}
	}
	return spec
}

// operationRows are those of an operation and of one probe of it, sorted.
func operationRows(ctx context.Context, build *gpujoin.Build, probed arrow.RecordBatch,
	spec *gpujoin.JoinSpec, options *gpujoin.OperationOptions) ([]string, error) {
	operation, err := build.NewOperation(probed.Schema(), spec, options)
	if err != nil {
		return nil, err
	}
	defer operation.Close()
	var rows []string
	use := keep(new(sync.Mutex), &rows)
	if err := probeAll(ctx, operation, []arrow.RecordBatch{probed}, 0, use); err != nil {
		return nil, err
	}
	if err := operation.CloseInput(); err != nil {
		return nil, err
	}
	err = take(ctx, operation.Next, use)
	slices.Sort(rows)
	return rows, err
}

// Every kind is the join by the library's own operators, also where sides go to files.
func TestDecidedOperations(t *testing.T) {
	less := gpujoin.Op(gpujoin.OpLess, gpujoin.LeftColumn("a"), gpujoin.RightColumn("b"))
	for _, size := range []struct {
		name           string
		context        *gpujoin.ContextOptions
		rows, distinct int64
		kinds          []gpujoin.Kind
	}{
		{"in memory", nil, 1000, 150, []gpujoin.Kind{gpujoin.Inner, gpujoin.Left, gpujoin.Right,
			gpujoin.Full, gpujoin.LeftSemi, gpujoin.LeftAnti, gpujoin.RightSemi, gpujoin.RightAnti}},
		{"in files", &gpujoin.ContextOptions{Device: gpujoin.DeviceCPU, HostLimit: 1 << 20,
			SpillPath: t.TempDir()}, 30_000, 20_000,
			[]gpujoin.Kind{gpujoin.Left, gpujoin.RightAnti}},
	} {
		c := newContext(t, size.context)
		left := decidedSide(t, "a", size.rows, size.distinct)
		right := decidedSide(t, "b", size.rows/2, size.distinct)
		for _, kind := range size.kinds {
			for _, side := range []gpujoin.Side{gpujoin.LeftSide, gpujoin.RightSide} {
				t.Run(fmt.Sprint(size.name, " ", kind, " ", side), func(t *testing.T) {
					built, probed := right, left
					if side == gpujoin.LeftSide {
						built, probed = left, right
					}
					build := builtOf(t, c, built, "k")
					options := &gpujoin.OperationOptions{BuildSide: side}
					expected, err := operationRows(t.Context(), build, probed, decidedSpec(kind, less),
						options)
					if err != nil || len(expected) == 0 {
						t.Fatalf("%d rows, %v", len(expected), err)
					}
					asked := int64(0)
					options.DecideLeft, options.DecideRight = []string{"a"}, []string{"b"}
					options.Decide = func(candidates arrow.RecordBatch) (*array.Boolean, error) {
						asked += candidates.NumRows()
						return isLess(candidates)
					}
					rows, err := operationRows(t.Context(), build, probed,
						decidedSpec(kind, gpujoin.CallerDecides()), options)
					if err != nil {
						t.Fatal(err)
					}
					if !slices.Equal(rows, expected) || asked == 0 {
						t.Errorf("%d rows of %d candidates, expected are %d", len(rows), asked, len(expected))
					}
				})
			}
		}
		info, err := c.Info()
		if err != nil || size.context != nil && info.SpillPeak == 0 {
			t.Errorf("nothing went to files: %+v, %v", info, err)
		}
	}
}

func TestCandidatesOfOperations(t *testing.T) {
	c := newContext(t, nil)
	left, right := decidedSide(t, "a", 100, 10), decidedSide(t, "b", 100, 10)
	build, err := c.NewBuild(right.Schema(), []string{"k"}, &gpujoin.BuildOptions{RowNumbers: true})
	if err != nil {
		t.Fatal(err)
	}
	defer build.Close()
	if err := build.Append(t.Context(), right, 1000); err != nil {
		t.Fatal(err)
	}
	if err := build.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, each := range []struct {
		options  gpujoin.OperationOptions
		expected string
	}{
		{gpujoin.OperationOptions{DecideLeft: []string{"a"}, DecideRight: []string{"b", "k"}},
			"right_row a b k"},
		{gpujoin.OperationOptions{RowNumbers: true, DecideLeft: []string{"k"},
			DecideRight: []string{"k"}}, "left_row right_row k k"},
		{gpujoin.OperationOptions{}, "right_row"},
	} {
		var kept arrow.RecordBatch
		var names []string
		each.options.Decide = func(candidates arrow.RecordBatch) (*array.Boolean, error) {
			names = nil
			for _, each := range candidates.Schema().Fields() {
				names = append(names, each.Name)
			}
			if kept == nil {
				candidates.Retain()
				kept = candidates
			}
			answers := array.NewBooleanBuilder(memory.DefaultAllocator)
			defer answers.Release()
			for range candidates.NumRows() + 3 {
				answers.Append(true)
			}
			all := answers.NewBooleanArray()
			defer all.Release()
			return array.NewSlice(all, 3, int64(all.Len())).(*array.Boolean), nil
		}
		rows, err := operationRows(t.Context(), build, left,
			decidedSpec(gpujoin.Inner, gpujoin.CallerDecides()), &each.options)
		if err != nil || len(rows) == 0 || strings.Join(names, " ") != each.expected {
			t.Fatalf("%d rows of %q, %v", len(rows), names, err)
		}
		for i, name := range names {
			row := kept.Column(i).(*array.Int64).Value(0)
			if name == "right_row" && (row < 1000 || row >= 1100) {
				t.Errorf("row %d is none", row)
			}
		}
		kept.Release() // it is there as long as the caller has it
	}
}

func TestFailuresOfDecide(t *testing.T) {
	c := newContext(t, nil)
	left, right := decidedSide(t, "a", 100, 10), decidedSide(t, "b", 100, 10)
	build := builtOf(t, c, right, "k")
	spec := decidedSpec(gpujoin.Left, gpujoin.CallerDecides())
	decide := func(decide func(arrow.RecordBatch) (*array.Boolean, error)) error {
		t.Helper()
		operation, err := build.NewOperation(left.Schema(), spec, &gpujoin.OperationOptions{
			DecideLeft: []string{"a"}, DecideRight: []string{"b"}, Decide: decide})
		if err != nil {
			t.Fatal(err)
		}
		defer operation.Close()
		probe := probeOf(t, operation, left)
		_, _, first := probe.Next(t.Context())
		if _, _, later := probe.Next(t.Context()); later != first {
			t.Errorf("the errors are %v, later %v", first, later)
		}
		return first
	}
	expect := func(err error, status gpujoin.Status, of error, text string) {
		t.Helper()
		if !errors.Is(err, status) || of != nil && !errors.Is(err, of) ||
			!strings.Contains(err.Error(), text) {
			t.Errorf("the error is %v", err)
		}
	}
	noPrice := errors.New("no such price")
	err := decide(func(arrow.RecordBatch) (*array.Boolean, error) { return nil, noPrice })
	expect(err, gpujoin.StatusEvaluation, noPrice, "no such price")
	err = decide(func(arrow.RecordBatch) (*array.Boolean, error) { panic("of the test") })
	expect(err, gpujoin.StatusEvaluation, nil, "panicked: of the test")
	err = decide(func(arrow.RecordBatch) (*array.Boolean, error) { panic(noPrice) })
	expect(err, gpujoin.StatusEvaluation, noPrice, "panicked")
	err = decide(func(arrow.RecordBatch) (*array.Boolean, error) { return nil, nil })
	expect(err, gpujoin.StatusInvalidArgument, nil, "nil")
	err = decide(func(candidates arrow.RecordBatch) (*array.Boolean, error) {
		answers, err := isLess(candidates)
		defer answers.Release()
		return array.NewSlice(answers, 1, int64(answers.Len())).(*array.Boolean), err
	})
	expect(err, gpujoin.StatusInvalidArgument, nil, "answers for")

	refused := func(spec *gpujoin.JoinSpec, options gpujoin.OperationOptions,
		status gpujoin.Status, text string) {
		t.Helper()
		_, err := build.NewOperation(left.Schema(), spec, &options)
		expect(err, status, nil, text)
	}
	refused(spec, gpujoin.OperationOptions{}, gpujoin.StatusInvalidArgument, "options.decide")
	refused(spec, gpujoin.OperationOptions{Decide: isLess, DecideLeft: []string{"x"}},
		gpujoin.StatusInvalidArgument, "DecideLeft[0]")
	refused(spec, gpujoin.OperationOptions{Decide: isLess, DecideRight: []string{"b", "x"}},
		gpujoin.StatusInvalidArgument, "DecideRight[1]")
	refused(decidedSpec(gpujoin.Left, gpujoin.Expr{}), gpujoin.OperationOptions{Decide: isLess},
		gpujoin.StatusInvalidArgument, "options.decide")
	mark := &gpujoin.JoinSpec{Kind: gpujoin.LeftMark, Keys: gpujoin.On("k"), Left: []string{"a"},
		Where: gpujoin.CallerDecides()}
	refused(mark, gpujoin.OperationOptions{Decide: isLess}, gpujoin.StatusUnsupported, "residual")
}

// A function may call the library for other work, from goroutines of several probes.
func TestDecideOfGoroutines(t *testing.T) {
	c := newContext(t, nil)
	left, right := decidedSide(t, "a", 2000, 100), decidedSide(t, "b", 1000, 100)
	build := builtOf(t, c, right, "k")
	inner := relationOf(t, c, decidedSide(t, "a", 10, 5))
	var calls atomic.Int64
	options := &gpujoin.OperationOptions{DecideLeft: []string{"a"}, DecideRight: []string{"b"}}
	options.Decide = func(candidates arrow.RecordBatch) (*array.Boolean, error) {
		calls.Add(1)
		result, err := c.Join(t.Context(), inner, inner, all(gpujoin.Inner, "k"), nil)
		if err != nil {
			return nil, err
		}
		result.Close()
		return isLess(candidates)
	}
	operation, err := build.NewOperation(left.Schema(),
		decidedSpec(gpujoin.LeftSemi, gpujoin.CallerDecides()), options)
	if err != nil {
		t.Fatal(err)
	}
	defer operation.Close()
	var mutex sync.Mutex
	var rows []string
	var probes sync.WaitGroup
	for range 4 {
		probes.Go(func() {
			err := probeAll(t.Context(), operation, []arrow.RecordBatch{left, left}, 0,
				keep(&mutex, &rows))
			if err != nil {
				t.Error(err)
			}
		})
	}
	probes.Wait()
	if calls.Load() == 0 || len(rows) == 0 || len(rows)%8 != 0 {
		t.Errorf("%d rows of %d calls", len(rows), calls.Load())
	}

	// The end of ctx reaches a join whose function has called the library.
	ctx, end := context.WithCancel(t.Context())
	options.Decide = func(candidates arrow.RecordBatch) (*array.Boolean, error) {
		result, err := c.Join(t.Context(), inner, inner, all(gpujoin.Inner, "k"), nil)
		if err != nil {
			return nil, err
		}
		result.Close()
		end()
		return isLess(candidates)
	}
	_, err = operationRows(ctx, build, left,
		decidedSpec(gpujoin.LeftSemi, gpujoin.CallerDecides()), options)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}
