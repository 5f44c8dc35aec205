// packed_condition.hpp: a condition of columns that travel with their keys, for a batch of matches.
//
// What it compares lies in the packed rows of the partitions at hand, which are in the cache; by
// row number it would be read from columns that are not. For conjunctions of comparisons of plain
// numbers, which have a value for all rows.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include "src/conditions/bound_condition.hpp"
#include "src/cpu/compare_rows.hpp"
#include "src/cpu/packed_field.hpp"
#include "src/cpu/probe_partition.hpp"

namespace gpujoin::cpu {

// A column of a condition, and the side that it is of as the join uses it.
struct ComparedColumn {
  const columns::ColumnView* view = nullptr;
  bool from_build = false;
};

// Not thread-safe: one for each worker.
template <typename Key>
class PackedCondition {
 public:
  // columns: of the condition. None: some do not travel, or it is no such condition.
  static std::unique_ptr<PackedCondition> make(
      std::shared_ptr<const conditions::BoundCondition> bound,
      const std::vector<ComparedColumn>& columns, const RowLayout& build, const RowLayout& probe) {
    if (bound->conjunction.empty()) return nullptr;
    auto made = std::make_unique<PackedCondition>();
    for (size_t i = 0; i < columns.size(); ++i) {
      RowLayout const& layout = columns[i].from_build ? build : probe;
      columns::ColumnView const& view = *columns[i].view;
      Column column;
      column.from_build = columns[i].from_build;
      column.width = static_cast<uint32_t>(view.width);
      CarriedColumn const* const carried = layout.find(&view);
      if (view.validity != nullptr || (carried == nullptr && layout.key != &view)) return nullptr;
      if (carried != nullptr) column.offset = carried->offset;
      made->columns_.push_back(std::move(column));
      conditions::add_source(view, bound->columns[i].of_left, &made->sources_);
    }
    made->bound_ = std::move(bound);
    std::iota(made->each_.begin(), made->each_.end(), 0U);
    return made;
  }

  // answers: [batch.rows] kAnswer*.
  void evaluate(const MatchBatch<Key>& batch, const PartitionRows& build,
                const PartitionRows& probe, uint8_t* answers) {
    for (Column& column : columns_) {
      column.values = values_of(column, batch, column.from_build ? build : probe);
    }
    for (uint32_t first = 0; first < batch.rows; first += kVectorPairs) {
      for (size_t i = 0; i < columns_.size(); ++i) {
        sources_.columns[i].data = columns_[i].values + uint64_t{first} * columns_[i].width;
      }
      PairBatch pairs;
      pairs.left = pairs.right = each_.data();
      pairs.count = std::min(kVectorPairs, batch.rows - first);
      compare_rows(bound_->conjunction, sources_, pairs, answers + first);
    }
  }

 private:
  struct Column {
    bool from_build = false;
    uint32_t width = 0;
    std::optional<uint32_t> offset;  // in the packed row; none: it is the key
    std::vector<std::byte> room;
    const std::byte* values = nullptr;  // of the batch
  };

  static const std::byte* values_of(Column& column, const MatchBatch<Key>& batch,
                                    const PartitionRows& side) {
    if (!column.offset) return reinterpret_cast<const std::byte*>(batch.keys);
    column.room.resize(uint64_t{kBatchRows} * column.width);
    return packed_field(side, column.from_build ? batch.build : batch.probe, batch.rows,
                        *column.offset, column.width, column.room.data());
  }

  std::shared_ptr<const conditions::BoundCondition> bound_;
  std::vector<Column> columns_;
  conditions::Sources sources_;  // of the values of a part of the batch
  std::array<uint32_t, kVectorPairs> each_;
};

}  // namespace gpujoin::cpu
