#include "src/cpu/derive_keys.hpp"

#include <algorithm>

namespace gpujoin::cpu {

namespace {

constexpr uint64_t kTaskRows = uint64_t{1} << 16;

template <typename Bits>
void derive(Workers& workers, const kernels::DerivedKey& key, uint64_t rows, Bits* values) {
  auto const tasks = static_cast<int64_t>((rows + kTaskRows - 1) / kTaskRows);
  workers.for_each("keys", tasks, [&](int64_t task, int32_t) {
    uint64_t const first = static_cast<uint64_t>(task) * kTaskRows;
    for (uint64_t row = first; row < std::min(rows, first + kTaskRows); ++row) {
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
