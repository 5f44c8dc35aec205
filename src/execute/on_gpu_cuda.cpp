// on_gpu_cuda.cpp: the path on the GPU: attempts, each of which brings, filters, builds and probes.
#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "src/base/copy.hpp"
#include "src/base/device.hpp"
#include "src/base/status.hpp"
#include "src/execute/built_on_gpu.hpp"
#include "src/execute/execute.hpp"
#include "src/execute/in_chunks.hpp"
#include "src/execute/kept_build.hpp"
#include "src/execute/looked_again.hpp"
#include "src/execute/looked_keys.hpp"
#include "src/execute/no_room.hpp"
#include "src/execute/promises.hpp"
#include "src/execute/scan_keys.hpp"
#include "src/match/table_columns.hpp"
#include "src/plan/any_row.hpp"
#include "src/plan/attempts.hpp"
#include "src/plan/side_rule.hpp"

namespace gpujoin::execute {

namespace {

using plan::Finding;

// Nothing of a side is brought, waited for or prepared, and nothing is fetched after a match that
// writes columns. One launch takes the one key's NULLs as they are.
bool comes_ready(const columns::Relation& relation, const std::vector<int32_t>& keys,
                 const std::vector<int32_t>& output_columns, bool may_be_null) {
  if (relation.ready_event != nullptr || output_columns.size() >= kernels::kMovedColumns) {
    return false;
  }
  auto const is_there = [&](int32_t index) {
    return relation.columns[static_cast<size_t>(index)].memory == base::Memory::kDevice;
  };
  auto const is_ready = [&](int32_t index) {
    return is_there(index) && relation.columns[static_cast<size_t>(index)].validity == nullptr;
  };
  bool const has_keys = may_be_null && keys.size() == 1
                            ? is_there(keys.front())
                            : std::all_of(keys.begin(), keys.end(), is_ready);
  return has_keys && std::all_of(output_columns.begin(), output_columns.end(), is_ready);
}

// A table's keys are unique, or one row of each is asked for: a probe row that has a match comes
// out once.
bool is_semi_by_table(const PlannedJoin& join, const plan::JoinPlan& plan, bool left) {
  bool const probes = left != (plan.build_side == plan::Side::kLeft);
  return rows_of(join.spec, left) == columns::RowsOfSide::kMatched && probes &&
         plan::probes_table(plan.match) && plan.gather == plan::Gather::kCarried;
}

// Those of a table in which any row of a key will do, which kept builds are not.
bool is_anti_by_table(const PlannedJoin& join, const plan::JoinPlan& plan, bool left) {
  bool const probes = left != (plan.build_side == plan::Side::kLeft);
  return probes && plan::finds_unmatched(plan, join.request);
}

// What the matches are to write. Of a side that comes out alone nothing, where the plan's match
// does not tell its rows: they are fetched when they are known.
const std::vector<int32_t>& columns_of(const PlannedJoin& join, bool left) {
  static const std::vector<int32_t> kNone;
  plan::JoinPlan const& plan = join.choice.plan();
  bool const in_partitions = plan::writes_columns(plan.gather) && plan::partitions(plan.transform);
  bool const come = !comes_alone(rows_of(join.spec, left)) || in_partitions ||
                    is_semi_by_table(join, plan, left) || is_anti_by_table(join, plan, left);
  if (!come) return kNone;
  return left ? join.spec.left_columns : join.spec.right_columns;
}

std::shared_ptr<GpuSide> make_side(base::Queue& queue, const PlannedJoin& join, bool left) {
  keys::KeyEncoding const* const encoding = join.encoding ? &*join.encoding : nullptr;
  return left ? std::make_shared<GpuSide>(queue, *join.left, join.spec.left_keys,
                                          columns_of(join, true), encoding)
              : std::make_shared<GpuSide>(queue, *join.right, join.spec.right_keys,
                                          columns_of(join, false), encoding);
}

// Both sides of a join, on their way to the device once and to a result as often as it is tried.
class Sides {
 public:
  Sides(base::Queue& queue, const PlannedJoin& join)
      : queue_(queue),
        join_(join),
        left_(make_side(queue, join, true)),
        right_(make_side(queue, join, false)) {}

  void start(const plan::JoinPlan& plan) {
    bool const build_left = plan.build_side == plan::Side::kLeft;
    build_ = build_left ? left_ : right_;
    probe_ = build_left ? right_ : left_;
    left_->start(plan, plan::moves_payloads(join_.request.left, plan, join_.request.pairs));
    right_->start(plan, plan::moves_payloads(join_.request.right, plan, join_.request.pairs));
  }

