package gpujoin_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	gpujoin "github.com/gpujoin/gpujoin/bindings/go"
)

// The joins of tests/cases, which every binding runs: see the README there.

type caseSection struct {
	name  string
	lines [][]string
}

func readCase(t *testing.T, path string) []caseSection {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var sections []caseSection
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if len(words) == 1 && slices.Contains([]string{"left", "right", "join", "expect"}, words[0]) {
			sections = append(sections, caseSection{name: words[0]})
			continue
		}
		last := &sections[len(sections)-1]
		last.lines = append(last.lines, words)
	}
	return sections
}

// caseTable is a section as a batch, and the types as they are written, by name.
func caseTable(lines [][]string, shape func(arrow.Array) arrow.Array) (
	arrow.RecordBatch, map[string]arrow.DataType) {
	written := map[string]arrow.DataType{}
	var fields []arrow.Field
	var columns []arrow.Array
	for i, head := range lines[0] {
		name, word, _ := strings.Cut(head, ":")
		written[name] = caseType(word)
		var words []string
		for _, row := range lines[1:] {
			words = append(words, row[i])
		}
		values := caseArray(words, written[name])
		column := shape(values)
		values.Release()
		columns = append(columns, column)
		fields = append(fields, field(name, column.DataType()))
	}
	batch := array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, int64(len(lines)-1))
	for _, column := range columns {
		column.Release()
	}
	return batch, written
}

var (
	caseErrors = map[string]gpujoin.Status{
		"type":            gpujoin.StatusType,
		"several_matches": gpujoin.StatusSeveralMatches,
		"evaluation":      gpujoin.StatusEvaluation,
		"broken_promise":  gpujoin.StatusBrokenPromise,
	}
	casePromises = map[string]gpujoin.Promise{
		"left_unique": gpujoin.PromiseLeftUnique, "right_unique": gpujoin.PromiseRightUnique,
		"left_sorted": gpujoin.PromiseLeftSorted, "right_sorted": gpujoin.PromiseRightSorted,
	}
	caseSides      = map[string]gpujoin.Side{"left": gpujoin.LeftSide, "right": gpujoin.RightSide}
	caseDirections = map[string]gpujoin.Direction{"backward": gpujoin.Backward,
		"forward": gpujoin.Forward, "nearest": gpujoin.Nearest}
	caseFunctions = map[string]gpujoin.Function{"count": gpujoin.Count, "sum": gpujoin.Sum,
		"min": gpujoin.Min, "max": gpujoin.Max, "avg": gpujoin.Avg, "any": gpujoin.Any}
	caseOfColumn = regexp.MustCompile(`^(\w+)\((left|right)\.(\w+)\)$`)
)

// A caseJoin is a section "join", understood.
type caseJoin struct {
	spec  gpujoin.JoinSpec
	lines map[string][]string
	// Of the output columns and aggregates, as they are written.
	types []arrow.DataType
}

func readJoin(t *testing.T, lines [][]string, left, right map[string]arrow.DataType) *caseJoin {
	t.Helper()
	join := &caseJoin{spec: gpujoin.JoinSpec{Kind: gpujoin.Inner}, lines: map[string][]string{}}
	spec := &join.spec
	sides := map[string]map[string]arrow.DataType{"left": left, "right": right}
	for _, words := range lines {
		words, rest := words[0], words[1:]
		join.lines[words] = rest
		switch words {
		case "kind":
			var err error
			if spec.Kind, err = gpujoin.KindOf(rest[0]); err != nil {
				t.Fatal(err)
			}
		case "on":
			spec.Keys = append(spec.Keys, gpujoin.Key{Left: rest[0], Right: rest[1],
				NullEqual: slices.Contains(rest[2:], "null_equal"),
				IEEEFloat: slices.Contains(rest[2:], "ieee")})
		case "residual":
			spec.Where = caseCondition(strings.Join(rest, " "))
		case "asof":
			spec.Asof = readAsof(rest, left[rest[0]])
		case "promise":
			for _, word := range rest {
				spec.Promises |= casePromises[word]
			}
		case "pairs":
			spec.Pairs = true
		case "order":
			spec.Order = map[string]gpujoin.Order{
				"left": gpujoin.OrderLeft, "right": gpujoin.OrderRight}[rest[0]]
		case "by":
			spec.GroupBy = caseSides[rest[0]]
		case "output":
			for _, word := range rest {
				side, name, _ := strings.Cut(word, ".")
				switch side {
				case "left":
					spec.Left = append(spec.Left, name)
				case "right":
					spec.Right = append(spec.Right, name)
				}
				of := arrow.DataType(arrow.FixedWidthTypes.Boolean) // of mark
				if word != "mark" {
					of = sides[side][name]
				}
				join.types = append(join.types, of)
			}
		case "aggregates", "error", "left_rows", "right_rows", "left_bits", "right_bits":
		default:
			t.Fatalf("unknown line %q", words)
		}
	}
	for _, word := range join.lines["aggregates"] {
		aggregate, of := readAggregate(word, sides)
		spec.Aggregates = append(spec.Aggregates, aggregate)
		join.types = append(join.types, of)
	}
	return join
}

