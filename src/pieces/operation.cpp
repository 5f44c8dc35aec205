#include "src/pieces/operation.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "src/base/queue.hpp"
#include "src/base/status.hpp"
#include "src/columns/join_kind.hpp"
#include "src/execute/execute.hpp"
#include "src/execute/no_room.hpp"
#include "src/execute/output_size.hpp"
#include "src/execute/promises.hpp"
#include "src/pieces/slice.hpp"

namespace gpujoin::pieces {

namespace {

using columns::JoinSpec;
using columns::RowOrder;

// Groups of rows of the probe side are whole when their piece was joined.
bool is_of_probe(columns::Groups groups, bool build_left) {
  return groups == (build_left ? columns::Groups::kRight : columns::Groups::kLeft);
}

}  // namespace

Operation::Operation(std::shared_ptr<const Build> build, const columns::Relation& probe_like,
                     JoinSpec spec, const OperationOptions& options)
    : context(build->context),
      interrupt(std::make_shared<base::Interrupt>()),
      build_(std::move(build)),
      probe_schema_(make_row_schema(
          probe_like, options.has_row_numbers && (spec.pairs || spec.caller_decides))),
      budget_(budget_of(*context, build_->shape().on_gpu)),
      rows_at_once_(budget_.part_bytes, Piece::kLeastRows),
      ready_(options.ready),
      ready_user_(options.ready_user),
      rest_(*context, budget_.rest_bytes, budget_.result_bytes, &progress.pieces_done) {
  bool const build_left = options.build_left;
  join_.context = context;
  join_.spec = std::move(spec);
  promised_ = join_.spec.bounds;
  // Of pieces they would be other promises.
  join_.spec.bounds.promises &= GPUJOIN_PROMISE_ROWS;
  join_.options = options.plan;
  join_.options.build_side = build_left ? GPUJOIN_SIDE_LEFT : GPUJOIN_SIDE_RIGHT;
  join_.options.device = build_->shape().on_gpu ? GPUJOIN_DEVICE_CUDA : GPUJOIN_DEVICE_CPU;
  join_.build_left = build_left;
  join_.decider = options.decider;
  join_.pieces = &progress.pieces;
  join_.pieces_done = &progress.pieces_done;
  // Results of other probes are there, too. Who decides is not asked twice.
  bool const is_limited = !build_->shape().on_gpu && budget_.part_bytes != 0;
  if (is_limited && join_.decider == nullptr) join_.rows_at_once = &rows_at_once_;
  join_.has_left_numbers =
      build_left ? build_->shape().has_row_numbers : probe_schema_->has_row_numbers;
  join_.has_right_numbers =
      build_left ? probe_schema_->has_row_numbers : build_->shape().has_row_numbers;
  auto const probe_none = relation_of(*probe_schema_, join_.context);
  join_.left_none = build_left ? build_->none() : probe_none;
  join_.right_none = build_left ? probe_none : build_->none();
  check_build();
  check_spec();
  check_types();
  check_least_limits(*context, build_->shape().on_gpu, *probe_schema_);
  if (join_.spec.order == RowOrder::kProbe) {
    join_.spec.order = build_left ? RowOrder::kRight : RowOrder::kLeft;
  }
  rest_.add_phase([this](base::Queue& queue) { begin_rest(queue); });
  make_filters(options);
  if (promised_.promises != 0) {
    promises_ = std::make_unique<ProbePromises>(join_, promised_, build_->store().shape());
  }
  if (is_streamed()) {
    base::LeasedQueue const queue(*context, end());
    if (execute::is_unique_promised(promised_, build_left)) {
      build_->check_unique(*queue, promised_side(join_, build_left));
    }
    for (auto const& rows : build_->parts()) {
      parts_.push_back(piece_of(*queue, join_, build_left, rows));
      parts_.back().kept = std::make_shared<KeptPart>(build_->seen_keys());
    }
    return;
  }
  StoreShape shape = build_->store().shape();
  shape.schema = probe_schema_;
  bool const has_keys = !shape.keys.empty();
  shape.keys = build_left ? join_.spec.right_keys : join_.spec.left_keys;
  if (!has_keys) shape.keys.clear();
  kept_ = std::make_shared<RowStore>(std::move(shape));
  if (has_keys) kept_->begin_partitions();
  if (StayingPartitions::suit(join_, *build_, *kept_)) {
    staying_ = std::make_unique<StayingPartitions>(join_, budget_, *build_, kept_.get());
  }
}

base::CallEnd Operation::end() const { return {interrupt, 0, deadline()}; }

base::CallEnd::Clock::time_point Operation::deadline() const {
  return base::deadline_in(join_.options.timeout_milliseconds);
}

void Operation::check_build() const {
  auto const refuse = [](const char* argument, const char* what) {
    base::fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s: %s", argument, what);
  };
  JoinSpec const& spec = join_.spec;
  bool const build_left = join_.build_left;
  BuildShape const& build = build_->shape();
  if ((build_left ? spec.left_keys : spec.right_keys) != build.keys) {
    refuse(build_left ? "spec.left_keys" : "spec.right_keys", "not the keys of the build");
  }
  auto const flag_of = [](const std::vector<int32_t>& flags, size_t key) {
    return key < flags.size() ? flags[key] : 0;
  };
  for (size_t key = 0; key < build.keys.size(); ++key) {
    if (flag_of(spec.key_flags, key) != flag_of(build.key_flags, key)) {
      refuse("spec.key_flags", "not those of the build");
    }
  }
  for (bool const left : {true, false}) {
    bool const has_numbers = left ? join_.has_left_numbers : join_.has_right_numbers;
    if (!spec.pairs || has_numbers) continue;
    if (columns::rows_of(spec.kind, left) == columns::RowsOfSide::kNone) continue;
    refuse("spec.output", left == build_left
                              ? "GPUJOIN_OUTPUT_PAIRS, and the build has no row numbers"
                              : "GPUJOIN_OUTPUT_PAIRS, and options.has_row_numbers is 0");
  }
}

void Operation::check_spec() const {
  JoinSpec const& spec = join_.spec;
  auto const refuse = [](const char* what) {
    base::fail(GPUJOIN_ERROR_UNSUPPORTED, "spec.%s", what);
  };
  bool const build_left = join_.build_left;
  if (spec.caller_decides != (join_.decider != nullptr)) {
    base::fail(GPUJOIN_ERROR_INVALID_ARGUMENT,
               spec.caller_decides ? "options.decide: required by a residual of the caller's"
                                   : "options.decide: spec.residual is not the caller's");
  }
  if (spec.asof && build_left) refuse("asof: the build side of an operation is the right one");
  if (execute::is_sorted_promised(promised_, build_left)) {
    refuse("promises: of the build side's keys to be sorted, and its rows have no order");
  }
  if (!spec.aggregates.empty() && !is_of_probe(spec.groups, build_left)) {
    refuse("group_side: groups of an operation are rows of its probe side");
  }
  RowOrder const probe_order = build_left ? RowOrder::kRight : RowOrder::kLeft;
  bool const in_order = spec.order != RowOrder::kNone;
  if (in_order && spec.order != RowOrder::kProbe && spec.order != probe_order) {
    refuse("order: rows of an operation come in the order of its probe side, or in any");
  }
  if (!can_cut_part(join_) && build_->is_whole() && build_->parts().size() > 1) {
    refuse(spec.asof ? "asof: the build side has more text than one relation"
                     : "aggregates: the build side has more text than one relation");
  }
  if (build_->is_whole()) return;
  if (in_order) refuse("order: the build side does not fit into memory, and is joined in parts");
}

// What no row tells, where none is joined: a plan of sides without rows says what does not go
// together. It takes some microseconds, which joins of equal types by keys alone do without.
void Operation::check_types() const {
  JoinSpec const& spec = join_.spec;
  bool is_plain = spec.residual == nullptr && !spec.asof && spec.aggregates.empty();
  for (size_t key = 0; key < spec.left_keys.size() && is_plain; ++key) {
    auto const& left = join_.left_none->columns[static_cast<size_t>(spec.left_keys[key])];
    auto const& right = join_.right_none->columns[static_cast<size_t>(spec.right_keys[key])];
    is_plain = left.type == right.type && left.arrow_format == right.arrow_format;
  }
  if (is_plain) return;
  base::LeasedQueue const queue(*context, end());
  execute::make_plan(*queue, join_.left_none, join_.right_none, spec, join_.options, false);
}

void Operation::make_filters(const OperationOptions& options) {
  const char* why_not = nullptr;
  if (!can_drop_probe_rows(join_.spec, join_.build_left)) {
    why_not = "rows of the probe side without a match count in this join";
  } else if (execute::is_unique_promised(promised_, !join_.build_left)) {
    why_not = "keys of all rows of the probe side are promised to be unique";
  } else if (options.own_filter == OwnFilter::kOff) {
    why_not = "options.own_filter says so";
  } else if (options.own_filter == OwnFilter::kAutomatic && is_streamed() &&
             build_->shape().on_gpu) {
    why_not = "the build fits, and rows are joined as they come";
  } else if (options.own_filter == OwnFilter::kAutomatic && !is_streamed() &&
             budget_.store_bytes == 0) {
    // Making it takes longer than memory takes to keep the rows that it would drop.
    why_not = "host memory has no limit, and no row goes to a file";
  }
  if (why_not != nullptr && options.own_filter == OwnFilter::kOn) {
    base::fail(GPUJOIN_ERROR_UNSUPPORTED, "options.own_filter is ON: %s", why_not);
  }
  filters_ = std::make_unique<RowFilters>(
      build_, join_.build_left ? join_.spec.right_keys : join_.spec.left_keys, options.filters,
      options.own_filter, why_not, end());
}

void Operation::keep(const std::shared_ptr<const columns::Relation>& batch, int64_t first_row,
                     const base::CallEnd& end) {
  append_batch(*context, batch, first_row, kept_.get(), end);
  if (staying_ == nullptr) {
    progress.bytes_in = kept_->appended_bytes();
  } else {
    progress.bytes_in += static_cast<uint64_t>(batch->rows) * bytes_of_row(*probe_schema_);
  }
}

bool Operation::takes_as_it_lies(const columns::Relation& batch) const {
  return joins_as_they_come() && build_->shape().on_gpu && !probe_schema_->has_row_numbers &&
         is_read_where_it_lies(batch) && (is_streamed() || kept_->takes_where_it_lies(batch));
}

std::shared_ptr<const columns::Relation> Operation::meeting_rows(
    const std::shared_ptr<const columns::Relation>& piece, const base::CallEnd& end) {
  return is_streamed() ? piece : staying_->meeting(piece, end);
}

int64_t Operation::rows_of_piece() const {
  constexpr int64_t kMostRows = int64_t{1} << 23;
  return is_streamed() ? kMostRows : std::min(kMostRows, kept_->rows_of_block());
}

// Of rows that are looked up in a kept table of the CPU a megabyte, and what comes of it, is still
// in a cache when it is read. Joins that begin anew with each piece take more at a time.
uint64_t Operation::bytes_of_piece() const {
  constexpr uint64_t kCachedBytes = uint64_t{1} << 20;
  bool const meets_table = is_streamed() && !build_->shape().on_gpu && meets_kept_table(join_);
  return meets_table ? std::min(budget_.block_bytes, kCachedBytes) : budget_.block_bytes;
}

uint64_t Operation::spilled_bytes() const {
  uint64_t const of_keys = promises_ == nullptr ? 0 : promises_->written_bytes();
  return build_->size().spilled_bytes + (kept_ == nullptr ? 0 : kept_->written_bytes()) + of_keys;
}

void Operation::count_joined(int64_t rows, int64_t results) {
  columns::RowsOfSide const of_probe = columns::rows_of(join_.spec.kind, !join_.build_left);
  bool const tells = of_probe == columns::RowsOfSide::kMatched ||
                     (of_probe == columns::RowsOfSide::kPairs && parts_.size() == 1 &&
                      parts_.front().kept != nullptr && parts_.front().kept->has_unique_keys());
  if (is_streamed()) filters_->count_joined(rows, tells ? std::optional(results) : std::nullopt);
}

void Operation::count(const columns::JoinResult& result) {
  int64_t const rows = progress.rows_out.fetch_add(result.rows) + result.rows;
  uint64_t const more = execute::bytes_of_result(result);
  execute::check_bounds(join_.spec.bounds, rows, progress.bytes_out.fetch_add(more) + more);
}

void Operation::tell_if_ready(std::unique_lock<std::mutex> lock) noexcept {
  if (!is_closed_ || probes_ != 0) return;
  auto* const ready = std::exchange(ready_, nullptr);
  lock.unlock();
  if (ready != nullptr) ready(ready_user_);
}

void Operation::close() {
  std::unique_lock lock(mutex_);
  is_closed_ = true;
  tell_if_ready(std::move(lock));
}

void Operation::begin_probe() {
  std::lock_guard const lock(mutex_);
  if (is_closed_) base::fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "operation is closed");
  ++probes_;
}

void Operation::end_probe(bool is_complete) {
  std::unique_lock lock(mutex_);
  --probes_;
  if (!is_complete) is_incomplete_ = true;
  tell_if_ready(std::move(lock));
}

void Operation::check_complete() const {
  if (!is_incomplete_) return;
  base::fail(GPUJOIN_ERROR_INVALID_ARGUMENT,
             "operation: a probe failed, or was destroyed before it was finished");
}

Found Operation::next(std::unique_ptr<columns::JoinResult>* result) {
  base::CallEnd const end = this->end();
  {
    std::lock_guard const lock(mutex_);
    end.check();
    check_complete();
    if (!is_closed_ || probes_ != 0) return Found::kNothingYet;
  }
  *result = rest_.next(end);
  if (*result == nullptr) return Found::kFinished;
  try {
    count(**result);
  } catch (...) {
    rest_.fail(std::current_exception());
    throw;
  }
  return Found::kResult;
}

}  // namespace gpujoin::pieces
