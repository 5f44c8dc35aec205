#include "src/cpu/pack_keys.hpp"

#include <algorithm>
#include <mutex>

#include "src/cpu/derived_values.hpp"
#include "src/cpu/value_width.hpp"

namespace gpujoin::cpu {

namespace {

constexpr uint64_t kTaskRows = uint64_t{1} << 16;
// Codes of so many rows stay in the first cache while the columns are added, one by one.
constexpr uint64_t kBlockRows = 1024;
// Rows that say whether a look at all of them may be worth it.
constexpr uint64_t kDrawnRows = 256;

template <typename Bits>
keys::ColumnRange range_between(const KeySource& source, uint64_t first, uint64_t end) {
  Bits low = ~Bits{0};
  Bits high = 0;
  auto const add = [&](uint64_t, Bits value) __attribute__((always_inline)) {
    Bits const turned = kernels::turn_sign(value);
    low = std::min(low, turned);
    high = std::max(high, turned);
  };
  if (source.validity.bits == nullptr) {
    each_derived_value<Bits>(source.step, first, end, add);
  } else {
    each_derived_value<Bits>(
        source.step, first, end, [&](uint64_t row, Bits value) __attribute__((always_inline)) {
          if (kernels::is_valid(source.validity, row)) add(row, value);
        });
  }
  if (low > high) return {};
  return {low, high};
}

// The first column's part is what the code was not yet.
template <typename Bits, typename Code>
void add_part(const KeySource& source, const kernels::EncodedColumn& field, bool is_first,
              uint64_t first, uint64_t end, Code* codes) {
  bool outside = false;
  if (is_first) {
    each_derived_value<Bits>(
        source.step, first, end, [&](uint64_t row, Bits value) __attribute__((always_inline)) {
          codes[row] = field.part_of<Code>(value, &outside);
        });
  } else {
    each_derived_value<Bits>(
        source.step, first, end, [&](uint64_t row, Bits value) __attribute__((always_inline)) {
          codes[row] |= field.part_of<Code>(value, &outside);
        });
  }
}

}  // namespace

keys::ColumnRange range_of(Workers& workers, const KeySource& source, uint64_t rows) {
  keys::ColumnRange range;
  std::mutex adding;
  workers.for_each_range("keys", rows, kTaskRows, [&](uint64_t first, uint64_t end) {
    keys::ColumnRange found;
    with_key_width(source.width,
                   [&](auto zero) { found = range_between<decltype(zero)>(source, first, end); });
    std::lock_guard const lock(adding);
    range = keys::united(range, found);
  });
  return range;
}

keys::ColumnRange drawn_range_of(const KeySource& source, uint64_t rows) {
  keys::ColumnRange range;
  uint64_t const step = rows / kDrawnRows + 1;
  with_key_width(source.width, [&](auto zero) {
    for (uint64_t row = 0; row < rows; row += step) {
      range = keys::united(range, range_between<decltype(zero)>(source, row, row + 1));
    }
  });
  return range;
}

void pack_keys(Workers& workers, std::span<const KeySource> columns,
               const keys::KeyEncoding& encoding, uint64_t rows, void* codes) {
  workers.for_each_range("keys", rows, kTaskRows, [&](uint64_t begin, uint64_t end) {
    for (uint64_t first = begin; first < end; first += kBlockRows) {
      for (size_t c = 0; c < columns.size(); ++c) {
        kernels::EncodedColumn const field = keys::encoded_column(encoding.fields[c]);
        with_key_width(columns[c].width, [&](auto value) {
          with_key_width(encoding.width, [&](auto code) {
            add_part<decltype(value)>(columns[c], field, c == 0, first,
                                      std::min(first + kBlockRows, end),
                                      static_cast<decltype(code)*>(codes));
          });
        });
      }
    }
  });
}

}  // namespace gpujoin::cpu
