#include "src/cpu/gather_bits.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <utility>

namespace gpujoin::cpu {

namespace {

using base::Memory;
using kernels::ValidityBits;

// Of one task: a multiple of the 64 rows of a word, so that no two tasks share a word.
constexpr uint64_t kTaskRows = uint64_t{1} << 16;

// One bit of each row from `first` to `end`, by what(row); 0 for rows that are missing. Returns how
// many are 1.
template <typename What>
int64_t fill_words(const uint32_t* rows, uint64_t first, uint64_t end, uint64_t* words,
                   const What& what) {
  int64_t ones = 0;
  for (uint64_t i = first; i < end; i += 64) {
    uint64_t const here = std::min<uint64_t>(64, end - i);
    uint64_t word = 0;
    for (uint64_t bit = 0; bit < here; ++bit) {
      uint64_t const row = rows != nullptr ? rows[i + bit] : i + bit;
      bool const is_one = (rows == nullptr || row != GPUJOIN_NO_ROW) && what(row);
      word |= uint64_t{is_one} << bit;
    }
    words[i / 64] = word;
    ones += std::popcount(word);
  }
  return ones;
}

// The same where every row that is not missing is 1. Rows are hardly ever missing.
int64_t fill_present(const uint32_t* rows, uint64_t first, uint64_t end, uint64_t* words) {
  int64_t ones = 0;
  for (uint64_t i = first; i < end; i += 64) {
    uint64_t const behind = std::min(end, i + 64);
    uint32_t highest = 0;
    for (uint64_t at = i; rows != nullptr && at < behind; ++at) {
      highest = std::max(highest, rows[at]);
    }
    static_assert(GPUJOIN_NO_ROW == UINT32_MAX);
    if (highest == GPUJOIN_NO_ROW) {
      ones += fill_words(rows, i, behind, words, [](uint64_t) { return true; });
    } else {
      words[i / 64] = ~uint64_t{0} >> (64 - (behind - i));
      ones += static_cast<int64_t>(behind - i);
    }
  }
  return ones;
}

}  // namespace

base::Buffer allocate_validity(base::Queue& queue, const ValidityBits& source, const uint32_t* rows,
                               uint64_t count) {
  if (rows == nullptr && source.bits == nullptr) return {};
  return queue.host_pool->allocate_rows<uint64_t>(Memory::kHost, (count + 63) / 64,
                                                  "validity of a column fetched by row number");
}

int64_t gather_validity(const ValidityBits& source, const uint32_t* rows, uint64_t first,
                        uint64_t end, uint64_t* words) {
  int64_t const valid = source.bits == nullptr
                            ? fill_present(rows, first, end, words)
                            : fill_words(rows, first, end, words, [&](uint64_t row) {
                                return kernels::is_valid(source, row);
                              });
  return static_cast<int64_t>(end - first) - valid;
}

columns::Gathered gather_bits(base::Queue& queue, Workers& workers, const char* stage,
                              const columns::BitsSource& source, const uint32_t* rows,
                              uint64_t count) {
  columns::Gathered gathered;
  if (count == 0) return gathered;
  base::Buffer bits = queue.host_pool->allocate_rows<uint64_t>(
      Memory::kHost, (count + 63) / 64, "a column of bits fetched by row number");
  base::Buffer validity = allocate_validity(queue, source.validity, rows, count);
  ValidityBits const values{source.bits, source.offset};
  std::atomic<int64_t> nulls{0};
  workers.for_each_range(stage, count, kTaskRows, [&](uint64_t first, uint64_t end) {
    auto* const words = bits.as<uint64_t>();
    fill_words(rows, first, end, words,
               [&](uint64_t row) { return kernels::is_valid(values, row); });
    if (!validity) return;
    auto* const valid_words = validity.as<uint64_t>();
    nulls.fetch_add(gather_validity(source.validity, rows, first, end, valid_words),
                    std::memory_order_relaxed);
    for (uint64_t word = first / 64; word < (end + 63) / 64; ++word) {
      words[word] &= valid_words[word];
    }
  });
  gathered.bytes = (count + 7) / 8;
  gathered.data = columns::make_storage(std::move(bits));
  gathered.null_count = nulls.load(std::memory_order_relaxed);
  if (gathered.null_count != 0) gathered.validity = columns::make_storage(std::move(validity));
  return gathered;
}

}  // namespace gpujoin::cpu
