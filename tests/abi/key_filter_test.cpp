// key_filter_test.cpp: filters of builds, on every device: arguments, what they say, and probes
// that take them in.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "tests/abi/fixture.hpp"

namespace gpujoin_test {
namespace {

constexpr gpujoin_status kInvalid = GPUJOIN_ERROR_INVALID_ARGUMENT;
constexpr int32_t kKey[] = {0};
constexpr int32_t kBeyond[] = {9};
constexpr int32_t kPayload[] = {1};
const int32_t* const kNoFlags = nullptr;

class KeyFilters : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped()) return;
    context_ = make_context(options());
    rows_ = make_relation(context_, table_);
    build_ = build_of(rows_);
  }

  // Keys 0, 3, 6, ... of 4 bytes, payloads of 8.
  static Table multiples(int64_t rows) {
    std::vector<int32_t> keys(static_cast<size_t>(rows));
    for (size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<int32_t>(3 * i);
    std::vector<int64_t> values(keys.begin(), keys.end());
    Table made;
    made.emplace_back("key", GPUJOIN_TYPE_INT32, keys);
    made.emplace_back("value", GPUJOIN_TYPE_INT64, values);
    return made;
  }

  Build build_of(const Relation& rows, bool finishes = true) {
    gpujoin_build* made = nullptr;
    EXPECT_OK(
        call(gpujoin_build_create, context_.get(), rows.get(), kKey, 1, kNoFlags, nullptr, &made));
    Build build(made);
    EXPECT_OK(call(gpujoin_build_append, made, rows.get(), int64_t{0}));
    if (finishes) {
      EXPECT_OK(call(gpujoin_build_finish, made));
    }
    return build;
  }
  Answer ask(gpujoin_build* build, int32_t key, const gpujoin_key_filter_options* options,
             KeyFilter* filter) {
    gpujoin_key_filter* made = nullptr;
    Answer const answer = call(gpujoin_build_get_filter, build, key, options, &made);
    EXPECT_EQ(made == nullptr, answer.status != GPUJOIN_OK);
    filter->reset(made);
    return answer;
  }
  KeyFilter filter_of(gpujoin_key_filter_kind kind = 0, int32_t key = -1) {
    gpujoin_key_filter_options options = GPUJOIN_KEY_FILTER_OPTIONS_INIT;
    options.kind = kind;
    KeyFilter filter;
    EXPECT_OK(ask(build_.get(), key, &options, &filter));
    return filter;
  }
  static gpujoin_key_filter_info info_of(const KeyFilter& filter) {
    gpujoin_key_filter_info info = GPUJOIN_KEY_FILTER_INFO_INIT;
    EXPECT_OK(call(gpujoin_key_filter_get_info, filter.get(), &info));
    return info;
  }
  Answer operate(const gpujoin_operation_options& given, gpujoin_join_kind kind, Operation* out) {
    gpujoin_join_spec spec = GPUJOIN_JOIN_SPEC_INIT;
    spec.kind = kind;
    spec.key_count = 1;
    spec.left_keys = spec.right_keys = kKey;
    spec.left_columns = kPayload;
    spec.left_column_count = 1;
    gpujoin_operation* made = nullptr;
    Answer const answer =
        call(gpujoin_operation_create, build_.get(), rows_.get(), &spec, &given, &made);
    EXPECT_EQ(made == nullptr, answer.status != GPUJOIN_OK);
    out->reset(made);
    return answer;
  }

  static constexpr int64_t kRows = 1000;
  Table table_ = multiples(kRows);
  Context context_;
  Relation rows_;
  Build build_;
};
ON_EVERY_DEVICE(KeyFilters);

}  // namespace

