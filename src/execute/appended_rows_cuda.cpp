#include <vector>

#include "src/base/device.hpp"
#include "src/execute/appended_rows.hpp"
#include "src/materialize/materialize.hpp"

namespace gpujoin::execute {

void fill_on_gpu(base::Queue& queue, void* target, uint8_t value, uint64_t bytes) {
  base::check(cudaMemsetAsync(target, value, bytes, base::stream_of(queue)),
              "filling values of rows without a match");
}

columns::Storage append_bits_on_gpu(base::Queue& queue, std::span<const ColumnPart> parts) {
  std::vector<materialize::Bits> bits;
  for (ColumnPart const& part : parts) {
    materialize::Bits of_part;
    of_part.rows = static_cast<uint64_t>(part.rows);
    of_part.fill = part.column != nullptr;
    if (part.column != nullptr) {
      of_part.words = static_cast<const uint32_t*>(part.column->validity.get());
    }
    bits.push_back(of_part);
  }
  return materialize::append_bits(queue, bits);
}

}  // namespace gpujoin::execute
