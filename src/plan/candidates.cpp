// candidates.cpp: the legal plans that have all that the caller named, or why there are none.
#include "src/plan/candidates.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "kernels/limits.hpp"
#include "src/base/status.hpp"
#include "src/plan/join_shape.hpp"

namespace gpujoin::plan {
namespace {

// What is named, technique by technique: algorithm names are taken apart into these.
struct Named {
  std::optional<Filter> filter;
  std::optional<Transform> transform;
  std::optional<Skew> skew;
  std::optional<Match> match;
  std::optional<Output> output;
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
      {"PHJ-UM", Transform::kBucketChains, Match::kCoPartitions, Gather::kUntransformed},
      {"ROW-MULTISET", Transform::kNone, Match::kRowMultiset, Gather::kUntransformed},
      {"PHJ-CARRIED", Transform::kRadixUnordered, Match::kCoPartitions, Gather::kCarried},
      {"NOP-CARRIED", Transform::kNone, Match::kGlobalTable, Gather::kCarried},
      {"DIRECT-CARRIED", Transform::kNone, Match::kDirectTable, Gather::kCarried},
      {"SMJ-CARRIED", Transform::kNone, Match::kMergeTiles, Gather::kCarried},
      {"PDJ-CARRIED", Transform::kWriteCombined, Match::kDirectTable, Gather::kCarried},
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
  check_number("algorithm", options.algorithm, GPUJOIN_ALGORITHM_PDJ_CARRIED);
  check_number("transfer", options.transfer, GPUJOIN_TRANSFER_PROBE_CHUNKS);
  check_number("filter", options.filter, GPUJOIN_FILTER_KEY_HASHES);
  check_number("transform", options.transform, GPUJOIN_TRANSFORM_WRITE_COMBINED);
  check_number("skew", options.skew, GPUJOIN_SKEW_CHILD_KERNELS);
  check_number("match", options.match, GPUJOIN_MATCH_MERGE_TILES);
  check_number("output", options.output, GPUJOIN_OUTPUT_ESTIMATED_GROUPS);
  check_number("gather", options.gather, GPUJOIN_GATHER_CARRIED_ROWS);
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

template <typename Technique>
std::optional<Technique> technique_of(int32_t number) {
  if (number == 0) return std::nullopt;
  return static_cast<Technique>(number);
}

Named named_in(const gpujoin_plan_options& options, Device device) {
  Named named;
  named.filter = technique_of<Filter>(options.filter);
  named.transform = technique_of<Transform>(options.transform);
  named.skew = technique_of<Skew>(options.skew);
  named.match = technique_of<Match>(options.match);
  named.output = technique_of<Output>(options.output);
  named.gather = technique_of<Gather>(options.gather);
  if (options.algorithm == GPUJOIN_ALGORITHM_AUTOMATIC) return named;

  const Algorithm& algorithm = algorithm_of(options.algorithm);
  const bool of_cpu = options.algorithm == GPUJOIN_ALGORITHM_CPU_RADIX;
  if (of_cpu != (device == Device::kCpu)) {
    base::fail(GPUJOIN_ERROR_ILLEGAL_PLAN, "algorithm=%s runs on %s, but the plan is for %s",
               algorithm.name, of_cpu ? "the CPU" : "CUDA", of_cpu ? "CUDA" : "the CPU");
  }
  // What leaves rows out has no name but its own.
  if (!named.filter) named.filter = Filter::kNone;
  name("transform", algorithm.name, algorithm.transform, &named.transform);
  name("match", algorithm.name, algorithm.match, &named.match);
  if (algorithm.gather) name("gather", algorithm.name, *algorithm.gather, &named.gather);
  return named;
}

// What the planner weighs against each other: the named, and for the rest the techniques that are
// best for some workload. The others are for those who name them.
Choices considered(const Named& named, const PlanRequest& request, Device device) {
  Choices choices;
  choices.transforms = {Transform::kNone,           Transform::kRadixOnesweep,
                        Transform::kRadixSort,      Transform::kBucketChains,
                        Transform::kRadixUnordered, Transform::kWriteCombined};
  choices.skews = {Skew::kNone, Skew::kWorkUnits};
  choices.matches = {Match::kDirectTable, Match::kGlobalTable, Match::kCoPartitions,
                     Match::kMergePath};
  if (device == Device::kCuda) {
    choices.matches.push_back(Match::kMergeTiles);
    if (request.key_count > 1) {
      choices.keys = {Keys::kHashed, Keys::kPlain};
      choices.matches.push_back(Match::kRowMultiset);
    }
    if (request.code_width != 0) choices.keys = {Keys::kPacked, Keys::kPlain};
  }
  choices.outputs = {Output::kGrown, Output::kCounted, Output::kBlockChunks};
  // The first of two that cost the same is taken.
  choices.gathers = {Gather::kCarried, Gather::kCarriedRows, Gather::kTransformed,
                     Gather::kUntransformed};
  choices.build_sides = {build_side_of(request)};
  choices.passes = {request.options.passes};
  choices.filters = {Filter::kNone, Filter::kKeyBits, Filter::kKeyHashes};
  if (named.filter) choices.filters = {*named.filter};
  if (named.transform) choices.transforms = {*named.transform};
  if (named.skew) choices.skews = {*named.skew};
  if (named.match) choices.matches = {*named.match};
  if (named.output) choices.outputs = {*named.output};
  if (named.gather) choices.gathers = {*named.gather};
  return choices;
}

// The same with every technique for what is not named.
Choices conceivable(Choices choices, const Named& named) {
  if (!named.filter) choices.filters.clear();
  if (!named.transform) choices.transforms.clear();
  if (!named.skew) choices.skews.clear();
  if (!named.match) choices.matches.clear();
  if (!named.output) choices.outputs.clear();
  return choices;
}

// plans_of, remembered: it tries every combination, 20 us where a small join takes 60, and is asked
// for the same few choices. By each thread for itself: a lock of the process might be held when a
// program forks.
const std::vector<JoinPlan>& remembered_plans(Device device, const Choices& choices,
                                              int32_t key_count) {
  using Asked = std::tuple<Device, int32_t, Choices>;
  thread_local std::map<Asked, std::vector<JoinPlan>> plans;
  const Asked asked{device, key_count, choices};
  auto found = plans.find(asked);
  // Made first: where memory runs out nothing is remembered.
  if (found == plans.end()) {
    found = plans.emplace(asked, plans_of(device, choices, key_count)).first;
  }
  return found->second;
}

// Each partition's last bucket is partly empty, and places are counted in 32 bits.
bool fits_buckets(const PlanRequest& request, const JoinPlan& plan) {
  constexpr int64_t kBucketRows = int64_t{1} << kernels::kBucketMostBits;
  const int64_t rows = std::max(request.left.rows, request.right.rows);
  return rows + (kBucketRows << plan.radix_bits) < int64_t{UINT32_MAX};
}

// Bits that wait for a filter are those of all rows at most, or one more: a probe side that
// outweighs what is left of the build side has smaller partitions.
bool plan_fits_counters(const base::DeviceFacts& facts, const JoinPlan& plan,
                        const PlanRequest& request, const SideStatistics& build,
                        const SideStatistics& probe) {
  constexpr int32_t kMostBits = kernels::kMostRadixBits;
  int32_t bits = plan.radix_bits;
  if (bits == 0) {
    bits = std::min(kMostBits, bits_of_rows(plan, request.kind, build.rows, probe.rows,
                                            joined_key_width(plan, request)) +
                                   1);
  }
  return fits_counters(bits, facts);
}

// Work units are how partitions are joined unless something else is named, and chunks of blocks are
// how a match writes columns: for pairs they need a sort of their tails and save less than that.
// What a filter leaves matches, and is carried, or fetched after a match in partitions; scattered
// keys are hashed for it, and need not be looked at for a table of places; what comes to parts of a
// table behind a filter nobody has measured.
void drop_unusual(const Named& named, int32_t key_count, std::vector<JoinPlan>* plans) {
  std::erase_if(*plans, [&](const JoinPlan& plan) {
    const bool unbalanced = joins_partitions(plan.match) && plan.skew == Skew::kNone;
    const bool chunks = plan.output == Output::kBlockChunks && !writes_columns(plan.gather);
    const bool any_gather = !named.gather && !named.output && !named.skew && !named.match;
    const bool fetched = plan.filter != Filter::kNone && !writes_columns(plan.gather);
    // A lone key is 8 bytes that travel as 4: where nothing travels, nothing is won.
    const bool travels =
        plan.transform == Transform::kRadixUnordered && writes_columns(plan.gather);
    const bool in_vain = plan.keys == Keys::kPacked && key_count == 1 && !travels;
    const bool looked_at = plan.filter == Filter::kKeyHashes && plan.match == Match::kDirectTable;
    const bool in_parts = plan.transform == Transform::kWriteCombined;
    const bool filtered_parts = in_parts && plan.filter != Filter::kNone;
    return (unbalanced && !named.skew) || (chunks && !named.output) || (fetched && any_gather) ||
           (looked_at && !named.match) || (filtered_parts && !named.transform) || in_vain;
  });
}

template <typename Technique>
int32_t agrees(const std::optional<Technique>& named, Technique value) {
  return named == value ? 1 : 0;
}

// How much of what is named a plan has; naming a number speaks for the techniques that have it.
int32_t agreement(const JoinPlan& plan, const Named& named, const gpujoin_plan_options& options) {
  const bool has_bits = options.radix_bits != 0 && partitions(plan.transform);
  const bool has_passes = options.passes != 0 && plan.passes != 0;
  return (has_bits ? 1 : 0) + (has_passes ? 1 : 0) + agrees(named.filter, plan.filter) +
         agrees(named.transform, plan.transform) + agrees(named.skew, plan.skew) +
         agrees(named.match, plan.match) + agrees(named.output, plan.output) +
         agrees(named.gather, plan.gather);
}

void set_numbers(const gpujoin_plan_options& options, JoinPlan* plan) {
  plan->radix_bits = options.radix_bits;
  plan->passes = options.passes;
  plan->page_pairs = options.page_pairs;
  plan->probe_chunk_rows = options.probe_chunk_rows;
}

// A residual looks at pairs of row numbers, in pieces, before anything is written by them.
std::optional<std::string> why_not_filtered(const JoinPlan& plan) {
  if (plan.device == Device::kCpu) return std::nullopt;
  if (plan.transfer == Transfer::kProbeChunks) {
    return "a residual needs all rows of both sides: transfer=probe_chunks brings them by and by";
  }
  const bool is_resumed = plan.output == Output::kGrown || plan.output == Output::kCounted;
  if (plan.gather == Gather::kUntransformed && is_resumed) return std::nullopt;
  return base::text(
      "a residual is evaluated on pairs of row numbers, in pieces: it needs gather=untransformed "
      "and output=grown or counted, not %s and %s",
      to_text(plan.gather), to_text(plan.output));
}

// The reason is that of the plan nearest to a legal one that has everything that was named.
[[noreturn]] void fail_with_reason(Device device, const Named& named, Transfer transfer,
                                   const PlanRequest& request) {
  const gpujoin_plan_options& options = request.options;
  const std::vector<JoinPlan>& legal = legal_plans(device);
  JoinPlan nearest = legal.front();
  for (const JoinPlan& plan : legal) {
    if (agreement(plan, named, options) > agreement(nearest, named, options)) nearest = plan;
  }
  nearest.transfer = transfer;
  nearest.filter = named.filter.value_or(nearest.filter);
  nearest.transform = named.transform.value_or(nearest.transform);
  nearest.skew = named.skew.value_or(nearest.skew);
  nearest.match = named.match.value_or(nearest.match);
  nearest.output = named.output.value_or(nearest.output);
  nearest.gather = named.gather.value_or(nearest.gather);
  const bool as_they_are =
      device == Device::kCpu || request.key_count == 1 || nearest.match == Match::kRowMultiset;
  nearest.keys = as_they_are ? Keys::kPlain : Keys::kHashed;
  set_numbers(options, &nearest);
  std::optional<std::string> reason = why_missing(nearest);
  if (!reason) reason = why_illegal(nearest, request.key_count);
  if (!reason && request.residual) reason = why_not_filtered(nearest);
  base::fail(GPUJOIN_ERROR_ILLEGAL_PLAN, "%s",
             reason ? reason->c_str() : "the techniques do not fit together");
}

// Of columns that are on the device already, nothing is to transfer whatever is named, but for
// chunks, whose results go to host memory wherever the columns are. On the CPU what is named
// stands, for why_illegal to refuse.
Transfer transfer_of(const PlanRequest& request, Device device) {
  const bool to_copy = request.left.in_host_memory || request.right.in_host_memory;
  const int32_t named = request.options.transfer;
  const bool is_named = named > GPUJOIN_TRANSFER_NONE;
  if (device == Device::kCpu) return is_named ? static_cast<Transfer>(named) : Transfer::kNone;
  if (!to_copy && named != GPUJOIN_TRANSFER_PROBE_CHUNKS) return Transfer::kNone;
  return is_named ? static_cast<Transfer>(named) : Transfer::kOverlappedCopies;
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
  const SideStatistics& probe = build_side == Side::kLeft ? request.right : request.left;
  const Transfer transfer = transfer_of(request, device);

  const auto complete = [&](std::vector<JoinPlan> plans) {
    drop_unusual(named, request.key_count, &plans);
    for (JoinPlan& plan : plans) {
      set_numbers(options, &plan);
      plan.transfer = transfer;
      // The CPU executor knows its row layout and threads, and chooses its own bits when 0.
      // Where rows are left out their number is not known yet.
      const bool knows_rows = plan.filter == Filter::kNone;
      if (device == Device::kCuda && partitions(plan.transform) && plan.radix_bits == 0 &&
          knows_rows) {
        plan.radix_bits = bits_of_rows(plan, request.kind, build.rows, probe.rows,
                                       joined_key_width(plan, request));
      }
    }
    std::erase_if(plans, [&](const JoinPlan& plan) {
      if (why_illegal(plan, request.key_count)) return true;
      if (request.residual && why_not_filtered(plan)) return true;
      const bool chains = plan.transform == Transform::kBucketChains;
      const bool unordered = plan.transform == Transform::kRadixUnordered;
      if (named.transform) return false;
      // Of so few rows a table in L2 is asked sooner than parts of it are made.
      constexpr int64_t kFewestInParts = int64_t{1} << 20;
      const bool in_parts = plan.transform == Transform::kWriteCombined;
      const bool too_few = std::min(build.rows, probe.rows) < kFewestInParts;
      if (in_parts && (too_few || !moves_to_parts(request))) return true;
      return (chains && !fits_buckets(request, plan)) ||
             (unordered && !plan_fits_counters(facts, plan, request, build, probe));
    });
    return plans;
  };
  const Choices weighed = considered(named, request, device);
  std::vector<JoinPlan> candidates = complete(remembered_plans(device, weighed, request.key_count));
  if (candidates.empty())
    candidates = complete(remembered_plans(device, conceivable(weighed, named), request.key_count));
  if (candidates.empty()) fail_with_reason(device, named, transfer, request);
  return candidates;
}

namespace {

std::string technique_name(const JoinPlan& plan) {
  const std::string algorithm = algorithm_name(plan);
  if (plan.device == Device::kCpu) return algorithm + " " + to_text(plan.gather);
  if (!algorithm.empty()) return algorithm;
  std::string name = base::text("%s+%s", to_text(plan.transform), to_text(plan.match));
  if (plan.filter != Filter::kNone) name = std::string(to_text(plan.filter)) + "+" + name;
  if (joins_partitions(plan.match)) {
    name += base::text("+%s+%s", to_text(plan.output), to_text(plan.skew));
  }
  if (plan.gather == Gather::kCarried) return name + " carried";
  if (plan.gather == Gather::kCarriedRows) return name + " carried rows";
  return name + (plan.gather == Gather::kTransformed ? " OM" : " UM");
}

}  // namespace

std::string candidate_name(const JoinPlan& plan) {
  const std::string name = technique_name(plan);
  return plan.keys == Keys::kPlain ? name : name + " " + to_text(plan.keys);
}

}  // namespace gpujoin::plan
