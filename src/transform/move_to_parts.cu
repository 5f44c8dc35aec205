// move_to_parts.cu: host side of the pass whose writes are combined to lines.
#include "src/transform/move_to_parts.hpp"

#include "kernels/transform/count_parts.cuh"
#include "kernels/transform/move_to_parts.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"

namespace gpujoin::transform {

namespace {

using base::Memory;
using kernels::kPartThreads;
using kernels::PlaceParts;

// Where rows of parts go: starts of each block in them, [blocks][parts].
struct Starts {
  base::Buffer of_blocks;
  uint32_t blocks = 0;
};

template <typename Key, int kItems>
Starts count_rows(base::Queue& queue, const kernels::PartMove<Key>& move, PartedRows* moved) {
  base::Pool& pool = *queue.device_pool;
  PlaceParts const& parts = move.parts;
  Starts starts;
  // A block for each multiprocessor that has tiles.
  starts.blocks = base::grid_of(queue, move.rows, kPartThreads * kItems, 1);
  starts.of_blocks = pool.allocate_rows<uint32_t>(
      Memory::kDevice, uint64_t{starts.blocks} * parts.count, "where blocks write in parts");
  base::Buffer const part_rows =
      pool.allocate_rows<uint32_t>(Memory::kDevice, parts.count, "rows of parts");
  uint64_t const shared = parts.count * sizeof(uint32_t);
  auto const count = kernels::count_parts_kernel<Key, kItems>;
  base::allow_shared(queue, count, "asking for shared memory of a count");
  base::launch_dependent(queue, count, starts.blocks, kPartThreads, shared,
                         "counting rows of parts", move.steps, parts, move.keys, move.are_aligned,
                         move.rows, starts.of_blocks.as<uint32_t>());
  base::launch_dependent(queue, kernels::sum_starts_kernel,
                         base::grid_of(parts.count, kernels::kStreamThreads),
                         kernels::kStreamThreads, 0, "summing rows of parts", starts.blocks,
                         parts.count, starts.of_blocks.as<uint32_t>(), part_rows.as<uint32_t>());
  base::launch_dependent(queue, kernels::place_parts_kernel, 1, kernels::kPartitionSumThreads, 0,
                         "placing parts", parts.count, moved->unit_rows,
                         static_cast<const uint32_t*>(part_rows.data()),
                         moved->offsets.as<uint32_t>(), moved->units_before.as<uint32_t>());
  return starts;
}

template <typename Key, int kWords, bool kWhole>
void launch(base::Queue& queue, const kernels::PartMove<Key>& move, uint32_t blocks) {
  auto const kernel = kernels::move_to_parts_kernel<Key, kWords, kWhole>;
  base::allow_shared(queue, kernel, "asking for shared memory of lines of parts");
  base::launch_dependent(queue, kernel, blocks, kPartThreads,
                         kernels::move_to_parts_bytes(move.parts.count, kWords, kWhole),
                         "moving rows to parts", move);
}

template <typename Key, int kWords>
bool move_rows(base::Queue& queue, kernels::PartMove<Key> move, WithoutPlace without,
               PartedRows* moved) {
  Starts const starts = count_rows<Key, kernels::part_items(kWords)>(queue, move, moved);
  move.starts = starts.of_blocks.as<uint32_t>();
  if (without == WithoutPlace::kRefused &&
      base::read_back(queue, move.offsets + move.parts.count) != move.rows) {
    return false;
  }
  queue.check_cancelled();
  // Of rows of 12 bytes lines of one size are whole sectors.
  if constexpr (kernels::part_line_rows(kWords, true) == kernels::part_line_rows(kWords, false)) {
    launch<Key, kWords, true>(queue, move, starts.blocks);
  } else {
    bool const whole = kernels::has_whole_lines(move.parts.count, kWords,
                                                queue.context.facts.shared_bytes_per_block);
    whole ? launch<Key, kWords, true>(queue, move, starts.blocks)
          : launch<Key, kWords, false>(queue, move, starts.blocks);
  }
  return true;
}

template <typename Key>
bool move_rows(base::Queue& queue, const PartSource& source, const KeyPlaces& places,
               const PlaceParts& parts, WithoutPlace without, PartedRows* moved) {
  kernels::PartMove<Key> move{};
  move.steps = {static_cast<Key>(places.low), places.shift};
  move.parts = parts;
  move.keys = static_cast<const Key*>(source.keys);
  move.rows = source.rows;
  move.offsets = moved->offsets.as<uint32_t>();
  move.out = moved->rows.as<uint32_t>();
  move.are_aligned = base::starts_a_vector(source.keys);
  move.number_word = -1;
  int32_t word = 0;
  for (PartColumn const& column : source.columns) {
    auto const* const from = static_cast<const uint32_t*>(column.data);
    int32_t const words = column.width / 4;
    if (from == nullptr) move.number_word = word;
    for (int32_t i = 0; i < words && from != nullptr; ++i) {
      move.words[word + i] = {from + i, static_cast<uint32_t>(words)};
    }
    word += words;
  }
  // What moves where nothing is asked for: the row's number.
  if (source.columns.empty()) move.number_word = 0;
  switch (moved->words) {
    case 1:
      return move_rows<Key, 1>(queue, move, without, moved);
    case 2:
      return move_rows<Key, 2>(queue, move, without, moved);
    case 3:
      return move_rows<Key, 3>(queue, move, without, moved);
    default:
      return move_rows<Key, 4>(queue, move, without, moved);
  }
}

}  // namespace

int32_t part_words(std::span<const PartColumn> columns) {
  int32_t words = 0;
  for (PartColumn const& column : columns) words = kernels::with_part_column(words, column.width);
  return kernels::moved_part_words(words);
}

std::optional<PartedRows> move_to_parts(base::Queue& queue, const PartSource& source,
                                        const KeyPlaces& places, const PlaceParts& parts,
                                        uint32_t unit_rows, WithoutPlace without) {
  base::Pool& pool = *queue.device_pool;
  PartedRows moved;
  moved.words = part_words(source.columns);
  moved.unit_rows = unit_rows;
  moved.rows = pool.allocate(Memory::kDevice,
                             base::checked_bytes(source.rows, kernels::part_row_bytes(moved.words)),
                             "rows in parts");
  uint64_t const bounds = uint64_t{parts.count} + 1;
  moved.offsets = pool.allocate_rows<uint32_t>(Memory::kDevice, bounds, "offsets of parts");
  moved.units_before = pool.allocate_rows<uint32_t>(Memory::kDevice, bounds, "units of parts");
  bool const is_moved = base::with_key_type(source.key_width, [&](auto zero) {
    return move_rows<decltype(zero)>(queue, source, places, parts, without, &moved);
  });
  if (!is_moved) return std::nullopt;
  return moved;
}

}  // namespace gpujoin::transform
