package gpujoin_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	gpujoin "github.com/gpujoin/gpujoin/bindings/go"
)

// longJoin would take minutes: each pair of rows is evaluated, and none matches.
func longJoin(t testing.TB, c *gpujoin.Context) (left, right *gpujoin.Relation,
	spec *gpujoin.JoinSpec) {
	batch := numbers(t, []string{"a"}, upTo(1<<18, 1))
	t.Cleanup(batch.Release)
	sum := gpujoin.Op(gpujoin.OpAdd, gpujoin.LeftColumn("a"), gpujoin.RightColumn("a"))
	return relationOf(t, c, batch), relationOf(t, c, batch), &gpujoin.JoinSpec{
		Kind:  gpujoin.LeftSemi,
		Where: gpujoin.Op(gpujoin.OpEqual, sum, gpujoin.Value(int64(-1))),
		Left:  []string{"a"},
	}
}

func shortJoin(t testing.TB, c *gpujoin.Context) (left, right *gpujoin.Relation,
	spec *gpujoin.JoinSpec) {
	batch := numbers(t, []string{"a"}, upTo(1000, 1))
	t.Cleanup(batch.Release)
	return relationOf(t, c, batch), relationOf(t, c, batch),
		&gpujoin.JoinSpec{Kind: gpujoin.Inner, Keys: gpujoin.On("a"), Left: []string{"a"}}
}

func planOf(t *testing.T, c *gpujoin.Context,
	join func(testing.TB, *gpujoin.Context) (*gpujoin.Relation, *gpujoin.Relation,
		*gpujoin.JoinSpec)) *gpujoin.Plan {
	t.Helper()
	left, right, spec := join(t, c)
	plan, err := c.NewPlan(t.Context(), left, right, spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plan.Close)
	return plan
}

// expectEnd: the error says of the library and of the context why.
func expectEnd(t *testing.T, err error, began time.Time, status gpujoin.Status, of error) {
	t.Helper()
	if !errors.Is(err, status) || !errors.Is(err, of) {
		t.Errorf("the error is %v", err)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("the end came after %v", took)
	}
}

func TestCancelOfAJoin(t *testing.T) {
	c := newContext(t, nil)
	left, right, spec := longJoin(t, c)
	ctx, cancel := context.WithCancel(t.Context())
	began := time.Now()
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err := c.Join(ctx, left, right, spec, nil)
	expectEnd(t, err, began, gpujoin.StatusCancelled, context.Canceled)
	// It is spent: the context, and both relations, go on.
	left, right, spec = shortJoin(t, c)
	if _, err := c.Join(t.Context(), left, right, spec, nil); err != nil {
		t.Error(err)
	}
}

func TestCauseOfACancel(t *testing.T) {
	c := newContext(t, nil)
	left, right, spec := longJoin(t, c)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the client went away")
	time.AfterFunc(50*time.Millisecond, func() { cancel(why) })
	_, err := c.Join(ctx, left, right, spec, nil)
	if !errors.Is(err, why) || !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

func TestDeadlineOfAJoin(t *testing.T) {
	c := newContext(t, nil)
	left, right, spec := longJoin(t, c)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err := c.Join(ctx, left, right, spec, nil)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error is %v", err)
	}
	if !errors.Is(err, gpujoin.StatusDeadline) && !errors.Is(err, gpujoin.StatusCancelled) {
		t.Errorf("the error is %v", err)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("the end came after %v", took)
	}
}

func TestTimeoutOfTheOptions(t *testing.T) {
	c := newContext(t, nil)
	left, right, spec := longJoin(t, c)
	options := &gpujoin.PlanOptions{Timeout: 20 * time.Millisecond}
	_, err := c.Join(t.Context(), left, right, spec, options)
	if !errors.Is(err, gpujoin.StatusDeadline) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error is %v", err)
	}
}

