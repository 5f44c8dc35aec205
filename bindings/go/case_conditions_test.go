package gpujoin_test

import (
	"regexp"
	"strings"

	gpujoin "github.com/gpujoin/gpujoin/bindings/go"
)

var caseOperators = map[string]gpujoin.Operator{
	"=": gpujoin.OpEqual, "<>": gpujoin.OpNotEqual, "<": gpujoin.OpLess,
	"<=": gpujoin.OpLessEqual, ">": gpujoin.OpGreater, ">=": gpujoin.OpGreaterEqual,
	"distinct": gpujoin.OpDistinct, "not_distinct": gpujoin.OpNotDistinct,
	"between": gpujoin.OpBetween, "and": gpujoin.OpAnd, "or": gpujoin.OpOr, "not": gpujoin.OpNot,
	"is_null": gpujoin.OpIsNull, "is_not_null": gpujoin.OpIsNotNull, "is_true": gpujoin.OpIsTrue,
	"is_false": gpujoin.OpIsFalse, "starts_with": gpujoin.OpStartsWith, "case": gpujoin.OpCase,
	"coalesce": gpujoin.OpCoalesce, "+": gpujoin.OpAdd, "-": gpujoin.OpSubtract,
	"*": gpujoin.OpMultiply, "/": gpujoin.OpDivide, "//": gpujoin.OpQuotient,
	"%": gpujoin.OpModulo, "negate": gpujoin.OpNegate, "abs": gpujoin.OpAbsolute,
}

// A bracket, or a word, which may have the brackets of a type in it: "1.5:decimal64(3,2)".
var caseToken = regexp.MustCompile(`[()]|[^\s()]+(?:\([^)\s]*\))?`)

// caseCondition is a condition of tests/cases, see the README there.
func caseCondition(text string) gpujoin.Expr {
	tokens := caseToken.FindAllString(text, -1)
	made, rest := caseExpr(tokens)
	if len(rest) != 0 {
		panic("behind a condition: " + strings.Join(rest, " "))
	}
	return made
}

// caseExpr is the first expression of the tokens, and what is behind it.
func caseExpr(tokens []string) (gpujoin.Expr, []string) {
	word, tokens := tokens[0], tokens[1:]
	if name, is := strings.CutPrefix(word, "left."); is {
		return gpujoin.LeftColumn(name), tokens
	}
	if name, is := strings.CutPrefix(word, "right."); is {
		return gpujoin.RightColumn(name), tokens
	}
	if word != "(" {
		colon := strings.LastIndex(word, ":")
		values := caseArray([]string{word[:colon]}, caseType(word[colon+1:]))
		return gpujoin.Constant(values), tokens
	}
	name, tokens := tokens[0], tokens[1:]
	if name == "in" {
		value, rest := caseExpr(tokens)
		end := 0
		for rest[end] != ")" {
			end++
		}
		return gpujoin.In(value, caseArray(rest[1:end], caseType(rest[0]))), rest[end+1:]
	}
	operator, is := caseOperators[name]
	if !is {
		panic("unknown operator " + name)
	}
	var arguments []gpujoin.Expr
	for tokens[0] != ")" {
		var argument gpujoin.Expr
		argument, tokens = caseExpr(tokens)
		arguments = append(arguments, argument)
	}
	return gpujoin.Op(operator, arguments...), tokens[1:]
}
