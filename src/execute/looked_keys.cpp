#include "src/execute/looked_keys.hpp"

namespace gpujoin::execute {

namespace {

uint64_t turned(int64_t key, int32_t width) {
  return width == 4 ? kernels::turn_sign(static_cast<uint32_t>(key))
                    : kernels::turn_sign(static_cast<uint64_t>(key));
}

}  // namespace

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
