package gpujoin_test

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Other types of the same values: joins of them have the same answers.

func isText(of arrow.DataType) bool {
	return arrow.IsBaseBinary(of.ID())
}

// asViews of text and binary values.
func asViews(values arrow.Array) arrow.Array {
	var builder array.Builder
	switch values.DataType().ID() {
	case arrow.STRING, arrow.LARGE_STRING:
		builder = array.NewStringViewBuilder(memory.DefaultAllocator)
	case arrow.BINARY, arrow.LARGE_BINARY:
		builder = array.NewBinaryViewBuilder(memory.DefaultAllocator)
	default:
		values.Retain()
		return values
	}
	defer builder.Release()
	for i := range values.Len() {
		switch {
		case values.IsNull(i):
			builder.AppendNull()
		default:
			switch builder := builder.(type) {
			case *array.StringViewBuilder:
				builder.AppendString(values.ValueStr(i))
			case *array.BinaryViewBuilder:
				builder.Append(values.(interface{ Value(int) []byte }).Value(i))
			}
		}
	}
	return builder.NewArray()
}

// taken are the rows of an array by number.
func taken(values arrow.Array, rows []int) arrow.Array {
	if len(rows) == 0 {
		return array.NewSlice(values, 0, 0)
	}
	parts := make([]arrow.Array, len(rows))
	for i, row := range rows {
		parts[i] = array.NewSlice(values, int64(row), int64(row)+1)
		defer parts[i].Release()
	}
	made, err := array.Concatenate(parts, memory.DefaultAllocator)
	if err != nil {
		panic(err)
	}
	return made
}

// asDictionary of text and binary values, and of integers: each value once.
func asDictionary(values arrow.Array) arrow.Array {
	if !isText(values.DataType()) && !arrow.IsInteger(values.DataType().ID()) {
		values.Retain()
		return values
	}
	places := map[string]int32{}
	var first []int
	indices := array.NewInt32Builder(memory.DefaultAllocator)
	defer indices.Release()
	for i := range values.Len() {
		if values.IsNull(i) {
			indices.AppendNull()
			continue
		}
		word := values.ValueStr(i)
		if _, is := places[word]; !is {
			places[word] = int32(len(first))
			first = append(first, i)
		}
		indices.Append(places[word])
	}
	dictionary := taken(values, first)
	defer dictionary.Release()
	positions := indices.NewArray()
	defer positions.Release()
	of := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: values.DataType()}
	return array.NewDictionaryArray(of, positions, dictionary)
}

// asRuns of integers.
func asRuns(values arrow.Array) arrow.Array {
	if !arrow.IsInteger(values.DataType().ID()) {
		values.Retain()
		return values
	}
	ends := array.NewInt32Builder(memory.DefaultAllocator)
	defer ends.Release()
	var first []int
	for i := range values.Len() {
		if i == 0 || values.ValueStr(i) != values.ValueStr(i-1) {
			if i > 0 {
				ends.Append(int32(i))
			}
			first = append(first, i)
		}
	}
	if values.Len() > 0 {
		ends.Append(int32(values.Len()))
	}
	of := taken(values, first)
	defer of.Release()
	lengths := ends.NewArray()
	defer lengths.Release()
	return array.NewRunEndEncodedArray(lengths, of, values.Len(), 0)
}
