// sequence.cpp: gpujoin.h section 9.
#include "src/execute/sequence.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings/c/arguments.hpp"
#include "bindings/c/guard.hpp"
#include "bindings/c/handles.hpp"
#include "bindings/c/join_spec.hpp"

namespace gpujoin::shim {

namespace {

columns::JoinKind checked_kind(const gpujoin_sequence_step& given, const std::string& in_spec) {
  switch (given.kind) {
    case 0:
    case GPUJOIN_JOIN_INNER:
      return columns::JoinKind::kInner;
    case GPUJOIN_JOIN_LEFT:
      return columns::JoinKind::kLeft;
    case GPUJOIN_JOIN_LEFT_SEMI:
      break;
    default:
      base::fail(GPUJOIN_ERROR_UNSUPPORTED,
                 "%s.kind: %d; joins of a sequence are INNER, LEFT or LEFT_SEMI", in_spec.c_str(),
                 given.kind);
  }
  if (given.dimension_column_count != 0) {
    base::fail(GPUJOIN_ERROR_INVALID_ARGUMENT,
               "%s.dimension_column_count is %d and a left semi join puts out no dimension row",
               in_spec.c_str(), given.dimension_column_count);
  }
  return columns::JoinKind::kLeftSemi;
}

execute::SequenceStep checked_step(const gpujoin_sequence_step& given, const std::string& name,
                                   const base::Context& context, const columns::Relation& fact) {
  std::string const in_spec = "spec." + name;
  check_reserved(given.reserved, (in_spec + ".reserved").c_str());
  execute::SequenceStep step;
  step.kind = checked_kind(given, in_spec);
  check_range(given.key_flags, 0, GPUJOIN_KEY_NULL_EQUAL | GPUJOIN_KEY_IEEE_FLOAT,
              (in_spec + ".key_flags").c_str());
  step.key_flags = given.key_flags;
  step.dimension = checked_relation(context, given.dimension, (in_spec + ".dimension").c_str());
  std::string const key_count = in_spec + ".key_count";
  if (given.key_count > 1) {
    base::fail(GPUJOIN_ERROR_UNSUPPORTED, "%s: %d; this version joins sequences on one key column",
               key_count.c_str(), given.key_count);
  }
  check_range(given.key_count, 1, 1, key_count.c_str());
  std::string const fact_keys = in_spec + ".fact_keys";
  std::string const dimension_keys = in_spec + ".dimension_keys";
  auto const keys = checked_keys(fact, given.fact_keys, given.key_count, fact_keys.c_str());
  auto const others =
      checked_keys(*step.dimension, given.dimension_keys, given.key_count, dimension_keys.c_str());
  check_key_types(fact, keys, fact_keys.c_str(), *step.dimension, others, dimension_keys.c_str());
  step.fact_key = keys.front();
  step.dimension_key = others.front();
  step.columns = checked_columns(*step.dimension, given.dimension_columns,
                                 given.dimension_column_count, in_spec + ".dimension");
  return step;
}

execute::SequenceSpec checked_sequence(const gpujoin_sequence_spec* given,
                                       const base::Context& context,
                                       const columns::Relation& fact) {
  gpujoin_sequence_spec const known = read_struct(given, "spec");
  check_range(known.step_count, 1, INT32_MAX, "spec.step_count");
  check_range(known.output, 0, GPUJOIN_OUTPUT_COLUMNS | GPUJOIN_OUTPUT_PAIRS, "spec.output");
  check_range(known.materialize, GPUJOIN_MATERIALIZE_AUTOMATIC, GPUJOIN_MATERIALIZE_AT_THE_END,
              "spec.materialize");
  check_reserved(known.reserved, "spec.reserved");

  execute::SequenceSpec spec;
  spec.materialize = static_cast<execute::Materialize>(known.materialize);
  spec.fact_columns =
      checked_columns(fact, known.fact_columns, known.fact_column_count, "spec.fact");
  std::vector<gpujoin_sequence_step> const steps =
      read_array(known.steps, known.step_count, "spec.steps", "spec.step_count");
  bool named = !spec.fact_columns.empty();
  for (size_t i = 0; i < steps.size(); ++i) {
    spec.steps.push_back(checked_step(steps[i], "steps[" + std::to_string(i) + "]", context, fact));
    named = named || !spec.steps.back().columns.empty();
  }
  spec.row_numbers = known.output == 0 ? !named : (known.output & GPUJOIN_OUTPUT_PAIRS) != 0;
  if (named && known.output == GPUJOIN_OUTPUT_PAIRS) {
    base::fail(GPUJOIN_ERROR_INVALID_ARGUMENT,
               "spec.output lacks GPUJOIN_OUTPUT_COLUMNS and output columns are named");
  }
  return spec;
}

}  // namespace

}  // namespace gpujoin::shim

using namespace gpujoin::shim;

gpujoin_status gpujoin_join_sequence(gpujoin_context* context, const gpujoin_relation* fact,
                                     const gpujoin_sequence_spec* spec,
                                     const gpujoin_plan_options* options, gpujoin_result** out,
                                     gpujoin_error* error) {
  if (out != nullptr) *out = nullptr;
  auto const held = object_of(context);
  return guard(held, error, [&] {
    check_found(held.get(), context, "context");
    check_given(out, "out");
    auto const relation = checked_relation(*held, fact, "fact");
    gpujoin::execute::SequenceSpec const checked = checked_sequence(spec, *held, *relation);
    gpujoin_plan_options const chosen = checked_options(options, *held);
    held->check_usable();
    auto const deadline = gpujoin::base::deadline_in(chosen.timeout_milliseconds);
    gpujoin::base::LeasedQueue const queue(*held, {nullptr, 0, deadline});
    queue->check_cancelled();
    NewHandle<gpujoin_result> handle;
    *out = handle.give(gpujoin::execute::join_sequence(*queue, relation, checked, chosen));
  });
}
