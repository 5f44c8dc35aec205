// device_facts.cpp: the rates that the cost model divides by, with where each comes from.
#include "src/base/device_facts.hpp"

#include <algorithm>

namespace gpujoin::base {
namespace {

// Measured on one NVIDIA H200 (compute capability 9.0, 132 SMs, 60 MB L2, 4.8 TB/s), CUDA 13.0,
// driver 580. "Fitted": not timed alone but what is left of timed joins.
constexpr double kH200SmCount = 132;
// Device-to-device copy, read + written.
constexpr double kH200Copy = 4288e9;
// ... of 4917e9 on data sheet terms (2 x 3201 MHz x 6144 bits).
constexpr double kCopyShareOfPeak = 4288.0 / 4917.0;
// 2^27 random reads of 4 bytes: from a table of 512 MiB, and from one of 32 MiB (142e9 at 16 MiB).
constexpr double kH200RandomReads = 36.7e9;
constexpr double kH200L2RandomReads = 107e9;
// 64-bit compare-and-swap: 2^27 inserts at load one half into 2 GiB take 10.2 ms; into a table that
// stays in L2, 4.3 ms.
constexpr double kH200RandomInserts = 13e9;
constexpr double kH200L2RandomInserts = 31e9;
// CUB DeviceRadixSort::SortPairs, 2^27 rows of (4 B, 4 B): 1.158, 2.18, 4.17 ms for 8, 16, 32 bits
// (116e9 rows/s for the first); without the histogram's 0.13 ms, 1.03 ms a pass.
constexpr double kH200RadixPass = 130e9;
// Fitted to the match stages of gpujoin_bench on 2^27 x 2^27 rows of 4-byte keys at match ratios of
// 100, 25 and 6.25 %: co-partitions 2.28, 2.04, 1.81 ms, merge path 2.66, 2.23, 2.03 ms; and on
// many-72Mx72M, 904M pairs: 8.8 and 5.0 ms.
constexpr double kH200SharedProbe = 145e9;
constexpr double kH200Merge = 135e9;
constexpr double kH200EmittedPairs = 250e9;
constexpr double kH200FurtherPairs = 140e9;
// cudaMemcpy from pageable memory; pinned memory reaches 55e9.
constexpr double kHostLinkPageable = 6.3e9;
// A short kernel with its gap to the next one.
constexpr double kLaunch = 5e-6;

// Of the CPU executor, a thread of a server core: about what gpujoin_context_calibrate finds for
// each of two threads of an AMD EPYC, and such that of 90 joins (bench/cpu/join_cases.py: rows,
// matches, payloads) the plan chosen takes at most 1.3 times as long as the better one. Others are
// assumed to be like it until they are calibrated.
constexpr double kThreadCopy = 20e9;
constexpr double kSocketCopy = 300e9;  // more threads than this feeds do not copy faster
constexpr double kThreadRandomReads = 85e6;
constexpr double kThreadCacheReads = 85e6;
constexpr double kThreadInserts = 40e6;
constexpr double kThreadCacheInserts = 40e6;
constexpr double kThreadRadixPass = 400e6;
constexpr double kThreadProbe = 500e6;
constexpr double kThreadPairs = 2000e6;
constexpr double kThreadFurtherPairs = 500e6;
constexpr double kParallelRegion = 5e-6;
constexpr uint64_t kCpuCacheBytes = uint64_t{32} << 20;

void keep_or_set(double* rate, double value) {
  if (*rate == 0) *rate = value;
}

// Bandwidth of an architecture whose caller could not tell: that of its usual server part.
// From the data sheets, of: A100 40 GB, L40S, H200, B200; T4 for what is older.
double peak_of(int32_t compute_capability) {
  if (compute_capability >= 100) return 8000e9;
  if (compute_capability >= 90) return 4917e9;
  if (compute_capability == 80) return 1555e9;
  if (compute_capability > 80) return 864e9;
  return 320e9;
}

}  // namespace

void builtin_rates(DeviceFacts& facts) {
  keep_or_set(&facts.copy_bytes_per_second, peak_of(facts.compute_capability) * kCopyShareOfPeak);

  // What waits for DRAM goes with its bandwidth, what waits for the SMs with their number. Other
  // architectures were not measured: this ranks plans, it does not promise times.
  const double dram = facts.copy_bytes_per_second / kH200Copy;
  const double sms = facts.sm_count > 0 ? facts.sm_count / kH200SmCount : 1.0;
  keep_or_set(&facts.random_reads_per_second, kH200RandomReads * dram);
  keep_or_set(&facts.random_inserts_per_second, kH200RandomInserts * dram);
  keep_or_set(&facts.l2_random_reads_per_second, kH200L2RandomReads * sms);
  keep_or_set(&facts.l2_random_inserts_per_second, kH200L2RandomInserts * sms);
  keep_or_set(&facts.radix_pass_rows_per_second, kH200RadixPass * sms);
  keep_or_set(&facts.shared_probe_rows_per_second, kH200SharedProbe * sms);
  keep_or_set(&facts.merge_rows_per_second, kH200Merge * sms);
  keep_or_set(&facts.emitted_pairs_per_second, kH200EmittedPairs * sms);
  keep_or_set(&facts.further_pairs_per_second, kH200FurtherPairs * sms);
  keep_or_set(&facts.host_link_bytes_per_second, kHostLinkPageable);
  keep_or_set(&facts.launch_seconds, kLaunch);
}

DeviceFacts cpu_facts(int32_t threads) {
  DeviceFacts facts;
  facts.cpu_threads = std::max(threads, 1);
  const double count = facts.cpu_threads;
  facts.l2_bytes = kCpuCacheBytes;
  facts.copy_bytes_per_second = std::min(kThreadCopy * count, kSocketCopy);
  facts.random_reads_per_second = kThreadRandomReads * count;
  facts.l2_random_reads_per_second = kThreadCacheReads * count;
  facts.random_inserts_per_second = kThreadInserts * count;
  facts.l2_random_inserts_per_second = kThreadCacheInserts * count;
  facts.radix_pass_rows_per_second = kThreadRadixPass * count;
  facts.shared_probe_rows_per_second = kThreadProbe * count;
  facts.merge_rows_per_second = kThreadProbe * count;
  facts.emitted_pairs_per_second = kThreadPairs * count;
  facts.further_pairs_per_second = kThreadFurtherPairs * count;
  facts.launch_seconds = kParallelRegion;
  return facts;
}

}  // namespace gpujoin::base
