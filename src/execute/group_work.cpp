#include "src/execute/group_work.hpp"

#include <utility>

#include "src/base/without_cuda.hpp"
#include "src/cpu/group_states.hpp"
#include "src/cpu/workers.hpp"
#include "src/execute/fetch_rows.hpp"

namespace gpujoin::execute {

namespace {

class OnCpu final : public GroupWork {
 public:
  OnCpu(base::Queue& queue, std::vector<kernels::GroupState> states, uint64_t groups)
      : queue_(queue),
        workers_(queue),
        groups_(groups),
        states_(queue, workers_, std::move(states), groups) {}

  void add(const std::vector<kernels::GroupState>& states, const uint32_t* groups,
           uint64_t rows) override {
    states_.add_pairs(workers_, states, groups, rows);
    states_.merge(workers_);
  }
  void end() override { states_.merge(workers_); }
  const cpu::GroupStates* states_of_cpu() const override { return &states_; }
  const uint64_t* words_of(size_t state) override { return states_.state(state).values; }
  GroupNumbers select(size_t state) override {
    cpu::SelectedGroups selected =
        cpu::select_groups(queue_, workers_, states_.state(state).values, groups_);
    return {columns::make_storage(std::move(selected.numbers)), selected.count};
  }
  GroupNumbers all() override {
    return {number_rows(queue_, plan::Device::kCpu, static_cast<int64_t>(groups_)), groups_};
  }
  Finished finish(kernels::GroupOutput output, const uint32_t* groups, uint64_t count) override {
    base::Pool& pool = *queue_.host_pool;
    base::Buffer values = pool.allocate(
        base::Memory::kHost, base::checked_bytes(count, static_cast<uint64_t>(output.width)),
        "aggregates");
    base::Buffer bits = pool.allocate_rows<uint64_t>(base::Memory::kHost, (count + 63) / 64,
                                                     "aggregates that are there");
    output.target = values.as<uint8_t>();
    cpu::FinishedGroups const done =
        cpu::finish_groups(workers_, output, groups, count, bits.as<uint64_t>());
    return {columns::make_storage(std::move(values)), columns::make_storage(std::move(bits)),
            done.nulls, done.first_too_large};
  }
  void multiply(size_t state, uint64_t times) override {
    kernels::multiply_state(states_.state(state), times);
  }

 private:
  base::Queue& queue_;
  cpu::Workers workers_;
  uint64_t groups_;
  cpu::GroupStates states_;
};

}  // namespace

#if !GPUJOIN_WITH_CUDA
std::unique_ptr<GroupWork> group_work_on_gpu(base::Queue&, std::vector<kernels::GroupState>,
                                             uint64_t) {
  base::fail_without_cuda();
}
std::unique_ptr<GroupWork> added_groups_on_gpu(base::Queue&, std::vector<kernels::GroupState>) {
  base::fail_without_cuda();
}
#endif

std::unique_ptr<GroupWork> group_work_on_cpu(base::Queue& queue,
                                             std::vector<kernels::GroupState> states,
                                             uint64_t groups) {
  return std::make_unique<OnCpu>(queue, std::move(states), groups);
}

}  // namespace gpujoin::execute
