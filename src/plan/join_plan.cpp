// join_plan.cpp: what plans are legal.
#include "src/plan/join_plan.hpp"

#include <algorithm>

#include "kernels/limits.hpp"
#include "src/base/status.hpp"
#include "src/plan/key_rule.hpp"

namespace gpujoin::plan {
namespace {

constexpr int32_t kTransfers = GPUJOIN_TRANSFER_PROBE_CHUNKS;
constexpr auto kKeys = static_cast<int32_t>(Keys::kHashed);
constexpr int32_t kFilters = GPUJOIN_FILTER_KEY_HASHES;
constexpr int32_t kTransforms = GPUJOIN_TRANSFORM_WRITE_COMBINED;
constexpr int32_t kSkews = GPUJOIN_SKEW_CHILD_KERNELS;
constexpr int32_t kMatches = GPUJOIN_MATCH_MERGE_TILES;
constexpr int32_t kOutputs = GPUJOIN_OUTPUT_ESTIMATED_GROUPS;
constexpr int32_t kGathers = GPUJOIN_GATHER_CARRIED_ROWS;

bool known(const JoinPlan& plan) {
  const auto within = [](auto value, int32_t last) {
    return static_cast<int32_t>(value) >= 1 && static_cast<int32_t>(value) <= last;
  };
  return within(plan.device, 2) && within(plan.transfer, kTransfers) && within(plan.keys, kKeys) &&
         within(plan.filter, kFilters) && within(plan.transform, kTransforms) &&
         within(plan.skew, kSkews) && within(plan.match, kMatches) &&
         within(plan.output, kOutputs) && within(plan.gather, kGathers) &&
         within(plan.build_side, 2);
}

using Reason = std::optional<std::string>;

Reason why_cpu_illegal(const JoinPlan& plan) {
  if (plan.transfer != Transfer::kNone) {
    return base::text("transfer=%s is of CUDA plans: the CPU reads host memory where it is",
                      to_text(plan.transfer));
  }
  if (plan.transform != Transform::kRadixOnesweep) {
    return base::text("the CPU executor has transform=radix_onesweep only, not %s",
                      to_text(plan.transform));
  }
  if (plan.match != Match::kCoPartitions) {
    return base::text("the CPU executor has match=co_partitions only, not %s", to_text(plan.match));
  }
  if (plan.skew != Skew::kWorkUnits) {
    return base::text("the CPU executor has skew=work_units only, not %s", to_text(plan.skew));
  }
  if (plan.output != Output::kGrown) {
    return base::text("the CPU executor has output=grown only, not %s", to_text(plan.output));
  }
  return std::nullopt;
}

Reason why_filter_illegal(const JoinPlan& plan) {
  if (plan.filter == Filter::kNone) return std::nullopt;
  if (plan.transfer == Transfer::kProbeChunks) {
    return base::text(
        "filter=%s looks at all keys first: transfer=probe_chunks brings them by and by",
        to_text(plan.filter));
  }
  const bool carried_table = probes_table(plan.match) && plan.gather == Gather::kCarried;
  if (plan.device == Device::kCuda &&
      (plan.transform == Transform::kRadixUnordered || carried_table)) {
    return std::nullopt;
  }
  return base::text(
      "filter=%s leaves out rows before transform=radix_unordered moves them, or before a table "
      "whose probe writes columns is made; the plan has transform=%s, match=%s and gather=%s",
      to_text(plan.filter), to_text(plan.transform), to_text(plan.match), to_text(plan.gather));
}

Reason why_match_illegal(const JoinPlan& plan) {
  if (joins_partitions(plan.match) && !partitions(plan.transform)) {
    return base::text("match=%s needs both sides partitioned, and transform=%s does not",
                      to_text(plan.match), to_text(plan.transform));
  }
  if (merges(plan.match) && !sorts(plan.transform)) {
    return base::text("match=%s needs both sides sorted, and transform=%s does not",
                      to_text(plan.match), to_text(plan.transform));
  }
  if (plan.match == Match::kMergeTiles && plan.transform != Transform::kNone) {
    return base::text(
        "match=merge_tiles joins sides in order where they lie: transform=%s moves "
        "them, name transform=none",
        to_text(plan.transform));
  }
  const bool in_parts = plan.transform == Transform::kWriteCombined && probes_table(plan.match);
  if (in_parts && plan.transfer == Transfer::kProbeChunks) {
    return "transform=write_combined moves the build side for one probe side, which "
           "transfer=probe_chunks brings by and by";
  }
  const bool anywhere = !joins_partitions(plan.match) && !merges(plan.match) && !in_parts;
  if (anywhere && plan.transform != Transform::kNone) {
    return base::text(
        "match=%s finds keys wherever they are: transform=%s would be wasted, name transform=none",
        to_text(plan.match), to_text(plan.transform));
  }
  return std::nullopt;
}

// Of rows where they lie, of which it may write the columns.
bool joins_in_place(Match match) { return probes_table(match) || match == Match::kMergeTiles; }

Reason why_output_illegal(const JoinPlan& plan) {
  const bool counted = plan.output == Output::kCounted;
  if (counted != merges(plan.match)) {
    if (counted) {
      return base::text("output=counted needs a match that knows its counts first, and %s does not",
                        to_text(plan.match));
    }
    return base::text("match=%s knows its counts before it writes: its output is counted, not %s",
                      to_text(plan.match), to_text(plan.output));
  }
  if (joins_partitions(plan.match) || counted || plan.output == Output::kGrown) return std::nullopt;
  if (plan.match == Match::kRowMultiset && plan.output == Output::kTwoPasses) return std::nullopt;
  const bool carried = joins_in_place(plan.match) && plan.gather == Gather::kCarried;
  if (carried && plan.output == Output::kBlockChunks) return std::nullopt;
  return base::text("output=%s is of joins of partitions, not of match=%s", to_text(plan.output),
                    to_text(plan.match));
}

Reason why_skew_illegal(const JoinPlan& plan) {
  if (!joins_partitions(plan.match)) {
    if (plan.skew == Skew::kNone) return std::nullopt;
    return base::text("skew=%s spreads partitions over blocks, and match=%s has none",
                      to_text(plan.skew), to_text(plan.match));
  }
  if (plan.skew != Skew::kChildKernels) return std::nullopt;
  if (plan.output == Output::kGrown || plan.output == Output::kEstimatedGroups) {
    return base::text(
        "skew=child_kernels needs an output that is not resumed in the middle: thread_pages, "
        "block_chunks or two_passes, not %s",
        to_text(plan.output));
  }
  return std::nullopt;
}

Reason why_carried_illegal(const JoinPlan& plan) {
  if (plan.device == Device::kCpu) {
    return base::text(
        "gather=%s is of CUDA plans: the CPU's gather=transformed carries rows as well",
        to_text(plan.gather));
  }
  const bool partitions =
      plan.transform == Transform::kRadixUnordered && plan.match == Match::kCoPartitions;
  if (!partitions && plan.gather == Gather::kCarriedRows) {
    return base::text(
        "gather=carried_rows moves row numbers at once with their keys: it needs "
        "transform=radix_unordered and match=co_partitions, not %s and %s",
        to_text(plan.transform), to_text(plan.match));
  }
  if (!partitions && !joins_in_place(plan.match)) {
    return base::text(
        "gather=carried needs a match that writes columns, which were moved all at once or lie "
        "where they were: transform=radix_unordered and match=co_partitions, or "
        "match=global_table, direct_table or merge_tiles, not %s and %s",
        to_text(plan.transform), to_text(plan.match));
  }
  if (plan.output != Output::kBlockChunks || (partitions && plan.skew != Skew::kWorkUnits)) {
    return base::text(
        "gather=%s writes chunks of blocks and cuts partitions into work units: "
        "output=block_chunks and skew=work_units, not %s and %s",
        to_text(plan.gather), to_text(plan.output), to_text(plan.skew));
  }
  if (plan.page_pairs != 0) {
    return base::text("gather=%s has chunks of one size: page_pairs must be 0",
                      to_text(plan.gather));
  }
  return std::nullopt;
}

Reason why_gather_illegal(const JoinPlan& plan) {
  const bool writes = plan.match == Match::kDirectTable || plan.match == Match::kMergeTiles ||
                      plan.transform == Transform::kWriteCombined;
  if (writes && plan.gather != Gather::kCarried) {
    return base::text("match=%s writes columns: it needs gather=carried, not %s",
                      to_text(plan.match), to_text(plan.gather));
  }
  if (plan.gather == Gather::kUntransformed) return std::nullopt;
  if (writes_columns(plan.gather)) return why_carried_illegal(plan);
  switch (plan.transform) {
    case Transform::kNone:
      return "gather=transformed needs a transform that moves payloads with their keys, and "
             "transform=none moves nothing";
    case Transform::kHistogramBlock:
    case Transform::kBucketChains:
    case Transform::kRadixUnordered:
      return base::text(
          "gather=transformed needs a transform that puts equal keys in the same order with every "
          "column, and transform=%s places rows by atomics",
          to_text(plan.transform));
    default:
      return std::nullopt;
  }
}

Reason why_numbers_illegal(const JoinPlan& plan) {
  const bool cpu = plan.device == Device::kCpu;
  if (!partitions(plan.transform) && plan.radix_bits != 0) {
    return base::text("radix_bits=%d needs a transform that partitions, not %s", plan.radix_bits,
                      to_text(plan.transform));
  }
  if (plan.passes != 0 && (cpu || !partitions_in_passes(plan.transform))) {
    return base::text("passes=%d needs a transform whose passes can be named, not %s", plan.passes,
                      to_text(plan.transform));
  }
  if (plan.passes < 0 || plan.passes > 2) {
    return base::text("passes=%d is out of range: 1 or 2", plan.passes);
  }
  int32_t most = cpu ? kMostRadixBitsCpu : kernels::kMostRadixBits;
  if (plan.passes == 1) most = std::min(most, most_bits_per_pass(plan.transform));
  if (partitions_in_passes(plan.transform)) {
    most = std::min(most, 2 * most_bits_per_pass(plan.transform));
  }
  if (plan.radix_bits < 0 || plan.radix_bits > most) {
    return base::text("radix_bits=%d is out of range: 1 to %d on %s with transform=%s%s",
                      plan.radix_bits, most, cpu ? "the CPU" : "CUDA", to_text(plan.transform),
                      plan.passes == 1 ? " in one pass" : "");
  }
  if (plan.passes == 2 && plan.radix_bits == 1) {
    return "passes=2 needs radix_bits of 2 at least: each pass takes one";
  }
  const bool pages = plan.output == Output::kThreadPages || plan.output == Output::kBlockChunks;
  if (plan.page_pairs != 0 && !pages) {
    return base::text("page_pairs=%d needs output=thread_pages or block_chunks, not %s",
                      plan.page_pairs, to_text(plan.output));
  }
  constexpr int32_t kMostPagePairs = 1 << 20;
  if (plan.page_pairs < 0 || plan.page_pairs > kMostPagePairs) {
    return base::text("page_pairs=%d is out of range: 1 to %d", plan.page_pairs, kMostPagePairs);
  }
  if (plan.probe_chunk_rows != 0 && plan.transfer != Transfer::kProbeChunks) {
    return base::text("probe_chunk_rows needs transfer=probe_chunks, not %s",
                      to_text(plan.transfer));
  }
  if (plan.probe_chunk_rows < 0) return "probe_chunk_rows is negative";
  return std::nullopt;
}

template <typename Value>
std::vector<Value> all_of(int32_t last) {
  std::vector<Value> values;
  for (int32_t i = 1; i <= last; ++i) values.push_back(static_cast<Value>(i));
  return values;
}

}  // namespace

bool partitions(Transform transform) {
  switch (transform) {
    case Transform::kRadixOnesweep:
    case Transform::kHistogramThread:
    case Transform::kHistogramWarp:
    case Transform::kHistogramBlock:
    case Transform::kBucketChains:
    case Transform::kRadixUnordered:
      return true;
    default:
      return false;
  }
}

bool partitions_in_passes(Transform transform) {
  return partitions(transform) && transform != Transform::kRadixOnesweep;
}

bool sorts(Transform transform) {
  return transform == Transform::kRadixSort || transform == Transform::kMergeSort;
}

bool joins_partitions(Match match) {
  return match == Match::kCoPartitions || match == Match::kNestedLoop;
}

bool probes_table(Match match) {
  return match == Match::kGlobalTable || match == Match::kDirectTable;
}

bool merges(Match match) {
  return match == Match::kMergePath || match == Match::kMergeTwoBounds ||
         match == Match::kMergeOneBound;
}

bool writes_columns(Gather gather) {
  return gather == Gather::kCarried || gather == Gather::kCarriedRows;
}

int32_t most_bits_per_pass(Transform transform) {
  switch (transform) {
    case Transform::kHistogramThread:
      return kernels::kThreadHistogramMostBits;
    case Transform::kHistogramWarp:
      return kernels::kWarpHistogramMostBits;
    case Transform::kHistogramBlock:
      return kernels::kBlockHistogramMostBits;
    case Transform::kBucketChains:
      return kernels::kBucketPassMostBits;
    case Transform::kRadixUnordered:
      return kernels::kUnorderedMostBits;
    default:
      return kernels::kMostRadixBits;
  }
}

int32_t passes_of(const JoinPlan& plan) {
  if (plan.passes != 0) return plan.passes;
  // 2^27 rows of 8 bytes on an H200: bucket chains with 9 bits in one pass 1.1 ms, 11 bits 2.8 ms,
  // 15 bits in two passes 1.6 ms; unordered 1.1, 2.2 and 1.6 ms.
  constexpr int32_t kFastBits = 9;
  const bool runs =
      plan.transform == Transform::kBucketChains || plan.transform == Transform::kRadixUnordered;
  return plan.radix_bits > (runs ? kFastBits : most_bits_per_pass(plan.transform)) ? 2 : 1;
}

Reason why_illegal(const JoinPlan& plan, int32_t key_count) {
  if (!known(plan)) return "a field holds a number that names no technique";
  if (plan.device == Device::kCpu) {
    if (auto reason = why_cpu_illegal(plan)) return reason;
  }
  for (const auto why : {why_filter_illegal, why_gather_illegal, why_match_illegal,
                         why_output_illegal, why_skew_illegal, why_numbers_illegal}) {
    if (auto reason = why(plan)) return reason;
  }
  if (auto reason = why_keys_illegal(plan, key_count)) return reason;
  return why_missing(plan);
}

std::vector<JoinPlan> plans_of(Device device, const Choices& choices, int32_t key_count) {
  const auto or_all = [](const auto& named, int32_t last) {
    using Value = typename std::decay_t<decltype(named)>::value_type;
    return named.empty() ? all_of<Value>(last) : named;
  };
  // Every combination is tried, so that this list and why_illegal cannot disagree.
  std::vector<JoinPlan> plans;
  JoinPlan plan;
  plan.device = device;
  const auto outputs = or_all(choices.outputs, kOutputs);
  const auto skews = or_all(choices.skews, kSkews);
  const auto gathers = or_all(choices.gathers, kGathers);
  const auto sides = or_all(choices.build_sides, GPUJOIN_SIDE_RIGHT);
  const auto filters = or_all(choices.filters, kFilters);
  for (const Transform transform : or_all(choices.transforms, kTransforms)) {
    plan.transform = transform;
    for (const Match match : or_all(choices.matches, kMatches)) {
      plan.match = match;
      if (why_match_illegal(plan)) continue;
      for (const Output output : outputs) {
        plan.output = output;
        for (const Skew skew : skews) {
          plan.skew = skew;
          for (const int32_t passes : choices.passes) {
            plan.passes = passes;
            for (const Gather gather : gathers) {
              plan.gather = gather;
              for (const Filter filter : filters) {
                plan.filter = filter;
                for (const Side build : sides) {
                  plan.build_side = build;
                  for (const Keys keys : choices.keys) {
                    plan.keys = keys;
                    if (!why_illegal(plan, key_count)) plans.push_back(plan);
                  }
                }
              }
            }
          }
        }
      }
    }
  }
  return plans;
}

namespace {

std::vector<JoinPlan> find_legal_plans(Device device) {
  Choices all;
  all.passes = {0, 1, 2};
  std::vector<JoinPlan> plans = plans_of(device, all);
  // Where passes can be named, 0 stands for one of the others.
  std::erase_if(plans, [](const JoinPlan& plan) {
    return plan.device == Device::kCuda && plan.passes == 0 && partitions_in_passes(plan.transform);
  });
  return plans;
}

}  // namespace

const std::vector<JoinPlan>& legal_plans(Device device) {
  if (device == Device::kCpu) {
    static const std::vector<JoinPlan> of_cpu = find_legal_plans(Device::kCpu);
    return of_cpu;
  }
  static const std::vector<JoinPlan> of_gpu = find_legal_plans(Device::kCuda);
  return of_gpu;
}

}  // namespace gpujoin::plan
