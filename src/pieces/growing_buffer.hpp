// growing_buffer.hpp: room behind what a buffer holds, and bits that are written there.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

#include "src/base/memory.hpp"
#include "src/columns/validity_bits.hpp"
#include "src/pieces/row_memory.hpp"

namespace gpujoin::pieces {

// Room for `needed` bytes, of which the first `used` stay. Powers of two, so that appending is
// linear; `whole`, where the buffer will hold that many: what it holds is then copied but once, and
// blocks of the pool fit again. Throws MEMORY_LIMIT or OUT_OF_MEMORY, and the buffer is as before.
inline void reserve(const RowMemory& memory, base::Buffer& buffer, uint64_t used, uint64_t needed,
                    uint64_t whole = 0) {
  constexpr uint64_t kLeastRoom = 256;
  if (needed <= buffer.bytes()) return;
  uint64_t room = std::max(kLeastRoom, std::bit_ceil(base::checked_bytes(needed, 1)));
  if (needed <= whole && needed > whole / 16) room = whole;
  base::Buffer larger = memory.allocate(room);
  if (used != 0) std::memcpy(larger.data(), buffer.data(), used);
  buffer = std::move(larger);
}

// Bits are written by whole words, wherever they begin, and so behind the last one, too.
inline constexpr uint64_t kBehindBits = 16;
inline uint64_t bitmap_room(int64_t rows) { return columns::bitmap_bytes(rows) + kBehindBits; }

// Writes bits `at` to `at` + count - 1, of 64 at a time those of word_of(i, how many); what it
// answers behind them is 0. Bits behind the last become anything. expected: bitmap_room.
template <typename WordOf>
void write_bits(uint8_t* bitmap, int64_t at, int64_t count, const WordOf& word_of) {
  unsigned const shift = static_cast<unsigned>(at % 8);
  uint8_t* to = bitmap + at / 8;
  for (int64_t i = 0; i < count; i += 64, to += 8) {
    uint64_t const word = word_of(i, std::min<int64_t>(64, count - i));
    uint64_t const before = *to & ((1U << shift) - 1);
    uint64_t const low = word << shift | before;
    std::memcpy(to, &low, 8);
    to[8] = static_cast<uint8_t>(shift == 0 ? 0 : word >> (64 - shift));
  }
}

// As many ones.
inline uint64_t ones(int64_t count) { return ~uint64_t{0} >> (64 - count); }

}  // namespace gpujoin::pieces
