#include "src/cpu/radix_partition.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "src/cpu/key_hash.hpp"
#include "src/cpu/pack_rows.hpp"
#include "src/cpu/partition_table.hpp"
#include "src/cpu/valid_rows.hpp"
#include "src/cpu/write_combiner.hpp"

namespace gpujoin::cpu {

namespace {

using base::Memory;

constexpr uint64_t kLeastRowsOfRange = 1024;
// Rows for each partition in a range: its first and last line, written in part, then hardly count.
constexpr uint64_t kRowsOfRangeAndPartition = 64;
// Ranges for each thread, so that a thread that is held up leaves its work to others.
constexpr uint64_t kRangesOfThread = 8;
// And no more rows than that, so that all threads end at about the same time.
constexpr uint64_t kMostRowsOfRange = uint64_t{1} << 21;
// Of a range, between two looks at whether the call was cancelled: a range's rows may be 64 MiB of
// pages that nobody has touched.
constexpr uint64_t kRowsOfPoll = 64 * kMorselRows;
// Partitioned rows beyond this much for each thread do not stay in the cache until the match reads
// them, so writing them around the cache costs nothing and saves reading the lines first.
constexpr uint64_t kCachedBytesOfThread = uint64_t{1} << 20;

// The ranges of input rows of one side, and what they count.
struct Ranges {
  uint64_t rows_each = 0;
  int64_t count = 0;
  base::Buffer counts;  // [count][partitions]: rows; then rows of earlier ranges

  uint32_t* counts_of(int64_t range, uint32_t partitions) const {
    return counts.as<uint32_t>() + static_cast<uint64_t>(range) * partitions;
  }
};

Ranges cut(const PartitionedRows& side, int32_t threads) {
  uint64_t const even = side.input_rows / (static_cast<uint64_t>(threads) * kRangesOfThread) + 1;
  uint64_t const least =
      std::max<uint64_t>(kLeastRowsOfRange, side.partitions() * kRowsOfRangeAndPartition);
  Ranges ranges;
  ranges.rows_each = (std::max(std::min(even, kMostRowsOfRange), least) + kMorselRows - 1) /
                     kMorselRows * kMorselRows;
  ranges.count = static_cast<int64_t>((side.input_rows + ranges.rows_each - 1) / ranges.rows_each);
  return ranges;
}

// counts[range][p] becomes the rows of p in earlier ranges; begin the partitions' starts.
void sum_counts(const Ranges& ranges, PartitionedRows& side) {
  uint32_t const partitions = side.partitions();
  std::vector<uint32_t> total(partitions, 0);
  for (int64_t range = 0; range < ranges.count; ++range) {
    uint32_t* counts = ranges.counts_of(range, partitions);
    for (uint32_t p = 0; p < partitions; ++p) {
      uint32_t const own = counts[p];
      counts[p] = total[p];
      total[p] += own;
    }
  }
  side.begin.assign(partitions + 1, 0);
  for (uint32_t p = 0; p < partitions; ++p) side.begin[p + 1] = side.begin[p] + total[p];
}

// What a worker needs for one range, in one block.
struct Scratch {
  static uint64_t bytes(uint32_t partitions, uint32_t row_bytes) {
    return uint64_t{partitions} * (kBufferBytes + 2 * sizeof(uint32_t)) +
           uint64_t{kMorselRows} * (row_bytes + sizeof(uint32_t));
  }
  Scratch(std::byte* block, uint32_t partitions)
      : buffers(block),
        next(reinterpret_cast<uint32_t*>(buffers + uint64_t{partitions} * kBufferBytes)),
        first(next + partitions),
        hashes(first + partitions),
        packed(reinterpret_cast<std::byte*>(hashes + kMorselRows)) {}

