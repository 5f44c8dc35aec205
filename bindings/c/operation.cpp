// operation.cpp: gpujoin.h section 10: operations and probes.
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings/c/arguments.hpp"
#include "bindings/c/filter.hpp"
#include "bindings/c/finished_build.hpp"
#include "bindings/c/guard.hpp"
#include "bindings/c/handles.hpp"
#include "bindings/c/join_spec.hpp"

namespace gpujoin::shim {

namespace {

using pieces::Found;

std::vector<pieces::AppliedFilter> checked_filters(const gpujoin_operation_options& options,
                                                   const columns::Relation& probe_like) {
  std::vector<pieces::AppliedFilter> checked;
  auto const given =
      read_array(options.filters, options.filter_count, "options.filters", "options.filter_count");
  for (size_t i = 0; i < given.size(); ++i) {
    std::string const name = "options.filters[" + std::to_string(i) + "]";
    auto filter = checked_object(given[i].filter, (name + ".filter").c_str());
    if (filter->context != probe_like.context) {
      base::fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s.filter: of another context", name.c_str());
    }
    auto columns = checked_filter_columns(*filter, probe_like, given[i].columns,
                                          given[i].column_count, (name + ".columns").c_str());
    checked.push_back({std::move(filter), std::move(columns)});
  }
  return checked;
}

// Null: the residual is not the caller's.
std::shared_ptr<const pieces::PairDecider> checked_decider(const gpujoin_operation_options& options,
                                                           const columns::Relation& left,
                                                           const columns::Relation& right) {
  auto decider = std::make_shared<pieces::PairDecider>();
  decider->left_columns = checked_columns(left, options.decide_left_columns,
                                          options.decide_left_column_count, "options.decide_left");
  decider->right_columns =
      checked_columns(right, options.decide_right_columns, options.decide_right_column_count,
                      "options.decide_right");
  if (options.decide == nullptr) return nullptr;
  decider->decide = [function = options.decide, user = options.decide_user](
                        int64_t rows, ArrowSchema& schema, ArrowArray& candidates,
                        uint8_t* matches) {
    gpujoin_status const status = function(rows, &schema, &candidates, matches, user);
    if (status == GPUJOIN_OK) return;
    bool const is_known = std::strcmp(gpujoin_status_name(status), "GPUJOIN_ERROR_UNKNOWN") != 0;
    base::fail(is_known ? status : GPUJOIN_ERROR_INVALID_ARGUMENT, "options.decide answered %d",
               status);
  };
  return decider;
}

pieces::OperationOptions checked_operation_options(const gpujoin_operation_options& known,
                                                   const columns::Relation& probe_like,
                                                   const pieces::Build& build) {
  check_range(known.has_row_numbers, 0, 1, "options.has_row_numbers");
  pieces::OperationOptions options;
  options.plan = checked_options(known.plan, *build.context);
  bool const on_gpu = build.shape().on_gpu;
  gpujoin_device const asked = options.plan.device;
  if (asked != GPUJOIN_DEVICE_AUTOMATIC && (asked == GPUJOIN_DEVICE_CUDA) != on_gpu) {
    base::fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "options.plan.device: the build was made for %s",
               on_gpu ? "CUDA" : "the CPU");
  }
  options.build_left = options.plan.build_side == GPUJOIN_SIDE_LEFT;
  options.has_row_numbers = known.has_row_numbers != 0;
  options.ready = known.ready;
  options.ready_user = known.ready_user;
  options.filters = checked_filters(known, probe_like);
  check_range(known.own_filter, GPUJOIN_OWN_FILTER_AUTOMATIC, GPUJOIN_OWN_FILTER_ON,
              "options.own_filter");
  options.own_filter = static_cast<pieces::OwnFilter>(known.own_filter);
  return options;
}

std::shared_ptr<pieces::Operation> make_operation(const std::shared_ptr<pieces::Build>& build,
                                                  const gpujoin_relation* probe_like,
                                                  const gpujoin_join_spec* spec,
                                                  const gpujoin_operation_options* given) {
  auto const like = checked_relation(*build->context, probe_like, "probe_like");
  gpujoin_operation_options known = GPUJOIN_OPERATION_OPTIONS_INIT;
  if (given != nullptr) known = read_struct(given, "options");
  pieces::OperationOptions options = checked_operation_options(known, *like, *build);
  auto const of_build = build->without_numbers();
  auto const of_probe = pieces::relation_of(*pieces::make_row_schema(*like, false), build->context);
  auto const& left = options.build_left ? of_build : of_probe;
  auto const& right = options.build_left ? of_probe : of_build;
  columns::JoinSpec checked = checked_spec(spec, *left, *right);
  options.decider = checked_decider(known, *left, *right);
  return std::make_shared<pieces::Operation>(build, *like, std::move(checked), options);
}

gpujoin_progress progress_of(const pieces::Operation& operation) {
  gpujoin_progress out = GPUJOIN_PROGRESS_INIT;
  pieces::Progress const& from = operation.progress;
  out.rows_in = from.rows_in;
  out.rows_out = from.rows_out;
  out.bytes_in = from.bytes_in;
  out.bytes_out = from.bytes_out;
  out.spilled_bytes = operation.spilled_bytes();
  out.pieces_done = from.pieces_done;
  out.pieces = from.pieces;
  out.rows_dropped = operation.filters().dropped();
  return out;
}

gpujoin_state state_of(Found found) {
  if (found == Found::kResult) return GPUJOIN_STATE_READY;
  return found == Found::kFinished ? GPUJOIN_STATE_FINISHED : GPUJOIN_STATE_NOT_READY;
}

// Of an operation or a probe.
template <typename Object>
void next_result(Object& object, gpujoin_state* state, gpujoin_result** out) {
  check_given(state, "state");
  check_given(out, "out");
  object.context->check_usable();
  NewHandle<gpujoin_result> handle;
  std::unique_ptr<columns::JoinResult> result;
  *state = state_of(object.next(&result));
  if (result != nullptr) *out = handle.give(std::move(result));
}

}  // namespace

}  // namespace gpujoin::shim

