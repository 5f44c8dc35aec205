#include "src/match/range_sides.hpp"

#include <thrust/iterator/counting_iterator.h>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>

#include <bit>
#include <utility>

#include "kernels/match/range_codes.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"

namespace gpujoin::match {

namespace {

using base::check;
using base::Memory;
using base::stream_of;

constexpr unsigned kBlocksPerSm = 8;

// Calls a CUB algorithm twice: for the size of its storage, and with it.
template <typename Algorithm>
void with_storage(base::Queue& queue, const char* doing, Algorithm algorithm) {
  size_t bytes = 0;
  check(algorithm(nullptr, bytes), doing);
  base::Buffer const storage =
      queue.device_pool->allocate(Memory::kDevice, bytes, "storage of a range join");
  check(algorithm(storage.data(), bytes), doing);
}

// Answers the bits in which codes differ.
uint64_t read_codes(base::Queue& queue, const uint64_t* codes, const uint32_t* rows, uint32_t count,
                    uint64_t flip, const base::Buffer& out_codes, uint32_t* out_rows) {
  auto* const varying = queue.device->counters.as<unsigned long long>();
  check(cudaMemsetAsync(varying, 0, sizeof(*varying), stream_of(queue)),
        "clearing the bits of codes");
  kernels::
      codes_of_rows_kernel<<<base::grid_of(queue, count, kernels::kStreamThreads, kBlocksPerSm),
                             kernels::kStreamThreads, 0, stream_of(queue)>>>(
          codes, rows, count, flip, out_codes.as<uint64_t>(), out_rows, varying);
  check(cudaGetLastError(), "reading the codes of a range join");
  return base::read_back(queue, static_cast<const unsigned long long*>(varying));
}

RowList rows_by_validity(base::Queue& queue, const columns::RangeProblem& problem, bool ranged,
                         bool are_valid) {
  auto const rows = static_cast<uint32_t>(ranged ? problem.ranged_rows : problem.sorted_rows);
  kernels::IsInRange is_in{};
  is_in.is_wanted = are_valid;
  for (size_t i = 0; i < problem.inequalities.size(); ++i) {
    columns::Inequality const& inequality = problem.inequalities[i];
    (i == 0 ? is_in.first : is_in.second) =
        ranged ? inequality.ranged.validity : inequality.sorted.validity;
  }
  RowList list;
  list.count = are_valid ? rows : 0;
  if (rows == 0 || (is_in.first.bits == nullptr && is_in.second.bits == nullptr)) return list;
  list.numbers =
      queue.device_pool->allocate_rows<uint32_t>(Memory::kDevice, rows, "rows of a range join");
  auto* const counted = queue.device->counters.as<uint32_t>();
  thrust::counting_iterator<uint32_t> const all_rows(0);
  with_storage(queue, "selecting the rows of a range join", [&](void* storage, size_t& bytes) {
    return cub::DeviceSelect::If(storage, bytes, all_rows, list.numbers.as<uint32_t>(), counted,
                                 int64_t{rows}, is_in, stream_of(queue));
  });
  list.count = base::read_back(queue, static_cast<const uint32_t*>(counted));
  return list;
}

}  // namespace

RowList rows_without_null(base::Queue& queue, const columns::RangeProblem& problem, bool ranged) {
  return rows_by_validity(queue, problem, ranged, true);
}

RowList rows_with_null(base::Queue& queue, const columns::RangeProblem& problem, bool ranged) {
  return rows_by_validity(queue, problem, ranged, false);
}

SortedSide sort_side(base::Queue& queue, const uint64_t* codes, const RowList& rows,
                     uint64_t flip) {
  base::Pool& pool = *queue.device_pool;
  SortedSide sorted;
  sorted.count = rows.count;
  if (rows.count == 0) return sorted;
  base::Buffer other_codes;
  base::Buffer other_rows;
  for (base::Buffer* made : {&sorted.codes, &other_codes}) {
    *made = pool.allocate_rows<uint64_t>(Memory::kDevice, rows.count, "codes of a range join");
  }
  for (base::Buffer* made : {&sorted.rows, &other_rows}) {
    *made = pool.allocate_rows<uint32_t>(Memory::kDevice, rows.count, "rows of a range join");
  }
  uint64_t const bits = read_codes(queue, codes, rows.numbers.as<uint32_t>(), rows.count, flip,
                                   sorted.codes, sorted.rows.as<uint32_t>());
  if (bits == 0) return sorted;
  cub::DoubleBuffer<uint64_t> keys(sorted.codes.as<uint64_t>(), other_codes.as<uint64_t>());
  cub::DoubleBuffer<uint32_t> values(sorted.rows.as<uint32_t>(), other_rows.as<uint32_t>());
  with_storage(queue, "sorting the codes of a range join", [&](void* storage, size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(storage, bytes, keys, values, int64_t{rows.count},
                                           std::countr_zero(bits), std::bit_width(bits),
                                           stream_of(queue));
  });
  if (keys.Current() == other_codes.as<uint64_t>()) std::swap(sorted.codes, other_codes);
  if (values.Current() == other_rows.as<uint32_t>()) std::swap(sorted.rows, other_rows);
  return sorted;
}

base::Buffer codes_of_rows(base::Queue& queue, const uint64_t* codes, const uint32_t* rows,
                           uint32_t count) {
  base::Buffer made =
      queue.device_pool->allocate_rows<uint64_t>(Memory::kDevice, count, "codes of a range join");
  read_codes(queue, codes, rows, count, 0, made, nullptr);
  return made;
}

RowList select_rows(base::Queue& queue, const uint32_t* rows, const uint32_t* flags,
                    uint32_t count) {
  RowList list;
  if (count == 0) return list;
  list.numbers = queue.device_pool->allocate_rows<uint32_t>(Memory::kDevice, count, "matched rows");
  auto* const counted = queue.device->counters.as<uint32_t>();
  with_storage(queue, "selecting matched rows", [&](void* storage, size_t& bytes) {
    return cub::DeviceSelect::Flagged(storage, bytes, rows, flags, list.numbers.as<uint32_t>(),
                                      counted, int64_t{count}, stream_of(queue));
  });
  list.count = base::read_back(queue, static_cast<const uint32_t*>(counted));
  return list;
}

}  // namespace gpujoin::match
