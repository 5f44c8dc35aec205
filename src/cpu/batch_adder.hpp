// batch_adder.hpp: a batch of matches added to the states of their groups, so that no output row is
// written.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "src/cpu/batch_values.hpp"
#include "src/cpu/group_states.hpp"
#include "src/cpu/match_sink.hpp"

namespace gpujoin::cpu {

// Where the matches' groups and the values that are added come from.
struct AddedSources {
  std::vector<OutputSource> sources;
  int32_t groups = -1;             // the row numbers among them; -1: all are of group 0
  std::vector<int32_t> of_states;  // of each state; -1: matches are counted
};

template <typename Key>
class BatchAdder final : public MatchSink<Key> {
 public:
  BatchAdder(const AddedSources& sources, const GroupStates& states, int32_t worker);

  void write(const MatchBatch<Key>& batch, const PartitionRows& build, const PartitionRows& probe,
             SharedRows shared) override;

 private:
  const uint64_t* valid_bits(const kernels::GroupState& state, const OutputSource& source,
                             const SideMatches<Key>& matches, const uint32_t* numbers);

  const AddedSources& from_;
  bool are_of_worker_;
  std::vector<kernels::GroupState> states_;
  BatchValues<Key> values_;
  alignas(64) std::array<uint32_t, kBatchRows> groups_;
  alignas(64) std::array<uint64_t, kBatchRows / 64> bits_;
};

extern template class BatchAdder<uint32_t>;
extern template class BatchAdder<uint64_t>;

// sources, states: outlive the sinks.
class BatchAdders final : public MatchSinks {
 public:
  BatchAdders(const AddedSources& sources, const GroupStates& states)
      : sources_(sources), states_(states) {}
  std::unique_ptr<MatchSink<uint32_t>> make_narrow(int32_t worker) override {
    return std::make_unique<BatchAdder<uint32_t>>(sources_, states_, worker);
  }
  std::unique_ptr<MatchSink<uint64_t>> make_wide(int32_t worker) override {
    return std::make_unique<BatchAdder<uint64_t>>(sources_, states_, worker);
  }

 private:
  const AddedSources& sources_;
  const GroupStates& states_;
};

}  // namespace gpujoin::cpu
