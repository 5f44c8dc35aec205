// column.hpp: views of the caller's columns. Views never own; a Relation may hold an owner that
// keeps Arrow memory alive.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpujoin.h"
#include "src/base/context.hpp"
#include "src/base/memory.hpp"
#include "src/columns/join_kind.hpp"

namespace gpujoin::columns {

// Bytes of one value; 0 for a type that this version cannot gather.
int32_t width_of(gpujoin_type type);
// The Arrow format string of a plain type, for example "i" or "w:16".
const char* arrow_format_of(gpujoin_type type);
const char* name_of(gpujoin_type type);
// True for the types allowed as keys: integers, dates, timestamps of 4 and 8 bytes.
bool is_key_type(gpujoin_type type);

struct ColumnView {
  gpujoin_type type = 0;  // 0: a type that may be registered but not used; arrow_format names it
  int32_t width = 0;      // bytes of a value
  const void* data = nullptr;                 // first row's value
  const uint8_t* validity = nullptr;          // null: no NULLs
  int64_t validity_bit_offset = 0;            // of the first row's bit
  base::Memory memory = base::Memory::kHost;  // kPinned counts as host memory that copies faster
  std::string name;
  std::string arrow_format;  // exported with the output column: keeps timezone, decimal precision
};

struct Relation {
  std::shared_ptr<base::Context> context;
  int64_t rows = 0;
  std::vector<ColumnView> columns;
  std::shared_ptr<void> owner;  // releases Arrow memory; null for plain columns
  void* ready_event =
      // a cudaEvent_t* of an imported device array, awaited by the stream before first use
      nullptr;
};

// Most columns that a key may have.
inline constexpr int32_t kMostKeys = 5;

// Of which sides row numbers are put out, when pairs are: a join of a sequence needs those of one.
enum class PairSides { kBoth, kLeft, kRight };

// The validated join specification, by value.
struct JoinSpec {
  // Executors join what matches, whatever the kind. A match may answer more for it: see
  // JoinResult::left_alone.
  JoinKind kind = JoinKind::kInner;
  // 1 to kMostKeys columns of each side, compared pairwise; none of a cross join.
  std::vector<int32_t> left_keys = {0};
  std::vector<int32_t> right_keys = {0};
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
  // A table whose keys turn out to be scattered hashes them: what follows is planned on left rows
  // in order, which partitions would not leave.
  bool in_order = false;

  bool left_rows() const { return pairs && pair_sides != PairSides::kRight; }
  bool right_rows() const { return pairs && pair_sides != PairSides::kLeft; }
};

// What the join's kind does with the rows of a side.
inline RowsOfSide rows_of(const JoinSpec& spec, bool left) { return rows_of(spec.kind, left); }

}  // namespace gpujoin::columns
