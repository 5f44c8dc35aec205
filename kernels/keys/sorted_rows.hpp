// sorted_rows.hpp: how a row's keys follow those of the row before, as host and device both see it
//
// Source   ours
// In       key columns: codes in the order of the values (ordered_key.hpp), or bytes
// Out      the first key in which the two rows differ, and how
#pragma once

#include <cstdint>

#include "kernels/bytes_column.hpp"

#ifdef __CUDACC__
#define GPUJOIN_SORTED __host__ __device__ inline
#else
#define GPUJOIN_SORTED inline
#endif

namespace gpujoin::kernels {

constexpr int kMostSortedColumns = 16;

struct SortedColumn {
  const uint64_t* codes = nullptr;  // null: bytes
  BytesColumn bytes;
  ValidityBits validity;
};
struct SortedColumns {
  SortedColumn columns[kMostSortedColumns];
  int32_t count = 0;
};

// What a row may be to the one before it. Where a column's NULLs lie may be seen at its first step
// from a NULL or to one; a step of the other kind contradicts it.
enum class SortedStep : int32_t { kNone, kLess, kFromNull, kToNull };
// Of each column, but of kLess of all together: the lowest row that is such a step.
constexpr int kSortedFindings = 1 + 2 * kMostSortedColumns;
GPUJOIN_SORTED int finding_of(SortedStep step, int32_t column) {
  if (step == SortedStep::kLess) return 0;
  return 1 + 2 * column + (step == SortedStep::kFromNull ? 0 : 1);
}

// Less than 0, 0, more than 0.
GPUJOIN_SORTED int compare_bytes(const ByteSpan& one, const ByteSpan& other) {
  uint64_t const both = one.count < other.count ? one.count : other.count;
  for (uint64_t i = 0; i < both; ++i) {
    if (one.data[i] != other.data[i]) return one.data[i] < other.data[i] ? -1 : 1;
  }
  if (one.count == other.count) return 0;
  return one.count < other.count ? -1 : 1;
}

// Of row `row` and the one before it.
GPUJOIN_SORTED SortedStep step_to(const SortedColumns& keys, uint64_t row, int32_t* column) {
  for (int32_t i = 0; i < keys.count; ++i) {
    SortedColumn const& key = keys.columns[i];
    *column = i;
    bool const before = is_valid(key.validity, row - 1);
    bool const now = is_valid(key.validity, row);
    if (before != now) return before ? SortedStep::kToNull : SortedStep::kFromNull;
    if (!now) continue;
    if (key.codes != nullptr) {
      if (key.codes[row] == key.codes[row - 1]) continue;
      return key.codes[row] < key.codes[row - 1] ? SortedStep::kLess : SortedStep::kNone;
    }
    int const order = compare_bytes(bytes_at(key.bytes, row - 1), bytes_at(key.bytes, row));
    if (order != 0) return order > 0 ? SortedStep::kLess : SortedStep::kNone;
  }
  return SortedStep::kNone;
}

}  // namespace gpujoin::kernels

#undef GPUJOIN_SORTED
