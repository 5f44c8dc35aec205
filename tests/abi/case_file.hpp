// case_file.hpp: joins of tests/cases, read. The format is in tests/cases/README.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpujoin.h"
#include "tests/abi/case_condition.hpp"
#include "tests/abi/case_table.hpp"

namespace gpujoin_test {

// One row of an answer, comparable: per value a byte that says valid, how many and which bytes.
using Row = std::string;

struct JoinCase {
  CaseTable left;
  CaseTable right;
  gpujoin_join_kind kind = GPUJOIN_JOIN_INNER;
  std::vector<int32_t> left_keys;
  std::vector<int32_t> right_keys;
  std::vector<int32_t> key_flags;
  std::vector<CaseNode> residual;
  gpujoin_status error = GPUJOIN_OK;  // in the place of rows
  std::optional<gpujoin_asof> asof;
  std::vector<int32_t> left_output;
  std::vector<int32_t> right_output;
  // Which rows of a side are read: row numbers, or a truth value each; neither: all.
  struct Rows {
    std::vector<int64_t> numbers;
    std::vector<bool> bits;
    bool by_numbers = false;
    bool by_bits = false;
  };
  Rows left_rows;
  Rows right_rows;
  int32_t promises = 0;
  bool pairs = false;
  bool mark = false;  // the BOOL column of a mark join, the last one
  std::vector<gpujoin_aggregate> aggregates;
  gpujoin_side by = 0;  // whose rows are the groups
  gpujoin_order order = GPUJOIN_ORDER_NONE;
  std::vector<Row> expected;  // sorted where there is no order

  // Whether rows of a side come out: a semi join's are of one side.
  bool puts_out_left() const;
  bool puts_out_right() const;

  // Type and width of the answer's columns, without the pairs.
  std::vector<CaseColumn> output_columns() const;
  CaseColumn column_of(const gpujoin_aggregate& aggregate) const;
};

// The value's bytes, of a truth value one that is 0 or 1; false for NULL, which has none. Throws
// std::runtime_error.
bool encode(const CaseColumn& column, const std::string& word, std::string* bytes);

// Appends a value to a row.
void append_value(bool valid, std::string_view value, Row* row);

// The joins of a file, which has one pair of tables. Throws std::runtime_error, naming file and
// line.
std::vector<JoinCase> read_cases(const std::string& path);

}  // namespace gpujoin_test
