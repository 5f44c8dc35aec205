// radix_partition.hpp: rows of both sides grouped by the highest bits of their keys' hashes.
//
// One pass with a histogram before it (Kim et al., VLDB 2009, section 4.1): ranges of input rows
// are counted, the counts are summed over ranges, and each range then writes its rows to places
// that no other range writes to: no atomics, stable, every partition contiguous. Rows are gathered
// in one cache line for each partition and written a line at a time (software write combining,
// Balkesen et al., ICDE 2013, section V; Schuhknecht et al., VLDB 2015).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/base/memory.hpp"
#include "src/base/queue.hpp"
#include "src/cpu/row_layout.hpp"
#include "src/cpu/workers.hpp"

namespace gpujoin::cpu {

struct PartitionedRows {
  RowLayout layout;
  uint64_t input_rows = 0;
  uint32_t radix_bits = 0;
  base::Buffer rows;  // packed, partition after partition; rows with a NULL key are left out
  std::vector<uint32_t> begin;  // of each partition in rows; one more than there are partitions
  bool is_streamed = false;     // of a probe side: no row was moved, and begin says how many may be

  uint32_t partitions() const { return uint32_t{1} << radix_bits; }
  uint32_t rows_in(uint32_t partition) const { return begin[partition + 1] - begin[partition]; }
  const std::byte* rows_of(uint32_t partition) const {
    return rows.as<std::byte>() + uint64_t{begin[partition]} * layout.row_bytes;
  }
};

// Fills rows and begin of each side. expected: layout, input_rows and radix_bits are set.
void partition_rows(base::Queue& queue, Workers& workers, std::span<PartitionedRows> sides);

// Bits that leave a build partition's rows and its table in the second cache, and work for all
// threads.
uint32_t choose_radix_bits(uint64_t build_rows, uint64_t probe_rows, uint32_t build_row_bytes,
                           int32_t threads);

}  // namespace gpujoin::cpu
