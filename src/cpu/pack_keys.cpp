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

// The first column's part is what the code was not yet. Of a value outside of the field the part
// has the bit `outside`.
template <typename Bits, typename Code>
void add_part(const KeySource& source, const kernels::EncodedColumn& field, bool is_first,
              int32_t outside, uint64_t first, uint64_t end, Code* codes) {
  auto const low = static_cast<Bits>(field.low);
  auto const most = static_cast<Bits>(field.most);
  int32_t const shift = field.shift;
  auto const part_of = [=](Bits value) __attribute__((always_inline)) {
    Bits const above = kernels::turn_sign(value) - low;
    auto const is_outside = static_cast<Code>(above > most ? 1 : 0);
    return static_cast<Code>(static_cast<Code>(above & most) << shift | is_outside << outside);
  };
  if (is_first) {
    each_derived_value<Bits>(
        source.step, first, end, [&](uint64_t row, Bits value) __attribute__((always_inline)) {
          codes[row] = part_of(value);
        });
  } else {
    each_derived_value<Bits>(
        source.step, first, end, [&](uint64_t row, Bits value) __attribute__((always_inline)) {
          codes[row] |= part_of(value);
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

DrawnValues draw_values(const KeySource& source, uint64_t rows) {
  DrawnValues drawn;
  uint64_t const step = rows / kDrawnRows + 1;
  with_key_width(source.width, [&](auto zero) {
    for (uint64_t row = 0; row < rows; row += step) {
      keys::ColumnRange const value = range_between<decltype(zero)>(source, row, row + 1);
      bool const is_null = value.low > value.high;
      drawn.ascend = drawn.ascend && (is_null || value.high >= drawn.range.high);
      drawn.range = keys::united(drawn.range, value);
    }
  });
  return drawn;
}

void pack_keys(Workers& workers, std::span<const KeySource> columns,
               const keys::KeyEncoding& encoding, uint64_t rows, void* codes) {
  // Where the fields take all bits, no value may be outside.
  int32_t const outside = encoding.bits() % (8 * encoding.width);
  workers.for_each_range("keys", rows, kTaskRows, [&](uint64_t begin, uint64_t end) {
    for (uint64_t first = begin; first < end; first += kBlockRows) {
      for (size_t c = 0; c < columns.size(); ++c) {
        kernels::EncodedColumn const field = keys::encoded_column(encoding.fields[c]);
        with_key_width(columns[c].width, [&](auto value) {
          with_key_width(encoding.width, [&](auto code) {
            add_part<decltype(value)>(columns[c], field, c == 0, outside, first,
                                      std::min(first + kBlockRows, end),
                                      static_cast<decltype(code)*>(codes));
          });
        });
      }
    }
  });
}

}  // namespace gpujoin::cpu
