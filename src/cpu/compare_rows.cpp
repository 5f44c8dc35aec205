#include "src/cpu/compare_rows.hpp"

#include <algorithm>

#include "src/base/prefetch.hpp"

namespace gpujoin::cpu {

namespace {

using kernels::Comparator;
using kernels::ConditionColumn;
using kernels::SimpleComparison;
using kernels::ValueForm;

template <typename Value>
struct Column {
  Column(const ConditionColumn& column, const PairBatch& batch)
      : values(static_cast<const Value*>(column.data)), rows(batch.rows(column.of_left)) {}
  void ask_for(uint32_t pair) const { base::ask_for(values + rows[pair]); }
  Value operator[](uint32_t pair) const { return values[rows[pair]]; }
  const Value* values;
  const uint32_t* rows;
};

template <Comparator kComparator, typename Value>
void compare_with(const Column<Value>& first, const Column<Value>& second, uint32_t count,
                  uint8_t* answers) {
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t const ahead = std::min(i + base::kRowsAhead, count - 1);
    first.ask_for(ahead);
    second.ask_for(ahead);
    answers[i] = kernels::compare_simply<kComparator>(first[i], second[i]) ? 1 : 0;
  }
}

template <Comparator kComparator, typename Value>
void compare_with(const Column<Value>& first, Value constant, uint32_t count, uint8_t* answers) {
  for (uint32_t i = 0; i < count; ++i) {
    first.ask_for(std::min(i + base::kRowsAhead, count - 1));
    answers[i] = kernels::compare_simply<kComparator>(first[i], constant) ? 1 : 0;
  }
}

template <typename Value, typename Second>
void compare(Comparator comparator, const Column<Value>& first, const Second& second,
             uint32_t count, uint8_t* answers) {
  switch (comparator) {
    case Comparator::kEqual:
      return compare_with<Comparator::kEqual>(first, second, count, answers);
    case Comparator::kNotEqual:
      return compare_with<Comparator::kNotEqual>(first, second, count, answers);
    case Comparator::kLess:
      return compare_with<Comparator::kLess>(first, second, count, answers);
    case Comparator::kLessEqual:
      return compare_with<Comparator::kLessEqual>(first, second, count, answers);
    case Comparator::kGreater:
      return compare_with<Comparator::kGreater>(first, second, count, answers);
    default:
      return compare_with<Comparator::kGreaterEqual>(first, second, count, answers);
  }
}

// Calls what(a value of the form's type).
template <typename What>
void with_form(ValueForm form, const What& what) {
  switch (form) {
    case ValueForm::kInt8:
      return what(int8_t{});
    case ValueForm::kInt16:
      return what(int16_t{});
    case ValueForm::kInt32:
      return what(int32_t{});
    case ValueForm::kInt64:
      return what(int64_t{});
    case ValueForm::kUint8:
      return what(uint8_t{});
    case ValueForm::kUint16:
      return what(uint16_t{});
    case ValueForm::kUint32:
      return what(uint32_t{});
    case ValueForm::kUint64:
      return what(uint64_t{});
    case ValueForm::kFloat32:
      return what(float{});
    default:
      return what(double{});
  }
}

void put_nulls(const ConditionColumn& column, const PairBatch& batch, uint8_t* answers) {
  if (column.validity.bits == nullptr) return;
  const uint32_t* const rows = batch.rows(column.of_left);
  for (uint32_t i = 0; i < batch.count; ++i) {
    answers[i] = kernels::is_valid(column.validity, rows[i]) ? answers[i] : kAnswerNull;
  }
}

void compare(const SimpleComparison& comparison, const conditions::Sources& sources,
             const PairBatch& batch, uint8_t* answers) {
  ConditionColumn const& first = sources.columns[comparison.first];
  ConditionColumn const& second = sources.columns[comparison.second];
  with_form(comparison.form, [&](auto zero) {
    using Value = decltype(zero);
    Column<Value> const of_first(first, batch);
    if (comparison.has_constant) {
      auto const constant = kernels::constant_of<Value>(comparison);
      compare(comparison.comparator, of_first, constant, batch.count, answers);
    } else {
      compare(comparison.comparator, of_first, Column<Value>(second, batch), batch.count, answers);
    }
  });
  put_nulls(first, batch, answers);
  if (!comparison.has_constant) put_nulls(second, batch, answers);
}

}  // namespace

void compare_rows(std::span<const SimpleComparison> conjunction, const conditions::Sources& sources,
                  const PairBatch& batch, uint8_t* answers) {
  compare(conjunction.front(), sources, batch, answers);
  for (SimpleComparison const& comparison : conjunction.subspan(1)) {
    uint8_t others[kVectorPairs];
    compare(comparison, sources, batch, others);
    // False where one is; else NULL, the greatest, where one is.
    for (uint32_t k = 0; k < batch.count; ++k) {
      uint8_t const both = std::max(answers[k], others[k]);
      answers[k] = std::min(answers[k], others[k]) == kAnswerFalse ? kAnswerFalse : both;
    }
  }
}

}  // namespace gpujoin::cpu
