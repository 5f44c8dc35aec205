package gpujoin_test

import (
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Values and types of tests/cases, see the README there: a value is a word, here as in the files.

var caseTypes = map[string]arrow.DataType{
	"int8": arrow.PrimitiveTypes.Int8, "int16": arrow.PrimitiveTypes.Int16,
	"int32": arrow.PrimitiveTypes.Int32, "int64": arrow.PrimitiveTypes.Int64,
	"uint8": arrow.PrimitiveTypes.Uint8, "uint16": arrow.PrimitiveTypes.Uint16,
	"uint32": arrow.PrimitiveTypes.Uint32, "uint64": arrow.PrimitiveTypes.Uint64,
	"float16": arrow.FixedWidthTypes.Float16, "float32": arrow.PrimitiveTypes.Float32,
	"float64": arrow.PrimitiveTypes.Float64, "bool": arrow.FixedWidthTypes.Boolean,
	"date32": arrow.FixedWidthTypes.Date32, "date64": arrow.FixedWidthTypes.Date64,
	"timestamp_s":  &arrow.TimestampType{Unit: arrow.Second},
	"timestamp_ms": &arrow.TimestampType{Unit: arrow.Millisecond},
	"timestamp_us": &arrow.TimestampType{Unit: arrow.Microsecond},
	"timestamp_ns": &arrow.TimestampType{Unit: arrow.Nanosecond},
	"time32":       arrow.FixedWidthTypes.Time32ms, "time64": arrow.FixedWidthTypes.Time64us,
	"duration": arrow.FixedWidthTypes.Duration_us,
	"utf8":     arrow.BinaryTypes.String, "large_utf8": arrow.BinaryTypes.LargeString,
	"binary": arrow.BinaryTypes.Binary, "large_binary": arrow.BinaryTypes.LargeBinary,
	"bytes16": &arrow.FixedSizeBinaryType{ByteWidth: 16}, "null": arrow.Null,
}

var withNumbers = regexp.MustCompile(`^(\w+)\(([-\d,]+)\)$`)

// caseType is of int8, fixed_binary(3), decimal64(10,2).
func caseType(word string) arrow.DataType {
	found := withNumbers.FindStringSubmatch(word)
	if found == nil {
		of, is := caseTypes[word]
		if !is {
			panic("unknown type " + word)
		}
		return of
	}
	first, second, _ := strings.Cut(found[2], ",")
	number := mustInt(first)
	if found[1] == "fixed_binary" {
		return &arrow.FixedSizeBinaryType{ByteWidth: number}
	}
	precision, scale := int32(number), int32(mustInt(second))
	switch found[1] {
	case "decimal32":
		return &arrow.Decimal32Type{Precision: precision, Scale: scale}
	case "decimal64":
		return &arrow.Decimal64Type{Precision: precision, Scale: scale}
	case "decimal128":
		return &arrow.Decimal128Type{Precision: precision, Scale: scale}
	}
	return &arrow.Decimal256Type{Precision: precision, Scale: scale}
}

func mustInt(word string) int {
	number, err := strconv.Atoi(word)
	if err != nil {
		panic(err)
	}
	return number
}

// storedType is the type of the same width whose values are the numbers in memory.
func storedType(of arrow.DataType) arrow.DataType {
	switch of.ID() {
	case arrow.DATE32, arrow.TIME32:
		return arrow.PrimitiveTypes.Int32
	case arrow.DATE64, arrow.TIME64, arrow.TIMESTAMP, arrow.DURATION:
		return arrow.PrimitiveTypes.Int64
	}
	return of
}

// viewed is an array as another type of the same layout.
func viewed(values arrow.Array, as arrow.DataType) arrow.Array {
	from := values.Data()
	data := array.NewData(as, from.Len(), from.Buffers(), nil, from.NullN(), from.Offset())
	defer data.Release()
	return array.MakeFromData(data)
}

// unscaled is a decimal fraction as an integer of a scale.
func unscaled(word string, scale int32) *big.Int {
	whole, fraction, _ := strings.Cut(word, ".")
	exponent := int(scale) - len(fraction)
	number, is := new(big.Int).SetString(whole+fraction, 10)
	if !is {
		panic("no number: " + word)
	}
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(exponent, -exponent))), nil)
	if exponent < 0 {
		return number.Quo(number, power)
	}
	return number.Mul(number, power)
}

