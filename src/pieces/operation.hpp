// operation.hpp: one join of any kind on a build that is finished.
//
// While the build is whole, pieces of the probe side are joined as they come. Else rows of the
// probe side are kept, too, and partitions of both sides are joined one after the other when all
// have come: Shapiro's hybrid hash join (TODS 1986), of which some partitions of the build side
// stay on the device and are met as rows come, with partitions again where one is too large, and
// parts of the build side one after the other where its rows are of one key.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "src/base/interrupt.hpp"
#include "src/columns/column.hpp"
#include "src/pieces/budget.hpp"
#include "src/pieces/build.hpp"
#include "src/pieces/grid_join.hpp"
#include "src/pieces/join_pieces.hpp"
#include "src/pieces/pair_decider.hpp"
#include "src/pieces/probe_promises.hpp"
#include "src/pieces/rest_joins.hpp"
#include "src/pieces/row_filters.hpp"
#include "src/pieces/row_store.hpp"
#include "src/pieces/staying_partitions.hpp"

namespace gpujoin::pieces {

// What a call for the next result found.
enum class Found { kResult, kNothingYet, kFinished };

struct OperationOptions {
  gpujoin_plan_options plan = GPUJOIN_PLAN_OPTIONS_INIT;
  bool build_left = false;
  bool has_row_numbers = false;  // of the probe side
  // Called once, when what is left can be asked for.
  gpujoin_ready_function ready = nullptr;
  void* ready_user = nullptr;
  std::vector<AppliedFilter> filters;  // their columns are checked
  OwnFilter own_filter = OwnFilter::kAutomatic;
  std::shared_ptr<const PairDecider> decider;  // its columns are checked
};

// How far an operation is: in cache lines of its own, which all probes write.
struct alignas(64) Progress {
  std::atomic<int64_t> rows_in{0};
  std::atomic<uint64_t> bytes_in{0};
  std::atomic<int64_t> rows_out{0};
  std::atomic<uint64_t> bytes_out{0};
  std::atomic<int64_t> pieces_done{0};
  std::atomic<int64_t> pieces{0};
};

class Operation {
 public:
  // probe_like: its columns say what batches of the probe side have. spec: of the build's columns
  // and these. Throws INVALID_ARGUMENT for what does not fit the build, UNSUPPORTED for what no
  // pieces can answer.
  Operation(std::shared_ptr<const Build> build, const columns::Relation& probe_like,
            columns::JoinSpec spec, const OperationOptions& options);

  const JoinOfPieces& join() const { return join_; }
  const Build& build() const { return *build_; }
  const RowSchema& probe_schema() const { return *probe_schema_; }
  const std::shared_ptr<const RowSchema>& shared_probe_schema() const { return probe_schema_; }
  const Budget& budget() const { return budget_; }
  // Pieces of the probe side are joined as they come, with these.
  bool is_streamed() const { return build_->is_whole(); }
  // Or some of their rows are.
  bool joins_as_they_come() const {
    return is_streamed() || (staying_ != nullptr && !staying_->are_none());
  }
  // Rows of a piece that meet parts(); all others are kept. Null: there are none. Any thread.
  // expected: joins_as_they_come() was so when it was taken.
  std::shared_ptr<const columns::Relation> meeting_rows(
      const std::shared_ptr<const columns::Relation>& piece, const base::CallEnd& end);
  // Of a piece of the probe side, at most.
  int64_t rows_of_piece() const;
  // Of one that is gathered from batches.
  uint64_t bytes_of_piece() const;
  std::span<const Piece> parts() const {
    return is_streamed() ? std::span(parts_) : std::span(&staying_->piece(), 1);
  }
  // Of such a batch: it is a piece, where it lies.
  bool takes_as_it_lies(const columns::Relation& batch) const;
  RowFilters& filters() { return *filters_; }
  const RowFilters& filters() const { return *filters_; }
  // Of one that is not: rows of the probe side. Any thread.
  void keep(const std::shared_ptr<const columns::Relation>& batch, int64_t first_row,
            const base::CallEnd& end);

  // Of the probe side; null: nothing is promised.
  ProbePromises* promises() { return promises_.get(); }

  // A piece met parts(), and so many rows came of it. Any thread.
  void count_joined(int64_t rows, int64_t results);
  // Rows of a result count towards the limits. Throws ROW_LIMIT, BYTE_LIMIT, BROKEN_PROMISE.
  void count(const columns::JoinResult& result);

  // No further probe will come; those that there are may still be at work.
  void close();
  void begin_probe();
  // is_complete: all its rows are joined or kept.
  void end_probe(bool is_complete);

  // After close(): what is left when all probes have ended. Any thread. Throws; later calls then
  // throw the same.
  Found next(std::unique_ptr<columns::JoinResult>* result);

  // Of a call on this or on one of its probes.
  base::CallEnd end() const;
  base::CallEnd::Clock::time_point deadline() const;
  uint64_t spilled_bytes() const;
  std::string explain() const;

  const std::shared_ptr<base::Context> context;
  const std::shared_ptr<base::Interrupt> interrupt;
  Progress progress;

 private:
  void check_build() const;
  void check_spec() const;
  void check_types() const;
  void make_filters(const OperationOptions& options);
  void add_unique_checks(bool left, const std::shared_ptr<const RowStore>& store);
  void tell_if_ready(std::unique_lock<std::mutex> lock) noexcept;
  void check_complete() const;
  void begin_rest(base::Queue& queue);
  void begin_staying_rest();
  void end_staying();
  void begin_partitions(base::Queue& queue);
  void make_room_on_device(base::Queue& queue, const RowStore& build);
  bool leave_device(base::Queue& queue, const RowStore& build);
  std::shared_ptr<const UnknownRows> unknown_rows(base::Queue& queue, const RowStore& build) const;
  void begin_unknown_rows();
  // others: of which each row meets the probe's, too; null: none.
  void add_grid(Partition build, Partition probe, std::shared_ptr<const UnknownRows> others);
  void add_put_out(bool left, const Piece& piece);

  std::shared_ptr<const Build> build_;
  std::shared_ptr<const RowSchema> probe_schema_;
  JoinOfPieces join_;
  columns::Bounds promised_;  // what the caller said of keys: pieces are joined without it
  Budget budget_;
  RowsAtOnce rows_at_once_;
  std::vector<Piece> parts_;
  std::unique_ptr<RowFilters> filters_;
  std::unique_ptr<ProbePromises> promises_;
  std::shared_ptr<RowStore> kept_;  // null: pieces are joined as they come
  std::unique_ptr<StayingPartitions> staying_;
  gpujoin_ready_function ready_;
  void* ready_user_;

  std::mutex mutex_;  // of what follows
  int64_t probes_ = 0;
  bool is_closed_ = false;
  bool is_incomplete_ = false;

  std::shared_ptr<const UnknownRows> unknown_;  // of all partitions, where there are any
  RestJoins rest_;
};

}  // namespace gpujoin::pieces
