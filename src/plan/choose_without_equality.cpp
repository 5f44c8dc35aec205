#include "src/plan/choose_without_equality.hpp"

#include <algorithm>
#include <cmath>

#include "src/base/status.hpp"
#include "src/base/traffic.hpp"
#include "src/plan/named_techniques.hpp"

namespace gpujoin::plan {

namespace {

// A condition's comparison of columns, a pair and thread (AMD EPYC, 2026-11: 0.25e9 to 0.6e9).
constexpr double kEvaluatedPerThread = 0.3e9;
constexpr double kCodeBytes = 8;
// Passes of 8 or 11 bits over codes that differ in about 32.
constexpr double kSortPasses = 4;

struct Sizes {
  double left;
  double right;
  double all() const { return left + right; }
  double product() const { return left * right; }
};

double levels_of(const Sizes& sizes) { return std::log2(std::min(sizes.left, sizes.right) + 2); }

// Codes are made, sorted with their rows, and looked up.
double order_seconds(const Sizes& sizes, double inequalities, const base::DeviceFacts& facts) {
  double const sort = kSortPasses * sizes.all() / facts.radix_pass_rows_per_second;
  double const look_up = 2 * sizes.all() / facts.random_reads_per_second;
  double const codes = 2 * sizes.all() * kCodeBytes / facts.copy_bytes_per_second;
  return inequalities * (sort + look_up + codes) + 20 * facts.launch_seconds;
}

double walk_seconds(const Sizes& sizes, const base::DeviceFacts& facts) {
  constexpr double kBytesOfLevel = 20;  // of a row of either side: kernels/match/range_levels.cuh
  double const a_level = sizes.all() * kBytesOfLevel / facts.copy_bytes_per_second +
                         2 * sizes.all() / facts.l2_random_reads_per_second +
                         8 * facts.launch_seconds;
  return levels_of(sizes) * a_level;
}

double pairs_seconds(double pairs, bool is_evaluated, Device device,
                     const base::DeviceFacts& facts) {
  double const write = pairs * base::traffic::kPairBytes / facts.copy_bytes_per_second;
  if (!is_evaluated) return write;
  if (device == Device::kCpu) return pairs / (kEvaluatedPerThread * facts.cpu_threads);
  return 4 * write;
}

double bytes_of(const Sizes& sizes, const WithoutEquality& join, double pairs) {
  double const written = pairs * base::traffic::kPairBytes * (join.is_evaluated ? 3 : 1);
  if (join.search == PairSearch::kNestedLoop) return written;
  constexpr double kOrderBytes = 2 * kSortPasses * 12;
  bool const has_levels = join.search == PairSearch::kLevels;
  double const walked = has_levels ? levels_of(sizes) * 20 : 0;
  return written + sizes.all() * (kOrderBytes * (has_levels ? 2 : 1) + walked);
}

std::string rows_text(double rows) {
  return rows < 1e15 ? base::text("%.0f", rows) : base::text("%.3g", rows);
}

}  // namespace

const char* to_text(PairSearch search) {
  switch (search) {
    case PairSearch::kNeighbours:
      return "range join";
    case PairSearch::kLevels:
      return "range join of two orders";
    case PairSearch::kNestedLoop:
      break;
  }
  return "nested loop";
}

PlanChoice choose_without_equality(const PlanRequest& request, const WithoutEquality& join,
                                   Device device, const base::DeviceFacts& facts) {
  fail_if_technique_named(request.options, "a join without keys has one technique");
  // Products that no memory holds are all alike.
  constexpr double kMostBytes = 1e18;
  Sizes const sizes{static_cast<double>(request.left.rows),
                    static_cast<double>(request.right.rows)};
  double const pairs = sizes.product() * join.found;
  StageCost cost;
  cost.stage = "match";
  cost.technique = to_text(join.search);
  cost.bytes = static_cast<uint64_t>(std::min(bytes_of(sizes, join, pairs), kMostBytes));
  cost.seconds = pairs_seconds(pairs, join.is_evaluated, device, facts);
  if (join.search != PairSearch::kNestedLoop) cost.seconds += order_seconds(sizes, 1, facts);
  if (join.search == PairSearch::kLevels) {
    cost.seconds += order_seconds(sizes, 1, facts) + walk_seconds(sizes, facts);
  }
  Attempt attempt;
  attempt.plan.device = device;
  attempt.plan.expected_rows = static_cast<int64_t>(std::min(pairs, kMostBytes));
  attempt.memory_bytes = static_cast<uint64_t>(
      std::min(pairs * base::traffic::kPairBytes + sizes.all() * 3 * kCodeBytes, kMostBytes));
  attempt.stages.push_back(cost);
  attempt.bytes = cost.bytes;
  attempt.seconds = cost.seconds;
  PlanChoice choice;
  choice.attempts.push_back(attempt);
  std::string const what = join.inequalities.empty() ? "" : " on " + join.inequalities;
  std::string const seen = join.is_sampled ? "expected" : "assumed";
  choice.reason = join.search == PairSearch::kNestedLoop
                      ? "nested loop: no inequality of two columns to find pairs by: "
                      : std::string(to_text(join.search)) + what + ": " + seen + " ";
  choice.reason += rows_text(pairs) + (join.is_evaluated ? " pairs to evaluate" : " rows") +
                   base::text(", %.3f ms", cost.seconds * 1e3);
  return choice;
}

}  // namespace gpujoin::plan
