package gpujoin

// #include "shim.h"
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Operator is what a condition does with its arguments; gpujoin.h and docs/semantics.md say what
// each means.
type Operator int32

// The operators, with the number of their arguments.
const (
	OpEqual        Operator = C.GPUJOIN_OPERATOR_EQUAL         // 2
	OpNotEqual     Operator = C.GPUJOIN_OPERATOR_NOT_EQUAL     // 2
	OpLess         Operator = C.GPUJOIN_OPERATOR_LESS          // 2
	OpLessEqual    Operator = C.GPUJOIN_OPERATOR_LESS_EQUAL    // 2
	OpGreater      Operator = C.GPUJOIN_OPERATOR_GREATER       // 2
	OpGreaterEqual Operator = C.GPUJOIN_OPERATOR_GREATER_EQUAL // 2
	OpDistinct     Operator = C.GPUJOIN_OPERATOR_DISTINCT      // 2
	OpNotDistinct  Operator = C.GPUJOIN_OPERATOR_NOT_DISTINCT  // 2
	OpBetween      Operator = C.GPUJOIN_OPERATOR_BETWEEN       // 3
	OpAnd          Operator = C.GPUJOIN_OPERATOR_AND           // 1 or more
	OpOr           Operator = C.GPUJOIN_OPERATOR_OR            // 1 or more
	OpNot          Operator = C.GPUJOIN_OPERATOR_NOT           // 1
	OpIsNull       Operator = C.GPUJOIN_OPERATOR_IS_NULL       // 1
	OpIsNotNull    Operator = C.GPUJOIN_OPERATOR_IS_NOT_NULL   // 1
	OpIsTrue       Operator = C.GPUJOIN_OPERATOR_IS_TRUE       // 1
	OpIsFalse      Operator = C.GPUJOIN_OPERATOR_IS_FALSE      // 1
	OpStartsWith   Operator = C.GPUJOIN_OPERATOR_STARTS_WITH   // 2
	OpCase         Operator = C.GPUJOIN_OPERATOR_CASE          // when, then, ..., else
	OpCoalesce     Operator = C.GPUJOIN_OPERATOR_COALESCE      // 1 or more
	OpAdd          Operator = C.GPUJOIN_OPERATOR_ADD           // 2
	OpSubtract     Operator = C.GPUJOIN_OPERATOR_SUBTRACT      // 2
	OpMultiply     Operator = C.GPUJOIN_OPERATOR_MULTIPLY      // 2
	OpDivide       Operator = C.GPUJOIN_OPERATOR_DIVIDE        // 2, of floats
	OpQuotient     Operator = C.GPUJOIN_OPERATOR_QUOTIENT      // 2, of integers, towards zero
	OpModulo       Operator = C.GPUJOIN_OPERATOR_MODULO        // 2
	OpNegate       Operator = C.GPUJOIN_OPERATOR_NEGATE        // 1
	OpAbsolute     Operator = C.GPUJOIN_OPERATOR_ABSOLUTE      // 1
)

const (
	opColumn   Operator = C.GPUJOIN_OPERATOR_COLUMN
	opConstant Operator = C.GPUJOIN_OPERATOR_CONSTANT
	opIn       Operator = C.GPUJOIN_OPERATOR_IN
	opCaller   Operator = C.GPUJOIN_OPERATOR_CALLER
)

// An Expr is an expression of a left and a right row, and as a boolean one the condition of a
// join: what rows with equal keys have to fulfil besides, to match. Of no keys it alone says what
// matches. The zero Expr is no condition.
//
//	gpujoin.Op(gpujoin.OpLess, gpujoin.LeftColumn("a"),
//		gpujoin.Op(gpujoin.OpAdd, gpujoin.RightColumn("b"), gpujoin.Value(int32(1))))
type Expr struct {
	nodes []node // in postfix order
	err   error
}

type node struct {
	operator  Operator
	arguments int
	side      Side
	column    string
	values    arrow.Array
}

// LeftColumn is the value of a column in the left row.
func LeftColumn(name string) Expr {
	return Expr{nodes: []node{{operator: opColumn, side: LeftSide, column: name}}}
}

// RightColumn is the value of a column in the right row.
func RightColumn(name string) Expr {
	return Expr{nodes: []node{{operator: opColumn, side: RightSide, column: name}}}
}

// Constant is the first value of an array, of any type but nested ones; a NULL has the array's
// type. The array is kept as long as the Expr, and not changed.
func Constant(values arrow.Array) Expr {
	if values == nil || values.Len() == 0 {
		return Expr{err: invalid("a constant is the first value of an array, and there is none")}
	}
	values.Retain()
	return Expr{nodes: []node{{operator: opConstant, values: values}}}
}

// Value is a constant of the Arrow type that its Go type has: bool, the integers of a width,
// float32, float64, string, []byte.
func Value[T bool | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 |
	float64 | string | []byte](value T) Expr {
	values, err := arrayOf(any(value))
	if err != nil {
		return Expr{err: err}
	}
	return Expr{nodes: []node{{operator: opConstant, values: values}}}
}

