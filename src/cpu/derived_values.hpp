// derived_values.hpp: the values of a derived key, row after row, with what they are made by known
// to the loop: asked for each row it takes as long as the rest. So does a call for each: what is
// more than a store is to be inlined by attribute, since there is a loop for each step.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/keys/derived_key.hpp"
#include "src/columns/validity_bits.hpp"

namespace gpujoin::cpu {

// what(row, value) for the rows [first, end) of a step that is kOp of kWidth, whatever its NULLs.
// flatten: derived_value() is long until it knows the step, and would stay a call.
template <typename Bits, kernels::KeyOp kOp, int32_t kWidth, typename What>
__attribute__((flatten)) void each_value_of(kernels::DerivedKey key, uint64_t first, uint64_t end,
                                            const What& what) {
  key.op = kOp;
  key.width = kWidth;
  key.nulls = {};
  for (uint64_t row = first; row < end; ++row) what(row, kernels::derived_value<Bits>(key, row));
}

// each(first, end, valid) of 64 rows at a time, of which row first + i is valid where bit i is 1.
template <typename Each>
void each_64_rows(const kernels::ValidityBits& validity, uint64_t first, uint64_t end,
                  const Each& each) {
  auto const bit = static_cast<uint64_t>(validity.offset);
  for (uint64_t row = first; row < end; row += 64) {
    uint64_t const last = std::min(row + 64, end);
    each(row, last, columns::bits_of_64_rows(validity.bits, bit + row, bit + last));
  }
}

// The same, with 0 for a NULL. Words of rows without any are most, and have no look at them.
template <typename Bits, kernels::KeyOp kOp, int32_t kWidth, typename What>
void each_value_or_null_of(const kernels::DerivedKey& key, uint64_t first, uint64_t end,
                           const What& what) {
  if (key.nulls.bits == nullptr) return each_value_of<Bits, kOp, kWidth>(key, first, end, what);
  each_64_rows(key.nulls, first, end, [&](uint64_t row, uint64_t last, uint64_t valid) {
    if (valid == ~uint64_t{0} >> (64 - (last - row))) {
      return each_value_of<Bits, kOp, kWidth>(key, row, last, what);
    }
    each_value_of<Bits, kOp, kWidth>(key, row, last, [&](uint64_t at, Bits value) {
      what(at, value & (Bits{0} - static_cast<Bits>(valid >> (at - row) & 1)));
    });
  });
}

// what(row, 1 where the value is NULL).
template <typename Bits, typename What>
void each_null_of(const kernels::ValidityBits& validity, uint64_t first, uint64_t end,
                  const What& what) {
  auto const none = [&](uint64_t from, uint64_t to) {
    for (uint64_t row = from; row < to; ++row) what(row, Bits{0});
  };
  if (validity.bits == nullptr) return none(first, end);
  each_64_rows(validity, first, end, [&](uint64_t from, uint64_t to, uint64_t valid) {
    if (valid == ~uint64_t{0} >> (64 - (to - from))) return none(from, to);
    for (uint64_t row = from; row < to; ++row) {
      what(row, static_cast<Bits>(~valid >> (row - from) & 1));
    }
  });
}

template <typename Bits, typename What>
void each_derived_value(const kernels::DerivedKey& key, uint64_t first, uint64_t end,
                        const What& what) {
  using kernels::KeyOp;
  if (key.op == KeyOp::kIsNull) return each_null_of<Bits>(key.nulls, first, end, what);
  if (key.op == KeyOp::kZero) return each_null_of<Bits>({}, first, end, what);
  bool const is_unsigned = key.op == KeyOp::kUnsigned || key.op == KeyOp::kAsIs;
  if (is_unsigned && key.width == 4) {
    return each_value_or_null_of<Bits, KeyOp::kUnsigned, 4>(key, first, end, what);
  }
  if (is_unsigned && key.width == 8) {
    return each_value_or_null_of<Bits, KeyOp::kUnsigned, 8>(key, first, end, what);
  }
  if (key.op == KeyOp::kSigned && key.width == 4) {
    return each_value_or_null_of<Bits, KeyOp::kSigned, 4>(key, first, end, what);
  }
  if (key.op == KeyOp::kSigned && key.width == 2) {
    return each_value_or_null_of<Bits, KeyOp::kSigned, 2>(key, first, end, what);
  }
  if (key.op == KeyOp::kSigned && key.width == 1) {
    return each_value_or_null_of<Bits, KeyOp::kSigned, 1>(key, first, end, what);
  }
  if (key.op == KeyOp::kFloat && key.width == 4) {
    return each_value_or_null_of<Bits, KeyOp::kFloat, 4>(key, first, end, what);
  }
  if (key.op == KeyOp::kFloat && key.width == 8) {
    return each_value_or_null_of<Bits, KeyOp::kFloat, 8>(key, first, end, what);
  }
  if (key.op == KeyOp::kLow) {
    return each_value_or_null_of<Bits, KeyOp::kLow, 16>(key, first, end, what);
  }
  if (key.op == KeyOp::kHigh) {
    return each_value_or_null_of<Bits, KeyOp::kHigh, 16>(key, first, end, what);
  }
  bool const is_decimal = kernels::is_of_decimal(key.op);
  for (uint64_t row = first; row < end; ++row) {
    what(row, is_decimal ? kernels::derived_decimal<Bits>(key, row)
                         : kernels::derived_value<Bits>(key, row));
  }
}

}  // namespace gpujoin::cpu
