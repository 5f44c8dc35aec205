#include "src/pieces/probe.hpp"

#include <algorithm>
#include <utility>

#include "src/base/queue.hpp"
#include "src/base/status.hpp"
#include "src/columns/selection.hpp"
#include "src/pieces/slice.hpp"

namespace gpujoin::pieces {

namespace {

// Pieces that wait: enough that one is there while another one is joined.
constexpr size_t kMostWaiting = 4;

}  // namespace

Probe::Probe(std::shared_ptr<Operation> operation)
    : context(operation->context), operation_(std::move(operation)) {
  operation_->begin_probe();
}

Probe::~Probe() { leave(is_finished_ && waiting_.empty() && !current_ && !failed_); }

void Probe::leave(bool is_complete) noexcept {
  if (std::exchange(has_ended_, true)) return;
  operation_->end_probe(is_complete);
}

// Calls on a probe come one after the other; one that fails is the last.
template <typename Call>
auto Probe::guarded(const Call& call) {
  base::CallEnd const end = operation_->end();
  std::lock_guard const lock(mutex_);
  if (failed_) std::rethrow_exception(failed_);
  try {
    end.check();
    return call(end);
  } catch (...) {
    failed_ = std::current_exception();
    current_.reset();
    waiting_.clear();
    gathered_ = nullptr;
    leave(false);
    throw;
  }
}

bool Probe::append(const std::shared_ptr<const columns::Relation>& batch, int64_t first_row) {
  check_batch(operation_->probe_schema(), *columns::as_registered(batch), "batch");
  if (is_finished_) base::fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "probe is finished");
  return guarded([&](const base::CallEnd& end) {
    if (waiting_.size() >= kMostWaiting) return false;
    bool const lies_well = operation_->takes_as_it_lies(*batch);
    auto const rows = operation_->filters().passing(batch, !lies_well, end);
    if (lies_well && rows == batch) {
      take_slices(batch);
    } else if (rows != nullptr && operation_->is_streamed()) {
      gather(rows, first_row, end);
    } else if (rows != nullptr) {
      operation_->keep(rows, first_row, end);
    }
    operation_->progress.rows_in += batch->rows;
    return true;
  });
}

void Probe::gather(const std::shared_ptr<const columns::Relation>& batch, int64_t first_row,
                   const base::CallEnd& end) {
  if (gathered_ == nullptr) {
    StoreShape shape;
    shape.context = context;
    shape.schema = operation_->shared_probe_schema();
    shape.block_bytes = operation_->budget().block_bytes;
    shape.is_pinned = operation_->build().shape().on_gpu;
    gathered_ = std::make_unique<RowStore>(std::move(shape));
  }
  append_batch(*context, batch, first_row, gathered_.get(), end);
  take_pieces();
}

void Probe::take_piece(std::shared_ptr<const columns::Relation> rows) {
  waiting_.push_back(std::move(rows));
  ++operation_->progress.pieces;
}

// Results come before all of a large batch is joined.
void Probe::take_slices(const std::shared_ptr<const columns::Relation>& batch) {
  constexpr int64_t kMostRows = int64_t{1} << 23;
  constexpr int64_t kLeastRows = int64_t{1} << 16;
  uint64_t const bytes = bytes_of_values(*batch);
  int64_t most = kMostRows;
  if (uint64_t const part = operation_->budget().part_bytes; part != 0 && bytes > part) {
    auto const pieces = static_cast<int64_t>(bytes / part + 1);
    most = std::clamp(batch->rows / pieces, kLeastRows, kMostRows);
  }
  for (int64_t first = 0; first < batch->rows; first += most) {
    take_piece(slice(batch, first, std::min(most, batch->rows - first)));
  }
  operation_->progress.bytes_in += bytes;
}

void Probe::take_pieces() {
  for (auto& piece : gathered_->take_blocks()) take_piece(std::move(piece));
  uint64_t const bytes = gathered_->appended_bytes();
  operation_->progress.bytes_in += bytes - std::exchange(bytes_, bytes);
}

void Probe::flush() {
  guarded([&](const base::CallEnd& end) {
    if (gathered_ == nullptr) return;
    gathered_->finish(end);
    take_pieces();
  });
}

void Probe::finish() {
  if (is_finished_) base::fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "probe is finished already");
  flush();
  std::lock_guard const lock(mutex_);
  is_finished_ = true;
  if (waiting_.empty() && !current_) leave(true);
}

Found Probe::next(std::unique_ptr<columns::JoinResult>* result) {
  return guarded([&](const base::CallEnd& end) {
    while (current_ || !waiting_.empty()) {
      base::LeasedQueue const queue(*context, end);
      if (!current_) {
        Piece const piece{std::move(waiting_.front()), nullptr, 0, nullptr};
        waiting_.pop_front();
        current_.emplace(*queue, operation_->join(), piece, operation_->parts());
      }
      *result = current_->next(*queue);
      if (*result == nullptr) {
        current_.reset();
        ++operation_->progress.pieces_done;
        continue;
      }
      operation_->count(**result);
      return Found::kResult;
    }
    if (!is_finished_) return Found::kNothingYet;
    leave(true);
    return Found::kFinished;
  });
}

}  // namespace gpujoin::pieces
