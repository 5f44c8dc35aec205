// own_filter_test.cpp: when a probe on the CPU makes a filter of its build, where nobody says so.
#include "tests/abi/fixture.hpp"
#include "tests/abi/operation_results.hpp"

namespace gpujoin_test {
namespace {

constexpr int64_t kBuildRows = int64_t{1} << 17;
constexpr int64_t kBatchRows = int64_t{1} << 14;

class OwnFilter : public testing::Test {
 protected:
  // Row i's key is (first + i) % distinct * gap. Good until the next ones are made.
  Relation keys_of(int64_t rows, int64_t distinct, int64_t gap, int64_t first = 0) {
    std::vector<int64_t> keys(static_cast<size_t>(rows));
    for (size_t i = 0; i < keys.size(); ++i) {
      keys[i] = (first + static_cast<int64_t>(i)) % distinct * gap;
    }
    table_ = Table();
    table_.emplace_back("key", GPUJOIN_TYPE_INT64, keys);
    return make_relation(context_, table_);
  }

  void begin(int64_t distinct, int64_t gap) {
    gap_ = gap;
    begin_join(context_, keys_of(kBuildRows, distinct, gap), &join_);
  }

  // What the operation says of its filter once so many rows more have been joined, of keys from
  // `first` on; results: how many they have to have.
  std::string after(int64_t rows, int64_t first, int64_t results) {
    gpujoin_probe* const probe = join_.probe.get();
    auto const use = [&](const Result& result) { results -= rows_of(result); };
    for (int64_t begun = 0; begun < rows; begun += kBatchRows) {
      append_and_take(probe, keys_of(kBatchRows, kBuildRows * 8, gap_, first + begun), use);
      EXPECT_OK(call(gpujoin_probe_flush, probe));
      EXPECT_OK(take_results(probe, gpujoin_probe_next, use));
    }
    EXPECT_EQ(results, 0);
    std::string text(4096, '\0');
    size_t length = text.size();
    EXPECT_OK(call(gpujoin_operation_explain, join_.operation.get(), text.data(), &length));
    return text.substr(text.find("own filter"), text.find("\n  pieces") - text.find("own filter"));
  }

  Context const context_ = make_context(GPUJOIN_DEVICE_CPU);
  Table table_;
  BegunJoin join_;
  int64_t gap_ = 1;
};

// Keys in the order of numbers, and all over their range.
TEST_F(OwnFilter, IsNotMadeWhileRowsHaveAMatch) {
  for (int64_t const gap : {int64_t{1}, int64_t{1000003}}) {
    SCOPED_TRACE(gap);
    begin(kBuildRows, gap);
    if (HasFatalFailure()) return;
    EXPECT_TRUE(after(kBuildRows, 0, kBuildRows).starts_with("own filter not yet"));
    EXPECT_TRUE(after(kBuildRows, 0, kBuildRows).starts_with("own filter not yet"));
    std::string const text = after(3 * kBuildRows, kBuildRows, 0);
    EXPECT_NE(text.find(", on: the last sample dropped"), std::string::npos) << text;
  }
}

// Nobody knows how many rows had those matches.
TEST_F(OwnFilter, IsMadeWhereKeysComeTwice) {
  begin(kBuildRows / 2, 1000003);
  if (HasFatalFailure()) return;
  std::string text;
  for (int i = 0; i < 3; ++i) text = after(kBuildRows / 2, 0, kBuildRows);
  EXPECT_NE(text.find(", off: the last sample dropped 0 %"), std::string::npos) << text;
}

}  // namespace
}  // namespace gpujoin_test
