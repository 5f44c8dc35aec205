// place_parts.hpp: places of keys dealt to parts that shared memory holds, each with a table of its
// own, as host and device both see them
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/transform/odd_inverse.hpp"

namespace gpujoin::kernels {

constexpr int kPartThreads = 1024;  // of the blocks that move rows to parts and join them
// Words of 4 bytes that travel beside a row's address.
constexpr int32_t kMostPartWords = 4;
// So many and those of one more column; more than that where it has none, being of another width
// than 4 and 8 bytes.
constexpr int32_t with_part_column(int32_t words, int32_t width) {
  return width == 4 || width == 8 ? words + width / 4 : kMostPartWords + 1 + words;
}
// Columns of 1 and 2 bytes are packed to words where there are so many at most.
constexpr int32_t kMostPackedPartWords = 2;
// Words that move: one at least, 0 where they are too many.
constexpr int32_t moved_part_words(int32_t words, bool are_packed) {
  return words <= (are_packed ? kMostPackedPartWords : kMostPartWords) ? std::max(words, 1) : 0;
}
// Rows of a thread at a time.
#ifdef __CUDACC__
__host__ __device__
#endif
    constexpr int
    part_items(int32_t words) {
  return words >= 3 ? 2 : 4;
}

// Which part a place is of, and by which address it is told there from the part's others.
//   Direct: places p, p + count, p + 2 * count, ... are of part p: keys that lie side by side are
// of different parts, so that rows in order do not wait for one part's counter. Addresses count up
// from 0.
//   Hashed: places are spread by a bijection over all numbers of 32 bits, and each part has as many
// of these, side by side: with m the number, m * count is part * 2^32 + address. count is odd, so
// that the address alone says m. Addresses of a part are spread evenly, a count apart.
struct PlaceParts {
  uint32_t last_place = 0;
  uint32_t count = 0;    // odd, so that keys with a step of a power of two are of all parts
  uint32_t inverse = 0;  // direct: 2^32 / count, or less by one; hashed: of count, modulo 2^32
  bool are_hashed = false;
  uint32_t blocks = 1;  // of a cluster, whose shared memory holds a part: a power of two

  constexpr uint32_t places_of_one() const { return last_place / count + 1; }

#ifdef __CUDACC__
  // 2^32 over the golden ratio: neighbours fall far apart (Knuth, TAOCP 3, 6.4).
  static constexpr uint32_t kSpread = 0x9e3779b1;

