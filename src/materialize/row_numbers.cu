// row_numbers.cu: the numbers of rows that are where they were, and row numbers in 8 bytes.
#include <thrust/execution_policy.h>
#include <thrust/sequence.h>
#include <thrust/transform.h>

#include "src/base/device.hpp"
#include "src/materialize/materialize.hpp"

namespace gpujoin::materialize {

namespace {

struct Widened {
  __device__ int64_t operator()(uint32_t row) const {
    return row == GPUJOIN_NO_ROW ? GPUJOIN_NO_ROW_INT64 : int64_t{row};
  }
};

}  // namespace

columns::Storage row_numbers(base::Queue& queue, uint64_t rows) {
  base::Buffer numbers =
      queue.device_pool->allocate_rows<uint32_t>(base::Memory::kDevice, rows, "row numbers");
  auto* const first = numbers.as<uint32_t>();
  thrust::sequence(thrust::cuda::par_nosync.on(base::stream_of(queue)), first, first + rows);
  base::check(cudaGetLastError(), "numbering rows");
  return columns::make_storage(std::move(numbers));
}

void widen_row_numbers(base::Queue& queue, const uint32_t* rows, uint64_t count, int64_t* wide) {
  thrust::transform(thrust::cuda::par_nosync.on(base::stream_of(queue)), rows, rows + count, wide,
                    Widened{});
  base::check(cudaGetLastError(), "widening row numbers");
}

}  // namespace gpujoin::materialize
