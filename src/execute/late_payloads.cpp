#include "src/execute/late_payloads.hpp"

#include <algorithm>
#include <vector>

#include "src/columns/selection.hpp"
#include "src/execute/order_rows.hpp"
#include "src/execute/row_picker.hpp"
#include "src/execute/sequence_layout.hpp"
#include "src/execute/without_equality.hpp"
#include "src/plan/late_rule.hpp"

namespace gpujoin::execute {

namespace {

using columns::ColumnView;
using columns::JoinSpec;
using columns::Relation;

const ColumnView& view(const Relation& relation, int32_t column) {
  return relation.columns[static_cast<size_t>(column)];
}

plan::SideRows rows_of_side(const Relation& relation) {
  plan::SideRows rows;
  rows.registered = rows.picked = static_cast<uint64_t>(relation.rows);
  for (const Relation* of = &relation; of->selection != nullptr; of = of->selection->of.get()) {
    rows.registered = static_cast<uint64_t>(of->selection->of->rows);
  }
  return rows;
}

// Whether the executor has what the join reads. A column from elsewhere is brought as a whole to be
// fetched from, and of a side in chunks there is no row number that counts all of it.
bool lies_there(const Relation& relation, const JoinSpec& spec, bool left, plan::Device device) {
  auto const is_there = [&](int32_t column) {
    return is_device(view(relation, column).memory) == (device == plan::Device::kCuda);
  };
  auto const& keys = left ? spec.left_keys : spec.right_keys;
  auto const& wanted = left ? spec.left_columns : spec.right_columns;
  return std::all_of(keys.begin(), keys.end(), is_there) &&
         std::all_of(wanted.begin(), wanted.end(), is_there);
}

bool puts_out_rows(const Relation& relation, const std::vector<int32_t>& wanted) {
  return std::any_of(wanted.begin(), wanted.end(), [&](int32_t column) {
    return !columns::is_moved_as_values(view(relation, column).layout);
  });
}

// Whether what comes out of a side goes with the matches of its keys.
bool is_by_keys(const JoinSpec& spec) {
  return spec.kind != columns::JoinKind::kCross && !is_without_equality(spec) && !spec.asof &&
         spec.aggregates.empty();
}

void take_out(const std::vector<bool>& late, SideOfJoin* side) {
  std::vector<int32_t> kept;
  for (size_t i = 0; i < late.size(); ++i) {
    int32_t const column = side->payloads[i];
    if (!late[i]) {
      kept.push_back(column);
      continue;
    }
    auto& copied = side->columns;
    copied.erase(std::remove(copied.begin(), copied.end(), column), copied.end());
    ++side->late;
  }
  side->payloads = std::move(kept);
  side->numbers = side->numbers || side->late != 0;
}

}  // namespace

SidesOfJoin sides_of(const Relation& left, const Relation& right, const JoinSpec& spec,
                     const gpujoin_plan_options& options, plan::Device device,
                     const base::DeviceFacts& facts) {
  SidesOfJoin sides{side_of(left, spec, true), side_of(right, spec, false)};
  if (!is_by_keys(spec) || options.transfer == GPUJOIN_TRANSFER_PROBE_CHUNKS ||
      !lies_there(left, spec, true, device) || !lies_there(right, spec, false, device)) {
    return sides;
  }
  for (bool const of_left : {true, false}) {
    Relation const& relation = of_left ? left : right;
    SideOfJoin& side = of_left ? sides.left : sides.right;
    if (relation.selection == nullptr || relation.rows == 0) continue;
    if (is_masked(relation, side, device)) continue;
    plan::PickedPayloads payloads;
    payloads.side = rows_of_side(relation);
    payloads.expected_rows = plan::expected_rows(
        payloads.side, rows_of_side(of_left ? right : left), columns::rows_of(spec, of_left));
    side.payloads = distinct(side.payloads);
    for (int32_t const column : side.payloads) {
      ColumnView const& payload = view(relation, column);
      payloads.widths.push_back(payload.width + (payload.validity != nullptr ? 1 : 0));
    }
    payloads.are_rows_put_out = spec.pairs || spec.caller_decides || orders_pairs(spec) ||
                                puts_out_rows(left, spec.left_columns) ||
                                puts_out_rows(right, spec.right_columns);
    payloads.may_miss = columns::comes_unmatched(columns::rows_of(spec, !of_left));
    take_out(plan::are_late(payloads, facts), &side);
  }
  return sides;
}

}  // namespace gpujoin::execute
