// large_batches_test.cpp: builds of several large batches, which a device takes as they come, and
// of many small ones, with room for them and without, also where all calls share a stream of the
// caller's.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/abi/device_memory.hpp"
#include "tests/abi/fixture.hpp"
#include "tests/abi/key_value_rows.hpp"

using namespace gpujoin_test;

namespace {

constexpr int32_t kKey = 0;
constexpr int64_t kLarge = int64_t{1} << 20;
constexpr int64_t kSmall = 10'000;
constexpr int64_t kRows = 4 * kLarge + 1000;

// Row i has the key keys[i], which is i * 7 modulo kRows, and 3 * key.
struct Rows : KeyValueRows {
  Rows() {
    keys.resize(kRows);
    values.resize(kRows);
    for (int64_t i = 0; i < kRows; ++i) {
      keys[static_cast<size_t>(i)] = static_cast<int32_t>(i * 7 % kRows);
      values[static_cast<size_t>(i)] = 3 * int64_t{keys[static_cast<size_t>(i)]};
    }
  }
};

class LargeBatches : public DeviceTest {
 protected:
  // Rows that came out, and the sum of their keys.
  struct Sum {
    int64_t rows = 0;
    int64_t keys = 0;
  };

  template <typename From, typename Next>
  static bool take(From* from, Next next, Sum* sum) {
    for (;;) {
      gpujoin_state state = GPUJOIN_STATE_NOT_READY;
      gpujoin_result* made = nullptr;
      EXPECT_OK(call(next, from, &state, &made));
      Result const result(made);
      if (state != GPUJOIN_STATE_READY) return state == GPUJOIN_STATE_FINISHED;
      auto const keys = column_of<int32_t>(result, 0);
      auto const values = column_of<int64_t>(result, 1);
      for (size_t i = 0; i < keys.size(); ++i) {
        EXPECT_EQ(*values[i], 3 * int64_t{*keys[i]});
        sum->keys += *keys[i];
      }
      sum->rows += static_cast<int64_t>(keys.size());
    }
  }

  void join_all(const gpujoin_context_options& options, int64_t batch_rows = kLarge) {
    Rows const rows;
    Context const context = make_context(options);
    Relation const like = rows.slice(context, 0, 0);
    gpujoin_build* made = nullptr;
    ASSERT_OK(
        call(gpujoin_build_create, context.get(), like.get(), &kKey, 1, nullptr, nullptr, &made));
    Build const build(made);
    for (int64_t first = 0; first < kRows; first += batch_rows) {
      Relation const batch = rows.slice(context, first, std::min(batch_rows, kRows - first));
      ASSERT_OK(call(gpujoin_build_append, build.get(), batch.get(), 0));
    }
    ASSERT_OK(call(gpujoin_build_finish, build.get()));

    Spec wish;
    wish.left_columns = {0};
    wish.right_columns = {1};
    gpujoin_join_spec const spec = wish.get();
    gpujoin_operation* opened = nullptr;
    ASSERT_OK(call(gpujoin_operation_create, build.get(), like.get(), &spec, nullptr, &opened));
    Operation const operation(opened);
    gpujoin_probe* begun = nullptr;
    ASSERT_OK(call(gpujoin_probe_create, operation.get(), &begun));
    Probe const probe(begun);
    Sum sum;
    for (int64_t first = 0; first < kRows; first += batch_rows) {
      Relation const batch = rows.slice(context, first, std::min(batch_rows, kRows - first));
      Answer answer;
      while ((answer = call(gpujoin_probe_append, probe.get(), batch.get(), 0)).status ==
             GPUJOIN_ERROR_NOT_READY) {
        take(probe.get(), gpujoin_probe_next, &sum);
      }
      ASSERT_OK(answer);
    }
    ASSERT_OK(call(gpujoin_probe_finish, probe.get()));
    EXPECT_TRUE(take(probe.get(), gpujoin_probe_next, &sum));
    ASSERT_OK(call(gpujoin_operation_close, operation.get()));
    EXPECT_TRUE(take(operation.get(), gpujoin_operation_next, &sum));
    EXPECT_EQ(sum.rows, kRows);
    EXPECT_EQ(sum.keys, kRows * (kRows - 1) / 2);
  }

  // Room for a part of the build side; what the CPU's has none for goes to files.
  gpujoin_context_options little_memory() const {
    static std::string const folder = testing::TempDir();
    gpujoin_context_options little = options();
    little.memory_limit_bytes = uint64_t{64} << 20;
    little.spill_path = folder.c_str();
    return little;
  }
};
ON_EVERY_DEVICE(LargeBatches);

}  // namespace

TEST_P(LargeBatches, FitTogether) { join_all(options()); }

TEST_P(LargeBatches, DoNotFitTogether) { join_all(little_memory()); }

TEST_P(LargeBatches, SmallOnesDoNotFitTogether) { join_all(little_memory(), kSmall); }

TEST_P(LargeBatches, DoNotFitTogetherAndShareAStreamOfTheCallers) {
  if (device() == GPUJOIN_DEVICE_CPU) GTEST_SKIP() << "a CPU context has no stream";
  CallerStream const stream;
  gpujoin_context_options little = little_memory();
  little.cuda_stream = stream.get();
  join_all(little);
}
