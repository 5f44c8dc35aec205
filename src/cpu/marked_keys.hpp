// marked_keys.hpp: a bit for the number of each key of a column, from the lowest key on.
//
// Threads that store to the same lines wait for each other's, so each has bits of its own, for a
// part of the rows, and all are added at the end: two threads of an AMD EPYC mark 2^20 keys in any
// order in 0.8 ms, and in a byte a number that they share in 2.2 to 5. A list of rows that is in no
// cache is asked for ahead: each store would wait for its line else (decision 50).
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/bytes_column.hpp"
#include "src/base/memory.hpp"
#include "src/base/prefetch.hpp"
#include "src/base/queue.hpp"
#include "src/columns/column.hpp"
#include "src/cpu/workers.hpp"

namespace gpujoin::cpu {

// body(key, row) for the rows [first, end) that have one.
template <typename Key, typename Body>
void for_each_key(const columns::ColumnView& key, uint64_t first, uint64_t end, const Body& body) {
  auto const* const keys = static_cast<const Key*>(key.data);
  if (key.validity == nullptr) {
    for (uint64_t row = first; row < end; ++row) body(keys[row], row);
    return;
  }
  for (uint64_t row = first; row < end; ++row) {
    if (kernels::is_valid({key.validity, key.validity_bit_offset}, row)) body(keys[row], row);
  }
}

// Key: signed.
template <typename Key>
class MarkedKeys {
 public:
  using Bits = std::make_unsigned_t<Key>;

  // low: the lowest key's bits. span: numbers that there are. list: the row of each, to be set; or
  // null.
  MarkedKeys(Workers& workers, const columns::ColumnView& key, uint64_t rows, Bits low,
             uint64_t span, uint32_t* list)
      : workers_(workers), key_(key), rows_(rows), low_(low), span_(span), list_(list) {}

  // Words of 32 bits for all numbers; none where there is no room.
  base::Buffer mark(base::Queue& queue) {
    uint64_t const words = span_ / 32 + 1;
    uint64_t const words_of_part = (words + kLineWords - 1) / kLineWords * kLineWords;
    uint64_t const parts =
        std::min<uint64_t>({most_parts(words_of_part * kWordBytes),
                            static_cast<uint64_t>(workers_.threads()), rows_ / kTaskRows + 1});
    base::Pool& pool = *queue.host_pool;
    base::Buffer bits = pool.try_allocate(base::Memory::kHost, words * kWordBytes);
    base::Buffer others;
    if (parts > 1) {
      others = pool.try_allocate(base::Memory::kHost, (parts - 1) * words_of_part * kWordBytes);
    }
    if (!bits || (parts > 1 && !others)) return {};
    auto const of_part = [&](uint64_t part) {
      return part == 0 ? bits.as<uint32_t>() : others.as<uint32_t>() + (part - 1) * words_of_part;
    };
    for (uint64_t begin = 0; begin < rows_; begin += parts * kRoundRows) {
      workers_.for_each(kStage, static_cast<int64_t>(parts), [&](int64_t item, int32_t) {
        auto const part = static_cast<uint64_t>(item);
        if (begin == 0) std::memset(of_part(part), 0, words * kWordBytes);
        uint64_t const rows = std::min(rows_ - begin, parts * kRoundRows);
        uint64_t const first = begin + rows * part / parts;
        uint64_t const end = begin + rows * (part + 1) / parts;
        if (list_ != nullptr && span_ * sizeof(*list_) > kCacheBytes) {
          mark_rows<true>(first, end, of_part(part));
        } else {
          mark_rows<false>(first, end, of_part(part));
        }
      });
    }
    add_parts(others.as<uint32_t>(), parts - 1, words_of_part, bits.as<uint32_t>(), words);
    return bits;
  }

  // Whether one came again.
  bool repeat() const { return keys_.load() != numbers_.load(); }

 private:
  static constexpr const char* kStage = "transform";
  static constexpr uint64_t kTaskRows = uint64_t{1} << 16;
  // Of a part, between two looks at whether the caller goes on.
  static constexpr uint64_t kRoundRows = uint64_t{1} << 20;
  static constexpr uint64_t kTaskWords = kTaskRows / 32;
  static constexpr uint64_t kWordBytes = sizeof(uint32_t);
  static constexpr uint64_t kLineWords = 64 / kWordBytes;
  // Of all cores. Of a list that stays there asking ahead doubles the time: two threads of an AMD
  // EPYC, 2^21 keys in any order 1.8 and 2.4 ms.
  static constexpr uint64_t kCacheBytes = uint64_t{12} << 20;
  // As much memory as a byte a number, or little.
  static uint64_t most_parts(uint64_t bytes_of_part) {
    constexpr uint64_t kLittleBytes = uint64_t{32} << 20;
    return std::clamp<uint64_t>(kLittleBytes / bytes_of_part, 8, 32);
  }

  // kAsks: the list's entries of rows to come are asked for.
  template <bool kAsks>
  void mark_rows(uint64_t begin, uint64_t end, uint32_t* words) {
    auto const* const keys = static_cast<const Key*>(key_.data);
    uint64_t found = 0;
    for (uint64_t first = begin; first < end; first += kTaskRows) {
      workers_.poll();
      for_each_key<Key>(key_, first, std::min(first + kTaskRows, end), [&](Key one, uint64_t row) {
        if constexpr (kAsks) {
          Key const ahead = keys[std::min(row + base::kRowsAhead, end - 1)];
          auto const number = static_cast<Bits>(static_cast<Bits>(ahead) - low_);
          // Under a NULL lies anything.
          base::ask_for(list_ + std::min<uint64_t>(number, span_ - 1));
        }
        auto const at = static_cast<Bits>(static_cast<Bits>(one) - low_);
        words[at / 32] |= uint32_t{1} << (at % 32);
        // Of a key that comes twice anything: nobody will ask.
        if (list_ != nullptr) {
          std::atomic_ref(list_[at]).store(static_cast<uint32_t>(row), std::memory_order_relaxed);
        }
        ++found;
      });
    }
    keys_.fetch_add(found, std::memory_order_relaxed);
  }

  void add_parts(const uint32_t* parts, uint64_t count, uint64_t words_of_part, uint32_t* bits,
                 uint64_t words) {
    workers_.for_each_range(kStage, words, kTaskWords, [&](uint64_t first, uint64_t end) {
      uint64_t numbers = 0;
      for (uint64_t word = first; word < end; ++word) {
        uint32_t all = bits[word];
        for (uint64_t i = 0; i < count; ++i) all |= parts[i * words_of_part + word];
        bits[word] = all;
        numbers += static_cast<uint64_t>(std::popcount(all));
      }
      numbers_.fetch_add(numbers, std::memory_order_relaxed);
    });
  }

  Workers& workers_;
  const columns::ColumnView& key_;
  uint64_t rows_;
  Bits low_;
  uint64_t span_;
  uint32_t* list_;
  std::atomic<uint64_t> keys_{0};
  std::atomic<uint64_t> numbers_{0};  // that a key has
};

}  // namespace gpujoin::cpu
