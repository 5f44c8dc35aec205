// radix_unordered.cu: host side of the partitioning that moves all columns with one rank.
#include "src/transform/radix_unordered.hpp"

#include <algorithm>
#include <type_traits>

#include "kernels/transform/count_partitions.cuh"
#include "kernels/transform/place_partitions.cuh"
#include "kernels/transform/radix_unordered.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/transform/partitioning.hpp"

namespace gpujoin::transform {

namespace {

using base::check;
using base::Memory;
using base::stream_of;

constexpr const char* kAskingForShared = "asking for shared memory of a partitioning";

template <typename Source>
void count_rows(base::Queue& queue, const Source& source, uint32_t rows, int32_t radix_bits,
                uint32_t* counts) {
  auto const kernel = kernels::count_partitions_kernel<Source>;
  auto const shared = static_cast<uint32_t>(kernels::partition_counter_bytes(radix_bits));
  unsigned const resident = base::resident_blocks(queue, kernel, kernels::kUnorderedCountThreads,
                                                  shared, kAskingForShared);
  unsigned const wanted = base::grid_of(rows, kernels::kUnorderedCountThreads * Source::kItems);
  base::launch_dependent(queue, kernel, std::min(resident, wanted), kernels::kUnorderedCountThreads,
                         shared, "counting rows of partitions", source, rows, radix_bits, counts);
}

// Counts the partitions' rows. codes: [rows], what keys that are still columns become.
template <typename Key>
void count_keys(base::Queue& queue, const PreparedKeys& keys, Key* codes, int32_t radix_bits,
                uint32_t* counts) {
  auto const count = [&](const auto& source) {
    using Source = std::decay_t<decltype(source)>;
    if (keys.present.bits == nullptr) {
      return count_rows(queue, source, keys.rows, radix_bits, counts);
    }
    count_rows(queue, kernels::PresentKeys<Source>{source, keys.present}, keys.rows, radix_bits,
               counts);
  };
  if (!keys.pending) return count(kernels::PlainKeys<Key>{static_cast<const Key*>(keys.keys)});
  if constexpr (sizeof(Key) == 8) {
    if (keys.pending->hashed) return count(kernels::EncodedKeys<Key, true>{*keys.pending, codes});
  }
  count(kernels::EncodedKeys<Key, false>{*keys.pending, codes});
}

kernels::WordParts<const void> parts_of(const PreparedColumn& column) {
  kernels::WordParts<const void> parts{};
  for (PreparedColumn const& part : column.parts) {
    parts.widths[parts.count] = part.width;
    parts.columns[parts.count++] = part.data;
  }
  return parts;
}

template <typename Key, typename Shape>
void run_pass(base::Queue& queue, const kernels::UnorderedPass<Key>& pass, unsigned tiles) {
  queue.check_cancelled();
  auto const kernel = kernels::radix_unordered_kernel<Key, Shape>;
  uint32_t const shared = kernels::unordered_shared_bytes<Shape>(pass.bits);
  base::allow_shared(queue, kernel, kAskingForShared);
  base::launch_dependent(queue, kernel, tiles, Shape::kThreads, shared,
                         "moving rows to their partitions", pass);
}

// First, Second: tiles of the first, or the one, and of the second pass.
template <typename Key, typename First, typename Second>
void partition(base::Queue& queue, const PreparedKeys& keys,
               std::span<const PreparedColumn> columns, const Order& order, UnorderedRows* moved) {
  base::Pool& pool = *queue.device_pool;
  constexpr uint32_t kTile = Second::kRows;
  int32_t const radix_bits = order.bits.end;
  bool const twice = order.passes == 2;
  // The bit that is left over goes to the pass of longer runs: to the first where its tiles are
  // larger, to the second, which writes close together, where they are not.
  bool const splits_low = twice && First::kRows == Second::kRows;
  PassBits const lower = splits_low ? PassBits{0, (radix_bits + 1) / 2} : second_pass(order);
  PassBits const upper = {lower.bits, radix_bits - lower.bits};
  uint32_t const segments = 1U << upper.bits;

  base::Buffer const cursors = pool.allocate_rows<uint32_t>(
      Memory::kDevice, uint64_t{1} << radix_bits, "places of partitions");
  base::Buffer segment_cursors;
  base::Buffer codes;
  if (keys.pending) {
    codes = pool.allocate_rows<Key>(Memory::kDevice, keys.rows, "encoded keys");
  }
  base::Buffer tiles;
  unsigned max_tiles = 0;
  if (twice) {
    segment_cursors =
        pool.allocate_rows<uint32_t>(Memory::kDevice, segments, "places of partitions");
    max_tiles = base::grid_of(
        uint64_t{keys.rows} + uint64_t{segments} * (kTile + kernels::kUnorderedAlign), kTile);
    tiles = pool.allocate_rows<kernels::UnorderedTile>(Memory::kDevice, max_tiles, "tiles");
  }
  {
    base::ZeroedCounts zeroed(queue, sizeof(uint32_t) << radix_bits);
    auto* const counts = zeroed.as<uint32_t>();
    count_keys(queue, keys, codes.as<Key>(), radix_bits, counts);
    base::launch_dependent(queue, kernels::place_partitions_kernel,
                           base::grid_of(uint64_t{1} << radix_bits, kernels::kPartitionSumTile),
                           kernels::kPartitionSumThreads, 0, "placing partitions", counts,
                           radix_bits, lower.bits, moved->offsets.as<uint32_t>(),
                           cursors.as<uint32_t>(), segment_cursors.as<uint32_t>());
    if (twice) {
      base::launch_dependent(queue, kernels::place_unordered_tiles_kernel,
                             base::grid_of(max_tiles, kernels::kStreamThreads),
                             kernels::kStreamThreads, 0, "placing tiles",
                             moved->offsets.as<uint32_t>(), lower.bits, segments, kTile, max_tiles,
                             tiles.as<kernels::UnorderedTile>(), counts);
    }
    zeroed.all_launched();
  }

  kernels::UnorderedPass<Key> pass{};
  pass.keys = keys.pending ? codes.as<Key>() : static_cast<const Key*>(keys.keys);
  pass.keys_out = moved->keys.as<Key>();
  pass.rows = keys.rows;
  pass.shift = upper.shift;
  pass.bits = upper.bits;
  pass.mixes = true;
  pass.present = keys.present;
  pass.cursors = cursors.as<uint32_t>();
  pass.column_count = static_cast<int32_t>(columns.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    pass.columns[i] = {columns[i].data,     moved->columns[i].data(), columns[i].width,
                       columns[i].validity, columns[i].stand_in,      columns[i].seen,
                       parts_of(columns[i])};
  }
  if (!twice) return run_pass<Key, First>(queue, pass, base::grid_of(keys.rows, First::kRows));

  kernels::UnorderedPass<Key> second = pass;
  base::Buffer const keys_between =
      pool.allocate_rows<Key>(Memory::kDevice, keys.rows, "keys between passes");
  std::vector<base::Buffer> between;
  pass.keys_out = keys_between.as<Key>();
  pass.cursors = segment_cursors.as<uint32_t>();
  for (size_t i = 0; i < columns.size(); ++i) {
    between.push_back(
        pool.allocate(Memory::kDevice, moved->columns[i].bytes(), "a column between passes"));
    pass.columns[i].out = between[i].data();
    second.columns[i].in = between[i].data();
    second.columns[i].validity = {};
    second.columns[i].parts = {};
  }
  run_pass<Key, First>(queue, pass, base::grid_of(keys.rows, First::kRows));
  second.keys = keys_between.as<Key>();
  second.shift = lower.shift;
  second.bits = lower.bits;
  second.mixes = false;
  second.present = {};
  second.tiles = tiles.as<kernels::UnorderedTile>();
  run_pass<Key, Second>(queue, second, max_tiles);
}

template <int kThreads, int kItems, int kBlocks>
struct UnorderedSize {
  // A tile of fewer rows where a value is wider, so that one column of it fits a stage.
  template <int kWidest>
  using Shape = kernels::UnorderedShape<kThreads, kItems * 4 / kWidest, kItems / 4, kBlocks>;
};
using Small =
    UnorderedSize<kernels::kUnorderedThreads, kernels::kUnorderedItems, kernels::kUnorderedBlocks>;
using Large = UnorderedSize<kernels::kUnorderedThreadsLarge, kernels::kUnorderedItemsLarge, 1>;

// kKeyWidth: no value of a row is narrower than the widest, so tiles that do not hold the keys are
// not made.
template <typename Size, size_t kKeyWidth, typename Function>
void with_items(int32_t widest, Function function) {
  if constexpr (kKeyWidth <= 4) {
    if (widest <= 4) return function(typename Size::template Shape<4>{});
  }
  if (widest <= 8) return function(typename Size::template Shape<8>{});
  return function(typename Size::template Shape<16>{});
}

// Whether blocks of the size have their shared memory; what CUB's scan takes is little beside a
// stage's.
template <typename Size>
bool fits(base::Queue& queue, int32_t pass_bits) {
  constexpr uint32_t kScanBytes = 6144;
  return kernels::unordered_shared_bytes<typename Size::template Shape<4>>(pass_bits) +
             kScanBytes <=
         queue.context.facts.shared_bytes_per_block;
}

// Large tiles of rows from so many bytes on.
template <size_t kKeyWidth, typename Function>
void with_shape(base::Queue& queue, int32_t row_width, int32_t large_row, int32_t widest,
                int32_t pass_bits, Function function) {
  bool const large = row_width >= large_row && fits<Large>(queue, pass_bits);
  if (large) return with_items<Large, kKeyWidth>(widest, function);
  return with_items<Small, kKeyWidth>(widest, function);
}

}  // namespace

UnorderedRows radix_unordered(base::Queue& queue, const PreparedKeys& keys,
                              std::span<const PreparedColumn> columns, const Order& wanted) {
  // Devices with less shared memory than the planner's rule is made for take two passes earlier.
  Order order = wanted;
  bool const one_fits = fits<Small>(queue, order.bits.end) &&
                        uint64_t{1} << order.bits.end <= kernels::kPartitionSumTile;
  if (order.passes == 1 && !one_fits && order.bits.end > 1) order.passes = 2;
  if (columns.size() > kernels::kMovedColumns) {
    base::fail(GPUJOIN_ERROR_INTERNAL, "%zu columns to move at once", columns.size());
  }
  base::Pool& pool = *queue.device_pool;
  UnorderedRows moved;
  int32_t widest = keys.key_width;
  int32_t row_width = keys.key_width;
  moved.keys = pool.allocate(Memory::kDevice,
                             base::checked_bytes(keys.rows, static_cast<uint64_t>(keys.key_width)),
                             "transformed keys");
  for (PreparedColumn const& column : columns) {
    moved.columns.push_back(pool.allocate(
        Memory::kDevice, base::checked_bytes(keys.rows, static_cast<uint64_t>(column.width)),
        "a transformed column"));
    widest = std::max(widest, column.width);
    row_width += column.width;
  }
  uint64_t const bounds = (uint64_t{1} << order.bits.end) + 1;
  moved.offsets = pool.allocate_rows<uint32_t>(Memory::kDevice, bounds, "partition offsets");
  if (keys.rows == 0) {
    check(cudaMemsetAsync(moved.offsets.data(), 0, bounds * sizeof(uint32_t), stream_of(queue)),
          "starting the partitions' offsets");
    return moved;
  }
  base::with_key_type(keys.key_width, [&](auto key) {
    using Key = decltype(key);
    auto const with_tiles = [&](int32_t large_row, auto function) {
      with_shape<sizeof(Key)>(queue, row_width, large_row, widest, first_pass(order).bits,
                              function);
    };
    with_tiles(kernels::kUnorderedLargeFirst, [&](auto first) {
      with_tiles(kernels::kUnorderedLargeSecond, [&](auto second) {
        using First = decltype(first);
        using Second = decltype(second);
        static_assert(sizeof(Key) * First::kRows <= First::kStageBytes &&
                      sizeof(Key) * Second::kRows <= Second::kStageBytes);
        partition<Key, First, Second>(queue, keys, columns, order, &moved);
      });
    });
  });
  return moved;
}

}  // namespace gpujoin::transform
