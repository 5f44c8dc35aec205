#include "tests/simulator/engine.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>

#include "tests/simulator/in_threads.hpp"
#include "tests/simulator/library_call.hpp"
#include "tests/simulator/operation_run.hpp"

namespace gpujoin_test {

namespace {

bool is_among(const std::vector<gpujoin_status>& statuses, gpujoin_status status) {
  return std::find(statuses.begin(), statuses.end(), status) != statuses.end();
}

std::string text_of(gpujoin_status status, const std::string& message) {
  return std::string(gpujoin_status_name(status)) + ": " + message;
}

class Engine {
 public:
  Engine(const RunDraw& draw, gpujoin_context* context, std::vector<gpujoin_status> may_fail)
      : draw_(draw), context_(context), may_fail_(std::move(may_fail)), rows_(draw.build) {
    if (!draw.has_limit()) return;
    // Shares of the limit are those of one operation and its build.
    bool const are_many = draw.operations.size() > 1;
    if (draw.spill == Spill::kNone || are_many) may_fail_.push_back(GPUJOIN_ERROR_MEMORY_LIMIT);
    if (draw.spill == Spill::kFull) may_fail_.push_back(GPUJOIN_ERROR_SPILL);
  }

  RunReport run() {
    if (!build()) return report_;
    if (draw_.asks_filter) ask_filter();
    std::vector<std::unique_ptr<OperationRun>> made;
    for (OperationDraw const& one : draw_.operations) {
      made.push_back(std::make_unique<OperationRun>(draw_, one, rows_, context_, build_.get()));
      if (!made.back()->create()) {
        check(*made.back());
        made.pop_back();
      }
    }
    if (draw_.end == BuildEnd::kDestroyed) build_.reset();
    bool const is_cancelled = draw_.end == BuildEnd::kCancelledLate;
    in_threads(static_cast<int>(made.size()) + (is_cancelled ? 1 : 0), [&](int i) {
      if (static_cast<size_t>(i) < made.size()) return made[static_cast<size_t>(i)]->run();
      expect(GPUJOIN_OK, ask(gpujoin_build_cancel, build_.get()), "cancel of a finished build");
    });
    build_.reset();
    for (auto const& one : made) check(*one);
    return report_;
  }

 private:
  void add_wrong(const std::string& what) { report_.wrong.push_back(what); }

  void expect(gpujoin_status status, const Answer& answer, const char* what) {
    if (answer.status == status) return;
    add_wrong(std::string(what) + " answered " + text_of(answer.status, answer.message()));
  }

  // Whether a call that failed was to.
  void check_failure(gpujoin_status status, const std::string& message,
                     const std::vector<gpujoin_status>& allowed) {
    report_.ended_with.push_back(status);
    if (!is_among(allowed, status)) add_wrong("ended with " + text_of(status, message));
    if (message.empty()) add_wrong("a failure without a message");
  }

  // Whether there is a finished build.
  bool build() {
    std::vector<int32_t> keys;
    for (int32_t key = 0; key < rows_.key_count(); ++key) keys.push_back(key);
    std::vector<int32_t> const flags(keys.size(), draw_.null_equal ? GPUJOIN_KEY_NULL_EQUAL : 0);
    gpujoin_build_options options = GPUJOIN_BUILD_OPTIONS_INIT;
    options.has_row_numbers = draw_.has_numbers ? 1 : 0;
    options.timeout_milliseconds = draw_.end == BuildEnd::kDeadline ? 1 : 0;
    Relation like;
    gpujoin_build* made = nullptr;
    Answer answer = rows_.batch(context_, 0, 0, &like);
    if (answer.status == GPUJOIN_OK) {
      answer = ask(gpujoin_build_create, context_, like.get(), keys.data(),
                   static_cast<int32_t>(keys.size()), flags.data(), &options, &made);
    }
    build_.reset(made);
    if (answer.status != GPUJOIN_OK) {
      check_failure(answer.status, answer.message(), allowed_of_build());
      return false;
    }
    in_threads(draw_.threads, [this](int) { append_batches(); });
    if (!failed_.empty()) report_failed();
    if (lacks_batch_) return false;
    // However it failed, it says so from then on.
    answer = ask(gpujoin_build_finish, build_.get());
    if (answer.status != GPUJOIN_OK) {
      check_failure(answer.status, answer.message(), allowed_of_build());
    } else if (!failed_.empty()) {
      add_wrong("a build of which an append failed can be finished");
    }
    if (answer.status == GPUJOIN_OK && failed_.empty()) return check_size();
    expect_no_operation(like.get(), keys, flags);
    return false;
  }

