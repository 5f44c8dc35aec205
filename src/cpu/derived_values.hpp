// derived_values.hpp: the values of a derived key, row after row, with what they are made by known
// to the loop: asked for each row it takes as long as the rest.
#pragma once

#include <cstdint>

#include "kernels/keys/derived_key.hpp"

namespace gpujoin::cpu {

// what(row, value) for the rows [first, end) of a step that is kOp of kWidth, without NULLs of its
// own.
template <typename Bits, kernels::KeyOp kOp, int32_t kWidth, typename What>
void each_value_of(kernels::DerivedKey key, uint64_t first, uint64_t end, const What& what) {
  key.op = kOp;
  key.width = kWidth;
  key.nulls = {};
  for (uint64_t row = first; row < end; ++row) what(row, kernels::derived_value<Bits>(key, row));
}

template <typename Bits, typename What>
void each_derived_value(const kernels::DerivedKey& key, uint64_t first, uint64_t end,
                        const What& what) {
  using kernels::KeyOp;
  if (key.nulls.bits == nullptr) {
    if (key.op == KeyOp::kUnsigned && key.width == 4) {
      return each_value_of<Bits, KeyOp::kUnsigned, 4>(key, first, end, what);
    }
    if (key.op == KeyOp::kUnsigned && key.width == 8) {
      return each_value_of<Bits, KeyOp::kUnsigned, 8>(key, first, end, what);
    }
    if (key.op == KeyOp::kSigned && key.width == 4) {
      return each_value_of<Bits, KeyOp::kSigned, 4>(key, first, end, what);
    }
    if (key.op == KeyOp::kFloat && key.width == 4) {
      return each_value_of<Bits, KeyOp::kFloat, 4>(key, first, end, what);
    }
    if (key.op == KeyOp::kFloat && key.width == 8) {
      return each_value_of<Bits, KeyOp::kFloat, 8>(key, first, end, what);
    }
    if (key.op == KeyOp::kLow) return each_value_of<Bits, KeyOp::kLow, 16>(key, first, end, what);
    if (key.op == KeyOp::kHigh) return each_value_of<Bits, KeyOp::kHigh, 16>(key, first, end, what);
  }
  bool const is_decimal = kernels::is_of_decimal(key.op);
  for (uint64_t row = first; row < end; ++row) {
    what(row, is_decimal ? kernels::derived_decimal<Bits>(key, row)
                         : kernels::derived_value<Bits>(key, row));
  }
}

}  // namespace gpujoin::cpu
