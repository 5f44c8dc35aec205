// joined_rows.hpp: rows of a join by the numbers of both sides, as a reference finds them and as
// results have them.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/simulator/side_table.hpp"

namespace gpujoin_test {

enum class Mark : int8_t { kNone, kFalse, kTrue, kNull };

struct JoinedRow {
  int64_t left = GPUJOIN_NO_ROW_INT64;
  int64_t right = GPUJOIN_NO_ROW_INT64;
  Mark mark = Mark::kNone;
  auto operator<=>(const JoinedRow&) const = default;
};

// Whether rows of a side come out of a join of the kind.
bool puts_out(gpujoin_join_kind kind, bool left);
bool is_mark(gpujoin_join_kind kind);

struct Reference {
  std::vector<JoinedRow> rows;  // sorted
  bool has_several = false;     // a row of a single join; no rows then
};

// By a map of keys, and for what is unknown by comparing rows. null_equal: of all key columns.
Reference join_by_map(gpujoin_join_kind kind, const SideTable& left, const SideTable& right,
                      bool null_equal);

// Appends the rows of a result that has a side's number and text as its output columns. Empty, or
// what is wrong with it. has_numbers: the result has pairs, which must be those of the columns.
std::string read_rows(gpujoin_result* result, gpujoin_join_kind kind, bool has_numbers,
                      std::vector<JoinedRow>* rows);

}  // namespace gpujoin_test