  void append_batches() {
    for (;;) {
      int64_t const first = next_row_.fetch_add(draw_.batch_rows);
      if (first >= rows_.rows() + draw_.batch_rows) return;
      int64_t const begin = std::min(first, rows_.rows());
      int64_t const count = std::min(draw_.batch_rows, rows_.rows() - begin);
      Relation batch;
      Answer answer = rows_.batch(context_, begin, count, &batch);
      if (answer.status == GPUJOIN_OK) {
        answer = ask(gpujoin_build_append, build_.get(), batch.get(), rows_.first() + begin);
      }
      bool const is_half = first <= rows_.rows() / 2 && first + draw_.batch_rows > rows_.rows() / 2;
      if (draw_.end == BuildEnd::kCancelledEarly && is_half) {
        ask(gpujoin_build_cancel, build_.get());
      }
      if (answer.status == GPUJOIN_OK) continue;
      std::lock_guard const lock(mutex_);
      lacks_batch_ = lacks_batch_ || batch == nullptr;
      failed_.push_back(answer);
      return;
    }
  }

  void report_failed() {
    for (Answer const& answer : failed_) {
      check_failure(answer.status, answer.message(), allowed_of_build());
    }
  }

  std::vector<gpujoin_status> allowed_of_build() const {
    std::vector<gpujoin_status> allowed = may_fail_;
    if (draw_.end == BuildEnd::kCancelledEarly) allowed.push_back(GPUJOIN_ERROR_CANCELLED);
    if (draw_.end == BuildEnd::kDeadline) allowed.push_back(GPUJOIN_ERROR_DEADLINE);
    return allowed;
  }

  bool check_size() {
    if (draw_.end == BuildEnd::kCancelledEarly) add_wrong("a build that was cancelled is finished");
    gpujoin_build_info info = GPUJOIN_BUILD_INFO_INIT;
    Answer const answer = ask(gpujoin_build_get_info, build_.get(), &info);
    if (answer.status != GPUJOIN_OK) {
      check_failure(answer.status, answer.message(), allowed_of_build());
      return false;
    }
    if (info.rows != rows_.rows()) add_wrong("info.rows is not the rows that came");
    if (info.is_finished != 1) add_wrong("info.is_finished");
    report_.was_in_partitions = info.is_whole == 0;
    return true;
  }

  // A filter of the build lets all its rows pass, but those of NULL.
  void ask_filter() {
    gpujoin_key_filter_options options = GPUJOIN_KEY_FILTER_OPTIONS_INIT;
    options.kind = draw_.filter_kind;
    gpujoin_key_filter* made = nullptr;
    Answer answer = ask(gpujoin_build_get_filter, build_.get(), -1, &options, &made);
    KeyFilter const filter(made);
    Relation rows;
    if (answer.status == GPUJOIN_OK) answer = rows_.batch(context_, 0, rows_.rows(), &rows);
    std::vector<int32_t> keys;
    for (int32_t key = 0; key < rows_.key_count(); ++key) keys.push_back(key);
    std::vector<uint8_t> bits(static_cast<size_t>(rows_.rows() + 7) / 8);
    int64_t passing = 0;
    if (answer.status == GPUJOIN_OK) {
      answer = ask(gpujoin_key_filter_test, made, rows.get(), keys.data(), rows_.key_count(),
                   bits.data(), GPUJOIN_MEMORY_HOST, &passing);
    }
    if (answer.status != GPUJOIN_OK) {
      return check_failure(answer.status, answer.message(), allowed_of_build());
    }
    for (int64_t row = 0; row < rows_.rows(); ++row) {
      auto const& key = rows_.key(row);
      bool const has_null = key[0] == kNullKey || key[1] == kNullKey;
      bool const passes = (bits[static_cast<size_t>(row) / 8] >> (row % 8) & 1) != 0;
      if (!passes && (!has_null || draw_.null_equal)) {
        return add_wrong("a filter drops row " + std::to_string(row) + " of its own build");
      }
    }
  }

  void expect_no_operation(gpujoin_relation* like, const std::vector<int32_t>& keys,
                           const std::vector<int32_t>& flags) {
    gpujoin_join_spec spec = GPUJOIN_JOIN_SPEC_INIT;
    spec.kind = keys.empty() ? GPUJOIN_JOIN_CROSS : GPUJOIN_JOIN_LEFT_SEMI;
    spec.key_count = static_cast<int32_t>(keys.size());
    spec.left_keys = spec.right_keys = keys.data();
    spec.key_flags = flags.data();
    std::vector<int32_t> const columns = {rows_.number_column()};
    spec.left_columns = columns.data();
    spec.left_column_count = 1;
    gpujoin_operation* made = nullptr;
    gpujoin_operation_options const* const automatic = nullptr;
    Answer const answer =
        call(gpujoin_operation_create, build_.get(), like, &spec, automatic, &made);
    Operation const operation(made);
    expect(GPUJOIN_ERROR_INVALID_ARGUMENT, answer, "an operation on a build that failed");
  }

  std::vector<gpujoin_status> allowed_of(const OperationRun& run) const {
    std::vector<gpujoin_status> allowed = may_fail_;
    OperationEnd const end = run.draw().end;
    if (run.reference().has_several) allowed.push_back(GPUJOIN_ERROR_SEVERAL_MATCHES);
    if (end == OperationEnd::kCancelled) allowed.push_back(GPUJOIN_ERROR_CANCELLED);
    if (end == OperationEnd::kDeadline) allowed.push_back(GPUJOIN_ERROR_DEADLINE);
    return allowed;
  }

