// plan.cpp: gpujoin.h section 8, and gpujoin_join of section 6.
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "bindings/c/arguments.hpp"
#include "bindings/c/guard.hpp"
#include "bindings/c/handles.hpp"
#include "bindings/c/join_spec.hpp"
#include "src/execute/count_output.hpp"

namespace gpujoin::shim {

namespace {

execute::PlannedJoin make_plan(base::Queue& queue, const gpujoin_relation* left,
                               const gpujoin_relation* right, const gpujoin_join_spec* spec,
                               const gpujoin_plan_options* options, bool is_explained) {
  base::Context const& context = queue.context;
  auto const left_relation = checked_relation(context, left, "left");
  auto const right_relation = checked_relation(context, right, "right");
  columns::JoinSpec checked = checked_spec(spec, *left_relation, *right_relation);
  gpujoin_plan_options const chosen = checked_options(options, context);
  // A request to cancel that came before is this planning's.
  queue.check_cancelled();
  return execute::make_plan(queue, left_relation, right_relation, std::move(checked), chosen,
                            is_explained);
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
    LeasedQueue const queue(*held);
    NewHandle<gpujoin_plan> handle;
    *out = handle.give(std::make_shared<const gpujoin::execute::PlannedJoin>(
        make_plan(*queue, left, right, spec, options, true)));
  });
}

gpujoin_status gpujoin_plan_explain(const gpujoin_plan* plan, char* buffer, size_t* length,
                                    gpujoin_error* error) {
  return guard(nullptr, error, [&] {
    auto const join = checked_object(plan, "plan");
    check_given(length, "length");
    if (*length > 0) check_given(buffer, "buffer");
    std::string text = gpujoin::execute::explain(*join);
    if (join->picked) text += "selections\n" + join->picked->note;
    size_t const needed = text.size() + 1;
    size_t const room = std::exchange(*length, needed);
    if (room < needed) {
      gpujoin::base::fail(GPUJOIN_ERROR_BUFFER_TOO_SMALL,
                          "buffer has %zu bytes and the text needs %zu", room, needed);
    }
    std::memcpy(buffer, text.c_str(), needed);
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
    LeasedQueue const queue(*join->context);
    NewHandle<gpujoin_result> handle;
    *out = handle.give(gpujoin::execute::execute(*queue, *join));
  });
}

gpujoin_status gpujoin_plan_count(gpujoin_plan* plan, int64_t* rows, uint64_t* bytes,
                                  gpujoin_error* error) {
  auto const join = object_of(plan);
  return guard(context_of(join), error, [&] {
    check_found(join.get(), plan, "plan");
    join->context->check_usable();
    LeasedQueue const queue(*join->context);
    auto const counted = gpujoin::execute::count_output(*queue, *join, bytes != nullptr);
    if (rows != nullptr) *rows = counted.rows;
    if (bytes != nullptr) *bytes = counted.bytes;
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
    LeasedQueue const queue(*held);
    NewHandle<gpujoin_result> handle;
    *out = handle.give(
        gpujoin::execute::execute(*queue, make_plan(*queue, left, right, spec, options, false)));
  });
}
