package gpujoin_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	gpujoin "github.com/gpujoin/gpujoin/bindings/go"
)

// builtOf is a finished build of one batch, without keys.
func builtOf(t testing.TB, c *gpujoin.Context, batch arrow.RecordBatch,
	keys ...string) *gpujoin.Build {
	t.Helper()
	build, err := c.NewBuild(batch.Schema(), keys, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(build.Close)
	if err := build.Append(context.Background(), batch, 0); err != nil {
		t.Fatal(err)
	}
	if err := build.Finish(context.Background()); err != nil {
		t.Fatal(err)
	}
	return build
}

// probeOf has all rows of the batch, and will have no others.
func probeOf(t testing.TB, operation *gpujoin.Operation, batch arrow.RecordBatch) *gpujoin.Probe {
	t.Helper()
	probe, err := operation.NewProbe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(probe.Close)
	if err := probe.Append(context.Background(), batch, 0); err != nil {
		t.Fatal(err)
	}
	if err := probe.Finish(context.Background()); err != nil {
		t.Fatal(err)
	}
	return probe
}

// take hands each result that is there to use, until there is none.
func take(ctx context.Context, next func(context.Context) (*gpujoin.Result, gpujoin.State, error),
	use func(*gpujoin.Result) error) error {
	for {
		result, state, err := next(ctx)
		if err != nil || state != gpujoin.Ready {
			return err
		}
		err = use(result)
		result.Close()
		if err != nil {
			return err
		}
	}
}

// probeAll brings batches by one probe, and takes what comes.
func probeAll(ctx context.Context, operation *gpujoin.Operation, batches []arrow.RecordBatch,
	firstRow int64, use func(*gpujoin.Result) error) error {
	probe, err := operation.NewProbe()
	if err != nil {
		return err
	}
	defer probe.Close()
	for _, batch := range batches {
		for {
			err := probe.Append(ctx, batch, firstRow)
			if err == nil {
				break
			}
			if !errors.Is(err, gpujoin.StatusNotReady) {
				return err
			}
			if err := take(ctx, probe.Next, use); err != nil {
				return err
			}
		}
		firstRow += batch.NumRows()
		if err := take(ctx, probe.Next, use); err != nil {
			return err
		}
	}
	if err := probe.Finish(ctx); err != nil {
		return err
	}
	return take(ctx, probe.Next, use)
}

// keep is a use of results that collects their rows.
func keep(mutex *sync.Mutex, rows *[]string) func(*gpujoin.Result) error {
	return func(result *gpujoin.Result) error {
		batch, err := result.Record()
		if err != nil {
			return err
		}
		defer batch.Release()
		mutex.Lock()
		defer mutex.Unlock()
		*rows = append(*rows, rowsOf(batch)...)
		return nil
	}
}

// Every kind, in batches, is the join of all rows in one call.
func TestOperationsOfAllKinds(t *testing.T) {
	c := newContext(t, nil)
	left := batchOf(t, `[{"k":1,"a":"one"},{"k":2,"a":"two"},{"k":2,"a":"zwei"},{"k":null,"a":"no"},
		{"k":9,"a":null}]`, field("k", arrow.PrimitiveTypes.Int32), field("a", arrow.BinaryTypes.String))
	right := batchOf(t, `[{"k":2,"b":20},{"k":3,"b":30},{"k":9,"b":90},{"k":null,"b":0}]`,
		field("k", arrow.PrimitiveTypes.Int64), field("b", arrow.PrimitiveTypes.Int16))
	for kind := gpujoin.Inner; kind < gpujoin.Cross; kind++ {
		if kind == gpujoin.RightSingle {
			continue // row 2 has several matches
		}
		t.Run(kind.String(), func(t *testing.T) {
			spec := &gpujoin.JoinSpec{Kind: kind, Keys: gpujoin.On("k")}
			isOfOneSide := kind >= gpujoin.LeftSemi && kind <= gpujoin.RightNotIn
			if !isOfOneSide || strings.HasPrefix(kind.String(), "left") {
				spec.Left = []string{"k", "a"}
			}
			if !isOfOneSide || strings.HasPrefix(kind.String(), "right") {
				spec.Right = []string{"b"}
			}
			result, err := c.Join(t.Context(), relationOf(t, c, left), relationOf(t, c, right), spec, nil)
			if err != nil {
				t.Fatal(err)
			}
			expected := sortedRows(t, result)
			for _, side := range []gpujoin.Side{gpujoin.LeftSide, gpujoin.RightSide} {
				built, probed := right, left
				if side == gpujoin.LeftSide {
					built, probed = left, right
				}
				build := builtOf(t, c, built, "k")
				operation, err := build.NewOperation(probed.Schema(), spec,
					&gpujoin.OperationOptions{BuildSide: side})
				if err != nil {
					t.Fatal(err)
				}
				defer operation.Close()
				batches := []arrow.RecordBatch{probed.NewSlice(0, 2), probed.NewSlice(2, probed.NumRows())}
				var rows []string
				use := keep(new(sync.Mutex), &rows)
				if err := probeAll(t.Context(), operation, batches, 0, use); err != nil {
					t.Fatal(err)
				}
				if err := operation.CloseInput(); err != nil {
					t.Fatal(err)
				}
				if err := take(t.Context(), operation.Next, use); err != nil {
					t.Fatal(err)
				}
				slices.Sort(rows)
				expectRows(t, rows, expected...)
			}
		})
	}
}

// Eight goroutines ask one build, each with probes of its own, all at the same time.
func TestGoroutinesOfProbes(t *testing.T) {
	const goroutines, probes, rows = 8, 40, 512
	c := newContext(t, nil)
	built := numbers(t, []string{"k", "v"}, upTo(10000, 3), upTo(10000, 1))
	defer built.Release()
	build, err := c.NewBuild(built.Schema(), []string{"k"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer build.Close()
	var all sync.WaitGroup
	for i := range int64(goroutines) {
		all.Go(func() {
			part := built.NewSlice(i*built.NumRows()/goroutines, (i+1)*built.NumRows()/goroutines)
			defer part.Release()
			if err := build.Append(t.Context(), part, 0); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if err := build.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	info, err := build.Info()
	if err != nil || !info.Finished || !info.Whole || info.Rows != 10000 {
		t.Errorf("the build is %+v, %v", info, err)
	}
	spec := &gpujoin.JoinSpec{Kind: gpujoin.Inner, Keys: gpujoin.On("k"), Left: []string{"k"},
		Right: []string{"v"}}
	operation, err := build.NewOperation(built.Schema(), spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer operation.Close()
	for i := range int64(goroutines) {
		all.Go(func() {
			for j := range int64(probes) {
				first := (i*probes + j) * 7
				keys := upTo(rows, 1)
				for k := range keys {
					keys[k] += first
				}
				batch := numbers(t, []string{"k", "v"}, keys, keys)
				defer batch.Release()
				matches, wrong := int64(0), int64(0)
				err := probeAll(t.Context(), operation, []arrow.RecordBatch{batch}, 0,
					func(result *gpujoin.Result) error {
						record, err := result.Record()
						if err != nil {
							return err
						}
						defer record.Release()
						for row := range int(record.NumRows()) {
							var key, value int64
							text := record.Column(0).ValueStr(row) + " " + record.Column(1).ValueStr(row)
							if _, err := fmt.Sscan(text, &key, &value); err != nil || key != 3*value {
								wrong++
							}
						}
						matches += record.NumRows()
						return nil
					})
				// Of rows consecutive keys from first on every third, below 30000, has a match.
				expected := (first+rows+2)/3 - (first+2)/3
				if err != nil || wrong != 0 || matches != expected {
					t.Errorf("probe %d: %d of %d rows, %d wrong, %v", first, matches, expected, wrong, err)
				}
			}
		})
	}
	all.Wait()
	if err := operation.CloseInput(); err != nil {
		t.Fatal(err)
	}
	progress, err := operation.Progress()
	if err != nil || progress.RowsIn != goroutines*probes*rows {
		t.Errorf("the progress is %+v, %v", progress, err)
	}
	if _, state, err := operation.Next(t.Context()); err != nil || state != gpujoin.Finished {
		t.Errorf("the operation is %v, %v", state, err)
	}
	if text, err := operation.Explain(); err != nil || text == "" {
		t.Errorf("the explanation is %q, %v", text, err)
	}
}

// More than memory holds goes to files, and comes out all the same.
func TestBuildsInFiles(t *testing.T) {
	folder := t.TempDir()
	c := newContext(t, &gpujoin.ContextOptions{Device: gpujoin.DeviceCPU, HostLimit: 8 << 20,
		SpillPath: folder})
	const rows = 400_000
	batch := numbers(t, []string{"k", "v"}, upTo(rows, 1), upTo(rows, 2))
	defer batch.Release()
	build := builtOf(t, c, batch, "k")
	info, err := build.Info()
	if err != nil || info.Whole || info.SpilledBytes == 0 || info.Partitions < 2 {
		t.Errorf("the build is %+v, %v", info, err)
	}
	operation, err := build.NewOperation(batch.Schema(),
		&gpujoin.JoinSpec{Kind: gpujoin.Right, Keys: gpujoin.On("k"), Left: []string{"v"}, Pairs: false,
			Right: []string{"k"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer operation.Close()
	half := batch.NewSlice(0, rows/2)
	defer half.Release()
	total, without := int64(0), 0
	use := func(result *gpujoin.Result) error {
		for page, err := range result.Pages(10_000) {
			if err != nil {
				return err
			}
			total += page.NumRows()
			without += page.Column(0).NullN()
			page.Release()
		}
		return nil
	}
	if err := probeAll(t.Context(), operation, []arrow.RecordBatch{half}, 0, use); err != nil {
		t.Fatal(err)
	}
	if err := operation.CloseInput(); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var mutex sync.Mutex
	for range 2 { // partitions are joined side by side
		all.Go(func() {
			err := take(t.Context(), operation.Next, func(result *gpujoin.Result) error {
				mutex.Lock()
				defer mutex.Unlock()
				return use(result)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if total != rows || without != rows/2 {
		t.Errorf("%d rows, %d of them without a match", total, without)
	}
}

func TestRowNumbersOfOperations(t *testing.T) {
	c := newContext(t, nil)
	batch := numbers(t, []string{"k"}, []int64{7, 8, 9})
	defer batch.Release()
	build, err := c.NewBuild(batch.Schema(), []string{"k"}, &gpujoin.BuildOptions{RowNumbers: true})
	if err != nil {
		t.Fatal(err)
	}
	defer build.Close()
	if err := build.Append(t.Context(), batch, 1<<40); err != nil {
		t.Fatal(err)
	}
	if err := build.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	operation, err := build.NewOperation(batch.Schema(),
		&gpujoin.JoinSpec{Kind: gpujoin.Inner, Pairs: true},
		&gpujoin.OperationOptions{RowNumbers: true})
	if err != nil {
		t.Fatal(err)
	}
	defer operation.Close()
	var left, right []int64
	err = probeAll(t.Context(), operation, []arrow.RecordBatch{batch}, 100,
		func(result *gpujoin.Result) error {
			l, r, err := result.Pairs()
			left, right = append(left, l...), append(right, r...)
			return err
		})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(left)
	slices.Sort(right)
	if !slices.Equal(left, []int64{100, 101, 102}) ||
		!slices.Equal(right, []int64{1 << 40, 1<<40 + 1, 1<<40 + 2}) {
		t.Errorf("row numbers are %v and %v", left, right)
	}
}

func TestFailuresOfBuilds(t *testing.T) {
	c := newContext(t, nil)
	batch := numbers(t, []string{"k"}, []int64{7, 8, 9})
	defer batch.Release()
	other := batchOf(t, `[{"k":"text"}]`, field("k", arrow.BinaryTypes.String))
	build, err := c.NewBuild(batch.Schema(), []string{"k"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	spec := &gpujoin.JoinSpec{Kind: gpujoin.Inner, Left: []string{"k"}}
	expect := func(err error, status gpujoin.Status) {
		t.Helper()
		if !errors.Is(err, status) {
			t.Errorf("the error is %v, expected is %v", err, status)
		}
	}
	expect(build.Append(t.Context(), other, 0), gpujoin.StatusType)
	_, err = build.NewOperation(batch.Schema(), spec, nil)
	expect(err, gpujoin.StatusInvalidArgument) // it is not finished
	_, err = build.Filter(t.Context(), nil)
	expect(err, gpujoin.StatusInvalidArgument)
	if err := build.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	expect(build.Append(t.Context(), batch, 0), gpujoin.StatusInvalidArgument)
	_, err = c.NewBuild(batch.Schema(), []string{"none"}, nil)
	expect(err, gpujoin.StatusInvalidArgument)
	_, err = c.NewBuild(nil, nil, nil)
	expect(err, gpujoin.StatusInvalidArgument)
	_, err = c.NewBuild(batch.Schema(), []string{"k"}, &gpujoin.BuildOptions{NullEqual: []bool{}})
	expect(err, gpujoin.StatusInvalidArgument)
	_, err = build.NewOperation(batch.Schema(),
		&gpujoin.JoinSpec{Kind: gpujoin.Inner, Where: gpujoin.CallerDecides()}, nil)
	expect(err, gpujoin.StatusInvalidArgument) // without Decide
	operation, err := build.NewOperation(batch.Schema(), spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, state, err := operation.Next(t.Context())
	if err != nil || state != gpujoin.NotReady {
		t.Errorf("the operation is %v, %v", state, err)
	}
	build.Close()
	build.Close()
	expect(build.Finish(t.Context()), gpujoin.StatusInvalidArgument)
	probe, err := operation.NewProbe() // the build is closed, and kept
	if err != nil {
		t.Fatal(err)
	}
	expect(probe.Append(t.Context(), other, 0), gpujoin.StatusType)
	if err := operation.CloseInput(); err != nil {
		t.Error(err)
	}
	_, err = operation.NewProbe()
	expect(err, gpujoin.StatusInvalidArgument)
	probe.Close()
	_, _, err = operation.Next(t.Context())
	expect(err, gpujoin.StatusInvalidArgument) // rows are missing
	operation.Close()
	_, _, err = operation.Next(t.Context())
	expect(err, gpujoin.StatusInvalidArgument)
}

func TestFilters(t *testing.T) {
	c := newContext(t, nil)
	built := numbers(t, []string{"day"}, []int64{10, 12, 14})
	defer built.Release()
	build := builtOf(t, c, built, "day")
	sales := numbers(t, []string{"day", "amount"}, []int64{9, 10, 11, 12, 15, 14},
		[]int64{1, 2, 3, 4, 5, 6})
	defer sales.Release()
	relation := relationOf(t, c, sales)
	for _, kind := range []gpujoin.FilterKind{gpujoin.FilterAutomatic, gpujoin.FilterMinMax,
		gpujoin.FilterBitmap, gpujoin.FilterBloom} {
		filter, err := build.Filter(t.Context(), &gpujoin.FilterOptions{Key: "day", Kind: kind})
		if err != nil {
			t.Fatal(err)
		}
		info, err := filter.Info()
		if err != nil || info.Rows != 3 || info.Keys != 1 ||
			kind != gpujoin.FilterAutomatic && info.Kind != kind {
			t.Errorf("the filter is %+v, %v", info, err)
		}
		if kind == gpujoin.FilterMinMax && (info.First != 10 || info.Last != 14 || info.Min[0] != 10) {
			t.Errorf("the filter is %+v", info)
		}
		bits, passing, err := filter.Test(t.Context(), relation, "day")
		if err != nil {
			t.Fatal(err)
		}
		if bits[0]&0b101010 != 0b101010 || kind == gpujoin.FilterBitmap && bits[0] != 0b101010 {
			t.Errorf("bits are %b", bits)
		}
		selected, err := relation.SelectBits(t.Context(), bits)
		if err != nil || selected.NumRows() != passing {
			t.Errorf("%d rows pass, %v", passing, err)
		}
		selected.Close()
		operation, err := builtOperation(build, sales.Schema(), filter)
		if err != nil {
			t.Fatal(err)
		}
		filter.Close() // the operation keeps it
		var rows []string
		use := keep(new(sync.Mutex), &rows)
		if err := probeAll(t.Context(), operation, []arrow.RecordBatch{sales}, 0, use); err != nil {
			t.Fatal(err)
		}
		slices.Sort(rows)
		expectRows(t, rows, "2", "4", "6")
		operation.Close()
	}
	_, err := build.Filter(t.Context(), &gpujoin.FilterOptions{Key: "amount"})
	if !errors.Is(err, gpujoin.StatusInvalidArgument) {
		t.Errorf("the error is %v", err)
	}
}

func builtOperation(build *gpujoin.Build, probe *arrow.Schema, filter *gpujoin.Filter) (
	*gpujoin.Operation, error) {
	return build.NewOperation(probe, &gpujoin.JoinSpec{Kind: gpujoin.Inner, Left: []string{"amount"}},
		&gpujoin.OperationOptions{OwnFilter: gpujoin.OwnFilterOn,
			Filters: []gpujoin.AppliedFilter{{Filter: filter, Columns: []string{"day"}}}})
}
