#include "src/execute/looked_keys.hpp"

#include <algorithm>

namespace gpujoin::execute {

namespace {

uint64_t turned(int64_t key, int32_t width) {
  return width == 4 ? kernels::turn_sign(static_cast<uint32_t>(key))
                    : kernels::turn_sign(static_cast<uint64_t>(key));
}

// Beyond the lowest of n keys that were drawn lies one in n of all, likely. varying: bits in which
// they differ, as far as is known.
kernels::KeyRange and_some_beyond(const plan::KeyRange& drawn, int32_t width, uint64_t varying) {
  constexpr uint64_t kDraws = 512;  // a twentieth of them, at most
  kernels::KeyRange range;
  range.any = varying;
  range.all = 0;
  range.low = turned(drawn.low, width);
  range.high = turned(drawn.high, width);
  if (drawn.exact) return range;
  uint64_t const step = varying == 0 ? 1 : varying & (~varying + 1);
  uint64_t const beyond = (range.high - range.low) / kDraws / step * step;
  uint64_t const highest = width == 4 ? UINT32_MAX : UINT64_MAX;
  range.low -= std::min<uint64_t>(beyond, range.low / step * step);
  range.high += std::min<uint64_t>(beyond, highest - range.high);
  return range;
}

}  // namespace

std::optional<transform::ExpectedRanges> expected_ranges(const PlannedJoin& join,
                                                         const plan::JoinPlan& plan,
                                                         int32_t key_width) {
  plan::SampleStatistics const& sample = join.choice.sample;
  auto const has_keys = [](plan::KeyRange const& range) { return range.low <= range.high; };
  bool const is_known = sample.sampled && plan.keys == plan::Keys::kPlain &&
                        has_keys(sample.build_range) && has_keys(sample.probe_range);
  if (!is_known) return std::nullopt;
  bool const as_looked = plan.build_side == plan::build_side_of(join.request);
  auto const range_of = [&](bool of_build) {
    // Nobody saw in which bits keys of the other side differ.
    return of_build == as_looked ? and_some_beyond(sample.build_range, key_width,
                                                   of_build ? sample.build_varying : UINT64_MAX)
                                 : and_some_beyond(sample.probe_range, key_width, UINT64_MAX);
  };
  return transform::ExpectedRanges{range_of(true), range_of(false)};
}

const plan::KeyRange* drawn_range(const PlannedJoin& join, const plan::JoinPlan& plan) {
  plan::SampleStatistics const& sample = join.choice.sample;
  bool const is_scanned = sample.counted && plan.build_side == plan::build_side_of(join.request);
  return is_scanned && plan.keys == plan::Keys::kPlain ? &sample.build_range : nullptr;
}

std::optional<SeenKeys> keys_seen_by_look(const PlannedJoin& join, const plan::JoinPlan& plan) {
  plan::KeyRange const* const range = drawn_range(join, plan);
  bool const is_known = range != nullptr && range->exact && range->low <= range->high;
  if (!is_known || join.choice.sample.build_in_order) return std::nullopt;
  bool const left = plan.build_side == plan::Side::kLeft;
  columns::Relation const& relation = left ? *join.left : *join.right;
  int32_t const key = (left ? join.spec.left_keys : join.spec.right_keys).front();
  columns::ColumnView const& column = relation.columns[static_cast<size_t>(key)];
  if (column.memory != base::Memory::kDevice || column.validity != nullptr) return std::nullopt;
  SeenKeys seen;
  seen.keys = column.data;
  seen.rows = static_cast<uint64_t>(relation.rows);
  seen.range.any = join.choice.sample.build_varying;
  seen.range.all = 0;
  seen.range.low = turned(range->low, column.width);
  seen.range.high = turned(range->high, column.width);
  return seen;
}

}  // namespace gpujoin::execute