TEST_P(KeyFilters, SayWhatTheyAre) {
  for (gpujoin_key_filter_kind kind : {GPUJOIN_KEY_FILTER_AUTOMATIC, GPUJOIN_KEY_FILTER_MIN_MAX,
                                       GPUJOIN_KEY_FILTER_BITMAP, GPUJOIN_KEY_FILTER_BLOOM}) {
    for (int32_t key : {-1, 0}) {
      KeyFilter const filter = filter_of(kind, key);
      gpujoin_key_filter_info const info = info_of(filter);
      bool const is_bitmap =
          kind == GPUJOIN_KEY_FILTER_AUTOMATIC || kind == GPUJOIN_KEY_FILTER_BITMAP;
      EXPECT_EQ(info.kind, is_bitmap ? GPUJOIN_KEY_FILTER_BITMAP : kind);
      EXPECT_EQ(info.key_count, 1);
      EXPECT_EQ(info.key_types[0], GPUJOIN_TYPE_INT32);
      EXPECT_EQ(info.rows, kRows);
      EXPECT_NEAR(static_cast<double>(info.distinct), kRows, is_bitmap ? 0 : 60);
      EXPECT_EQ(info.distinct_is_exact, is_bitmap ? 1 : 0);
      EXPECT_EQ(info.has_null, 0);
      ASSERT_EQ(info.value_bytes[0], sizeof(int32_t));
      EXPECT_EQ(*static_cast<const int32_t*>(info.min_value), 0);
      EXPECT_EQ(*static_cast<const int32_t*>(info.max_value), 3 * (kRows - 1));
      EXPECT_EQ(info.bytes == 0, kind == GPUJOIN_KEY_FILTER_MIN_MAX);
      EXPECT_EQ(info.bits == nullptr, info.bytes == 0);
      if (is_bitmap) {
        EXPECT_EQ(info.last_value, 3 * (kRows - 1));
        EXPECT_EQ(*static_cast<const uint8_t*>(info.bits), 0b01001001);
      }
    }
  }
}

TEST_P(KeyFilters, TestBatchesOfOtherTypesAndSelections) {
  constexpr int64_t kTested = 5000;
  std::vector<int64_t> wide(kTested);
  std::iota(wide.begin(), wide.end(), int64_t{-500});
  std::vector<std::optional<int16_t>> narrow;
  for (int64_t value : wide) {
    narrow.push_back(value % 7 == 0 ? std::nullopt : std::optional(static_cast<int16_t>(value)));
  }
  Table table;
  table.emplace_back("narrow", GPUJOIN_TYPE_INT16, narrow);
  table.emplace_back("wide", GPUJOIN_TYPE_INT64, wide);
  Relation const rows = make_relation(context_, table);
  for (gpujoin_key_filter_kind kind : {GPUJOIN_KEY_FILTER_BITMAP, GPUJOIN_KEY_FILTER_BLOOM}) {
    KeyFilter const filter = filter_of(kind);
    for (int32_t column : {0, 1}) {
      auto const matches = [&](int64_t value) {
        return value >= 0 && value < 3 * kRows && value % 3 == 0 && (column == 1 || value % 7 != 0);
      };
      std::vector<uint8_t> bits((kTested + 7) / 8 + 1, 0xaa);
      int64_t passing = 0;
      EXPECT_OK(call(gpujoin_key_filter_test, filter.get(), rows.get(), &column, 1, bits.data(),
                     GPUJOIN_MEMORY_AUTOMATIC, &passing));
      EXPECT_EQ(bits.back(), 0xaa);
      int64_t counted = 0, wrong = 0;
      for (int64_t i = 0; i < kTested; ++i) {
        bool const passes = (bits[static_cast<size_t>(i) / 8] >> (i % 8) & 1) != 0;
        bool const does_match = matches(wide[static_cast<size_t>(i)]);
        ASSERT_TRUE(passes || !does_match) << i;
        counted += passes ? 1 : 0;
        wrong += passes && !does_match ? 1 : 0;
      }
      EXPECT_EQ(counted, passing);
      EXPECT_LE(wrong, kind == GPUJOIN_KEY_FILTER_BITMAP ? 0 : 120);
      // What passes, selected, and tested again: a bit for each row picked.
      gpujoin_selection selection = GPUJOIN_SELECTION_INIT;
      selection.form = GPUJOIN_SELECTION_BITMAP;
      selection.data = bits.data();
      gpujoin_relation* made = nullptr;
      ASSERT_OK(call(gpujoin_relation_select, rows.get(), &selection, &made));
      Relation const selected(made);
      std::vector<uint8_t> again((kTested + 7) / 8, 0xaa);
      int64_t passing_again = 0;
      EXPECT_OK(call(gpujoin_key_filter_test, filter.get(), selected.get(), &column, 1,
                     again.data(), GPUJOIN_MEMORY_HOST, &passing_again));
      EXPECT_EQ(passing_again, passing);
      int64_t ones = 0;
      for (int64_t i = 0; i < (passing + 7) / 8; ++i) {
        ones += std::popcount(again[static_cast<size_t>(i)]);
      }
      EXPECT_EQ(ones, passing);
    }
  }
}

