// move_to_parts.cu: host side of the pass whose writes are combined to lines.
#include "src/transform/move_to_parts.hpp"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "kernels/transform/count_parts.cuh"
#include "kernels/transform/move_to_parts.cuh"
#include "kernels/transform/packed_columns.cuh"
#include "kernels/transform/part_columns.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/transform/transform.hpp"

namespace gpujoin::transform {

namespace {

using base::Memory;
using kernels::kPartThreads;
using kernels::PlaceParts;

// Where rows of parts go: starts of each block in them, [blocks][parts + 1]; and how many there
// are, [parts + 1], of which the last are those without a place.
struct Starts {
  base::Buffer of_blocks;
  base::Buffer part_rows;
  uint32_t blocks = 0;
};

template <typename Columns>
Starts count_rows(base::Queue& queue, const kernels::PartMove<Columns>& move,
                  const kernels::ValidityBits& present, PartedRows* moved) {
  using Key = typename Columns::Key;
  constexpr int kItems = Columns::kItems;
  base::Pool& pool = *queue.device_pool;
  PlaceParts const& parts = move.parts;
  Starts starts;
  // A block for each multiprocessor that has tiles.
  starts.blocks = base::grid_of(queue, move.rows, kPartThreads * kItems, 1);
  uint32_t const counters = parts.count + 1;
  starts.of_blocks = pool.allocate_rows<uint32_t>(
      Memory::kDevice, uint64_t{starts.blocks} * counters, "where blocks write in parts");
  starts.part_rows = pool.allocate_rows<uint32_t>(Memory::kDevice, counters, "rows of parts");
  uint64_t const shared = counters * sizeof(uint32_t);
  auto const count = kernels::count_parts_kernel<Key, kItems, Columns::kHasNulls>;
  base::allow_shared(queue, count, "asking for shared memory of a count");
  base::launch_dependent(queue, count, starts.blocks, kPartThreads, shared,
                         "counting rows of parts", move.steps, parts, move.columns.keys,
                         base::starts_a_vector(move.columns.keys), present, move.rows,
                         starts.of_blocks.as<uint32_t>());
  base::launch_dependent(queue, kernels::sum_starts_kernel,
                         base::grid_of(counters, kernels::kStreamThreads), kernels::kStreamThreads,
                         0, "summing rows of parts", starts.blocks, counters,
                         starts.of_blocks.as<uint32_t>(), starts.part_rows.as<uint32_t>());
  base::launch_dependent(queue, kernels::place_parts_kernel, 1, kernels::kPartitionSumThreads, 0,
                         "placing parts", parts.count, moved->unit_rows,
                         static_cast<const uint32_t*>(starts.part_rows.data()),
                         moved->offsets.as<uint32_t>(), moved->units_before.as<uint32_t>());
  return starts;
}

template <typename Columns, bool kWhole>
void launch(base::Queue& queue, const kernels::PartMove<Columns>& move, uint32_t blocks) {
  auto const kernel = kernels::move_to_parts_kernel<Columns, kWhole>;
  base::allow_shared(queue, kernel, "asking for shared memory of lines of parts");
  base::launch_dependent(queue, kernel, blocks, kPartThreads,
                         kernels::move_to_parts_bytes(move.parts.count, Columns::kWords, kWhole),
                         "moving rows to parts", move);
}

template <typename Columns>
bool move_rows(base::Queue& queue, kernels::PartMove<Columns> move,
               const kernels::ValidityBits& present, WithoutPlace without, PartedRows* moved) {
  constexpr int kWords = Columns::kWords;
  Starts const starts = count_rows(queue, move, present, moved);
  move.starts = starts.of_blocks.as<uint32_t>();
  if (without == WithoutPlace::kRefused &&
      base::read_back(queue, starts.part_rows.as<uint32_t>() + move.parts.count) != 0) {
    return false;
  }
  queue.check_cancelled();
  // Of rows of 20 bytes lines of one size are whole sectors.
  if constexpr (kernels::part_held_rows(kWords, true) == kernels::part_held_rows(kWords, false)) {
    launch<Columns, true>(queue, move, starts.blocks);
  } else {
    bool const whole = kernels::has_whole_lines(move.parts.count, kWords,
                                                queue.context.facts.shared_bytes_per_block);
    whole ? launch<Columns, true>(queue, move, starts.blocks)
          : launch<Columns, false>(queue, move, starts.blocks);
  }
  return true;
}

bool are_packed(std::span<const PartColumn> columns) {
  return std::any_of(columns.begin(), columns.end(),
                     [](const PartColumn& column) { return !column.parts.empty(); });
}
bool is_number(const PartColumn& column) { return column.data == nullptr && column.parts.empty(); }

template <typename Key, int kWords, bool kNulls>
kernels::PartColumns<Key, kWords, kNulls> plain_columns(const PartSource& source) {
  kernels::PartColumns<Key, kWords, kNulls> columns{};
  columns.keys = static_cast<const Key*>(source.keys);
  // What moves where nothing is asked for: the row's number.
  columns.number_word = source.columns.empty() ? 0 : -1;
  int32_t word = 0;
  for (PartColumn const& column : source.columns) {
    auto const* const from = static_cast<const uint32_t*>(column.data);
    int32_t const words = column.width / 4;
    if (is_number(column)) columns.number_word = word;
    for (int32_t i = 0; i < words && from != nullptr; ++i) {
      columns.words[word + i] = {from + i, static_cast<uint32_t>(words)};
    }
    word += words;
  }
  return columns;
}

// Planes of what four rows of a column have in a word.
class PackedSource {
 public:
  PackedSource(base::Queue& queue, uint32_t rows) : queue_(queue), rows_(rows) {}

