#include "src/execute/in_chunks.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "src/base/device.hpp"
#include "src/base/host_memory.hpp"
#include "src/base/status.hpp"
#include "src/base/traffic.hpp"
#include "src/execute/chunk_inputs.hpp"
#include "src/execute/chunk_rows.hpp"
#include "src/execute/gpu_side.hpp"
#include "src/execute/host_results.hpp"
#include "src/execute/stage_clock.hpp"

namespace gpujoin::execute {

namespace {

// Rows that another estimate would allow; less than all, for a device is shared and blocks have
// classes.
constexpr double kShareOfRoom = 0.9;

// What a chunk may take: of the context's limit what is not in use, of the device what is free or
// cached by the pool.
uint64_t room_for_chunks(base::Context& context) {
  base::Pool const& pool = *context.device_pool;
  uint64_t room = base::free_device_bytes() + pool.held_bytes() - pool.in_use_bytes();
  if (uint64_t const limit = pool.limit_bytes(); limit != 0) {
    room = std::min(room, limit - std::min(limit, pool.in_use_bytes()));
  }
  return static_cast<uint64_t>(static_cast<double>(room) * kShareOfRoom);
}

class ChunkedJoin {
 public:
  ChunkedJoin(const PlannedJoin& join, columns::JoinResult& result)
      : join_(join),
        context_(*join.context),
        result_(result),
        plan_(join.choice.plan),
        build_left_(plan_.build_side == plan::Side::kLeft),
        probe_relation_(build_left_ ? *join.right : *join.left),
        probe_keys_(build_left_ ? join.spec.right_keys : join.spec.left_keys),
        probe_columns_(build_left_ ? join.spec.right_columns : join.spec.left_columns),
        build_(context_, build_left_ ? *join.left : *join.right,
               build_left_ ? join.spec.left_keys : join.spec.right_keys,
               build_left_ ? join.spec.left_columns : join.spec.right_columns,
               moves_payloads(build_left_)),
        build_transport_(transfer::make_transport(context_, plan::Transfer::kOverlappedCopies)),
        results_(context_, host_columns(), expected_rows()) {}

  void run() {
    transform_build_side();
    bool const automatic = plan_.probe_chunk_rows == 0;
    int64_t chunk_rows =
        automatic ? chunk_rows_for(probe_relation_.rows, chunk_row_bytes(plan_, join_.request),
                                   room_for_chunks(context_))
                  : plan_.probe_chunk_rows;
    while (next_row_ < probe_relation_.rows && !join_chunks_of(chunk_rows)) {
      // What a chunk's output takes is known only when it is there.
      if (!automatic || chunk_rows <= kLeastChunkRows) std::rethrow_exception(no_room_);
      chunk_rows = std::max(chunk_rows / 2, kLeastChunkRows);
    }
    result_.has_pairs = join_.spec.pairs;
    result_.columns = empty_columns(*join_.left, join_.spec.left_columns);
    for (auto& column : empty_columns(*join_.right, join_.spec.right_columns)) {
      result_.columns.push_back(std::move(column));
    }
    results_.finish(result_);
    name_transfer(chunk_rows);
  }

 private:
  uint64_t expected_rows() const {
    auto const expected = static_cast<uint64_t>(std::max<int64_t>(plan_.expected_rows, 0));
    return std::max(expected + expected / 8, static_cast<uint64_t>(probe_relation_.rows));
  }

