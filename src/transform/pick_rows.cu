// pick_rows.cu: host side of selections: two readings of a bitmap, and a sum between them.
#include "src/transform/pick_rows.hpp"

#include <algorithm>
#include <utility>

#include "kernels/transform/pick_rows.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/output/exclusive_sum.hpp"

namespace gpujoin::transform {

using base::check;
using base::Memory;

namespace {

kernels::PickBits as_argument(const RowBits& picked) {
  return {picked.bits, picked.first_bit, picked.rows, picked.are_unset};
}

unsigned tiles_of(uint64_t rows) { return base::grid_of(rows, kernels::kPickTile); }

// Picked rows before each tile, and of all behind the last.
base::Buffer rows_before_tiles(base::Queue& queue, const RowBits& picked) {
  unsigned const tiles = tiles_of(picked.rows);
  base::Buffer before = queue.device_pool->allocate_rows<unsigned long long>(
      Memory::kDevice, uint64_t{tiles} + 1, "picked rows before tiles");
  auto* const counts = before.as<unsigned long long>();
  base::launch_dependent(queue, kernels::count_picked_kernel, tiles, kernels::kPickThreads, 0,
                         "counting picked rows", as_argument(picked), counts);
  output::exclusive_sum(queue, counts, uint64_t{tiles} + 1);
  return before;
}

}  // namespace

PickedCount count_picked(base::Queue& queue, const RowBits& picked) {
  if (picked.rows == 0) return {};
  base::Buffer before = rows_before_tiles(queue, picked);
  uint64_t const rows =
      base::read_back(queue, before.as<unsigned long long>() + tiles_of(picked.rows));
  return {rows, columns::make_storage(std::move(before))};
}

void pick_rows(base::Queue& queue, const RowBits& picked, uint64_t count,
               const std::vector<PickedColumn>& columns, uint32_t* numbers) {
  if (picked.rows == 0 || count == 0) return;
  columns::Storage const before = picked.before != nullptr
                                      ? picked.before
                                      : columns::make_storage(rows_before_tiles(queue, picked));
  kernels::PickRows args{};
  args.from = as_argument(picked);
  args.before = static_cast<const unsigned long long*>(before.get());
  args.count = count;
  args.numbers = numbers;
  for (size_t first = 0; first < columns.size() || args.numbers != nullptr;) {
    args.column_count = 0;
    while (first < columns.size() && args.column_count < kernels::kPickColumns) {
      PickedColumn const& column = columns[first++];
      args.columns[args.column_count++] = {column.source, column.target, column.width};
    }
    base::launch_dependent(queue, kernels::pick_rows_kernel, tiles_of(picked.rows),
                           kernels::kPickThreads, 0, "picking rows", args);
    args.numbers = nullptr;
  }
}

std::optional<uint64_t> find_wrong_number(base::Queue& queue, const void* numbers, int32_t width,
                                          uint64_t count, uint64_t rows, uint32_t* narrow) {
  if (count == 0) return std::nullopt;
  auto* const lowest = queue.device->counters.as<unsigned long long>();
  check(cudaMemsetAsync(lowest, 0xff, sizeof(*lowest), base::stream_of(queue)),
        "starting the first wrong row number");
  auto const grid =
      std::min(base::grid_of(count, kernels::kPickThreads * kernels::kPickItems),
               static_cast<unsigned>(queue.context.facts.sm_count * kernels::kRangeBlocksPerSm));
  if (width == 4) {
    base::launch_dependent(queue, kernels::check_numbers_kernel<uint32_t>, grid,
                           kernels::kPickThreads, 0, "checking row numbers",
                           static_cast<const uint32_t*>(numbers), count, rows, narrow, lowest);
  } else {
    base::launch_dependent(queue, kernels::check_numbers_kernel<int64_t>, grid,
                           kernels::kPickThreads, 0, "checking row numbers",
                           static_cast<const int64_t*>(numbers), count, rows, narrow, lowest);
  }
  unsigned long long const found = base::read_back(queue, lowest);
  return found == ~0ULL ? std::nullopt : std::optional<uint64_t>(found);
}

base::Buffer mask_rows(base::Queue& queue, const RowBits& picked, const RowBits& valid) {
  uint64_t const words = (picked.rows + 31) / 32;
  base::Buffer made =
      queue.device_pool->allocate_rows<uint32_t>(Memory::kDevice, words, "validity of picked rows");
  if (words == 0) return made;
  base::launch_dependent(queue, kernels::mask_rows_kernel,
                         base::grid_of(words, kernels::kPickThreads), kernels::kPickThreads, 0,
                         "masking rows that are not picked", as_argument(picked),
                         as_argument(valid), made.as<uint32_t>());
  return made;
}

}  // namespace gpujoin::transform
