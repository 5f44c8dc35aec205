// sequence_layout.hpp: what travels from join to join of a sequence, and what each join is asked
// for. Known before the first join runs, but for the numbers of rows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/device_facts.hpp"
#include "src/execute/sequence.hpp"
#include "src/plan/choose_plan.hpp"
#include "src/plan/order_rule.hpp"

namespace gpujoin::execute {

constexpr int32_t kFact = -1;        // in the place of a step
constexpr int32_t kRowNumbers = -1;  // in the place of a column

// Fewer rows than this are joined in less time than weighing the joins to come takes.
constexpr int64_t kFewestRowsToWeigh = int64_t{1} << 21;

// Row numbers in the relation of a step, or one of its columns.
struct Travels {
  int32_t step = kFact;
  int32_t column = kRowNumbers;
  bool operator==(const Travels&) const = default;
};

std::vector<int32_t> distinct(const std::vector<int32_t>& columns);

class SequenceLayout {
 public:
  // The arguments outlive it.
  SequenceLayout(const base::Context& context, const columns::Relation& fact,
                 const SequenceSpec& spec, const gpujoin_plan_options& options,
                 plan::Device device);

  // Whether a dimension's columns travel; else its row numbers do, when it has output columns.
  bool carries_columns(size_t step) const { return carries_columns_[step]; }
  // Whether the rows of the fact relation are asked for after the join.
  bool needs_fact_rows_after(size_t step) const;
  // Whether its row numbers travel.
  bool carries_row_numbers(size_t step) const;
  // What there is after the join, in this order: row numbers of the fact relation, what travelled
  // before, the dimension's row numbers, its columns.
  std::vector<Travels> after(size_t step) const;

  // The join of (foreign key, after(step - 1)) with the dimension.
  columns::JoinSpec join_spec(size_t step) const;
  // The build side is the dimension, whose keys are the unique ones, unless it is the larger side.
  gpujoin_plan_options join_options(size_t step, int64_t left_rows) const;
  // Whether the options leave it to the CPU how it finds a dimension's row.
  bool may_be_looked_up_on_cpu() const;
  // How the output columns of a dimension come, as plans say it; empty: it has none.
  std::string way_of_columns(size_t step) const;
  // What comes after the join when it leaves so many rows.
  plan::SequenceOutlook outlook(size_t step, int64_t rows) const;
  const base::DeviceFacts& facts() const { return facts_; }

 private:
  void choose_carried(Materialize materialize);
  plan::PlanRequest expected_request(size_t step, int64_t rows) const;

  const columns::Relation& fact_;
  const SequenceSpec& spec_;
  const gpujoin_plan_options& options_;
  base::DeviceFacts facts_;  // of the executor
  std::vector<bool> carries_columns_;
};

}  // namespace gpujoin::execute
