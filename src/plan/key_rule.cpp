#include "src/plan/key_rule.hpp"

#include "src/base/status.hpp"

namespace gpujoin::plan {
namespace {

using Reason = std::optional<std::string>;

// Verified are pairs of row numbers, before anything is fetched by them, or key columns that the
// match wrote. A hash is no address.
Reason why_hashed_illegal(const JoinPlan& plan, int32_t key_count) {
  if (key_count == 1) return "keys=hashed is of several key columns";
  if (plan.filter != Filter::kNone) {
    return base::text("filter=%s reads keys, and keys=hashed are not", to_text(plan.filter));
  }
  if (plan.match == Match::kDirectTable) return "keys=hashed are no addresses of a direct_table";
  if (plan.match == Match::kMergeTiles) return "keys=hashed are in no order for merge_tiles";
  if (plan.gather != Gather::kTransformed) return std::nullopt;
  return "gather=transformed moves payloads before keys=hashed are verified";
}

}  // namespace

std::optional<std::string> why_keys_illegal(const JoinPlan& plan, int32_t key_count) {
  const bool multiset = plan.match == Match::kRowMultiset;
  if (plan.keys != Keys::kPlain) {
    if (plan.device == Device::kCpu) {
      return base::text("keys=%s is of CUDA plans", to_text(plan.keys));
    }
    if (multiset) return "match=row_multiset compares key columns as they are: keys=plain";
    const bool in_place = (plan.transform == Transform::kNone && writes_columns(plan.gather)) ||
                          plan.transform == Transform::kWriteCombined;
    if (plan.keys == Keys::kPacked && key_count == 1 && in_place) {
      return "keys=packed of one column travel through partitions, and none are made";
    }
    return plan.keys == Keys::kHashed ? why_hashed_illegal(plan, key_count) : std::nullopt;
  }
  if (key_count == 1) return std::nullopt;
  if (plan.device == Device::kCpu) {
    if (plan.gather == Gather::kUntransformed) return std::nullopt;
    return "gather=transformed moves payloads with one key column; several need "
           "gather=untransformed";
  }
  if (multiset) return std::nullopt;
  return base::text(
      "match=%s compares one key column, or a code of several: keys=packed or hashed; as they are "
      "match=row_multiset compares them",
      to_text(plan.match));
}

}  // namespace gpujoin::plan
