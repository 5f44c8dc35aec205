#include "src/cpu/group_states.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <utility>

#include "src/cpu/value_width.hpp"

namespace gpujoin::cpu {

namespace {

using kernels::GroupState;
using kernels::StateKind;

// Groups of which each worker has states of its own.
constexpr uint64_t kMostGroupsOfWorkers = uint64_t{1} << 16;
constexpr uint32_t kAddedAtOnce = 4096;

// What a batch of output rows brings of one state.
class PairBatch {
 public:
  AddedRows rows_of(const GroupState& state, uint64_t first, uint32_t rows) {
    AddedRows added;
    added.rows = rows;
    if (state.rows == nullptr) return added;
    const uint32_t* const numbers = state.rows + first;
    for (uint32_t at = 0; at < rows; at += 64) {
      uint64_t word = 0;
      uint32_t const end = std::min(rows - at, 64U);
      for (uint32_t i = 0; i < end; ++i) {
        uint32_t const row = numbers[at + i];
        bool const is_there = row != kernels::kNoAddedRow && kernels::is_valid(state.validity, row);
        word |= uint64_t{is_there} << i;
      }
      bits_[at / 64] = word;
    }
    added.valid = bits_;
    if (kernels::keeps_row(state.kind)) {
      added.values = reinterpret_cast<const std::byte*>(numbers);
    } else if (state.kind != StateKind::kRows) {
      added.values = room_;
      auto const* const base = reinterpret_cast<const std::byte*>(state.numbers.values);
      auto const fetch = [&](auto value) {
        using Value = decltype(value);
        for (uint32_t i = 0; i < rows; ++i) {
          if (!is_set(bits_, i)) continue;
          std::memcpy(room_ + i * sizeof(Value), base + uint64_t{numbers[i]} * sizeof(Value),
                      sizeof(Value));
        }
      };
      if (state.numbers.width == 32) {
        fetch(kernels::Wide{});
      } else {
        with_width(state.numbers.width, fetch);
      }
    }
    return added;
  }