  // Values that begin a vector of so many bytes: a copy of those that do not.
  const unsigned char* aligned(const void* values, int32_t width, uintptr_t to) {
    if (reinterpret_cast<uintptr_t>(values) % to == 0) {
      return static_cast<const unsigned char*>(values);
    }
    uint64_t const bytes = uint64_t{rows_} * static_cast<uint64_t>(width);
    copies_.push_back(queue_.device_pool->allocate(Memory::kDevice, bytes, "a column in line"));
    base::check(cudaMemcpyAsync(copies_.back().data(), values, bytes, cudaMemcpyDeviceToDevice,
                                base::stream_of(queue_)),
                "bringing a column in line");
    return copies_.back().as<unsigned char>();
  }

  // Word `at` of a row of a column of 4 or 8 bytes.
  static kernels::PackedWord word_of(const unsigned char* from, int32_t width, int32_t at) {
    auto const step = static_cast<uint32_t>(width);
    kernels::PackedWord word = {{}, {kLow, kHigh}, {kLow, kHigh}, {kLow, kHigh}};
    constexpr uint16_t kRows[] = {0, 2, 1, 3};
    for (uint32_t i = 0; i < kernels::kPackedRows; ++i) {
      word.planes[i] = {from + kRows[i] * step + kernels::kWordBytes * at,
                        kernels::kPackedRows * step, kRows[i], kernels::kWordBytes};
    }
    return word;
  }

  kernels::PackedWord word_of(const std::vector<PartColumn>& parts) {
    kernels::PackedWord word = {
        {}, {kFirstTwo, kLastTwo}, {kFirstTwo, kLastTwo}, {kLowHalves, kHighHalves}};
    uint32_t byte = 0;
    for (PartColumn const& part : parts) {
      auto const width = static_cast<uint16_t>(part.width);
      const unsigned char* const from = aligned(part.data, part.width, kernels::kWordBytes);
      for (uint16_t half = 0; half < width; ++half) {
        word.planes[byte + half] = {
            from + kernels::kWordBytes * half, kernels::kPackedRows * uint32_t{width},
            static_cast<uint16_t>(kernels::kWordBytes / width * half), width};
      }
      if (width == 2) {
        uint32_t* const select = byte == 0 ? word.first_select : word.last_select;
        select[0] = kLow;
        select[1] = kHigh;
      }
      byte += width;
    }
    for (; byte < kernels::kPackedRows; ++byte) word.planes[byte] = unasked(word.planes[0].from);
    return word;
  }

  // A row's number is put in the place of what is loaded.
  static kernels::PackedWord any_word(const unsigned char* from) {
    kernels::PackedWord word{};
    for (kernels::BytePlane& plane : word.planes) plane = unasked(from);
    return word;
  }

