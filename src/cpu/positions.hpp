// positions.hpp: which value of a dictionary, or of a column of runs, each row has: on the CPU.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "kernels/keys/positions.hpp"
#include "src/base/memory.hpp"
#include "src/base/queue.hpp"
#include "src/cpu/derived_values.hpp"
#include "src/cpu/workers.hpp"

namespace gpujoin::cpu {

template <typename Source>
void fill_positions(const Source& source, uint64_t first, uint64_t end, uint32_t* found) {
  for (uint64_t row = first; row < end; ++row) found[row] = kernels::position_of(source, row);
}

// Of indices of 4 bytes, which most are, without a branch.
inline void fill_positions(const kernels::Indices& source, uint64_t first, uint64_t end,
                           uint32_t* found) {
  if (source.width != 4) return fill_positions<kernels::Indices>(source, first, end, found);
  auto const* const indices = static_cast<const uint32_t*>(source.values);
  uint64_t const most = source.is_signed ? uint64_t{1} << 31 : kernels::kNoPosition;
  auto const limit = static_cast<uint32_t>(std::min(source.value_rows, most));
  auto const position = [=](uint64_t row) {
    return indices[row] < limit ? indices[row] : kernels::kNoPosition;
  };
  if (source.validity.bits == nullptr) {
    for (uint64_t row = first; row < end; ++row) found[row] = position(row);
    return;
  }
  static_assert(kernels::kNoPosition == ~uint32_t{0});
  each_64_rows(source.validity, first, end, [&](uint64_t from, uint64_t to, uint64_t valid) {
    for (uint64_t row = from; row < to; ++row) {
      auto const is_valid = static_cast<uint32_t>(valid >> (row - from) & 1);
      found[row] = position(row) | (is_valid - 1);
    }
  });
}

// [rows] uint32. Source: kernels::Indices, Runs or Composed, of host memory.
template <typename Source>
base::Buffer positions(base::Queue& queue, Workers& workers, const Source& source, uint64_t rows) {
  constexpr uint64_t kTaskRows = uint64_t{1} << 16;
  base::Buffer found = queue.host_pool->allocate_rows<uint32_t>(base::Memory::kHost, rows,
                                                                "positions of a column's values");
  workers.for_each_range("keys", rows, kTaskRows, [&](uint64_t first, uint64_t end) {
    fill_positions(source, first, end, found.as<uint32_t>());
  });
  return found;
}

// Whether the indices are positions as they lie: of 4 bytes, and each of them names a value.
inline bool are_positions(Workers& workers, const kernels::Indices& source, uint64_t rows) {
  constexpr uint64_t kTaskRows = uint64_t{1} << 16;
  if (source.width != 4 || source.validity.bits != nullptr) return false;
  auto const* const indices = static_cast<const uint32_t*>(source.values);
  std::atomic<bool> are_all{true};
  workers.for_each_range("keys", rows, kTaskRows, [&](uint64_t first, uint64_t end) {
    uint32_t highest = 0;
    for (uint64_t row = first; row < end; ++row) highest = std::max(highest, indices[row]);
    if (highest >= source.value_rows) are_all.store(false, std::memory_order_relaxed);
  });
  return are_all.load(std::memory_order_relaxed);
}

}  // namespace gpujoin::cpu
