// What is measured of a GPU's memory lies between what the slowest and the fastest of today could
// do, and in the order that caches make.
#include "src/calibrate/calibrate.hpp"

#include <gtest/gtest.h>

#include "tests/gpu_fixture.hpp"

namespace gpujoin::tests {
namespace {

using MeasureMemory = GpuTest;

TEST_F(MeasureMemory, RatesAreThoseOfAGpu) {
  base::DeviceFacts facts = queue().context.facts;
  facts.copy_bytes_per_second = 0;
  facts.launch_seconds = 0;
  calibrate::measure_memory(queue(), &facts);
  EXPECT_GT(facts.copy_bytes_per_second, 100e9);
  EXPECT_LT(facts.copy_bytes_per_second, 20e12);
  EXPECT_GT(facts.random_reads_per_second, 0.5e9);
  EXPECT_LT(facts.random_reads_per_second, 300e9);
  EXPECT_GT(facts.l2_random_reads_per_second, facts.random_reads_per_second);
  EXPECT_LT(facts.l2_random_reads_per_second, 2e12);
  EXPECT_GT(facts.random_inserts_per_second, 0.1e9);
  EXPECT_LT(facts.random_inserts_per_second, facts.random_reads_per_second);
  EXPECT_GT(facts.l2_random_inserts_per_second, facts.random_inserts_per_second);
  EXPECT_LT(facts.l2_random_inserts_per_second, facts.l2_random_reads_per_second);
  EXPECT_GT(facts.host_link_bytes_per_second, 0.5e9);
  EXPECT_LT(facts.host_link_bytes_per_second, 1e12);
  EXPECT_GT(facts.launch_seconds, 0.5e-6);
  EXPECT_LT(facts.launch_seconds, 100e-6);
}

TEST_F(MeasureMemory, LeavesTheRatesOfTechniquesAlone) {
  base::DeviceFacts facts = queue().context.facts;
  facts.merge_rows_per_second = 17;
  facts.emitted_pairs_per_second = 18;
  calibrate::measure_memory(queue(), &facts);
  EXPECT_EQ(facts.merge_rows_per_second, 17);
  EXPECT_EQ(facts.emitted_pairs_per_second, 18);
}

}  // namespace
}  // namespace gpujoin::tests
