#include "src/cpu/pack_keys.hpp"

#include <algorithm>
#include <mutex>

#include "src/cpu/derived_values.hpp"

namespace gpujoin::cpu {

namespace {

// A multiple of the 64 rows of a word of validity.
constexpr uint64_t kTaskRows = uint64_t{1} << 16;
// Codes of so many rows stay in the first cache while the columns are added, one by one.
constexpr uint64_t kBlockRows = 1024;
// Rows that say whether a look at all of them may be worth it.
constexpr uint64_t kDrawnRows = 256;

template <typename What>
void with_bits(int32_t width, const What& what) {
  if (width == 4) {
    what(uint32_t{});
  } else {
    what(uint64_t{});
  }
}

template <typename Bits>
keys::ColumnRange range_between(const KeySource& source, uint64_t first, uint64_t end) {
  Bits low = ~Bits{0};
  Bits high = 0;
  auto const add = [&](uint64_t, Bits value) {
    Bits const turned = kernels::turn_sign(value);
    low = std::min(low, turned);
    high = std::max(high, turned);
  };
  if (source.validity.bits == nullptr) {
    each_derived_value<Bits>(source.step, first, end, add);
  } else {
    each_derived_value<Bits>(source.step, first, end, [&](uint64_t row, Bits value) {
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
    each_derived_value<Bits>(source.step, first, end, [&](uint64_t row, Bits value) {
      codes[row] = field.part_of<Code>(value, &outside);
    });
  } else {
    each_derived_value<Bits>(source.step, first, end, [&](uint64_t row, Bits value) {
      codes[row] |= field.part_of<Code>(value, &outside);
    });
  }
}

// 64 bits from row `row` on; those behind `rows` are any.
uint64_t word_at(const kernels::ValidityBits& validity, uint64_t row, uint64_t rows) {
  uint64_t const at = static_cast<uint64_t>(validity.offset) + row;
  uint64_t const last = (static_cast<uint64_t>(validity.offset) + rows - 1) / 8;
  uint64_t const shift = at % 8;
  uint64_t word = 0;
  for (uint64_t byte = 0; byte < 8 && at / 8 + byte <= last; ++byte) {
    word |= uint64_t{validity.bits[at / 8 + byte]} << (8 * byte);
  }
  word >>= shift;
  if (shift != 0 && at / 8 + 8 <= last) {
    word |= uint64_t{validity.bits[at / 8 + 8]} << (64 - shift);
  }
  return word;
}

}  // namespace

keys::ColumnRange range_of(Workers& workers, const KeySource& source, uint64_t rows) {
  keys::ColumnRange range;
  std::mutex adding;
  workers.for_each_range("keys", rows, kTaskRows, [&](uint64_t first, uint64_t end) {
    keys::ColumnRange found;
    with_bits(source.width,
              [&](auto zero) { found = range_between<decltype(zero)>(source, first, end); });
    std::lock_guard const lock(adding);
    range = keys::united(range, found);
  });
  return range;
}

keys::ColumnRange drawn_range_of(const KeySource& source, uint64_t rows) {
  keys::ColumnRange range;
  uint64_t const step = rows / kDrawnRows + 1;
  with_bits(source.width, [&](auto zero) {
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
        with_bits(columns[c].width, [&](auto value) {
          with_bits(encoding.width, [&](auto code) {
            add_part<decltype(value)>(columns[c], field, c == 0, first,
                                      std::min(first + kBlockRows, end),
                                      static_cast<decltype(code)*>(codes));
          });
        });
      }
    }
  });
}

void valid_in_all(Workers& workers, std::span<const KeySource> columns, uint64_t rows,
                  uint64_t* words) {
  workers.for_each_range("keys", rows, kTaskRows, [&](uint64_t first, uint64_t end) {
    for (uint64_t row = first; row < end; row += 64) {
      uint64_t word = ~uint64_t{0};
      for (KeySource const& column : columns) {
        if (column.validity.bits != nullptr) word &= word_at(column.validity, row, rows);
      }
      words[row / 64] = word;
    }
  });
}

}  // namespace gpujoin::cpu
