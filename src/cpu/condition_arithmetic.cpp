// condition_arithmetic.cpp: conversions and arithmetic of a condition, for a batch. Whether any
// value is in trouble is asked behind the loop; only then does another one ask which.
#include <type_traits>

#include "src/cpu/condition_step.hpp"

namespace gpujoin::cpu {

namespace {

using kernels::Instruction;
using kernels::Int128;
using kernels::Operation;
using kernels::ValueClass;
using kernels::Wide;

class Calculation : ConditionStep {
 public:
  using ConditionStep::ConditionStep;

  void run() {
    if (instruction_.operation <= Operation::kToFloat) {
      conversion();
    } else {
      arithmetic();
    }
  }

 private:
  template <typename From, typename To, typename Convert>
  void convert(const Convert& convert_one) {
    const From* const from = first<From>();
    To* const to = target<To>();
    for (uint32_t i = 0; i < count_; ++i) to[i] = convert_one(from[i]);
  }

  void conversion() {
    take_states(false);
    if (instruction_.operation == Operation::kScale) return scaling();
    bool const to_float = instruction_.operation == Operation::kToFloat;
    int32_t const power = instruction_.power;
    if (instruction_.of == ValueClass::kBool) {
      convert<uint8_t, int64_t>([](uint8_t value) { return int64_t{value}; });
    } else if (instruction_.of == ValueClass::kInt256) {
      convert<Wide, double>([&](const Wide& value) { return kernels::to_float(value, power); });
    } else if (to_float && instruction_.of == ValueClass::kInt64 && power == 0) {
      convert<int64_t, double>([](int64_t value) { return static_cast<double>(value); });
    } else if (to_float && instruction_.of == ValueClass::kInt64) {
      convert<int64_t, double>([&](int64_t value) { return kernels::to_float(value, power); });
    } else if (to_float) {
      convert<Int128, double>([&](Int128 value) { return kernels::to_float(value, power); });
    } else if (instruction_.to == ValueClass::kInt128) {
      convert<int64_t, Int128>([](int64_t value) { return Int128{value}; });
    } else if (instruction_.of == ValueClass::kInt64) {
      convert<int64_t, Wide>([](int64_t value) { return kernels::wide_of(Int128{value}); });
    } else {
      convert<Int128, Wide>([](Int128 value) { return kernels::wide_of(value); });
    }
  }

  void scaling() {
    if (instruction_.of == ValueClass::kInt256) {
      auto const factor = kernels::constant_at<uint64_t>(bound_.constant_bytes(), instruction_.at);
      return convert<Wide, Wide>(
          [&](const Wide& value) { return kernels::saturated_product(value, factor); });
    }
    if (instruction_.of == ValueClass::kInt64) return scaling_of<int64_t>();
    scaling_of<Int128>();
  }
  template <typename Value>
  void scaling_of() {
    auto const factor = kernels::constant_at<Value>(bound_.constant_bytes(), instruction_.at);
    auto const bounds = kernels::bounds_of<Value>(instruction_.limits);
    calculate_each<Value>([&](uint32_t i, Value* result) {
      return kernels::scale(first<Value>()[i], factor, instruction_.limits, bounds, result);
    });
  }

  // calculate(i, result) answers its trouble.
  template <typename Value, typename Calculate>
  void calculate_each(const Calculate& calculate) {
    Value* const made = target<Value>();
    uint32_t any = 0;
    for (uint32_t i = 0; i < count_; ++i) any |= static_cast<uint32_t>(calculate(i, &made[i]));
    if (any == 0) return;
    mark_trouble([&](uint32_t i) {
      Value unused;
      return calculate(i, &unused);
    });
  }

  void arithmetic() {
    bool const is_of_one = instruction_.operation >= Operation::kNegate;
    take_states(!is_of_one);
    if (instruction_.of == ValueClass::kFloat64) return of_floats(is_of_one);
    if (instruction_.of == ValueClass::kInt64) return of_integers<int64_t>();
    of_integers<Int128>();
  }

  void of_floats(bool is_of_one) {
    Operation const operation = instruction_.operation;
    if (is_of_one) {
      return convert<double, double>(
          [&](double value) { return kernels::calculate(operation, value); });
    }
    const double* const one = first<double>();
    const double* const other = second<double>();
    with_operation([&](auto known) {
      calculate_each<double>([&](uint32_t i, double* result) {
        return kernels::calculate(decltype(known)::value, one[i], other[i], result);
      });
    });
  }

  template <typename Value>
  void of_integers() {
    auto const bounds = kernels::bounds_of<Value>(instruction_.limits);
    Operation const operation = instruction_.operation;
    const Value* const one = first<Value>();
    if (operation >= Operation::kNegate) {
      return calculate_each<Value>([&](uint32_t i, Value* result) {
        return kernels::calculate(operation, one[i], bounds, result);
      });
    }
    const Value* const other = second<Value>();
    with_operation([&](auto known) {
      calculate_each<Value>([&](uint32_t i, Value* result) {
        return kernels::calculate(decltype(known)::value, one[i], other[i], bounds, result);
      });
    });
  }

  // Loops of an operation of two have no switch inside.
  template <typename What>
  void with_operation(const What& what) {
    switch (instruction_.operation) {
      case Operation::kAdd:
        return what(std::integral_constant<Operation, Operation::kAdd>());
      case Operation::kSubtract:
        return what(std::integral_constant<Operation, Operation::kSubtract>());
      case Operation::kMultiply:
        return what(std::integral_constant<Operation, Operation::kMultiply>());
      case Operation::kDivide:
        return what(std::integral_constant<Operation, Operation::kDivide>());
      case Operation::kQuotient:
        return what(std::integral_constant<Operation, Operation::kQuotient>());
      default:
        return what(std::integral_constant<Operation, Operation::kModulo>());
    }
  }
};

}  // namespace

void calculate_vector(const Instruction& instruction, const conditions::BoundCondition& bound,
                      const PairBatch& batch, ConditionVectors* vectors) {
  Calculation(instruction, bound, batch.count, vectors).run();
}

}  // namespace gpujoin::cpu
