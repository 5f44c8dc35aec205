// group_states.hpp: what is kept of each group of a join, while a worker adds rows to it.
//
// Few groups (all rows are one) have states of each worker, put together at the end. Of many there
// is one array, whose words are added to without a lock where no other worker has the group, else
// atomically.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/aggregate/states.hpp"
#include "src/base/memory.hpp"
#include "src/base/queue.hpp"
#include "src/cpu/added_rows.hpp"
#include "src/cpu/workers.hpp"

namespace gpujoin::cpu {

class GroupStates {
 public:
  // states: their columns; memory comes from here.
  GroupStates(base::Queue& queue, Workers& workers, std::vector<kernels::GroupState> states,
              uint64_t groups);

  size_t count() const { return states_.size(); }
  const kernels::GroupState& state(size_t number) const { return states_[number]; }
  // Where a worker adds to it. Each worker has its own where there are few groups.
  kernels::GroupState of_worker(size_t number, int32_t worker) const;
  bool are_of_workers() const { return copies_ != 1; }
  // Adds output rows by the row numbers that `added` has for each state; a state of no rows there
  // (is_null) is left out. groups: null, all are of group 0.
  void add_pairs(Workers& workers, const std::vector<kernels::GroupState>& added,
                 const uint32_t* groups, uint64_t rows);
  // Puts the workers' states together; state(number).values has the whole then, once.
  void merge(Workers& workers);

 private:
  std::vector<kernels::GroupState> states_;
  uint64_t groups_;
  uint64_t copies_;
  std::vector<base::Buffer> values_;
};

// Numbers of the groups whose state is not 0, ascending.
struct SelectedGroups {
  base::Buffer numbers;  // uint32
  uint64_t count = 0;
};
SelectedGroups select_groups(base::Queue& queue, Workers& workers, const uint64_t* state,
                             uint64_t groups);

// Writes the values of `groups` (null: 0, 1, 2 ...) to the output's target, and their bits; of
// those that the type does not hold, tells the lowest position.
struct FinishedGroups {
  int64_t nulls = 0;
  uint64_t first_too_large = ~uint64_t{0};
};
FinishedGroups finish_groups(Workers& workers, const kernels::GroupOutput& output,
                             const uint32_t* groups, uint64_t count, uint64_t* bits);

}  // namespace gpujoin::cpu
