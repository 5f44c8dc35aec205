#include "src/pieces/side_marks.hpp"

#include <atomic>
#include <cstring>
#include <vector>

#include "gpujoin.h"
#include "src/base/copy.hpp"
#include "src/columns/validity_bits.hpp"
#include "src/execute/row_marks.hpp"

namespace gpujoin::pieces {

namespace {

using base::Memory;

uint64_t words_of(int64_t rows) { return (static_cast<uint64_t>(rows) + 31) / 32; }

base::Buffer cleared_words(base::Pool& pool, int64_t rows) {
  base::Buffer words = pool.allocate_rows<uint32_t>(Memory::kHost, words_of(rows), "marks of rows");
  if (rows != 0) std::memset(words.data(), 0, words_of(rows) * sizeof(uint32_t));
  return words;
}

// Bytes of a result, where the host reads them.
template <typename T>
std::vector<T> on_host(base::Queue& queue, Memory memory, const void* data, uint64_t count) {
  std::vector<T> copied(count);
  base::copy(queue, copied.data(), Memory::kHost, data, memory, count * sizeof(T));
  base::finish(queue);
  return copied;
}

// Whether it was set before.
bool set_bit(uint32_t* words, uint64_t row) {
  uint32_t const bit = uint32_t{1} << (row % 32);
  std::atomic_ref const word(words[row / 32]);
  // A look is free, an atomic that changes nothing is not.
  if ((word.load(std::memory_order_relaxed) & bit) != 0) return true;
  return (word.fetch_or(bit, std::memory_order_relaxed) & bit) != 0;
}

void set_words(uint32_t* words, const uint32_t* more, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    if (more[i] == 0) continue;
    std::atomic_ref(words[i]).fetch_or(more[i], std::memory_order_relaxed);
  }
}

// One for so many rows of the side: fewer are looked at one by one.
constexpr int64_t kRowsToMark = 64;

}  // namespace

SideMarks::SideMarks(base::Pool& pool, int64_t rows, bool may_be_unknown)
    : rows_(rows), matched_(cleared_words(pool, rows)) {
  if (may_be_unknown) unknown_ = cleared_words(pool, rows);
}

void SideMarks::mark(base::Queue& queue, Memory memory, const columns::Storage& numbers,
                     int64_t count, bool may_miss, int64_t first_row, int64_t rows) {
  bool const are_few = count < rows / kRowsToMark;
  if (are_few || may_miss) {
    mark_once(queue, memory, numbers, count, first_row);
    return;
  }
  if (count == 0) return;
  auto const marks = execute::make_row_marks(queue, memory, rows);
  marks->mark(static_cast<const uint32_t*>(numbers.get()), static_cast<uint64_t>(count));
  base::finish(queue);
  uint64_t const words = words_of(rows);
  uint32_t* const target = matched_.as<uint32_t>() + first_row / 32;
  if (memory != Memory::kDevice) return set_words(target, marks->words(), words);
  set_words(target, on_host<uint32_t>(queue, memory, marks->words(), words).data(), words);
}

std::optional<int64_t> SideMarks::mark_once(base::Queue& queue, Memory memory,
                                            const columns::Storage& numbers, int64_t count,
                                            int64_t first_row) {
  std::optional<int64_t> twice;
  auto const mark_all = [&](const uint32_t* rows) {
    for (int64_t i = 0; i < count; ++i) {
      if (rows[i] == GPUJOIN_NO_ROW) continue;
      int64_t const row = first_row + rows[i];
      if (set_bit(matched_.as<uint32_t>(), static_cast<uint64_t>(row))) twice = row;
    }
  };
  if (memory != Memory::kDevice) {
    mark_all(static_cast<const uint32_t*>(numbers.get()));
  } else {
    mark_all(on_host<uint32_t>(queue, memory, numbers.get(), static_cast<uint64_t>(count)).data());
  }
  return twice;
}

void SideMarks::mark(int64_t row) { set_bit(matched_.as<uint32_t>(), static_cast<uint64_t>(row)); }

void SideMarks::mark(base::Queue& queue, Memory memory, const columns::ResultColumn& marks,
                     int64_t rows, int64_t first_row) {
  if (rows == 0) return;
  uint64_t const words = words_of(rows);
  auto bits = on_host<uint32_t>(queue, memory, marks.data.get(), words);
  auto const valid = marks.null_count == 0
                         ? std::vector<uint32_t>(words, UINT32_MAX)
                         : on_host<uint32_t>(queue, memory, marks.validity.get(), words);
  auto unknown = valid;
  for (uint64_t i = 0; i < words; ++i) {
    bits[i] &= valid[i];
    unknown[i] = ~valid[i];
  }
  if (rows % 32 != 0) {
    uint32_t const last = (uint32_t{1} << (rows % 32)) - 1;
    bits.back() &= last;
    unknown.back() &= last;
  }
  set_words(matched_.as<uint32_t>() + first_row / 32, bits.data(), words);
  if (unknown_) set_words(unknown_.as<uint32_t>() + first_row / 32, unknown.data(), words);
}

}  // namespace gpujoin::pieces
