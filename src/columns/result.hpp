// result.hpp: what a join answers with. Contiguous columns in one kind of memory; buffers are
// shared with exported arrays.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/base/context.hpp"
#include "src/base/memory.hpp"
#include "src/columns/column.hpp"
#include "src/columns/row_marks.hpp"

namespace gpujoin::execute {
struct PlannedJoin;
}

namespace gpujoin::columns {

// Memory that a result column lies in: a pool buffer, or a growing range; whatever it is, the
// pointer holds it.
using Storage = std::shared_ptr<const void>;  // get() is the first byte

struct ResultColumn {
  std::string name;
  std::string arrow_format;
  gpujoin_type type = 0;
  Layout layout = Layout::kValues;  // bits from bit 0 on; text by offsets from 0 on
  int32_t width = 0;                // of a value, where all have one
  Storage data;     // [rows] values, or the bytes of a text's; null when there are none
  Storage offsets;  // of text: [rows + 1] of offset_width bytes; null when rows == 0
  int32_t offset_width = 0;
  uint64_t text_bytes = 0;  // of data, of text
  // Of dictionaries, views and decimals: what the column that it was made of has.
  std::shared_ptr<const ColumnParts> parts;
  Storage validity;  // bits, first row in bit 0, 4-byte words; null: no NULLs
  int64_t null_count = 0;
  uint64_t room = 0;  // rows that data has memory for, where it is more than there are
};

struct StageStatistics {
  std::string stage;
  std::string technique;
  double milliseconds = 0;
  uint64_t predicted_bytes = 0;
};

struct Statistics {
  gpujoin_device device = 0;
  std::string plan;
  std::function<std::string()> reason;  // of the plan, made for who asks
  int64_t left_rows = 0;
  int64_t right_rows = 0;
  double milliseconds = 0;
  uint64_t peak_memory_bytes = 0;
  int32_t output_resumes = 0;
  std::vector<StageStatistics> stages;
};

// Rows of one side that came out of a match without pairs.
struct RowsAlone {
  bool with_match = false;  // or those without one
  int64_t rows = 0;
  Storage numbers;                    // [rows] uint32, once each, in any order; or null
  std::vector<ResultColumn> columns;  // the side's output columns
};

// Groups that a match added up where it found what belongs to them.
struct AddedGroups {
  RowsAlone rows;               // of the side that has a group a row
  std::vector<Storage> states;  // [rows] int64 of each state
};

// Of a sequence: row numbers of one dimension.
struct StepRows {
  bool come_out = true;  // not of a semi join
  Storage rows;          // [rows] uint32, GPUJOIN_NO_ROW: none
  bool may_miss = false;
  Storage validity;  // null: all are there
  int64_t missing = 0;
};

struct JoinResult {
  std::shared_ptr<base::Context> context;
  base::Memory memory = base::Memory::kHost;  // of everything below
  int64_t rows = 0;
  bool has_pairs = false;
  PairSides pair_sides = PairSides::kBoth;
  bool keeps_left = false;  // row i is of left row i: what JoinSpec::keep_left asked for
  bool has_left_rows() const { return has_pairs && pair_sides != PairSides::kRight; }
  bool has_right_rows() const { return has_pairs && pair_sides != PairSides::kLeft; }
  Storage left_rows;   // [rows] uint32, when has_pairs; GPUJOIN_NO_ROW: none
  Storage right_rows;  // [rows] uint32, when has_pairs
  // Bits of those that are there, and how many are not; null: all are.
  uint64_t row_numbers_room = 0;  // as ResultColumn::room
  Storage left_rows_validity;
  Storage right_rows_validity;
  int64_t left_rows_missing = 0;
  int64_t right_rows_missing = 0;
  // [rows] int64, what the caller calls these rows, where it gave them numbers; any of rows that
  // are not there. Null: left_rows, right_rows are what it calls them.
  Storage left_numbers;
  Storage right_numbers;
  // Of a piece of a side: the row of the whole side that left_rows and right_rows count from.
  int64_t left_first_row = 0;
  int64_t right_first_row = 0;
  // Whether the kind of join may leave some out, whatever the data.
  bool may_miss_left_rows = false;
  bool may_miss_right_rows = false;
  // Rows without a match have a pair already, with GPUJOIN_NO_ROW; the bits of those that are there
  // are made for who asks: rows_validity.
  bool unmatched_among_pairs = false;
  Storage (*find_rows_validity)(base::Queue& queue, const JoinResult& result, bool left) = nullptr;
  // Null: all are there.
  Storage rows_validity(base::Queue& queue, bool left) const {
    if ((left ? left_rows_missing : right_rows_missing) == 0) return nullptr;
    return unmatched_among_pairs ? find_rows_validity(queue, *this, left)
                                 : (left ? left_rows_validity : right_rows_validity);
  }
  // What a match that can found beside pairs, or in their place, for JoinSpec::kind: see
  // execute/alone_task.hpp. Others leave it to marks.
  std::optional<RowsAlone> left_alone;
  std::optional<RowsAlone> right_alone;
  std::optional<AddedGroups> added;  // in the place of rows
  std::shared_ptr<RowMarks> marks;   // of JoinSpec::marked
  // Of pairs of which the caller has to say which ones match.
  std::shared_ptr<const execute::PlannedJoin> undecided;
  std::vector<StepRows> step_rows;    // of a sequence in the place of right_rows: of each dimension
  std::vector<ResultColumn> columns;  // left output columns, then right ones
  Statistics statistics;
};

// A pool buffer as Storage.
Storage make_storage(base::Buffer buffer);

// A column of the same name and type, without values.
ResultColumn column_like(const ColumnView& view);

}  // namespace gpujoin::columns
