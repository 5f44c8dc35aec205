// join_call.hpp: a cell as relations and a join, ready to be called and checked
#pragma once

#include <string>
#include <vector>

#include "bench/cell_data.hpp"
#include "bench/library.hpp"
#include "bench/query.hpp"

namespace gpujoin::bench {

class JoinCall final : public Query {
 public:
  // The source keeps this cell's data as long as this object lives.
  JoinCall(gpujoin_context* context, Machine& machine, CellDataSource& source, const Cell& cell,
           const gpujoin_plan_options& options);

  Result call_library() const override;
  void fetch(gpujoin_result* result) const override;
  bool is_fetched() const override { return !fetches_.empty(); }
  std::string find_fault(gpujoin_result* result) const override;

  int64_t input_rows() const override { return data_.cell.build_rows + data_.cell.probe_rows; }
  int64_t largest_input() const override {
    return std::max(data_.cell.build_rows, data_.cell.probe_rows);
  }
  uint64_t expected_rows() const override { return data_.expected.rows; }
  std::optional<uint64_t> output_row_bytes() const override;

 private:
  Relation relate(const Columns& columns, int64_t rows, gpujoin_memory memory) const;
  void prepare_fetch();
  Sums sum_columns(gpujoin_result* result, int64_t rows) const;
  Sums sum_pairs(gpujoin_result* result, int64_t rows) const;

  gpujoin_context* context_;
  Machine& machine_;
  const CellData& data_;
  gpujoin_plan_options options_;
  bool is_in_place_;  // the join reads its inputs where they lie, and leaves its result there
  std::vector<int32_t> build_keys_, probe_keys_;
  std::vector<int32_t> build_columns_, probe_columns_;  // of the output
  Relation build_, probe_;
  std::vector<Memory> fetched_;
  std::vector<gpujoin_fetch> fetches_;  // into fetched_; empty when the result stays where it is
};

}  // namespace gpujoin::bench
