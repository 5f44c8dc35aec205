#include "src/execute/asof.hpp"

#include <cstdlib>
#include <utility>
#include <vector>

#include "src/base/status.hpp"
#include "src/base/traffic.hpp"
#include "src/base/without_cuda.hpp"
#include "src/columns/validity_bits.hpp"
#include "src/cpu/asof.hpp"
#include "src/cpu/valid_rows.hpp"
#include "src/cpu/workers.hpp"
#include "src/execute/fetch_rows.hpp"
#include "src/execute/ordered_keys.hpp"
#include "src/execute/stage_clock.hpp"
#include "src/keys/derived_key.hpp"
#include "src/keys/value_kinds.hpp"
#include "src/plan/memory_of_device.hpp"

namespace gpujoin::execute {

namespace {

using columns::ColumnView;
using columns::Layout;
using columns::Relation;
using columns::Storage;
using kernels::AsofRule;

AsofRule rule_of(const columns::Asof& asof) {
  AsofRule rule;
  rule.direction = static_cast<kernels::AsofDirection>(asof.direction);
  rule.is_strict = asof.is_strict;
  rule.has_tolerance = asof.has_tolerance;
  rule.tolerance = static_cast<uint64_t>(asof.tolerance);
  rule.tolerance_float = asof.tolerance_float;
  return rule;
}

// Places and groups of both sides, and what they lie in.
class AsofInputs {
 public:
  AsofInputs(base::Queue& queue, const PlannedJoin& join)
      : queue_(queue), works_(queue), join_(join), device_(join.choice.plan().device) {
    left.relation = join.left.get();
    right.relation = join.right.get();
  }

  void find_places(AsofRule* rule) {
    columns::Asof const& asof = *join_.spec.asof;
    ColumnView const& left_column = column(*join_.left, asof.left_column);
    ColumnView const& right_column = column(*join_.right, asof.right_column);
    if (auto const bits = ordered_as_they_are(device_, left_column, right_column)) {
      // A relation's event is waited for by who reads it first.
      await_both();
      turned = *bits;
      left.places = left_column;
      right.places = right_column;
    } else {
      OrderedKeys made =
          order_keys(queue_, device_, {*join_.left, left_column}, {*join_.right, right_column});
      left.places = made.left;
      right.places = made.right;
      rule->greatest = made.greatest;
      rule->distance = distance_of(made.distance);
      rule->values = static_cast<const kernels::LongNumber*>(made.values.get());
      held_.push_back(std::move(made.values));
      held_.insert(held_.end(), made.held.begin(), made.held.end());
    }
    for (AsofInput* side : {&left, &right}) add_nullable(*side, side->places);
  }

  // One column of codes of each side, whatever the number of keys.
  void find_groups() {
    std::vector<int32_t> const& left_keys = join_.spec.left_keys;
    std::vector<int32_t> const& right_keys = join_.spec.right_keys;
    if (left_keys.empty()) return;
    CodedRows of_left{*join_.left, brought(left, left_keys), &held_};
    CodedRows of_right{*join_.right, brought(right, right_keys), &held_};
    for (ColumnView const& key : of_left.columns) add_nullable(left, key);
    for (ColumnView const& key : of_right.columns) add_nullable(right, key);
    if (left_keys.size() == 1) {
      left.keys = of_left.columns.front();
      right.keys = of_right.columns.front();
      return;
    }
    auto [left_codes, right_codes] = code_rows(queue_, works_, device_, of_left, of_right);
    left.keys = bring(*join_.left, left_codes);
    right.keys = bring(*join_.right, right_codes);
  }

  AsofInput left;
  AsofInput right;
  uint64_t turned = 0;

 private:
  static const ColumnView& column(const Relation& relation, int32_t number) {
    return relation.columns[static_cast<size_t>(number)];
  }
  static kernels::AsofDistance distance_of(CodeDistance distance) {
    switch (distance) {
      case CodeDistance::kFloats:
        return kernels::AsofDistance::kFloats;
      case CodeDistance::kRanks:
        return kernels::AsofDistance::kRanks;
      default:
        return kernels::AsofDistance::kUnits;
    }
  }
  ColumnWork& await_both() {
    base::Memory const memory = plan::memory_of(device_);
    works_.of(memory, join_.left->ready_event);
    return works_.of(memory, join_.right->ready_event);
  }
  ColumnView bring(const Relation& relation, const ColumnView& column) {
    return bring_column(queue_, await_both(), column, relation.rows, &held_);
  }
  std::vector<ColumnView> brought(const AsofInput& side, const std::vector<int32_t>& keys) {
    std::vector<ColumnView> found;
    for (int32_t const key : keys) {
      found.push_back(bring(*side.relation, column(*side.relation, key)));
    }
    return found;
  }
  static void add_nullable(AsofInput& side, const ColumnView& view) {
    if (view.validity != nullptr && side.relation->rows != 0) side.nullable.push_back(view);
  }

