// probes_test.cpp: eight threads with ten thousand probes each of one build, by operations that
// they share; each probe's rows are its own.
#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>

#include "tests/simulator/in_threads.hpp"
#include "tests/simulator/joined_rows.hpp"
#include "tests/simulator/settings.hpp"
#include "tests/simulator/simulated_context.hpp"

using namespace gpujoin_test;

namespace {

constexpr int kThreads = 8;
constexpr int64_t kBuildRows = 5000;
constexpr int64_t kBatchRows = 24;
constexpr gpujoin_join_kind kKinds[] = {GPUJOIN_JOIN_INNER, GPUJOIN_JOIN_LEFT_ANTI,
                                        GPUJOIN_JOIN_LEFT_MARK};

class Probes : public DeviceTest {
 protected:
  void make_build() {
    context_ = std::make_unique<SimulatedContext>(RunDraw{}, device());
    gpujoin_build_options build_options = GPUJOIN_BUILD_OPTIONS_INIT;
    build_options.has_row_numbers = 1;
    Relation rows;
    ASSERT_OK(right_.batch(context_->get(), 0, right_.rows(), &rows));
    gpujoin_build* made = nullptr;
    std::vector<int32_t> const key = {0};
    int32_t const* const flags = nullptr;
    ASSERT_OK(call(gpujoin_build_create, context_->get(), rows.get(), key.data(), 1, flags,
                   &build_options, &made));
    build_.reset(made);
    ASSERT_OK(call(gpujoin_build_append, made, rows.get(), int64_t{0}));
    ASSERT_OK(call(gpujoin_build_finish, made));
  }

  Operation make_operation(gpujoin_join_kind kind) {
    std::vector<int32_t> const key = {0};
    std::vector<int32_t> const columns = {left_.number_column(), left_.text_column()};
    gpujoin_join_spec spec = GPUJOIN_JOIN_SPEC_INIT;
    spec.kind = kind;
    spec.key_count = 1;
    spec.left_keys = spec.right_keys = key.data();
    spec.output = GPUJOIN_OUTPUT_COLUMNS | GPUJOIN_OUTPUT_PAIRS;
    spec.left_columns = spec.right_columns = columns.data();
    spec.left_column_count = puts_out(kind, true) ? 2 : 0;
    spec.right_column_count = puts_out(kind, false) ? 2 : 0;
    gpujoin_operation_options options = GPUJOIN_OPERATION_OPTIONS_INIT;
    options.has_row_numbers = 1;
    gpujoin_operation* made = nullptr;
    Relation like;
    EXPECT_OK(left_.batch(context_->get(), 0, 0, &like));
    EXPECT_OK(call(gpujoin_operation_create, build_.get(), like.get(), &spec, &options, &made));
    return Operation(made);
  }

  // Empty, or what was wrong with the rows of one probe.
  std::string probe(gpujoin_operation* operation, gpujoin_join_kind kind, int64_t first) {
    gpujoin_probe* made = nullptr;
    Relation batch;
    Answer answer = call(gpujoin_probe_create, operation, &made);
    Probe const probe(made);
    if (answer.status == GPUJOIN_OK) {
      answer = left_.batch(context_->get(), first, kBatchRows, &batch);
    }
    if (answer.status == GPUJOIN_OK) {
      answer = call(gpujoin_probe_append, made, batch.get(), left_.first() + first);
    }
    if (answer.status == GPUJOIN_OK) answer = call(gpujoin_probe_finish, made);
    std::vector<JoinedRow> rows;
    gpujoin_state state = GPUJOIN_STATE_NOT_READY;
    while (answer.status == GPUJOIN_OK && state != GPUJOIN_STATE_FINISHED) {
      gpujoin_result* part = nullptr;
      answer = call(gpujoin_probe_next, made, &state, &part);
      Result const result(part);
      if (part == nullptr) continue;
      std::string const wrong = read_rows(part, kind, true, &rows);
      if (!wrong.empty()) return wrong;
    }
    if (answer.status != GPUJOIN_OK) return answer.message();
    std::sort(rows.begin(), rows.end());
    auto const& all = expected_[static_cast<size_t>(kind)];
    auto const from = std::lower_bound(all.begin(), all.end(), JoinedRow{left_.first() + first});
    auto const to =
        std::lower_bound(from, all.end(), JoinedRow{left_.first() + first + kBatchRows});
    return std::equal(from, to, rows.begin(), rows.end()) ? "" : "not the rows of the probe";
  }

  static TableDraw table(int64_t rows, uint64_t seed) {
    TableDraw draw;
    draw.rows = rows;
    draw.keys = kBuildRows;
    draw.nulls = 0.02;
    draw.seed = seed;
    return draw;
  }

  SideTable left_{table(20000, 1)};
  SideTable right_{table(kBuildRows, 2)};
  std::unique_ptr<SimulatedContext> context_;
  Build build_;
  std::array<std::vector<JoinedRow>, 16> expected_;
};
ON_EVERY_DEVICE(Probes);

}  // namespace

// SIMULATOR_PROBES of each thread.
TEST_P(Probes, OfManyThreadsShareABuild) {
  int64_t const probes = setting("SIMULATOR_PROBES", 10000);
  make_build();
  std::vector<Operation> operations;
  for (gpujoin_join_kind const kind : kKinds) {
    expected_[static_cast<size_t>(kind)] = join_by_map(kind, left_, right_, false).rows;
    operations.push_back(make_operation(kind));
  }
  ASSERT_FALSE(HasFailure());
  std::atomic<int64_t> right{0};
  std::mutex mutex;
  std::string wrong;
  in_threads(kThreads, [&](int thread) {
    for (int64_t i = 0; i < probes; ++i) {
      auto const which = static_cast<size_t>((thread + i) % 3);
      int64_t const first = (thread * 7919 + i * 104729) % (left_.rows() - kBatchRows);
      std::string const found = probe(operations[which].get(), kKinds[which], first);
      if (found.empty()) {
        ++right;
        continue;
      }
      std::lock_guard const lock(mutex);
      wrong = found;
      return;
    }
  });
  EXPECT_EQ(wrong, "");
  EXPECT_EQ(right, kThreads * probes);
  int64_t rows_in = 0;
  for (auto const& operation : operations) {
    gpujoin_progress progress = GPUJOIN_PROGRESS_INIT;
    EXPECT_OK(call(gpujoin_operation_get_progress, operation.get(), &progress));
    rows_in += progress.rows_in;
  }
  EXPECT_EQ(rows_in, kThreads * probes * kBatchRows);
  operations.clear();
  build_.reset();
  EXPECT_EQ(context_->left_behind(), "");
}
