// null_patterns.hpp: which of a row's keys are NULL, and how many rows of a side that is so of.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "src/base/queue.hpp"
#include "src/columns/column.hpp"
#include "src/execute/host_bits.hpp"

namespace gpujoin::execute {

// Bit i: the i-th key column is NULL.
using NullPattern = uint32_t;

class NullPatterns {
 public:
  // keys outlive this. Looks at all rows, on the host, where several keys may be NULL.
  NullPatterns(base::Queue& queue, std::shared_ptr<const columns::Relation> relation,
               const std::vector<int32_t>& keys);

  const std::shared_ptr<const columns::Relation>& relation() const { return relation_; }
  const std::vector<int32_t>& keys() const { return keys_; }
  // Those that rows have, with the number of rows.
  const std::map<NullPattern, int64_t>& counts() const { return counts_; }
  // expected: a pattern that rows have.
  std::vector<uint32_t> rows_with(NullPattern pattern) const;

 private:
  NullPattern pattern_of(int64_t row) const;

  std::shared_ptr<const columns::Relation> relation_;
  const std::vector<int32_t>& keys_;
  std::vector<std::pair<size_t, HostBits>> nullable_;  // validity of the keys that have any
  std::map<NullPattern, int64_t> counts_;
};

}  // namespace gpujoin::execute
