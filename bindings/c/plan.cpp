// plan.cpp: gpujoin.h section 8, and gpujoin_join of section 6.
#include <memory>
#include <string>
#include <utility>

#include "bindings/c/arguments.hpp"
#include "bindings/c/guard.hpp"
#include "bindings/c/handles.hpp"
#include "bindings/c/join_spec.hpp"
#include "src/execute/count_output.hpp"
#include "src/pieces/join_in_pieces.hpp"

namespace gpujoin::shim {

namespace {

execute::GivenJoin checked_join(const base::Context& context, const gpujoin_relation* left,
                                const gpujoin_relation* right, const gpujoin_join_spec* spec,
                                const gpujoin_plan_options* options) {
  execute::GivenJoin join;
  join.left = checked_relation(context, left, "left");
  join.right = checked_relation(context, right, "right");
  join.spec = checked_spec(spec, *join.left, *join.right);
  join.options = checked_options(options, context);
  return join;
}

base::CallEnd end_of(const execute::GivenJoin& join) {
  return {nullptr, 0, base::deadline_in(join.options.timeout_milliseconds)};
}

// Of an execution that begins now.
base::CallEnd end_of(const execute::PlannedJoin& join) {
  return {join.interrupt, join.interrupt->cancels, base::deadline_in(join.timeout_milliseconds)};
}

}  // namespace

}  // namespace gpujoin::shim

using namespace gpujoin::shim;
using gpujoin::base::LeasedQueue;

gpujoin_status gpujoin_plan_create(gpujoin_context* context, const gpujoin_relation* left,
                                   const gpujoin_relation* right, const gpujoin_join_spec* spec,
                                   const gpujoin_plan_options* options, gpujoin_plan** out,
                                   gpujoin_error* error) {
  if (out != nullptr) *out = nullptr;
  auto const held = object_of(context);
  return guard(held, error, [&] {
    check_found(held.get(), context, "context");
    check_given(out, "out");
    held->check_usable();
    auto join = checked_join(*held, left, right, spec, options);
    LeasedQueue const queue(*held, end_of(join));
    NewHandle<gpujoin_plan> handle;
    // A request to cancel that came before is this planning's.
    queue->check_cancelled();
    auto plan = std::make_shared<gpujoin::execute::PlannedJoin>(gpujoin::execute::make_plan(
        *queue, join.left, join.right, std::move(join.spec), join.options));
    plan->interrupt = std::make_shared<gpujoin::base::Interrupt>();
    plan->timeout_milliseconds = join.options.timeout_milliseconds;
    *out = handle.give(std::move(plan));
  });
}

gpujoin_status gpujoin_plan_explain(const gpujoin_plan* plan, char* buffer, size_t* length,
                                    gpujoin_error* error) {
  return guard(nullptr, error, [&] {
    auto const join = checked_object(plan, "plan");
    check_given(length, "length");
    std::string text = gpujoin::execute::explain(*join);
    if (join->picked) text += "selections\n" + join->picked->note;
    give_text(text, buffer, length);
  });
}

gpujoin_status gpujoin_plan_execute(gpujoin_plan* plan, gpujoin_result** out,
                                    gpujoin_error* error) {
  if (out != nullptr) *out = nullptr;
  auto const join = object_of(plan);
  return guard(context_of(join), error, [&] {
    check_found(join.get(), plan, "plan");
    check_given(out, "out");
    join->context->check_usable();
    LeasedQueue const queue(*join->context, end_of(*join));
    NewHandle<gpujoin_result> handle;
    *out = handle.give(gpujoin::pieces::join(*queue, *join));
  });
}

gpujoin_status gpujoin_plan_count(gpujoin_plan* plan, int64_t* rows, uint64_t* bytes,
                                  gpujoin_error* error) {
  auto const join = object_of(plan);
  return guard(context_of(join), error, [&] {
    check_found(join.get(), plan, "plan");
    join->context->check_usable();
    LeasedQueue const queue(*join->context, end_of(*join));
    auto const counted = gpujoin::execute::count_output(*queue, *join, bytes != nullptr);
    if (rows != nullptr) *rows = counted.rows;
    if (bytes != nullptr) *bytes = counted.bytes;
  });
}

gpujoin_status gpujoin_plan_cancel(gpujoin_plan* plan, gpujoin_error* error) {
  return guard(nullptr, error, [&] {
    auto const join = checked_object(plan, "plan");
    check_same_process(*join->context);
    ++join->interrupt->cancels;
  });
}

void gpujoin_plan_destroy(gpujoin_plan* plan) { destroy_handle(plan); }

gpujoin_status gpujoin_join(gpujoin_context* context, const gpujoin_relation* left,
                            const gpujoin_relation* right, const gpujoin_join_spec* spec,
                            const gpujoin_plan_options* options, gpujoin_result** out,
                            gpujoin_error* error) {
  if (out != nullptr) *out = nullptr;
  auto const held = object_of(context);
  return guard(held, error, [&] {
    check_found(held.get(), context, "context");
    check_given(out, "out");
    held->check_usable();
    auto const join = checked_join(*held, left, right, spec, options);
    LeasedQueue const queue(*held, end_of(join));
    NewHandle<gpujoin_result> handle;
    // A request to cancel that came before is this join's.
    queue->check_cancelled();
    *out = handle.give(gpujoin::pieces::join(*queue, join));
  });
}