  std::byte* buffers;
  uint32_t* next;
  uint32_t* first;
  uint32_t* hashes;
  std::byte* packed;
};

template <uint32_t kRowBytes>
void scatter_small(const Workers& workers, const PartitionedRows& side, uint64_t begin,
                   uint64_t end, const Scratch& scratch, bool bypasses_cache) {
  WriteCombiner<kRowBytes> combiner(
      {scratch.buffers, scratch.next, scratch.first, side.rows.as<std::byte>(), bypasses_cache});
  for (uint64_t row = begin; row < end; row += kMorselRows) {
    workers.poll();
    auto const count = static_cast<uint32_t>(std::min<uint64_t>(kMorselRows, end - row));
    uint32_t const packed = pack_rows(side.layout, row, count, scratch.packed, scratch.hashes);
    for (uint32_t i = 0; i < packed; ++i) {
      combiner.add(partition_of(scratch.hashes[i], side.radix_bits),
                   scratch.packed + uint64_t{i} * kRowBytes);
    }
  }
  combiner.drain(side.partitions());
}

// Rows that are a key and one value no wider: from the columns straight to the buffers.
// rest_of(row) is the value. kNullable: rows whose key is NULL are left out.
template <bool kNullable, typename Key, typename RestOf>
void scatter_entries(const Workers& workers, const PartitionedRows& side, uint64_t begin,
                     uint64_t end, const Scratch& scratch, bool bypasses_cache,
                     const RestOf& rest_of) {
  WriteCombiner<2 * sizeof(Key)> combiner(
      {scratch.buffers, scratch.next, scratch.first, side.rows.as<std::byte>(), bypasses_cache});
  auto const* keys = static_cast<const Key*>(side.layout.key->data);
  uint32_t const radix_bits = side.radix_bits;
  for (uint64_t row = begin; row < end;) {
    workers.poll();
    uint64_t const last = std::min(end, row + kRowsOfPoll);
    auto const add = [&](uint64_t at, bool stays) {
      Entry<Key> const entry{keys[at], rest_of(at)};
      combiner.add(partition_of(hash_of(entry.key), radix_bits),
                   reinterpret_cast<const std::byte*>(&entry), stays);
    };
    if constexpr (kNullable) {
      each_valid_row(side.layout.moved_key(), row, last, add);
    } else {
      for (uint64_t at = row; at < last; ++at) add(at, true);
    }
    row = last;
  }
  combiner.drain(side.partitions());
}

// True when the rows were of that kind and are done.
template <typename Key>
bool scatter_as_entries(const Workers& workers, const PartitionedRows& side, uint64_t begin,
                        uint64_t end, const Scratch& scratch, bool bypasses_cache) {
  RowLayout const& layout = side.layout;
  if (layout.row_bytes != 2 * sizeof(Key) || layout.null_bits_bytes != 0) return false;
  auto const scatter = [&](const auto& rest_of) {
    if (layout.moved_key().validity == nullptr) {
      scatter_entries<false, Key>(workers, side, begin, end, scratch, bypasses_cache, rest_of);
    } else {
      scatter_entries<true, Key>(workers, side, begin, end, scratch, bypasses_cache, rest_of);
    }
    return true;
  };
  if (layout.has_row_number && layout.carried.empty()) {
    return scatter([](uint64_t row) { return static_cast<Key>(row); });
  }
  if (layout.has_row_number || layout.carried.size() != 1) return false;
  columns::ColumnView const& column = *layout.carried.front().column;
  auto const scatter_with = [&](auto zero) {
    using Value = decltype(zero);
    auto const* values = static_cast<const std::byte*>(column.data);
    return scatter([values](uint64_t row) {
      Value value;
      std::memcpy(&value, values + row * sizeof(Value), sizeof(Value));
      return static_cast<Key>(value);
    });
  };
  if (column.width == sizeof(Key)) return scatter_with(Key{});
  return column.width == 4 && scatter_with(uint32_t{});
}

// Rows of whole lines need no combining.
void scatter_large(const Workers& workers, const PartitionedRows& side, uint64_t begin,
                   uint64_t end, const Scratch& scratch) {
  uint64_t const row_bytes = side.layout.row_bytes;
  for (uint64_t row = begin; row < end; row += kMorselRows) {
    workers.poll();
    auto const count = static_cast<uint32_t>(std::min<uint64_t>(kMorselRows, end - row));
    uint32_t const packed = pack_rows(side.layout, row, count, scratch.packed, scratch.hashes);
    for (uint32_t i = 0; i < packed; ++i) {
      uint32_t const position = scratch.next[partition_of(scratch.hashes[i], side.radix_bits)]++;
      base::stream_bytes(side.rows.as<std::byte>() + position * row_bytes,
                         scratch.packed + i * row_bytes, row_bytes);
    }
  }
  base::finish_streaming();
}

void scatter(const Workers& workers, const PartitionedRows& side, const Ranges& ranges,
             int64_t range, const Scratch& scratch, bool bypasses_cache) {
  uint32_t const partitions = side.partitions();
  uint32_t const* earlier = ranges.counts_of(range, partitions);
  for (uint32_t p = 0; p < partitions; ++p) {
    scratch.first[p] = scratch.next[p] = side.begin[p] + earlier[p];
  }
  uint64_t const begin = static_cast<uint64_t>(range) * ranges.rows_each;
  uint64_t const end = std::min(begin + ranges.rows_each, side.input_rows);
  bool const done =
      side.layout.key_bytes == 4
          ? scatter_as_entries<uint32_t>(workers, side, begin, end, scratch, bypasses_cache)
          : scatter_as_entries<uint64_t>(workers, side, begin, end, scratch, bypasses_cache);
  if (done) return;
  switch (side.layout.row_bytes) {
    case 8:
      return scatter_small<8>(workers, side, begin, end, scratch, bypasses_cache);
    case 16:
      return scatter_small<16>(workers, side, begin, end, scratch, bypasses_cache);
    case 32:
      return scatter_small<32>(workers, side, begin, end, scratch, bypasses_cache);
    default:
      return scatter_large(workers, side, begin, end, scratch);
  }
}

}  // namespace

void partition_rows(base::Queue& queue, Workers& workers, std::span<PartitionedRows> sides) {
  base::Pool& pool = *queue.host_pool;

  // Items of all sides run together, so that no thread waits between the sides.
  std::vector<Ranges> ranges;
  std::vector<std::pair<size_t, int64_t>> items;  // (side, range)
  for (PartitionedRows& side : sides) {
    ranges.push_back(cut(side, workers.threads()));
    Ranges& cuts = ranges.back();
    cuts.counts = pool.allocate_rows<uint32_t>(
        Memory::kHost, static_cast<uint64_t>(cuts.count) * side.partitions(), "histograms");
    for (int64_t range = 0; range < cuts.count; ++range) {
      items.emplace_back(ranges.size() - 1, range);
    }
  }
  auto const items_count = static_cast<int64_t>(items.size());

  workers.for_each("transform", items_count, [&](int64_t item, int32_t) {
    auto const [number, range] = items[static_cast<size_t>(item)];
    PartitionedRows const& side = sides[number];
    Ranges const& cuts = ranges[number];
    uint32_t* counts = cuts.counts_of(range, side.partitions());
    std::fill_n(counts, side.partitions(), 0);
    uint64_t const begin = static_cast<uint64_t>(range) * cuts.rows_each;
    count_partitions(side.layout.moved_key(), begin,
                     std::min(begin + cuts.rows_each, side.input_rows), side.radix_bits, counts);
  });

  uint64_t rows_bytes = 0;
  uint64_t scratch_bytes = 0;
  for (size_t number = 0; number < sides.size(); ++number) {
    PartitionedRows& side = sides[number];
    sum_counts(ranges[number], side);
    uint64_t const bytes = base::checked_bytes(side.begin.back(), side.layout.row_bytes);
    side.rows = pool.allocate(Memory::kHost, bytes, "partitioned rows");
    rows_bytes += bytes;
    scratch_bytes =
        std::max(scratch_bytes, Scratch::bytes(side.partitions(), side.layout.row_bytes));
  }
  bool const bypasses_cache =
      rows_bytes > kCachedBytesOfThread * static_cast<uint64_t>(workers.threads());

  std::vector<base::Buffer> blocks(static_cast<size_t>(workers.threads()));
  workers.for_each("transform", items_count, [&](int64_t item, int32_t worker) {
    auto const [number, range] = items[static_cast<size_t>(item)];
    PartitionedRows const& side = sides[number];
    base::Buffer& block = blocks[static_cast<size_t>(worker)];
    if (!block) block = pool.allocate(Memory::kHost, scratch_bytes, "partition buffers");
    Scratch const scratch(block.as<std::byte>(), side.partitions());
    scatter(workers, side, ranges[number], range, scratch, bypasses_cache);
  });
}

uint32_t choose_radix_bits(uint64_t build_rows, uint64_t probe_rows, uint32_t build_row_bytes,
                           int32_t threads) {
  // A table takes 18 to 71 bytes a row: with its rows at most three quarters of 1 MiB of L2. Half
  // or twice as many partitions take as long.
  constexpr uint64_t kPartitionBytes = uint64_t{1} << 18;
  constexpr uint64_t kTableBytesOfRow = 16;
  uint64_t const partition_rows = kPartitionBytes / (build_row_bytes + kTableBytesOfRow);
  uint64_t const for_cache = build_rows / (partition_rows + 1) + 1;
  // Several partitions for each thread, but none of less work than handing it over costs.
  uint64_t const for_threads =
      std::min(static_cast<uint64_t>(threads) * 8, (build_rows + probe_rows) / 4096 + 1);
  uint64_t const partitions = std::bit_ceil(std::max(for_cache, for_threads));
  return std::clamp(static_cast<uint32_t>(std::countr_zero(partitions)), 1U, kMostRadixBits);
}

}  // namespace gpujoin::cpu
