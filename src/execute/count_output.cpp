#include "src/execute/count_output.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "src/base/status.hpp"
#include "src/columns/selection.hpp"
#include "src/execute/late_columns.hpp"
#include "src/execute/output_size.hpp"
#include "src/execute/row_marks.hpp"
#include "src/plan/memory_of_device.hpp"

namespace gpujoin::execute {

namespace {

using columns::JoinKind;
using columns::JoinSpec;
using columns::PairSides;
using columns::Storage;

// Kinds whose rows, one after the other, are those of the kind.
std::vector<JoinKind> parts_of(const JoinSpec& asked) {
  if (asked.asof) return {asked.kind};
  switch (asked.kind) {
    case JoinKind::kLeft:
      return {JoinKind::kInner, JoinKind::kLeftAnti};
    case JoinKind::kRight:
      return {JoinKind::kInner, JoinKind::kRightAnti};
    case JoinKind::kFull:
      return {JoinKind::kInner, JoinKind::kLeftAnti, JoinKind::kRightAnti};
    default:
      return {asked.kind};
  }
}

class OutputCounter {
 public:
  OutputCounter(base::Queue& queue, const PlannedJoin& join, bool with_bytes)
      : queue_(queue),
        join_(join),
        left_(join.given->left),
        right_(join.given->right),
        asked_(join.given->spec),
        size_(row_size_of(*left_, *right_, asked_)),
        memory_(plan::memory_of(join.choice.plan().device)) {
    if (!with_bytes) size_.texts.clear();
  }

  OutputCount count() {
    if (asked_.kind == JoinKind::kCross) {
      count_cross();
    } else {
      for (JoinKind const kind : parts_of(asked_)) count_part(kind);
    }
    OutputCount counted{rows_, size_.bytes_of(static_cast<uint64_t>(rows_))};
    if (__builtin_add_overflow(counted.bytes, text_bytes_, &counted.bytes)) {
      counted.bytes = UINT64_MAX;
    }
    return counted;
  }

 private:
  bool has_text(bool left) const {
    for (OutputText const& text : size_.texts) {
      if (text.of_left == left) return true;
    }
    return false;
  }

  // relation: which the numbers count. times: how often each of the rows comes out.
  void add_text(bool left, const columns::Relation& relation, const Storage& numbers, int64_t rows,
                base::Memory memory, uint64_t times = 1) {
    for (OutputText const& text : size_.texts) {
      if (text.of_left != left) continue;
      uint64_t bytes = text_bytes_of(queue_, memory, relation, text.column, numbers, rows);
      bool const is_too_much = __builtin_mul_overflow(bytes, times, &bytes) ||
                               __builtin_add_overflow(text_bytes_, bytes, &text_bytes_);
      if (is_too_much) text_bytes_ = UINT64_MAX;
    }
  }

  void count_cross() {
    int64_t const left_rows = left_->rows;
    int64_t const right_rows = right_->rows;
    if (__builtin_mul_overflow(left_rows, right_rows, &rows_)) {
      base::fail(GPUJOIN_ERROR_TOO_MANY_ROWS, "a cross join of %lld and %lld rows",
                 static_cast<long long>(left_rows), static_cast<long long>(right_rows));
    }
    for (bool const left : {true, false}) {
      if (!has_text(left)) continue;
      int64_t const rows = left ? left_rows : right_rows;
      Storage const all =
          columns::make_storage(make_row_marks(queue_, memory_, rows)->unmarked().numbers);
      // Of picked rows those that the plan has.
      add_text(left, left ? *join_.left : *join_.right, all, rows, memory_,
               static_cast<uint64_t>(left ? right_rows : left_rows));
    }
  }

  JoinSpec spec_of(JoinKind kind) const {
    JoinSpec spec = asked_;
    spec.kind = kind;
    spec.left_columns.clear();
    spec.right_columns.clear();
    spec.materialize = true;
    spec.order = columns::RowOrder::kNone;
    spec.bounds = {};  // promises of keys were checked with the plan, those of rows are not meant
    bool const of_left = has_text(true) && !comes_alone(columns::rows_of(kind, false));
    bool const of_right = has_text(false) && !comes_alone(columns::rows_of(kind, true));
    spec.pairs = of_left || of_right;
    if (kind == JoinKind::kInner && of_left != of_right) {
      spec.pair_sides = of_left ? PairSides::kLeft : PairSides::kRight;
    }
    return spec;
  }

  void count_part(JoinKind kind) {
    gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
    plan::JoinPlan const& plan = join_.choice.plan();
    options.device = static_cast<gpujoin_device>(plan.device);
    if (plan.transfer == plan::Transfer::kProbeChunks) {
      options.transfer = GPUJOIN_TRANSFER_PROBE_CHUNKS;
      options.build_side = join_.request.options.build_side;
      options.probe_chunk_rows = join_.request.options.probe_chunk_rows;
    }
    auto const found =
        execute(queue_, make_plan(queue_, left_, right_, spec_of(kind), options, false));
    rows_ += found->rows;
    for (bool const left : {true, false}) {
      if (!(left ? found->has_left_rows() : found->has_right_rows())) continue;
      add_text(left, *columns::as_registered(left ? left_ : right_),
               left ? found->left_rows : found->right_rows, found->rows, found->memory);
    }
  }

  base::Queue& queue_;
  const PlannedJoin& join_;
  const std::shared_ptr<const columns::Relation>& left_;
  const std::shared_ptr<const columns::Relation>& right_;
  const JoinSpec& asked_;
  RowSize size_;
  base::Memory memory_;
  int64_t rows_ = 0;
  uint64_t text_bytes_ = 0;
};

}  // namespace

OutputCount count_output(base::Queue& queue, const PlannedJoin& join, bool with_bytes) {
  if (join.asked().caller_decides) {
    base::fail(GPUJOIN_ERROR_UNSUPPORTED,
               "plan: which of its candidates match the caller has not decided");
  }
  if (join.grouped) {
    PlannedJoin unlimited = join;
    unlimited.bounds.row_limit = 0;
    unlimited.bounds.byte_limit = 0;
    auto const groups = execute(queue, unlimited);
    return {groups->rows, bytes_of_result(*groups)};
  }
  return OutputCounter(queue, join, with_bytes).count();
}

}  // namespace gpujoin::execute
