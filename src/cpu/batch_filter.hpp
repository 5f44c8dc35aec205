// batch_filter.hpp: what the matches of a batch must pass before they are written, and rows that
// are marked by them.
//
// Key columns that are equal, where keys are their hashes; a condition of both rows. A byte says of
// each row of a side whether it has a match, where a join wants to know; one of which that side
// comes out alone writes no match.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "src/columns/column.hpp"
#include "src/conditions/bound_condition.hpp"
#include "src/cpu/evaluate_condition.hpp"
#include "src/cpu/key_columns.hpp"
#include "src/cpu/packed_condition.hpp"
#include "src/cpu/packed_field.hpp"
#include "src/cpu/probe_partition.hpp"
#include "src/cpu/row_marks.hpp"

namespace gpujoin::cpu {

struct MatchFilter {
  std::vector<ComparedColumns> verified;  // of keys that are hashes
  // Null: none. Where there is one, rows of both sides carry their numbers.
  std::shared_ptr<const conditions::BoundCondition> residual;
  const columns::Relation* build = nullptr;  // that it reads
  const columns::Relation* probe = nullptr;
  const RowLayout* build_layout = nullptr;  // of packed rows
  const RowLayout* probe_layout = nullptr;
  bool build_left = false;
  uint8_t* marks = nullptr;  // [rows of the marked side] set to 1
  bool marks_build = false;
  bool marks_again = false;   // rows are marked many times each, as far as one can foresee
  bool keeps_matches = true;  // false: they are marked, and nothing is written

  bool is_empty() const { return verified.empty() && residual == nullptr && marks == nullptr; }
};

// Not thread-safe: one for each worker.
template <typename Key>
class BatchFilter {
 public:
  explicit BatchFilter(const MatchFilter& filter) : filter_(filter) {
    if (filter.residual == nullptr) return;
    std::vector<ComparedColumn> columns;
    for (conditions::BoundColumn const& column : filter.residual->columns) {
      bool const from_build = column.of_left == filter.build_left;
      columns::Relation const& relation = from_build ? *filter.build : *filter.probe;
      columns.push_back({&relation.columns[static_cast<size_t>(column.column)], from_build});
    }
    packed_ = PackedCondition<Key>::make(filter.residual, columns, *filter.build_layout,
                                         *filter.probe_layout);
    if (packed_ != nullptr) return;
    by_number_.emplace(filter.residual, filter.build_left ? *filter.build : *filter.probe,
                       filter.build_left ? *filter.probe : *filter.build);
  }

  // Leaves in the batch what is to be written.
  void apply(MatchBatch<Key>& batch, const PartitionRows& build, const PartitionRows& probe) {
    if constexpr (sizeof(Key) == sizeof(uint64_t)) {
      if (!filter_.verified.empty()) drop_unequal(filter_.verified, build, probe, batch);
    }
    if (filter_.residual != nullptr) drop_untrue(batch, build, probe);
    if (filter_.marks == nullptr) return;
    // Threads that mark the same row store the same byte.
    RowMarks::mark_in(filter_.marks,
                      packed_row_numbers(filter_.marks_build ? build : probe,
                                         filter_.marks_build ? batch.build : batch.probe,
                                         batch.rows, build_rows_.data()),
                      batch.rows, filter_.marks_again);
    if (!filter_.keeps_matches) batch.rows = 0;
  }

 private:
  void drop_untrue(MatchBatch<Key>& batch, const PartitionRows& build, const PartitionRows& probe) {
    if (packed_ != nullptr) {
      packed_->evaluate(batch, build, probe, answers_.data());
    } else {
      evaluate_by_number(batch, build, probe);
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < batch.rows; ++i) {
      batch.keys[kept] = batch.keys[i];
      batch.build[kept] = batch.build[i];
      batch.probe[kept] = batch.probe[i];
      kept += answers_[i] == kAnswerTrue ? 1 : 0;
    }
    batch.rows = kept;
  }

  void evaluate_by_number(const MatchBatch<Key>& batch, const PartitionRows& build,
                          const PartitionRows& probe) {
    auto const* const of_build =
        packed_row_numbers(build, batch.build, batch.rows, build_rows_.data());
    auto const* const of_probe =
        packed_row_numbers(probe, batch.probe, batch.rows, probe_rows_.data());
    by_number_->evaluate(filter_.build_left ? of_build : of_probe,
                         filter_.build_left ? of_probe : of_build, batch.rows, answers_.data());
  }

  const MatchFilter& filter_;
  std::unique_ptr<PackedCondition<Key>> packed_;  // of the residual, where it can be one
  std::optional<ConditionEvaluator> by_number_;   // else
  alignas(64) std::array<uint32_t, kBatchRows> build_rows_;
  alignas(64) std::array<uint32_t, kBatchRows> probe_rows_;
  alignas(64) std::array<uint8_t, kBatchRows> answers_;
};

}  // namespace gpujoin::cpu
