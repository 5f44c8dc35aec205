// beyond_32_bits.cuh: more than 2^32 pairs for an emitter. 36 GB of device memory, or tests skip.
#pragma once

#include "tests/output/emit_counts.cuh"

namespace gpujoin::tests {

constexpr int kThreads = 256;
constexpr uint32_t kGrid = 264;
constexpr uint32_t kUnits = 1024;
constexpr uint32_t kPairsOfThread = 16400;
constexpr uint64_t kPairs = uint64_t{kUnits} * kThreads * kPairsOfThread;
static_assert(kPairs > uint64_t{1} << 32);

// Sums of the columns, and of the products, which tell whose partner each number is.
static __global__ void sum_pairs_kernel(const uint32_t* build, const uint32_t* probe,
                                        unsigned long long pairs, unsigned long long* sums) {
  unsigned long long mine[3] = {};
  for (unsigned long long i = blockIdx.x * 1024ULL + threadIdx.x; i < pairs;
       i += 1024ULL * gridDim.x) {
    mine[0] += build[i];
    mine[1] += probe[i];
    mine[2] += static_cast<unsigned long long>(build[i]) * probe[i];
  }
  for (int i = 0; i < 3; ++i) atomicAdd(&sums[i], mine[i]);
}

class Beyond32Bits : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    size_t available = 0;
    size_t all = 0;
    ASSERT_EQ(cudaMemGetInfo(&available, &all), cudaSuccess);
    if (available < uint64_t{40} << 30) GTEST_SKIP() << "40 GiB of device memory are needed";
    counts_ = upload(queue(), std::vector<uint32_t>(kUnits * kThreads, kPairsOfThread));
    match_ = {counts_.as<uint32_t>(), kUnits};
  }
  void TearDown() override {
    counts_ = {};
    GpuTest::TearDown();
  }

  template <template <int> class Emitter, typename Sink>
  void launch(const Sink& sink, kernels::ResumePoint* resume) {
    emit_counts_kernel<kThreads, Emitter>
        <<<kGrid, kThreads, 0, base::stream_of(queue())>>>(sink, resume, match_);
    base::check(cudaGetLastError(), "emitting pairs");
  }

  void expect_all(output::GrowingPairs& pairs) {
    pairs.finish();
    ASSERT_EQ(pairs.rows(), kPairs);
    base::Buffer const sums = upload(queue(), std::vector<unsigned long long>(3, 0));
    sum_pairs_kernel<<<264, 1024, 0, base::stream_of(queue())>>>(
        pairs.build(), pairs.probe(), pairs.rows(), sums.as<unsigned long long>());
    base::check(cudaGetLastError(), "summing pairs");
    auto const found = download<unsigned long long>(queue(), sums.data(), 3);
    uint64_t const threads = uint64_t{kUnits} * kThreads;
    uint64_t const of_numbers = uint64_t{kPairsOfThread} * (kPairsOfThread - 1) / 2;
    uint64_t const of_threads = threads * (threads - 1) / 2;
    EXPECT_EQ(found[0], threads * of_numbers);
    EXPECT_EQ(found[1], of_threads * kPairsOfThread);
    EXPECT_EQ(found[2], of_numbers * of_threads);
  }

  base::Buffer counts_;
  Counted match_{};
};

}  // namespace gpujoin::tests
