// group_work.hpp: states of groups where an executor has them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/aggregate/states.hpp"
#include "src/base/queue.hpp"
#include "src/columns/result.hpp"
#include "src/cpu/group_states.hpp"

namespace gpujoin::execute {

struct GroupNumbers {
  columns::Storage numbers;  // [count] uint32
  uint64_t count = 0;
};

// Of one executor: all pointers are to its memory.
class GroupWork {
 public:
  virtual ~GroupWork() = default;
  // Adds `rows` output rows, whose row numbers states[i].rows has. groups: of each row; null: 0.
  virtual void add(const std::vector<kernels::GroupState>& states, const uint32_t* groups,
                   uint64_t rows) = 0;
  // Once all rows were added by who has the states.
  virtual void end() {}
  // Of the CPU; else null.
  virtual const cpu::GroupStates* states_of_cpu() const { return nullptr; }
  // The words of a state, once all rows were added.
  virtual const uint64_t* words_of(size_t state) = 0;
  // Groups that have a row, by a state that counts them; ascending.
  virtual GroupNumbers select(size_t state) = 0;
  // All of them.
  virtual GroupNumbers all() = 0;
  struct Finished {
    columns::Storage values;
    columns::Storage bits;  // of those that are there
    int64_t nulls = 0;
    uint64_t first_too_large = ~uint64_t{0};  // among `groups`
  };
  virtual Finished finish(kernels::GroupOutput output, const uint32_t* groups, uint64_t count) = 0;
  // As if all that was added to it had been so often. expected: one group; a state that counts or
  // sums.
  virtual void multiply(size_t state, uint64_t times) = 0;
};

// states: without memory.
std::unique_ptr<GroupWork> group_work_on_cpu(base::Queue& queue,
                                             std::vector<kernels::GroupState> states,
                                             uint64_t groups);
// Throws NO_DEVICE in a build without CUDA.
std::unique_ptr<GroupWork> group_work_on_gpu(base::Queue& queue,
                                             std::vector<kernels::GroupState> states,
                                             uint64_t groups);
// Of states to which all was added, and which the caller holds.
std::unique_ptr<GroupWork> added_groups_on_gpu(base::Queue& queue,
                                               std::vector<kernels::GroupState> states);

}  // namespace gpujoin::execute
