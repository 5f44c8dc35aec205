#include "src/execute/null_patterns.hpp"

#include "src/columns/validity_bits.hpp"

namespace gpujoin::execute {

NullPatterns::NullPatterns(base::Queue& queue, std::shared_ptr<const columns::Relation> relation,
                           const std::vector<int32_t>& keys)
    : relation_(std::move(relation)), keys_(keys) {
  int64_t const rows = relation_->rows;
  for (size_t i = 0; i < keys_.size(); ++i) {
    columns::ColumnView const& column = relation_->columns[static_cast<size_t>(keys_[i])];
    if (column.validity == nullptr) continue;
    nullable_.emplace_back(i, validity_on_host(queue, column, rows));
  }
  if (nullable_.size() > 1) {
    for (int64_t row = 0; row < rows; ++row) ++counts_[pattern_of(row)];
    return;
  }
  int64_t nulls = 0;
  if (!nullable_.empty()) {
    auto const& [key, bits] = nullable_.front();
    nulls = columns::count_nulls(bits.bits, bits.first_bit, rows);
    if (nulls != 0) counts_[NullPattern{1} << key] = nulls;
  }
  if (nulls != rows) counts_[0] = rows - nulls;
}

std::vector<uint32_t> NullPatterns::rows_with(NullPattern pattern) const {
  std::vector<uint32_t> rows;
  rows.reserve(static_cast<size_t>(counts_.at(pattern)));
  for (int64_t row = 0; row < relation_->rows; ++row) {
    if (pattern_of(row) == pattern) rows.push_back(static_cast<uint32_t>(row));
  }
  return rows;
}

NullPattern NullPatterns::pattern_of(int64_t row) const {
  NullPattern pattern = 0;
  for (auto const& [key, bits] : nullable_) {
    pattern |= bits.is_set(row) ? 0 : NullPattern{1} << key;
  }
  return pattern;
}

}  // namespace gpujoin::execute
