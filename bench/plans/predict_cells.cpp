// predict_cells.cpp: what the planner makes of cells on an H200, on a machine without one
//
//   gpujoin_predict_cells < CELLS
//
// reads a cell a line, NAME:WORD=VALUE,... as gpujoin_bench takes them, and prints a line of JSON
// for each: what AUTO looks at ("none", "positions", "counted"), and of each plan that it weighs
// the techniques, the build side, the predicted milliseconds and whether it is the pick. Keys are
// computed, not stored: only those that a sample reads. judge_picks.py lays measured times beside.
#include <cstdio>
#include <exception>
#include <iostream>
#include <string>

#include "bench/cells.hpp"
#include "bench/workload.hpp"
#include "src/plan/choose_plan.hpp"
#include "src/plan/key_sample.hpp"
#include "tests/plan/requests.hpp"

namespace {

using gpujoin::bench::Cell;
using gpujoin::bench::Workload;
namespace plan = gpujoin::plan;

plan::SideStatistics side(int64_t rows, const Cell& cell, int payloads, int32_t width) {
  plan::SideStatistics made;
  made.rows = rows;
  made.key_width = cell.key_bytes;
  made.payload_widths.assign(static_cast<size_t>(payloads), width);
  made.key_nullable = cell.nulls > 0;
  return made;
}

plan::PlanRequest request_of(const Cell& cell) {
  plan::PlanRequest request;
  request.left = side(cell.build_rows, cell, cell.build_payloads, cell.build_payload_bytes);
  request.right = side(cell.probe_rows, cell, cell.probe_payloads, cell.probe_payload_bytes);
  request.left.key_is_output = !cell.is_pairs;
  request.pairs = cell.is_pairs;
  return request;
}

plan::SampleStatistics sample_of(const Cell& cell, const plan::PlanRequest& request,
                                 plan::SampleEffort effort) {
  const Workload work(cell);
  const auto left = [&](int64_t row, uint64_t* key) {
    const auto number = static_cast<uint64_t>(row);
    *key = work.key_of(work.build_index(number));
    return !work.is_null(number, Workload::kBuildSeed);
  };
  const auto right = [&](int64_t row, uint64_t* key) {
    const auto number = static_cast<uint64_t>(row);
    *key = work.key_of(work.probe_index(number));
    return !work.is_null(number, Workload::kProbeSeed);
  };
  const int64_t r = request.left.rows;
  const int64_t s = request.right.rows;
  const bool build_left = plan::build_side_of(request) == plan::Side::kLeft;
  return build_left ? plan::statistics_of(
                          plan::sample_keys(r, left, s, right, cell.key_bytes, effort), r, s)
                    : plan::statistics_of(
                          plan::sample_keys(s, right, r, left, cell.key_bytes, effort), s, r);
}

void predict(const std::string& line, const gpujoin::base::DeviceFacts& facts) {
  const Cell cell = gpujoin::bench::parse_cell(line);
  const plan::PlanRequest request = request_of(cell);
  const plan::SampleEffort effort = plan::sample_effort(request, facts);
  const bool looks = effort != plan::SampleEffort::kNone;
  const plan::PlanChoice choice =
      looks ? plan::choose_plan(request, sample_of(cell, request, effort), facts, 0)
            : plan::choose_plan_unseen(request, facts, 0, true);
  const char* const efforts[] = {"none", "positions", "counted"};
  std::printf("{\"cell\": \"%s\", \"effort\": \"%s\", \"plans\": [", cell.name.c_str(),
              efforts[static_cast<int>(effort)]);
  const char* separator = "";
  for (const plan::Candidate& candidate : choice.candidates) {
    const plan::JoinPlan& one = candidate.plan;
    std::printf(
        "%s{\"filter\": \"%s\", \"transform\": \"%s\", \"match\": \"%s\", \"gather\": \"%s\", "
        "\"build\": \"%s\", \"ms\": %.4f, \"pick\": %s}",
        separator, plan::to_text(one.filter), plan::to_text(one.transform),
        plan::to_text(one.match), plan::to_text(one.gather),
        one.build_side == plan::Side::kLeft ? "left" : "right", candidate.seconds * 1e3,
        one == choice.plan() ? "true" : "false");
    separator = ", ";
  }
  std::printf("]}\n");
}

}  // namespace

int main() {
  try {
    const gpujoin::base::DeviceFacts facts = plan::testing::h200();
    for (std::string line; std::getline(std::cin, line);) predict(line, facts);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpujoin_predict_cells: %s\n", error.what());
    return 2;
  }
  return 0;
}