  // Every column of both sides, for all attempts.
  void bring(plan::Transfer technique) {
    if (is_brought_) return;
    transport_ = transfer::make_transport(queue_, technique);
    build_->bring_transformed(*transport_);
    probe_->bring_transformed(*transport_);
    build_->bring_payloads(*transport_);
    probe_->bring_payloads(*transport_);
    is_brought_ = true;
  }
  bool is_brought() const { return is_brought_; }

  const std::shared_ptr<GpuSide>& build() { return build_; }
  GpuSide& probe() { return *probe_; }

  // One launch makes the table and asks it. Only a lookup keeps its probe rows where they are.
  bool join_in_one_launch(const plan::JoinPlan& plan) const {
    return plan.transform == plan::Transform::kNone && plan.gather == plan::Gather::kCarried &&
           plan::probes_table(plan.match) && !join_.spec.keep_left &&
           match::joins_in_one_launch(build_->planned_rows(), probe_->planned_rows());
  }
  // And is all there is: its own clock tells the time.
  bool is_one_launch(const plan::JoinPlan& plan) const {
    return plan.filter == plan::Filter::kNone && plan.keys == plan::Keys::kPlain &&
           join_in_one_launch(plan) &&
           comes_ready(*join_.left, join_.spec.left_keys, join_.spec.left_columns, true) &&
           comes_ready(*join_.right, join_.spec.right_keys, join_.spec.right_columns, true);
  }

  // By which keys both sides are sorted. Looking which bits vary would hold the build side's sort
  // until the probe side's keys are here, or read both over the link: a pass too many costs less. A
  // sort that compares has no use for them.
  transform::KeyBits sort_bits(const plan::JoinPlan& plan) const {
    bool const looks = plan::sorts(plan.transform) &&
                       plan.transform != plan::Transform::kMergeSort &&
                       plan.transfer != plan::Transfer::kOverlappedCopies &&
                       plan.transfer != plan::Transfer::kZeroCopy;
    if (!looks) return all_bits(*build_);
    build_->prepare(plan);
    probe_->prepare(plan);
    return transform::varying_bits(queue_, build_->prepared(), probe_->prepared());
  }

