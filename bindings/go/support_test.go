package gpujoin_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	gpujoin "github.com/gpujoin/gpujoin/bindings/go"
)

func newContext(t testing.TB, options *gpujoin.ContextOptions) *gpujoin.Context {
	t.Helper()
	made, err := gpujoin.NewContext(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(made.Close)
	return made
}

// batchOf is a record batch of a JSON array of objects.
func batchOf(t testing.TB, rows string, fields ...arrow.Field) arrow.RecordBatch {
	t.Helper()
	schema := arrow.NewSchema(fields, nil)
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(rows))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(batch.Release)
	return batch
}

func field(name string, of arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: of, Nullable: true}
}

// numbers is a batch of columns of int64.
func numbers(t testing.TB, names []string, columns ...[]int64) arrow.RecordBatch {
	t.Helper()
	fields := make([]arrow.Field, len(names))
	arrays := make([]arrow.Array, len(names))
	for i, name := range names {
		fields[i] = field(name, arrow.PrimitiveTypes.Int64)
		builder := array.NewInt64Builder(memory.DefaultAllocator)
		builder.AppendValues(columns[i], nil)
		arrays[i] = builder.NewArray()
		builder.Release()
	}
	rows := int64(len(columns[0]))
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), arrays, rows)
}

// upTo is 0, 1, ... count - 1, each times a factor.
func upTo(count, factor int64) []int64 {
	values := make([]int64, count)
	for i := range values {
		values[i] = int64(i) * factor
	}
	return values
}

func relationOf(t testing.TB, c *gpujoin.Context, batch arrow.RecordBatch) *gpujoin.Relation {
	t.Helper()
	relation, err := c.NewRelation(batch)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(relation.Close)
	return relation
}

// rowsOf are the rows of a batch as text, in order.
func rowsOf(batch arrow.RecordBatch) []string {
	rows := make([]string, batch.NumRows())
	for i := range rows {
		words := make([]string, batch.NumCols())
		for j, column := range batch.Columns() {
			words[j] = column.ValueStr(i)
		}
		rows[i] = strings.Join(words, " ")
	}
	return rows
}

// sortedRows are the rows of a result as text, sorted.
func sortedRows(t testing.TB, result *gpujoin.Result) []string {
	t.Helper()
	batch, err := result.Record()
	if err != nil {
		t.Fatal(err)
	}
	defer batch.Release()
	rows := rowsOf(batch)
	slices.Sort(rows)
	return rows
}

func expectRows(t testing.TB, found []string, expected ...string) {
	t.Helper()
	if !slices.Equal(found, expected) {
		t.Errorf("rows are %q\nexpected are %q", found, expected)
	}
}
