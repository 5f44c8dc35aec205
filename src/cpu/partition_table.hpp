// partition_table.hpp: the hash table of one build partition, in one of three forms.
//
// Places, where no key comes twice, but for bad luck in one table of a hundred:
//
//   entries  |a|-|b|c|-|-| ...      a free place has a key that is not looked up there
//
// One place: all keys have one of their own, as dense keys do (see key_hash.hpp). Two places: an
// entry lies in either of two (Pagh and Rodler, Cuckoo hashing, J. Algorithms 2004), whatever the
// keys. A lookup reads one or two places and compares, without a branch.
//
// Groups, for all other keys (a counting sort by bucket):
//
//   starts   |0|2|2|3| ... |n|      one more than there are buckets
//   entries  |a|b|c| ... |z|?|?|..  in bucket order; kReadBehind more may be read, never used
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
#include <utility>

#include "src/base/memory.hpp"
#include "src/cpu/key_hash.hpp"

namespace gpujoin::cpu {

// Scanning so many entries costs no more than bisecting them.
inline constexpr uint32_t kSortedFrom = 16;
inline constexpr uint32_t kReadBehind = 4;

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

enum class Form : uint8_t { kOnePlace, kTwoPlaces, kGroups };

// The entries of a bucket.
struct Group {
  uint32_t start;
  uint32_t length;
};

// What looking up a key in a table reads.
template <typename Key>
struct TableView {
  Form form = Form::kOnePlace;
  BucketOf bucket_of;
  uint32_t bucket_bits = 0;
  const Entry<Key>* entries = nullptr;
  const uint32_t* starts = nullptr;  // of groups

  struct Found {
    Key rest;          // of the entry with the key, or of any other
    uint32_t entries;  // with the key: 0 or 1
  };
  // Of places. Without a branch: in which of two a key lies nobody can predict.
  template <bool kTwoPlaces>
  Found find(Key key, uint32_t hash) const {
    Entry<Key> const& first = entries[bucket_of(hash)];
    uint32_t const in_first = first.key == key ? 1 : 0;
    if constexpr (!kTwoPlaces) return {first.rest, in_first};
    Entry<Key> const& second = entries[second_place_of(key, bucket_bits)];
    uint32_t const in_second = second.key == key ? 1 : 0;
    Key const of_second = Key{0} - Key{in_second};
    return {(first.rest & ~of_second) | (second.rest & of_second), in_first | in_second};
  }
  Found find(Key key, uint32_t hash) const {
    return form == Form::kOnePlace ? find<false>(key, hash) : find<true>(key, hash);
  }
  // Of groups: in a bucket of one entry; without a branch, too. group: the bucket's entries.
  Found find_single(Key key, uint32_t hash, Group* group) const {
    uint32_t const bucket = bucket_of(hash);
    group->start = starts[bucket];
    group->length = starts[bucket + 1] - group->start;
    Entry<Key> const& entry = entries[group->start];
    return {entry.rest,
            static_cast<uint32_t>(group->length == 1) & static_cast<uint32_t>(entry.key == key)};
  }
};

template <typename Key>
class PartitionTable {
 public:
  using EntryOfKey = Entry<Key>;

  // Replaces what the table held. expected: count > 0. distinct: one entry of those with a key is
  // enough, where there are places.
  void build(const std::shared_ptr<base::Pool>& pool, const std::byte* rows, uint32_t row_bytes,
             uint32_t count, uint32_t radix_bits, bool distinct = false) {
    if (row_bytes == sizeof(EntryOfKey)) {
      fill<true>(pool, rows, row_bytes, count, radix_bits, distinct);
    } else {
      fill<false>(pool, rows, row_bytes, count, radix_bits, distinct);
    }
  }

  const TableView<Key>& view() const { return view_; }
  bool has_groups() const { return view_.form == Form::kGroups; }
  // At least the length of the longest run of equal keys.
  uint32_t longest_run() const { return longest_run_; }