  // The address in the part, and which part it is. expected: place <= last_place.
  __device__ __forceinline__ uint32_t split(uint32_t place, uint32_t& part) const {
    if (are_hashed) {
      uint32_t const number = (place ^ place >> 16) * kSpread;
      part = __umulhi(number, count);
      return number * count;
    }
    uint32_t address = __umulhi(place, inverse);
    part = place - address * count;
    if (part >= count) {
      part -= count;
      ++address;
    }
    return address;
  }
  __device__ __forceinline__ uint32_t place_of(uint32_t address, uint32_t part) const {
    if (!are_hashed) return address * count + part;
    constexpr uint32_t kGather = inverse_of(kSpread);
    uint32_t const mixed = address * inverse * kGather;
    return mixed ^ mixed >> 16;
  }
  // Hashed: no place of the part has it. Those of part 0 alone have multiples of count.
  __device__ __forceinline__ static uint32_t no_address(uint32_t part) { return part == 0; }
#endif
};

// places: 1 to 2^32. count: odd, of hashed parts 3 at least.
constexpr PlaceParts place_parts(uint64_t places, uint32_t count) {
  uint64_t const inverse = (uint64_t{1} << 32) / count;
  return {static_cast<uint32_t>(places - 1), count,
          static_cast<uint32_t>(std::min<uint64_t>(inverse, UINT32_MAX)), false};
}
constexpr PlaceParts hashed_parts(uint64_t places, uint32_t count) {
  return {static_cast<uint32_t>(places - 1), count, inverse_of(count), true};
}

// Of a row that was moved: its address in its part, and so many words.
#ifdef __CUDACC__
__host__ __device__
#endif
    constexpr uint32_t
    part_row_bytes(int32_t words) {
  return 4 * (1 + static_cast<uint32_t>(words));
}

// Rows of a part that a block keeps until it writes them: a line of L2, or half of one where there
// are too many parts, in whole sectors, so that of 12 and 20 bytes they are eight. H200, 2^27 rows
// of 8 bytes to 1024 parts, 128 bytes at a time 0.65 ms; to 2048, 64 at a time, 0.87; to 4096, 32
// at a time, 1.6.
#ifdef __CUDACC__
__host__ __device__
#endif
    constexpr uint32_t
    part_line_rows(int32_t words, bool whole) {
  constexpr uint32_t kWholeSectors = 8;  // rows of an odd number of words
  if (words % 2 == 0) return kWholeSectors;
  return (whole ? 128 : 64) / part_row_bytes(words);
}

// Those of them that shared memory has room for. Fewer than eight rows of 12 bytes fill no whole
// sectors: where there are too many parts the last one of a line stays with its thread.
#ifdef __CUDACC__
__host__ __device__
#endif
    constexpr uint32_t
    part_held_rows(int32_t words, bool whole) {
  return part_line_rows(words, whole) - (words == 2 && !whole ? 1 : 0);
}
// Full lines of a warp's rows of a tile that it writes at once: all, but where each has a row that
// threads keep.
#ifdef __CUDACC__
__host__ __device__
#endif
    constexpr uint32_t
    part_lines_at_once(int32_t words, bool whole) {
  bool const holds_all = part_held_rows(words, whole) == part_line_rows(words, whole);
  return holds_all ? 32 * static_cast<uint32_t>(part_items(words)) : 32;
}

// A line a part, a counter and a place, and which lines are full, with the rows that threads keep.
constexpr uint64_t move_to_parts_bytes(uint64_t parts, int32_t words, bool whole) {
  uint64_t const held = part_held_rows(words, whole) * part_row_bytes(words);
  uint64_t const kept = part_line_rows(words, whole) * part_row_bytes(words) - held;
  constexpr uint64_t kWarps = kPartThreads / 32;
  return parts * (held + 8) + kWarps * part_lines_at_once(words, whole) * (kept + 2);
}

// Of a kernel beside its dynamic shared memory.
constexpr uint64_t kStaticPartBytes = 2048;

constexpr bool has_whole_lines(uint64_t parts, int32_t words, uint64_t shared_bytes) {
  return move_to_parts_bytes(parts, words, true) + kStaticPartBytes <= shared_bytes;
}

// The words of each place, and two sets of bits: of a part's places, and of those of the next one.
constexpr uint32_t part_room(uint32_t places_of_one) { return (places_of_one + 127) / 128 * 128; }
constexpr uint64_t join_parts_bytes(uint32_t room, int32_t words) {
  return uint64_t{room} * static_cast<uint64_t>(4 * words) + room / 4;
}
// Of parts that a cluster holds, in each of its blocks: rows whole, and what each block tells of
// them.
#ifdef __CUDACC__
__host__ __device__
#endif
    constexpr uint32_t
    clustered_row_bytes(int32_t words) {
  return words <= 2 ? 8 : 16;
}
constexpr uint32_t clustered_room(const PlaceParts& parts) {
  return (parts.places_of_one() + parts.blocks - 1) / parts.blocks;
}
constexpr uint64_t kClusteredCountBytes = 16;
// The first words of a place without a row, any two numbers.
constexpr uint32_t kFreePlace0 = 0x7b1c96a5;
constexpr uint32_t kFreePlace1 = 0xd28e430f;
constexpr uint64_t join_clustered_bytes(uint32_t room, int32_t words) {
  return kClusteredCountBytes + uint64_t{room} * clustered_row_bytes(words);
}
// Of hashed parts an address and the words of each slot, and a counter of 2 bytes for four.
constexpr uint64_t join_hashed_bytes(uint64_t slots, int32_t words) {
  return slots * part_row_bytes(words) + slots / 2;
}
constexpr uint32_t most_hashed_slots(int32_t words, uint64_t shared_bytes) {
  constexpr uint64_t kAtOnce = 128;
  uint64_t const shared = shared_bytes > kStaticPartBytes ? shared_bytes - kStaticPartBytes : 0;
  return static_cast<uint32_t>(shared / join_hashed_bytes(kAtOnce, words) * kAtOnce);
}
// Slots for parts of so many rows on average: no more than four a row, which are cleared for each
// part.
constexpr uint32_t hashed_room(uint64_t rows, uint32_t parts, int32_t words,
                               uint64_t shared_bytes) {
  uint64_t const wanted = (4 * (rows / parts + 1) + 127) / 128 * 128;
  return static_cast<uint32_t>(std::min<uint64_t>(most_hashed_slots(words, shared_bytes), wanted));
}
// A part of more rows has no room: keys are not as unique as was thought.
#ifdef __CUDACC__
__host__ __device__
#endif
    constexpr uint32_t
    most_hashed_rows(uint32_t slots) {
  return slots / 8 * 7;
}

// Of a part's table, in each of its blocks. rows: of the whole build side.
constexpr uint32_t part_table_room(const PlaceParts& parts, uint64_t rows, int32_t words,
                                   uint64_t shared_bytes) {
  if (parts.are_hashed) return hashed_room(rows, parts.count, words, shared_bytes);
  return parts.blocks > 1 ? clustered_room(parts) : part_room(parts.places_of_one());
}

// To which rows of so many words can be moved.
constexpr uint64_t most_parts(int32_t build_words, int32_t probe_words, uint64_t shared_bytes) {
  if (shared_bytes <= kStaticPartBytes) return 0;
  uint64_t const shared = shared_bytes - kStaticPartBytes;
  // Rows of 12 bytes have larger lines than those of 16.
  uint64_t most = UINT16_MAX;
  for (int32_t const words : {build_words, probe_words}) {
    uint64_t const of_none = move_to_parts_bytes(0, words, false);
    uint64_t const of_one = move_to_parts_bytes(1, words, false) - of_none;
    most = shared <= of_none ? 0 : std::min(most, (shared - of_none) / of_one);
  }
  return most;
}

// As many parts as keep all blocks busy to the end, or as hold `things` of which one has `most` at
// most. 0: these are more than rows can be moved to.
constexpr uint32_t busy_parts(uint64_t things, uint64_t most_of_one, uint64_t most_parts,
                              uint32_t sm_count) {
  constexpr uint64_t kPartsOfBlock = 8;   // units of about the same work
  constexpr uint64_t kFewestThings = 64;  // of a part that is worth a block's while
  if (things == 0 || most_of_one == 0) return 0;
  uint64_t const fewest = (things + most_of_one - 1) / most_of_one | 1;
  if (fewest > most_parts) return 0;
  uint64_t const wanted = std::min(kPartsOfBlock * sm_count, things / kFewestThings) | 1;
  return static_cast<uint32_t>(std::max(fewest, std::min(wanted, (most_parts - 1) | 1)));
}

// Of a part's cluster. 8 is what every device of 9.0 and later can be asked for.
constexpr uint32_t most_part_blocks(int32_t compute_capability) {
  return compute_capability >= 90 ? 8 : 1;
}

// Of a direct table. Of count 0: there are none that fit. A part of more than one word is held by a
// cluster of up to most_blocks where a block's shared memory holds too few places.
constexpr PlaceParts fitting_parts(uint64_t places, int32_t build_words, int32_t probe_words,
                                   uint64_t shared_bytes, uint32_t sm_count,
                                   uint32_t most_blocks = 1) {
  // More parts than so many are slower to move to than a cluster of two is to ask for rows. H200,
  // 59 * 10^6 x 2^27 rows with 8 bytes beside the key, to 2115 parts and 1057: 2.30 and 1.95 ms,
  // joined in 1.41 and 1.66; with 45 * 10^6, to 1613 and 845, both ways take as long.
  constexpr uint64_t kMostAlone = 1700;
  uint64_t const most = most_parts(build_words, probe_words, shared_bytes);
  if (places == 0 || places > UINT32_MAX || most == 0) return {};
  uint64_t const shared = shared_bytes - kStaticPartBytes;
  // Places of one part: 4 bytes a word and a quarter of one.
  uint64_t const of_block = shared * 4 / (16 * static_cast<uint64_t>(build_words) + 1) / 128 * 128;
  uint64_t const most_alone =
      build_words == 2 && most_blocks > 1 ? std::min(most, kMostAlone) : most;
  if (uint32_t const count = busy_parts(places, of_block, most_alone, sm_count); count != 0) {
    return place_parts(places, count);
  }
  if (build_words < 2) return {};
  uint64_t const rows_of_block = (shared - kClusteredCountBytes) / clustered_row_bytes(build_words);
  for (uint32_t blocks = 2; blocks <= most_blocks; blocks *= 2) {
    uint32_t const count = busy_parts(places, rows_of_block * blocks, most, sm_count / blocks);
    if (count == 0) continue;
    PlaceParts parts = place_parts(places, count);
    parts.blocks = blocks;
    return parts;
  }
  return {};
}

// Of tables of hashed keys, which lie anywhere among `places` places. Likewise.
constexpr PlaceParts fitting_hashed_parts(uint64_t rows, uint64_t places, int32_t build_words,
                                          int32_t probe_words, uint64_t shared_bytes,
                                          uint32_t sm_count) {
  constexpr uint64_t kSlotsOfRow = 2;
  constexpr uint32_t kFewest = 3;
  uint64_t const most = most_parts(build_words, probe_words, shared_bytes);
  if (places == 0 || places > uint64_t{UINT32_MAX} + 1 || most < kFewest) return {};
  uint64_t const most_rows = most_hashed_slots(build_words, shared_bytes) / kSlotsOfRow;
  uint32_t const count = busy_parts(rows, most_rows, most, sm_count);
  return count == 0 ? PlaceParts{} : hashed_parts(places, std::max(count, kFewest));
}

}  // namespace gpujoin::kernels
