// plan_text.cpp: plans and techniques as text.
#include <iterator>

#include "src/base/status.hpp"
#include "src/plan/join_plan.hpp"

namespace gpujoin::plan {
namespace {

// Names stand in the order of the values, which count from 1.
template <typename Value, size_t kCount>
const char* name_of(Value value, const char* const (&names)[kCount]) {
  const auto number = static_cast<int32_t>(value);
  return number >= 1 && number <= static_cast<int32_t>(kCount) ? names[number - 1] : "unknown";
}

}  // namespace

const char* to_text(Transfer value) {
  static const char* const names[] = {"none",        "explicit_copies",  "overlapped_copies",
                                      "managed",     "managed_prefetch", "zero_copy",
                                      "probe_chunks"};
  return name_of(value, names);
}

const char* to_text(Keys value) {
  static const char* const names[] = {"plain", "packed", "hashed"};
  return name_of(value, names);
}

const char* to_text(Filter value) {
  static const char* const names[] = {"none", "key_bits", "key_hashes"};
  return name_of(value, names);
}

const char* to_text(Transform value) {
  static const char* const names[] = {"none",
                                      "radix_onesweep",
                                      "radix_sort",
                                      "histogram_thread",
                                      "histogram_warp",
                                      "histogram_block",
                                      "bucket_chains",
                                      "merge_sort",
                                      "radix_unordered",
                                      "write_combined"};
  return name_of(value, names);
}

const char* to_text(Skew value) {
  static const char* const names[] = {"none", "work_units", "redistributed_blocks",
                                      "child_kernels"};
  return name_of(value, names);
}

const char* to_text(Match value) {
  static const char* const names[] = {"global_table", "co_partitions",    "merge_path",
                                      "nested_loop",  "merge_two_bounds", "merge_one_bound",
                                      "row_multiset", "direct_table",     "merge_tiles"};
  return name_of(value, names);
}

const char* to_text(Output value) {
  static const char* const names[] = {"grown",        "counted",    "thread_pages",
                                      "block_chunks", "two_passes", "estimated_groups"};
  return name_of(value, names);
}

const char* to_text(Gather value) {
  static const char* const names[] = {"untransformed", "transformed", "carried", "carried_rows"};
  return name_of(value, names);
}

const char* to_text(Side value) {
  static const char* const names[] = {"left", "right"};
  return name_of(value, names);
}

// Put together without a format, which would take a microsecond of a small join's ten.
std::string to_text(const JoinPlan& plan) {
  std::string line;
  line.reserve(128);
  line = plan.device == Device::kCuda ? "cuda" : "cpu";
  if (plan.transfer != Transfer::kNone) line.append(" transfer=").append(to_text(plan.transfer));
  if (plan.probe_chunk_rows != 0) {
    line.append("(").append(std::to_string(plan.probe_chunk_rows)).append(")");
  }
  line.append(" build=").append(to_text(plan.build_side));
  if (plan.keys != Keys::kPlain) line.append(" keys=").append(to_text(plan.keys));
  if (plan.filter != Filter::kNone) line.append(" filter=").append(to_text(plan.filter));
  line.append(" transform=").append(to_text(plan.transform));
  if (plan.passes != 0) {
    line += base::text("(%d,%d)", plan.radix_bits, plan.passes);
  } else if (plan.radix_bits != 0) {
    line.append("(").append(std::to_string(plan.radix_bits)).append(")");
  }
  if (plan.skew != Skew::kNone) line.append(" skew=").append(to_text(plan.skew));
  line.append(" match=").append(to_text(plan.match));
  line.append(" output=").append(to_text(plan.output));
  if (plan.page_pairs != 0) line.append("(").append(std::to_string(plan.page_pairs)).append(")");
  return line.append(" gather=").append(to_text(plan.gather));
}

std::string algorithm_name(const JoinPlan& plan) {
  if (why_illegal(plan) || plan.filter != Filter::kNone) return "";
  if (plan.device == Device::kCpu) return "CPU-RADIX";
  const bool transformed = plan.gather == Gather::kTransformed;
  const bool is_usual = plan.skew == Skew::kNone || plan.skew == Skew::kWorkUnits;
  if (!is_usual) return "";
  if (plan.output == Output::kCounted && plan.match == Match::kMergePath &&
      plan.transform == Transform::kRadixSort) {
    return transformed ? "SMJ-OM" : "SMJ-UM";
  }
  if (plan.transform == Transform::kWriteCombined) {
    return plan.match == Match::kDirectTable ? "PDJ-CARRIED" : "";
  }
  if (plan.match == Match::kDirectTable) return "DIRECT-CARRIED";
  if (plan.match == Match::kMergeTiles) return "SMJ-CARRIED";
  if (plan.gather == Gather::kCarriedRows) return "";
  if (plan.gather == Gather::kCarried) {
    return plan.match == Match::kGlobalTable ? "NOP-CARRIED" : "PHJ-CARRIED";
  }
  if (plan.output != Output::kGrown) return "";
  if (plan.match == Match::kGlobalTable) return "NOP";
  if (plan.match == Match::kRowMultiset) return "ROW-MULTISET";
  if (plan.match != Match::kCoPartitions || plan.skew != Skew::kWorkUnits) return "";
  if (plan.transform == Transform::kBucketChains) return "PHJ-UM";
  if (plan.transform != Transform::kRadixOnesweep) return "";
  return transformed ? "PHJ-OM" : "PHJ-GFUR";
}

}  // namespace gpujoin::plan
