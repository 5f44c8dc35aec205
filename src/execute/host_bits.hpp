// host_bits.hpp: bits of rows where the host reads them.
#pragma once

#include <cstdint>
#include <vector>

#include "src/base/memory.hpp"
#include "src/base/queue.hpp"
#include "src/columns/column.hpp"

namespace gpujoin::execute {

// Those of the host as they lie, those of the device as a copy.
struct HostBits {
  HostBits() = default;
  HostBits(HostBits&&) = default;
  HostBits& operator=(HostBits&&) = default;
  HostBits(const HostBits&) = delete;
  HostBits& operator=(const HostBits&) = delete;

  bool is_set(int64_t row) const {
    int64_t const at = first_bit + row;
    return bits == nullptr || (bits[at / 8] >> (at % 8) & 1) != 0;
  }

  const uint8_t* bits = nullptr;  // null: all are set
  int64_t first_bit = 0;
  std::vector<uint8_t> copy;
};

// Waits for the stream where there is something to copy.
HostBits bits_on_host(base::Queue& queue, const uint8_t* bits, int64_t first_bit,
                      base::Memory memory, int64_t rows);
HostBits validity_on_host(base::Queue& queue, const columns::ColumnView& column, int64_t rows);

}  // namespace gpujoin::execute
