#include "src/execute/range_task.hpp"

#include <algorithm>
#include <vector>

#include "src/base/copy.hpp"
#include "src/execute/fetch_rows.hpp"
#include "src/execute/host_bits.hpp"
#include "src/execute/ordered_keys.hpp"
#include "src/execute/row_marks.hpp"
#include "src/execute/travellers.hpp"
#include "src/plan/memory_of_device.hpp"

namespace gpujoin::execute {

namespace {

using base::Memory;
using columns::ColumnView;
using columns::MarkedSide;
using columns::Relation;

// A row of the ranged side is looked up: matches are neighbours where that is possible at all.
// Longer runs are written faster; of two orders the smaller side has fewer levels.
bool should_range_left(const Inequalities& inequalities, const Relation& left,
                       const Relation& right) {
  if (inequalities.one_right_column()) return true;
  if (inequalities.one_left_column()) return false;
  bool const right_is_larger = left.rows <= right.rows;
  return inequalities.taken.size() == 2 ? !right_is_larger : right_is_larger;
}

columns::CodeColumn codes_of(const ColumnView& codes) {
  return {static_cast<const uint64_t*>(codes.data), validity_of(codes)};
}

columns::Inequality as_ranged(const ColumnInequality& taken, const OrderedKeys& keys,
                              bool ranged_is_left) {
  columns::Inequality made;
  made.ranged = codes_of(ranged_is_left ? keys.left : keys.right);
  made.sorted = codes_of(ranged_is_left ? keys.right : keys.left);
  made.sorted_is_less = taken.left_is_less != ranged_is_left;
  made.or_equal = taken.or_equal;
  return made;
}

OrderedKeys keys_of(base::Queue& queue, plan::Device device, const ColumnInequality& taken,
                    const Relation& left, const Relation& right) {
  return order_keys(queue, device, {left, left.columns[static_cast<size_t>(taken.left)]},
                    {right, right.columns[static_cast<size_t>(taken.right)]});
}

}  // namespace

RangeTask range_task_of(const PlannedJoin& join) {
  columns::JoinSpec const& spec = join.spec;
  RangeTask task;
  task.inequalities = inequalities_of(*join.asked().residual, *join.left, *join.right);
  task.is_evaluated = !task.inequalities.is_all || task.inequalities.with_unknown;
  task.is_marked = spec.marked != MarkedSide::kNone;
  task.ranged_is_left = should_range_left(task.inequalities, *join.left, *join.right);
  bool const marks_left = spec.marked == MarkedSide::kLeft;
  // Rows that are marked need no second match, and of plain inequalities none at all. But pairs
  // that are neighbours are few.
  bool const are_few = task.is_evaluated && (task.inequalities.one_left_column() ||
                                             task.inequalities.one_right_column());
  if (task.is_marked && !are_few) task.ranged_is_left = marks_left;
  task.marks_ranged = task.is_marked && marks_left == task.ranged_is_left;
  auto const comes_once = [&](bool left) {
    return rows_of(join.asked(), left) == columns::RowsOfSide::kSingle;
  };
  task.once_ranged = comes_once(task.ranged_is_left);
  task.once_sorted = comes_once(!task.ranged_is_left);
  task.problem.one_order = task.ranged_is_left ? task.inequalities.one_right_column()
                                               : task.inequalities.one_left_column();
  return task;
}

plan::PairSearch search_of(const RangeTask& task) {
  if (task.is_nested_loop()) return plan::PairSearch::kNestedLoop;
  bool const is_one = task.inequalities.taken.size() == 1 || task.problem.one_order;
  return is_one ? plan::PairSearch::kNeighbours : plan::PairSearch::kLevels;
}

void make_codes(base::Queue& queue, const PlannedJoin& join, plan::Device device, RangeTask* task) {
  task->problem.ranged_rows = static_cast<uint64_t>(task->ranged(join)->rows);
  task->problem.sorted_rows = static_cast<uint64_t>(task->sorted(join)->rows);
  for (ColumnInequality const& taken : task->inequalities.taken) {
    auto keys =
        std::make_shared<OrderedKeys>(keys_of(queue, device, taken, *join.left, *join.right));
    task->problem.inequalities.push_back(as_ranged(taken, *keys, task->ranged_is_left));
    task->held.push_back(std::move(keys));
  }
}

namespace {

constexpr int64_t kSampleRows = 512;

// Some rows of a column, evenly spread, where it lies.
class SampledColumn {
 public:
  SampledColumn(base::Queue& queue, const std::shared_ptr<const Relation>& relation, int32_t column,
                plan::Device device) {
    int64_t const rows = std::min(relation->rows, kSampleRows);
    std::vector<uint32_t> numbers(static_cast<size_t>(rows));
    for (int64_t i = 0; i < rows; ++i) {
      numbers[static_cast<size_t>(i)] = static_cast<uint32_t>(i * relation->rows / rows);
    }
    Memory const memory = plan::memory_of(device);
    std::vector<columns::StageStatistics> stages;
    FetchedRelation fetched(queue, relation, device);
    columns_ = fetched.fetch("sample", {column},
                             columns::make_storage(row_numbers_in(queue, memory, numbers)), rows,
                             base::traffic::Locality::kRandom, stages);
    relation_.context = relation->context;
    relation_.rows = rows;
    relation_.columns = {view_of(columns_.front(), memory)};
  }
  const Relation& relation() const { return relation_; }

