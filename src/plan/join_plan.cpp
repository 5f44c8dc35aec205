// join_plan.cpp: what plans are legal, and their text.
#include "src/plan/join_plan.hpp"

#include "src/base/status.hpp"

namespace gpujoin::plan {
namespace {

constexpr int32_t kMostRadixBitsCuda = 16;
constexpr int32_t kMostRadixBitsCpu = 14;

bool known(const JoinPlan& plan) {
  const auto within = [](auto value, int32_t last) {
    return static_cast<int32_t>(value) >= 1 && static_cast<int32_t>(value) <= last;
  };
  return within(plan.device, 2) && within(plan.transfer, 2) && within(plan.transform, 3) &&
         within(plan.match, 3) && within(plan.output, 2) && within(plan.gather, 2) &&
         within(plan.build_side, 2);
}

std::optional<std::string> why_radix_bits_illegal(const JoinPlan& plan) {
  if (plan.transform != Transform::kRadixOnesweep) {
    if (plan.radix_bits == 0) return std::nullopt;
    return base::text("radix_bits=%d needs transform=radix_onesweep, not %s", plan.radix_bits,
                      to_text(plan.transform));
  }
  const bool cpu = plan.device == Device::kCpu;
  const int32_t most = cpu ? kMostRadixBitsCpu : kMostRadixBitsCuda;
  if (plan.radix_bits >= 0 && plan.radix_bits <= most) return std::nullopt;
  return base::text("radix_bits=%d is out of range: 1 to %d on %s", plan.radix_bits, most,
                    cpu ? "the CPU" : "CUDA");
}

}  // namespace

const char* to_text(Transfer value) {
  switch (value) {
    case Transfer::kNone:
      return "none";
    case Transfer::kExplicitCopies:
      return "explicit_copies";
  }
  return "unknown";
}

const char* to_text(Transform value) {
  switch (value) {
    case Transform::kNone:
      return "none";
    case Transform::kRadixOnesweep:
      return "radix_onesweep";
    case Transform::kRadixSort:
      return "radix_sort";
  }
  return "unknown";
}

const char* to_text(Match value) {
  switch (value) {
    case Match::kGlobalTable:
      return "global_table";
    case Match::kCoPartitions:
      return "co_partitions";
    case Match::kMergePath:
      return "merge_path";
  }
  return "unknown";
}

const char* to_text(Output value) {
  switch (value) {
    case Output::kGrown:
      return "grown";
    case Output::kCounted:
      return "counted";
  }
  return "unknown";
}

const char* to_text(Gather value) {
  switch (value) {
    case Gather::kUntransformed:
      return "untransformed";
    case Gather::kTransformed:
      return "transformed";
  }
  return "unknown";
}

const char* to_text(Side value) {
  switch (value) {
    case Side::kLeft:
      return "left";
    case Side::kRight:
      return "right";
  }
  return "unknown";
}

std::string to_text(const JoinPlan& plan) {
  std::string line = plan.device == Device::kCuda ? "cuda" : "cpu";
  if (plan.transfer != Transfer::kNone) line += base::text(" transfer=%s", to_text(plan.transfer));
  line += base::text(" build=%s transform=%s", to_text(plan.build_side), to_text(plan.transform));
  if (plan.radix_bits != 0) line += base::text("(%d)", plan.radix_bits);
  return line + base::text(" match=%s output=%s gather=%s", to_text(plan.match),
                           to_text(plan.output), to_text(plan.gather));
}

std::string algorithm_name(const JoinPlan& plan) {
  if (why_illegal(plan)) return "";
  if (plan.device == Device::kCpu) return "CPU-RADIX";
  const bool transformed = plan.gather == Gather::kTransformed;
  switch (plan.match) {
    case Match::kGlobalTable:
      return "NOP";
    case Match::kCoPartitions:
      return transformed ? "PHJ-OM" : "PHJ-GFUR";
    case Match::kMergePath:
      return transformed ? "SMJ-OM" : "SMJ-UM";
  }
  return "";
}

std::optional<std::string> why_illegal(const JoinPlan& plan) {
  if (!known(plan)) return "a field holds a number that names no technique";
  if (plan.device == Device::kCpu) {
    if (plan.transfer != Transfer::kNone) {
      return "transfer=explicit_copies is of CUDA plans: the CPU reads host memory where it is";
    }
    if (plan.transform != Transform::kRadixOnesweep) {
      return base::text("the CPU executor has transform=radix_onesweep only, not %s",
                        to_text(plan.transform));
    }
  }
  if (plan.transform == Transform::kNone && plan.gather == Gather::kTransformed) {
    return "gather=transformed needs a transform that moves payloads with their keys, and "
           "transform=none moves nothing";
  }
  switch (plan.match) {
    case Match::kGlobalTable:
      if (plan.transform != Transform::kNone) {
        return base::text(
            "match=global_table finds keys wherever they are: transform=%s would be wasted, name "
            "transform=none",
            to_text(plan.transform));
      }
      break;
    case Match::kCoPartitions:
      if (plan.transform != Transform::kRadixOnesweep) {
        return base::text(
            "match=co_partitions needs both sides partitioned by transform=radix_onesweep, not %s",
            to_text(plan.transform));
      }
      break;
    case Match::kMergePath:
      if (plan.transform != Transform::kRadixSort) {
        return base::text(
            "match=merge_path needs both sides sorted by transform=radix_sort, not %s",
            to_text(plan.transform));
      }
      break;
  }
  const bool counted = plan.output == Output::kCounted;
  if (counted && plan.match != Match::kMergePath) {
    return base::text("output=counted needs a match that knows its counts first, and %s does not",
                      to_text(plan.match));
  }
  if (!counted && plan.match == Match::kMergePath) {
    return "match=merge_path knows its counts before it writes: its output is counted, not grown";
  }
  return why_radix_bits_illegal(plan);
}

std::vector<JoinPlan> legal_plans(Device device) {
  // Every combination is tried, so that this list and why_illegal cannot disagree.
  std::vector<JoinPlan> plans;
  for (const Transform transform :
       {Transform::kNone, Transform::kRadixOnesweep, Transform::kRadixSort}) {
    for (const Match match : {Match::kGlobalTable, Match::kCoPartitions, Match::kMergePath}) {
      for (const Output output : {Output::kGrown, Output::kCounted}) {
        for (const Gather gather : {Gather::kUntransformed, Gather::kTransformed}) {
          for (const Side build : {Side::kLeft, Side::kRight}) {
            JoinPlan plan;
            plan.device = device;
            plan.transform = transform;
            plan.match = match;
            plan.output = output;
            plan.gather = gather;
            plan.build_side = build;
            if (!why_illegal(plan)) plans.push_back(plan);
          }
        }
      }
    }
  }
  return plans;
}

}  // namespace gpujoin::plan