func TestACallDoesNotBeginAfterTheEnd(t *testing.T) {
	c := newContext(t, nil)
	left, right, spec := shortJoin(t, c)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	began := time.Now()
	_, err := c.Join(ctx, left, right, spec, nil)
	expectEnd(t, err, began, gpujoin.StatusCancelled, context.Canceled)
	late, cancel := context.WithTimeout(t.Context(), -1)
	defer cancel()
	_, err = c.Join(late, left, right, spec, nil)
	expectEnd(t, err, began, gpujoin.StatusDeadline, context.DeadlineExceeded)
	var none context.Context
	_, err = c.Join(none, left, right, spec, nil)
	if !errors.Is(err, gpujoin.StatusInvalidArgument) {
		t.Errorf("the error is %v", err)
	}
}

// The end of one call's context ends no other call on the same context, nor of the same plan.
func TestCancelEndsOneCall(t *testing.T) {
	c := newContext(t, nil)
	plan := planOf(t, c, longJoin)
	first, cancelFirst := context.WithCancel(t.Context())
	second, cancelSecond := context.WithCancel(t.Context())
	ends := make(chan error, 2)
	go func() { _, err := plan.Execute(first); ends <- err }()
	go func() { _, err := plan.Execute(second); ends <- err }()
	time.Sleep(50 * time.Millisecond)
	cancelFirst()
	if err := <-ends; !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	select {
	case err := <-ends:
		t.Errorf("the other call ended as well, with %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	cancelSecond()
	if err := <-ends; !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

// contextThatSays calls what is in running, once, when a join of it runs.
func contextThatSays(t *testing.T, running *atomic.Pointer[func()]) *gpujoin.Context {
	t.Helper()
	return newContext(t, &gpujoin.ContextOptions{Progress: func(string, int64, int64) bool {
		if call := running.Swap(nil); call != nil {
			(*call)()
		}
		return true
	}})
}

func TestCancelOfAPlanAndOfAContext(t *testing.T) {
	var running atomic.Pointer[func()]
	c := contextThatSays(t, &running)
	plan := planOf(t, c, longJoin)
	for _, cancel := range []func() error{plan.Cancel, c.Cancel} {
		later := func() {
			time.AfterFunc(50*time.Millisecond, func() {
				if err := cancel(); err != nil {
					t.Error(err)
				}
			})
		}
		running.Store(&later)
		_, err := plan.Execute(t.Context())
		if !errors.Is(err, gpujoin.StatusCancelled) || errors.Is(err, context.Canceled) {
			t.Errorf("the error is %v", err)
		}
	}
}

// Contexts that end at any time: a call is a success or ended by its context, and what comes after
// it is not.
func TestCancelAtAnyTime(t *testing.T) {
	c := newContext(t, nil)
	plan := planOf(t, c, shortJoin)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 200 {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Duration(i)*time.Microsecond, cancel)
				result, err := plan.Execute(ctx)
				if err == nil {
					result.Close()
				} else if !errors.Is(err, context.Canceled) {
					t.Errorf("the error is %v", err)
				}
				cancel()
				if result, err = plan.Execute(t.Context()); err != nil {
					t.Errorf("the error is %v", err)
				} else {
					result.Close()
				}
			}
		})
	}
	all.Wait()
}