 private:
  std::vector<columns::ResultColumn> columns_;
  Relation relation_;
};

std::vector<uint64_t> values_on_host(base::Queue& queue, const ColumnView& codes, int64_t rows) {
  std::vector<uint64_t> values(static_cast<size_t>(rows));
  base::copy(queue, values.data(), Memory::kHost, codes.data, codes.memory,
             values.size() * sizeof(uint64_t));
  base::finish(queue);
  return values;
}

// Pairs of the sample that fulfil one inequality are left in `pairs`.
void keep_fulfilled(base::Queue& queue, plan::Device device, const ColumnInequality& taken,
                    const SampledColumn& left, const SampledColumn& right,
                    std::vector<uint8_t>* pairs) {
  ColumnInequality const first{0, 0, taken.left_is_less, taken.or_equal};
  OrderedKeys const keys = keys_of(queue, device, first, left.relation(), right.relation());
  int64_t const left_rows = left.relation().rows;
  int64_t const right_rows = right.relation().rows;
  auto const lefts = values_on_host(queue, keys.left, left_rows);
  auto const rights = values_on_host(queue, keys.right, right_rows);
  HostBits const left_valid = validity_on_host(queue, keys.left, left_rows);
  HostBits const right_valid = validity_on_host(queue, keys.right, right_rows);
  for (size_t i = 0; i < lefts.size(); ++i) {
    uint8_t* const of_left = pairs->data() + i * rights.size();
    for (size_t k = 0; k < rights.size(); ++k) {
      bool const is_less = taken.left_is_less ? lefts[i] < rights[k] : lefts[i] > rights[k];
      bool const is_equal = taken.or_equal && lefts[i] == rights[k];
      bool const is_there =
          left_valid.is_set(static_cast<int64_t>(i)) && right_valid.is_set(static_cast<int64_t>(k));
      of_left[k] &= is_there && (is_less || is_equal) ? 1 : 0;
    }
  }
}

}  // namespace

std::optional<double> share_of_pairs(base::Queue& queue, const PlannedJoin& join,
                                     const Inequalities& inequalities) {
  // Of fewer, the join takes no longer than this.
  constexpr double kLeastPairs = 1e7;
  double const product =
      static_cast<double>(join.left->rows) * static_cast<double>(join.right->rows);
  if (product < kLeastPairs || inequalities.taken.empty()) return std::nullopt;
  Memory const memory =
      join.left->columns[static_cast<size_t>(inequalities.taken.front().left)].memory;
  bool const on_device = memory == Memory::kDevice;
  plan::Device const device = plan::device_of(memory);
  for (ColumnInequality const& taken : inequalities.taken) {
    for (ColumnView const* column : {&join.left->columns[static_cast<size_t>(taken.left)],
                                     &join.right->columns[static_cast<size_t>(taken.right)]}) {
      if ((column->memory == Memory::kDevice) != on_device) return std::nullopt;
      if (column->layout != columns::Layout::kValues) return std::nullopt;
    }
  }
  size_t const pairs = static_cast<size_t>(std::min(join.left->rows, kSampleRows) *
                                           std::min(join.right->rows, kSampleRows));
  std::vector<uint8_t> fulfilled(pairs, 1);
  for (ColumnInequality const& taken : inequalities.taken) {
    keep_fulfilled(queue, device, taken, SampledColumn(queue, join.left, taken.left, device),
                   SampledColumn(queue, join.right, taken.right, device), &fulfilled);
  }
  auto const found = std::count(fulfilled.begin(), fulfilled.end(), uint8_t{1});
  // What no pair of the sample fulfils, one of as many may.
  return static_cast<double>(std::max<int64_t>(found, 1)) / static_cast<double>(pairs);
}

}  // namespace gpujoin::execute