func readAsof(words []string, of arrow.DataType) *gpujoin.Asof {
	asof := &gpujoin.Asof{Left: words[0], Right: words[1], Direction: caseDirections[words[2]]}
	asof.Strict = slices.Contains(words[3:], "strict")
	if at := slices.Index(words, "within"); at >= 0 {
		asof.HasTolerance = true
		if arrow.IsFloating(of.ID()) {
			asof.ToleranceFloat, _ = strconv.ParseFloat(words[at+1], 64)
		} else {
			asof.Tolerance, _ = strconv.ParseInt(words[at+1], 10, 64)
		}
	}
	return asof
}

// readAggregate is of count, exists, sum(left.a), with the type that it has.
func readAggregate(word string, sides map[string]map[string]arrow.DataType) (
	gpujoin.Aggregate, arrow.DataType) {
	switch word {
	case "count":
		return gpujoin.Aggregate{Function: gpujoin.CountRows}, arrow.PrimitiveTypes.Int64
	case "exists":
		return gpujoin.Aggregate{Function: gpujoin.Exists}, arrow.FixedWidthTypes.Boolean
	}
	found := caseOfColumn.FindStringSubmatch(word)
	made := gpujoin.Aggregate{Function: caseFunctions[found[1]], Side: caseSides[found[2]],
		Column: found[3], Name: word}
	of := sides[found[2]][found[3]]
	switch made.Function {
	case gpujoin.Count:
		return made, arrow.PrimitiveTypes.Int64
	case gpujoin.Avg:
		return made, arrow.PrimitiveTypes.Float64
	case gpujoin.Sum:
		switch {
		case arrow.IsDecimal(of.ID()):
			return made, &arrow.Decimal128Type{Precision: 38, Scale: of.(arrow.DecimalType).GetScale()}
		case arrow.IsFloating(of.ID()):
			return made, arrow.PrimitiveTypes.Float64
		case arrow.IsUnsignedInteger(of.ID()):
			return made, arrow.PrimitiveTypes.Uint64
		}
		return made, arrow.PrimitiveTypes.Int64
	}
	return made, of
}

// pickedSide is the relation with the rows of it that are read.
func (j *caseJoin) pickedSide(t *testing.T, side string, relation *gpujoin.Relation) (
	*gpujoin.Relation, error) {
	if words, is := j.lines[side+"_rows"]; is {
		rows := []int64{}
		for _, word := range words {
			rows = append(rows, int64(mustInt(word)))
		}
		return closedAfter(t)(relation.SelectRows(t.Context(), rows))
	}
	if words, is := j.lines[side+"_bits"]; is {
		bits := make([]byte, (len(words[0])+7)/8)
		for i, digit := range words[0] {
			bits[i/8] |= byte(digit-'0') << (i % 8)
		}
		return closedAfter(t)(relation.SelectBits(t.Context(), bits))
	}
	return relation, nil
}

func closedAfter(t *testing.T) func(*gpujoin.Relation, error) (*gpujoin.Relation, error) {
	return func(relation *gpujoin.Relation, err error) (*gpujoin.Relation, error) {
		if err == nil {
			t.Cleanup(relation.Close)
		}
		return relation, err
	}
}

