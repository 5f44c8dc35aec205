// verify_pairs.hpp: key columns of which pairs must be equal, as host and device both see them
#pragma once

#include <cstdint>

#include "kernels/host_answer.hpp"
#include "kernels/keys/column_hash.hpp"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

struct VerifiedColumn {
  const void* build;
  const void* probe;
  int32_t width;
};

struct VerifiedColumns {
  VerifiedColumn columns[kMostKeyColumns];
  int32_t count;
};

constexpr int kVerifyBlocksPerSm = kThreadsPerSm / kStreamThreads;

struct UnequalState {
  unsigned long long pairs;
  uint32_t finished;  // blocks
};

using UnequalAnswer = HostAnswer<unsigned long long>;

}  // namespace gpujoin::kernels
