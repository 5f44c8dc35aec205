// line_table.hpp: the rows of unique keys, each where one cache line tells it.
//
//   line   |k k k k k|r r r r r|n|     keys, their rows, and whether a key had to go on from here
//
// Source   buckets of a cache line's size (Ross, Efficient Hash Probing on Modern Processors,
//          ICDE 2007)
//
// Tables of partitions (partition_table.hpp) read two places a key, of 32 to 64 bytes a row: right
// while they lie in a core's cache. Probe rows in any order meet all of them, in none, and each
// place is a line from memory. Here a key has one, which three of five keys fill, 21 bytes a row of
// keys of 8 bytes; of those that find theirs full, one in twenty, the next one is read, too.
//
// Free slots have what the first one has: who compares them all finds it twice, which is the same.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "src/base/memory.hpp"
#include "src/base/prefetch.hpp"
#include "src/cpu/key_hash.hpp"
#include "src/cpu/partition_table.hpp"
#include "src/cpu/probe_partition.hpp"
#include "src/cpu/radix_partition.hpp"
#include "src/cpu/workers.hpp"

namespace gpujoin::cpu {

template <typename Key>
struct alignas(64) KeyLine {
  static constexpr uint32_t kSlots = sizeof(Key) == 8 ? 5 : 7;

  Key keys[kSlots];
  uint32_t rows[kSlots];
  uint16_t used;
  uint16_t goes_on;  // 1: a key whose line this is, or one before, may lie in the next one

  struct Found {
    uint32_t row;
    uint32_t mask;  // all bits, or none
  };
  // Without a branch: in which slot a key lies nobody can predict.
  Found find(Key key) const {
    Found found{0, 0};
    for (uint32_t slot = 0; slot < kSlots; ++slot) {
      uint32_t const mask = 0U - static_cast<uint32_t>(keys[slot] == key);
      found.mask |= mask;
      found.row |= rows[slot] & mask;
    }
    return found;
  }
};
static_assert(sizeof(KeyLine<uint32_t>) == 64 && sizeof(KeyLine<uint64_t>) == 64);

template <typename Key>
class LineTable {
 public:
  using Line = KeyLine<Key>;

  // Of partitioned rows that are entries, with their numbers. Null: a key comes twice, keys crowd
  // as if made to, or there is no room.
  static std::unique_ptr<const LineTable> make(base::Queue& queue, Workers& workers,
                                               const PartitionedRows& build) {
    std::unique_ptr<LineTable> table(new LineTable);
    if (!table->reserve(queue, build)) return nullptr;
    std::atomic<bool> fits{true};
    workers.for_each("match", build.partitions(), [&](int64_t item, int32_t) {
      if (!fits.load(std::memory_order_relaxed)) return;
      if (!table->fill(build, static_cast<uint32_t>(item))) fits.store(false);
    });
    return fits.load() ? std::move(table) : nullptr;
  }

  // The one to look at first.
  const Line& line_of(Key key) const { return lines_[number_of(key)]; }
  // Of a key that is not in its line, which goes on.
  typename Line::Found find_further(Key key) const {
    uint32_t const home = number_of(key);
    uint32_t at = home;
    for (;;) {
      at = next(at);
      auto const found = lines_[at].find(key);
      if (found.mask != 0 || lines_[at].goes_on == 0 || at == home) return found;
    }
  }

 private:
  // Of ten slots; and lines that a key may find full.
  static constexpr uint64_t kFilled = 6;
  static constexpr uint32_t kMostFull = 16;

  // Monotonic in the hash, so that a partition has lines of its own, side by side.
  uint32_t number_of(Key key) const {
    return static_cast<uint32_t>(uint64_t{hash_of(key)} * count_ >> 32);
  }
  uint32_t next(uint32_t line) const {
    return (line + 1) % lines_of_partition_ == 0 ? line + 1 - lines_of_partition_ : line + 1;
  }

