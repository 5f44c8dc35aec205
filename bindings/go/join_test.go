package gpujoin_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	gpujoin "github.com/gpujoin/gpujoin/bindings/go"
)

func TestVersionAndInfo(t *testing.T) {
	if !strings.HasPrefix(gpujoin.Version(), "0.") {
		t.Errorf("the version is %q", gpujoin.Version())
	}
	c := newContext(t, &gpujoin.ContextOptions{Device: gpujoin.DeviceCPU, Threads: 1,
		MemoryLimit: 1 << 30})
	info, err := c.Info()
	if err != nil || info.Device != gpujoin.DeviceCPU || info.Threads != 1 ||
		info.MemoryLimit != 1<<30 || info.Reason == "" {
		t.Errorf("the context is %+v, %v", info, err)
	}
	if err := c.Trim(); err != nil {
		t.Error(err)
	}
}

func TestNoDevice(t *testing.T) {
	_, err := gpujoin.NewContext(&gpujoin.ContextOptions{Device: gpujoin.DeviceCUDA, CUDADevice: 99})
	if err == nil {
		t.Error("there is no such device")
	}
	for _, options := range []*gpujoin.ContextOptions{
		{Device: 77}, {Threads: -1}, {CUDADevice: 1 << 40}, {SpillPath: "no/such/folder"},
		{CalibrationPath: "no/such/file"}} {
		if _, err := gpujoin.NewContext(options); !errors.Is(err, gpujoin.StatusInvalidArgument) {
			t.Errorf("the error of %+v is %v", options, err)
		}
	}
}

func TestPages(t *testing.T) {
	c := newContext(t, nil)
	batch := numbers(t, []string{"k"}, upTo(1000, 1))
	defer batch.Release()
	relation := relationOf(t, c, batch)
	result, err := c.Join(t.Context(), relation, relation, &gpujoin.JoinSpec{Kind: gpujoin.Inner,
		Keys: gpujoin.On("k"), Left: []string{"k"}, Pairs: true, Order: gpujoin.OrderLeft}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var sizes []int64
	next := int64(0)
	for page, err := range result.Pages(300) {
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, page.NumRows())
		for i := range int(page.NumRows()) {
			if value := page.Column(2).(*array.Int64).Value(i); value != next {
				t.Fatalf("row %d has %d", next, value)
			}
			next++
		}
		page.Release()
	}
	if !slices.Equal(sizes, []int64{300, 300, 300, 100}) {
		t.Errorf("pages have %v rows", sizes)
	}
	left, right, err := result.Pairs()
	if err != nil || !slices.Equal(left, upTo(1000, 1)) || !slices.Equal(left, right) {
		t.Errorf("pairs are wrong, %v", err)
	}
	some := make([]uint32, 400)
	count, err := gpujoin.FetchPairs(result, 700, nil, some)
	if err != nil || count != 300 || some[0] != 700 || some[299] != 999 || some[300] != 0 {
		t.Errorf("%d row numbers from %d on, %v", count, some[0], err)
	}
	if _, err := gpujoin.FetchPairs(result, 0, some, some[1:]); err == nil {
		t.Error("slices of different lengths")
	}
	for _, err := range result.Pages(0) {
		if !errors.Is(err, gpujoin.StatusInvalidArgument) {
			t.Errorf("the error is %v", err)
		}
	}
	statistics, err := result.Statistics()
	if err != nil || statistics.OutputRows != 1000 || statistics.Plan == "" ||
		len(statistics.Stages) == 0 || statistics.Stages[0].Name == "" {
		t.Errorf("the statistics are %+v, %v", statistics, err)
	}
	result.Close()
	if _, err := result.Record(); !errors.Is(err, gpujoin.StatusInvalidArgument) {
		t.Errorf("the error is %v", err)
	}
}

