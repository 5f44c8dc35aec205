#include "src/base/device_facts.hpp"

#include <gtest/gtest.h>

#include "tests/plan/requests.hpp"

namespace gpujoin::base {
namespace {

TEST(BuiltinRates, TheH200HasTheMeasuredOnes) {
  const DeviceFacts facts = plan::testing::h200();
  EXPECT_NEAR(facts.copy_bytes_per_second, 4288e9, 1e9);
  EXPECT_NEAR(facts.random_reads_per_second, 36.7e9, 0.1e9);
  EXPECT_NEAR(facts.random_inserts_per_second, 13e9, 0.1e9);
  // 2^27 rows in one 8-bit pass with its histogram took 1.158 ms.
  const double rows = 134217728;
  EXPECT_NEAR(rows / facts.radix_pass_rows_per_second + rows * 4 / facts.copy_bytes_per_second,
              1.158e-3, 0.01e-3);
}

TEST(BuiltinRates, BandwidthFromTheCallerScalesDramButNotTheSms) {
  DeviceFacts facts;
  facts.compute_capability = 90;
  facts.sm_count = 66;
  facts.copy_bytes_per_second = 2144e9;  // half of the H200's
  builtin_rates(facts);
  EXPECT_EQ(facts.copy_bytes_per_second, 2144e9);
  EXPECT_NEAR(facts.random_reads_per_second, 18.35e9, 0.1e9);
  EXPECT_NEAR(facts.radix_pass_rows_per_second, 65e9, 0.1e9);
}

TEST(BuiltinRates, RatesThatAreSetStay) {
  DeviceFacts facts;
  facts.host_link_bytes_per_second = 55e9;
  builtin_rates(facts);
  EXPECT_EQ(facts.host_link_bytes_per_second, 55e9);
}

TEST(BuiltinRates, NoArchitectureIsLeftWithoutARate) {
  for (const int32_t capability : {0, 75, 80, 86, 89, 90, 100, 120}) {
    DeviceFacts facts;
    facts.compute_capability = capability;
    builtin_rates(facts);
    for (const double rate :
         {facts.copy_bytes_per_second, facts.random_reads_per_second,
          facts.l2_random_reads_per_second, facts.random_inserts_per_second,
          facts.l2_random_inserts_per_second, facts.radix_pass_rows_per_second,
          facts.shared_probe_rows_per_second, facts.merge_rows_per_second,
          facts.emitted_pairs_per_second, facts.host_link_bytes_per_second, facts.launch_seconds}) {
      EXPECT_GT(rate, 0) << capability;
    }
  }
}

TEST(CpuFacts, GrowWithTheThreadsAndNeverBelowOne) {
  EXPECT_EQ(cpu_facts(0).cpu_threads, 1);
  EXPECT_FALSE(cpu_facts(4).is_cuda);
  EXPECT_EQ(cpu_facts(4).shared_probe_rows_per_second,
            4 * cpu_facts(1).shared_probe_rows_per_second);
  // The memory of a socket does not grow with its threads.
  EXPECT_EQ(cpu_facts(64).copy_bytes_per_second, cpu_facts(128).copy_bytes_per_second);
}

}  // namespace
}  // namespace gpujoin::base
