#include "src/cpu/valid_rows.hpp"

#include "src/columns/validity_bits.hpp"

namespace gpujoin::cpu {

namespace {

// A multiple of the 64 rows of a word of validity.
constexpr uint64_t kTaskRows = uint64_t{1} << 16;

uint64_t word_at(const kernels::ValidityBits& validity, uint64_t row, uint64_t rows) {
  auto const first = static_cast<uint64_t>(validity.offset);
  return columns::bits_of_64_rows(validity.bits, first + row, first + rows);
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
