// place_parts.hpp: places of a direct table dealt to parts that shared memory holds, as host and
// device both see them
#pragma once

#include <algorithm>
#include <cstdint>

namespace gpujoin::kernels {

constexpr int kPartThreads = 1024;  // of the blocks that move rows to parts and join them
// Words of 4 bytes that travel beside a row's address.
constexpr int32_t kMostPartWords = 3;
// So many and those of one more column; more than that where it has none, being of another width
// than 4 and 8 bytes.
constexpr int32_t with_part_column(int32_t words, int32_t width) {
  return width == 4 || width == 8 ? words + width / 4 : kMostPartWords + 1 + words;
}
// Words that move: one at least, 0 where they are too many.
constexpr int32_t moved_part_words(int32_t words) {
  return words <= kMostPartWords ? std::max(words, 1) : 0;
}
// Rows of a thread at a time.
#ifdef __CUDACC__
__host__ __device__
#endif
    constexpr int
    part_items(int32_t words) {
  return words == kMostPartWords ? 2 : 4;
}

// Places p, p + count, p + 2 * count, ... are of part p: keys that lie side by side are of
// different parts, so that rows in order do not wait for one part's counter.
struct PlaceParts {
  uint32_t places = 0;   // of the table
  uint32_t count = 0;    // odd, so that keys with a step of a power of two are of all parts
  uint32_t inverse = 0;  // 2^32 / count, or less by one

  constexpr uint32_t places_of_one() const {
    return places / count + (places % count != 0 ? 1 : 0);
  }

#ifdef __CUDACC__
  // Address in the part, and which part it is.
  __device__ uint32_t split(uint32_t place, uint32_t& part) const {
    uint32_t address = __umulhi(place, inverse);
    part = place - address * count;
    if (part >= count) {
      part -= count;
      ++address;
    }
    return address;
  }
#endif
};

constexpr PlaceParts place_parts(uint32_t places, uint32_t count) {
  uint64_t const inverse = (uint64_t{1} << 32) / count;
  return {places, count, static_cast<uint32_t>(std::min<uint64_t>(inverse, UINT32_MAX))};
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
// are too many parts, in whole sectors. H200, 2^27 rows of 8 bytes to 1024 parts, 128 bytes at a
// time 0.65 ms; to 2048, 64 at a time, 0.87; to 4096, 32 at a time, 1.6.
#ifdef __CUDACC__
__host__ __device__
#endif
    constexpr uint32_t
    part_line_rows(int32_t words, bool whole) {
  constexpr uint32_t kSectorsOf12 = 8;  // rows of 12 bytes that are whole sectors
  if (words == 2) return kSectorsOf12;
  return (whole ? 128 : 64) / part_row_bytes(words);
}

// A line a part, a counter and a place, and of each thread's rows which fill a line.
constexpr uint64_t move_to_parts_bytes(uint64_t parts, int32_t words, bool whole) {
  uint64_t const line = part_line_rows(words, whole) * part_row_bytes(words);
  return parts * (line + 8) + 2 * static_cast<uint64_t>(kPartThreads * part_items(words));
}
constexpr bool has_whole_lines(uint64_t parts, int32_t words, uint64_t shared_bytes) {
  return move_to_parts_bytes(parts, words, true) <= shared_bytes;
}

// The words of each place, and two sets of bits: of a part's places, and of those of the next one.
constexpr uint32_t part_room(uint32_t places_of_one) { return (places_of_one + 127) / 128 * 128; }
constexpr uint64_t join_parts_bytes(uint32_t places_of_one, int32_t words) {
  return uint64_t{part_room(places_of_one)} * static_cast<uint64_t>(4 * words) +
         part_room(places_of_one) / 4;
}

// As many parts as keep all blocks busy to the end, or as fit. Of count 0: the largest parts that
// shared memory holds are more than rows can be moved to.
constexpr PlaceParts fitting_parts(uint64_t places, int32_t build_words, int32_t probe_words,
                                   uint64_t shared_bytes, uint32_t sm_count) {
  constexpr uint64_t kStatic = 2048;      // of a kernel beside its dynamic shared memory
  constexpr uint64_t kPartsOfBlock = 8;   // units of about the same work
  constexpr uint64_t kFewestPlaces = 64;  // of a part that is worth a block's while
  if (places == 0 || places > UINT32_MAX || shared_bytes <= kStatic) return {};
  uint64_t const shared = shared_bytes - kStatic;
  // Places of one part: 4 bytes a word and a quarter of one, of as many as a row's address can be.
  uint64_t const most_places = std::min<uint64_t>(
      shared * 4 / (16 * static_cast<uint64_t>(build_words) + 1) / 128 * 128, uint64_t{1} << 16);
  if (most_places == 0) return {};
  // Rows of 12 bytes have larger lines than those of 16.
  uint64_t most = UINT16_MAX;
  for (int32_t const words : {build_words, probe_words}) {
    uint64_t const of_none = move_to_parts_bytes(0, words, false);
    uint64_t const of_one = move_to_parts_bytes(1, words, false) - of_none;
    most = shared <= of_none ? 0 : std::min(most, (shared - of_none) / of_one);
  }
  uint64_t const fewest = (places + most_places - 1) / most_places | 1;
  if (fewest > most) return {};
  uint64_t const wanted = std::min(kPartsOfBlock * sm_count, places / kFewestPlaces) | 1;
  uint64_t const count = std::max(fewest, std::min(wanted, (most - 1) | 1));
  return place_parts(static_cast<uint32_t>(places), static_cast<uint32_t>(count));
}

}  // namespace gpujoin::kernels
