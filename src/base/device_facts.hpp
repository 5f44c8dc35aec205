// device_facts.hpp: what the planner and the launches know about the device. Plain values: tests
// write them by hand.
#pragma once

#include <cstdint>
#include <string>

namespace gpujoin::base {

struct DeviceFacts {
  std::string name = "CPU";
  bool is_cuda = false;
  int32_t cuda_device_id = -1;
  int32_t sm_count = 0;
  int32_t compute_capability = 0;  // 90 for 9.0
  int32_t cpu_threads = 1;
  uint64_t memory_bytes = 0;
  uint64_t l2_bytes = 0;
  uint64_t shared_bytes_per_block = 0;  // with opt-in
  // Rates that the cost model divides by. Built in per architecture from measurements, see
  // device_facts.cpp; or measured on this machine, see gpujoin_context_calibrate.
  bool calibrated = false;
  double copy_bytes_per_second = 0;       // device to device, read + written
  double random_reads_per_second = 0;     // 4 to 16 bytes each, table far larger than L2
  double l2_random_reads_per_second = 0;  // table within L2
  double random_inserts_per_second = 0;   // 64-bit compare-and-swap, table far larger than L2
  double l2_random_inserts_per_second = 0;
  // One 8-bit pass over (4 B, 4 B) rows by the radix sort primitive, its histogram not counted.
  double radix_pass_rows_per_second = 0;
  double shared_probe_rows_per_second = 0;  // rows through a shared-memory hash table, all SMs
  double merge_rows_per_second = 0;         // rows of both sides through the merge path bounds
  double emitted_pairs_per_second = 0;      // pairs that a match finds, on top of its rows
  double further_pairs_per_second = 0;      // ... by co-partitions, beyond the first of a probe row
  double host_link_bytes_per_second = 0;    // pageable host memory to device
  double launch_seconds = 0;                // one kernel launch, amortised
  bool operator==(const DeviceFacts&) const = default;
};

// Fills the rates of a CUDA device from compute_capability and sm_count. A rate that is not 0 is
// kept: a caller that knows bus width and memory clock sets copy_bytes_per_second to what a copy
// reaches, 0.87 of their product, and the rates of DRAM are scaled by it.
void builtin_rates(DeviceFacts& facts);

// Figures for a machine without a CUDA device, and for the CPU executor.
DeviceFacts cpu_facts(int32_t threads);

}  // namespace gpujoin::base
