// unpack_words.hpp: narrow columns out of the words that they travelled in.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/base/queue.hpp"
#include "src/columns/result.hpp"

namespace gpujoin::materialize {

// A column of words, and its columns from the lowest bits on, each of 1 or 2 bytes. The columns'
// memory is allocated.
struct PackedColumns {
  const void* words = nullptr;  // [rows]
  struct Part {
    int32_t width = 0;
    columns::Storage* target = nullptr;
  };
  std::vector<Part> parts;
};

// room: rows that each column gets memory for. Queued on the stream. expected: rows > 0.
void unpack_words(base::Queue& queue, std::span<const PackedColumns> packed, uint64_t rows,
                  uint64_t room);

}  // namespace gpujoin::materialize
