#include "src/cpu/derive_keys.hpp"

#include "src/cpu/derived_values.hpp"

namespace gpujoin::cpu {

namespace {

constexpr uint64_t kTaskRows = uint64_t{1} << 16;

template <typename Bits>
void derive(Workers& workers, const kernels::DerivedKey& key, uint64_t rows, uint64_t stride,
            Bits* values) {
  workers.for_each_range("keys", rows, kTaskRows, [&](uint64_t first, uint64_t end) {
    if (stride == 1) {
      each_derived_value<Bits>(key, first, end,
                               [values](uint64_t row, Bits value) { values[row] = value; });
    } else {
      each_derived_value<Bits>(key, first, end, [values, stride](uint64_t row, Bits value) {
        values[row * stride] = value;
      });
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
