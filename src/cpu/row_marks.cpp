#include "src/cpu/row_marks.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <vector>

#include "src/base/prefetch.hpp"

namespace gpujoin::cpu {

namespace {

using base::Memory;

constexpr const char* kStage = "marks";
constexpr uint64_t kTaskRows = uint64_t{1} << 16;
constexpr uint64_t kTaskWords = kTaskRows / 32;

base::Buffer cleared_words(base::Queue& queue, uint32_t rows) {
  base::Buffer words = queue.host_pool->allocate_rows<uint32_t>(
      Memory::kHost, (uint64_t{rows} + 31) / 32, "marks of rows");
  if (rows != 0) std::memset(words.data(), 0, words.bytes());
  return words;
}

std::atomic_ref<uint32_t> word_of(uint32_t* words, uint32_t row) {
  return std::atomic_ref(words[row / 32]);
}

// Of eight bytes that are 0 or 1, the first one's bit the lowest.
uint32_t bits_of(uint64_t bytes) {
  return static_cast<uint32_t>(bytes * 0x0102040810204080ULL >> 56);
}
static_assert(kTaskRows % 32 == 0);

}  // namespace

RowMarks::RowMarks(base::Queue& queue, uint32_t rows)
    : RowMarks(queue, cleared_words(queue, rows), rows) {}

RowMarks::RowMarks(base::Queue& queue, base::Buffer bits, uint32_t rows)
    : columns::RowMarks(std::move(bits), rows), queue_(queue), workers_(queue) {}

base::Buffer RowMarks::clear_bytes(base::Queue& queue, Workers& workers, uint32_t rows) {
  uint64_t const words = (uint64_t{rows} + 31) / 32;
  base::Buffer bytes = queue.host_pool->try_allocate(Memory::kHost, words * 32);
  if (!bytes) return bytes;
  auto* const first_byte = bytes.as<uint8_t>();
  workers.for_each_range(kStage, words, kTaskWords, [&](uint64_t first, uint64_t end) {
    std::memset(first_byte + 32 * first, 0, 32 * (end - first));
  });
  return bytes;
}

// A byte a row is stored without a look and without an atomic, which takes an eighth of the time;
// but where few rows are marked again and again, threads wait for each other's lines, and a look
// finds that there is nothing to store. Of rows that are marked once or twice nobody can predict
// what it finds: two threads of an AMD EPYC, 2^20 rows marked twice 1.5 ms, and 5 with a look.
void RowMarks::mark_in(uint8_t* bytes, const uint32_t* rows, uint64_t count, bool looks) {
  for (uint64_t i = 0; i < count; ++i) {
    base::ask_for(bytes + rows[std::min<uint64_t>(i + base::kRowsAhead, count - 1)]);
    std::atomic_ref const mark(bytes[rows[i]]);
    if (looks && mark.load(std::memory_order_relaxed) != 0) continue;
    mark.store(1, std::memory_order_relaxed);
  }
}

void RowMarks::mark(const uint32_t* rows, uint64_t count) {
  // A byte a row takes less than a bit, but all of them are cleared and read.
  bool const are_many = count >= this->rows() / 8;
  base::Buffer const bytes =
      are_many ? clear_bytes(queue_, workers_, this->rows()) : base::Buffer{};
  if (!bytes) return mark_bits(rows, count);
  auto* const marks = bytes.as<uint8_t>();
  bool const looks = come_again(this->rows(), count);
  workers_.for_each_range(kStage, count, kTaskRows, [&](uint64_t first, uint64_t end) {
    mark_in(marks, rows + first, end - first, looks);
  });
  mark_bytes(marks);
}

void RowMarks::mark_bits(const uint32_t* rows, uint64_t count) {
  uint32_t* const words = mutable_words();
  workers_.for_each_range(kStage, count, kTaskRows, [&](uint64_t first, uint64_t end) {
    for (uint64_t i = first; i < end; ++i) {
      uint32_t const bit = uint32_t{1} << (rows[i] % 32);
      auto const word = word_of(words, rows[i]);
      // A look is free, an atomic that changes nothing is not.
      if ((word.load(std::memory_order_relaxed) & bit) == 0) {
        word.fetch_or(bit, std::memory_order_relaxed);
      }
    }
  });
}

void RowMarks::mark_bytes(const uint8_t* bytes) {
  uint32_t* const words = mutable_words();
  workers_.for_each_range(kStage, words_count(), kTaskWords, [&](uint64_t first, uint64_t end) {
    for (uint64_t i = first; i < end; ++i) {
      uint64_t eights[4];
      std::memcpy(eights, bytes + 32 * i, sizeof(eights));
      for (uint32_t part = 0; part < 4; ++part) words[i] |= bits_of(eights[part]) << (8 * part);
    }
  });
}

std::optional<uint32_t> RowMarks::mark_once(const uint32_t* rows, uint64_t count) {
  uint32_t* const words = mutable_words();
  std::atomic<uint32_t> lowest{UINT32_MAX};
  workers_.for_each_range(kStage, count, kTaskRows, [&](uint64_t first, uint64_t end) {
    for (uint64_t i = first; i < end; ++i) {
      uint32_t const bit = uint32_t{1} << (rows[i] % 32);
      if ((word_of(words, rows[i]).fetch_or(bit, std::memory_order_relaxed) & bit) == 0) continue;
      uint32_t seen = lowest.load(std::memory_order_relaxed);
      while (rows[i] < seen && !lowest.compare_exchange_weak(seen, rows[i])) {
      }
    }
  });
  uint32_t const found = lowest.load();
  return found == UINT32_MAX ? std::nullopt : std::optional(found);
}

uint32_t RowMarks::count() {
  uint32_t const* const words = this->words();
  std::atomic<uint32_t> marked{0};
  workers_.for_each_range(kStage, words_count(), kTaskWords, [&](uint64_t first, uint64_t end) {
    uint32_t found = 0;
    for (uint64_t i = first; i < end; ++i) {
      found += static_cast<uint32_t>(std::popcount(words[i]));
    }
    marked.fetch_add(found, std::memory_order_relaxed);
  });
  return marked.load();
}

RowMarks::Rows RowMarks::select(bool are_marked, uint32_t count) {
  Rows found;
  found.count = count;
  if (count == 0) return found;
  found.numbers =
      queue_.host_pool->allocate_rows<uint32_t>(Memory::kHost, count, "numbers of marked rows");
  uint32_t const* const words = this->words();
  auto const wanted = [&](uint64_t word) {
    uint32_t const bits = are_marked ? words[word] : ~words[word];
    bool const is_last = word + 1 == words_count() && rows() % 32 != 0;
    return is_last ? bits & ((uint32_t{1} << (rows() % 32)) - 1) : bits;
  };
  std::vector<uint32_t> begin(words_count() / kTaskWords + 2, 0);  // of each range
  workers_.for_each_range(kStage, words_count(), kTaskWords, [&](uint64_t first, uint64_t end) {
    uint32_t& rows_of_range = begin[first / kTaskWords + 1];
    for (uint64_t i = first; i < end; ++i) {
      rows_of_range += static_cast<uint32_t>(std::popcount(wanted(i)));
    }
  });
  for (size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
  auto* const numbers = found.numbers.as<uint32_t>();
  workers_.for_each_range(kStage, words_count(), kTaskWords, [&](uint64_t first, uint64_t end) {
    uint32_t* out = numbers + begin[first / kTaskWords];
    for (uint64_t i = first; i < end; ++i) {
      for (uint32_t bits = wanted(i); bits != 0; bits &= bits - 1) {
        *out++ = static_cast<uint32_t>(i * 32) + static_cast<uint32_t>(std::countr_zero(bits));
      }
    }
  });
  return found;
}

}  // namespace gpujoin::cpu
