// move_to_parts.hpp: rows moved to parts of a table in one pass.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/bytes_column.hpp"
#include "kernels/match/place_parts.hpp"
#include "src/base/queue.hpp"
#include "src/transform/key_range.hpp"

namespace gpujoin::transform {

// A column of 4 or 8 bytes that moves with the keys. Without data the row's number, 4 bytes, or a
// word of columns of 1 and 2 bytes, the first in its lowest bits.
struct PartColumn {
  const void* data = nullptr;
  int32_t width = 0;
  std::vector<PartColumn> parts = {};
};

// Words of 4 bytes that columns move in, one at least; 0: of other widths, or more than
// kernels::moved_part_words says.
int32_t part_words(std::span<const PartColumn> columns);

// Rows whose keys have a place, those of a part side by side: its address there and its words.
struct PartedRows {
  base::Buffer rows;     // [offsets[parts.count]][1 + words]
  base::Buffer offsets;  // [parts.count + 1] uint32
  base::Buffer
      units_before;  // [parts.count + 1] uint32: of unit_rows rows, of each part one or more
  int32_t words = 0;
  uint32_t unit_rows = 0;
};

// Keys of key_width bytes and the columns that move with them.
struct PartSource {
  const void* keys = nullptr;
  int32_t key_width = 0;
  uint32_t rows = 0;
  std::span<const PartColumn> columns;
  kernels::ValidityBits present = {};  // rows without a bit stay out
};

// unit_rows: not 0. Queued on the stream. Where every key has to have a place, waits for the
// stream, and nullopt: some have none, and nothing was moved. Throws OUT_OF_MEMORY or MEMORY_LIMIT.
enum class WithoutPlace { kLeftOut, kRefused };
std::optional<PartedRows> move_to_parts(base::Queue& queue, const PartSource& source,
                                        const KeyPlaces& places, const kernels::PlaceParts& parts,
                                        uint32_t unit_rows,
                                        WithoutPlace without = WithoutPlace::kLeftOut);

}  // namespace gpujoin::transform
