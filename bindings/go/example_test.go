package gpujoin_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	gpujoin "github.com/gpujoin/gpujoin/bindings/go"
)

var (
	orderFields = []arrow.Field{{Name: "order", Type: arrow.PrimitiveTypes.Int64},
		{Name: "customer", Type: arrow.BinaryTypes.String}}
	lineFields = []arrow.Field{{Name: "order", Type: arrow.PrimitiveTypes.Int64},
		{Name: "quantity", Type: arrow.PrimitiveTypes.Int32}}
)

const (
	orderRows = `[{"order":1,"customer":"Ada"},{"order":2,"customer":"Bob"},
		{"order":3,"customer":"Cy"}]`
	lineRows = `[{"order":1,"quantity":10},{"order":3,"quantity":20},{"order":3,"quantity":30},
		{"order":9,"quantity":40}]`
)

func recordOf(rows string, fields []arrow.Field) arrow.RecordBatch {
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, arrow.NewSchema(fields, nil),
		strings.NewReader(rows))
	if err != nil {
		log.Fatal(err)
	}
	return batch
}

// tables are relations of lines and of orders.
func tables(device *gpujoin.Context) (lines, orders *gpujoin.Relation) {
	var err error
	if lines, err = device.NewRelation(recordOf(lineRows, lineFields)); err != nil {
		log.Fatal(err)
	}
	if orders, err = device.NewRelation(recordOf(orderRows, orderFields)); err != nil {
		log.Fatal(err)
	}
	return lines, orders
}