TEST_P(KeyFilters, RefuseWhatCannotBeRight) {
  KeyFilter filter;
  EXPECT_NAMES(ask(nullptr, 0, nullptr, &filter), kInvalid, "build");
  EXPECT_NAMES(ask(build_.get(), 1, nullptr, &filter), kInvalid, "key");
  EXPECT_NAMES(ask(build_.get(), -2, nullptr, &filter), kInvalid, "key");
  EXPECT_NAMES(call(gpujoin_build_get_filter, build_.get(), 0, nullptr, nullptr), kInvalid, "out");
  Build const unfinished = build_of(rows_, false);
  EXPECT_NAMES(ask(unfinished.get(), 0, nullptr, &filter), kInvalid, "not finished");
  gpujoin_build* made = nullptr;
  const int32_t* const none = nullptr;
  ASSERT_OK(call(gpujoin_build_create, context_.get(), rows_.get(), none, 0, none, nullptr, &made));
  Build const without_keys(made);
  ASSERT_OK(call(gpujoin_build_finish, made));
  EXPECT_NAMES(ask(made, -1, nullptr, &filter), kInvalid, "key");
  struct Garbage {
    void (*put)(gpujoin_key_filter_options&);
    gpujoin_status status;
    const char* word;
  };
  using Options = gpujoin_key_filter_options;
  for (Garbage const& one : std::vector<Garbage>{
           {[](Options& o) { o.struct_size = 8; }, GPUJOIN_ERROR_ABI_MISMATCH,
            "options.struct_size"},
           {[](Options& o) { o.struct_size = UINT32_MAX; }, GPUJOIN_ERROR_ABI_MISMATCH,
            "options.struct_size"},
           {[](Options& o) { o.kind = -1; }, kInvalid, "options.kind"},
           {[](Options& o) { o.kind = INT32_MAX; }, kInvalid, "options.kind"},
           {[](Options& o) { o.kind = GPUJOIN_KEY_FILTER_NONE; }, kInvalid, "options.kind"},
           {[](Options& o) { o.false_positive_rate = 1; }, kInvalid, "options.false_positive_rate"},
           {[](Options& o) { o.false_positive_rate = -0.5; }, kInvalid,
            "options.false_positive_rate"},
           {[](Options& o) { o.false_positive_rate = std::nan(""); }, kInvalid,
            "options.false_positive_rate"},
           {[](Options& o) {
              o.kind = GPUJOIN_KEY_FILTER_BITMAP;
              o.largest_bytes = 1;
            },
            GPUJOIN_ERROR_UNSUPPORTED, "options.largest_bytes"},
       }) {
    gpujoin_key_filter_options options = GPUJOIN_KEY_FILTER_OPTIONS_INIT;
    one.put(options);
    EXPECT_NAMES(ask(build_.get(), 0, &options, &filter), one.status, one.word);
  }
  filter = filter_of();
  gpujoin_key_filter_info info = GPUJOIN_KEY_FILTER_INFO_INIT;
  info.struct_size = 0;
  EXPECT_NAMES(call(gpujoin_key_filter_get_info, filter.get(), &info), GPUJOIN_ERROR_ABI_MISMATCH,
               "info.struct_size");
  auto const* const as_filter = reinterpret_cast<const gpujoin_key_filter*>(build_.get());
  EXPECT_NAMES(call(gpujoin_key_filter_get_info, as_filter, &info), kInvalid, "filter");
  std::vector<uint8_t> bits(kRows);
  auto const test = [&](const gpujoin_relation* rows, const int32_t* columns, int32_t count,
                        void* to, gpujoin_memory memory) {
    return call(gpujoin_key_filter_test, filter.get(), rows, columns, count, to, memory, nullptr);
  };
  EXPECT_NAMES(test(nullptr, kKey, 1, bits.data(), 0), kInvalid, "relation");
  EXPECT_NAMES(test(rows_.get(), kKey, 0, bits.data(), 0), kInvalid, "columns");
  EXPECT_NAMES(test(rows_.get(), kKey, 2, bits.data(), 0), kInvalid, "columns");
  EXPECT_NAMES(test(rows_.get(), nullptr, 1, bits.data(), 0), kInvalid, "columns");
  EXPECT_NAMES(test(rows_.get(), kBeyond, 1, bits.data(), 0), kInvalid, "columns[0]");
  EXPECT_NAMES(test(rows_.get(), kKey, 1, nullptr, 0), kInvalid, "bits");
  EXPECT_NAMES(test(rows_.get(), kKey, 1, bits.data(), 99), kInvalid, "memory");
  Table floats;
  floats.emplace_back("f", GPUJOIN_TYPE_FLOAT64, std::vector<double>{1, 2});
  Relation const others = make_relation(context_, floats);
  EXPECT_NAMES(test(others.get(), kKey, 1, bits.data(), 0), GPUJOIN_ERROR_TYPE, "columns[0]");
  Context const another = make_context(options());
  Relation const elsewhere = make_relation(another, table_);
  EXPECT_NAMES(test(elsewhere.get(), kKey, 1, bits.data(), 0), kInvalid, "relation");
  EXPECT_OK(test(rows_.get(), kKey, 1, bits.data(), 0));
}