 private:
  // Bytes that nobody asks for: always the same ones of a column, and none of the last rows'.
  static kernels::BytePlane unasked(const unsigned char* from) {
    return {from, 0, kernels::kPackedRows, 1};
  }

  // Selectors of __byte_perm: one of two words, two bytes of each in turn, or half of each.
  static constexpr uint32_t kLow = 0x3210;
  static constexpr uint32_t kHigh = 0x7654;
  static constexpr uint32_t kFirstTwo = 0x5140;
  static constexpr uint32_t kLastTwo = 0x7362;
  static constexpr uint32_t kLowHalves = 0x5410;
  static constexpr uint32_t kHighHalves = 0x7632;

  base::Queue& queue_;
  uint32_t rows_;
  std::vector<base::Buffer> copies_;  // until what reads them is queued
};

template <typename Key, int kWords, bool kNulls>
kernels::PackedColumns<Key, kWords, kNulls> packed_columns(const PartSource& source,
                                                           PackedSource& packed) {
  kernels::PackedColumns<Key, kWords, kNulls> columns{};
  constexpr uintptr_t kVector = 16;
  const unsigned char* const keys = packed.aligned(source.keys, sizeof(Key), kVector);
  columns.keys = reinterpret_cast<const Key*>(keys);
  columns.number_word = -1;
  int32_t word = 0;
  for (PartColumn const& column : source.columns) {
    if (!column.parts.empty()) {
      columns.words[word++] = packed.word_of(column.parts);
    } else if (is_number(column)) {
      columns.number_word = word;
      columns.words[word++] = packed.any_word(keys);
    } else {
      auto const* const from = packed.aligned(column.data, column.width, kernels::kWordBytes);
      for (int32_t at = 0; at < column.width / kernels::kWordBytes; ++at) {
        columns.words[word++] = packed.word_of(from, column.width, at);
      }
    }
  }
  return columns;
}

// What its columns are moved by: move(columns).
template <typename Key, bool kNulls, typename Move>
bool with_columns(base::Queue& queue, const PartSource& source, int32_t words, const Move& move) {
  if (are_packed(source.columns)) {
    PackedSource packed(queue, source.rows);
    return words == 1 ? move(packed_columns<Key, 1, kNulls>(source, packed))
                      : move(packed_columns<Key, 2, kNulls>(source, packed));
  }
  switch (words) {
    case 1:
      return move(plain_columns<Key, 1, kNulls>(source));
    case 2:
      return move(plain_columns<Key, 2, kNulls>(source));
    case 3:
      return move(plain_columns<Key, 3, kNulls>(source));
    default:
      return move(plain_columns<Key, 4, kNulls>(source));
  }
}

template <typename Key>
bool move_rows(base::Queue& queue, const PartSource& source, const KeyPlaces& places,
               const PlaceParts& parts, WithoutPlace without, PartedRows* moved) {
  base::Buffer present;  // the pass reads whole words
  auto const move_columns = [&](auto columns) {
    columns.present = present.as<uint32_t>();
    kernels::PartMove<decltype(columns)> move{};
    move.steps = {static_cast<Key>(places.low), places.shift};
    move.parts = parts;
    move.columns = columns;
    move.rows = source.rows;
    move.offsets = moved->offsets.as<uint32_t>();
    move.out = moved->rows.as<uint32_t>();
    return move_rows(queue, move, source.present, without, moved);
  };
  if (source.present.bits == nullptr) {
    return with_columns<Key, false>(queue, source, moved->words, move_columns);
  }
  kernels::ValidRows are_valid{};
  are_valid.bits[are_valid.count] = source.present.bits;
  are_valid.offsets[are_valid.count++] = source.present.offset;
  present = bits_of_rows(queue, are_valid, source.rows);
  return with_columns<Key, true>(queue, source, moved->words, move_columns);
}

}  // namespace

int32_t part_words(std::span<const PartColumn> columns) {
  int32_t words = 0;
  for (PartColumn const& column : columns) words = kernels::with_part_column(words, column.width);
  return kernels::moved_part_words(words, are_packed(columns));
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
