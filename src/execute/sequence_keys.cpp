#include "src/execute/sequence_keys.hpp"

#include "src/base/status.hpp"
#include "src/execute/derive_keys.hpp"

namespace gpujoin::execute {

using columns::Relation;

namespace {

// Of the whole specification at once, so that the answer does not depend on the data.
void check_readable_by_cpu(const Relation& fact, const SequenceSpec& spec) {
  auto const check = [](const Relation& relation, int32_t column, const std::string& argument) {
    if (relation.columns[static_cast<size_t>(column)].memory != base::Memory::kDevice) return;
    base::fail(GPUJOIN_ERROR_UNSUPPORTED,
               "%s: column %d lies in device memory, which a CPU plan cannot read",
               argument.c_str(), column);
  };
  for (size_t i = 0; i < spec.steps.size(); ++i) {
    SequenceStep const& step = spec.steps[i];
    std::string const argument = "spec." + name_of_step(i);
    check(fact, step.fact_key, argument + ".fact_keys");
    check(*step.dimension, step.dimension_key, argument + ".dimension_keys");
    for (int32_t const column : step.columns) {
      check(*step.dimension, column, argument + ".dimension_columns");
    }
  }
  for (int32_t const column : spec.fact_columns) check(fact, column, "spec.fact_columns");
}

}  // namespace

std::string name_of_step(size_t step) { return "steps[" + std::to_string(step) + "]"; }

SequenceSpec with_comparable_keys(base::Queue& queue, plan::Device device,
                                  std::shared_ptr<const Relation>* fact, const SequenceSpec& spec) {
  if (device == plan::Device::kCpu) check_readable_by_cpu(**fact, spec);
  SequenceSpec comparable = spec;
  for (SequenceStep& step : comparable.steps) {
    columns::JoinSpec keys;
    keys.left_keys = {step.fact_key};
    keys.right_keys = {step.dimension_key};
    keys.key_flags = {step.key_flags};
    make_comparable(queue, device, fact, &step.dimension, &keys, 1);
    step.fact_key = keys.left_keys.front();
    step.dimension_key = keys.right_keys.front();
  }
  return comparable;
}

}  // namespace gpujoin::execute
