// emit.cpp: instructions for a condition's expressions. Of an expression's arguments the larger are
// evaluated first: while one of them waits in a register, what is left is at most half as large, so
// that 2 log2(n) registers are enough, and no condition is too deep.
#include <algorithm>
#include <utility>
#include <vector>

#include "src/base/status.hpp"
#include "src/conditions/expressions.hpp"

namespace gpujoin::conditions {

namespace {

using kernels::Instruction;

constexpr int32_t kNone = -1;

class Emitter {
 public:
  Emitter(const Expressions& expressions, BoundCondition* bound)
      : expressions_(expressions),
        bound_(bound),
        uses_(static_cast<size_t>(expressions.count())),
        registers_(static_cast<size_t>(expressions.count()), kNone) {}

  void emit(int32_t answer) {
    count_uses(answer);
    std::vector<int32_t> waiting = {answer};
    while (!waiting.empty()) {
      int32_t const number = waiting.back();
      if (register_of(number) != kNone) {
        waiting.pop_back();
        continue;
      }
      size_t const before = waiting.size();
      auto const& arguments = expressions_[number].arguments;
      for (int32_t const argument : arguments) {
        if (argument != kNone && register_of(argument) == kNone) waiting.push_back(argument);
      }
      // The last one comes first.
      std::sort(waiting.begin() + static_cast<std::ptrdiff_t>(before), waiting.end(),
                [&](int32_t one, int32_t other) {
                  return expressions_[one].size < expressions_[other].size;
                });
      if (waiting.size() != before) continue;
      waiting.pop_back();
      put(number);
    }
    bound_->answer = static_cast<uint32_t>(register_of(answer));
  }

 private:
  int32_t& register_of(int32_t number) { return registers_[static_cast<size_t>(number)]; }

  // Arguments come before what is made of them.
  void count_uses(int32_t answer) {
    uses_[static_cast<size_t>(answer)] = 1;
    for (int32_t number = answer; number >= 0; --number) {
      if (uses_[static_cast<size_t>(number)] == 0) continue;
      for (int32_t const argument : expressions_[number].arguments) {
        if (argument != kNone) ++uses_[static_cast<size_t>(argument)];
      }
    }
  }

  uint8_t take_register() {
    if (free_.empty()) {
      if (bound_->registers == kernels::kMostRegisters) {
        base::fail(GPUJOIN_ERROR_INTERNAL, "a condition needs more than %u registers",
                   kernels::kMostRegisters);
      }
      free_.push_back(static_cast<uint8_t>(bound_->registers++));
    }
    uint8_t const taken = free_.back();
    free_.pop_back();
    return taken;
  }

  void put(int32_t number) {
    Expression const& expression = expressions_[number];
    Instruction instruction = expression.instruction;
    // Before the arguments' are free again: loops over batches must not overwrite what they read.
    instruction.target = take_register();
    uint8_t* const places[] = {&instruction.first, &instruction.second, &instruction.third};
    for (size_t i = 0; i < expression.arguments.size(); ++i) {
      int32_t const argument = expression.arguments[i];
      if (argument == kNone) continue;
      *places[i] = static_cast<uint8_t>(register_of(argument));
      if (--uses_[static_cast<size_t>(argument)] == 0) free_.push_back(*places[i]);
    }
    auto const is_wide = [](kernels::ValueClass of) { return kernels::bytes_of(of) > 16; };
    bound_->is_wide = bound_->is_wide || is_wide(instruction.of) || is_wide(instruction.to);
    bound_->instructions.push_back(instruction);
    register_of(number) = instruction.target;
  }

  const Expressions& expressions_;
  BoundCondition* bound_;
  std::vector<uint32_t> uses_;
  std::vector<int32_t> registers_;
  std::vector<uint8_t> free_;
};

}  // namespace

void emit(const Expressions& expressions, int32_t answer, BoundCondition* bound) {
  Emitter(expressions, bound).emit(answer);
}

}  // namespace gpujoin::conditions