func (j *caseJoin) run(t *testing.T, c *gpujoin.Context, left, right *gpujoin.Relation) (
	*gpujoin.Result, error) {
	left, err := j.pickedSide(t, "left", left)
	if err != nil {
		return nil, err
	}
	right, err = j.pickedSide(t, "right", right)
	if err != nil {
		return nil, err
	}
	return c.Join(context.Background(), left, right, &j.spec, nil)
}

// outputType is that of an output column: runs come out as their values, and aggregates of
// dictionaries but counts and sums have the type of the column.
func outputType(found, written arrow.DataType) arrow.DataType {
	switch of := found.(type) {
	case *arrow.DictionaryType:
		return of.ValueType
	case *arrow.StringViewType, *arrow.BinaryViewType:
		return written
	}
	return found
}

func (j *caseJoin) check(t *testing.T, result *gpujoin.Result, lines [][]string) {
	t.Helper()
	batch, err := result.Record()
	if err != nil {
		t.Fatal(err)
	}
	defer batch.Release()
	types := slices.Clone(j.types)
	for range int(batch.NumCols()) - len(j.types) {
		types = slices.Insert(types, 0, arrow.DataType(arrow.PrimitiveTypes.Uint32))
	}
	for i, of := range batch.Schema().Fields() {
		if !arrow.TypeEqual(outputType(of.Type, types[i]), types[i]) &&
			!isOtherText(of.Type, types[i]) {
			t.Errorf("column %d is %s, expected is %s", i, of.Type, types[i])
		}
	}
	var expected, found []string
	for _, line := range lines {
		if len(line) != len(types) {
			t.Fatalf("%d words for %d columns: %q", len(line), len(types), line)
		}
		words := make([]string, len(line))
		for i, word := range line {
			words[i] = caseWord(word, types[i])
		}
		expected = append(expected, strings.Join(words, " "))
	}
	for row := range int(batch.NumRows()) {
		words := make([]string, batch.NumCols())
		for i, column := range batch.Columns() {
			words[i] = foundWord(column, row)
		}
		found = append(found, strings.Join(words, " "))
	}
	if j.spec.Order == gpujoin.OrderNone {
		slices.Sort(expected)
		slices.Sort(found)
	}
	if !slices.Equal(found, expected) {
		t.Errorf("rows are %q\nexpected are %q", found, expected)
	}
}

// isOtherText: of text and binary values large ones are small ones as views.
func isOtherText(found, written arrow.DataType) bool {
	return arrow.IsBinaryLike(found.ID()) && isText(written) || found.ID() == written.ID()
}

func TestCases(t *testing.T) {
	files, err := filepath.Glob("../../tests/cases/*.txt")
	if err != nil || len(files) < 10 {
		t.Skipf("tests/cases is not here: %d files", len(files))
	}
	c := newContext(t, nil)
	shapes := map[string]func(arrow.Array) arrow.Array{
		"as_written": func(values arrow.Array) arrow.Array { values.Retain(); return values },
		"views":      asViews, "dictionary": asDictionary, "runs": asRuns,
	}
	for name, shape := range shapes {
		for _, path := range files {
			t.Run(name+"/"+strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
				testCase(t, c, readCase(t, path), shape)
			})
		}
	}
}

func testCase(t *testing.T, c *gpujoin.Context, sections []caseSection,
	shape func(arrow.Array) arrow.Array) {
	leftBatch, leftTypes := caseTable(sections[0].lines, shape)
	defer leftBatch.Release()
	rightBatch, rightTypes := caseTable(sections[1].lines, shape)
	defer rightBatch.Release()
	if len(sections) < 4 || len(sections)%2 != 0 {
		t.Fatalf("%d sections", len(sections))
	}
	left, right := relationOf(t, c, leftBatch), relationOf(t, c, rightBatch)
	for i := 2; i < len(sections); i += 2 {
		join := readJoin(t, sections[i].lines, leftTypes, rightTypes)
		result, err := join.run(t, c, left, right)
		if name, is := join.lines["error"]; is {
			if !errors.Is(err, caseErrors[name[0]]) {
				t.Errorf("join %d: the error is %v, expected is %s", i/2, err, name[0])
			}
			continue
		}
		if err != nil {
			t.Errorf("join %d: %v", i/2, err)
			continue
		}
		join.check(t, result, sections[i+1].lines)
		result.Close()
	}
}