 private:
  base::Queue& queue_;
  const PlannedJoin& join_;
  std::shared_ptr<GpuSide> left_;
  std::shared_ptr<GpuSide> right_;
  std::shared_ptr<GpuSide> build_;
  std::shared_ptr<GpuSide> probe_;
  // After the sides, so that it is gone before their memory is.
  std::unique_ptr<transfer::Transport> transport_;
  bool is_brought_ = false;
};

// Who promised that build keys are unique is told where they are not. Of a side that comes out
// alone no pairs are needed, of which there may be any number: any row of a key tells whether a
// probe row has a match.
match::RepeatedKeys repeated_in_one_launch(const PlannedJoin& join, const plan::JoinPlan& plan) {
  bool const build_left = plan.build_side == plan::Side::kLeft;
  bool const is_promised = join.promised && is_unique_promised(join.promised->bounds, build_left);
  if (is_promised || comes_alone(rows_of(join.spec, build_left))) {
    return match::RepeatedKeys::kRefused;
  }
  return comes_alone(join.spec.kind) ? match::RepeatedKeys::kOneRow : match::RepeatedKeys::kAllRows;
}

// The rows of an inner join may be those of the semi join already.
void note_semi(const PlannedJoin& join, const plan::JoinPlan& plan, columns::JoinResult& result) {
  if (result.marks != nullptr) return;
  for (bool const left : {true, false}) {
    auto& alone = left ? result.left_alone : result.right_alone;
    if (alone || !is_semi_by_table(join, plan, left)) continue;
    alone = columns::RowsAlone{true, result.rows, left ? result.left_rows : result.right_rows,
                               std::move(result.columns)};
    result.columns.clear();
  }
}

// What an attempt in vain wrote, which is in no other attempt's memory.
void forget(columns::JoinResult& result) {
  result.columns.clear();
  result.left_rows = result.right_rows = nullptr;
  result.left_alone = result.right_alone = std::nullopt;
  result.marks = nullptr;
}

// What the attempt found: kJoined, and the result is there, or why the next one follows.
Finding try_to_join(base::Queue& queue, const PlannedJoin& join, const plan::Attempt& attempt,
                    Sides& sides, const JoinGroups* groups, StageClock& clock,
                    columns::JoinResult& result) {
  plan::JoinPlan plan = attempt.plan;
  clock.predict(attempt.stages);
  sides.start(plan);
  if (clock.is_new()) {
    if (sides.is_one_launch(plan)) clock.use_kernel_clock();
    clock.begin("transfer");
  }
  sides.bring(plan.transfer);
  GpuSide& build_side = *sides.build();
  if (plan.filter != plan::Filter::kNone && !build_side.is_filtered()) {
    clock.enter("filter");
    auto const expected = expected_ranges(join, plan, build_side.key_width());
    if (!GpuSide::filter(plan, expected ? &*expected : nullptr, build_within(join, plan),
                         build_side, sides.probe())) {
      return Finding::kKeysScattered;
    }
  }
  // As many partitions as the rows that are left want, unless they were named.
  if (plan::partitions(plan.transform) && plan.radix_bits == 0) {
    plan.radix_bits = plan::bits_of_rows(plan, join.request.kind, build_side.rows(),
                                         sides.probe().rows(), build_side.key_width());
  }
  result.statistics.plan = plan::to_text(plan);
  JoinStep step{queue, plan, join.spec, clock};
  step.residual = join.residual;
  step.groups = groups;
  step.drawn = drawn_range(join, plan);
  Finding found = Finding::kJoined;
  SeenKeys seen = keys_seen_by_look(join, plan).value_or(SeenKeys{});
  bool const in_one_launch = sides.join_in_one_launch(plan);
  if (!in_one_launch) {
    clock.enter("transform");
    found = scan_keys(queue, join, attempt, build_side, sides.probe(), &plan, &seen);
    if (found != Finding::kJoined) return found;
  }
  if (seen.keys != nullptr) step.seen = &seen;
  step.any_row = plan::takes_any_row(plan, join.request);
  step.has_heavy_keys = plan::keys_may_repeat(plan, join.request, join.choice.sample);
  std::unique_ptr<const Built> built;
  if (in_one_launch) {
    found = join_in_one_launch(step, build_side, sides.probe(), repeated_in_one_launch(join, plan),
                               plan::most_repeats_seen(join.choice.attempts, attempt, join.request),
                               result);
  } else {
    built = build_on_gpu(step, sides.build(), sides.sort_bits(plan));
    if (built == nullptr) return Finding::kKeysScattered;
    found = built->probe(step, sides.probe(), result);
  }
  if (lie_outside(step, build_side, sides.probe())) return Finding::kKeysOutside;
  if (found == Finding::kJoined) note_semi(join, plan, result);
  return found;
}

// One side alone, by a transport that is to stay until its columns are read.
void bring(GpuSide& side, const PlannedJoin& join, bool left, transfer::Transport& transport) {
  plan::SideStatistics const& known = left ? join.request.left : join.request.right;
  plan::JoinPlan const& plan = join.choice.plan();
  side.start(plan, plan::moves_payloads(known, plan, join.request.pairs));
  side.bring_transformed(transport);
  side.bring_payloads(transport);
}

bool lies_in_host_memory(const columns::Relation& relation) {
  return std::any_of(relation.columns.begin(), relation.columns.end(),
                     [](auto const& column) { return column.memory != base::Memory::kDevice; });
}

std::unique_ptr<transfer::Transport> transport_for(base::Queue& queue,
                                                   const columns::Relation& relation) {
  return transfer::make_transport(queue, lies_in_host_memory(relation)
                                             ? plan::Transfer::kOverlappedCopies
                                             : plan::Transfer::kNone);
}

// What was built, and what brought it.
class KeptOnGpu final : public Built {
 public:
  // maker: the queue whose stream it may still be on.
  KeptOnGpu(std::unique_ptr<transfer::Transport> transport, std::unique_ptr<const Built> built,
            const base::Queue& maker, bool is_there)
      : made_on_(maker.device->stream),
        is_there_(is_there),
        built_(std::move(built)),
        transport_(std::move(transport)) {}
  ~KeptOnGpu() override {
    // What it is made of is let go of next. A failure is that of a lost device, which the next call
    // that is checked reports.
    if (!is_there_ && cudaStreamSynchronize(made_on_->handle) != cudaSuccess) cudaGetLastError();
  }
  KeptOnGpu(const KeptOnGpu&) = delete;
  KeptOnGpu& operator=(const KeptOnGpu&) = delete;

  Finding probe(const JoinStep& step, Side& probe, columns::JoinResult& result) const override {
    auto const& stream = step.queue.device->stream;
    if (!is_there_.load(std::memory_order_acquire) && stream != made_on_) {
      base::put_in_order(*made_on_, *stream);
    }
    Finding const found = built_->probe(step, probe, result);
    // Rows that are known came out of it.
    if (found == Finding::kJoined && result.rows != 0 &&
        !is_there_.load(std::memory_order_relaxed)) {
      is_there_.store(true, std::memory_order_release);
    }
    return found;
  }
  bool tells_time(const Side& probe) const override { return built_->tells_time(probe); }

