package gpujoin_test

import (
	"errors"
	"slices"
	"testing"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/cdata"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/memory/mallocator"
	gpujoin "github.com/gpujoin/gpujoin/bindings/go"
)

func all(kind gpujoin.Kind, column string) *gpujoin.JoinSpec {
	return &gpujoin.JoinSpec{Kind: kind, Keys: gpujoin.On(column), Left: []string{column},
		Order: gpujoin.OrderLeft}
}

func TestSlicesAndTables(t *testing.T) {
	c := newContext(t, nil)
	batch := batchOf(t, `[{"t":"a"},{"t":null},{"t":"b"},{"t":"c"}]`,
		field("t", arrow.BinaryTypes.String))
	middle := batch.NewSlice(1, 3)
	defer middle.Release()
	result, err := c.Join(t.Context(), relationOf(t, c, middle), relationOf(t, c, batch),
		all(gpujoin.Inner, "t"), nil)
	if err != nil {
		t.Fatal(err)
	}
	expectRows(t, sortedRows(t, result), "b")
	for _, each := range []struct {
		batches  []arrow.RecordBatch
		expected int64 // rows that are b
	}{{nil, 0}, {[]arrow.RecordBatch{batch}, 1}, {[]arrow.RecordBatch{middle, batch, middle}, 3}} {
		table := array.NewTableFromRecords(batch.Schema(), each.batches)
		defer table.Release()
		relation, err := c.NewRelationOfTable(table)
		if err != nil {
			t.Fatal(err)
		}
		if relation.NumRows() != table.NumRows() {
			t.Errorf("%d rows of %d", relation.NumRows(), table.NumRows())
		}
		result, err := c.Join(t.Context(), relation, relationOf(t, c, middle),
			all(gpujoin.LeftSemi, "t"), nil)
		if err != nil {
			t.Fatal(err)
		}
		if result.NumRows() != each.expected {
			t.Errorf("%d rows match, expected are %d", result.NumRows(), each.expected)
		}
		relation.Close()
	}
}

