// gather_values.hpp: values of rows in any order, each asked for before it is its turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "src/base/prefetch.hpp"

namespace gpujoin::cpu {

// to[i] = from[rows[i]]. from: need not be aligned.
template <typename Stored, typename Value>
void gather_values(const void* from, const uint32_t* rows, uint64_t count, Value* to) {
  auto const* const stored = static_cast<const std::byte*>(from);
  auto const load = [&](uint64_t i) {
    Stored value;
    std::memcpy(&value, stored + uint64_t{rows[i]} * sizeof(Stored), sizeof(Stored));
    to[i] = static_cast<Value>(value);
  };
  uint64_t const asked = count > base::kRowsAhead ? count - base::kRowsAhead : 0;
  for (uint64_t i = 0; i < asked; ++i) {
    base::ask_for(stored + uint64_t{rows[i + base::kRowsAhead]} * sizeof(Stored));
    load(i);
  }
  for (uint64_t i = asked; i < count; ++i) load(i);
}

}  // namespace gpujoin::cpu
