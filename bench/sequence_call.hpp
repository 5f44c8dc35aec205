// sequence_call.hpp: a fact table joined with one dimension after the other, called and checked
#pragma once

#include <string>
#include <vector>

#include "bench/machine.hpp"
#include "bench/query.hpp"

namespace gpujoin::bench {

class SequenceCall final : public Query {
 public:
  SequenceCall(gpujoin_context* context, Machine& machine, const Sequence& sequence, int joins,
               const gpujoin_plan_options& options);

  Result call_library() const override;
  std::string find_fault(gpujoin_result* result) const override;

  // Rows of the fact table and of every dimension joined.
  int64_t input_rows() const override;
  int64_t largest_input() const override;
  // The fact row's number, and a payload of each dimension.
  std::optional<uint64_t> output_row_bytes() const override {
    return static_cast<uint64_t>(1 + joins_) * sizeof(int32_t);
  }
  uint64_t expected_rows() const override { return sequence_.fact_rows; }

 private:
  Values allocate(uint64_t rows);
  Relation describe_relation(const std::vector<Values>& columns, uint64_t rows) const;
  void make_fact();
  void make_dimension(int join);

  gpujoin_context* context_;
  Machine& machine_;
  Sequence sequence_;
  int joins_;
  gpujoin_plan_options options_;
  std::vector<Memory> memory_;
  uint64_t expected_hash_ = 0;
  Relation fact_;  // its id, then the foreign keys
  std::vector<Relation> dimensions_;
};

}  // namespace gpujoin::bench
