// result.cpp: gpujoin.h section 7, and the statistics of section 8.
#include <cstdio>
#include <numeric>
#include <vector>

#include "bindings/c/arguments.hpp"
#include "bindings/c/guard.hpp"
#include "bindings/c/handles.hpp"
#include "bindings/c/join_spec.hpp"
#include "src/columns/arrow_export.hpp"
#include "src/columns/fetch_page.hpp"
#include "src/execute/decide.hpp"
#include "src/execute/fetch_rows.hpp"

namespace gpujoin::shim {

namespace {

using columns::JoinResult;

// The caller's page, or the whole result.
gpujoin_page checked_page(const gpujoin_page* given) {
  if (given == nullptr) return GPUJOIN_PAGE_INIT;
  gpujoin_page const page = read_struct(given, "page");
  check_reserved(page.reserved, "page.reserved");
  return page;
}

std::vector<gpujoin_fetch> checked_fetches(const gpujoin_fetch* given, int32_t count) {
  std::vector<gpujoin_fetch> fetches = read_array(given, count, "fetches", "fetch_count");
  for (const gpujoin_fetch& fetch : fetches) check_reserved(fetch.reserved, "fetches[].reserved");
  return fetches;
}

gpujoin_statistics statistics_of(const JoinResult& result) {
  const columns::Statistics& from = result.statistics;
  gpujoin_statistics out = GPUJOIN_STATISTICS_INIT;
  out.device = from.device;
  std::snprintf(out.plan, sizeof(out.plan), "%s", from.plan.c_str());
  if (from.reason) std::snprintf(out.reason, sizeof(out.reason), "%s", from.reason().c_str());
  out.left_rows = from.left_rows;
  out.right_rows = from.right_rows;
  out.output_rows = result.rows;
  out.milliseconds = from.milliseconds;
  out.predicted_bytes = std::accumulate(from.stages.begin(), from.stages.end(), uint64_t{0},
                                        [](uint64_t sum, const columns::StageStatistics& stage) {
                                          return sum + stage.predicted_bytes;
                                        });
  out.peak_memory_bytes = from.peak_memory_bytes;
  out.stage_count = static_cast<int32_t>(from.stages.size());
  out.output_resumes = from.output_resumes;
  return out;
}

gpujoin_stage_statistics stage_of(const columns::StageStatistics& from) {
  gpujoin_stage_statistics out = GPUJOIN_STAGE_STATISTICS_INIT;
  std::snprintf(out.stage, sizeof(out.stage), "%s", from.stage.c_str());
  std::snprintf(out.technique, sizeof(out.technique), "%s", from.technique.c_str());
  out.milliseconds = from.milliseconds;
  out.predicted_bytes = from.predicted_bytes;
  return out;
}

}  // namespace

}  // namespace gpujoin::shim

using namespace gpujoin::shim;
using gpujoin::base::LeasedQueue;

gpujoin_status gpujoin_result_get_rows(const gpujoin_result* result, int64_t* rows,
                                       gpujoin_error* error) {
  return guard(nullptr, error, [&] {
    auto const found = checked_object(result, "result");
    check_given(rows, "rows");
    *rows = found->rows;
  });
}

gpujoin_status gpujoin_result_fetch(gpujoin_result* result, gpujoin_page* page,
                                    gpujoin_fetch* fetches, int32_t fetch_count,
                                    gpujoin_error* error) {
  auto const found = object_of(result);
  return guard(context_of(found), error, [&] {
    check_found(found.get(), result, "result");
    gpujoin_page window = checked_page(page);
    std::vector<gpujoin_fetch> requests = checked_fetches(fetches, fetch_count);
    found->context->check_usable();
    LeasedQueue const queue(*found->context);
    gpujoin::columns::fetch_page(*queue, *found, window, requests,
                                 gpujoin::execute::widen_row_numbers_on_gpu);
    for (int32_t i = 0; i < fetch_count; ++i) {
      write_struct(requests[static_cast<size_t>(i)], element_of(fetches, i));
    }
    if (page != nullptr) write_struct(window, page);
  });
}

gpujoin_status gpujoin_result_export(gpujoin_result* result, gpujoin_page* page,
                                     ArrowSchema* schema, ArrowArray* array, gpujoin_error* error) {
  auto const found = object_of(result);
  return guard(context_of(found), error, [&] {
    check_found(found.get(), result, "result");
    check_given(schema, "schema");
    check_given(array, "array");
    gpujoin_page window = checked_page(page);
    found->context->check_usable();
    LeasedQueue const queue(*found->context);
    gpujoin::columns::export_page(*queue, *found, window, *schema, *array);
    if (page != nullptr) write_struct(window, page);
  });
}

gpujoin_status gpujoin_result_export_device(gpujoin_result* result, gpujoin_page* page,
                                            ArrowSchema* schema, ArrowDeviceArray* array,
                                            gpujoin_error* error) {
  auto const found = object_of(result);
  return guard(context_of(found), error, [&] {
    check_found(found.get(), result, "result");
    check_given(schema, "schema");
    check_given(array, "array");
    gpujoin_page window = checked_page(page);
    found->context->check_usable();
    LeasedQueue const queue(*found->context);
    gpujoin::columns::export_page_device(*queue, *found, window, *schema, *array);
    if (page != nullptr) write_struct(window, page);
  });
}

gpujoin_status gpujoin_result_get_statistics(const gpujoin_result* result,
                                             gpujoin_statistics* statistics, gpujoin_error* error) {
  return guard(nullptr, error, [&] {
    auto const found = checked_object(result, "result");
    read_struct(statistics, "statistics");
    write_struct(statistics_of(*found), statistics);
  });
}

gpujoin_status gpujoin_result_get_stage(const gpujoin_result* result, int32_t stage,
                                        gpujoin_stage_statistics* statistics,
                                        gpujoin_error* error) {
  return guard(nullptr, error, [&] {
    auto const found = checked_object(result, "result");
    gpujoin_stage_statistics const given = read_struct(statistics, "statistics");
    check_reserved(given.reserved, "statistics.reserved");
    const auto& stages = found->statistics.stages;
    if (stage < 0 || static_cast<size_t>(stage) >= stages.size()) {
      gpujoin::base::fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "stage is %d and there are %zu stages",
                          stage, stages.size());
    }
    write_struct(stage_of(stages[static_cast<size_t>(stage)]), statistics);
  });
}

gpujoin_status gpujoin_result_decide(gpujoin_result* candidates, const gpujoin_relation* answers,
                                     gpujoin_result** out, gpujoin_error* error) {
  if (out != nullptr) *out = nullptr;
  auto const held = object_of(candidates);
  return guard(context_of(held), error, [&] {
    check_found(held.get(), candidates, "candidates");
    check_given(out, "out");
    held->context->check_usable();
    auto const given = checked_relation(*held->context, answers, "answers");
    gpujoin::base::LeasedQueue const queue(*held->context);
    NewHandle<gpujoin_result> handle;
    *out = handle.give(gpujoin::execute::decide(*queue, *held, *given));
  });
}

void gpujoin_result_destroy(gpujoin_result* result) { destroy_handle(result); }
