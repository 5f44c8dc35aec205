// states.hpp: what is kept of each group while rows are added, and the values that come of it, as
// host and device both see them
//
// Source   group-join: Moerkotte & Neumann, "Accelerating Queries with Group-By and Join by
//          Groupjoin", VLDB 2011: groups are rows of one side, so a group's number is its row's
// In       words of 64 bits, [groups * words] of a state
// Out      a value a group, or NULL, or that its type does not hold it
// Why      sums are kept in one word more than a value has: their order does not decide whether
//          they overflow, the total does
#pragma once

#include <cstdint>

#include "kernels/aggregate/exact_quotient.hpp"
#include "kernels/aggregate/numbers.hpp"

#ifdef __CUDACC__
#define GPUJOIN_STATE __host__ __device__ inline
#else
#define GPUJOIN_STATE inline
#endif

namespace gpujoin::kernels {

enum class StateKind : int32_t {
  kRows,         // rows; of values that are not NULL, where there is a column
  kSum,          // of integers and decimals, sum_words_of(numbers)
  kFloatSum,     // a double's bits
  kLeast,        // ordinal_of
  kGreatest,     // ordinal_of
  kLeastRow,     // the number of the row that compare_rows puts first
  kGreatestRow,  // and last
  kAnyRow,       // the number of a row whose value is not NULL
};

// Of a state before any row: all its bytes. No row's number is kNoGroupRow.
constexpr uint64_t kNoGroupRow = ~uint64_t{0};
GPUJOIN_STATE constexpr uint8_t first_byte_of(StateKind kind) {
  return kind == StateKind::kLeast || kind >= StateKind::kLeastRow ? 0xff : 0;
}
GPUJOIN_STATE constexpr bool keeps_row(StateKind kind) { return kind >= StateKind::kLeastRow; }

// A state with the column whose values are added to it.
struct GroupState {
  StateKind kind = StateKind::kRows;
  int32_t words = 1;
  uint64_t* values = nullptr;  // [groups * words]
  Numbers numbers;             // of kSum, kFloatSum, kLeast, kGreatest
  OrderedRows ordered;         // of kLeastRow, kGreatestRow
  ValidityBits validity;       // of the column
  bool is_null = false;        // all rows of the column are
  // Of each output row the column's row, 0xffffffff: none; null: its own number.
  const uint32_t* rows = nullptr;
};

constexpr uint32_t kNoAddedRow = 0xffffffffU;

enum class GroupValue : int32_t {
  kCount,
  kExists,     // nothing is written: there is a value where there is a row
  kSigned,     // a sum, 8 bytes
  kUnsigned,   // a sum, 8 bytes
  kDecimal,    // a sum of 38 digits, 16 bytes
  kFloat,      // a sum, 8 bytes
  kMean,       // of a kSum
  kFloatMean,  // of a kFloatSum
  kOrdinal,    // of kLeast and kGreatest, `width` bytes
  kRowNumber,  // 4 bytes, 0xffffffff: none
};

struct GroupOutput {
  GroupValue value = GroupValue::kCount;
  const uint64_t* state = nullptr;
  int32_t words = 1;               // of the state
  const uint64_t* seen = nullptr;  // values that are not NULL; null: NULL is no answer
  int32_t width = 8;
  NumberForm form = NumberForm::kSigned;  // of kOrdinal
  int32_t scale = 0;                      // of kMean
  uint8_t* target = nullptr;
};

// As if all that was added to the first group had been added so often. Of counts and sums: of
// fewer than 2^32 rows, fewer times.
GPUJOIN_STATE void multiply_state(const GroupState& state, uint64_t times) {
  if (state.kind == StateKind::kFloatSum) {
    *state.values = bits_of_double(double_of_bits(*state.values) * static_cast<double>(times));
    return;
  }
  // In two's complement the lower words of a product do not ask for signs.
  uint64_t carry = 0;
  for (int i = 0; i < state.words; ++i) {
    uint64_t const low = (state.values[i] & 0xffffffffU) * times + carry;
    uint64_t const high = (state.values[i] >> 32) * times + (low >> 32);
    state.values[i] = high << 32 | (low & 0xffffffffU);
    carry = high >> 32;
  }
}

enum class Finished : int32_t { kValue, kNull, kTooLarge };

// Whether |value| < 10^38.
GPUJOIN_STATE bool has_38_digits(const uint64_t* sum, int words) {
  bool const is_negative = static_cast<int64_t>(sum[words - 1]) < 0;
  uint64_t parts[2] = {};
  uint64_t carry = is_negative ? 1 : 0;
  for (int i = 0; i < words; ++i) {
    uint64_t const word = (is_negative ? ~sum[i] : sum[i]) + carry;
    carry = carry != 0 && word == 0 ? 1 : 0;
    if (i < 2) parts[i] = word;
    if (i >= 2 && word != 0) return false;
  }
  constexpr uint64_t kHigh = 0x4b3b4ca85a86c47a;
  constexpr uint64_t kLow = 0x098a224000000000;
  return parts[1] < kHigh || (parts[1] == kHigh && parts[0] < kLow);
}

// The value of a group, written as number `at` of the target; zeros where it is NULL.
GPUJOIN_STATE Finished finish_group(const GroupOutput& output, uint64_t group, uint64_t at) {
  uint64_t const* const state = output.state + group * static_cast<uint64_t>(output.words);
  if (output.value == GroupValue::kExists) {
    return *state != 0 ? Finished::kValue : Finished::kNull;
  }
  auto const width = static_cast<uint64_t>(output.width);
  uint8_t* const target = output.target + at * width;
  uint64_t value[2] = {};
  if (output.seen != nullptr && output.seen[group] == 0) {
    memcpy(target, value, width);
    return Finished::kNull;
  }
  Finished finished = Finished::kValue;
  value[0] = *state;
  switch (output.value) {
    case GroupValue::kCount:
      if (static_cast<int64_t>(state[0]) < 0) finished = Finished::kTooLarge;
      break;
    case GroupValue::kSigned:
      if (state[1] != static_cast<uint64_t>(static_cast<int64_t>(state[0]) >> 63)) {
        finished = Finished::kTooLarge;
      }
      break;
    case GroupValue::kUnsigned:
      if (state[1] != 0) finished = Finished::kTooLarge;
      break;
    case GroupValue::kDecimal:
      value[1] = state[1];
      if (!has_38_digits(state, output.words)) finished = Finished::kTooLarge;
      break;
    case GroupValue::kMean:
      value[0] =
          bits_of_double(exact_quotient(state, output.words, output.seen[group], output.scale));
      break;
    case GroupValue::kFloatMean:
      value[0] = bits_of_double(double_of_bits(*state) / static_cast<double>(output.seen[group]));
      break;
    case GroupValue::kOrdinal:
      value[0] = word_of_ordinal(*state, output.width, output.form);
      break;
    default:
      break;
  }
  memcpy(target, value, width);
  return finished;
}

}  // namespace gpujoin::kernels

#undef GPUJOIN_STATE
