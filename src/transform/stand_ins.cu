#include "src/transform/stand_ins.hpp"

#include <bit>
#include <random>

#include "kernels/transform/find_stand_in.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"

namespace gpujoin::transform {

namespace {

constexpr uint32_t kTried = 32;  // values at once

void look(base::Queue& queue, const columns::DeviceColumn& column, uint32_t rows, uint64_t base,
          kernels::FoundStandIns* found) {
  unsigned const grid = base::grid_of(queue, rows, kernels::kStreamTile,
                                      kernels::kThreadsPerSm / kernels::kStreamThreads);
  kernels::ValidityBits const validity = {column.validity, column.validity_bit_offset};
  kernels::with_stand_in_type(column.width, [&](auto zero) {
    using Value = decltype(zero);
    kernels::find_stand_in_kernel<Value>
        <<<grid, kernels::kStreamThreads, 0, base::stream_of(queue)>>>(
            static_cast<const Value*>(column.data), validity, rows, base, found);
  });
  base::check(cudaGetLastError(), "looking for a value that stands for NULL");
}

}  // namespace

std::vector<StandIn> find_stand_ins(base::Queue& queue,
                                    std::span<const columns::DeviceColumn* const> columns,
                                    int64_t rows) {
  using Found = kernels::FoundStandIns;
  std::vector<StandIn> stand_ins(columns.size());
  if (rows == 0) return stand_ins;
  std::vector<size_t> open(columns.size());
  for (size_t i = 0; i < open.size(); ++i) open[i] = i;
  std::mt19937_64 random(queue.context.hash_seed);
  while (!open.empty()) {
    uint64_t const base = random() & ~uint64_t{kTried - 1};
    auto* const founds = queue.device->counters.as<Found>();
    base::check(cudaMemsetAsync(founds, 0, open.size() * sizeof(Found), base::stream_of(queue)),
                "starting the look for values that stand for NULL");
    for (size_t i = 0; i < open.size(); ++i) {
      look(queue, *columns[open[i]], static_cast<uint32_t>(rows), base, &founds[i]);
    }
    auto const* const answer =
        static_cast<const Found*>(base::read_back(queue, founds, open.size() * sizeof(Found)));
    std::vector<size_t> still_open;
    for (size_t i = 0; i < open.size(); ++i) {
      if (answer[i].present == ~0U) {
        still_open.push_back(open[i]);
        continue;
      }
      auto const free = static_cast<uint32_t>(std::countr_one(answer[i].present));
      stand_ins[open[i]] = {base ^ free, static_cast<int64_t>(answer[i].nulls)};
    }
    open = std::move(still_open);
  }
  return stand_ins;
}

}  // namespace gpujoin::transform
