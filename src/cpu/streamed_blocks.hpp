// streamed_blocks.hpp: the rows of a side that is not moved, a block at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/base/memory.hpp"
#include "src/base/queue.hpp"
#include "src/cpu/pack_rows.hpp"
#include "src/cpu/probe_partition.hpp"
#include "src/cpu/radix_partition.hpp"
#include "src/cpu/workers.hpp"

namespace gpujoin::cpu {

// body(rows, worker) for all of them: keys where they lie, or packed rows where some are NULL.
template <typename Key, typename Body>
void for_each_block(base::Queue& queue, Workers& workers, const PartitionedRows& side,
                    const Body& body) {
  // Rows of one task; and, where some keys are NULL, of those that are packed at once.
  constexpr uint64_t kPackedRows = 16 * kMorselRows;
  constexpr uint64_t kTaskRows = 4 * kPackedRows;
  uint64_t const rows = side.input_rows;
  columns::ColumnView const& key = *side.layout.key;
  std::vector<base::Buffer> blocks(static_cast<size_t>(workers.threads()));
  auto const tasks = static_cast<int64_t>((rows + kTaskRows - 1) / kTaskRows);
  workers.for_each("match", tasks, [&](int64_t task, int32_t worker) {
    uint64_t const first = static_cast<uint64_t>(task) * kTaskRows;
    uint64_t const end = std::min(first + kTaskRows, rows);
    if (key.validity == nullptr) {
      body(ProbeRows{static_cast<const std::byte*>(key.data), sizeof(Key),
                     static_cast<uint32_t>(first), static_cast<uint32_t>(end)},
           worker);
      return;
    }
    base::Buffer& block = blocks[static_cast<size_t>(worker)];
    if (!block) {
      block = queue.host_pool->allocate(base::Memory::kHost, kPackedRows * side.layout.row_bytes,
                                        "packed probe rows");
    }
    auto* const packed = block.as<std::byte>();
    for (uint64_t row = first; row < end; row += kPackedRows) {
      uint32_t const count = pack_range(side.layout, row, std::min(row + kPackedRows, end), packed);
      body(ProbeRows{packed, side.layout.row_bytes, 0, count}, worker);
    }
  });
}

}  // namespace gpujoin::cpu
