// append_bits.cu: validity of a column that is made of several parts.
#include "kernels/materialize/append_bits.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/materialize/materialize.hpp"

namespace gpujoin::materialize {

columns::Storage append_bits(base::Queue& queue, std::span<const Bits> parts) {
  kernels::BitsParts args{};
  uint64_t rows = 0;
  for (Bits const& part : parts) {
    args.parts[args.count++] = {part.words, part.rows, part.fill};
    rows += part.rows;
  }
  uint64_t const words = (rows + 31) / 32;
  base::Buffer made = queue.device_pool->allocate_rows<uint32_t>(base::Memory::kDevice, words,
                                                                 "validity of an output column");
  if (words != 0) {
    base::launch_dependent(queue, kernels::append_bits_kernel,
                           base::grid_of(words, kernels::kStreamThreads), kernels::kStreamThreads,
                           0, "appending validity bits", args, words, made.as<uint32_t>());
  }
  return columns::make_storage(std::move(made));
}

}  // namespace gpujoin::materialize