func caseArray(words []string, of arrow.DataType) arrow.Array {
	if of.ID() == arrow.NULL {
		return array.NewNull(len(words))
	}
	stored := storedType(of)
	builder := array.NewBuilder(memory.DefaultAllocator, stored)
	defer builder.Release()
	for _, word := range words {
		if word == "NULL" {
			builder.AppendNull()
		} else {
			appendWord(builder, word, stored)
		}
	}
	values := builder.NewArray()
	if stored == of {
		return values
	}
	defer values.Release()
	return viewed(values, of)
}

func appendWord(builder array.Builder, word string, of arrow.DataType) {
	bytes := func() []byte {
		made, err := hex.DecodeString(strings.Trim(word, `"`))
		if err != nil {
			panic(err)
		}
		return made
	}
	switch builder := builder.(type) {
	case *array.StringBuilder:
		builder.Append(strings.ReplaceAll(word, `""`, ""))
	case *array.LargeStringBuilder:
		builder.Append(strings.ReplaceAll(word, `""`, ""))
	case *array.BinaryBuilder: // and of large ones
		builder.Append(bytes())
	case *array.FixedSizeBinaryBuilder:
		builder.Append(bytes())
	case *array.Float16Builder:
		builder.Append(float16.New(float32(floatOf(word))))
	case *array.Float32Builder:
		builder.Append(float32(floatOf(word)))
	case *array.Float64Builder:
		builder.Append(floatOf(word))
	case *array.Decimal32Builder:
		scale := of.(arrow.DecimalType).GetScale()
		builder.Append(decimal.Decimal32(unscaled(word, scale).Int64()))
	case *array.Decimal64Builder:
		scale := of.(arrow.DecimalType).GetScale()
		builder.Append(decimal.Decimal64(unscaled(word, scale).Int64()))
	case *array.Decimal128Builder:
		scale := of.(arrow.DecimalType).GetScale()
		builder.Append(decimal128.FromBigInt(unscaled(word, scale)))
	case *array.Decimal256Builder:
		scale := of.(arrow.DecimalType).GetScale()
		builder.Append(decimal256.FromBigInt(unscaled(word, scale)))
	default:
		if err := builder.AppendValueFromString(word); err != nil {
			panic(err)
		}
	}
}

func floatOf(word string) float64 {
	if word == "-nan" {
		return math.Copysign(math.NaN(), -1)
	}
	number, err := strconv.ParseFloat(word, 64)
	if err != nil {
		panic(err)
	}
	return number
}

func floatWord(value float64) string {
	if math.IsNaN(value) {
		return "nan"
	}
	return strconv.FormatFloat(value+0, 'g', -1, 64) // -0.0 as 0.0
}

// caseWord is the one way to write a value that a word may have written otherwise.
func caseWord(word string, of arrow.DataType) string {
	if word == "NULL" {
		return word
	}
	switch of := of.(type) {
	case *arrow.Float16Type, *arrow.Float32Type, *arrow.Float64Type:
		return floatWord(floatOf(word))
	case arrow.DecimalType:
		return unscaled(word, of.GetScale()).String()
	}
	return word
}

// foundWord is a value of an answer as caseWord writes it.
func foundWord(column arrow.Array, row int) string {
	if column.IsNull(row) || column.DataType().ID() == arrow.NULL {
		return "NULL"
	}
	text := func(value string) string {
		if value == "" {
			return `""`
		}
		return value
	}
	switch column := column.(type) {
	case *array.Dictionary:
		return foundWord(column.Dictionary(), column.GetValueIndex(row))
	case *array.Float16:
		return floatWord(float64(column.Value(row).Float32()))
	case *array.Float32:
		return floatWord(float64(column.Value(row)))
	case *array.Float64:
		return floatWord(column.Value(row))
	case *array.Decimal32:
		return fmt.Sprint(int32(column.Value(row)))
	case *array.Decimal64:
		return fmt.Sprint(int64(column.Value(row)))
	case *array.Decimal128:
		return column.Value(row).BigInt().String()
	case *array.Decimal256:
		return column.Value(row).BigInt().String()
	case *array.Binary:
		return text(hex.EncodeToString(column.Value(row)))
	case *array.LargeBinary:
		return text(hex.EncodeToString(column.Value(row)))
	case *array.BinaryView:
		return text(hex.EncodeToString(column.Value(row)))
	case *array.FixedSizeBinary:
		return hex.EncodeToString(column.Value(row))
	}
	if stored := storedType(column.DataType()); stored != column.DataType() {
		numbers := viewed(column, stored)
		defer numbers.Release()
		return numbers.ValueStr(row)
	}
	return text(column.ValueStr(row))
}