func Example() {
	device, err := gpujoin.NewContext(nil) // a GPU where there is one, else the CPU
	if err != nil {
		log.Fatal(err)
	}
	defer device.Close()
	lines, orders := tables(device)
	defer lines.Close()
	defer orders.Close()

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	result, err := device.Join(ctx, lines, orders, &gpujoin.JoinSpec{
		Kind:  gpujoin.Inner,
		Keys:  gpujoin.On("order"),
		Left:  []string{"quantity"},
		Right: []string{"customer"},
		Order: gpujoin.OrderLeft,
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer result.Close()
	record, err := result.Record()
	if err != nil {
		log.Fatal(err)
	}
	defer record.Release()
	for i := range int(record.NumRows()) {
		fmt.Println(record.Column(0).ValueStr(i), record.Column(1).ValueStr(i))
	}
	// Output:
	// 10 Ada
	// 20 Cy
	// 30 Cy
}

func ExampleOp() {
	device, err := gpujoin.NewContext(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer device.Close()
	lines, orders := tables(device)

	// left.quantity > 10 and right.customer like 'C%'
	where := gpujoin.And(
		gpujoin.Op(gpujoin.OpGreater, gpujoin.LeftColumn("quantity"), gpujoin.Value(int32(10))),
		gpujoin.Op(gpujoin.OpStartsWith, gpujoin.RightColumn("customer"), gpujoin.Value("C")))
	result, err := device.Join(context.Background(), lines, orders, &gpujoin.JoinSpec{
		Kind: gpujoin.LeftAnti, Keys: gpujoin.On("order"), Where: where, Left: []string{"quantity"},
		Order: gpujoin.OrderLeft}, nil)
	if err != nil {
		log.Fatal(err)
	}
	for page, err := range result.Pages(1000) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(page.Column(0))
		page.Release()
	}
	// Output: [10 40]
}

// A condition in Go: customers whose names have as many letters as the line has tens.
func ExampleOperationOptions() {
	device, err := gpujoin.NewContext(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer device.Close()
	ctx := context.Background()
	lines, orders := recordOf(lineRows, lineFields), recordOf(orderRows, orderFields)
	build, err := device.NewBuild(orders.Schema(), []string{"order"}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer build.Close()
	if err := errors.Join(build.Append(ctx, orders, 0), build.Finish(ctx)); err != nil {
		log.Fatal(err)
	}
	operation, err := build.NewOperation(lines.Schema(), &gpujoin.JoinSpec{
		Kind: gpujoin.Inner, Where: gpujoin.CallerDecides(), Left: []string{"quantity"},
		Right: []string{"customer"},
	}, &gpujoin.OperationOptions{
		DecideLeft: []string{"quantity"}, DecideRight: []string{"customer"},
		Decide: func(candidates arrow.RecordBatch) (*array.Boolean, error) {
			quantities := candidates.Column(0).(*array.Int32)
			customers := candidates.Column(1).(*array.String)
			answers := array.NewBooleanBuilder(memory.DefaultAllocator)
			defer answers.Release()
			for i := range quantities.Len() {
				answers.Append(len(customers.Value(i)) == int(quantities.Value(i)/10))
			}
			return answers.NewBooleanArray(), nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer operation.Close()
	probe, err := operation.NewProbe()
	if err != nil {
		log.Fatal(err)
	}
	defer probe.Close()
	if err := errors.Join(probe.Append(ctx, lines, 0), probe.Finish(ctx)); err != nil {
		log.Fatal(err)
	}
	for {
		result, state, err := probe.Next(ctx)
		if err != nil {
			log.Fatal(err)
		}
		if state != gpujoin.Ready {
			break
		}
		record, err := result.Record()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(record.Column(0), record.Column(1))
	}
	// Output: [20] ["Cy"]
}

func ExampleResult_Pairs() {
	device, err := gpujoin.NewContext(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer device.Close()
	lines, orders := tables(device)
	result, err := device.Join(context.Background(), lines, orders, &gpujoin.JoinSpec{
		Kind: gpujoin.Left, Keys: gpujoin.On("order"), Pairs: true, Order: gpujoin.OrderLeft}, nil)
	if err != nil {
		log.Fatal(err)
	}
	left, right, err := result.Pairs()
	fmt.Println(left, right, err)
	// Output: [0 1 2 3] [0 2 2 -1] <nil>
}

func ExampleContext_Estimate() {
	device, err := gpujoin.NewContext(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer device.Close()
	price, err := device.Estimate(
		&gpujoin.ExpectedSide{Schema: arrow.NewSchema(lineFields, nil), Rows: 60_000_000},
		&gpujoin.ExpectedSide{Schema: arrow.NewSchema(orderFields, nil), Rows: 15_000_000},
		&gpujoin.JoinSpec{Kind: gpujoin.Inner, Keys: gpujoin.On("order"), Left: []string{"quantity"}},
		-1)
	fmt.Println(price.OutputRows, price.CPU > 0, err)
	// Output: 60000000 true <nil>
}

func ExampleError() {
	device, err := gpujoin.NewContext(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer device.Close()
	lines, orders := tables(device)
	_, err = device.Join(context.Background(), lines, orders, &gpujoin.JoinSpec{
		Kind: gpujoin.Inner, Keys: []gpujoin.Key{{Left: "order", Right: "customer"}}}, nil)
	fmt.Println(errors.Is(err, gpujoin.StatusType))
	var failed *gpujoin.Error
	fmt.Println(errors.As(err, &failed), failed.Status)
	// Output:
	// true
	// true GPUJOIN_ERROR_TYPE
}

func ExampleBuild() {
	device, err := gpujoin.NewContext(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer device.Close()
	ctx := context.Background()

	build, err := device.NewBuild(arrow.NewSchema(orderFields, nil), []string{"order"}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer build.Close()
	if err := build.Append(ctx, recordOf(orderRows, orderFields), 0); err != nil { // ... any number
		log.Fatal(err)
	}
	if err := build.Finish(ctx); err != nil {
		log.Fatal(err)
	}
	operation, err := build.NewOperation(arrow.NewSchema(lineFields, nil), &gpujoin.JoinSpec{
		Kind: gpujoin.Inner, Left: []string{"quantity"}, Right: []string{"customer"}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer operation.Close()

	var rows []string
	lines := slices.Values([]arrow.RecordBatch{recordOf(lineRows, lineFields)}) // ... any number
	for record, err := range operation.Rows(ctx, withoutErrors(lines), 2) {
		if err != nil {
			log.Fatal(err)
		}
		rows = append(rows, rowsOf(record)...)
		record.Release()
	}
	slices.Sort(rows)
	fmt.Println(rows)
	// Output: [10 Ada 20 Cy 30 Cy]
}

func withoutErrors(batches iter.Seq[arrow.RecordBatch]) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for batch := range batches {
			if !yield(batch, nil) {
				return
			}
		}
	}
}