  // Calls what(first, last) with pointers to runs of entries of which some have the key; all have
  // it where there are more than kSortedFrom. Of groups.
  template <typename What>
  void visit_group(Group group, Key key, const What& what) const {
    EntryOfKey const* const first = view_.entries + group.start;
    EntryOfKey const* const last = first + group.length;
    if (last - first <= kSortedFrom) {
      what(first, last);
      return;
    }
    auto const [lower, upper] = std::equal_range(first, last, EntryOfKey{key, 0}, key_is_less<Key>);
    if (lower != upper) what(lower, upper);
  }
  // The same, whatever the form.
  template <typename What>
  void visit(Key key, const What& what) const {
    uint32_t const hash = hash_of(key);
    if (view_.form == Form::kGroups) {
      uint32_t const bucket = view_.bucket_of(hash);
      uint32_t const start = view_.starts[bucket];
      visit_group({start, view_.starts[bucket + 1] - start}, key, what);
      return;
    }
    auto const found = view_.find(key, hash);
    EntryOfKey const entry{key, found.rest};
    if (found.entries != 0) what(&entry, &entry + 1);
  }

 private:
  // Of how many keys in 100 places each is given one of its two soon.
  static constexpr uint64_t kMostOfPlaces = 45;
  // Entries that give way, of all rows together: a twentieth to a seventh of them is usual. More
  // come of keys that were made to collide.
  static uint64_t most_moves(uint32_t rows) { return uint64_t{2} * rows + 256; }

  enum class Filled { kAll, kTaken, kRepeats };

  template <typename T>
  static T* room(const std::shared_ptr<base::Pool>& pool, base::Buffer& block, uint64_t bytes) {
    if (block.bytes() < bytes) {
      block = {};
      block = pool->allocate(base::Memory::kHost, std::bit_ceil(bytes), "hash table");
    }
    return block.as<T>();
  }

  template <bool kRowIsEntry>
  void fill(const std::shared_ptr<base::Pool>& pool, const std::byte* rows, uint32_t row_bytes,
            uint32_t count, uint32_t radix_bits, bool distinct) {
    auto const entry = [=](uint32_t i) { return entry_at<Key, kRowIsEntry>(rows, row_bytes, i); };
    // Two to four buckets for each row: dense keys then share none, or next to none. Of a set,
    // whose rows may have few keys, whatever there is.
    auto const wanted = static_cast<uint32_t>(std::bit_width(count - 1)) + 1;
    uint32_t const for_rows = std::min(wanted, kMostBucketBits);
    if (for_rows == wanted || distinct) {
      Filled filled = Filled::kTaken;
      if (!keys_crowd_) {
        clear_places(pool, radix_bits, for_rows);
        filled = fill_one_place(entry, count, distinct);
      }
      if (filled == Filled::kAll) return;
      keys_crowd_ = filled == Filled::kTaken;
      bool const is_tight = count * uint64_t{100} > kMostOfPlaces << for_rows;
      uint32_t const for_two = is_tight ? for_rows + 1 : for_rows;
      if (filled == Filled::kTaken && (for_two <= kMostBucketBits || distinct)) {
        clear_places(pool, radix_bits, std::min(for_two, kMostBucketBits));
        if (fill_two_places(entry, count, distinct)) return;
      }
    }
    fill_groups(pool, entry, count, BucketOf(radix_bits, for_rows));
  }

  void clear_places(const std::shared_ptr<base::Pool>& pool, uint32_t radix_bits, uint32_t bits) {
    uint64_t const places = uint64_t{1} << bits;
    entries_ = room<EntryOfKey>(pool, entries_block_, places * sizeof(EntryOfKey));
    longest_run_ = 1;
    view_ = {Form::kOnePlace, BucketOf(radix_bits, bits), bits, entries_, nullptr};
    std::memset(static_cast<void*>(entries_), 0, places * sizeof(EntryOfKey));
    // Both places of key 0 are the first one.
    of_first_place_ = 1;
    while (first_place(of_first_place_) == 0 || second_place(of_first_place_) == 0) {
      ++of_first_place_;
    }
    entries_[0].key = of_first_place_;
  }

  uint32_t first_place(Key key) const { return view_.bucket_of(hash_of(key)); }
  uint32_t second_place(Key key) const { return second_place_of(key, view_.bucket_bits); }
  bool is_free(uint32_t place) const {
    return entries_[place].key == (place == 0 ? of_first_place_ : Key{0});
  }

