// gpu_side.hpp: one relation on its way through the GPU path, and the steps that need both.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "src/base/context.hpp"
#include "src/columns/column.hpp"
#include "src/columns/device_column.hpp"
#include "src/columns/result.hpp"
#include "src/match/match.hpp"
#include "src/materialize/materialize.hpp"
#include "src/output/growing_pairs.hpp"
#include "src/plan/join_plan.hpp"
#include "src/transform/transform.hpp"

namespace gpujoin::execute {

class GpuSide {
 public:
  // Transfers the keys and the output columns; waits for nothing.
  GpuSide(base::Context& context, const columns::Relation& relation,
          const std::vector<int32_t>& keys, const std::vector<int32_t>& output_columns);

  // Keys as the plan's transform wants them: without NULLs, mixed for a radix partition. The row multiset's stay in their columns.
  void prepare(const plan::JoinPlan& plan);
  // Orders the keys with the first column that the plan moves along: row numbers, or the first payload.
  void order(const plan::JoinPlan& plan, transform::KeyBits bits);
  void find_partitions(int32_t radix_bits);

  int32_t key_width() const { return keys_.front().width; }
  const transform::PreparedKeys& prepared() const { return prepared_; }
  // by_position: the match is to write transformed positions, not row numbers of the input.
  match::MatchSide match_side(bool by_position) const;
  // For the match that compares keys in their columns.
  match::KeyRows key_rows() const;
  kernels::PartitionView partitions() const;

  // Result columns with names and types, without values.
  std::vector<columns::ResultColumn> empty_columns() const;
  // What the null counters are sized by.
  size_t nullable_columns() const;
  static constexpr size_t kNoKey = SIZE_MAX;
  // Which key column an output column is, or kNoKey.
  size_t key_number(size_t output_column) const;
  bool is_key(size_t output_column) const { return key_number(output_column) != kNoKey; }

  // Gathers of the payloads by row number in the input.
  void request_untransformed(columns::ResultColumn* targets,
                             std::vector<materialize::Request>* requests) const;
  // Gathers the payloads by transformed position. Each further payload is moved by the same keys just before its gather, and let
  // go after it (Wu et al. 2024, Algorithm 1). requests: what to gather along with the first.
  void gather_transformed(const uint32_t* positions, uint64_t pairs,
                          materialize::NullCounts& null_counts, columns::ResultColumn* targets,
                          std::vector<materialize::Request> requests);
  // Row numbers in the input of transformed positions: [pairs] uint32.
  columns::Storage row_numbers(const uint32_t* positions, uint64_t pairs);
  // Where a key output column comes from: the transformed keys, or the input column.
  materialize::Source key_source(bool by_position, size_t key_number) const;
  bool has_key_output() const;

 private:
  static constexpr size_t kRowIds =
      SIZE_MAX;  // what the first moved column is when it is not a payload

  transform::Transformed move(const transform::PreparedColumn& column) const;

  base::Context& context_;
  const columns::Relation& relation_;
  const std::vector<int32_t>& key_indices_;
  const std::vector<int32_t>& output_columns_;
  std::vector<columns::DeviceColumn> keys_;
  std::vector<columns::DeviceColumn> payloads_;  // one an output column; empty for a key's
  transform::PreparedKeys prepared_;
  transform::Order order_;
  transform::Transformed ordered_;  // keys, and the first moved column
  size_t first_moved_ = kRowIds;    // which output column that is
};

// Whether the match writes transformed positions. Gather-transformed needs them. Gather-untransformed fetches a key output column
// by them, clustered, and turns them into row numbers afterwards: two clustered reads for an unclustered one.
bool matches_by_position(const plan::JoinPlan& plan, const GpuSide& build, const GpuSide& probe);

void transform_sides(base::Context& context, const plan::JoinPlan& plan, GpuSide& build,
                     GpuSide& probe);

void materialize_sides(base::Context& context, const plan::JoinPlan& plan, GpuSide& build,
                       GpuSide& probe, output::GrowingPairs& pairs, bool build_left,
                       columns::JoinResult& result);

}  // namespace gpujoin::execute