func TestSelections(t *testing.T) {
	c := newContext(t, nil)
	batch := numbers(t, []string{"k"}, upTo(10, 1))
	defer batch.Release()
	relation := relationOf(t, c, batch)
	rows := []int64{8, 3, 3}
	picked, err := relation.SelectRows(t.Context(), rows)
	if err != nil {
		t.Fatal(err)
	}
	defer picked.Close()
	rows[0] = 99 // they were copied
	plan, err := c.NewPlan(t.Context(), picked, relation,
		&gpujoin.JoinSpec{Kind: gpujoin.Inner, Keys: gpujoin.On("k"), Pairs: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	picked.Close() // the plan keeps the numbers
	result, err := plan.Execute(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	left, _, err := result.Pairs()
	slices.Sort(left)
	if err != nil || !slices.Equal(left, []int64{3, 3, 8}) {
		t.Errorf("row numbers are %v, %v", left, err)
	}
	bits, err := relation.SelectBits(t.Context(), []byte{0b101, 0b10})
	if err != nil || bits.NumRows() != 3 {
		t.Errorf("bits pick %d rows, %v", bits.NumRows(), err)
	}
	of, err := bits.SelectRows(t.Context(), []int64{2})
	if err != nil {
		t.Fatal(err)
	}
	result, err = c.Join(t.Context(), of, relation, all(gpujoin.Inner, "k"), nil)
	if err != nil {
		t.Fatal(err)
	}
	expectRows(t, sortedRows(t, result), "9")
	_, err = relation.SelectRows(t.Context(), []int64{10})
	if !errors.Is(err, gpujoin.StatusInvalidArgument) {
		t.Errorf("the error is %v", err)
	}
	_, err = relation.SelectBits(t.Context(), []byte{1})
	if !errors.Is(err, gpujoin.StatusInvalidArgument) {
		t.Errorf("the error is %v", err)
	}
	if none, err := relation.SelectRows(t.Context(), nil); err != nil || none.NumRows() != 0 {
		t.Errorf("no rows are %v", err)
	}
}

func TestUnreadableBatches(t *testing.T) {
	c := newContext(t, nil)
	if _, err := c.NewRelation(nil); !errors.Is(err, gpujoin.StatusInvalidArgument) {
		t.Errorf("the error is %v", err)
	}
	if _, err := c.NewRelationOfTable(nil); !errors.Is(err, gpujoin.StatusInvalidArgument) {
		t.Errorf("the error is %v", err)
	}
	if _, err := c.NewRelationOfDevice(nil, nil); !errors.Is(err, gpujoin.StatusInvalidArgument) {
		t.Errorf("the error is %v", err)
	}
}

// What the library was given is released once, by the last that needs it.
func TestBatchesAreReleased(t *testing.T) {
	checked := memory.NewCheckedAllocator(mallocator.NewMallocator())
	c := newContext(t, nil)
	builder := array.NewRecordBuilder(checked, arrow.NewSchema([]arrow.Field{
		field("k", arrow.PrimitiveTypes.Int64), field("t", arrow.BinaryTypes.String),
		field("v", arrow.BinaryTypes.StringView), field("l", arrow.ListOf(arrow.PrimitiveTypes.Int8)),
		field("d", &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8,
			ValueType: arrow.BinaryTypes.String})}, nil))
	const text = "a text that is longer than a view"
	for i := range 100 {
		builder.Field(0).(*array.Int64Builder).Append(int64(i))
		builder.Field(1).(*array.StringBuilder).Append("text")
		builder.Field(2).(*array.StringViewBuilder).Append(text)
		builder.Field(3).(*array.ListBuilder).AppendNull()
		if err := builder.Field(4).(*array.BinaryDictionaryBuilder).AppendString("word"); err != nil {
			t.Fatal(err)
		}
	}
	batch := builder.NewRecordBatch()
	builder.Release()
	relation, err := c.NewRelation(batch)
	if err != nil {
		t.Fatal(err)
	}
	batch.Release()
	spec := all(gpujoin.Inner, "k")
	spec.Right = []string{"t", "v", "d"}
	plan, err := c.NewPlan(t.Context(), relation, relation, spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	relation.Close()
	result, err := plan.Execute(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	plan.Close()
	record, err := result.Record()
	if err != nil {
		t.Fatal(err)
	}
	result.Close()
	c.Close()
	if found := record.Column(2).(*array.StringView).Value(7); found != text {
		t.Errorf("a view is %q", found)
	}
	record.Release()
	checked.AssertSize(t, 0)
}

// Arrow's device interface, of host memory, in and out.
func TestDeviceArrays(t *testing.T) {
	c := newContext(t, &gpujoin.ContextOptions{Device: gpujoin.DeviceCPU})
	batch := batchOf(t, `[{"k":1,"d":"x"},{"k":2,"d":null}]`, field("k", arrow.PrimitiveTypes.Int64),
		field("d", &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32,
			ValueType: arrow.BinaryTypes.String}))
	result, err := c.Join(t.Context(), relationOf(t, c, batch), relationOf(t, c, batch),
		&gpujoin.JoinSpec{Kind: gpujoin.Inner, Keys: gpujoin.On("k"), Left: []string{"k", "d"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	allocator := mallocator.NewMallocator()
	var schema *cdata.CArrowSchema
	var device *cdata.CArrowDeviceArray
	first := allocator.Allocate(int(unsafe.Sizeof(*schema)))
	defer allocator.Free(first)
	second := allocator.Allocate(int(unsafe.Sizeof(*device)))
	defer allocator.Free(second)
	schema = (*cdata.CArrowSchema)(unsafe.Pointer(&first[0]))
	device = (*cdata.CArrowDeviceArray)(unsafe.Pointer(&second[0]))
	if err := result.ExportDevice(schema, device); err != nil {
		t.Fatal(err)
	}
	relation, err := c.NewRelationOfDevice(schema, device)
	if err != nil {
		t.Fatal(err)
	}
	defer relation.Close()
	if !relation.Schema().Equal(batch.Schema()) {
		t.Errorf("the schema is %v", relation.Schema())
	}
	again, err := c.Join(t.Context(), relation, relationOf(t, c, batch), all(gpujoin.LeftSemi, "d"),
		nil)
	if err != nil {
		t.Fatal(err)
	}
	if again.NumRows() != 1 {
		t.Errorf("%d rows match", again.NumRows())
	}
}