TEST_P(KeyFilters, OperationsRefuseWhatCannotBeRight) {
  KeyFilter const filter = filter_of();
  gpujoin_applied_filter right = GPUJOIN_APPLIED_FILTER_INIT;
  right.filter = filter.get();
  right.column_count = 1;
  right.columns = kKey;
  Operation operation;
  auto const with = [&](const gpujoin_applied_filter* filters, int32_t count, int32_t own = 0,
                        gpujoin_join_kind kind = GPUJOIN_JOIN_LEFT_SEMI) {
    gpujoin_operation_options options = GPUJOIN_OPERATION_OPTIONS_INIT;
    options.filters = filters;
    options.filter_count = count;
    options.own_filter = own;
    return operate(options, kind, &operation);
  };
  EXPECT_OK(with(&right, 1));
  EXPECT_NAMES(with(nullptr, 1), kInvalid, "options.filters");
  EXPECT_NAMES(with(&right, -1), kInvalid, "options.filter_count");
  EXPECT_NAMES(with(nullptr, 0, 3), kInvalid, "options.own_filter");
  EXPECT_NAMES(with(nullptr, 0, -1), kInvalid, "options.own_filter");
  gpujoin_applied_filter wrong = right;
  wrong.struct_size = 1;
  EXPECT_NAMES(with(&wrong, 1), GPUJOIN_ERROR_ABI_MISMATCH, "options.filters[0].struct_size");
  wrong = right;
  wrong.filter = nullptr;
  EXPECT_NAMES(with(&wrong, 1), kInvalid, "options.filters[0].filter");
  wrong = right;
  wrong.column_count = 7;
  EXPECT_NAMES(with(&wrong, 1), kInvalid, "options.filters[0].columns");
  wrong = right;
  wrong.columns = kBeyond;
  EXPECT_NAMES(with(&wrong, 1), kInvalid, "options.filters[0].columns");
  for (gpujoin_join_kind kind :
       {GPUJOIN_JOIN_LEFT, GPUJOIN_JOIN_FULL, GPUJOIN_JOIN_LEFT_ANTI, GPUJOIN_JOIN_LEFT_MARK,
        GPUJOIN_JOIN_LEFT_NOT_IN, GPUJOIN_JOIN_LEFT_SINGLE}) {
    EXPECT_NAMES(with(nullptr, 0, GPUJOIN_OWN_FILTER_ON, kind), GPUJOIN_ERROR_UNSUPPORTED,
                 "options.own_filter");
    EXPECT_OK(with(nullptr, 0, GPUJOIN_OWN_FILTER_AUTOMATIC, kind));
  }
}

