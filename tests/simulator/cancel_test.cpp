// cancel_test.cpp: builds, operations and probes that are cancelled at any moment of their long
// calls answer soon, on the CPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/abi/fixture.hpp"
#include "tests/simulator/settings.hpp"

using namespace gpujoin_test;

namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// A key of INT32, the same as text, and a number.
struct Rows {
  Rows(int64_t rows, int64_t keys, uint64_t seed) {
    std::mt19937_64 random(seed);
    for (int64_t i = 0; i < rows; ++i) {
      key.push_back(static_cast<int32_t>(random() % static_cast<uint64_t>(keys)));
      text += "customer " + std::to_string(key.back());
      offsets.push_back(static_cast<int32_t>(text.size()));
    }
  }
  std::vector<int32_t> key;
  std::vector<int32_t> offsets = {0};
  std::string text;

  Relation relation(gpujoin_context* context, bool is_empty = false) const {
    gpujoin_column columns[2] = {GPUJOIN_COLUMN_INIT, GPUJOIN_COLUMN_INIT};
    columns[0].name = "key";
    columns[0].type = GPUJOIN_TYPE_INT32;
    columns[0].data = key.data();
    columns[1].name = "text";
    columns[1].type = GPUJOIN_TYPE_UTF8;
    columns[1].data = text.data();
    columns[1].offsets = offsets.data();
    gpujoin_relation* made = nullptr;
    EXPECT_OK(call(gpujoin_relation_create, context,
                   is_empty ? int64_t{0} : static_cast<int64_t>(key.size()), columns, 2, &made));
    return Relation(made);
  }
};

struct Long {
  const char* name;
  int64_t build_rows;
  int64_t probe_rows;
  int64_t keys;
  bool by_text;
  uint64_t host_limit;
};

// Other processes may have the cores: what counts is the time in which this one worked, but of
// twenty times as much in which it did not.
struct Moment {
  Clock::time_point wall;
  double worked = 0;  // milliseconds of all threads

  static Moment now() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return {Clock::now(),
            static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6};
  }
  static double between(const Moment& first, const Moment& last) {
    double const wall = std::chrono::duration<double, std::milli>(last.wall - first.wall).count();
    return std::min(wall, std::max(last.worked - first.worked, wall / 20));
  }
};

enum class Which { kAppend, kFinish, kProbeAppend, kProbeNext, kNext };

// What it takes to cancel one of its calls.
class CancelledRun {
 public:
  CancelledRun(const Long& what, const Rows& build, const Rows& probe) : what_(what) {
    gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
    options.device = GPUJOIN_DEVICE_CPU;
    options.host_limit_bytes = what.host_limit;
    std::string const folder = std::filesystem::temp_directory_path().string();
    if (what.host_limit != 0) options.spill_path = folder.c_str();
    context_ = make_context(options);
    build_rows_ = build.relation(context_.get());
    probe_rows_ = probe.relation(context_.get());
    Relation const like = build.relation(context_.get(), true);
    int32_t const key = what.by_text ? 1 : 0;
    gpujoin_build* made = nullptr;
    const int32_t* const flags = nullptr;
    const gpujoin_build_options* const automatic = nullptr;
    EXPECT_OK(
        call(gpujoin_build_create, context_.get(), like.get(), &key, 1, flags, automatic, &made));
    build_.reset(made);
  }

  // Runs until that call, and answers how long it took; or how long it took from a cancel after
  // `moment` milliseconds on. Negative: it ended before.
  double run(Which which, double moment) {
    auto const timed = [&](Which this_one, const std::function<gpujoin_status()>& body) {
      if (this_one != which) {
        EXPECT_EQ(body(), GPUJOIN_OK);
        return false;
      }
      auto const start = Clock::now();
      if (moment < 0) {
        EXPECT_EQ(body(), GPUJOIN_OK);
        took_ = milliseconds_since(start);
        return true;
      }
      Moment ended;
      gpujoin_status status = GPUJOIN_OK;
      std::thread caller([&] {
        status = body();
        ended = Moment::now();
      });
      std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(moment));
      Moment const asked = Moment::now();
      bool const is_of_build = which == Which::kAppend || which == Which::kFinish;
      if (is_of_build) {
        EXPECT_OK(call(gpujoin_build_cancel, build_.get()));
      } else {
        EXPECT_OK(call(gpujoin_operation_cancel, operation_.get()));
      }
      caller.join();
      if (status == GPUJOIN_OK) {
        took_ = -1;
      } else {
        EXPECT_EQ(status, GPUJOIN_ERROR_CANCELLED);
        took_ = Moment::between(asked, ended);
      }
      return true;
    };
    if (timed(Which::kAppend, [&] { return append_build(); })) return took_;
    if (timed(Which::kFinish, [&] { return gpujoin_build_finish(build_.get(), nullptr); })) {
      return took_;
    }
    make_operation();
    if (timed(Which::kProbeAppend, [&] { return append_probe(); })) return took_;
    EXPECT_OK(call(gpujoin_probe_finish, probe_.get()));
    if (timed(Which::kProbeNext, [&] { return take_all(true); })) return took_;
    timed(Which::kNext, [&] { return take_all(false); });
    return took_;
  }

 private:
  gpujoin_status append_build() {
    return gpujoin_build_append(build_.get(), build_rows_.get(), 0, nullptr);
  }
  gpujoin_status append_probe() {
    return gpujoin_probe_append(probe_.get(), probe_rows_.get(), 0, nullptr);
  }

  gpujoin_status take_all(bool of_probe) {
    for (gpujoin_state state = 0; state != GPUJOIN_STATE_FINISHED;) {
      gpujoin_result* made = nullptr;
      gpujoin_status const status =
          of_probe ? gpujoin_probe_next(probe_.get(), &state, &made, nullptr)
                   : gpujoin_operation_next(operation_.get(), &state, &made, nullptr);
      Result const result(made);
      if (status != GPUJOIN_OK) return status;
    }
    return GPUJOIN_OK;
  }

  void make_operation() {
    int32_t const key = what_.by_text ? 1 : 0;
    int32_t const columns[] = {0, 1};
    gpujoin_join_spec spec = GPUJOIN_JOIN_SPEC_INIT;
    spec.kind = GPUJOIN_JOIN_LEFT;
    spec.key_count = 1;
    spec.left_keys = spec.right_keys = &key;
    spec.left_columns = columns;
    spec.right_columns = columns;
    spec.left_column_count = 1;
    spec.right_column_count = 2;
    gpujoin_operation* made = nullptr;
    const gpujoin_operation_options* const automatic = nullptr;
    EXPECT_OK(
        call(gpujoin_operation_create, build_.get(), probe_rows_.get(), &spec, automatic, &made));
    operation_.reset(made);
    gpujoin_probe* probe = nullptr;
    EXPECT_OK(call(gpujoin_probe_create, operation_.get(), &probe));
    probe_.reset(probe);
    EXPECT_OK(call(gpujoin_operation_close, operation_.get()));
  }

  Long what_;
  Context context_;
  Relation build_rows_;
  Relation probe_rows_;
  Build build_;
  Operation operation_;
  Probe probe_;
  double took_ = -1;
};

