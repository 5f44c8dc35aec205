// number_partitions.hpp: which run of a block each row belongs to, by its partition.
#pragma once

#include <cstdint>

#include "kernels/keys/value_hash.hpp"
#include "kernels/transform/hash_partitions.hpp"
#include "src/base/queue.hpp"

namespace gpujoin::keys {

// numbers[rows]; counts[map.runs * tiles], of tiles of kernels::kHashTile rows. map: of the
// partitions, and last of rows with a NULL that equals nothing. Pointers are to device memory.
// Queued on the stream. expected: rows, a key column.
void number_partitions(base::Queue& queue, const kernels::PartitionHash& how,
                       const kernels::RunMap& map, uint32_t rows, uint8_t* numbers,
                       uint32_t* counts);

}  // namespace gpujoin::keys
