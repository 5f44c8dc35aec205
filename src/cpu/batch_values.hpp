// batch_values.hpp: the values that a batch of matches has of a column of either side.
//
// Gather transformed: they come from the packed rows of the two partitions at hand, which are in
// the cache; narrow ones that lie in the same 8 bytes are loaded together. Gather untransformed:
// row numbers come from there, values from the input columns, wherever they are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "src/columns/column.hpp"
#include "src/cpu/packed_field.hpp"
#include "src/cpu/probe_partition.hpp"

namespace gpujoin::cpu {

enum class Source : int32_t { kKey, kRowNumber, kCarried, kFetched };

// One output column: where its values come from.
struct OutputSource {
  Source source = Source::kKey;
  bool from_build = false;
  uint32_t width = 0;
  const columns::ColumnView* column = nullptr;  // null for row numbers
  uint32_t offset = 0;                          // in the packed row, of kRowNumber and kCarried
  int32_t null_bit = -1;                        // of kCarried
  bool nullable() const {
    return (source == Source::kCarried && null_bit >= 0) ||
           (source == Source::kFetched && column->validity != nullptr);
  }
};

// `rows` matches of one side: rest[i] of each.
template <typename Key>
struct SideMatches {
  const PartitionRows* side = nullptr;
  const Key* rest = nullptr;
  uint32_t rows = 0;
};

// Not thread-safe: one for each worker. What it answers lasts until it is asked again.
template <typename Key>
class BatchValues {
 public:
  using Matches = SideMatches<Key>;

  // Before what is asked of each batch, whose matches may lie where those of the last one lay.
  void start_batch() { words_of_ = numbers_of_ = nullptr; }
  // keys: of the matches.
  const std::byte* values(const OutputSource& source, const Key* keys, const Matches& matches);
  // Whether there is a value; bits beyond the rows are 0.
  const uint64_t* bits(const OutputSource& source, const Matches& matches);
  // expected: their rows carry them.
  const uint32_t* row_numbers(const Matches& matches) {
    if (numbers_of_ != matches.side) find_row_numbers(matches);
    return known_numbers_;
  }

 private:
  void find_row_numbers(const Matches& matches);
  const std::byte* field(const Matches& matches, uint32_t offset, uint32_t width);
  void load_words(const Matches& matches, uint32_t offset);

  alignas(64) std::array<std::byte, kBatchRows * 16> room_;
  alignas(64) std::array<uint32_t, kBatchRows> numbers_;
  alignas(64) std::array<uint64_t, kBatchRows / 64> bits_;
  alignas(64) std::array<uint64_t, kBatchRows> words_;  // of packed rows, those at words_offset_
  const PartitionRows* words_of_ = nullptr;             // null: none is loaded
  const PartitionRows* numbers_of_ = nullptr;           // the same of the row numbers
  const uint32_t* known_numbers_ = nullptr;
  bool are_neighbours_ = false;  // those numbers, all of them
  uint32_t words_offset_ = 0;
};

extern template class BatchValues<uint32_t>;
extern template class BatchValues<uint64_t>;

}  // namespace gpujoin::cpu