func TestNoRow(t *testing.T) {
	c := newContext(t, nil)
	one, other := numbers(t, []string{"k"}, []int64{1}), numbers(t, []string{"k"}, []int64{2})
	defer one.Release()
	defer other.Release()
	result, err := c.Join(t.Context(), relationOf(t, c, one), relationOf(t, c, other),
		&gpujoin.JoinSpec{Kind: gpujoin.Full, Keys: gpujoin.On("k"), Pairs: true,
			Order: gpujoin.OrderLeft}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer result.Close()
	left, right, err := result.Pairs()
	if err != nil || !slices.Equal(left, []int64{0, gpujoin.NoRow64}) ||
		!slices.Equal(right, []int64{gpujoin.NoRow64, 0}) {
		t.Errorf("pairs are %v %v, %v", left, right, err)
	}
	numbers := make([]uint32, 2)
	if _, err := gpujoin.FetchPairs(result, 0, numbers, nil); err != nil ||
		numbers[1] != gpujoin.NoRow32 {
		t.Errorf("row numbers are %v, %v", numbers, err)
	}
	semi, err := c.Join(t.Context(), relationOf(t, c, one), relationOf(t, c, one),
		&gpujoin.JoinSpec{Kind: gpujoin.LeftSemi, Keys: gpujoin.On("k"), Pairs: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer semi.Close()
	left, right, err = semi.Pairs()
	if err != nil || len(left) != 1 || right != nil {
		t.Errorf("pairs are %v %v, %v", left, right, err)
	}
}

func TestLimitsAndPromises(t *testing.T) {
	c := newContext(t, nil)
	batch := numbers(t, []string{"k"}, []int64{1, 1, 2})
	defer batch.Release()
	relation := relationOf(t, c, batch)
	for status, change := range map[gpujoin.Status]func(*gpujoin.JoinSpec){
		gpujoin.StatusRowLimit:      func(s *gpujoin.JoinSpec) { s.RowLimit = 4 },
		gpujoin.StatusByteLimit:     func(s *gpujoin.JoinSpec) { s.ByteLimit = 8 },
		gpujoin.StatusBrokenPromise: func(s *gpujoin.JoinSpec) { s.Promises = gpujoin.PromiseLeftUnique },
	} {
		spec := &gpujoin.JoinSpec{Kind: gpujoin.Inner, Keys: gpujoin.On("k"), Left: []string{"k"}}
		change(spec)
		_, err := c.Join(t.Context(), relation, relation, spec, nil)
		if !errors.Is(err, status) {
			t.Errorf("the error is %v, expected is %v", err, status)
		}
	}
	spec := &gpujoin.JoinSpec{Kind: gpujoin.Inner, Keys: gpujoin.On("k"), Left: []string{"k"},
		Promises: gpujoin.PromiseRows | gpujoin.PromiseLeftSorted, PromisedRows: 5, RowLimit: 5}
	result, err := c.Join(t.Context(), relation, relation, spec, nil)
	if err != nil || result.NumRows() != 5 {
		t.Errorf("the join has an error: %v", err)
	}
}

func TestMemoryLimit(t *testing.T) {
	c := newContext(t, &gpujoin.ContextOptions{Device: gpujoin.DeviceCPU, MemoryLimit: 1 << 16})
	batch := numbers(t, []string{"k"}, upTo(100_000, 1))
	defer batch.Release()
	relation := relationOf(t, c, batch)
	_, err := c.Join(t.Context(), relation, relation,
		&gpujoin.JoinSpec{Kind: gpujoin.Inner, Keys: gpujoin.On("k"), Left: []string{"k"}}, nil)
	if !errors.Is(err, gpujoin.StatusMemoryLimit) {
		t.Errorf("the error is %v", err)
	}
}

func TestDecide(t *testing.T) {
	c := newContext(t, nil)
	left := numbers(t, []string{"k", "a"}, []int64{1, 1, 2}, []int64{10, 11, 12})
	defer left.Release()
	relation := relationOf(t, c, left)
	candidates, err := c.Join(t.Context(), relation, relation, &gpujoin.JoinSpec{Kind: gpujoin.Left,
		Keys: gpujoin.On("k"), Where: gpujoin.CallerDecides(), Left: []string{"a"},
		Right: []string{"a"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer candidates.Close()
	ofLeft, ofRight, err := candidates.Pairs()
	if err != nil {
		t.Fatal(err)
	}
	builder := array.NewBooleanBuilder(memory.DefaultAllocator)
	for i := range ofLeft { // a pair matches where its rows differ
		builder.Append(ofLeft[i] != ofRight[i])
	}
	answers := builder.NewBooleanArray()
	relation.Close() // the candidates keep what they need of it
	result, err := candidates.Decide(t.Context(), answers)
	if err != nil {
		t.Fatal(err)
	}
	defer result.Close()
	expectRows(t, sortedRows(t, result), "10 11", "11 10", "12 (null)")
	few := array.NewSlice(answers, 0, 1).(*array.Boolean)
	if _, err := candidates.Decide(t.Context(), few); !errors.Is(err, gpujoin.StatusInvalidArgument) {
		t.Errorf("the error is %v", err)
	}
	if _, err := result.Decide(t.Context(), answers); !errors.Is(err, gpujoin.StatusInvalidArgument) {
		t.Errorf("the error is %v", err)
	}
}

func TestPlan(t *testing.T) {
	c := newContext(t, nil)
	batch := numbers(t, []string{"k", "v"}, upTo(100, 1), upTo(100, 2))
	defer batch.Release()
	relation, err := c.NewRelation(batch)
	if err != nil {
		t.Fatal(err)
	}
	spec := &gpujoin.JoinSpec{Kind: gpujoin.Inner, Keys: gpujoin.On("k"), Left: []string{"v"}}
	plan, err := c.NewPlan(t.Context(), relation, relation, spec,
		&gpujoin.PlanOptions{Algorithm: gpujoin.AlgorithmCPURadix, Device: gpujoin.DeviceCPU,
			BuildSide: gpujoin.LeftSide, RadixBits: 4})
	if err != nil {
		t.Fatal(err)
	}
	relation.Close() // the plan keeps what it needs of it
	text, err := plan.Explain()
	if err != nil || !strings.Contains(text, "cpu") {
		t.Errorf("the explanation is %q, %v", text, err)
	}
	rows, bytes, err := plan.Count(t.Context())
	if err != nil || rows != 100 || bytes < 800 {
		t.Errorf("it counts %d rows and %d bytes, %v", rows, bytes, err)
	}
	for range 3 {
		result, err := plan.Execute(t.Context())
		if err != nil || result.NumRows() != 100 {
			t.Errorf("the plan has an error: %v", err)
		}
		result.Close()
	}
	plan.Close()
	if _, err := plan.Execute(t.Context()); !errors.Is(err, gpujoin.StatusInvalidArgument) {
		t.Errorf("the error is %v", err)
	}
	again := relationOf(t, c, batch)
	_, err = c.NewPlan(t.Context(), again, again, spec,
		&gpujoin.PlanOptions{Device: gpujoin.DeviceCPU, Algorithm: gpujoin.AlgorithmSMJOM, Transfer: 2})
	if !errors.Is(err, gpujoin.StatusIllegalPlan) {
		t.Errorf("the error is %v", err)
	}
}

func TestEstimate(t *testing.T) {
	c := newContext(t, nil)
	left := arrow.NewSchema([]arrow.Field{field("k", arrow.PrimitiveTypes.Int64),
		field("t", arrow.BinaryTypes.String),
		field("when", arrow.FixedWidthTypes.Timestamp_us),
		field("d", &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int16,
			ValueType: arrow.BinaryTypes.String}),
		field("w", &arrow.FixedSizeBinaryType{ByteWidth: 20})}, nil)
	right := arrow.NewSchema([]arrow.Field{field("k", arrow.PrimitiveTypes.Int32)}, nil)
	spec := &gpujoin.JoinSpec{Kind: gpujoin.Inner, Keys: gpujoin.On("k"),
		Left: []string{"t", "when", "d", "w"}}
	price, err := c.Estimate(&gpujoin.ExpectedSide{Schema: left, Rows: 1e7, TextBytes: 30},
		&gpujoin.ExpectedSide{Schema: right, Rows: 1e6}, spec, -1)
	if err != nil || price.CPU <= 0 || price.CPUPlan == "" || price.OutputRows <= 0 {
		t.Errorf("the estimate is %+v, %v", price, err)
	}
	told, err := c.Estimate(&gpujoin.ExpectedSide{Schema: left, Rows: 1e7, TextBytes: 30},
		&gpujoin.ExpectedSide{Schema: right, Rows: 1e6}, spec, 123)
	if err != nil || told.OutputRows != 123 {
		t.Errorf("the estimate is %+v, %v", told, err)
	}
	nested := arrow.NewSchema([]arrow.Field{field("k", arrow.ListOf(arrow.PrimitiveTypes.Int8))}, nil)
	_, err = c.Estimate(&gpujoin.ExpectedSide{Schema: nested}, &gpujoin.ExpectedSide{Schema: right},
		spec, -1)
	if !errors.Is(err, gpujoin.StatusInvalidArgument) { // t is not there
		t.Errorf("the error is %v", err)
	}
	_, err = c.Estimate(&gpujoin.ExpectedSide{Schema: nested}, &gpujoin.ExpectedSide{Schema: right},
		&gpujoin.JoinSpec{Kind: gpujoin.Inner, Keys: gpujoin.On("k")}, -1)
	if !errors.Is(err, gpujoin.StatusType) {
		t.Errorf("the error is %v", err)
	}
}

func TestSequence(t *testing.T) {
	c := newContext(t, nil)
	sales := batchOf(t, `[{"order":1,"day":2,"amount":9.5},{"order":3,"day":2,"amount":1.0},
		{"order":3,"day":7,"amount":3.5},{"order":8,"day":1,"amount":7}]`,
		field("order", arrow.PrimitiveTypes.Int64), field("day", arrow.PrimitiveTypes.Int32),
		field("amount", arrow.PrimitiveTypes.Float64))
	orders := batchOf(t, `[{"order":1,"customer":"Ada"},{"order":3,"customer":"Cy"}]`,
		field("order", arrow.PrimitiveTypes.Int64), field("customer", arrow.BinaryTypes.String))
	days := batchOf(t, `[{"day":1,"name":"Monday"},{"day":2,"name":"Tuesday"}]`,
		field("day", arrow.PrimitiveTypes.Int32), field("name", arrow.BinaryTypes.String))
	spec := &gpujoin.SequenceSpec{
		Columns: []string{"amount"},
		Steps: []gpujoin.SequenceStep{
			{Dimension: relationOf(t, c, orders), Key: gpujoin.Key{Left: "order", Right: "order"},
				Columns: []string{"customer"}},
			{Dimension: relationOf(t, c, days), Key: gpujoin.Key{Left: "day", Right: "day"},
				Columns: []string{"name"}, Kind: gpujoin.Left},
		},
	}
	fact := relationOf(t, c, sales)
	for _, way := range []gpujoin.Materialize{gpujoin.MaterializeAutomatic,
		gpujoin.MaterializeAsTheyCome, gpujoin.MaterializeAtTheEnd} {
		spec.Materialize = way
		result, err := c.JoinSequence(t.Context(), fact, spec, nil)
		if err != nil {
			t.Fatal(err)
		}
		expectRows(t, sortedRows(t, result), "1 Cy Tuesday", "3.5 Cy (null)", "9.5 Ada Tuesday")
		result.Close()
	}
	spec.Steps[1].Columns = []string{"none"}
	_, err := c.JoinSequence(t.Context(), fact, spec, nil)
	if !errors.Is(err, gpujoin.StatusInvalidArgument) || !strings.Contains(err.Error(), "Steps[1]") {
		t.Errorf("the error is %v", err)
	}
}

func TestCalibrate(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	c := newContext(t, &gpujoin.ContextOptions{Device: gpujoin.DeviceCPU})
	path := t.TempDir() + "/figures"
	if err := c.Calibrate(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	newContext(t, &gpujoin.ContextOptions{Device: gpujoin.DeviceCPU, CalibrationPath: path})
	err := c.Calibrate(t.Context(), t.TempDir())
	if !errors.Is(err, gpujoin.StatusInvalidArgument) {
		t.Errorf("the error is %v", err)
	}
}

func TestExpressions(t *testing.T) {
	c := newContext(t, nil)
	batch := batchOf(t, `[{"i":1,"f":1.5,"t":"ab","b":true},{"i":2,"f":2.5,"t":"cd","b":false}]`,
		field("i", arrow.PrimitiveTypes.Int32), field("f", arrow.PrimitiveTypes.Float64),
		field("t", arrow.BinaryTypes.String), field("b", arrow.FixedWidthTypes.Boolean))
	relation := relationOf(t, c, batch)
	i, f, text := gpujoin.LeftColumn("i"), gpujoin.LeftColumn("f"), gpujoin.LeftColumn("t")
	for name, condition := range map[string]gpujoin.Expr{
		"int8":    gpujoin.Op(gpujoin.OpEqual, i, gpujoin.Value(int8(2))),
		"int16":   gpujoin.Op(gpujoin.OpEqual, i, gpujoin.Value(int16(2))),
		"int32":   gpujoin.Op(gpujoin.OpEqual, i, gpujoin.Value(int32(2))),
		"int64":   gpujoin.Op(gpujoin.OpEqual, i, gpujoin.Value(int64(2))),
		"uint8":   gpujoin.Op(gpujoin.OpEqual, i, gpujoin.Value(uint8(2))),
		"uint16":  gpujoin.Op(gpujoin.OpEqual, i, gpujoin.Value(uint16(2))),
		"uint32":  gpujoin.Op(gpujoin.OpEqual, i, gpujoin.Value(uint32(2))),
		"uint64":  gpujoin.Op(gpujoin.OpEqual, i, gpujoin.Value(uint64(2))),
		"float32": gpujoin.Op(gpujoin.OpGreater, f, gpujoin.Value(float32(2))),
		"float64": gpujoin.Op(gpujoin.OpGreater, f, gpujoin.Value(2.0)),
		"string":  gpujoin.Op(gpujoin.OpStartsWith, text, gpujoin.Value("c")),
		"bool":    gpujoin.Op(gpujoin.OpEqual, gpujoin.LeftColumn("b"), gpujoin.Value(false)),
		"not":     gpujoin.And(gpujoin.Not(gpujoin.LeftColumn("b")), gpujoin.Value(true)),
		"or": gpujoin.Or(gpujoin.Value(false),
			gpujoin.Op(gpujoin.OpGreater, f, gpujoin.Value(2.0))),
	} {
		result, err := c.Join(t.Context(), relation, relation,
			&gpujoin.JoinSpec{Kind: gpujoin.Inner, Keys: gpujoin.On("i"), Where: condition,
				Left: []string{"i"}}, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		expectRows(t, sortedRows(t, result), "2")
		result.Close()
	}
	for name, condition := range map[string]gpujoin.Expr{
		"no column":   gpujoin.LeftColumn("none"),
		"no argument": gpujoin.Op(gpujoin.OpNot),
		"empty":       gpujoin.Not(gpujoin.Expr{}),
		"no constant": gpujoin.Constant(nil),
		"no list":     gpujoin.In(i, nil),
		"inside":      gpujoin.And(gpujoin.Not(gpujoin.In(i, nil)), gpujoin.Value(true)),
	} {
		_, err := c.Join(t.Context(), relation, relation, &gpujoin.JoinSpec{Kind: gpujoin.Inner,
			Keys: gpujoin.On("i"), Where: condition, Left: []string{"i"}}, nil)
		if !errors.Is(err, gpujoin.StatusInvalidArgument) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	_, err := c.Join(t.Context(), relation, relation, &gpujoin.JoinSpec{Kind: gpujoin.Inner,
		Keys: gpujoin.On("i"), Left: []string{"i"},
		Where: gpujoin.Op(gpujoin.OpEqual, text, gpujoin.Value([]byte("x")))}, nil)
	if !errors.Is(err, gpujoin.StatusType) {
		t.Errorf("the error is %v", err)
	}
}

func TestFailuresOfJoins(t *testing.T) {
	c, other := newContext(t, nil), newContext(t, nil)
	batch := batchOf(t, `[{"k":1,"t":"a"}]`, field("k", arrow.PrimitiveTypes.Int64),
		field("t", arrow.BinaryTypes.String))
	twice := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{batch.Schema().Field(0),
		batch.Schema().Field(0)}, nil), []arrow.Array{batch.Column(0), batch.Column(0)}, 1)
	defer twice.Release()
	relation, foreign := relationOf(t, c, batch), relationOf(t, other, batch)
	good := gpujoin.JoinSpec{Kind: gpujoin.Inner, Keys: gpujoin.On("k"), Left: []string{"k"}}
	expect := func(err error, status gpujoin.Status, says string) {
		t.Helper()
		var of *gpujoin.Error
		if !errors.Is(err, status) || !errors.As(err, &of) || !strings.Contains(of.Message, says) {
			t.Errorf("the error is %v, expected is %v of %s", err, status, says)
		}
	}
	for says, each := range map[string]struct {
		left, right *gpujoin.Relation
		spec        *gpujoin.JoinSpec
	}{
		"left is":   {nil, relation, &good},
		"right is":  {relation, nil, &good},
		"spec":      {relation, relation, nil},
		"context":   {relation, foreign, &good},
		"2 columns": {relation, relationOf(t, c, twice), &good},
	} {
		_, err := c.Join(t.Context(), each.left, each.right, each.spec, nil)
		expect(err, gpujoin.StatusInvalidArgument, says)
	}
	sum := gpujoin.Aggregate{Function: gpujoin.Sum, Side: gpujoin.LeftSide, Column: "x"}
	for says, change := range map[string]func(*gpujoin.JoinSpec){
		"kind":          func(s *gpujoin.JoinSpec) { s.Kind = 0 },
		"key_count":     func(s *gpujoin.JoinSpec) { s.Keys = nil },
		"Keys[0]":       func(s *gpujoin.JoinSpec) { s.Keys = gpujoin.On("x") },
		"Left[1]":       func(s *gpujoin.JoinSpec) { s.Left = []string{"k", "x"} },
		"Asof.Right":    func(s *gpujoin.JoinSpec) { s.Asof = &gpujoin.Asof{Left: "k", Right: "x"} },
		"Aggregates[0]": func(s *gpujoin.JoinSpec) { s.Aggregates = []gpujoin.Aggregate{sum} },
		"row_limit":     func(s *gpujoin.JoinSpec) { s.RowLimit = -1 },
	} {
		spec := good
		change(&spec)
		_, err := c.Join(t.Context(), relation, relation, &spec, nil)
		expect(err, gpujoin.StatusInvalidArgument, says)
		_, err = c.NewPlan(t.Context(), relation, relation, &spec, nil)
		expect(err, gpujoin.StatusInvalidArgument, says)
	}
	for says, options := range map[string]*gpujoin.PlanOptions{
		"RadixBits": {RadixBits: math.MaxInt}, "Timeout": {Timeout: -1}, "device": {Device: 9}} {
		_, err := c.Join(t.Context(), relation, relation, &good, options)
		expect(err, gpujoin.StatusInvalidArgument, says)
	}
	types := good
	types.Keys = []gpujoin.Key{{Left: "k", Right: "t"}}
	_, err := c.Join(t.Context(), relation, relation, &types, nil)
	expect(err, gpujoin.StatusType, "")
	closed := relationOf(t, c, batch)
	closed.Close()
	closed.Close()
	_, err = c.Join(t.Context(), closed, relation, &good, nil)
	expect(err, gpujoin.StatusInvalidArgument, "closed")
	if closed.NumRows() != 0 {
		t.Error("a relation that is closed has rows")
	}
	other.Close()
	_, err = other.NewRelation(batch)
	expect(err, gpujoin.StatusInvalidArgument, "closed")
	if foreign.NumRows() != 1 {
		t.Error("a relation does not keep its context")
	}
	_, err = gpujoin.KindOf("outer")
	expect(err, gpujoin.StatusInvalidArgument, "outer")
}
