// condition_loads.cpp: values of columns in the rows of a batch of pairs.
#include <algorithm>

#include "kernels/conditions/interpret.hpp"
#include "src/cpu/condition_vectors.hpp"
#include "src/cpu/gather_values.hpp"

namespace gpujoin::cpu {

namespace {

using kernels::ConditionColumn;
using kernels::Int128;
using kernels::ValueForm;
using kernels::ValueState;

template <typename Value>
void gather_one_by_one(const ConditionColumn& column, const uint32_t* rows, uint32_t count,
                       Value* values) {
  for (uint32_t i = 0; i < count; ++i) values[i] = kernels::value_in<Value>(column, rows[i]);
}

// Of a column without hops, in rows that are there. What lies beneath a NULL is read with the
// others, but for values of bytes, which may lie nowhere.
template <typename Value>
void gather_plain(const ConditionColumn& column, const uint32_t* rows, uint32_t count,
                  Value* values) {
  if constexpr (std::is_same_v<Value, int64_t>) {
    switch (column.form) {
      case ValueForm::kInt8:
        return gather_values<int8_t>(column.data, rows, count, values);
      case ValueForm::kInt16:
        return gather_values<int16_t>(column.data, rows, count, values);
      case ValueForm::kInt32:
        return gather_values<int32_t>(column.data, rows, count, values);
      case ValueForm::kUint8:
        return gather_values<uint8_t>(column.data, rows, count, values);
      case ValueForm::kUint16:
        return gather_values<uint16_t>(column.data, rows, count, values);
      case ValueForm::kUint32:
        return gather_values<uint32_t>(column.data, rows, count, values);
      default:
        return gather_values<int64_t>(column.data, rows, count, values);
    }
  } else if constexpr (std::is_same_v<Value, double>) {
    if (column.form == ValueForm::kFloat64) {
      return gather_values<double>(column.data, rows, count, values);
    }
    if (column.form == ValueForm::kFloat32) {
      return gather_values<float>(column.data, rows, count, values);
    }
  } else if constexpr (std::is_same_v<Value, Int128>) {
    if (column.form == ValueForm::kUint64) {
      return gather_values<uint64_t>(column.data, rows, count, values);
    }
  }
  gather_one_by_one(column, rows, count, values);
}

template <typename Value>
void load(const ConditionColumn& column, const conditions::Sources& sources, const PairBatch& batch,
          uint32_t target, ConditionVectors* vectors) {
  const uint32_t* const rows = batch.rows(column.of_left);
  auto* const values = vectors->values<Value>(target);
  ValueState* const states = vectors->states(target);
  constexpr bool kIsBytes = std::is_same_v<Value, kernels::ByteSpan>;
  bool const has_nulls = column.validity.bits != nullptr;
  bool const is_plain =
      column.hop_count == 0 && !batch.misses(column.of_left) && column.form != ValueForm::kNulls;
  if (!is_plain || (kIsBytes && has_nulls)) {
    ValueState any = kernels::kValueState;
    for (uint32_t i = 0; i < batch.count; ++i) {
      states[i] = kernels::load_value(column, sources.hops.data(), rows[i], &values[i]);
      any = static_cast<ValueState>(any | states[i]);
    }
    return vectors->set_are_values(target, any == kernels::kValueState);
  }
  gather_plain(column, rows, batch.count, values);
  if (!has_nulls) return vectors->set_are_values(target, true);
  ValueState any = kernels::kValueState;
  for (uint32_t i = 0; i < batch.count; ++i) {
    bool const is_there = kernels::is_valid(column.validity, rows[i]);
    states[i] = is_there ? kernels::kValueState : kernels::kNullState;
    any = static_cast<ValueState>(any | states[i]);
  }
  vectors->set_are_values(target, any == kernels::kValueState);
}

}  // namespace

void load_vector(const kernels::Instruction& instruction, const conditions::Sources& sources,
                 const PairBatch& batch, ConditionVectors* vectors) {
  ConditionColumn const& column = sources.columns[instruction.at];
  kernels::with_class<kernels::kMostValueBytes>(instruction.to, [&](auto zero) {
    load<decltype(zero)>(column, sources, batch, instruction.target, vectors);
  });
}

}  // namespace gpujoin::cpu
