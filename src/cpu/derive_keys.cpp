#include "src/cpu/derive_keys.hpp"

namespace gpujoin::cpu {

namespace {

constexpr uint64_t kTaskRows = uint64_t{1} << 16;

template <typename Bits>
void derive(Workers& workers, const kernels::DerivedKey& key, uint64_t rows, uint64_t stride,
            Bits* values) {
  bool const is_decimal = kernels::is_of_decimal(key.op);
  workers.for_each_range("keys", rows, kTaskRows, [&](uint64_t first, uint64_t end) {
    for (uint64_t row = first; row < end; ++row) {
      values[row * stride] = is_decimal ? kernels::derived_decimal<Bits>(key, row)
                                        : kernels::derived_value<Bits>(key, row);
    }
  });
}

}  // namespace

void derive_key(Workers& workers, const kernels::DerivedKey& key, int32_t width, uint64_t rows,
                uint64_t stride, void* values) {
  if (width == 4) {
    derive(workers, key, rows, stride, static_cast<uint32_t*>(values));
  } else {
    derive(workers, key, rows, stride, static_cast<uint64_t*>(values));
  }
}

}  // namespace gpujoin::cpu
