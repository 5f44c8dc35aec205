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
          uint32_t* found) {
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

// The first of 32 neighbours.
uint64_t draw(std::mt19937_64& random) { return random() & ~uint64_t{kTried - 1}; }

}  // namespace

uint64_t draw_stand_in(const base::Queue& queue) {
  std::mt19937_64 random(queue.context.hash_seed);
  return draw(random);
}

std::vector<SeenNulls> seen_nulls(base::Queue& queue, const uint32_t* seen, size_t columns) {
  auto const* const words =
      static_cast<const uint32_t*>(base::read_back(queue, seen, columns * sizeof(uint32_t)));
  std::vector<SeenNulls> told(columns);
  for (size_t i = 0; i < columns; ++i) {
    told[i] = {(words[i] & kernels::kHasNulls) != 0, (words[i] & kernels::kStandInIsTaken) != 0};
  }
  return told;
}

std::vector<uint64_t> find_stand_ins(base::Queue& queue,
                                     std::span<const columns::DeviceColumn* const> columns,
                                     int64_t rows) {
  std::vector<uint64_t> stand_ins(columns.size());
  if (rows == 0) return stand_ins;
  std::vector<size_t> open(columns.size());
  for (size_t i = 0; i < open.size(); ++i) open[i] = i;
  std::mt19937_64 random(queue.context.hash_seed);
  while (!open.empty()) {
    uint64_t const base = draw(random);
    uint64_t const bytes = open.size() * sizeof(uint32_t);
    auto* const founds = queue.device->counters.as<uint32_t>();
    base::check(cudaMemsetAsync(founds, 0, bytes, base::stream_of(queue)),
                "starting the look for values that stand for NULL");
    for (size_t i = 0; i < open.size(); ++i) {
      look(queue, *columns[open[i]], static_cast<uint32_t>(rows), base, &founds[i]);
    }
    auto const* const answer = static_cast<const uint32_t*>(base::read_back(queue, founds, bytes));
    std::vector<size_t> still_open;
    for (size_t i = 0; i < open.size(); ++i) {
      if (answer[i] == ~0U) {
        still_open.push_back(open[i]);
        continue;
      }
      stand_ins[open[i]] = base ^ static_cast<uint32_t>(std::countr_one(answer[i]));
    }
    open = std::move(still_open);
  }
  return stand_ins;
}

}  // namespace gpujoin::transform
