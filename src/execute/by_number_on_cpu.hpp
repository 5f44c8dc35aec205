// by_number_on_cpu.hpp: build rows that are found by their keys' numbers, on the CPU, where keys
// are unique and dense: then no row of the probe side goes to partitions (decisions 45 and 50).
#pragma once

#include "src/execute/built.hpp"
#include "src/execute/cpu_side.hpp"

namespace gpujoin::execute {

// Whether a side is laid out with row numbers.
struct SideNumbers {
  bool of_build = false;
  bool of_probe = false;
};

// Lays out both sides for that, where it is faster than to move them and can be done; else answers
// false. expected: the transform stage; pairs are wanted, by no named number of partitions.
bool find_rows_by_number(const JoinStep& step, CpuSide& build, CpuSide& probe, SideNumbers numbers);

}  // namespace gpujoin::execute
