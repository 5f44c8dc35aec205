// hash_partitions.hpp: rows of a block in the order of partitions by a hash of their keys' values,
// and runs of such blocks back in columns.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/transform/hash_partitions.hpp"
#include "src/base/queue.hpp"

namespace gpujoin::transform {

// Pointers are to device memory. numbers[rows], counts[runs * tiles]: as keys::number_partitions
// wrote them; the counts are used up. header: says what the runs are. out: they, of rows of
// row_bytes bytes. Queued on the stream. expected: rows, runs <= kernels::kMostRuns.
void move_to_runs(base::Queue& queue, const uint8_t* numbers, uint32_t* counts, uint32_t rows,
                  uint32_t runs, std::span<const kernels::RunColumn> columns, uint64_t row_bytes,
                  kernels::RunHeader* header, void* out);

// Values of 1, 2, 4, 8 or 16 bytes. pieces[count]: page-locked. Queued on the stream, which reads
// both the pieces and what they name.
void gather_runs(base::Queue& queue, const kernels::RunPiece* pieces, uint32_t count, int32_t width,
                 void* target);

// A bit for each of `rows` bytes, in words. Queued on the stream.
void pack_bits(base::Queue& queue, const uint8_t* bytes, uint64_t rows, uint32_t* words);

}  // namespace gpujoin::transform
