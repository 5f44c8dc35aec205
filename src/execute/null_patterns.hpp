// null_patterns.hpp: which of a row's keys are NULL, and the rows of a side that is so of.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "src/columns/column.hpp"
#include "src/columns/selection.hpp"
#include "src/execute/column_work.hpp"

namespace gpujoin::execute {

// Bit i: the i-th key column is NULL.
using NullPattern = uint32_t;

class NullPatterns {
 public:
  // work and keys outlive this. Reads the keys' validity, a bit a row of each, where `work` does.
  NullPatterns(ColumnWork& work, std::shared_ptr<const columns::Relation> relation,
               const std::vector<int32_t>& keys);

  const std::shared_ptr<const columns::Relation>& relation() const { return relation_; }
  const std::vector<int32_t>& keys() const { return keys_; }
  // Those that rows have, with the number of rows.
  const std::map<NullPattern, uint64_t>& counts() const { return counts_; }
  // Ascending, [count] uint32 where `work` reads them. expected: a pattern that rows have, not 0.
  columns::Storage rows_with(NullPattern pattern);

 private:
  void split_by(size_t key, const columns::RowBits& valid);
  // Those of the bits that are among the picked rows. picked.bits null: all rows.
  columns::RowBits among(const columns::RowBits& picked, const columns::RowBits& bits);

  ColumnWork& work_;
  std::shared_ptr<const columns::Relation> relation_;
  const std::vector<int32_t>& keys_;
  std::map<NullPattern, uint64_t> counts_;
  std::map<NullPattern, columns::RowBits> rows_;  // of each; bits null: all rows
  Held held_;
};

}  // namespace gpujoin::execute
