// number_partitions.hpp: which partition each row of a block belongs to.
#pragma once

#include <cstdint>

#include "kernels/keys/value_hash.hpp"
#include "src/base/queue.hpp"

namespace gpujoin::keys {

// numbers[rows]; counts[(how.partitions + 1) * tiles], of tiles of kernels::kHashTile rows.
// Pointers are to device memory. Queued on the stream. expected: rows, a key column.
void number_partitions(base::Queue& queue, const kernels::PartitionHash& how, uint32_t rows,
                       uint8_t* numbers, uint32_t* counts);

}  // namespace gpujoin::keys
