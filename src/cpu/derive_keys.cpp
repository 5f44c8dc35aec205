#include "src/cpu/derive_keys.hpp"

namespace gpujoin::cpu {

namespace {

constexpr uint64_t kTaskRows = uint64_t{1} << 16;

template <typename Bits>
void derive(Workers& workers, const kernels::DerivedKey& key, uint64_t rows, Bits* values) {
  workers.for_each_range("keys", rows, kTaskRows, [&](uint64_t first, uint64_t end) {
    for (uint64_t row = first; row < end; ++row) {
      values[row] = kernels::derived_value<Bits>(key, row);
    }
  });
}

}  // namespace

base::Buffer derive_key(base::Queue& queue, Workers& workers, const kernels::DerivedKey& key,
                        int32_t width, uint64_t rows) {
  base::Buffer values = queue.host_pool->allocate(
      base::Memory::kHost, base::checked_bytes(rows, static_cast<uint64_t>(width)),
      "a derived key column");
  if (width == 4) {
    derive(workers, key, rows, values.as<uint32_t>());
  } else {
    derive(workers, key, rows, values.as<uint64_t>());
  }
  return values;
}

}  // namespace gpujoin::cpu
