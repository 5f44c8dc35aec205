#include "src/execute/host_bits.hpp"

#include "src/base/copy.hpp"
#include "src/columns/validity_bits.hpp"

namespace gpujoin::execute {

HostBits bits_on_host(base::Queue& queue, const uint8_t* bits, int64_t first_bit,
                      base::Memory memory, int64_t rows) {
  HostBits found;
  found.bits = bits;
  found.first_bit = first_bit;
  if (bits == nullptr || memory != base::Memory::kDevice) return found;
  found.first_bit = first_bit % 8;
  found.copy.resize(columns::bitmap_bytes(found.first_bit + rows));
  base::copy(queue, found.copy.data(), base::Memory::kHost, bits + first_bit / 8, memory,
             found.copy.size());
  base::finish(queue);
  found.bits = found.copy.data();
  return found;
}

HostBits validity_on_host(base::Queue& queue, const columns::ColumnView& column, int64_t rows) {
  return bits_on_host(queue, column.validity, column.validity_bit_offset, column.memory, rows);
}

}  // namespace gpujoin::execute
