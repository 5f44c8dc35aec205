// match_parts.hpp: the join of parts, of which shared memory holds one with its table.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/match/place_parts.hpp"
#include "src/base/queue.hpp"
#include "src/match/chunked_columns.hpp"
#include "src/transform/move_to_parts.hpp"

namespace gpujoin::match {

// What is joined: both sides in the same parts.
struct Parts {
  transform::KeyPlaces places;
  kernels::PlaceParts parts;
  uint32_t room = 0;  // kernels::part_table_room
  transform::PartedRows build;
  transform::PartedRows probe;
};

// Whether the device runs what joins such parts: it may have no room for a cluster's blocks.
bool has_room_for_parts(base::Queue& queue, const kernels::PlaceParts& parts, uint32_t room,
                        int32_t build_words, int32_t probe_words);

// Writes every column of the join. outputs: those of a side in the order of its columns in the
// parts; the key's of 4 or 8 bytes. Nullopt, and nothing is written: build keys repeat, or a hashed
// part has more than there is room for. Waits for the stream. Throws OUT_OF_MEMORY or MEMORY_LIMIT.
std::optional<WrittenRows> match_parts(base::Queue& queue, const Parts& parts,
                                       int64_t expected_rows,
                                       const std::vector<CarriedOutput>& outputs);

}  // namespace gpujoin::match
