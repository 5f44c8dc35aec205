// sorted_prober.hpp: probe rows in the order of their keys, merged with build rows in that order;
// matches go to a batch, by row number.
//
// Where build keys come once the merge goes from probe row to probe row: it steps over one build
// row without a branch, and over many in strides that double (Bentley and Yao, 1976). Stretches in
// which both sides have the same keys, as two tables of one primary key do, are compared at once.
// Else it goes from key to key, and each key's build rows meet its probe rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "src/cpu/probe_partition.hpp"

namespace gpujoin::cpu {

// The first row in [at, end) of which `is_before` is false, or end. expected: none behind it is
// true.
template <typename IsBefore>
uint32_t skip_rows(uint32_t at, uint32_t end, const IsBefore& is_before) {
  uint64_t stride = 1;
  for (; end - at > stride && is_before(at + static_cast<uint32_t>(stride)); stride *= 2) {
    at += static_cast<uint32_t>(stride);
  }
  auto high = at + static_cast<uint32_t>(std::min<uint64_t>(stride, end - at));
  while (at < high) {
    uint32_t const middle = at + (high - at) / 2;
    if (is_before(middle)) {
      at = middle + 1;
    } else {
      high = middle;
    }
  }
  return at;
}

// Keys of one side, none less than the one before.
template <typename Key>
struct SortedKeys {
  const Key* keys = nullptr;
  uint32_t rows = 0;
  Key flipped = 0;  // bits by which the keys become numbers that compare as unsigned ones do

  bool is_less(Key a, Key b) const { return (a ^ flipped) < (b ^ flipped); }
  // Rows [first, end) before those with the key, and before those with greater ones.
  uint32_t first_of(Key key, uint32_t first, uint32_t end) const {
    return skip_rows(first, end, [&](uint32_t row) { return is_less(keys[row], key); });
  }
  uint32_t end_of(Key key, uint32_t first, uint32_t end) const {
    constexpr uint32_t kShortRun = 8;
    uint32_t const near = std::min(end - first, kShortRun) + first;
    while (first < near && !is_less(key, keys[first])) ++first;
    if (first < near) return first;
    return skip_rows(first, end, [&](uint32_t row) { return !is_less(key, keys[row]); });
  }
};

template <typename Key>
struct SortedSides {
  SortedKeys<Key> build;
  SortedKeys<Key> probe;
  bool are_build_keys_unique = false;
};

// All rows of one key on both sides.
struct EqualRows {
  uint32_t build = 0;
  uint32_t build_end = 0;
  uint32_t probe = 0;
  uint32_t probe_end = 0;

  uint64_t matches() const { return uint64_t{build_end - build} * (probe_end - probe); }
};

// body(equal rows) for each key that probe rows [first, end) share with build rows.
template <typename Key, typename Body>
void for_each_equal(const SortedSides<Key>& sides, uint32_t first, uint32_t end, const Body& body) {
  if (first == end) return;
  SortedKeys<Key> const& build = sides.build;
  SortedKeys<Key> const& probe = sides.probe;
  EqualRows equal;
  equal.build = build.first_of(probe.keys[first], 0, build.rows);
  for (equal.probe = first; equal.probe < end && equal.build < build.rows;) {
    Key const key = probe.keys[equal.probe];
    equal.build = build.first_of(key, equal.build, build.rows);
    if (equal.build == build.rows) return;
    if (build.keys[equal.build] != key) {
      equal.probe = probe.first_of(build.keys[equal.build], equal.probe, end);
      continue;
    }
    equal.build_end = build.end_of(key, equal.build, build.rows);
    equal.probe_end = probe.end_of(key, equal.probe, end);
    body(equal);
    equal.build = equal.build_end;
    equal.probe = equal.probe_end;
  }
}

template <typename Key, typename Flush>
class SortedProber {
 public:
  SortedProber(const SortedSides<Key>& sides, MatchBatch<Key>& batch, const Flush& flush)
      : build_(sides.build), probe_(sides.probe), sides_(sides), batch_(batch), flush_(flush) {}