 private:
  alignas(64) std::byte room_[kAddedAtOnce * 32];
  uint64_t bits_[kAddedAtOnce / 64];
};

}  // namespace

GroupStates::GroupStates(base::Queue& queue, Workers& workers, std::vector<GroupState> states,
                         uint64_t groups)
    : states_(std::move(states)),
      groups_(groups),
      copies_(groups <= kMostGroupsOfWorkers ? static_cast<uint64_t>(workers.threads()) : 1) {
  for (GroupState& state : states_) {
    uint64_t const words = base::checked_bytes(
        base::checked_bytes(groups_, static_cast<uint64_t>(state.words)), copies_);
    base::Buffer values =
        queue.host_pool->allocate_rows<uint64_t>(base::Memory::kHost, words, "states of groups");
    state.values = values.as<uint64_t>();
    int const first = kernels::first_byte_of(state.kind);
    workers.for_each_range("aggregate", words, uint64_t{1} << 20, [&](uint64_t from, uint64_t end) {
      std::memset(state.values + from, first, (end - from) * sizeof(uint64_t));
    });
    values_.push_back(std::move(values));
  }
}

GroupState GroupStates::of_worker(size_t number, int32_t worker) const {
  GroupState state = states_[number];
  if (copies_ != 1) {
    state.values += static_cast<uint64_t>(worker) * groups_ * static_cast<uint64_t>(state.words);
  }
  return state;
}

void GroupStates::add_pairs(Workers& workers, const std::vector<GroupState>& by_number,
                            const uint32_t* groups, uint64_t rows) {
  constexpr uint64_t kTaskRows = uint64_t{1} << 16;
  bool const is_shared = copies_ == 1 && workers.threads() > 1;
  std::vector<std::unique_ptr<PairBatch>> batches(static_cast<size_t>(workers.threads()));
  auto const tasks = static_cast<int64_t>((rows + kTaskRows - 1) / kTaskRows);
  workers.for_each("aggregate", tasks, [&](int64_t task, int32_t worker) {
    auto& batch = batches[static_cast<size_t>(worker)];
    if (batch == nullptr) batch = std::make_unique<PairBatch>();
    uint64_t const first = static_cast<uint64_t>(task) * kTaskRows;
    uint64_t const end = std::min(rows, first + kTaskRows);
    for (uint64_t row = first; row < end; row += kAddedAtOnce) {
      auto const count = static_cast<uint32_t>(std::min<uint64_t>(end - row, kAddedAtOnce));
      for (size_t i = 0; i < states_.size(); ++i) {
        if (by_number[i].is_null) continue;
        AddedRows added = batch->rows_of(by_number[i], row, count);
        added.groups = groups == nullptr ? nullptr : groups + row;
        add_rows(of_worker(i, worker), added, is_shared);
      }
    }
  });
}

void GroupStates::merge(Workers& workers) {
  if (copies_ == 1) return;
  for (size_t i = 0; i < states_.size(); ++i) {
    auto const words = static_cast<uint64_t>(states_[i].words);
    workers.for_each_range("aggregate", groups_, 4096, [&](uint64_t first, uint64_t end) {
      for (int32_t worker = 1; static_cast<uint64_t>(worker) < copies_; ++worker) {
        const uint64_t* const other = of_worker(i, worker).values;
        for (uint64_t group = first; group < end; ++group) {
          merge_group(states_[i], states_[i].values + group * words, other + group * words);
        }
        // What is added later is not added twice.
        std::memset(of_worker(i, worker).values + first * words,
                    kernels::first_byte_of(states_[i].kind),
                    (end - first) * words * sizeof(uint64_t));
      }
    });
  }
}

SelectedGroups select_groups(base::Queue& queue, Workers& workers, const uint64_t* state,
                             uint64_t groups) {
  constexpr uint64_t kTaskGroups = uint64_t{1} << 16;
  auto const tasks = static_cast<size_t>((groups + kTaskGroups - 1) / kTaskGroups);
  std::vector<uint64_t> begins(tasks + 1);
  workers.for_each_range("aggregate", groups, kTaskGroups, [&](uint64_t first, uint64_t end) {
    auto const selected =
        std::count_if(state + first, state + end, [](uint64_t rows) { return rows != 0; });
    begins[first / kTaskGroups + 1] = static_cast<uint64_t>(selected);
  });
  for (size_t i = 0; i < tasks; ++i) begins[i + 1] += begins[i];
  SelectedGroups made;
  made.count = begins[tasks];
  made.numbers = queue.host_pool->allocate_rows<uint32_t>(base::Memory::kHost, made.count,
                                                          "numbers of groups");
  auto* const numbers = made.numbers.as<uint32_t>();
  workers.for_each_range("aggregate", groups, kTaskGroups, [&](uint64_t first, uint64_t end) {
    uint64_t at = begins[first / kTaskGroups];
    for (uint64_t group = first; group < end; ++group) {
      if (state[group] != 0) numbers[at++] = static_cast<uint32_t>(group);
    }
  });
  return made;
}

FinishedGroups finish_groups(Workers& workers, const kernels::GroupOutput& output,
                             const uint32_t* groups, uint64_t count, uint64_t* bits) {
  constexpr uint64_t kTaskGroups = uint64_t{1} << 14;
  std::atomic<int64_t> nulls{0};
  std::atomic<uint64_t> first_too_large{~uint64_t{0}};
  workers.for_each_range("aggregate", count, kTaskGroups, [&](uint64_t first, uint64_t end) {
    int64_t nulls_here = 0;
    for (uint64_t from = first; from < end; from += 64) {
      uint64_t word = 0;
      for (uint64_t at = from; at < std::min(end, from + 64); ++at) {
        auto const finished =
            kernels::finish_group(output, groups == nullptr ? at : groups[at], at);
        bool const is_null = finished == kernels::Finished::kNull;
        nulls_here += is_null ? 1 : 0;
        word |= uint64_t{!is_null} << (at - from);
        if (finished != kernels::Finished::kTooLarge) continue;
        uint64_t before = first_too_large.load();
        while (at < before && !first_too_large.compare_exchange_weak(before, at)) {
        }
      }
      bits[from / 64] = word;
    }
    nulls += nulls_here;
  });
  return {nulls.load(), first_too_large.load()};
}

}  // namespace gpujoin::cpu
