// partition_table.hpp: the hash table of one build partition, in one of two forms.
//
// Slots, where almost every bucket has one row at most, as with dense keys (see key_hash.hpp):
//
//   state    |1|0|1|2| ...          entries of each bucket: 0, 1, 2 = several
//   entries  |a| |b|c| ...          the first entry of each bucket
//   others   |d|                    the entries that found their bucket taken, sorted by key
//
// Groups, for all other keys (a counting sort by bucket):
//
//   starts   |0|2|2|3| ... |n|      one more than there are buckets
//   entries  |a|b|c| ... |z|?|      in bucket order; one more may be read, never used
//
// Groups instead of chains or open addressing: an entry lookup reads two places however many
// duplicates there are, equal keys lie side by side and are copied out as a run, no key value is
// reserved. Buckets of more than kSortedFrom entries are sorted by key, so that a run of equal keys
// is found by bisection: keys that collide cost a logarithm, not a scan, whatever their number.
//
// An entry is a key and as many bytes again: the rest of a row of twice the key's width, or the
// row's position in the partition.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

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
bool key_is_less(const Entry<Key>& a, const Entry<Key>& b) {
  return a.key < b.key;
}

template <typename Key, bool kRowIsEntry>
Entry<Key> entry_at(const std::byte* rows, uint32_t row_bytes, uint32_t position) {
  Entry<Key> entry;
  if constexpr (kRowIsEntry) {
    std::memcpy(&entry, rows + uint64_t{position} * sizeof(entry), sizeof(entry));
  } else {
    std::memcpy(&entry.key, rows + uint64_t{position} * row_bytes, sizeof(entry.key));
    entry.rest = position;
  }
  return entry;
}

template <typename Key>
class PartitionTable {
 public:
  using EntryOfKey = Entry<Key>;

  // Replaces what the table held. expected: count > 0. distinct: one entry of those with a key is
  // enough, where slots hold them.
  void build(const std::shared_ptr<base::Pool>& pool, const std::byte* rows, uint32_t row_bytes,
             uint32_t count, uint32_t radix_bits, bool distinct = false) {
    // Two to four buckets for each row: dense keys then share none, or next to none.
    auto const for_rows = static_cast<uint32_t>(std::bit_width(count - 1)) + 1;
    uint32_t const bucket_bits = std::min(for_rows, kMostBucketBits);
    bucket_of_ = BucketOf(radix_bits, bucket_bits);
    buckets_ = uint32_t{1} << bucket_bits;
    uint64_t const places = std::max<uint64_t>(buckets_, uint64_t{count} + 1);
    entries_ = room<EntryOfKey>(pool, entries_block_, places * sizeof(EntryOfKey));
    uint32_t const most_others = count / 128;
    others_ = room<EntryOfKey>(pool, others_block_, (most_others + 1) * sizeof(EntryOfKey));
    starts_ = room<uint32_t>(pool, starts_block_, (buckets_ + uint64_t{1}) * sizeof(uint32_t));
    if (row_bytes == sizeof(EntryOfKey)) {
      fill<true>(rows, row_bytes, count, most_others, distinct);
    } else {
      fill<false>(rows, row_bytes, count, most_others, distinct);
    }
  }

  BucketOf bucket_of() const { return bucket_of_; }
  const EntryOfKey* entries() const { return entries_; }
  // At least the length of the longest run of equal keys.
  uint32_t longest_run() const { return longest_run_; }

  bool has_slots() const { return has_slots_; }
  const uint8_t* states() const { return reinterpret_cast<const uint8_t*>(starts_); }  // slots
  const uint32_t* starts() const { return starts_; }                                   // groups

  // Calls what(first, last) with pointers to runs of entries of which some have the key; all have
  // it where there are more than kSortedFrom. For a bucket of several entries.
  template <typename What>
  void visit_several(uint32_t bucket, Key key, const What& what) const {
    if (has_slots_) {
      what(entries_ + bucket, entries_ + bucket + 1);
      visit_equal(others_, others_ + others_count_, key, what);
    } else if (starts_[bucket + 1] - starts_[bucket] <= kSortedFrom) {
      what(entries_ + starts_[bucket], entries_ + starts_[bucket + 1]);
    } else {
      visit_equal(entries_ + starts_[bucket], entries_ + starts_[bucket + 1], key, what);
    }
  }