func arrayOf(value any) (arrow.Array, error) {
	switch value := value.(type) {
	case bool:
		return built(array.NewBooleanBuilder(memory.DefaultAllocator), value)
	case int8:
		return built(array.NewInt8Builder(memory.DefaultAllocator), value)
	case int16:
		return built(array.NewInt16Builder(memory.DefaultAllocator), value)
	case int32:
		return built(array.NewInt32Builder(memory.DefaultAllocator), value)
	case int64:
		return built(array.NewInt64Builder(memory.DefaultAllocator), value)
	case uint8:
		return built(array.NewUint8Builder(memory.DefaultAllocator), value)
	case uint16:
		return built(array.NewUint16Builder(memory.DefaultAllocator), value)
	case uint32:
		return built(array.NewUint32Builder(memory.DefaultAllocator), value)
	case uint64:
		return built(array.NewUint64Builder(memory.DefaultAllocator), value)
	case float32:
		return built(array.NewFloat32Builder(memory.DefaultAllocator), value)
	case float64:
		return built(array.NewFloat64Builder(memory.DefaultAllocator), value)
	case string:
		return built(array.NewStringBuilder(memory.DefaultAllocator), value)
	case []byte:
		return built(array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.Binary),
			value)
	}
	return nil, invalid("a value of type %T", value)
}

func built[T any](builder interface {
	Append(T)
	NewArray() arrow.Array
	Release()
}, value T) (arrow.Array, error) {
	defer builder.Release()
	builder.Append(value)
	return builder.NewArray(), nil
}

// In is whether a value is one of those of an array: NULL where none is equal and it or one of
// them is NULL. The array is kept as long as the Expr, and not changed.
func In(value Expr, values arrow.Array) Expr {
	if values == nil {
		return Expr{err: invalid("In has no array of values")}
	}
	values.Retain()
	made := applied(node{operator: opIn, values: values}, value)
	return made
}

// Op is an operator of its arguments.
func Op(operator Operator, arguments ...Expr) Expr {
	return applied(node{operator: operator}, arguments...)
}

// And is true where all are.
func And(conditions ...Expr) Expr { return Op(OpAnd, conditions...) }

// Or is true where one is.
func Or(conditions ...Expr) Expr { return Op(OpOr, conditions...) }

// Not is true where the condition is false.
func Not(condition Expr) Expr { return Op(OpNot, condition) }

// CallerDecides is a condition that the caller evaluates: the result of the join is its
// candidates, the pairs of rows with equal keys, for [Result.Decide]; an operation asks
// [OperationOptions].Decide. Not of mark and NOT IN joins, and not without keys.
func CallerDecides() Expr { return Expr{nodes: []node{{operator: opCaller}}} }

func applied(operator node, arguments ...Expr) Expr {
	var made Expr
	for i, argument := range arguments {
		if argument.err != nil {
			return argument
		}
		if len(argument.nodes) == 0 {
			return Expr{err: invalid("argument %d of an operator is the empty Expr", i)}
		}
		made.nodes = append(made.nodes, argument.nodes...)
	}
	operator.arguments = len(arguments)
	made.nodes = append(made.nodes, operator)
	return made
}

func (e Expr) isCaller() bool { return len(e.nodes) == 1 && e.nodes[0].operator == opCaller }

// describe writes the condition for the library; nil: there is none. The relations of its
// constants are to be closed after the call.
func (e Expr) describe(memory *arena, c *Context, left, right *arrow.Schema) (
	condition *C.gpujoin_condition, constants []*Relation, err error) {
	if e.err != nil {
		return nil, nil, e.err
	}
	if len(e.nodes) == 0 {
		return nil, nil, nil
	}
	defer func() {
		if err != nil {
			closeAll(constants)
		}
	}()
	nodes := many[C.gpujoin_node](memory, len(e.nodes))
	for i, from := range e.nodes {
		to := &nodes[i]
		setSize(to)
		to.operation = C.gpujoin_operator(from.operator)
		to.argument_count = C.int32_t(from.arguments)
		to.side = C.gpujoin_side(from.side)
		if from.operator == opColumn {
			schema := left
			if from.side == RightSide {
				schema = right
			}
			if to.column, err = position(schema, "Where", from.column); err != nil {
				return nil, constants, err
			}
		}
		if from.values != nil {
			relation, err := c.relationOfValues(from.values)
			if err != nil {
				return nil, constants, fmt.Errorf("Where: %w", err)
			}
			constants = append(constants, relation)
			setHandle(unsafe.Pointer(&to.values), relation.object.handle)
		}
	}
	condition = sized[C.gpujoin_condition](memory)
	condition.node_count = C.int32_t(len(nodes))
	condition.nodes = unsafe.SliceData(nodes)
	return condition, constants, nil
}

func (c *Context) relationOfValues(values arrow.Array) (*Relation, error) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "values", Type: values.DataType(), Nullable: true}}, nil)
	batch := array.NewRecordBatch(schema, []arrow.Array{values}, int64(values.Len()))
	defer batch.Release()
	return c.NewRelation(batch)
}

func closeAll(relations []*Relation) {
	for _, relation := range relations {
		relation.Close()
	}
}