func TestCancelOfABuild(t *testing.T) {
	c := newContext(t, nil)
	batch := numbers(t, []string{"a"}, upTo(100, 1))
	defer batch.Release()
	build, err := c.NewBuild(batch.Schema(), []string{"a"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer build.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := build.Append(ctx, batch, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	// That call had not begun; the build is as it was.
	if err := build.Append(t.Context(), batch, 0); err != nil {
		t.Error(err)
	}
	if err := build.Cancel(); err != nil {
		t.Error(err)
	}
	err = build.Append(t.Context(), batch, 0)
	if !errors.Is(err, gpujoin.StatusCancelled) || errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	finished := builtOf(t, c, batch, "a")
	if err := finished.Cancel(); err != nil {
		t.Error(err)
	}
	if _, err := finished.Filter(t.Context(), nil); !errors.Is(err, gpujoin.StatusCancelled) {
		t.Errorf("the error is %v", err)
	}
	operation, err := finished.NewOperation(batch.Schema(),
		&gpujoin.JoinSpec{Kind: gpujoin.Inner, Left: []string{"a"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer operation.Close()
	rows := 0
	err = probeAll(t.Context(), operation, []arrow.RecordBatch{batch}, 0,
		func(result *gpujoin.Result) error { rows += int(result.NumRows()); return nil })
	if err != nil || rows != 100 {
		t.Errorf("%d rows, %v", rows, err)
	}
}

func TestCancelOfACalibration(t *testing.T) {
	c := newContext(t, &gpujoin.ContextOptions{Device: gpujoin.DeviceCPU})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err := c.Calibrate(ctx, t.TempDir()+"/figures")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error is %v", err)
	}
}

func TestCancelOfAProbe(t *testing.T) {
	var running atomic.Pointer[func()]
	c := contextThatSays(t, &running)
	batch := numbers(t, []string{"a"}, upTo(1<<18, 1))
	defer batch.Release()
	build := builtOf(t, c, batch)
	_, _, spec := longJoin(t, c)
	operation, err := build.NewOperation(batch.Schema(), spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer operation.Close()
	probe := probeOf(t, operation, batch)
	ctx, cancel := context.WithCancel(t.Context())
	began := time.Now()
	later := func() { time.AfterFunc(50*time.Millisecond, cancel) }
	running.Store(&later)
	_, _, err = probe.Next(ctx)
	expectEnd(t, err, began, gpujoin.StatusCancelled, context.Canceled)
	if _, err := operation.NewProbe(); err == nil {
		_, _, err = operation.Next(t.Context())
		if !errors.Is(err, gpujoin.StatusCancelled) {
			t.Errorf("the error is %v", err)
		}
	}
	// The build goes on.
	again, err := build.NewOperation(batch.Schema(),
		&gpujoin.JoinSpec{Kind: gpujoin.LeftAnti, Where: gpujoin.Value(true), Left: []string{"a"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

func TestProgress(t *testing.T) {
	type step struct {
		stage       string
		done, total int64
	}
	var steps []step
	answer := true
	c := newContext(t, &gpujoin.ContextOptions{Progress: func(stage string, done, total int64) bool {
		steps = append(steps, step{stage, done, total})
		return answer
	}})
	left, right, spec := shortJoin(t, c)
	if _, err := c.Join(t.Context(), left, right, spec, nil); err != nil {
		t.Fatal(err)
	}
	if len(steps) == 0 {
		t.Error("progress was not called")
	}
	for _, each := range steps {
		if each.stage == "" || each.done < 0 || each.done > each.total {
			t.Errorf("a step is %v", each)
		}
	}
	answer = false
	_, err := c.Join(t.Context(), left, right, spec, nil)
	if !errors.Is(err, gpujoin.StatusCancelled) {
		t.Errorf("the error is %v", err)
	}
}

// What a function of the caller's panics with comes out of the call that ran it.
func TestPanicOfAFunction(t *testing.T) {
	isBad := false
	check := func() {
		if isBad {
			panic("bad function")
		}
	}
	for name, options := range map[string]*gpujoin.ContextOptions{
		"progress": {Progress: func(string, int64, int64) bool { check(); return true }},
		"log":      {Log: func(gpujoin.LogLevel, string) { check() }},
	} {
		c := newContext(t, options)
		left, right, spec := shortJoin(t, c)
		join := func() (value any) {
			defer func() {
				if panicked := recover(); panicked != nil {
					value = panicked
				}
			}()
			_, err := c.Join(t.Context(), left, right, spec, nil)
			return err
		}
		isBad = true
		if value := join(); value != "bad function" {
			t.Errorf("%s: the join ended with %v", name, value)
		}
		isBad = false
		if value := join(); value != nil {
			t.Errorf("%s: the join ended with %v", name, value)
		}
	}
}

func TestLog(t *testing.T) {
	var lines []string
	c := newContext(t, &gpujoin.ContextOptions{Log: func(level gpujoin.LogLevel, message string) {
		if level < gpujoin.LogDebug || level > gpujoin.LogWarning {
			t.Errorf("a level is %d", level)
		}
		lines = append(lines, message)
	}})
	left, right, spec := shortJoin(t, c)
	if _, err := c.Join(t.Context(), left, right, spec, nil); err != nil {
		t.Fatal(err)
	}
	if len(lines) == 0 {
		t.Error("nothing was logged")
	}
}