 private:
  template <typename T>
  static T* room(const std::shared_ptr<base::Pool>& pool, base::Buffer& block, uint64_t bytes) {
    if (block.bytes() < bytes) {
      block = {};
      block = pool->allocate(base::Memory::kHost, std::bit_ceil(bytes), "hash table");
    }
    return block.as<T>();
  }

  template <typename What>
  static void visit_equal(const EntryOfKey* first, const EntryOfKey* last, Key key,
                          const What& what) {
    auto const [lower, upper] = std::equal_range(first, last, EntryOfKey{key, 0}, key_is_less<Key>);
    if (lower != upper) what(lower, upper);
  }

  template <bool kRowIsEntry>
  void fill(const std::byte* rows, uint32_t row_bytes, uint32_t count, uint32_t most_others,
            bool distinct) {
    has_slots_ = distinct ? fill_slots<kRowIsEntry, true>(rows, row_bytes, count, most_others)
                          : fill_slots<kRowIsEntry, false>(rows, row_bytes, count, most_others);
    if (!has_slots_) fill_groups<kRowIsEntry>(rows, row_bytes, count);
  }

  // False when more than most_others rows found their bucket taken. Random keys show that soon.
  template <bool kRowIsEntry, bool kDistinct>
  bool fill_slots(const std::byte* rows, uint32_t row_bytes, uint32_t count, uint32_t most_others) {
    auto* const states = reinterpret_cast<uint8_t*>(starts_);
    EntryOfKey* const entries = entries_;
    BucketOf const bucket_of = bucket_of_;
    std::memset(states, 0, buckets_);
    uint32_t others = 0;
    for (uint32_t i = 0; i < count; ++i) {
      auto const entry = entry_at<Key, kRowIsEntry>(rows, row_bytes, i);
      uint32_t const bucket = bucket_of(hash_of(entry.key));
      if (states[bucket] == 0) {
        states[bucket] = 1;
        entries[bucket] = entry;
        continue;
      }
      if (kDistinct && entries[bucket].key == entry.key) continue;
      if (others == most_others) return false;
      states[bucket] = 2;
      others_[others++] = entry;
    }
    std::sort(others_, others_ + others, key_is_less<Key>);
    others_count_ = others;
    longest_run_ = others + 1;
    return true;
  }

  template <bool kRowIsEntry>
  void fill_groups(const std::byte* rows, uint32_t row_bytes, uint32_t count) {
    uint32_t* const starts = starts_;
    EntryOfKey* const entries = entries_;
    BucketOf const bucket_of = bucket_of_;
    std::fill_n(starts, buckets_ + 1, 0);
    for (uint32_t i = 0; i < count; ++i) {
      ++starts[bucket_of(hash_of(entry_at<Key, kRowIsEntry>(rows, row_bytes, i).key))];
    }
    // To the end of each bucket; filling it from the end leaves its start.
    uint32_t sum = 0;
    uint32_t longest = 0;
    for (uint32_t bucket = 0; bucket < buckets_; ++bucket) {
      longest = std::max(longest, starts[bucket]);
      sum += starts[bucket];
      starts[bucket] = sum;
    }
    starts[buckets_] = sum;
    for (uint32_t i = count; i-- > 0;) {
      auto const entry = entry_at<Key, kRowIsEntry>(rows, row_bytes, i);
      entries[--starts[bucket_of(hash_of(entry.key))]] = entry;
    }
    entries[count] = EntryOfKey{};
    longest_run_ = longest;
    if (longest > kSortedFrom) sort_long_buckets();
  }

  void sort_long_buckets() {
    for (uint32_t bucket = 0; bucket < buckets_; ++bucket) {
      if (starts_[bucket + 1] - starts_[bucket] <= kSortedFrom) continue;
      EntryOfKey* const first = entries_ + starts_[bucket];
      EntryOfKey* const last = entries_ + starts_[bucket + 1];
      if (!std::is_sorted(first, last, key_is_less<Key>)) std::sort(first, last, key_is_less<Key>);
    }
  }

  base::Buffer entries_block_;
  base::Buffer others_block_;
  base::Buffer starts_block_;
  EntryOfKey* entries_ = nullptr;
  EntryOfKey* others_ = nullptr;
  uint32_t* starts_ = nullptr;
  BucketOf bucket_of_;
  uint32_t buckets_ = 0;
  uint32_t others_count_ = 0;
  uint32_t longest_run_ = 0;
  bool has_slots_ = false;
};

}  // namespace gpujoin::cpu
