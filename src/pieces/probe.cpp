#include "src/pieces/probe.hpp"

#include <algorithm>
#include <utility>

#include "src/base/copy.hpp"
#include "src/base/own_share.hpp"
#include "src/base/queue.hpp"
#include "src/base/status.hpp"
#include "src/columns/selection.hpp"
#include "src/pieces/slice.hpp"
#include "src/pieces/with_room.hpp"

namespace gpujoin::pieces {

namespace {

// Pieces that wait to be joined. More are other blocks of page-locked memory, which all threads
// together write to and read faster while they fit into a cache: batches of eight threads came at
// 1960 million rows a second in the place of 1510 with four.
constexpr size_t kMostWaiting = 1;

}  // namespace

Probe::Probe(std::shared_ptr<Operation> operation)
    : context(base::own_share(operation->context)),
      operation_(base::own_share(std::move(operation))),
      interrupt_(base::own_share<const base::Interrupt>(operation_->interrupt)) {
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
  base::CallEnd const end{interrupt_, 0, operation_->deadline()};
  std::lock_guard const lock(mutex_);
  if (failed_) std::rethrow_exception(failed_);
  try {
    end.check();
    return call(end);
  } catch (...) {
    failed_ = std::current_exception();
    current_.reset();
    sender_ = nullptr;
    waiting_.clear();
    gathered_ = nullptr;
    leave(false);
    throw;
  }
}

void Probe::lose(int32_t status) noexcept {
  try {
    guarded([&](const base::CallEnd&) { base::fail(status, "probe: a call before failed"); });
  } catch (...) {
    // Kept, and thrown by what follows.
  }
}

bool Probe::append(const std::shared_ptr<const columns::Relation>& batch, int64_t first_row) {
  check_batch(operation_->probe_schema(), *columns::as_registered(batch), "batch");
  if (is_finished_) base::fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "probe is finished");
  return guarded([&](const base::CallEnd& end) {
    if (waiting_.size() >= kMostWaiting) return false;
    bool const lies_well = operation_->takes_as_it_lies(*batch);
    auto const rows = operation_->filters().passing(batch, !lies_well, end);
    if (rows != nullptr && operation_->promises() != nullptr) {
      operation_->promises()->check(rows, first_row, end);
    }
    if (lies_well && rows == batch) {
      take_slices(batch);
    } else if (rows != nullptr && operation_->joins_as_they_come()) {
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
    shape.block_bytes = operation_->bytes_of_piece();
    shape.is_pinned = operation_->build().shape().on_gpu;
    shape.memory_bytes = operation_->budget().waiting_bytes;
    shape.folder = operation_->build().shape().folder;
    gathered_ = std::make_unique<RowStore>(std::move(shape));
  }
  auto const is_cut = [](auto const& column) { return column.layout == columns::Layout::kValues; };
  if (batch->selection != nullptr ||
      !std::all_of(batch->columns.begin(), batch->columns.end(), is_cut)) {
    append_batch(*context, batch, first_row, gathered_.get(), end);
    return take_pieces();
  }
  // A block of a large batch is on its way while the next one is gathered, and then is the next but
  // one.
  uint64_t const width = bytes_of_row(operation_->probe_schema());
  int64_t const most =
      std::max<int64_t>(static_cast<int64_t>(gathered_->shape().block_bytes / width), 1);
  for (int64_t first = 0; first < batch->rows; first += most) {
    int64_t const rows = std::min(most, batch->rows - first);
    auto const some = rows == batch->rows ? batch : slice(batch, first, rows);
    append_batch(*context, some, first_row + first, gathered_.get(), end);
    take_pieces();
  }
}

void Probe::take_piece(RowStore::TakenBlock rows) {
  waiting_.push_back(std::move(rows));
  ++operation_->progress.pieces;
}

// Results come before all of a large batch is joined.
void Probe::take_slices(const std::shared_ptr<const columns::Relation>& batch) {
  int64_t const most_rows = operation_->rows_of_piece();
  constexpr int64_t kLeastRows = int64_t{1} << 16;
  // Each thread has one, its copy, and what comes of it.
  constexpr uint64_t kPiecesOfPart = 4;
  uint64_t const bytes = bytes_of_values(*batch);
  int64_t most = most_rows;
  if (uint64_t const piece = operation_->budget().part_bytes / kPiecesOfPart;
      operation_->is_streamed() && piece != 0 && bytes > piece) {
    auto const pieces = static_cast<int64_t>(bytes / piece + 1);
    most = std::clamp(batch->rows / pieces, std::min(kLeastRows, most_rows), most_rows);
  }
  for (int64_t first = 0; first < batch->rows; first += most) {
    take_piece({slice(batch, first, std::min(most, batch->rows - first)), nullptr});
  }
  operation_->progress.bytes_in += bytes;
}

void Probe::take_pieces() {
  auto pieces = gathered_->take_blocks();
  if (pieces.empty()) return;
  for (auto& piece : pieces) take_piece(sent(std::move(piece)));
  uint64_t const bytes = gathered_->appended_bytes();
  operation_->progress.bytes_in += bytes - std::exchange(bytes_, bytes);
}

// The link takes a piece while the next one is gathered, and results of those before come back. On
// a stream of the caller's it would come behind all other work.
RowStore::TakenBlock Probe::sent(RowStore::TakenBlock rows) {
  if (!operation_->build().shape().on_gpu || context->queues.most != 0) return rows;
  if (rows.in_memory == nullptr || !operation_->is_streamed()) return rows;
  if (sender_ == nullptr) sender_ = execute::make_row_sender(*context);
  if (auto copies = sender_->send(rows.in_memory)) rows.in_memory = std::move(copies);
  return rows;
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
      std::shared_ptr<const columns::Relation> rows;
      if (!current_) {
        auto const piece = with_room(
            *context, [&] { end.check(); }, [&] { return waiting_.front().rows(); });
        rows = operation_->meeting_rows(piece, end);
        waiting_.pop_front();
        if (rows == nullptr) {
          ++operation_->progress.pieces_done;
          continue;
        }
      }
      base::LeasedQueue const queue(*context, end);
      if (!current_) {
        if (sender_ != nullptr) sender_->await(*queue, *rows);
        joined_rows_ = rows->rows;
        results_ = 0;
        Piece const piece{std::move(rows), nullptr, 0, nullptr};
        current_.emplace(*queue, operation_->join(), piece, operation_->parts());
      }
      *result = with_room(
          *context, [&] { queue->check_cancelled(); }, [&] { return current_->next(*queue); });
      if (*result == nullptr) {
        // The queue that sent its rows is given their memory again.
        if (sender_ != nullptr) base::finish(*queue);
        current_.reset();
        operation_->count_joined(joined_rows_, results_);
        ++operation_->progress.pieces_done;
        continue;
      }
      results_ += (*result)->rows;
      operation_->count(**result);
      return Found::kResult;
    }
    if (!is_finished_) return Found::kNothingYet;
    leave(true);
    return Found::kFinished;
  });
}

}  // namespace gpujoin::pieces
