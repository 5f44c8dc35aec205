// group_work_cuda.cpp: states of groups on the GPU.
#include <utility>

#include "src/aggregate/aggregate.hpp"
#include "src/base/copy.hpp"
#include "src/execute/fetch_rows.hpp"
#include "src/execute/group_work.hpp"

namespace gpujoin::execute {

namespace {

using base::Memory;

class OnGpu final : public GroupWork {
 public:
  OnGpu(base::Queue& queue, std::vector<kernels::GroupState> states, uint64_t groups)
      : queue_(queue), groups_(groups), states_(std::move(states)) {
    for (kernels::GroupState& state : states_) {
      values_.push_back(aggregate::empty_state(queue, state, groups));
      state.values = values_.back().as<uint64_t>();
    }
  }

  OnGpu(base::Queue& queue, std::vector<kernels::GroupState> added)
      : queue_(queue), groups_(0), states_(std::move(added)) {}

  void add(const std::vector<kernels::GroupState>& states, const uint32_t* groups,
           uint64_t rows) override {
    for (size_t i = 0; i < states.size(); ++i) {
      queue_.check_cancelled();
      kernels::GroupState state = states[i];
      state.values = states_[i].values;
      aggregate::add_rows(queue_, state, groups, rows);
    }
  }
  const uint64_t* words_of(size_t state) override { return states_[state].values; }
  GroupNumbers select(size_t state) override {
    aggregate::SelectedGroups selected =
        aggregate::select_groups(queue_, states_[state].values, groups_);
    return {columns::make_storage(std::move(selected.numbers)), selected.count};
  }
  GroupNumbers all() override {
    return {number_rows_on_gpu(queue_, static_cast<int64_t>(groups_)), groups_};
  }
  Finished finish(kernels::GroupOutput output, const uint32_t* groups, uint64_t count) override {
    base::Pool& pool = *queue_.device_pool;
    base::Buffer values = pool.allocate(
        Memory::kDevice, base::checked_bytes(count, static_cast<uint64_t>(output.width)),
        "aggregates");
    base::Buffer bits = pool.allocate_rows<uint32_t>(Memory::kDevice, (count + 31) / 32,
                                                     "aggregates that are there");
    output.target = values.as<uint8_t>();
    aggregate::FinishedGroups const done =
        aggregate::finish_groups(queue_, output, groups, count, bits.as<uint32_t>());
    return {columns::make_storage(std::move(values)), columns::make_storage(std::move(bits)),
            done.nulls, done.first_too_large};
  }
  void multiply(size_t state, uint64_t times) override {
    uint64_t words[kernels::kMostSumWords] = {};
    kernels::GroupState on_host = states_[state];
    auto const bytes = static_cast<uint64_t>(on_host.words) * sizeof(uint64_t);
    base::copy(queue_, words, Memory::kHost, on_host.values, Memory::kDevice, bytes);
    base::finish(queue_);
    on_host.values = words;
    kernels::multiply_state(on_host, times);
    base::copy(queue_, states_[state].values, Memory::kDevice, words, Memory::kHost, bytes);
    base::finish(queue_);
  }

 private:
  base::Queue& queue_;
  uint64_t groups_;
  std::vector<kernels::GroupState> states_;
  std::vector<base::Buffer> values_;
};

}  // namespace

std::unique_ptr<GroupWork> group_work_on_gpu(base::Queue& queue,
                                             std::vector<kernels::GroupState> states,
                                             uint64_t groups) {
  return std::make_unique<OnGpu>(queue, std::move(states), groups);
}

std::unique_ptr<GroupWork> added_groups_on_gpu(base::Queue& queue,
                                               std::vector<kernels::GroupState> states) {
  return std::make_unique<OnGpu>(queue, std::move(states));
}

}  // namespace gpujoin::execute