 private:
  std::shared_ptr<const base::Stream> made_on_;
  mutable std::atomic<bool> is_there_;  // known to be
  // The transport ends before the side, which the other one has.
  std::unique_ptr<const Built> built_;
  std::unique_ptr<transfer::Transport> transport_;
};

// False: the kept build side is not for its keys, and nothing was written.
bool probe_kept(base::Queue& queue, const PlannedJoin& join, columns::JoinResult& result) {
  plan::JoinPlan const& plan = join.choice.plan();
  StageClock clock(queue, plan::Device::kCuda, result.statistics.stages);
  clock.predict(join.choice.attempts.front().stages);
  JoinStep step{queue, plan, join.spec, clock, true};
  step.residual = join.residual;
  bool const left = !step.build_left();
  auto const probe = make_side(queue, join, left);
  columns::Relation const& relation = left ? *join.left : *join.right;
  auto const transport = transport_for(queue, relation);
  bool const tells_time = plan.keys == plan::Keys::kPlain && join.kept->built().tells_time(*probe);
  if (tells_time && comes_ready(relation, left ? join.spec.left_keys : join.spec.right_keys,
                                left ? join.spec.left_columns : join.spec.right_columns, false)) {
    clock.use_kernel_clock();
  }
  clock.begin("transfer");
  bring(*probe, join, left, *transport);
  Finding const found = join.kept->built().probe(step, *probe, result);
  clock.finish();
  if (found == Finding::kJoined) {
    note_semi(join, plan, result);
    return true;
  }
  join.kept->give_up();
  forget(result);
  // Another clock counts from the first one on.
  result.statistics.stages.clear();
  return false;
}

}  // namespace

std::unique_ptr<const Built> keep_on_gpu(base::Queue& queue, const PlannedJoin& join,
                                         const SeenKeys* seen) {
  std::vector<columns::StageStatistics> stages;
  StageClock clock(queue, plan::Device::kCuda, stages);
  clock.predict(join.choice.attempts.front().stages);
  clock.use_kernel_clock();  // nobody is told these times
  JoinStep step{queue, join.choice.plan(), join.spec, clock, true};
  step.seen = seen;
  columns::Relation const& relation = step.build_left() ? *join.left : *join.right;
  auto const side = make_side(queue, join, step.build_left());
  auto transport = transport_for(queue, relation);
  clock.begin("transfer");
  bring(*side, join, step.build_left(), *transport);
  auto built = build_on_gpu(step, side, all_bits(*side));
  if (built != nullptr) side->await_all();
  clock.finish();
  // Streams that copy are idle between calls.
  bool const waits = built == nullptr || lies_in_host_memory(relation);
  if (waits) base::finish(queue);
  if (built == nullptr) return nullptr;
  return std::make_unique<KeptOnGpu>(std::move(transport), std::move(built), queue, waits);
}

void on_gpu(base::Queue& queue, const PlannedJoin& join, columns::JoinResult& result,
            const JoinGroups* groups) {
  result.memory = base::Memory::kDevice;
  result.has_pairs = join.spec.pairs;
  result.pair_sides = join.spec.pair_sides;
  if (join.kept != nullptr && probe_kept(queue, join, result)) return;
  if (join.choice.plan().transfer == plan::Transfer::kProbeChunks)
    return in_chunks(queue, join, result);
  std::optional<PlannedJoin> looked;  // before the clock, which reads about its stages
  PlannedJoin const* planned = &join;
  StageClock clock(queue, plan::Device::kCuda, result.statistics.stages);
  Sides sides(queue, join);
  for (const plan::Attempt* attempt = &join.choice.attempts.front();;) {
    std::vector<plan::Attempt> const& attempts = planned->choice.attempts;
    Finding found = Finding::kNoRoom;
    try {
      found = try_to_join(queue, *planned, *attempt, sides, groups, clock, result);
    } catch (const base::Error& error) {
      bool const goes_on = is_no_room(error) && sides.is_brought() &&
                           plan::next_attempt(attempts, *attempt, found) != nullptr;
      if (!goes_on) throw;
    }
    // A lookup whose rows have no match, or several, leaves the join to its caller.
    if (found == Finding::kJoined || (join.spec.keep_left && found == Finding::kKeysRepeat)) break;
    clock.use_events();
    clock.note_in_vain(plan::to_text(found));
    forget(result);
    attempt = &plan::attempt_after(attempts, *attempt, found);
    if (found != Finding::kKeysRepeat || looked || groups != nullptr) continue;
    looked = looked_again(queue, join, *attempt, clock);
    if (!looked) continue;
    result.statistics.reason = why_planned(*looked);
    planned = &*looked;
    attempt = &looked->choice.attempts.front();
  }
  clock.finish();
}

}  // namespace gpujoin::execute
