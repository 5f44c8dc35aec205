#include "src/papers/squeeze_pages.hpp"

#include <cub/device/device_radix_sort.cuh>

#include <algorithm>
#include <bit>

#include "kernels/papers/squeeze_pages.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/base/status.hpp"
#include "src/output/close_chunks.hpp"
#include "src/output/exclusive_sum.hpp"

namespace gpujoin::papers {

using base::check;
using base::Memory;
using base::stream_of;

void squeeze_pages(base::Queue& queue, const PageTails& pages, uint64_t rows,
                   std::span<const kernels::SqueezedColumn> columns) {
  kernels::SqueezedColumns const squeezed = output::squeezed_columns(columns);
  base::Pool& pool = *queue.device_pool;
  auto const count = static_cast<uint32_t>(pages.count);
  base::Buffer const sorted =
      pool.allocate_rows<unsigned long long>(Memory::kDevice, count, "sorted tails of pages");
  auto* const places = sorted.as<unsigned long long>();
  // Each lies in a page of its own, which the upper bits tell.
  int const first_bit =
      std::has_single_bit(pages.page_rows) ? std::countr_zero(pages.page_rows) : 0;
  int const bits = std::bit_width(rows + pages.holes);
  size_t bytes = 0;
  check(cub::DeviceRadixSort::SortKeys(nullptr, bytes, pages.tails, places, count, first_bit, bits,
                                       stream_of(queue)),
        "sizing the sort of pages");
  {
    base::Buffer const storage = pool.allocate(Memory::kDevice, bytes, "sort storage");
    check(cub::DeviceRadixSort::SortKeys(storage.data(), bytes, pages.tails, places, count,
                                         first_bit, bits, stream_of(queue)),
          "sorting pages");
  }

  base::Buffer const sums =
      pool.allocate_rows<unsigned long long>(Memory::kDevice, pages.count + 1, "holes of pages");
  auto* const holes_before = sums.as<unsigned long long>();
  kernels::hole_lengths_kernel<<<base::grid_of(pages.count + 1, kernels::kStreamThreads),
                                 kernels::kStreamThreads, 0, stream_of(queue)>>>(
      places, count, pages.page_rows, holes_before);
  check(cudaGetLastError(), "measuring holes of pages");
  output::exclusive_sum(queue, holes_before, pages.count + 1);

  kernels::fill_holes_kernel<<<base::grid_of(pages.holes, kernels::kStreamThreads),
                               kernels::kStreamThreads, 0, stream_of(queue)>>>(
      places, holes_before, count, rows, squeezed);
  check(cudaGetLastError(), "squeezing out holes of pages");
}

}  // namespace gpujoin::papers
