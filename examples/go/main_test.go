package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
)

// What the program prints is what loops over the same rows say.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	orders := makeOrders()
	defer orders.Release()
	customers, amounts := orders.Column(0).(*array.Int64), orders.Column(1).(*array.Int32)
	large, total := 0, int64(0)
	var ofCities [3]int64
	for row := range customers.Len() {
		customer, amount := customers.Value(row), int64(amounts.Value(row))
		if customer >= customerCount {
			continue
		}
		ofCities[customer%3] += amount
		if amount > 990 {
			large++
			total += amount
		}
	}
	for _, expected := range []string{
		fmt.Sprintf("in one call: %d large orders of %d in all\n", large, total),
		fmt.Sprintf("in batches: Bern %d, Oslo %d, Rome %d\n", ofCities[0], ofCities[1], ofCities[2]),
	} {
		if !strings.Contains(out.String(), expected) {
			t.Errorf("it printed\n%s\nwithout %q", out.String(), expected)
		}
	}
}
