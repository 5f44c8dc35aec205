// program.hpp: a condition of two rows as instructions on registers, as host and device both see it
//
// Source   ours; three-valued logic as SQL has it, and a fourth state, "no value"
// In       what src/conditions/bind.cpp made of a caller's condition: typed, conversions explicit
// Out      the last instruction's target holds a kBool
// Why      registers, not a stack: what is evaluated first is what needs most of them, so that any
//          condition of 4096 nodes needs few (kMostRegisters)
#pragma once

#include <cstdint>

#include "kernels/bytes_column.hpp"
#include "kernels/keys/positions.hpp"

#ifdef __CUDACC__
#define GPUJOIN_CONDITION __host__ __device__ inline
#else
#define GPUJOIN_CONDITION inline
#endif

namespace gpujoin::kernels {

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 Uint128;

// What a register holds.
enum class ValueClass : uint8_t {
  kBool,     // a byte, 0 or 1
  kInt64,    // integers up to 64 bits with a sign, dates, times, decimals of 4 and 8 bytes
  kInt128,   // UINT64, decimals of 16 bytes, what may be beyond 64 bits
  kInt256,   // decimals of 32 bytes, which are compared only
  kFloat64,  // floats
  kBytes,    // text and binary: ByteSpan
};
inline constexpr int kMostValueBytes = 32;
GPUJOIN_CONDITION constexpr uint32_t bytes_of(ValueClass of) {
  switch (of) {
    case ValueClass::kBool:
      return 1;
    case ValueClass::kInt64:
    case ValueClass::kFloat64:
      return 8;
    case ValueClass::kInt256:
      return 32;
    default:
      return 16;
  }
}

// Beside each value. From kNoValue on: the node that has none, and why.
using ValueState = uint16_t;
inline constexpr ValueState kValueState = 0;
inline constexpr ValueState kNullState = 1;
inline constexpr ValueState kNoValue = 2;
enum class Trouble : uint32_t { kNone = 0, kOverflow = 1, kDivisionByZero = 2 };
GPUJOIN_CONDITION ValueState no_value(uint32_t node, Trouble trouble) {
  uint32_t const by_zero = trouble == Trouble::kDivisionByZero ? 1 : 0;
  return static_cast<ValueState>(kNoValue + 2 * node + by_zero);
}

enum class Operation : uint8_t {
  kLoad,      // column `at` in the row of its side
  kConstant,  // of class `to`, at byte `at` of the constants; or `state`
  // From class `of` to class `to`.
  kWiden,    // integers, without loss; kBool to kInt64
  kScale,    // times the constant at byte `at`, of class `of`, within `limits`
  kToFloat,  // over 10^power
  // Of class `of`; kBool.
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kDistinct,
  kNotDistinct,
  kIn,  // `count` values in order, at byte `at` of the constants; state: whether there is a NULL
  kStartsWith,
  // Of kBool.
  kAnd,
  kOr,
  kNot,
  kIsTrue,
  kIsFalse,
  // Of any class; kBool.
  kIsNotNull,
  kIsNullValue,
  // Of class `of`, and of the same.
  kSelect,    // first is true: second, else third
  kCoalesce,  // first, where it is not NULL, else second
  // Of kInt64, kInt128 within `limits`, and of kFloat64.
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,    // kFloat64
  kQuotient,  // integers
  kModulo,
  kNegate,
  kAbsolute,
};

// What a result has to lie within, or is no value.
enum class Limits : uint8_t {
  kNone,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kDigits38,   // of a decimal
  kSaturates,  // of kScale: what is beyond the class becomes its least or most, to be compared
};

struct Instruction {
  Operation operation = Operation::kConstant;
  ValueClass of = ValueClass::kBool;
  ValueClass to = ValueClass::kBool;
  Limits limits = Limits::kNone;
  uint8_t target = 0;  // registers; never one of those that are read
  uint8_t first = 0;
  uint8_t second = 0;
  uint8_t third = 0;
  uint16_t node = 0;  // of the caller's condition, for messages
  ValueState state = kValueState;
  int32_t power = 0;
  uint32_t at = 0;
  uint32_t count = 0;
};

// Of a tree of n nodes, evaluated larger parts first, 2 log2(n) and some are needed.
inline constexpr uint32_t kMostRegisters = 40;

// How a column's values lie.
enum class ValueForm : uint8_t {
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kInt128,
  kInt256,
  kFloat16,
  kFloat32,
  kFloat64,
  kBit,
  kBytes,
  kNulls,
};

// From a row to the row of a dictionary's or of runs' values.
struct Hop {
  bool is_runs = false;
  Indices indices;
  Runs runs;
};

// A column that a condition names, where the executor reads it.
struct ConditionColumn {
  const void* data = nullptr;
  BytesColumn bytes;  // of kBytes
  ValidityBits validity;
  int64_t first_bit = 0;  // of kBit
  ValueForm form = ValueForm::kNulls;
  bool of_left = false;
  uint32_t first_hop = 0;
  uint32_t hop_count = 0;
};

struct Program {
  const Instruction* instructions = nullptr;
  uint32_t count = 0;
  uint32_t answer = 0;                 // its register
  const uint8_t* constants = nullptr;  // aligned to 16 bytes
  const ConditionColumn* columns = nullptr;
  const Hop* hops = nullptr;
};

// The row number of a side that has no row: all of its columns are NULL.
inline constexpr uint32_t kMissingRow = 0xffffffffU;

}  // namespace gpujoin::kernels
