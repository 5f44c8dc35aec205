package gpujoin_test

import (
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	gpujoin "github.com/gpujoin/gpujoin/bindings/go"
)

// collectAlways runs the garbage collector all the time until the test is over.
func collectAlways(t *testing.T) {
	before := debug.SetGCPercent(1)
	stop := make(chan struct{})
	var stopped sync.WaitGroup
	stopped.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	})
	t.Cleanup(func() {
		close(stop)
		stopped.Wait()
		debug.SetGCPercent(before)
	})
}

// Nothing is closed: what is in use is never closed by the collector, and values are those that
// were put in, however often memory of Go is collected and used again.
func TestCollectorWhileJoining(t *testing.T) {
	collectAlways(t)
	const goroutines, joins, rows = 4, 25, 2000
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			for range joins {
				plan, expected, err := planThatIsAlone(t, rows)
				if err != nil {
					t.Error(err)
					return
				}
				result, err := plan.Execute(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				total := int64(0)
				for page, err := range result.Pages(rows / 3) {
					if err != nil {
						t.Error(err)
						return
					}
					for _, value := range page.Column(0).(*array.Int64).Int64Values() {
						total += value
					}
					page.Release()
				}
				if total != expected {
					t.Errorf("the total is %d, expected is %d", total, expected)
				}
			}
		})
	}
	all.Wait()
}

// planThatIsAlone: nobody holds its context, its relations, or their memory but the plan.
func planThatIsAlone(t *testing.T, rows int64) (*gpujoin.Plan, int64, error) {
	c, err := gpujoin.NewContext(&gpujoin.ContextOptions{Threads: 2,
		Progress: func(string, int64, int64) bool { return true }})
	if err != nil {
		return nil, 0, err
	}
	values := upTo(rows, 5)
	left := numbers(t, []string{"k", "v"}, upTo(rows, 1), values)
	right := numbers(t, []string{"k"}, upTo(rows, 2))
	of, err := c.NewRelation(left)
	if err != nil {
		return nil, 0, err
	}
	with, err := c.NewRelation(right)
	if err != nil {
		return nil, 0, err
	}
	with, err = with.SelectRows(t.Context(), upTo(rows/4, 1))
	if err != nil {
		return nil, 0, err
	}
	spec := &gpujoin.JoinSpec{Kind: gpujoin.Inner, Keys: gpujoin.On("k"), Left: []string{"v"},
		Where: gpujoin.Op(gpujoin.OpGreaterEqual, gpujoin.LeftColumn("v"), gpujoin.Value(int64(100)))}
	plan, err := c.NewPlan(t.Context(), of, with, spec, nil)
	expected := int64(0)
	for k := int64(0); k < rows/2; k += 2 {
		if values[k] >= 100 {
			expected += values[k]
		}
	}
	return plan, expected, err
}

func TestCollectorWhileProbing(t *testing.T) {
	collectAlways(t)
	c := newContext(t, nil)
	batch := numbers(t, []string{"k"}, upTo(5000, 1))
	var all sync.WaitGroup
	operation := func() *gpujoin.Operation { // the build is held by its operation alone
		build, err := c.NewBuild(batch.Schema(), []string{"k"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := build.Append(t.Context(), numbers(t, []string{"k"}, upTo(5000, 1)), 0); err != nil {
			t.Fatal(err)
		}
		if err := build.Finish(t.Context()); err != nil {
			t.Fatal(err)
		}
		made, err := build.NewOperation(batch.Schema(),
			&gpujoin.JoinSpec{Kind: gpujoin.LeftSemi, Left: []string{"k"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}()
	for range 8 {
		all.Go(func() {
			for range 10 {
				rows := int64(0)
				err := probeAll(t.Context(), operation, []arrow.RecordBatch{
					numbers(t, []string{"k"}, upTo(1000, 10))}, 0,
					func(result *gpujoin.Result) error { rows += result.NumRows(); return nil })
				if err != nil || rows != 500 {
					t.Errorf("%d rows, %v", rows, err)
				}
			}
		})
	}
	all.Wait()
}

// Closing is for any goroutine at any time: a call that runs goes on, a later one is refused.
func TestCloseWhileInUse(t *testing.T) {
	for range 50 {
		c, err := gpujoin.NewContext(nil)
		if err != nil {
			t.Fatal(err)
		}
		left, right, spec := shortJoin(t, c)
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() {
				for range 20 {
					result, err := c.Join(t.Context(), left, right, spec, nil)
					if err != nil {
						return
					}
					if rows := result.NumRows(); rows != 1000 {
						t.Errorf("%d rows", rows)
					}
					result.Close()
				}
			})
			all.Go(func() {
				time.Sleep(time.Duration(i) * 100 * time.Microsecond)
				[]func(){left.Close, right.Close, c.Close, left.Close}[i]()
			})
		}
		all.Wait()
	}
}

// What nobody closed is closed when the collector has found it.
func TestCollectorCloses(t *testing.T) {
	c := newContext(t, &gpujoin.ContextOptions{Device: gpujoin.DeviceCPU})
	batch := numbers(t, []string{"k"}, upTo(100_000, 1))
	relation := relationOf(t, c, batch)
	for range 10 {
		if _, err := c.Join(t.Context(), relation, relation, all(gpujoin.Inner, "k"), nil); err != nil {
			t.Fatal(err)
		}
	}
	used := func() uint64 {
		info, err := c.Info()
		if err != nil {
			t.Fatal(err)
		}
		return info.MemoryUsed
	}
	for range 100 {
		runtime.GC()
		if err := c.Trim(); err != nil {
			t.Fatal(err)
		}
		if used() < 1<<20 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d bytes are held", used())
}
