// batch_writer.hpp: a batch of matches to rows of the output columns.
//
// Gather transformed: values come from the packed rows of the two partitions at hand, which are in
// the cache. Gather untransformed: row numbers come from there, values from the input columns,
// wherever they are; loads are asked for ahead.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/columns/column.hpp"
#include "src/cpu/output_rows.hpp"
#include "src/cpu/packed_field.hpp"
#include "src/cpu/probe_partition.hpp"
#include "src/cpu/row_layout.hpp"

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

// Not thread-safe: one for each worker.
template <typename Key>
class BatchWriter {
 public:
  BatchWriter(const std::vector<OutputSource>& sources, OutputRows& output)
      : sources_(sources), output_(output) {}

  void write(const MatchBatch<Key>& batch, const PartitionRows& build, const PartitionRows& probe);

 private:
  // `rows` matches of one side: rest[i] of each.
  struct Matches {
    const PartitionRows* side = nullptr;
    const Key* rest = nullptr;
    uint32_t rows = 0;
  };

  const std::byte* field(const Matches& matches, uint32_t offset, uint32_t width) {
    return packed_field(*matches.side, matches.rest, matches.rows, offset, width, room_.data());
  }
  const uint32_t* row_numbers(const Matches& matches) {
    return packed_row_numbers(*matches.side, matches.rest, matches.rows, numbers_.data());
  }
  const std::byte* values(const OutputSource& source, const Key* keys, const Matches& matches);
  void collect_bits(const OutputSource& source, const Matches& matches);

  const std::vector<OutputSource>& sources_;
  OutputRows& output_;
  alignas(64) std::array<std::byte, kBatchRows * 16> room_;
  alignas(64) std::array<uint32_t, kBatchRows> numbers_;
  alignas(64) std::array<uint64_t, kBatchRows / 64> bits_;
};

extern template class BatchWriter<uint32_t>;
extern template class BatchWriter<uint64_t>;

}  // namespace gpujoin::cpu
