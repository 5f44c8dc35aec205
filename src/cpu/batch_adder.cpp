#include "src/cpu/batch_adder.hpp"

#include <algorithm>

namespace gpujoin::cpu {

template <typename Key>
BatchAdder<Key>::BatchAdder(const AddedSources& sources, const GroupStates& states, int32_t worker)
    : from_(sources), are_of_worker_(states.are_of_workers()) {
  for (size_t i = 0; i < states.count(); ++i) states_.push_back(states.of_worker(i, worker));
}

template <typename Key>
const uint64_t* BatchAdder<Key>::valid_bits(const kernels::GroupState& state,
                                            const OutputSource& source,
                                            const SideMatches<Key>& matches,
                                            const uint32_t* numbers) {
  if (source.nullable()) return values_.bits(source, matches);
  // Row numbers, of a column that may be NULL.
  if (source.source != Source::kRowNumber || state.validity.bits == nullptr) return nullptr;
  for (uint32_t at = 0; at < matches.rows; at += 64) {
    uint32_t const rows = std::min(matches.rows - at, 64U);
    uint64_t word = 0;
    for (uint32_t i = 0; i < rows; ++i) {
      word |= uint64_t{kernels::is_valid(state.validity, numbers[at + i])} << i;
    }
    bits_[at / 64] = word;
  }
  return bits_.data();
}

template <typename Key>
void BatchAdder<Key>::write(const MatchBatch<Key>& batch, const PartitionRows& build,
                            const PartitionRows& probe, SharedRows shared) {
  if (batch.rows == 0) return;
  values_.start_batch();
  SideMatches<Key> const of_build{&build, batch.build, batch.rows};
  SideMatches<Key> const of_probe{&probe, batch.probe, batch.rows};
  auto const matches_of = [&](const OutputSource& source) -> const SideMatches<Key>& {
    return source.from_build ? of_build : of_probe;
  };
  AddedRows added;
  added.rows = batch.rows;
  bool is_shared = shared != SharedRows::kNone;
  if (from_.groups >= 0) {
    OutputSource const& source = from_.sources[static_cast<size_t>(from_.groups)];
    std::copy_n(values_.row_numbers(matches_of(source)), batch.rows, groups_.data());
    added.groups = groups_.data();
    if (!source.from_build) is_shared = shared == SharedRows::kOfBoth;
  }
  for (size_t i = 0; i < states_.size(); ++i) {
    added.values = nullptr;
    added.valid = nullptr;
    if (from_.of_states[i] >= 0) {
      OutputSource const& source = from_.sources[static_cast<size_t>(from_.of_states[i])];
      SideMatches<Key> const& matches = matches_of(source);
      bool const is_row = source.source == Source::kRowNumber;
      // The bits first: the values' room is theirs, too.
      if (!is_row) added.valid = valid_bits(states_[i], source, matches, nullptr);
      added.values = values_.values(source, batch.keys, matches);
      if (is_row) {
        auto const* const numbers = reinterpret_cast<const uint32_t*>(added.values);
        added.valid = valid_bits(states_[i], source, matches, numbers);
      }
    }
    add_rows(states_[i], added, is_shared && !are_of_worker_);
  }
}

template class BatchAdder<uint32_t>;
template class BatchAdder<uint64_t>;

}  // namespace gpujoin::cpu
