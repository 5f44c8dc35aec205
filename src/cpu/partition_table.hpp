// partition_table.hpp: the hash table of one build partition: entries grouped by bucket.
//
//   starts   |0|2|2|3| ... |n|          one more than there are buckets
//   entries  |a|b|c| ... |z|?|          in bucket order; one more may be read, never used
//
// Grouping instead of chaining or probing (a counting sort on the bucket bits): an entry lookup
// reads two places however many duplicates there are, equal keys lie side by side and are copied
// out as a run, no key value is reserved. Buckets of more than kSortedFrom entries are sorted by
// key, so that a run of equal keys is found by bisection: keys that collide cost a logarithm, not a
// scan, whatever their number.
//
// An entry is a key and as many bytes again: the rest of a row of twice the key's width, or the
// row's position in the partition.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "src/base/memory.hpp"
#include "src/cpu/key_hash.hpp"

namespace gpujoin::cpu {

// Scanning so many entries costs no more than bisecting them.
inline constexpr uint32_t kSortedFrom = 16;

template <typename Key>
struct Entry {
  Key key;
  Key rest;
};

template <typename Key>
Entry<Key> entry_at(const std::byte* rows, uint32_t row_bytes, bool row_is_entry,
                    uint32_t position) {
  Entry<Key> entry;
  std::byte const* row = rows + uint64_t{position} * row_bytes;
  if (row_is_entry) {
    std::memcpy(&entry, row, sizeof(entry));
  } else {
    std::memcpy(&entry.key, row, sizeof(entry.key));
    entry.rest = position;
  }
  return entry;
}

template <typename Key>
class PartitionTable {
 public:
  // Replaces what the table held.
  void build(const std::shared_ptr<base::Pool>& pool, const std::byte* rows, uint32_t row_bytes,
             uint32_t count, uint32_t radix_bits) {
    radix_bits_ = radix_bits;
    // Two to four buckets for each row: dense keys, spread by the golden ratio, then never share one.
    auto const for_rows = static_cast<uint32_t>(std::bit_width(count - 1)) + 1;
    bucket_bits_ = std::min({for_rows, kMostBucketBits, 32 - radix_bits});
    uint32_t const buckets = uint32_t{1} << bucket_bits_;
    starts_ = room(pool, starts_block_, (buckets + uint64_t{1}) * sizeof(uint32_t));
    entries_ = room<Entry<Key>>(pool, entries_block_, (count + uint64_t{1}) * sizeof(Entry<Key>));
    if (row_bytes == sizeof(Entry<Key>)) {
      group<true>(rows, row_bytes, count, buckets);
    } else {
      group<false>(rows, row_bytes, count, buckets);
    }
    if (longest_bucket_ > kSortedFrom) sort_long_buckets(buckets);
  }

  uint32_t longest_bucket() const { return longest_bucket_; }
  const uint32_t* starts() const { return starts_; }
  const Entry<Key>* entries() const { return entries_; }
  uint32_t bucket(Key key) const { return bucket_of(hash_of(key), radix_bits_, bucket_bits_); }

 private:
  template <typename T = uint32_t>
  static T* room(const std::shared_ptr<base::Pool>& pool, base::Buffer& block, uint64_t bytes) {
    if (block.bytes() < bytes) {
      block = {};
      block = pool->allocate(base::Memory::kHost, std::bit_ceil(bytes), "hash table");
    }
    return block.as<T>();
  }

  template <bool kRowIsEntry>
  void group(const std::byte* rows, uint32_t row_bytes, uint32_t count, uint32_t buckets) {
    uint32_t const stride = kRowIsEntry ? sizeof(Entry<Key>) : row_bytes;
    uint32_t* starts = starts_;
    Entry<Key>* entries = entries_;
    std::fill_n(starts, buckets + 1, 0);
    for (uint32_t i = 0; i < count; ++i) {
      Key key;
      std::memcpy(&key, rows + uint64_t{i} * stride, sizeof(key));
      ++starts[bucket(key)];
    }
    // To the end of each bucket; filling it from the end leaves its start.
    uint32_t sum = 0;
    uint32_t longest = 0;
    for (uint32_t b = 0; b < buckets; ++b) {
      longest = std::max(longest, starts[b]);
      sum += starts[b];
      starts[b] = sum;
    }
    starts[buckets] = sum;
    longest_bucket_ = longest;
    for (uint32_t i = count; i-- > 0;) {
      Entry<Key> const entry = entry_at<Key>(rows, stride, kRowIsEntry, i);
      entries[--starts[bucket(entry.key)]] = entry;
    }
    entries[count] = Entry<Key>{};
  }

  void sort_long_buckets(uint32_t buckets) {
    auto const by_key = [](const Entry<Key>& a, const Entry<Key>& b) { return a.key < b.key; };
    for (uint32_t b = 0; b < buckets; ++b) {
      if (starts_[b + 1] - starts_[b] <= kSortedFrom) continue;
      Entry<Key>* const first = entries_ + starts_[b];
      Entry<Key>* const last = entries_ + starts_[b + 1];
      if (!std::is_sorted(first, last, by_key)) std::sort(first, last, by_key);
    }
  }

  base::Buffer starts_block_;
  base::Buffer entries_block_;
  uint32_t* starts_ = nullptr;
  Entry<Key>* entries_ = nullptr;
  uint32_t radix_bits_ = 0;
  uint32_t bucket_bits_ = 0;
  uint32_t longest_bucket_ = 0;
};

}  // namespace gpujoin::cpu