  std::vector<HostResults::Column> host_columns() const {
    std::vector<HostResults::Column> all;
    if (join_.spec.pairs) {
      all.push_back({sizeof(uint32_t), false, !build_left_});
      all.push_back({sizeof(uint32_t), false, build_left_});
    }
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

  bool moves_payloads(bool left) const {
    plan::SideStatistics const& side = left ? join_.request.left : join_.request.right;
    return plan::moves_payloads(side, plan_, join_.spec.pairs);
  }

  std::vector<int32_t> used_columns() const {
    std::vector<int32_t> used = probe_columns_;
    used.insert(used.end(), probe_keys_.begin(), probe_keys_.end());
    return used;
  }

  // Once for all chunks. Which key bits vary in chunks to come nobody knows: a sort goes by all.
  void transform_build_side() {
    std::vector<columns::StageStatistics> stages;
    StageClock clock(context_, join_.choice.predicted, stages, steps(0));
    clock.begin("transfer");
    build_.bring_transformed(*build_transport_);
    build_.bring_payloads(*build_transport_);
    clock.begin("transform");
    transform_side(plan_, all_bits(build_), build_);
    if (plan_.gather == plan::Gather::kTransformed) build_.keep_moved(join_.spec.pairs);
    clock.finish();
    add_up(stages);
  }

  StageClock::Steps steps(int64_t before) const {
    // Four a chunk, were all as large as the last; the build side's two stand at the beginning.
    int64_t const chunks =
        chunk_rows_ == 0 ? 1 : (probe_relation_.rows + chunk_rows_ - 1) / chunk_rows_;
    return {before, std::max<int64_t>(2 + 4 * chunks, before + 4)};
  }

  // Chunks of so many rows from next_row_ on. False when there was no room for one of them, which
  // then is still to be joined.
  bool join_chunks_of(int64_t chunk_rows) {
    chunk_rows_ = chunk_rows;
    int64_t const rows = probe_relation_.rows;
    try {
      ChunkInputs inputs(context_, probe_relation_, used_columns(), chunk_rows);
      inputs.send(next_row_, std::min(chunk_rows, rows - next_row_));
      while (next_row_ < rows) {
        context_.check_cancelled();
        int64_t const after = next_row_ + std::min(chunk_rows, rows - next_row_);
        if (after < rows) inputs.send(after, std::min(chunk_rows, rows - after));
        auto chunk = join_chunk(inputs);
        ++chunks_;
        found_rows_ += chunk->rows;
        result_.statistics.output_resumes += chunk->statistics.output_resumes;
        deliver(std::move(chunk));
        next_row_ = after;
      }
    } catch (const base::Error& error) {
      bool const no_room = error.status() == GPUJOIN_ERROR_MEMORY_LIMIT ||
                           error.status() == GPUJOIN_ERROR_OUT_OF_MEMORY;
      if (!no_room || delivering_) throw;
      no_room_ = std::current_exception();
      return false;
    }
    return true;
  }

  void deliver(std::unique_ptr<columns::JoinResult> chunk) {
    delivering_ = true;
    results_.add(std::move(chunk), next_row_);
    delivering_ = false;
  }

  // The chunk's result on the device, complete.
  std::unique_ptr<columns::JoinResult> join_chunk(ChunkInputs& inputs) {
    auto chunk = std::make_unique<columns::JoinResult>();
    chunk->context = join_.context;
    chunk->has_pairs = join_.spec.pairs;
    std::vector<columns::StageStatistics> stages;
    StageClock clock(context_, join_.choice.predicted, stages, steps(2 + 4 * chunks_));
    clock.begin("transfer");
    columns::Relation const& relation = inputs.receive();
    plan::JoinPlan const plan = plan_of_chunk(relation.rows);
    GpuSide probe(context_, relation, probe_keys_, probe_columns_, moves_payloads(!build_left_));
    auto const in_place = transfer::make_transport(context_, plan::Transfer::kNone);
    probe.bring_transformed(*in_place);
    probe.bring_payloads(*in_place);
    clock.begin("transform");
    if (plan.transform != plan::Transform::kNone) transform_side(plan, all_bits(build_), probe);
    clock.begin("match");
    output::GrowingPairs pairs(context_, static_cast<uint64_t>(plan.expected_rows));
    match_sides(context_, plan, build_, probe, &table_, pairs);
    clock.begin("materialize");
    chunk->rows = static_cast<int64_t>(pairs.rows());
    chunk->statistics.output_resumes = pairs.resumes();
    materialize_sides(context_, plan, build_, probe, pairs, build_left_, *chunk);
    clock.finish();
    add_up(stages);
    return chunk;
  }

  plan::JoinPlan plan_of_chunk(int64_t rows) const {
    plan::JoinPlan plan = plan_;
    plan.transfer = plan::Transfer::kNone;
    plan.probe_chunk_rows = 0;
    // Of the chunks before, what they found; of the first, what the planner foresaw.
    double const a_row =
        next_row_ == 0
            ? static_cast<double>(plan_.expected_rows) / static_cast<double>(probe_relation_.rows)
            : 1.05 * static_cast<double>(found_rows_) / static_cast<double>(next_row_);
    plan.expected_rows = static_cast<int64_t>(a_row * static_cast<double>(rows)) + 1;
    plan.expected_hot_rows =
        static_cast<int64_t>(static_cast<double>(plan_.expected_hot_rows) *
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

  void name_transfer(int64_t chunk_rows) {
    columns::StageStatistics& transfer = result_.statistics.stages.front();
    transfer.technique =
        base::text("%s, %lld of %lld rows", plan::to_text(plan_.transfer),
                   static_cast<long long>(chunks_), static_cast<long long>(chunk_rows));
  }

  const PlannedJoin& join_;
  base::Context& context_;
  columns::JoinResult& result_;
  plan::JoinPlan const& plan_;
  bool build_left_;
  const columns::Relation& probe_relation_;
  const std::vector<int32_t>& probe_keys_;
  const std::vector<int32_t>& probe_columns_;

  GpuSide build_;
  BuiltTable table_;
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

void in_chunks(const PlannedJoin& join, columns::JoinResult& result) {
  ChunkedJoin(join, result).run();
}

}  // namespace gpujoin::execute
