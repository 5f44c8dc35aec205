#include "src/execute/in_chunks.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "src/base/device.hpp"
#include "src/base/host_memory.hpp"
#include "src/base/status.hpp"
#include "src/base/traffic.hpp"
#include "src/execute/built_on_gpu.hpp"
#include "src/execute/chunk_inputs.hpp"
#include "src/execute/chunk_rows.hpp"
#include "src/execute/host_results.hpp"
#include "src/execute/no_room.hpp"
#include "src/plan/attempts.hpp"

namespace gpujoin::execute {

namespace {

using plan::Finding;

// Rows that another estimate would allow; less than all, for a device is shared and blocks have
// classes.
constexpr double kShareOfRoom = 0.9;

// What a chunk may take: of the context's limit what is not in use, of the device what is free or
// cached by the pool.
uint64_t room_for_chunks(base::Queue& queue) {
  base::Account const& all = *queue.context.device_account;
  uint64_t room = base::free_device_bytes() + all.held_bytes() - all.in_use_bytes();
  if (uint64_t const limit = all.limit_bytes(); limit != 0) {
    room = std::min(room, limit - std::min(limit, all.in_use_bytes()));
  }
  return static_cast<uint64_t>(static_cast<double>(room) * kShareOfRoom);
}

class ChunkedJoin {
 public:
  ChunkedJoin(base::Queue& queue, const PlannedJoin& join, columns::JoinResult& result)
      : join_(join),
        queue_(queue),
        result_(result),
        build_left_(join.choice.plan().build_side == plan::Side::kLeft),
        probe_relation_(build_left_ ? *join.right : *join.left),
        probe_keys_(build_left_ ? join.spec.right_keys : join.spec.left_keys),
        probe_columns_(build_left_ ? join.spec.right_columns : join.spec.left_columns),
        build_(std::make_shared<GpuSide>(
            queue_, build_left_ ? *join.left : *join.right,
            build_left_ ? join.spec.left_keys : join.spec.right_keys,
            build_left_ ? join.spec.left_columns : join.spec.right_columns, encoding())),
        build_transport_(transfer::make_transport(queue_, plan::Transfer::kOverlappedCopies)),
        results_(queue_, host_columns(), expected_rows()) {}

  void run() {
    result_.has_pairs = join_.spec.pairs;
    result_.pair_sides = join_.spec.pair_sides;
    result_.columns = empty_columns(*join_.left, join_.spec.left_columns);
    for (auto& column : empty_columns(*join_.right, join_.spec.right_columns)) {
      result_.columns.push_back(std::move(column));
    }
    std::vector<plan::Attempt> const& attempts = join_.choice.attempts;
    for (const plan::Attempt* attempt = &attempts.front();;) {
      Finding const found = try_to_join(*attempt);
      if (found == Finding::kJoined) break;
      attempt = &plan::attempt_after(attempts, *attempt, found);
    }
    results_.finish(result_);
    name_transfer();
  }

 private:
  // Keys are seen to repeat by the first chunk at the latest, before which nothing was written.
  Finding try_to_join(const plan::Attempt& attempt) {
    attempt_ = &attempt;
    result_.statistics.plan = plan::to_text(attempt.plan);
    if (!build_side()) return Finding::kKeysScattered;
    bool const automatic = attempt.plan.probe_chunk_rows == 0;
    chunk_rows_ = automatic ? chunk_rows_for(probe_relation_.rows,
                                             chunk_row_bytes(attempt.plan, join_.request),
                                             room_for_chunks(queue_))
                            : attempt.plan.probe_chunk_rows;
    while (next_row_ < probe_relation_.rows) {
      Finding const found = join_chunks();
      if (found == Finding::kJoined) break;
      if (found != Finding::kNoRoom) return found;
      // What a chunk's output takes is known only when it is there.
      if (!automatic || chunk_rows_ <= kLeastChunkRows) std::rethrow_exception(no_room_);
      chunk_rows_ = std::max(chunk_rows_ / 2, kLeastChunkRows);
    }
    return Finding::kJoined;
  }

  uint64_t expected_rows() const {
    int64_t const planned = join_.choice.plan().expected_rows;
    auto const expected = static_cast<uint64_t>(std::max<int64_t>(planned, 0));
    return std::max(expected + expected / 8, static_cast<uint64_t>(probe_relation_.rows));
  }

