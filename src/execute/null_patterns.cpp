#include "src/execute/null_patterns.hpp"

#include <utility>

#include "src/base/memory.hpp"

namespace gpujoin::execute {

using columns::ColumnView;
using columns::RowBits;
using columns::Storage;

NullPatterns::NullPatterns(ColumnWork& work, std::shared_ptr<const columns::Relation> relation,
                           const std::vector<int32_t>& keys)
    : work_(work), relation_(std::move(relation)), keys_(keys) {
  int64_t const rows = relation_->rows;
  counts_[0] = static_cast<uint64_t>(rows);
  rows_[0] = {};
  for (size_t key = 0; key < keys_.size(); ++key) {
    ColumnView const& column = relation_->columns[static_cast<size_t>(keys_[key])];
    if (column.validity == nullptr) continue;
    split_by(key, bring_bits(work_, column.validity, column.validity_bit_offset, column.memory,
                             rows, &held_));
  }
}

void NullPatterns::split_by(size_t key, const RowBits& valid) {
  RowBits null = valid;
  null.are_unset = true;
  std::map<NullPattern, uint64_t> const counts = std::exchange(counts_, {});
  for (auto const& [pattern, count] : counts) {
    RowBits const picked = std::exchange(rows_[pattern], {});
    RowBits with_null = among(picked, null);
    columns::PickedCount counted = work_.count_picked(with_null);
    with_null.before = std::move(counted.before);
    if (counted.rows != count) {
      counts_[pattern] = count - counted.rows;
      rows_[pattern] = counted.rows == 0 ? picked : among(picked, valid);
    }
    if (counted.rows == 0) continue;
    NullPattern const own = pattern | NullPattern{1} << key;
    counts_[own] = counted.rows;
    rows_[own] = std::move(with_null);
  }
}

RowBits NullPatterns::among(const RowBits& picked, const RowBits& bits) {
  if (picked.bits == nullptr) return bits;
  held_.push_back(work_.mask_rows(picked, bits));
  return {static_cast<const uint8_t*>(held_.back().get()), 0, picked.rows};
}

Storage NullPatterns::rows_with(NullPattern pattern) {
  uint64_t const count = counts_.at(pattern);
  Storage numbers =
      work_.allocate(base::checked_bytes(count, sizeof(uint32_t)), "rows by their NULLs");
  work_.pick_rows(rows_.at(pattern), count, {},
                  static_cast<uint32_t*>(const_cast<void*>(numbers.get())));
  return numbers;
}

}  // namespace gpujoin::execute
