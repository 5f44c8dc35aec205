// sort_rows.hpp: rows in the order of keys of 8 bytes, by fewer passes than these have bits.
#pragma once

#include <cstdint>

#include "src/transform/transform.hpp"

namespace gpujoin::transform {

// Keys and row numbers in order by `bits` of the keys, equal ones as they were.
struct SortedRows {
  base::Buffer keys;           // [rows] uint64
  base::Buffer rows;           // [rows] uint32, the original row of each
  int32_t passed_bits = 0;     // that passes went over
  bool were_finished = false;  // runs of equal upper bits were put in order by the others
};

// How many of the uppermost bits leave few rows together that the others order: all of them where
// too little would be saved, or where a sample found rows closer together. Waits for the stream
// where it draws one.
int32_t bits_to_pass(base::Queue& queue, const PreparedKeys& keys, KeyBits bits);

// By passes over so many of the uppermost bits, and where these are not all by what those left
// together. Where that is too much, by passes over all. Waits for the stream unless upper is all.
// expected: keys of 8 bytes, 0 < upper <= bits.end - bits.begin
SortedRows sort_rows(base::Queue& queue, const PreparedKeys& keys, KeyBits bits, int32_t upper);

}  // namespace gpujoin::transform