  // As Prober::run, of probe rows [first, end). Keys of more matches than `most` are added to
  // `many` instead, where build keys may come twice.
  void run(uint32_t first, uint32_t end, uint64_t most, std::vector<EqualRows>& many) {
    if (sides_.are_build_keys_unique) return of_unique_keys(first, end);
    for_each_equal(sides_, first, end, [&](const EqualRows& equal) {
      if (equal.matches() > most) {
        many.push_back(equal);
      } else {
        write(equal);
      }
    });
  }

  void write(const EqualRows& equal) {
    Key const key = probe_.keys[equal.probe];
    for (uint32_t row = equal.probe; row < equal.probe_end; ++row) {
      for (uint32_t build = equal.build; build < equal.build_end;) {
        if (batch_.rows == kBatchRows) flush();
        uint32_t const rows = std::min(equal.build_end - build, kBatchRows - batch_.rows);
        std::fill_n(batch_.keys + batch_.rows, rows, key);
        std::iota(batch_.build + batch_.rows, batch_.build + batch_.rows + rows, Key{build});
        std::fill_n(batch_.probe + batch_.rows, rows, Key{row});
        batch_.rows += rows;
        build += rows;
      }
    }
  }

 private:
  static constexpr uint32_t kBlockRows = 64;

  void of_unique_keys(uint32_t first, uint32_t end) {
    if (first == end) return;
    // Then no step leaves the build side: its last key is not less than any of these.
    end = probe_.end_of(build_.keys[build_.rows - 1], first, end);
    if (first == end) return;
    uint32_t build = build_.first_of(probe_.keys[first], 0, build_.rows);
    while (first < end) {
      uint32_t const block_end = first + std::min(kBlockRows, end - first);
      if (batch_.rows + kBlockRows > kBatchRows) flush();
      build = first_not_less(build, probe_.keys[first]);
      build = block_end - first == kBlockRows && are_same(build, first)
                  ? same_keys(build, first)
                  : one_by_one(build, first, block_end);
      first = block_end;
    }
  }

  uint32_t first_not_less(uint32_t build, Key key) const {
    build += build_.is_less(build_.keys[build], key) ? 1 : 0;
    if (build_.is_less(build_.keys[build], key)) [[unlikely]] {
      return build_.first_of(key, build, build_.rows);
    }
    return build;
  }

  // Whether the block's probe rows have the keys of as many build rows.
  bool are_same(uint32_t build, uint32_t probe) const {
    Key const* const of_build = build_.keys + build;
    Key const* const of_probe = probe_.keys + probe;
    if (build_.rows - build < kBlockRows) return false;
    if (of_build[kBlockRows - 1] != of_probe[kBlockRows - 1]) return false;
    Key differences = 0;
    for (uint32_t i = 0; i < kBlockRows; ++i) differences |= of_build[i] ^ of_probe[i];
    return differences == 0;
  }

  uint32_t same_keys(uint32_t build, uint32_t probe) {
    uint32_t const rows = batch_.rows;
    std::copy_n(probe_.keys + probe, kBlockRows, batch_.keys + rows);
    std::iota(batch_.build + rows, batch_.build + rows + kBlockRows, Key{build});
    std::iota(batch_.probe + rows, batch_.probe + rows + kBlockRows, Key{probe});
    batch_.rows = rows + kBlockRows;
    // The last one's key may be the next probe row's, too.
    return build + kBlockRows - 1;
  }

  uint32_t one_by_one(uint32_t build, uint32_t first, uint32_t end) {
    uint32_t rows = batch_.rows;
    for (uint32_t row = first; row < end; ++row) {
      Key const key = probe_.keys[row];
      build = first_not_less(build, key);
      batch_.keys[rows] = key;
      batch_.build[rows] = build;
      batch_.probe[rows] = row;
      rows += build_.keys[build] == key ? 1 : 0;
    }
    batch_.rows = rows;
    return build;
  }

  void flush() {
    flush_();
    batch_.rows = 0;
  }

  SortedKeys<Key> build_;
  SortedKeys<Key> probe_;
  const SortedSides<Key>& sides_;
  MatchBatch<Key>& batch_;
  const Flush& flush_;
};

}  // namespace gpujoin::cpu
