// Command go is a first join with libgpujoin from Go: see README.md beside it.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	gpujoin "github.com/gpujoin/gpujoin/bindings/go"
)

func main() {
	// Ctrl-C ends the join that runs, and so does the deadline.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	if err := run(ctx, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

const (
	customerCount = 1000
	orderCount    = 100_000
)

func run(ctx context.Context, out io.Writer) error {
	device, err := gpujoin.NewContext(nil)
	if err != nil {
		return err
	}
	defer device.Close()
	info, err := device.Info()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "joins run on %s\n", info.Device)

	customers, orders := makeCustomers(), makeOrders()
	defer customers.Release()
	defer orders.Release()
	if err := inOneCall(ctx, out, device, customers, orders); err != nil {
		return err
	}
	return inBatches(ctx, out, device, customers, orders)
}

// inOneCall: select city, amount from customers join orders on id = customer where amount > 990
func inOneCall(ctx context.Context, out io.Writer, device *gpujoin.Context,
	customers, orders arrow.RecordBatch) error {
	left, err := device.NewRelation(customers)
	if err != nil {
		return err
	}
	defer left.Close()
	right, err := device.NewRelation(orders)
	if err != nil {
		return err
	}
	defer right.Close()
	plan, err := device.NewPlan(ctx, left, right, &gpujoin.JoinSpec{
		Kind: gpujoin.Inner,
		Keys: []gpujoin.Key{{Left: "id", Right: "customer"}},
		Where: gpujoin.Op(gpujoin.OpGreater, gpujoin.RightColumn("amount"),
			gpujoin.Value(int32(990))),
		Left:  []string{"city"},
		Right: []string{"amount"},
	}, nil)
	if err != nil {
		return err
	}
	defer plan.Close()
	text, err := plan.Explain()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%s\n", text)
	result, err := plan.Execute(ctx)
	if err != nil {
		return err
	}
	defer result.Close()
	total := int64(0)
	for page, err := range result.Pages(500) {
		if err != nil {
			return err
		}
		for _, amount := range page.Column(1).(*array.Int32).Int32Values() {
			total += int64(amount)
		}
		page.Release()
	}
	fmt.Fprintf(out, "in one call: %d large orders of %d in all\n", result.NumRows(), total)
	return nil
}

// inBatches: the customers are kept, and orders come in batches, which four goroutines bring.
func inBatches(ctx context.Context, out io.Writer, device *gpujoin.Context,
	customers, orders arrow.RecordBatch) error {
	build, err := device.NewBuild(customers.Schema(), []string{"id"}, nil)
	if err != nil {
		return err
	}
	defer build.Close()
	if err := build.Append(ctx, customers, 0); err != nil {
		return err
	}
	if err := build.Finish(ctx); err != nil {
		return err
	}
	operation, err := build.NewOperation(orders.Schema(), &gpujoin.JoinSpec{
		Kind:  gpujoin.Inner,
		Keys:  []gpujoin.Key{{Left: "customer", Right: "id"}}, // the build is the right side
		Left:  []string{"amount"},
		Right: []string{"city"},
	}, nil)
	if err != nil {
		return err
	}
	defer operation.Close()
	ofCities := map[string]int64{}
	for batch, err := range operation.Rows(ctx, slicesOf(orders, 8192), 4) {
		if err != nil {
			return err
		}
		amounts := batch.Column(0).(*array.Int32)
		for row := range int(batch.NumRows()) {
			// The key stays when the batch is released, to whose memory the string points.
			city := strings.Clone(batch.Column(1).ValueStr(row))
			ofCities[city] += int64(amounts.Value(row))
		}
		batch.Release()
	}
	fmt.Fprintf(out, "in batches: Bern %d, Oslo %d, Rome %d\n", ofCities["Bern"], ofCities["Oslo"],
		ofCities["Rome"])
	return nil
}

// slicesOf hands out a batch in smaller ones, as a reader of a file would.
func slicesOf(batch arrow.RecordBatch, rows int64) func(func(arrow.RecordBatch, error) bool) {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for first := int64(0); first < batch.NumRows(); first += rows {
			part := batch.NewSlice(first, min(first+rows, batch.NumRows()))
			goesOn := yield(part, nil)
			part.Release()
			if !goesOn {
				return
			}
		}
	}
}

func makeCustomers() arrow.RecordBatch {
	builder := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "city", Type: arrow.BinaryTypes.String}}, nil))
	defer builder.Release()
	for id := range int64(customerCount) {
		builder.Field(0).(*array.Int64Builder).Append(id)
		builder.Field(1).(*array.StringBuilder).Append([]string{"Bern", "Oslo", "Rome"}[id%3])
	}
	return builder.NewRecordBatch()
}

// makeOrders: every tenth is of a customer that nobody knows.
func makeOrders() arrow.RecordBatch {
	builder := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{
		{Name: "customer", Type: arrow.PrimitiveTypes.Int64},
		{Name: "amount", Type: arrow.PrimitiveTypes.Int32}}, nil))
	defer builder.Release()
	pick := rand.New(rand.NewPCG(1, 2))
	for range orderCount {
		builder.Field(0).(*array.Int64Builder).Append(pick.Int64N(customerCount * 10 / 9))
		builder.Field(1).(*array.Int32Builder).Append(pick.Int32N(1000))
	}
	return builder.NewRecordBatch()
}