  bool reserve(base::Queue& queue, const PartitionedRows& build) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < build.partitions(); ++i) most = std::max(most, build.rows_in(i));
    uint64_t const rows = build.begin.back();
    // Hashes of keys that were not made to collide are in all partitions alike.
    if (rows == 0 || most > 2 * (rows / build.partitions()) + 64) return false;
    lines_of_partition_ = static_cast<uint32_t>(10 * uint64_t{most} / (kFilled * Line::kSlots) + 1);
    count_ = uint64_t{lines_of_partition_} * build.partitions();
    block_ = queue.host_pool->try_allocate(base::Memory::kHost,
                                           base::checked_bytes(count_, sizeof(Line)));
    lines_ = block_.as<Line>();
    if (lines_ == nullptr) return false;
    stray_[0] = 0;
    stray_[1] = 1;
    while (count_ > 1 && number_of(stray_[1]) == number_of(stray_[0])) ++stray_[1];
    return true;
  }

  bool fill(const PartitionedRows& build, uint32_t partition) {
    uint32_t const first = partition * lines_of_partition_;
    for (uint32_t i = first; i < first + lines_of_partition_; ++i) {
      lines_[i].used = lines_[i].goes_on = 0;
    }
    std::byte const* const rows = build.rows_of(partition);
    for (uint32_t i = 0; i < build.rows_in(partition); ++i) {
      if (!put(entry_at<Key, true>(rows, build.layout.row_bytes, i))) return false;
    }
    for (uint32_t i = first; i < first + lines_of_partition_; ++i) fill_free_slots(i);
    return true;
  }

  bool put(Entry<Key> entry) {
    uint32_t at = number_of(entry.key);
    for (uint32_t full = 0; full < kMostFull; ++full, at = next(at)) {
      Line& line = lines_[at];
      for (uint32_t slot = 0; slot < line.used; ++slot) {
        if (line.keys[slot] == entry.key) return false;
      }
      if (line.used < Line::kSlots) {
        line.keys[line.used] = entry.key;
        line.rows[line.used++] = static_cast<uint32_t>(entry.rest);
        return true;
      }
      line.goes_on = 1;
    }
    return false;
  }

  // An empty line has a key that is looked up in another one.
  void fill_free_slots(uint32_t number) {
    Line& line = lines_[number];
    if (line.used == 0) {
      line.keys[0] = number_of(stray_[0]) == number ? stray_[1] : stray_[0];
      line.rows[0] = 0;
      line.used = 1;
    }
    std::fill(line.keys + line.used, line.keys + Line::kSlots, line.keys[0]);
    std::fill(line.rows + line.used, line.rows + Line::kSlots, line.rows[0]);
  }

  base::Buffer block_;
  Line* lines_ = nullptr;
  uint64_t count_ = 0;
  uint32_t lines_of_partition_ = 0;
  Key stray_[2] = {};
};

// Probe rows in any order. A block of rows is gone through twice, as in probe_tables.hpp.
template <typename Key, bool kRowIsEntry, typename Flush>
class LineProber {
 public:
  LineProber(const LineTable<Key>& table, const ProbeRows& probe, MatchBatch<Key>& batch,
             const Flush& flush)
      : table_(table), probe_(probe), batch_(batch), flush_(flush) {}

  // As Prober::run.
  void run() {
    for (uint32_t block = probe_.first, end; block < probe_.last; block = end) {
      end = begin_block<kBlockRows>(probe_, block, batch_, flush_);
      for (uint32_t row = block; row < end; ++row) {
        lines_[row - block] = &table_.line_of(entry(row).key);
        base::ask_for(lines_[row - block]);
      }
      look_up(block, end);
    }
  }

 private:
  // What they ask for is on its way at once, and stays in the second cache.
  static constexpr uint32_t kBlockRows = 128;

  Entry<Key> entry(uint32_t row) const {
    return entry_at<Key, kRowIsEntry>(probe_.rows, probe_.row_bytes, row);
  }
  void add(Entry<Key> probe, typename KeyLine<Key>::Found found) {
    batch_.keys[batch_.rows] = probe.key;
    batch_.build[batch_.rows] = found.row;
    batch_.probe[batch_.rows] = probe.rest;
    batch_.rows += found.mask & 1;
  }

  void look_up(uint32_t begin, uint32_t end) {
    uint32_t further[kBlockRows];
    uint32_t count = 0;
    for (uint32_t row = begin; row < end; ++row) {
      Entry<Key> const probe = entry(row);
      KeyLine<Key> const& line = *lines_[row - begin];
      auto const found = line.find(probe.key);
      add(probe, found);
      further[count] = row;
      count += ~found.mask & line.goes_on;
    }
    for (uint32_t i = 0; i < count; ++i) {
      Entry<Key> const probe = entry(further[i]);
      add(probe, table_.find_further(probe.key));
    }
  }

  const LineTable<Key>& table_;
  ProbeRows probe_;
  MatchBatch<Key>& batch_;
  const Flush& flush_;
  const KeyLine<Key>* lines_[kBlockRows];
};

}  // namespace gpujoin::cpu
