// candidates.cpp: the legal plans that have all that the caller named, or why there are none.
#include "src/plan/candidates.hpp"

#include <optional>
#include <string>

#include "src/base/status.hpp"

namespace gpujoin::plan {
namespace {

// What is named, technique by technique: algorithm names are taken apart into these.
struct Named {
  std::optional<Transform> transform;
  std::optional<Match> match;
  std::optional<Gather> gather;
};

struct Algorithm {
  const char* name;
  Transform transform;
  Match match;
  std::optional<Gather> gather;  // empty: either
};

const Algorithm& algorithm_of(gpujoin_algorithm number) {
  constexpr Transform sweep = Transform::kRadixOnesweep;
  constexpr Transform sort = Transform::kRadixSort;
  // In the order of the GPUJOIN_ALGORITHM_* numbers, from 1.
  static const Algorithm algorithms[] = {
      {"NOP", Transform::kNone, Match::kGlobalTable, Gather::kUntransformed},
      {"PHJ-OM", sweep, Match::kCoPartitions, Gather::kTransformed},
      {"PHJ-GFUR", sweep, Match::kCoPartitions, Gather::kUntransformed},
      {"SMJ-OM", sort, Match::kMergePath, Gather::kTransformed},
      {"SMJ-UM", sort, Match::kMergePath, Gather::kUntransformed},
      {"CPU-RADIX", sweep, Match::kCoPartitions, std::nullopt},
  };
  return algorithms[number - 1];
}

void check_number(const char* field, int32_t number, int32_t last) {
  if (number >= 0 && number <= last) return;
  base::fail(GPUJOIN_ERROR_ILLEGAL_PLAN, "options.%s is %d: this version knows 0 to %d", field,
             number, last);
}

void check_numbers(const gpujoin_plan_options& options) {
  check_number("device", options.device, GPUJOIN_DEVICE_CPU);
  check_number("algorithm", options.algorithm, GPUJOIN_ALGORITHM_CPU_RADIX);
  check_number("transform", options.transform, GPUJOIN_TRANSFORM_RADIX_SORT);
  check_number("match", options.match, GPUJOIN_MATCH_MERGE_PATH);
  check_number("gather", options.gather, GPUJOIN_GATHER_TRANSFORMED);
  check_number("build_side", options.build_side, GPUJOIN_SIDE_RIGHT);
}

template <typename Technique>
void name(const char* field, const char* algorithm, Technique meant,
          std::optional<Technique>* named) {
  if (*named && **named != meant) {
    base::fail(GPUJOIN_ERROR_ILLEGAL_PLAN, "algorithm=%s means %s=%s, but options.%s is %s",
               algorithm, field, to_text(meant), field, to_text(**named));
  }
  *named = meant;
}

Named named_in(const gpujoin_plan_options& options, Device device) {
  Named named;
  if (options.transform != 0) named.transform = static_cast<Transform>(options.transform);
  if (options.match != 0) named.match = static_cast<Match>(options.match);
  if (options.gather != 0) named.gather = static_cast<Gather>(options.gather);
  if (options.algorithm == GPUJOIN_ALGORITHM_AUTOMATIC) return named;

  const Algorithm& algorithm = algorithm_of(options.algorithm);
  const bool of_cpu = options.algorithm == GPUJOIN_ALGORITHM_CPU_RADIX;
  if (of_cpu != (device == Device::kCpu)) {
    base::fail(GPUJOIN_ERROR_ILLEGAL_PLAN, "algorithm=%s runs on %s, but the plan is for %s",
               algorithm.name, of_cpu ? "the CPU" : "CUDA", of_cpu ? "CUDA" : "the CPU");
  }
  name("transform", algorithm.name, algorithm.transform, &named.transform);
  name("match", algorithm.name, algorithm.match, &named.match);
  if (algorithm.gather) name("gather", algorithm.name, *algorithm.gather, &named.gather);
  return named;
}

// How much of what is named a plan has; naming radix bits speaks for the transform that has them.
int32_t agreement(const JoinPlan& plan, const Named& named, int32_t radix_bits) {
  const bool has_bits = radix_bits != 0 && plan.transform == Transform::kRadixOnesweep;
  return (has_bits ? 1 : 0) + (named.transform == plan.transform ? 1 : 0) +
         (named.match == plan.match ? 1 : 0) + (named.gather == plan.gather ? 1 : 0);
}

bool has_all(const JoinPlan& plan, const Named& named) {
  return named.transform.value_or(plan.transform) == plan.transform &&
         named.match.value_or(plan.match) == plan.match &&
         named.gather.value_or(plan.gather) == plan.gather;
}

// The reason is that of the plan nearest to a legal one that has everything that was named.
[[noreturn]] void fail_with_reason(const std::vector<JoinPlan>& legal, const Named& named,
                                   int32_t radix_bits) {
  JoinPlan nearest = legal.front();
  for (const JoinPlan& plan : legal) {
    if (agreement(plan, named, radix_bits) > agreement(nearest, named, radix_bits)) nearest = plan;
  }
  nearest.transform = named.transform.value_or(nearest.transform);
  nearest.match = named.match.value_or(nearest.match);
  nearest.gather = named.gather.value_or(nearest.gather);
  nearest.radix_bits = radix_bits;
  const std::string reason = why_illegal(nearest).value_or("the techniques do not fit together");
  base::fail(GPUJOIN_ERROR_ILLEGAL_PLAN, "%s", reason.c_str());
}

}  // namespace

// CPU plans are considered when named, and where there is nothing else.
Device device_of(const PlanRequest& request, const base::DeviceFacts& facts) {
  const gpujoin_plan_options& options = request.options;
  check_number("device", options.device, GPUJOIN_DEVICE_CPU);
  if (options.device == GPUJOIN_DEVICE_CUDA && !facts.is_cuda) {
    base::fail(GPUJOIN_ERROR_ILLEGAL_PLAN, "options.device is CUDA, but the context is of the CPU");
  }
  if (options.device != GPUJOIN_DEVICE_AUTOMATIC) return static_cast<Device>(options.device);
  const bool names_cpu_algorithm = options.algorithm == GPUJOIN_ALGORITHM_CPU_RADIX;
  return facts.is_cuda && !names_cpu_algorithm ? Device::kCuda : Device::kCpu;
}

std::vector<JoinPlan> candidates_of(const PlanRequest& request, const base::DeviceFacts& facts) {
  const gpujoin_plan_options& options = request.options;
  check_numbers(options);
  const Device device = device_of(request, facts);
  const Named named = named_in(options, device);
  const Side build_side = build_side_of(request);
  const SideStatistics& build = build_side == Side::kLeft ? request.left : request.right;

  const std::vector<JoinPlan> legal = legal_plans(device);
  std::vector<JoinPlan> candidates;
  for (JoinPlan plan : legal) {
    if (plan.build_side != build_side || !has_all(plan, named)) continue;
    plan.radix_bits = options.radix_bits;
    // The CPU executor knows its row layout and threads, and chooses its own bits when 0.
    if (device == Device::kCuda && plan.transform == Transform::kRadixOnesweep &&
        plan.radix_bits == 0) {
      plan.radix_bits = radix_bits_for(build.rows, build.key_width);
    }
    if (device == Device::kCuda && (request.left.in_host_memory || request.right.in_host_memory)) {
      plan.transfer = Transfer::kExplicitCopies;
    }
    if (!why_illegal(plan)) candidates.push_back(plan);
  }
  if (candidates.empty()) fail_with_reason(legal, named, options.radix_bits);
  return candidates;
}

std::string candidate_name(const JoinPlan& plan) {
  if (plan.device == Device::kCuda) return algorithm_name(plan);
  return algorithm_name(plan) + " " + to_text(plan.gather);
}

}  // namespace gpujoin::plan