  // Ends at the first key whose place is taken. Random keys show that soon.
  template <typename EntryAt>
  Filled fill_one_place(const EntryAt& entry_of, uint32_t count, bool distinct) {
    for (uint32_t i = 0; i < count; ++i) {
      EntryOfKey const entry = entry_of(i);
      uint32_t const place = first_place(entry.key);
      if (is_free(place)) {
        entries_[place] = entry;
      } else if (entries_[place].key != entry.key) {
        return Filled::kTaken;
      } else if (!distinct) {
        return Filled::kRepeats;
      }
    }
    return Filled::kAll;
  }

  // False when a key came again, or too many entries had to give way.
  template <typename EntryAt>
  bool fill_two_places(const EntryAt& entry_of, uint32_t count, bool distinct) {
    uint64_t moves_left = most_moves(count);
    uint64_t free_left = (kMostOfPlaces << view_.bucket_bits) / 100;
    bool all_in_first = true;
    for (uint32_t i = 0; i < count; ++i) {
      EntryOfKey entry = entry_of(i);
      uint32_t const first = first_place(entry.key);
      uint32_t const second = second_place(entry.key);
      if (entries_[first].key == entry.key || entries_[second].key == entry.key) {
        if (distinct) continue;
        return false;
      }
      if (free_left == 0) return false;
      --free_left;
      // Without a branch: whether the first one is free nobody can predict.
      bool const is_first_free = is_free(first);
      uint32_t place = is_first_free ? first : second;
      all_in_first = all_in_first && is_first_free;
      // An entry that gives way goes to the other of its places.
      for (; !is_free(place); --moves_left) {
        if (moves_left == 0) return false;
        std::swap(entry, entries_[place]);
        uint32_t const first_of_moved = first_place(entry.key);
        place = first_of_moved == place ? second_place(entry.key) : first_of_moved;
      }
      entries_[place] = entry;
    }
    if (!all_in_first) view_.form = Form::kTwoPlaces;
    return true;
  }

  template <typename EntryAt>
  void fill_groups(const std::shared_ptr<base::Pool>& pool, const EntryAt& entry_of, uint32_t count,
                   BucketOf bucket_of) {
    uint32_t const buckets = bucket_of.mask + 1;
    entries_ = room<EntryOfKey>(pool, entries_block_,
                                (count + uint64_t{kReadBehind}) * sizeof(EntryOfKey));
    auto* const starts =
        room<uint32_t>(pool, starts_block_, (buckets + uint64_t{1}) * sizeof(uint32_t));
    view_ = {Form::kGroups, bucket_of, 0, entries_, starts};
    EntryOfKey* const entries = entries_;
    std::fill_n(starts, buckets + 1, 0);
    for (uint32_t i = 0; i < count; ++i) ++starts[bucket_of(hash_of(entry_of(i).key))];
    // To the end of each bucket; filling it from the end leaves its start.
    uint32_t sum = 0;
    uint32_t longest = 0;
    for (uint32_t bucket = 0; bucket < buckets; ++bucket) {
      longest = std::max(longest, starts[bucket]);
      sum += starts[bucket];
      starts[bucket] = sum;
    }
    starts[buckets] = sum;
    for (uint32_t i = count; i-- > 0;) {
      auto const entry = entry_of(i);
      entries[--starts[bucket_of(hash_of(entry.key))]] = entry;
    }
    std::fill_n(entries + count, kReadBehind, EntryOfKey{});
    longest_run_ = longest;
    if (longest > kSortedFrom) sort_long_buckets(buckets);
  }

  void sort_long_buckets(uint32_t buckets) {
    for (uint32_t bucket = 0; bucket < buckets; ++bucket) {
      EntryOfKey* const first = entries_ + view_.starts[bucket];
      EntryOfKey* const last = entries_ + view_.starts[bucket + 1];
      if (last - first <= kSortedFrom) continue;
      if (!std::is_sorted(first, last, key_is_less<Key>)) std::sort(first, last, key_is_less<Key>);
    }
  }

  base::Buffer entries_block_;
  base::Buffer starts_block_;
  EntryOfKey* entries_ = nullptr;
  TableView<Key> view_;
  Key of_first_place_ = 0;   // what says that the first place is free
  bool keys_crowd_ = false;  // of a partition before: one place each is not tried again
  uint32_t longest_run_ = 0;
};

}  // namespace gpujoin::cpu
