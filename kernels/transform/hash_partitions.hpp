// hash_partitions.hpp: what host and device both know of a block of rows in the order of partitions
#pragma once

#include <cstdint>

#include "kernels/bytes_column.hpp"

#ifdef __CUDACC__
#define GPUJOIN_RUNS __host__ __device__ constexpr
#else
#define GPUJOIN_RUNS constexpr
#endif

namespace gpujoin::kernels {

// Partitions, and one of rows with a NULL that equals nothing: a byte tells which.
constexpr int kMostRuns = 256;
// A run has room for a multiple of so many rows: 32 values of a byte do not share a sector with
// those of another column or run, and wider ones are read by vectors of 16 bytes.
constexpr uint32_t kRunAlign = 32;

constexpr int kHashThreads = 256;
constexpr int kHashItems = 16;
constexpr int kHashTile = kHashThreads * kHashItems;
constexpr int kHashSumThreads = 1024;
constexpr int kRunColumns = 16;  // of one launch

// At the beginning of a block. Rows of a run lie side by side, and in it its columns one behind the
// other: what goes over the link is one piece. begin: in places of rows, of all columns.
struct RunHeader {
  uint32_t begin[kMostRuns];
  uint32_t count[kMostRuns];
};

GPUJOIN_RUNS uint32_t places_of_run(uint32_t rows) {
  return (rows + kRunAlign - 1) / kRunAlign * kRunAlign;
}

// Which run the rows of each partition are in: of several they may be in one.
struct RunMap {
  uint32_t runs = 0;
  uint8_t of[kMostRuns];
};

// Where a column's values lie in a run: bytes behind the first run's beginning.
struct RunPlace {
  uint64_t row_bytes = 0;  // of all columns
  uint64_t before = 0;     // of the columns before it

  GPUJOIN_RUNS uint64_t of(uint32_t begin, uint32_t places) const {
    return begin * row_bytes + places * before;
  }
};

struct RunColumn {
  const void* in = nullptr;  // null: row numbers, INT64
  uint64_t before = 0;       // bytes of a row in the columns before it
  int32_t width = 0;
  bool are_bits = false;  // that become bytes
  int64_t first_bit = 0;
  int64_t first_number = 0;
};

struct RunColumns {
  void* out = nullptr;  // the first run
  uint64_t row_bytes = 0;
  int32_t count = 0;
  RunColumn columns[kRunColumns];
};

// Places of a block of so many rows.
constexpr uint64_t run_places(uint64_t rows, uint32_t runs) {
  return (rows + uint64_t{runs} * (kRunAlign - 1) + kRunAlign - 1) / kRunAlign * kRunAlign;
}

// A part of a column's values in a run, on its way into the column of all that is read at once.
struct RunPiece {
  const void* source = nullptr;  // the device's or page-locked; null: bytes that are 1
  uint32_t rows = 0;
  uint64_t target_row = 0;
};
// Rows of a piece: half a hundred microseconds of a block's time, a hundred blocks' of the link's.
constexpr uint32_t kPieceRows = 8192;

}  // namespace gpujoin::kernels

#undef GPUJOIN_RUNS
