#include "tests/simulator/operation_run.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "tests/simulator/in_threads.hpp"
#include "tests/simulator/library_call.hpp"

namespace gpujoin_test {

namespace {

const SideTable& side(bool left, bool build_left, const SideTable& build, const SideTable& probe) {
  return left == build_left ? build : probe;
}

}  // namespace

OperationRun::OperationRun(const RunDraw& run, const OperationDraw& draw,
                           const SideTable& build_rows, gpujoin_context* context,
                           gpujoin_build* build)
    : run_(run),
      draw_(draw),
      build_rows_(build_rows),
      probe_rows_(draw.probe),
      reference_(join_by_map(draw.kind, side(true, draw.build_left, build_rows, probe_rows_),
                             side(false, draw.build_left, build_rows, probe_rows_),
                             run.null_equal)),
      context_(context),
      build_(build) {}

void OperationRun::add_wrong(const std::string& what) {
  std::lock_guard const lock(mutex_);
  wrong_.push_back(what);
}

bool OperationRun::is_ok(const Answer& answer, bool at_the_end) {
  if (answer.status == GPUJOIN_OK) return true;
  std::lock_guard const lock(mutex_);
  failures_.push_back({answer.status, answer.message(), at_the_end});
  return false;
}

bool OperationRun::create() {
  std::vector<int32_t> keys;
  for (int32_t key = 0; key < build_rows_.key_count(); ++key) keys.push_back(key);
  std::vector<int32_t> const flags(keys.size(), run_.null_equal ? GPUJOIN_KEY_NULL_EQUAL : 0);
  std::vector<int32_t> const columns = {build_rows_.number_column(), build_rows_.text_column()};
  gpujoin_join_spec spec = GPUJOIN_JOIN_SPEC_INIT;
  spec.kind = draw_.kind;
  spec.key_count = static_cast<int32_t>(keys.size());
  spec.left_keys = spec.right_keys = keys.data();
  spec.key_flags = flags.data();
  spec.output = GPUJOIN_OUTPUT_COLUMNS | (run_.has_numbers ? GPUJOIN_OUTPUT_PAIRS : 0);
  spec.left_columns = spec.right_columns = columns.data();
  spec.left_column_count = puts_out(draw_.kind, true) ? 2 : 0;
  spec.right_column_count = puts_out(draw_.kind, false) ? 2 : 0;
  gpujoin_plan_options plan = GPUJOIN_PLAN_OPTIONS_INIT;
  plan.build_side = draw_.build_left ? GPUJOIN_SIDE_LEFT : GPUJOIN_SIDE_RIGHT;
  plan.timeout_milliseconds = draw_.end == OperationEnd::kDeadline ? 1 : 0;
  gpujoin_operation_options options = GPUJOIN_OPERATION_OPTIONS_INIT;
  options.has_row_numbers = run_.has_numbers ? 1 : 0;
  options.plan = &plan;
  options.ready = [](void* user) { ++*static_cast<std::atomic<int>*>(user); };
  options.ready_user = &ready_calls_;
  Relation like;
  if (!is_ok(probe_rows_.batch(context_, 0, 0, &like))) return false;
  options.own_filter = draw_.own_filter;
  gpujoin_operation* made = nullptr;
  Answer answer = ask(gpujoin_operation_create, build_, like.get(), &spec, &options, &made);
  bool const is_on = options.own_filter == GPUJOIN_OWN_FILTER_ON;
  if (is_on && answer.status == GPUJOIN_ERROR_UNSUPPORTED) {
    options.own_filter = GPUJOIN_OWN_FILTER_AUTOMATIC;
    answer = ask(gpujoin_operation_create, build_, like.get(), &spec, &options, &made);
  }
  bool const is_made = is_ok(answer);
  if (is_made != (made != nullptr)) add_wrong("an operation and an error");
  operation_.reset(made);
  was_made_ = is_made;
  return is_made;
}

void OperationRun::make_probes() {
  for (int i = 0; i < draw_.threads; ++i) {
    gpujoin_probe* made = nullptr;
    is_ok(ask(gpujoin_probe_create, operation_.get(), &made));
    if (made == nullptr) return;
    probes_.emplace_back(made);
  }
}

void OperationRun::read(gpujoin_result* made) {
  Result const result(made);
  std::vector<JoinedRow> rows;
  std::string const what = read_rows(made, draw_.kind, run_.has_numbers, &rows);
  std::lock_guard const lock(mutex_);
  rows_.insert(rows_.end(), rows.begin(), rows.end());
  if (!what.empty()) wrong_.push_back(what);
}

bool OperationRun::take(gpujoin_probe* probe, gpujoin_state* state) {
  gpujoin_result* made = nullptr;
  if (!is_ok(ask(gpujoin_probe_next, probe, state, &made))) return false;
  if ((made != nullptr) != (*state == GPUJOIN_STATE_READY)) add_wrong("a state without its result");
  if (made != nullptr) read(made);
  return true;
}

bool OperationRun::append(gpujoin_probe* probe, gpujoin_relation* batch, int64_t first) {
  for (;;) {
    Answer const answer = ask(gpujoin_probe_append, probe, batch, first);
    if (answer.status != GPUJOIN_ERROR_NOT_READY) return is_ok(answer);
    gpujoin_state state = GPUJOIN_STATE_NOT_READY;
    if (!take(probe, &state)) return false;
  }
}

void OperationRun::run_probe(int thread) {
  std::mt19937_64 random(run_.seed * 64 + static_cast<uint64_t>(thread));
  auto const chance = [&](double share) { return std::bernoulli_distribution(share)(random); };
  Probe& probe = probes_[static_cast<size_t>(thread)];
  bool const is_destroyed = draw_.end == OperationEnd::kProbeDestroyed && thread == 0;
  gpujoin_state state = GPUJOIN_STATE_NOT_READY;
  int batches = 0;
  for (;;) {
    int64_t const first = next_row_.fetch_add(draw_.batch_rows);
    // One batch of none, too.
    if (first >= probe_rows_.rows() + draw_.batch_rows) break;
    int64_t const rest = std::max<int64_t>(probe_rows_.rows() - first, 0);
    int64_t const begin = std::min(first, probe_rows_.rows());
    Relation batch;
    Answer const is_made =
        probe_rows_.batch(context_, begin, std::min(draw_.batch_rows, rest), &batch);
    if (!is_ok(is_made)) return;
    if (!append(probe.get(), batch.get(), probe_rows_.first() + begin)) return;
    batch.reset();
    if (chance(draw_.flushes) && !is_ok(ask(gpujoin_probe_flush, probe.get()))) return;
    if (chance(draw_.asks) && !take(probe.get(), &state)) return;
    if (is_destroyed && ++batches == 3) break;
  }
  if (is_destroyed) return probe.reset();
  if (!is_ok(ask(gpujoin_probe_finish, probe.get()))) return;
  while (state != GPUJOIN_STATE_FINISHED) {
    if (!take(probe.get(), &state)) return;
    if (state == GPUJOIN_STATE_NOT_READY) return add_wrong("NOT_READY of a finished probe");
  }
}

void OperationRun::take_rest() {
  for (;;) {
    gpujoin_state state = GPUJOIN_STATE_NOT_READY;
    gpujoin_result* made = nullptr;
    if (!is_ok(ask(gpujoin_operation_next, operation_.get(), &state, &made), true)) return;
    if (made != nullptr) read(made);
    if (state == GPUJOIN_STATE_FINISHED) return;
    if (state == GPUJOIN_STATE_NOT_READY) return add_wrong("NOT_READY of a closed operation");
  }
}

void OperationRun::check_counts() {
  gpujoin_progress progress = GPUJOIN_PROGRESS_INIT;
  if (!is_ok(ask(gpujoin_operation_get_progress, operation_.get(), &progress))) return;
  if (progress.rows_in != probe_rows_.rows())
    add_wrong("progress.rows_in is not the rows that came");
  if (progress.rows_out != static_cast<int64_t>(rows_.size())) {
    add_wrong("progress.rows_out is not the rows that came out");
  }
  if (progress.pieces_done != progress.pieces) add_wrong("pieces are left");
}

void OperationRun::run() {
  make_probes();
  has_probes_ = static_cast<int>(probes_.size()) == draw_.threads;
  if (draw_.end == OperationEnd::kOperationDestroyed) {
    operation_.reset();
  } else if (draw_.closes_early) {
    is_ok(ask(gpujoin_operation_close, operation_.get()));
  }
  std::jthread canceller;
  if (draw_.end == OperationEnd::kCancelled) {
    canceller = std::jthread([this] {
      std::this_thread::sleep_for(std::chrono::microseconds(draw_.cancelled_after_microseconds));
      ask(gpujoin_operation_cancel, operation_.get());
    });
  }
  if (has_probes_) in_threads(draw_.threads, [this](int thread) { run_probe(thread); });
  if (canceller.joinable()) canceller.join();
  probes_.clear();
  if (operation_ != nullptr) {
    if (!draw_.closes_early) is_ok(ask(gpujoin_operation_close, operation_.get()));
    if (has_probes_ && ready_calls_ != 1) add_wrong("ready was not called once");
    in_threads(draw_.next_threads, [this](int) { take_rest(); });
    if (is_whole()) check_counts();
  }
  operation_.reset();
  std::sort(rows_.begin(), rows_.end());
}

}  // namespace gpujoin_test
