#include "src/cpu/valid_rows.hpp"

namespace gpujoin::cpu {

namespace {

// A multiple of the 64 rows of a word of validity.
constexpr uint64_t kTaskRows = uint64_t{1} << 16;

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

void valid_in_all(Workers& workers, const char* stage,
                  std::span<const kernels::ValidityBits> columns, uint64_t rows, uint64_t* words) {
  workers.for_each_range(stage, rows, kTaskRows, [&](uint64_t first, uint64_t end) {
    for (uint64_t row = first; row < end; row += 64) {
      uint64_t word = ~uint64_t{0};
      for (kernels::ValidityBits const& column : columns) {
        if (column.bits != nullptr) word &= word_at(column, row, rows);
      }
      words[row / 64] = word;
    }
  });
}

}  // namespace gpujoin::cpu
