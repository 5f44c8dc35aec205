package gpujoin

// #include "shim.h"
import "C"

// Kind says which rows come out of a join. A row matches one of the other side when all their keys
// are equal, and the condition beside them is true; a NULL key is equal to nothing, unless
// Key.NullEqual says so.
type Kind int32

// The kinds of joins.
const (
	// Inner: each pair of rows that match.
	Inner Kind = C.GPUJOIN_JOIN_INNER
	// Left, Right: the same, and once each row of that side without a match.
	Left  Kind = C.GPUJOIN_JOIN_LEFT
	Right Kind = C.GPUJOIN_JOIN_RIGHT
	// Full: Inner, and the rows without a match of both sides.
	Full Kind = C.GPUJOIN_JOIN_FULL
	// LeftSemi, RightSemi: rows of one side that have a match, once each (EXISTS).
	LeftSemi  Kind = C.GPUJOIN_JOIN_LEFT_SEMI
	RightSemi Kind = C.GPUJOIN_JOIN_RIGHT_SEMI
	// LeftAnti, RightAnti: rows of one side that have none (NOT EXISTS).
	LeftAnti  Kind = C.GPUJOIN_JOIN_LEFT_ANTI
	RightAnti Kind = C.GPUJOIN_JOIN_RIGHT_ANTI
	// LeftMark, RightMark: all rows of one side, with a boolean column "mark" behind the others:
	// what SQL answers for keys IN (the other side's keys).
	LeftMark  Kind = C.GPUJOIN_JOIN_LEFT_MARK
	RightMark Kind = C.GPUJOIN_JOIN_RIGHT_MARK
	// LeftNotIn, RightNotIn: rows whose mark is false (NOT IN).
	LeftNotIn  Kind = C.GPUJOIN_JOIN_LEFT_NOT_IN
	RightNotIn Kind = C.GPUJOIN_JOIN_RIGHT_NOT_IN
	// LeftSingle, RightSingle: Left and Right for a scalar subquery; a second match of a row of that
	// side is StatusSeveralMatches.
	LeftSingle  Kind = C.GPUJOIN_JOIN_LEFT_SINGLE
	RightSingle Kind = C.GPUJOIN_JOIN_RIGHT_SINGLE
	// Cross: each row with each; without keys.
	Cross Kind = C.GPUJOIN_JOIN_CROSS
)

var kindNames = [...]string{"", "inner", "left", "right", "full", "left_semi", "right_semi",
	"left_anti", "right_anti", "left_mark", "right_mark", "left_not_in", "right_not_in",
	"left_single", "right_single", "cross"}

// String is the name in gpujoin.h in lower case, such as "left_semi".
func (k Kind) String() string {
	if k < Inner || k > Cross {
		return "unknown"
	}
	return kindNames[k]
}

// KindOf is the kind of a name that String gives. Errors: StatusInvalidArgument.
func KindOf(name string) (Kind, error) {
	for kind, of := range kindNames {
		if of == name && name != "" {
			return Kind(kind), nil
		}
	}
	return 0, invalid("there is no kind %q among %q", name, kindNames[1:])
}

// Side is one of the two relations of a join.
type Side int32

// The sides.
const (
	LeftSide  Side = C.GPUJOIN_SIDE_LEFT
	RightSide Side = C.GPUJOIN_SIDE_RIGHT
)

// Order says in which order rows come out.
type Order int32

// The orders.
const (
	// OrderNone: any.
	OrderNone Order = C.GPUJOIN_ORDER_NONE
	// OrderProbe: by the side that the plan does not build on.
	OrderProbe Order = C.GPUJOIN_ORDER_PROBE
	// OrderLeft: by left row, those of one left row by right row; rows without one come last.
	OrderLeft Order = C.GPUJOIN_ORDER_LEFT
	// OrderRight: the same of the right side.
	OrderRight Order = C.GPUJOIN_ORDER_RIGHT
)

// Promise is what the caller knows of the data; or-ed. It is checked, never trusted.
type Promise int32

// What can be promised.
const (
	// PromiseLeftUnique, PromiseRightUnique: no two rows of the side have equal keys.
	PromiseLeftUnique  Promise = C.GPUJOIN_PROMISE_LEFT_UNIQUE
	PromiseRightUnique Promise = C.GPUJOIN_PROMISE_RIGHT_UNIQUE
	// PromiseLeftSorted, PromiseRightSorted: keys do not decrease from row to row.
	PromiseLeftSorted  Promise = C.GPUJOIN_PROMISE_LEFT_SORTED
	PromiseRightSorted Promise = C.GPUJOIN_PROMISE_RIGHT_SORTED
	// PromiseRows: the join has JoinSpec.PromisedRows rows or fewer.
	PromiseRows Promise = C.GPUJOIN_PROMISE_ROWS
)

// Direction says which right row an ASOF join finds.
type Direction int32

// The directions.
const (
	// Backward: the last right row at or before the left row.
	Backward Direction = C.GPUJOIN_DIRECTION_BACKWARD
	// Forward: the first right row at or after it.
	Forward Direction = C.GPUJOIN_DIRECTION_FORWARD
	// Nearest: the nearer one of both; Backward's where they are equally near.
	Nearest Direction = C.GPUJOIN_DIRECTION_NEAREST
)

// Function is an aggregate over rows of a join.
type Function int32

// The aggregates, and the types that they have.
const (
	// CountRows counts rows, int64; without a column.
	CountRows Function = C.GPUJOIN_FUNCTION_COUNT_ROWS
	// Count counts rows in which the column is not NULL, int64.
	Count Function = C.GPUJOIN_FUNCTION_COUNT
	// Sum: int64 of integers, uint64 of unsigned ones, decimal128(38) of decimals, float64.
	Sum Function = C.GPUJOIN_FUNCTION_SUM
	// Min and Max have the column's type.
	Min Function = C.GPUJOIN_FUNCTION_MIN
	Max Function = C.GPUJOIN_FUNCTION_MAX
	// Avg is a float64, rounded once.
	Avg Function = C.GPUJOIN_FUNCTION_AVG
	// Any is one of the values that are not NULL.
	Any Function = C.GPUJOIN_FUNCTION_ANY
	// Exists says whether there is a row, bool; without a column.
	Exists Function = C.GPUJOIN_FUNCTION_EXISTS
)