TEST_P(KeyFilters, ProbesTakeSelectionsToo) {
  // Of 0, 1, 2, ... every second row is selected, and every third has a match.
  constexpr int64_t kProbed = 2000;
  std::vector<int32_t> keys(kProbed);
  std::iota(keys.begin(), keys.end(), 0);
  Table table;
  table.emplace_back("key", GPUJOIN_TYPE_INT32, keys);
  table.emplace_back("value", GPUJOIN_TYPE_INT64, std::vector<int64_t>(keys.begin(), keys.end()));
  Relation const rows = make_relation(context_, table);
  std::vector<uint8_t> const bits((kProbed + 7) / 8, 0b01010101);
  gpujoin_selection selection = GPUJOIN_SELECTION_INIT;
  selection.form = GPUJOIN_SELECTION_BITMAP;
  selection.data = bits.data();
  gpujoin_relation* made = nullptr;
  ASSERT_OK(call(gpujoin_relation_select, rows.get(), &selection, &made));
  Relation const selected(made);
  KeyFilter const filter = filter_of(GPUJOIN_KEY_FILTER_BITMAP);
  gpujoin_applied_filter applied = GPUJOIN_APPLIED_FILTER_INIT;
  applied.filter = filter.get();
  applied.column_count = 1;
  applied.columns = kKey;
  for (bool const is_given : {false, true}) {
    gpujoin_operation_options with = GPUJOIN_OPERATION_OPTIONS_INIT;
    with.own_filter = is_given ? GPUJOIN_OWN_FILTER_OFF : GPUJOIN_OWN_FILTER_ON;
    with.filters = &applied;
    with.filter_count = is_given ? 1 : 0;
    Operation operation;
    ASSERT_OK(operate(with, GPUJOIN_JOIN_LEFT_SEMI, &operation));
    gpujoin_probe* opened = nullptr;
    ASSERT_OK(call(gpujoin_probe_create, operation.get(), &opened));
    Probe const probe(opened);
    ASSERT_OK(call(gpujoin_probe_append, opened, selected.get(), int64_t{0}));
    ASSERT_OK(call(gpujoin_probe_finish, opened));
    std::vector<int64_t> found;
    for (gpujoin_state state = GPUJOIN_STATE_READY; state == GPUJOIN_STATE_READY;) {
      gpujoin_result* taken = nullptr;
      ASSERT_OK(call(gpujoin_probe_next, opened, &state, &taken));
      Result const result(taken);
      if (taken == nullptr) continue;
      for (auto const& value : column_of<int64_t>(result, 0)) found.push_back(value.value_or(-1));
    }
    std::sort(found.begin(), found.end());
    std::vector<int64_t> expected;
    for (int64_t key = 0; key < kProbed; key += 6) expected.push_back(key);
    EXPECT_EQ(found, expected);
    gpujoin_progress progress = GPUJOIN_PROGRESS_INIT;
    EXPECT_OK(call(gpujoin_operation_get_progress, operation.get(), &progress));
    EXPECT_EQ(progress.rows_in, kProbed / 2);
    EXPECT_EQ(progress.rows_dropped, kProbed / 2 - static_cast<int64_t>(expected.size()));
  }
}

TEST_P(KeyFilters, OutliveTheirBuild) {
  KeyFilter const filter = filter_of(GPUJOIN_KEY_FILTER_BLOOM);
  build_.reset();
  std::vector<uint8_t> bits(kRows);
  int64_t passing = 0;
  EXPECT_OK(call(gpujoin_key_filter_test, filter.get(), rows_.get(), kKey, 1, bits.data(),
                 GPUJOIN_MEMORY_AUTOMATIC, &passing));
  EXPECT_EQ(passing, kRows);
  gpujoin_key_filter_destroy(nullptr);
}

}  // namespace gpujoin_test
