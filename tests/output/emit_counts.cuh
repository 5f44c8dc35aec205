// emit_counts.cuh: the smallest match there is: so many pairs for each thread of each work unit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/output/emit_pairs.cuh"
#include "src/base/device.hpp"
#include "src/output/growing_pairs.hpp"
#include "tests/gpu_fixture.hpp"

namespace gpujoin::tests {

// Work units of `batches` batches each. Thread t of batch b, counted over all units, writes the
// pairs (0, b * kThreads + t), (1, b * kThreads + t) ... as many as its count says.
struct Counted {
  const uint32_t* counts;
  unsigned long long units;
  uint32_t batches = 1;
  uint32_t sharers = 1;  // work units that the emitter is told are one
};

template <int kThreads, template <int> class AnEmitter = kernels::BlockEmitter, typename Sink>
__global__ void __launch_bounds__(kThreads)
    emit_counts_kernel(Sink sink, kernels::ResumePoint* resume, Counted match) {
  using Emitter = AnEmitter<kThreads>;
  __shared__ typename Emitter::Shared shared;
  __shared__ unsigned long long shared_unit;
  Emitter emitter(sink, shared);
  unsigned long long const end = min(match.units, sink.end_unit);
  unsigned long long unit = resume == nullptr ? kernels::kNoUnit : resume[blockIdx.x].unit;
  uint32_t batch = unit == kernels::kNoUnit ? 0 : resume[blockIdx.x].batch;
  bool written = true;
  for (;;) {
    if (unit == kernels::kNoUnit) {
      if (threadIdx.x == 0) shared_unit = atomicAdd(sink.taken, 1ULL);
      __syncthreads();
      unit = shared_unit;
      __syncthreads();
      batch = 0;
    }
    if (unit >= end) break;
    emitter.begin(unit / match.sharers);
    for (; written && batch < match.batches; ++batch) {
      auto const thread =
          static_cast<uint32_t>((unit * match.batches + batch) * kThreads + threadIdx.x);
      uint32_t number = 0;
      written = emitter.emit(match.counts[thread], [&](uint32_t* build, uint32_t* probe) {
        *build = number++;
        *probe = thread;
      });
      if (!written) break;
    }
    if (!written) break;
    unit = kernels::kNoUnit;
  }
  emitter.finish();
  if (threadIdx.x == 0 && resume != nullptr) resume[blockIdx.x] = {unit, batch, 0};
}

// A pair as one number, the probe row above.
using Pairs = std::vector<uint64_t>;

// What the counts ask for, ascending.
inline Pairs expected_pairs(const std::vector<uint32_t>& counts) {
  Pairs pairs;
  for (uint64_t thread = 0; thread < counts.size(); ++thread) {
    for (uint32_t number = 0; number < counts[thread]; ++number) {
      pairs.push_back(thread << 32 | number);
    }
  }
  return pairs;
}

// The pairs in two columns of device memory, ascending.
inline Pairs sorted_pairs(base::Queue& queue, const void* build, const void* probe, size_t rows) {
  std::vector<uint32_t> const build_rows = download<uint32_t>(queue, build, rows);
  std::vector<uint32_t> const probe_rows = download<uint32_t>(queue, probe, rows);
  Pairs pairs(rows);
  for (size_t i = 0; i < rows; ++i) pairs[i] = uint64_t{probe_rows[i]} << 32 | build_rows[i];
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

struct EmitOptions {
  uint32_t grid = 8;
  bool foresee = true;  // tell collect how many units there are
  const uint32_t* build_row_ids = nullptr;
  const uint32_t* probe_row_ids = nullptr;
};

// Runs the match to its end, as the match stage does.
template <int kThreads>
void emit_counts(base::Queue& queue, const std::vector<uint32_t>& counts,
                 output::GrowingPairs& pairs, EmitOptions options = {}) {
  ASSERT_EQ(counts.size() % kThreads, 0U);
  uint64_t const units = counts.size() / kThreads;
  base::Buffer const device_counts = upload(queue, counts);
  kernels::ResumePoint* resume = pairs.resume_points(options.grid);
  int launches = 0;
  do {
    ASSERT_LT(launches++, 1000) << "the output never had enough room";
    kernels::PairSink sink = pairs.sink();
    sink.build_row_ids = options.build_row_ids;
    sink.probe_row_ids = options.probe_row_ids;
    emit_counts_kernel<kThreads><<<options.grid, kThreads, 0, base::stream_of(queue)>>>(
        sink, resume, {device_counts.as<uint32_t>(), units});
    base::check(cudaGetLastError(), "emitting pairs");
  } while (!pairs.collect(options.foresee ? units : 0));
  pairs.finish();
}

inline void expect_pairs(base::Queue& queue, const output::GrowingPairs& pairs,
                         const Pairs& expected) {
  ASSERT_EQ(pairs.rows(), expected.size());
  ASSERT_TRUE(sorted_pairs(queue, pairs.build(), pairs.probe(), expected.size()) == expected);
}

}  // namespace gpujoin::tests
