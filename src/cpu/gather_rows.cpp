#include "src/cpu/gather_rows.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <utility>

#include "src/cpu/gather_values.hpp"
#include "src/cpu/value_width.hpp"

namespace gpujoin::cpu {

namespace {

using base::Memory;

// Of one task: a multiple of the 64 rows of a word of validity, so that no two tasks share a word.
constexpr uint64_t kTaskRows = uint64_t{1} << 16;

// Returns how many of the rows are NULL.
int64_t gather_bits(const columns::ColumnView& source, const uint32_t* rows, uint64_t first,
                    uint64_t end, uint64_t* words) {
  int64_t valid_rows = 0;
  for (uint64_t i = first; i < end; i += 64) {
    uint64_t const here = std::min<uint64_t>(64, end - i);
    uint64_t word = 0;
    for (uint64_t bit = 0; bit < here; ++bit) {
      uint64_t const at = static_cast<uint64_t>(source.validity_bit_offset) + rows[i + bit];
      word |= uint64_t{static_cast<unsigned>(source.validity[at / 8]) >> (at % 8) & 1U} << bit;
    }
    words[i / 64] = word;
    valid_rows += std::popcount(word);
  }
  return static_cast<int64_t>(end - first) - valid_rows;
}

}  // namespace

columns::ResultColumn gather_rows(base::Queue& queue, Workers& workers, const char* stage,
                                  const columns::ColumnView& source, const uint32_t* rows,
                                  uint64_t count) {
  columns::ResultColumn target = columns::column_like(source);
  if (count == 0) return target;
  base::Pool& pool = *queue.host_pool;
  base::Buffer values =
      pool.allocate(Memory::kHost, base::checked_bytes(count, static_cast<uint64_t>(source.width)),
                    "a column fetched by row number");
  base::Buffer bits;
  if (source.validity != nullptr) {
    bits = pool.allocate_rows<uint64_t>(Memory::kHost, (count + 63) / 64,
                                        "validity of a column fetched by row number");
  }
  std::atomic<int64_t> nulls{0};
  workers.for_each_range(stage, count, kTaskRows, [&](uint64_t first, uint64_t end) {
    with_width(source.width, [&](auto zero) {
      using Value = decltype(zero);
      gather_values<Value>(source.data, rows + first, end - first, values.as<Value>() + first);
    });
    if (source.validity == nullptr) return;
    nulls.fetch_add(gather_bits(source, rows, first, end, bits.as<uint64_t>()),
                    std::memory_order_relaxed);
  });
  target.null_count = nulls.load(std::memory_order_relaxed);
  target.data = columns::make_storage(std::move(values));
  if (target.null_count != 0) target.validity = columns::make_storage(std::move(bits));
  return target;
}

}  // namespace gpujoin::cpu
