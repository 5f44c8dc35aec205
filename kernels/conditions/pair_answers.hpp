// pair_answers.hpp: what kernels say of the pairs that they asked a condition about, as host and
// device both see it
#pragma once

#include <cstdint>

#include "kernels/conditions/program.hpp"
#include "kernels/host_answer.hpp"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

struct PairsState {
  unsigned long long kept;
  // Of the first pair without a value ~(pair << 16 | state); 0: there is none.
  unsigned long long failing;
  uint32_t finished;  // blocks
};

struct PairCounts {
  unsigned long long kept;
  unsigned long long failing;
};
using PairsAnswer = HostAnswer<PairCounts>;

constexpr int kConditionBlocksPerSm = kThreadsPerSm / kStreamThreads;

// A program that travels as a kernel's parameter, where all threads read the same word at a time
// from the constant cache; larger ones lie in memory.
constexpr uint32_t kMostSmallInstructions = 48;
constexpr uint32_t kMostSmallColumns = 8;
struct SmallProgram {
  Instruction instructions[kMostSmallInstructions];
  ConditionColumn columns[kMostSmallColumns];
  Program program;  // without these
};

}  // namespace gpujoin::kernels