  void check(const OperationRun& run) {
    for (auto const& what : run.wrong()) add_wrong(what);
    std::vector<gpujoin_status> const allowed = allowed_of(run);
    bool of_a_probe = run.draw().end == OperationEnd::kProbeDestroyed;
    for (auto const& failure : run.failures()) of_a_probe = of_a_probe || !failure.at_the_end;
    bool is_told = false;
    for (auto const& failure : run.failures()) {
      is_told = is_told || failure.at_the_end;
      // Rows of a probe are missing.
      bool const is_incomplete =
          failure.at_the_end && of_a_probe && failure.status == GPUJOIN_ERROR_INVALID_ARGUMENT;
      if (!is_incomplete) check_failure(failure.status, failure.message, allowed);
    }
    bool const has_operation =
        run.was_made() && run.draw().end != OperationEnd::kOperationDestroyed;
    // A call may fail when all its rows are there.
    bool const is_complete = run.rows() == run.reference().rows;
    if (of_a_probe && has_operation && run.has_probes() && !is_told && !is_complete) {
      add_wrong("what is incomplete is not told");
    }
    if (!run.failures().empty() || of_a_probe) return check_part(run);
    if (!has_operation) return check_part(run);
    if (run.reference().has_several) return add_wrong("several matches are not told");
    ++report_.right_answers;
    if (run.rows() != run.reference().rows) add_wrong(difference(run));
  }

  // Rows that came out before an end are of the join, each once.
  void check_part(const OperationRun& run) {
    // Without its probes an operation is one of no rows.
    if (run.reference().has_several || !run.has_probes()) return;
    auto const& all = run.reference().rows;
    if (std::includes(all.begin(), all.end(), run.rows().begin(), run.rows().end())) return;
    add_wrong("before its end: " + difference(run));
  }

  static std::string difference(const OperationRun& run) {
    auto const& expected = run.reference().rows;
    std::string out = std::to_string(run.rows().size()) + " rows, expected " +
                      std::to_string(expected.size()) + ", kind " + std::to_string(run.draw().kind);
    auto const append = [&](const char* what, const auto& these, const auto& those) {
      std::vector<JoinedRow> found;
      std::set_difference(these.begin(), these.end(), those.begin(), those.end(),
                          std::back_inserter(found));
      for (size_t i = 0; i < std::min<size_t>(found.size(), 3); ++i) {
        out += "; " + std::string(what) + " " + std::to_string(found[i].left) + " " +
               std::to_string(found[i].right) + " " +
               std::to_string(static_cast<int>(found[i].mark));
      }
    };
    append("missing", expected, run.rows());
    append("too many", run.rows(), expected);
    return out;
  }

  const RunDraw& draw_;
  gpujoin_context* context_;
  std::vector<gpujoin_status> may_fail_;
  SideTable rows_;
  Build build_;
  std::atomic<int64_t> next_row_{0};
  RunReport report_;
  std::mutex mutex_;
  std::vector<Answer> failed_;  // appends
  bool lacks_batch_ = false;    // one could not be made, and the build does not know
};

}  // namespace

RunReport simulate(const RunDraw& draw, gpujoin_context* context,
                   const std::vector<gpujoin_status>& may_fail) {
  return Engine(draw, context, may_fail).run();
}

std::string wrong_of_a_small_join(gpujoin_context* context) {
  TableDraw draw;
  draw.rows = 200;
  draw.keys = 100;
  SideTable const left(draw);
  draw.seed = 1;
  SideTable const right(draw);
  Relation left_rows, right_rows;
  Answer answer = left.batch(context, 0, left.rows(), &left_rows);
  if (answer.status == GPUJOIN_OK) answer = right.batch(context, 0, right.rows(), &right_rows);
  std::vector<int32_t> const key = {0};
  std::vector<int32_t> const columns = {left.number_column(), left.text_column()};
  gpujoin_join_spec spec = GPUJOIN_JOIN_SPEC_INIT;
  spec.kind = GPUJOIN_JOIN_FULL;
  spec.key_count = 1;
  spec.left_keys = spec.right_keys = key.data();
  spec.left_columns = spec.right_columns = columns.data();
  spec.left_column_count = spec.right_column_count = 2;
  gpujoin_result* made = nullptr;
  if (answer.status == GPUJOIN_OK) {
    answer = call(gpujoin_join, context, left_rows.get(), right_rows.get(), &spec, nullptr, &made);
  }
  Result const result(made);
  if (answer.status != GPUJOIN_OK) return text_of(answer.status, answer.message());
  std::vector<JoinedRow> rows;
  std::string const wrong = read_rows(made, spec.kind, false, &rows);
  std::sort(rows.begin(), rows.end());
  bool const is_right = rows == join_by_map(spec.kind, left, right, false).rows;
  return wrong.empty() && !is_right ? "not the rows of the join" : wrong;
}

}  // namespace gpujoin_test
