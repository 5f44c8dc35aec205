// choose_asof.cpp: the one plan of an ASOF join, and what it costs where both sides must be sorted:
// whether they are in order is seen when it runs.
#include <algorithm>

#include "src/base/traffic.hpp"
#include "src/plan/choose_plan.hpp"
#include "src/plan/named_techniques.hpp"

namespace gpujoin::plan {

namespace {

// Of a group and a place, where nobody looked.
constexpr int32_t kBitsOfUnseen = 48;

}  // namespace

base::traffic::Traffic asof_traffic(uint64_t rows, int32_t sorted_bits, uint32_t finished_sorts) {
  constexpr uint64_t kKeyBytes = 8;
  // One look, one read for the merge, the match of a row and its pair.
  base::traffic::Traffic moved = {rows * (2 * kKeyBytes + 4 + base::traffic::kPairBytes), 0};
  if (sorted_bits == 0) return moved;
  // Keys and row numbers are written first.
  moved += {rows * (2 * kKeyBytes + 4), 0};
  // To finish a sort that passed over upper bits only, keys are read.
  moved += {rows * kKeyBytes * finished_sorts, 0};
  return moved + base::traffic::radix_sort(rows, kKeyBytes, 4, sorted_bits);
}

PlanChoice choose_asof(const PlanRequest& request, Device device, const base::DeviceFacts& facts) {
  fail_if_technique_named(request.options, "an ASOF join merges sides in order");
  Attempt attempt;
  attempt.plan.device = device;
  attempt.plan.expected_rows = request.left.rows;
  auto const left_rows = static_cast<uint64_t>(request.left.rows);
  auto const right_rows = static_cast<uint64_t>(request.right.rows);
  StageCost cost;
  cost.stage = "match";
  cost.technique = request.key_count == 0 ? "asof" : "asof by keys";
  cost.bytes = asof_traffic(left_rows, kBitsOfUnseen).bytes() +
               asof_traffic(right_rows, kBitsOfUnseen).bytes();
  base::DeviceFacts const of_device =
      device == Device::kCpu && facts.is_cuda ? base::cpu_facts(facts.cpu_threads) : facts;
  if (of_device.copy_bytes_per_second > 0) {
    cost.seconds = static_cast<double>(cost.bytes) / of_device.copy_bytes_per_second;
  }
  attempt.stages.push_back(cost);
  attempt.bytes = cost.bytes;
  attempt.seconds = cost.seconds;
  // Keys and row numbers of both sides, of the longer one before and behind its sort; matches.
  constexpr uint64_t kRowBytes = 12;
  attempt.memory_bytes = (left_rows + right_rows + std::max(left_rows, right_rows)) * kRowBytes +
                         left_rows * (4 + base::traffic::kPairBytes);
  PlanChoice choice;
  choice.attempts.push_back(attempt);
  choice.reason =
      "a left row has one match at most, the next one in order: sides are sorted where they do not "
      "lie in order, and merged";
  return choice;
}

}  // namespace gpujoin::plan
