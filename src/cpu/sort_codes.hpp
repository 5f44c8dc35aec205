// sort_codes.hpp: rows in the order of their codes.
//
// Source   radix sort from the lowest digit on, with a histogram of each part of the input, so that
//          parts are placed side by side (Satish et al. 2009 on GPUs; here one part a thread)
//
// Digits of 11 bits: their 2048 places to write to are what two levels of a TLB hold. Codes count
// from the lowest on, and where 32 bits hold them an entry has 8 bytes instead of 16. 10^6 codes of
// 30 bits: 6 ms on two threads, where a comparing sort takes 45.
//
// radix_sort.hpp, from the highest bits on, sorts codes that are spread evenly faster: 10^6 of 30
// bits in 4.2 ms for 5.1, 10^7 of 62 in 81 for 133. It is slower where three of four codes are the
// same, 10^6 of 62 bits in 10.8 ms for 8.2, and of few: 3 * 10^4 of 30 bits in 0.25 ms for 0.19.
#pragma once

#include <cstdint>

#include "src/base/memory.hpp"
#include "src/base/queue.hpp"
#include "src/cpu/workers.hpp"

namespace gpujoin::cpu {

struct SortedCodes {
  base::Buffer codes;  // [count] uint64, ascending
  base::Buffer rows;   // [count] uint32, ascending where codes are equal
  uint64_t count = 0;
};

// codes: of all rows. rows: [count] those to sort, ascending; null: 0 to count - 1. flip: is XORed
// with every code. Less than 2^32 rows.
SortedCodes sort_codes(base::Queue& queue, Workers& workers, const uint64_t* codes,
                       const uint32_t* rows, uint64_t count, uint64_t flip);

}  // namespace gpujoin::cpu