  base::Queue& queue_;
  Works works_;
  const PlannedJoin& join_;
  plan::Device device_;
  Held held_;
};

// Columns of one side by its row numbers, behind those that are there.
void fetch(base::Queue& queue, const PlannedJoin& join, bool left, bool ascends,
           columns::JoinResult& result) {
  auto const& wanted = left ? join.spec.left_columns : join.spec.right_columns;
  if (wanted.empty()) return;
  auto const locality =
      ascends ? base::traffic::Locality::kClustered : base::traffic::Locality::kRandom;
  FetchedRelation fetched(queue, left ? join.left : join.right, join.choice.plan().device);
  for (columns::ResultColumn& column :
       fetched.fetch("materialize", wanted, left ? result.left_rows : result.right_rows,
                     result.rows, locality, result.statistics.stages)) {
    result.columns.push_back(std::move(column));
  }
}

}  // namespace

#if !GPUJOIN_WITH_CUDA
AsofMatches asof_on_gpu(base::Queue&, const AsofInput&, const AsofInput&, uint64_t,
                        const AsofRule&) {
  base::fail_without_cuda();
}
#endif

AsofMatches asof_on_cpu(base::Queue& queue, const AsofInput& left, const AsofInput& right,
                        uint64_t turned, const AsofRule& rule) {
  cpu::Workers workers(queue);
  std::vector<base::Buffer> bits;
  auto const columns_of = [&](const AsofInput& side) {
    cpu::AsofColumns columns;
    columns.places = static_cast<const uint64_t*>(side.places.data);
    columns.turned = turned;
    columns.rows = static_cast<uint64_t>(side.relation->rows);
    if (side.keys) {
      columns.groups = side.keys->data;
      columns.group_width = side.keys->width;
    }
    if (side.nullable.empty()) return columns;
    std::vector<kernels::ValidityBits> validities;
    for (ColumnView const& view : side.nullable) validities.push_back(validity_of(view));
    bits.push_back(queue.host_pool->allocate_rows<uint64_t>(
        base::Memory::kHost, (columns.rows + 63) / 64, "rows that take part"));
    cpu::valid_in_all(workers, "transform", validities, columns.rows, bits.back().as<uint64_t>());
    columns.valid = bits.back().as<uint64_t>();
    return columns;
  };
  cpu::AsofColumns const of_left = columns_of(left);
  cpu::AsofColumns const of_right = columns_of(right);
  cpu::AsofPairs pairs = cpu::asof_pairs(queue, workers, of_left, of_right, rule);
  AsofMatches made;
  made.left = columns::make_storage(std::move(pairs.left));
  made.right = columns::make_storage(std::move(pairs.right));
  made.count = static_cast<int64_t>(pairs.count);
  // Those of the right side do where neither side was sorted.
  made.right_ascends = pairs.left_bits == 0 && pairs.right_bits == 0;
  made.order = std::string("left ") + cpu::to_text(pairs.left_order) + ", right " +
               cpu::to_text(pairs.right_order);
  made.bytes = plan::asof_traffic(of_left.rows, pairs.left_bits).bytes() +
               plan::asof_traffic(of_right.rows, pairs.right_bits).bytes();
  return made;
}

bool is_of_asof(columns::JoinKind kind) {
  using columns::JoinKind;
  switch (kind) {
    case JoinKind::kInner:
    case JoinKind::kLeft:
    case JoinKind::kRight:
    case JoinKind::kFull:
    case JoinKind::kLeftSemi:
    case JoinKind::kRightSemi:
    case JoinKind::kLeftAnti:
    case JoinKind::kRightAnti:
    case JoinKind::kLeftSingle:
      return true;
    default:
      return false;
  }
}

const char* why_not_ordered(const ColumnView& left, const ColumnView& right,
                            const columns::Asof& asof) {
  if (!have_order(left, right)) return "have no order among them";
  if (keys::values_of(left).layout == Layout::kBits) return "are of BOOL";
  bool const has_distance = asof.has_tolerance || asof.direction == GPUJOIN_DIRECTION_NEAREST;
  // What src/keys/ordered_key.cpp can bring to the same units.
  constexpr int32_t kMostScales = 77;
  int32_t const scales =
      keys::scale_of(keys::values_of(left)) - keys::scale_of(keys::values_of(right));
  if (has_distance && std::abs(scales) > kMostScales) {
    return "have scales too far apart for the distance of two values";
  }
  return nullptr;
}

bool are_floats(const ColumnView& left, const ColumnView& right) {
  return keys::is_float(keys::values_of(left).type) || keys::is_float(keys::values_of(right).type);
}

void asof(base::Queue& queue, const PlannedJoin& join, columns::JoinResult& result) {
  bool const cuda = join.choice.plan().device == plan::Device::kCuda;
  result.memory = plan::memory_of(join.choice.plan().device);
  plan::StageCost const& predicted = join.choice.predicted().front();
  AsofMatches matches;
  run_as_stage(queue, join.choice.plan().device, predicted, result.statistics.stages, [&] {
    AsofInputs inputs(queue, join);
    AsofRule rule = rule_of(*join.spec.asof);
    inputs.find_places(&rule);
    inputs.find_groups();
    auto const match = cuda ? asof_on_gpu : asof_on_cpu;
    matches = match(queue, inputs.left, inputs.right, inputs.turned, rule);
  });
  result.statistics.stages.back().technique += ": " + matches.order;
  result.statistics.stages.back().predicted_bytes = matches.bytes;
  result.rows = matches.count;
  result.left_rows = std::move(matches.left);
  result.right_rows = std::move(matches.right);
  fetch(queue, join, true, matches.left_ascends, result);
  fetch(queue, join, false, matches.right_ascends, result);
  result.has_pairs = join.spec.pairs;
  result.pair_sides = join.spec.pair_sides;
  if (!join.spec.left_rows()) result.left_rows = nullptr;
  if (!join.spec.right_rows()) result.right_rows = nullptr;
}

}  // namespace gpujoin::execute
