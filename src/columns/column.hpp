// column.hpp: views of the caller's columns. Views never own; a Relation may hold an owner that
// keeps Arrow memory alive.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpujoin.h"
#include "src/base/context.hpp"
#include "src/base/memory.hpp"
#include "src/columns/condition.hpp"
#include "src/columns/join_kind.hpp"

namespace gpujoin::columns {

// How a column's values lie.
enum class Layout : int32_t {
  kValues,   // `width` bytes a row: 1, 2, 4, 8 or 16, which every executor moves
  kWide,     // `width` bytes a row, any other number or alignment
  kBits,     // a bit a row
  kText,     // bytes between two offsets
  kViews,    // 16 bytes a row, which hold the value or say in which buffer it lies
  kIndices,  // `width` bytes a row: a position in a dictionary
  kRuns,     // runs of equal values: where each ends, and its value
  kNulls,    // nothing: all rows are NULL
  kOther,    // nested and unknown types, which come out by row number
};

// Bytes of one value; 0 for a type that has none, or any number.
int32_t width_of(gpujoin_type type);
Layout layout_of(gpujoin_type type);
// The Arrow format string of a plain type, for example "i" or "w:16".
const char* arrow_format_of(gpujoin_type type);
const char* name_of(gpujoin_type type);
// True for integers, dates, timestamps of 4 and 8 bytes: two columns of one such type compare by
// their bits.
bool is_key_type(gpujoin_type type);

struct ColumnView;

// What some layouts have beside data, validity and width. Shared: results of dictionaries and views
// hold what they were made from.
struct ColumnParts {
  const void* offsets = nullptr;  // text: [rows + 1], the first row's first; data: what they count
  int32_t offset_width = 0;       // 4 or 8
  int64_t first_bit = 0;          // bits: of the first row
  int32_t scale = 0;              // decimals
  // Views: the buffers they name, and their bytes.
  std::vector<const void*> buffers;
  std::vector<int64_t> buffer_bytes;
  // Dictionaries: their values. Runs: the values of the runs.
  std::shared_ptr<const ColumnView> values;
  int64_t value_rows = 0;
  int64_t first_row = 0;  // runs: of the column, among the rows that their ends count
  // Dictionaries: as they were imported.
  const ArrowSchema* dictionary_schema = nullptr;
  const ArrowArray* dictionary_array = nullptr;
  bool is_ordered = false;
  base::Memory memory = base::Memory::kHost;  // where buffers and dictionaries lie
  std::shared_ptr<const void> owner;  // of all of that, where it is not the caller's to keep
};

// Whether its offsets have 8 bytes. expected: of text.
inline bool is_large_text(gpujoin_type type) {
  return type == GPUJOIN_TYPE_LARGE_UTF8 || type == GPUJOIN_TYPE_LARGE_BINARY;
}
// Where the bytes of `rows` rows of text begin and end. expected: offsets that the host reads.
std::pair<int64_t, int64_t> first_and_last_offset(const ColumnParts& parts, int64_t rows);

struct ColumnView {
  gpujoin_type type = 0;  // 0: a type that may be registered but not used; arrow_format names it
  int32_t width = 0;      // bytes of a value, of an index, of a run's end
  Layout layout = Layout::kValues;
  const void* data = nullptr;                 // first row's value; of runs, their ends
  const uint8_t* validity = nullptr;          // null: no NULLs
  int64_t validity_bit_offset = 0;            // of the first row's bit
  base::Memory memory = base::Memory::kHost;  // kPinned counts as host memory that copies faster
  std::string name;
  std::string arrow_format;  // exported with the output column: keeps timezone, decimal precision
  std::shared_ptr<const ColumnParts> parts;  // null where there are none
};

// Whether output columns of it are written by the joins themselves, as values of `width` bytes, and
// not by row number when the rows are known.
inline bool is_moved_as_values(Layout layout) {
  return layout == Layout::kValues || layout == Layout::kIndices || layout == Layout::kViews;
}

// Whether a column's rows name those of another one, its parts->values.
inline bool names_values(const ColumnView& column) {
  return column.layout == Layout::kIndices || column.layout == Layout::kRuns;
}

// See selection.hpp.
struct Selection;
struct Origin;

struct Relation {
  std::shared_ptr<base::Context> context;
  int64_t rows = 0;
  std::vector<ColumnView> columns;
  std::shared_ptr<void> owner;  // releases Arrow memory; null for plain columns
  void* ready_event =
      // a cudaEvent_t* of an imported device array, awaited by the stream before first use
      nullptr;
  // The columns are those of the relation whose rows it picks; null: all rows are read.
  std::shared_ptr<const Selection> selection;
  std::shared_ptr<const Origin> origin;  // of copies of the rows that were picked; else null
};

// Most columns that a key may have: the caller's, and those that are made of them.
inline constexpr int32_t kMostKeys = 16;

// How two key columns are compared; or-ed.
inline constexpr int32_t kNullEqual = GPUJOIN_KEY_NULL_EQUAL;
inline constexpr int32_t kIeeeFloat = GPUJOIN_KEY_IEEE_FLOAT;

// Of which sides row numbers are put out, when pairs are: a join of a sequence needs those of one.
enum class PairSides { kBoth, kLeft, kRight };

// Of which side rows that have a match are marked, in the place of all output.
enum class MarkedSide { kNone, kLeft, kRight };

// A left row matches the one right row that is next to it in an ordered column.
struct Asof {
  gpujoin_direction direction = 0;
  int32_t left_column = 0;
  int32_t right_column = 0;
  bool is_strict = false;
  bool has_tolerance = false;
  int64_t tolerance = 0;  // in units of the finer column
  double tolerance_float = 0;
};

// A column of a join's groups.
struct Aggregate {
  gpujoin_function function = 0;
  bool of_left = false;  // the column's side
  int32_t column = -1;   // none of COUNT_ROWS and EXISTS
  std::string name;
};

enum class Groups : int32_t { kAll, kLeft, kRight };  // one of all rows, or one a row of a side

enum class RowOrder : int32_t {
  kNone = GPUJOIN_ORDER_NONE,
  kProbe = GPUJOIN_ORDER_PROBE,
  kLeft = GPUJOIN_ORDER_LEFT,
  kRight = GPUJOIN_ORDER_RIGHT,
};

// What the caller says of the data, and the most that it wants; see gpujoin.h.
struct Bounds {
  int32_t promises = 0;  // GPUJOIN_PROMISE_*
  int64_t promised_rows = 0;
  int64_t row_limit = 0;    // 0: none
  uint64_t byte_limit = 0;  // 0: none
};

// The validated join specification, by value.
struct JoinSpec {
  // Executors join what matches, whatever the kind. A match may answer more for it: see
  // JoinResult::left_alone.
  JoinKind kind = JoinKind::kInner;
  // 1 to kMostKeys columns of each side, compared pairwise; none of a cross join.
  std::vector<int32_t> left_keys = {0};
  std::vector<int32_t> right_keys = {0};
  std::vector<int32_t> key_flags;             // of each key; none: 0
  std::shared_ptr<const Condition> residual;  // null: none
  // The caller tells which of the pairs match: see execute/decide.hpp.
  bool caller_decides = false;
  // Of joins with a residual, whose matches nothing but the pairs themselves can tell, and of build
  // sides that the CPU keeps.
  MarkedSide marked = MarkedSide::kNone;
  std::optional<Asof> asof;
  std::vector<Aggregate> aggregates;  // in the place of rows
  Groups groups = Groups::kAll;
  RowOrder order = RowOrder::kNone;
  Bounds bounds;
  bool pairs = false;
  // Nobody asked for them but who marks rows by them: a match that tells the rows itself leaves
  // them out.
  bool pairs_for_marks = false;
  PairSides pair_sides = PairSides::kBoth;
  bool materialize = false;
  std::vector<int32_t> left_columns;
  std::vector<int32_t> right_columns;
  // A join by a table of the right side, without left columns or rows, shall answer row i of the
  // result for left row i. Where one has no match, or several, it answers nothing:
  // JoinResult::keeps_left says which.
  bool keep_left = false;
  // The build side is kept for other probe sides, and keys compare as they are: see
  // execute/kept_build.hpp.
  bool of_kept = false;
  // A table whose keys turn out to be scattered hashes them: what follows is planned on left rows
  // in order, which partitions would not leave.
  bool in_order = false;

  bool left_rows() const { return pairs && pair_sides != PairSides::kRight; }
  bool right_rows() const { return pairs && pair_sides != PairSides::kLeft; }
};

// What the join's kind does with the rows of a side.
inline RowsOfSide rows_of(const JoinSpec& spec, bool left) { return rows_of(spec.kind, left); }

}  // namespace gpujoin::columns
