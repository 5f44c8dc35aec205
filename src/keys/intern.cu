#include "src/keys/intern.hpp"

#include "kernels/keys/intern_values.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/keys/bytes_hash.hpp"

namespace gpujoin::keys {

using base::Memory;

Codes intern(base::Queue& queue, const InternedSide& table, const InternedSide& other) {
  base::Pool& pool = *queue.device_pool;
  Codes codes;
  codes.of_table =
      pool.allocate_rows<uint32_t>(Memory::kDevice, table.rows, "codes of a key's values");
  codes.of_other =
      pool.allocate_rows<uint32_t>(Memory::kDevice, other.rows, "codes of a key's values");
  uint64_t const slot_count = kernels::slots_for(table.rows);
  base::Buffer const slots =
      pool.allocate_rows<ulonglong2>(Memory::kDevice, slot_count, "table of a key's values");
  base::check(cudaMemsetAsync(slots.data(), 0xff, slots.bytes(), base::stream_of(queue)),
              "freeing the slots of a key's values");
  kernels::InternTable const made{table.values, table.rows, bytes_hash(queue.context),
                                  slots.as<ulonglong2>(), slot_count};
  if (table.rows != 0) {
    base::launch_dependent(queue, kernels::intern_table_kernel,
                           base::grid_of(table.rows, kernels::kStreamThreads),
                           kernels::kStreamThreads, 0, "giving codes to a key's values", made,
                           table.validity, codes.of_table.as<uint32_t>());
  }
  if (other.rows != 0) {
    base::launch_dependent(queue, kernels::intern_other_kernel,
                           base::grid_of(other.rows, kernels::kStreamThreads),
                           kernels::kStreamThreads, 0, "finding codes of a key's values", made,
                           other.values, other.validity, other.rows, codes.of_other.as<uint32_t>());
  }
  return codes;
}

}  // namespace gpujoin::keys
