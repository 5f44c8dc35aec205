// join_call.hpp: a cell as relations and a join, ready to be called and checked
#pragma once

#include <string>
#include <vector>

#include "bench/cell_data.hpp"
#include "bench/library.hpp"

namespace gpujoin::bench {

class JoinCall {
 public:
  // The data outlives this object.
  JoinCall(gpujoin_context* context, const Machine& machine, const CellData& data);

  // One gpujoin_join: plans and executes.
  Result join(const gpujoin_plan_options& options) const;

  // Empty when the result is the right one, else what is wrong with it.
  std::string find_fault(Machine& machine, gpujoin_result* result) const;

 private:
  Relation relate(const Machine& machine, const Columns& columns, int64_t rows) const;
  Sums sum_columns(Machine& machine, gpujoin_result* result, int64_t rows) const;
  Sums sum_pairs(Machine& machine, gpujoin_result* result, int64_t rows) const;

  gpujoin_context* context_;
  const CellData& data_;
  Relation build_, probe_;
  std::vector<int32_t> build_columns_, probe_columns_;  // of the output
};

}  // namespace gpujoin::bench
