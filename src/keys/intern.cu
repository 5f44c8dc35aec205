#include "src/keys/intern.hpp"

#include "kernels/keys/intern_values.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/keys/bytes_hash.hpp"

namespace gpujoin::keys {

using base::Memory;

namespace {

kernels::InternTable as_kernels_take_it(const base::Context& context, const ValueTable& table) {
  return {table.side.values, table.side.rows, bytes_hash(context), table.slots.as<ulonglong2>(),
          kernels::slots_for(table.side.rows)};
}

}  // namespace

Interned intern(base::Queue& queue, const InternedSide& table) {
  base::Pool& pool = *queue.device_pool;
  Interned made;
  made.table.side = table;
  made.codes = pool.allocate_rows<uint32_t>(Memory::kDevice, table.rows, "codes of a key's values");
  base::Buffer& slots = made.table.slots;
  slots = pool.allocate_rows<ulonglong2>(Memory::kDevice, kernels::slots_for(table.rows),
                                         "table of a key's values");
  base::check(cudaMemsetAsync(slots.data(), 0xff, slots.bytes(), base::stream_of(queue)),
              "freeing the slots of a key's values");
  if (table.rows != 0) {
    base::launch_dependent(
        queue, kernels::intern_table_kernel, base::grid_of(table.rows, kernels::kStreamThreads),
        kernels::kStreamThreads, 0, "giving codes to a key's values",
        as_kernels_take_it(queue.context, made.table), table.validity, made.codes.as<uint32_t>());
  }
  return made;
}

base::Buffer codes_by(base::Queue& queue, const ValueTable& table, const InternedSide& other) {
  base::Buffer codes = queue.device_pool->allocate_rows<uint32_t>(Memory::kDevice, other.rows,
                                                                  "codes of a key's values");
  if (other.rows != 0) {
    base::launch_dependent(queue, kernels::intern_other_kernel,
                           base::grid_of(other.rows, kernels::kStreamThreads),
                           kernels::kStreamThreads, 0, "finding codes of a key's values",
                           as_kernels_take_it(queue.context, table), other.values, other.validity,
                           other.rows, codes.as<uint32_t>());
  }
  return codes;
}

}  // namespace gpujoin::keys