// Milliseconds. A checked build fills each buffer before it is used and sanitizers look at each
// access, which takes ten times as long.
#if GPUJOIN_CHECKED || defined(__SANITIZE_THREAD__)
constexpr int kMostWait = 1000;
#else
constexpr int kMostWait = 50;
#endif

// SIMULATOR_CANCELS of each call, or fewer where most calls end before.
void cancel_at_any_moment(const Long& what, std::initializer_list<Which> calls) {
  auto const cancels = static_cast<int>(setting("SIMULATOR_CANCELS", 5));
  auto const most = static_cast<double>(setting("SIMULATOR_CANCEL_MILLISECONDS", kMostWait));
  Rows const build(what.build_rows, what.keys, 1);
  Rows const probe(what.probe_rows, what.keys, 2);
  std::mt19937_64 random(3);
  for (Which const which : calls) {
    double whole = CancelledRun(what, build, probe).run(which, -1);
    std::vector<double> waits;
    for (int i = 0; i < 3 * cancels && std::ssize(waits) < cancels; ++i) {
      double const moment = std::uniform_real_distribution<double>(0, whole)(random);
      double const wait = CancelledRun(what, build, probe).run(which, moment);
      if (wait >= 0) {
        waits.push_back(wait);
      } else {
        // The first run takes fresh pages, and is the slowest: later ones end before its last part.
        whole = std::min(whole, moment);
      }
    }
    std::sort(waits.begin(), waits.end());
    std::printf("%s, call %d of %.0f ms:", what.name, static_cast<int>(which), whole);
    for (double const wait : waits) std::printf(" %.1f", wait);
    std::printf("\n");
    if (waits.empty()) continue;
    EXPECT_LT(waits[waits.size() / 2], most) << what.name;
  }
}

}  // namespace

TEST(Cancel, EndsCallsOnABuildThatFits) {
  cancel_at_any_moment({"a build that fits", 3000000, 1000000, 3000000, false, 0},
                       {Which::kAppend, Which::kFinish, Which::kProbeAppend, Which::kProbeNext});
}

TEST(Cancel, EndsCallsOnWhatIsPartitionedInMemory) {
  cancel_at_any_moment({"in memory", 3000000, 1000000, 3000000, false, uint64_t{1} << 30},
                       {Which::kAppend, Which::kFinish, Which::kNext});
}

TEST(Cancel, EndsCallsThatWriteFiles) {
  cancel_at_any_moment({"in files", 3000000, 3000000, 3000000, false, uint64_t{16} << 20},
                       {Which::kAppend, Which::kFinish, Which::kProbeAppend, Which::kNext});
}

TEST(Cancel, EndsJoinsByText) {
  cancel_at_any_moment({"by text", 1000000, 1000000, 1000000, true, 0}, {Which::kProbeNext});
  cancel_at_any_moment({"by text in files", 1000000, 1000000, 1000000, true, uint64_t{16} << 20},
                       {Which::kNext});
}

TEST(Cancel, EndsJoinsWithManyPairs) {
  cancel_at_any_moment({"many pairs", 200000, 20000, 400, false, 0}, {Which::kProbeNext});
  cancel_at_any_moment({"one key", 6000, 3000, 1, false, uint64_t{64} << 20}, {Which::kProbeNext});
  cancel_at_any_moment({"one key in files", 200000, 200, 1, false, uint64_t{16} << 20},
                       {Which::kNext});
}