  std::vector<HostResults::Column> host_columns() const {
    std::vector<HostResults::Column> all;
    if (join_.spec.left_rows()) all.push_back({sizeof(uint32_t), false, !build_left_});
    if (join_.spec.right_rows()) all.push_back({sizeof(uint32_t), false, build_left_});
    for (bool const left : {true, false}) {
      columns::Relation const& relation = left ? *join_.left : *join_.right;
      std::vector<int32_t> const& keys = left ? join_.spec.left_keys : join_.spec.right_keys;
      for (int32_t const number : left ? join_.spec.left_columns : join_.spec.right_columns) {
        columns::ColumnView const& column = relation.columns[static_cast<size_t>(number)];
        // A NULL key matches nothing.
        bool const is_key = std::find(keys.begin(), keys.end(), number) != keys.end();
        bool const nullable = column.validity != nullptr && !is_key;
        all.push_back({static_cast<uint32_t>(column.width), nullable, false});
      }
    }
    return all;
  }

  const keys::KeyEncoding* encoding() const { return join_.encoding ? &*join_.encoding : nullptr; }

  bool moves_payloads(bool left) const {
    plan::SideStatistics const& side = left ? join_.request.left : join_.request.right;
    return plan::moves_payloads(side, attempt_->plan, join_.spec.pairs);
  }

  std::vector<int32_t> used_columns() const {
    std::vector<int32_t> used = probe_columns_;
    used.insert(used.end(), probe_keys_.begin(), probe_keys_.end());
    return used;
  }

  // Once for all chunks. Which key bits vary in chunks to come nobody knows: a sort goes by all.
  // False: the keys do not suit the plan.
  bool build_side() {
    std::vector<columns::StageStatistics> stages;
    StageClock clock(queue_, plan::Device::kCuda, stages, steps(0));
    clock.predict(attempt_->stages);
    clock.begin("transfer");
    build_->start(attempt_->plan, moves_payloads(build_left_));
    if (!is_brought_) {
      build_->bring_transformed(*build_transport_);
      build_->bring_payloads(*build_transport_);
      is_brought_ = true;
    }
    clock.begin("transform");
    built_ = nullptr;
    JoinStep const step{queue_, attempt_->plan, join_.spec, clock, true};
    built_ = build_on_gpu(step, build_, all_bits(*build_));
    clock.finish();
    add_up(stages);
    return built_ != nullptr;
  }

  StageClock::Steps steps(int64_t before) const {
    // Four a chunk, were all as large as the last; the build side's three stand at the beginning.
    int64_t const chunks =
        chunk_rows_ == 0 ? 1 : (probe_relation_.rows + chunk_rows_ - 1) / chunk_rows_;
    return {before, std::max<int64_t>(3 + 4 * chunks, before + 4)};
  }

  // Chunks from next_row_ on. kNoRoom: for one of them, which then is still to be joined.
  Finding join_chunks() {
    int64_t const rows = probe_relation_.rows;
    try {
      ChunkInputs inputs(queue_, probe_relation_, used_columns(), chunk_rows_);
      inputs.send(next_row_, std::min(chunk_rows_, rows - next_row_));
      while (next_row_ < rows) {
        queue_.check_cancelled();
        int64_t const after = next_row_ + std::min(chunk_rows_, rows - next_row_);
        if (after < rows) inputs.send(after, std::min(chunk_rows_, rows - after));
        auto chunk = std::make_unique<columns::JoinResult>();
        Finding const found = join_chunk(inputs, *chunk);
        if (found != Finding::kJoined) return found;
        ++chunks_;
        found_rows_ += chunk->rows;
        check_limit();
        result_.statistics.output_resumes += chunk->statistics.output_resumes;
        deliver(std::move(chunk));
        next_row_ = after;
      }
    } catch (const base::Error& error) {
      if (!is_no_room(error) || delivering_) throw;
      no_room_ = std::current_exception();
      return Finding::kNoRoom;
    }
    return Finding::kJoined;
  }

  void check_limit() const {
    int64_t const limit = join_.spec.bounds.row_limit;
    if (limit == 0 || found_rows_ <= limit) return;
    base::fail(GPUJOIN_ERROR_ROW_LIMIT, "%lld rows or more", static_cast<long long>(found_rows_));
  }

