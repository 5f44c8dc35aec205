#include "kernels/filters/test_rows.cuh"

#include "src/base/copy.hpp"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/filters/test_rows.hpp"

namespace gpujoin::filters {

namespace {

using base::Memory;

// The filter's bits there: copied once.
columns::Storage bits_on_device(base::Queue& queue, const Filter& filter) {
  if (filter.bytes == 0) return nullptr;
  std::lock_guard const lock(filter.device_mutex);
  if (filter.device_bits == nullptr) {
    base::Buffer bits =
        queue.device_pool->allocate(Memory::kDevice, filter.bytes, "a filter of keys");
    base::copy(queue, bits.data(), Memory::kDevice, filter.bits.data(), Memory::kHost,
               filter.bytes);
    base::finish(queue);
    filter.device_bits = columns::make_storage(std::move(bits));
  }
  return filter.device_bits;
}

template <typename Value, typename Test>
void launch(base::Queue& queue, const void* values, int64_t rows, const Test& test, uint32_t* words,
            unsigned long long* passing) {
  kernels::test_rows_kernel<<<base::grid_of(static_cast<uint64_t>(rows), kernels::kStreamTile),
                              kernels::kStreamThreads, 0, base::stream_of(queue)>>>(
      static_cast<const Value*>(values), test, static_cast<uint32_t>(rows), words, passing);
  base::check(cudaGetLastError(), "testing rows by a filter");
}

}  // namespace

TestedRows test_on_device(base::Queue& queue, const Filter& filter,
                          const columns::ColumnView& column, int64_t rows) {
  columns::Storage const bits = bits_on_device(queue, filter);
  auto const words = static_cast<uint64_t>((rows + 63) / 64);
  TestedRows made;
  made.memory = Memory::kDevice;
  // The count lies behind the bits.
  made.bits =
      queue.device_pool->allocate_rows<uint64_t>(Memory::kDevice, words + 1, "bits of rows");
  auto* const passing = made.bits.as<unsigned long long>() + words;
  base::check(
      cudaMemsetAsync(made.bits.data(), 0, (words + 1) * sizeof(uint64_t), base::stream_of(queue)),
      "clearing bits of rows");
  auto const run = [&](const auto& test) {
    auto const launch_one = column.width == 4 ? launch<int32_t, std::decay_t<decltype(test)>>
                                              : launch<int64_t, std::decay_t<decltype(test)>>;
    launch_one(queue, column.data, rows, test, made.bits.as<uint32_t>(), passing);
  };
  if (filter.kind == Kind::kBloom) {
    run(kernels::BlockTest{static_cast<const uint4*>(bits.get()),
                           filter.bytes / kernels::kBytesOfBlock});
  } else {
    run(kernels::PositionTest{
        filter.first_position,
        static_cast<uint64_t>(filter.last_position) - static_cast<uint64_t>(filter.first_position),
        static_cast<const uint32_t*>(bits.get())});
  }
  base::copy(queue, &made.passing, Memory::kHost, passing, Memory::kDevice, sizeof(made.passing));
  base::finish(queue);
  return made;
}

}  // namespace gpujoin::filters
