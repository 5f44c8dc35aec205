// verify_pairs.hpp: pairs of an inexact code whose keys differ: dropped, or counted.
#pragma once

#include <cstdint>
#include <span>

#include "src/base/queue.hpp"
#include "src/columns/device_column.hpp"

namespace gpujoin::keys {

// Pairs that are compacted at a time, which need 8 bytes each for as long.
inline constexpr uint64_t kVerifiedAtOnce = uint64_t{1} << 24;

// build, probe: [pairs] row numbers, which keep their order. Answers how many pairs are left: those
// whose rows are equal in all key columns, compared pairwise. Where none differs nothing is
// written. Waits for the stream. at_once: tests have less.
uint64_t verify_pairs(base::Queue& queue, std::span<const columns::DeviceColumn> build_keys,
                      std::span<const columns::DeviceColumn> probe_keys, uint32_t* build,
                      uint32_t* probe, uint64_t pairs, uint64_t at_once = kVerifiedAtOnce);

// Of columns that a match wrote for both sides: how many of their [rows] values differ. Waits for
// the stream.
uint64_t count_unequal(base::Queue& queue, std::span<const columns::DeviceColumn> build_keys,
                       std::span<const columns::DeviceColumn> probe_keys, uint64_t rows);

}  // namespace gpujoin::keys