  void deliver(std::unique_ptr<columns::JoinResult> chunk) {
    delivering_ = true;
    results_.add(std::move(chunk), next_row_);
    delivering_ = false;
  }

  // The chunk's result on the device, complete.
  Finding join_chunk(ChunkInputs& inputs, columns::JoinResult& chunk) {
    chunk.context = join_.context;
    chunk.has_pairs = join_.spec.pairs;
    chunk.pair_sides = join_.spec.pair_sides;
    std::vector<columns::StageStatistics> stages;
    StageClock clock(queue_, plan::Device::kCuda, stages, steps(3 + 4 * chunks_));
    clock.predict(attempt_->stages);
    clock.begin("transfer");
    columns::Relation const& relation = inputs.receive();
    plan::JoinPlan const plan = plan_of_chunk(relation.rows);
    GpuSide probe(queue_, relation, probe_keys_, probe_columns_, encoding());
    probe.start(plan, moves_payloads(!build_left_));
    auto const in_place = transfer::make_transport(queue_, plan::Transfer::kNone);
    probe.bring_transformed(*in_place);
    probe.bring_payloads(*in_place);
    JoinStep const step{queue_, plan, join_.spec, clock, true};
    Finding const found = built_->probe(step, probe, chunk);
    bool const outside = lie_outside(step, *build_, probe);
    clock.finish();
    add_up(stages);
    return outside ? Finding::kKeysOutside : found;
  }

  plan::JoinPlan plan_of_chunk(int64_t rows) const {
    plan::JoinPlan plan = attempt_->plan;
    plan.transfer = plan::Transfer::kNone;
    plan.probe_chunk_rows = 0;
    // Of the chunks before, what they found; of the first, what the planner foresaw.
    double const a_row =
        next_row_ == 0
            ? static_cast<double>(plan.expected_rows) / static_cast<double>(probe_relation_.rows)
            : 1.05 * static_cast<double>(found_rows_) / static_cast<double>(next_row_);
    plan.expected_rows = static_cast<int64_t>(a_row * static_cast<double>(rows)) + 1;
    plan.expected_hot_rows =
        static_cast<int64_t>(static_cast<double>(plan.expected_hot_rows) *
                             static_cast<double>(rows) / static_cast<double>(probe_relation_.rows));
    return plan;
  }

  void add_up(const std::vector<columns::StageStatistics>& stages) {
    std::vector<columns::StageStatistics>& sums = result_.statistics.stages;
    for (columns::StageStatistics const& stage : stages) {
      auto const sum = std::find_if(sums.begin(), sums.end(),
                                    [&](auto const& entry) { return entry.stage == stage.stage; });
      if (sum == sums.end()) {
        sums.push_back(stage);
      } else {
        sum->milliseconds += stage.milliseconds;
      }
    }
  }

  void name_transfer() {
    columns::StageStatistics& transfer = result_.statistics.stages.front();
    transfer.technique =
        base::text("%s, %lld of %lld rows", plan::to_text(plan::Transfer::kProbeChunks),
                   static_cast<long long>(chunks_), static_cast<long long>(chunk_rows_));
  }

  const PlannedJoin& join_;
  base::Queue& queue_;
  columns::JoinResult& result_;
  bool build_left_;
  const columns::Relation& probe_relation_;
  const std::vector<int32_t>& probe_keys_;
  const std::vector<int32_t>& probe_columns_;
  const plan::Attempt* attempt_ = nullptr;

  std::shared_ptr<GpuSide> build_;
  bool is_brought_ = false;
  std::unique_ptr<const Built> built_;
  // After the side, so that it is gone before its memory is.
  std::unique_ptr<transfer::Transport> build_transport_;
  HostResults results_;

  int64_t chunk_rows_ = 0;
  int64_t next_row_ = 0;  // of the probe side: the rows before it are joined
  int64_t chunks_ = 0;
  int64_t found_rows_ = 0;
  bool delivering_ = false;
  std::exception_ptr no_room_;
};

}  // namespace

void in_chunks(base::Queue& queue, const PlannedJoin& join, columns::JoinResult& result) {
  ChunkedJoin(queue, join, result).run();
}

}  // namespace gpujoin::execute