using namespace gpujoin::shim;

gpujoin_status gpujoin_operation_create(gpujoin_build* build, const gpujoin_relation* probe_like,
                                        const gpujoin_join_spec* spec,
                                        const gpujoin_operation_options* options,
                                        gpujoin_operation** out, gpujoin_error* error) {
  if (out != nullptr) *out = nullptr;
  auto const held = object_of(build);
  return guard(context_of(held), error, [&] {
    check_finished(held.get(), build);
    check_given(out, "out");
    NewHandle<gpujoin_operation> handle;
    *out = handle.give(make_operation(held, probe_like, spec, options));
  });
}

gpujoin_status gpujoin_operation_explain(const gpujoin_operation* operation, char* buffer,
                                         size_t* length, gpujoin_error* error) {
  return guard(nullptr, error, [&] {
    auto const held = checked_object(operation, "operation");
    give_text(held->explain(), buffer, length);
  });
}

gpujoin_status gpujoin_operation_close(gpujoin_operation* operation, gpujoin_error* error) {
  // Without the device: who waits to be told that all is there would wait for ever.
  return guard(nullptr, error, [&] {
    auto const held = checked_object(operation, "operation");
    check_same_process(*held->context);
    held->close();
  });
}

gpujoin_status gpujoin_operation_next(gpujoin_operation* operation, gpujoin_state* state,
                                      gpujoin_result** out, gpujoin_error* error) {
  if (out != nullptr) *out = nullptr;
  auto const held = object_of(operation);
  return guard(context_of(held), error, [&] {
    check_found(held.get(), operation, "operation");
    next_result(*held, state, out);
  });
}

gpujoin_status gpujoin_operation_cancel(gpujoin_operation* operation, gpujoin_error* error) {
  return guard(nullptr, error, [&] {
    auto const held = checked_object(operation, "operation");
    check_same_process(*held->context);
    ++held->interrupt->cancels;
  });
}

gpujoin_status gpujoin_operation_get_progress(gpujoin_operation* operation,
                                              gpujoin_progress* progress, gpujoin_error* error) {
  return guard(nullptr, error, [&] {
    auto const held = checked_object(operation, "operation");
    read_struct(progress, "progress");
    check_same_process(*held->context);
    write_struct(progress_of(*held), progress);
  });
}

void gpujoin_operation_destroy(gpujoin_operation* operation) { destroy_handle(operation); }

gpujoin_status gpujoin_probe_create(gpujoin_operation* operation, gpujoin_probe** out,
                                    gpujoin_error* error) {
  if (out != nullptr) *out = nullptr;
  auto const held = object_of(operation);
  return guard(context_of(held), error, [&] {
    check_found(held.get(), operation, "operation");
    check_given(out, "out");
    held->context->check_usable();
    NewHandle<gpujoin_probe> handle;
    *out = handle.give(std::make_shared<gpujoin::pieces::Probe>(held));
  });
}

gpujoin_status gpujoin_probe_append(gpujoin_probe* probe, const gpujoin_relation* batch,
                                    int64_t first_row, gpujoin_error* error) {
  auto const held = object_of(probe);
  return guard_or_lose(held, error, [&] {
    check_found(held.get(), probe, "probe");
    held->context->check_usable();
    if (held->append(checked_relation(*held->context, batch, "batch"), first_row)) return;
    gpujoin::base::fail(GPUJOIN_ERROR_NOT_READY, "probe: pieces wait to be joined");
  });
}

gpujoin_status gpujoin_probe_flush(gpujoin_probe* probe, gpujoin_error* error) {
  auto const held = object_of(probe);
  return guard_or_lose(held, error, [&] {
    check_found(held.get(), probe, "probe");
    held->context->check_usable();
    held->flush();
  });
}

gpujoin_status gpujoin_probe_next(gpujoin_probe* probe, gpujoin_state* state, gpujoin_result** out,
                                  gpujoin_error* error) {
  if (out != nullptr) *out = nullptr;
  auto const held = object_of(probe);
  return guard_or_lose(held, error, [&] {
    check_found(held.get(), probe, "probe");
    next_result(*held, state, out);
  });
}

gpujoin_status gpujoin_probe_finish(gpujoin_probe* probe, gpujoin_error* error) {
  auto const held = object_of(probe);
  return guard_or_lose(held, error, [&] {
    check_found(held.get(), probe, "probe");
    held->context->check_usable();
    held->finish();
  });
}

void gpujoin_probe_destroy(gpujoin_probe* probe) { destroy_handle(probe); }
