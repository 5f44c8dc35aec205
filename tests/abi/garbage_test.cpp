// garbage_test.cpp: every field of what a caller hands in, with values that no caller should have
// there. Each is refused with a message that names it, and nothing is touched that it points to.
#include <array>
#include <cstddef>
#include <cstring>

#include "tests/abi/fixture.hpp"

using namespace gpujoin_test;

namespace {

constexpr int32_t kInvalid = GPUJOIN_ERROR_INVALID_ARGUMENT;
constexpr int32_t kMismatch = GPUJOIN_ERROR_ABI_MISMATCH;
constexpr int32_t kUnsupported = GPUJOIN_ERROR_UNSUPPORTED;
constexpr int32_t kType = GPUJOIN_ERROR_TYPE;
constexpr int64_t kRows = 10;

// A value in one field: what it must be answered with, and the word that names it.
template <typename Struct>
struct Garbage {
  void (*put)(Struct&);
  gpujoin_status status;
  const char* word;
};

class GarbageTest : public testing::Test {
 protected:
  // Each of the table, in a struct that is right but for it.
  template <typename Struct, size_t kCount, typename Function>
  void expect_refused(const Struct& right, const Garbage<Struct> (&all)[kCount], Function run) {
    EXPECT_OK(run(right));
    for (size_t i = 0; i < kCount; ++i) {
      SCOPED_TRACE(i);
      Struct wrong = right;
      all[i].put(wrong);
      EXPECT_NAMES(run(wrong), all[i].status, all[i].word);
    }
  }
  Answer plan_with(const gpujoin_join_spec& given, const gpujoin_plan_options* options) {
    return try_plan(context, relation, relation, &given, options);
  }

  Context context = make_context(GPUJOIN_DEVICE_CPU);
  Table table = counting_table(kRows, 5);
  Relation relation = make_relation(context, table);
  Spec wish = [] {
    Spec both;
    both.left_columns = {1};
    both.right_columns = {0};
    both.output = GPUJOIN_OUTPUT_COLUMNS | GPUJOIN_OUTPUT_PAIRS;
    return both;
  }();
};

// Positions that a list may not have, and a list that does not lie where numbers do.
constexpr int32_t kNegative = -1;
constexpr int32_t kBeyond = 2;
constexpr int32_t kUnknownFlag = 4;
alignas(8) constexpr char kBytes[16] = {};
const int32_t* misaligned() { return reinterpret_cast<const int32_t*>(kBytes + 1); }

}  // namespace

TEST_F(GarbageTest, OfAContextsOptions) {
  gpujoin_context_options right = GPUJOIN_CONTEXT_OPTIONS_INIT;
  right.device = GPUJOIN_DEVICE_CPU;
  static const gpujoin_allocator empty = GPUJOIN_ALLOCATOR_INIT;
  using Options = gpujoin_context_options;
  static const Garbage<Options> kTable[] = {
      {[](Options& o) { o.struct_size = 0; }, kMismatch, "options.struct_size"},
      {[](Options& o) { o.struct_size = offsetof(Options, host_limit_bytes) - 8; }, kMismatch,
       "options.struct_size"},
      {[](Options& o) { o.struct_size = sizeof(o) + 1; }, kMismatch, "options.struct_size"},
      {[](Options& o) { o.struct_size = UINT32_MAX; }, kMismatch, "options.struct_size"},
      {[](Options& o) { o.spill_path = ""; }, kInvalid, "options.spill_path"},
      {[](Options& o) { o.spill_path = "/no/such/folder"; }, kInvalid, "options.spill_path"},
      {[](Options& o) { o.spill_limit_bytes = 1; }, kInvalid, "options.spill_limit_bytes"},
      {[](Options& o) { o.device = -1; }, kInvalid, "options.device"},
      {[](Options& o) { o.device = INT32_MAX; }, kInvalid, "options.device"},
      {[](Options& o) { o.cuda_device_id = INT32_MIN; }, kInvalid, "options.cuda_device_id"},
      {[](Options& o) { o.cpu_threads = INT32_MIN; }, kInvalid, "options.cpu_threads"},
      {[](Options& o) { o.cuda_stream = &o; }, kInvalid, "options.cuda_stream"},
      {[](Options& o) { o.allocator = &empty; }, kInvalid, "options.allocator"},
      {[](Options& o) { o.calibration_path = ""; }, kInvalid, "options.calibration_path"},
  };
  expect_refused(right, kTable, [](const Options& options) {
    gpujoin_context* out = nullptr;
    Answer const answer = call(gpujoin_context_create, &options, &out);
    EXPECT_EQ(out == nullptr, answer.status != GPUJOIN_OK);
    gpujoin_context_destroy(out);
    return answer;
  });
}

TEST_F(GarbageTest, OfAColumn) {
  std::array<uint8_t, 2> const bits = {0xFF, 0xFF};
  gpujoin_column right = table[0].descriptor();
  right.validity = bits.data();
  static constexpr int32_t kOffsets[kRows + 1] = {};
  static constexpr int32_t kBackwards[kRows + 1] = {5};
  using Column = gpujoin_column;
  static const Garbage<Column> kTable[] = {
      {[](Column& c) { c.struct_size = offsetof(gpujoin_column, offsets) - 8; }, kMismatch,
       "columns[0].struct_size"},
      {[](Column& c) { c.reserved = 1; }, kInvalid, "columns[0].reserved"},
      {[](Column& c) { c.type = GPUJOIN_TYPE_UTF8; }, kInvalid, "columns[0] has no offsets"},
      {[](Column& c) {
         c.type = GPUJOIN_TYPE_LARGE_BINARY;
         c.offsets = kBytes + 1;
       },
       kInvalid, "columns[0] is not aligned to 8"},
      {[](Column& c) {
         c.type = GPUJOIN_TYPE_BINARY;
         c.offsets = kBackwards;
       },
       kInvalid, "columns[0]: offsets begin at 5 and end at 0"},
      {[](Column& c) {
         c.type = GPUJOIN_TYPE_UTF8;
         c.offsets = kOffsets;
         c.memory = GPUJOIN_MEMORY_DEVICE;
       },
       kUnsupported, "columns[0].data"},
      {[](Column& c) {
         c.type = GPUJOIN_TYPE_BOOL;
         c.first_bit = -1;
       },
       kInvalid, "columns[0].first_bit"},
      {[](Column& c) {
         c.type = GPUJOIN_TYPE_BOOL;
         c.first_bit = INT64_MAX;
       },
       kInvalid, "columns[0].first_bit"},
      {[](Column& c) { c.type = GPUJOIN_TYPE_FIXED_BINARY; }, kInvalid, "columns[0].value_width"},
      {[](Column& c) {
         c.type = GPUJOIN_TYPE_FIXED_BINARY;
         c.value_width = INT32_MIN;
       },
       kInvalid, "columns[0].value_width"},
      {[](Column& c) { c.type = GPUJOIN_TYPE_DECIMAL64; }, kInvalid,
       "columns[0].decimal_precision is 0, allowed are 1 to 18"},
      {[](Column& c) {
         c.type = GPUJOIN_TYPE_DECIMAL256;
         c.decimal_precision = 77;
       },
       kInvalid, "columns[0].decimal_precision"},
      {[](Column& c) {
         c.type = GPUJOIN_TYPE_DECIMAL32;
         c.decimal_precision = 9;
         c.decimal_scale = INT32_MIN;
       },
       kInvalid, "columns[0].decimal_scale"},
      {[](Column& c) { c.struct_size = sizeof(c) + 2; }, kMismatch, "columns[0].struct_size"},
      {[](Column& c) { c.type = -1; }, kType, "columns[0].type"},
      {[](Column& c) { c.type = 0; }, kType, "columns[0].type"},
      {[](Column& c) { c.type = INT32_MAX; }, kType, "columns[0].type"},
      {[](Column& c) { c.data = nullptr; }, kInvalid, "columns[0].data"},
      {[](Column& c) { c.data = kBytes + 3; }, kInvalid, "columns[0].data"},
      {[](Column& c) { c.validity_bit_offset = -1; }, kInvalid, "validity_bit_offset"},
      {[](Column& c) { c.validity_bit_offset = INT64_MIN; }, kInvalid, "validity_bit_offset"},
      {[](Column& c) { c.validity_bit_offset = INT64_MAX; }, kInvalid, "validity_bit_offset"},
      {[](Column& c) { c.validity_bit_offset = INT64_MAX - 7; }, kInvalid, "validity_bit_offset"},
      {[](Column& c) { c.memory = -1; }, kInvalid, "columns[0].memory"},
      {[](Column& c) { c.memory = 4; }, kInvalid, "columns[0].memory"},
      {[](Column& c) { c.memory = GPUJOIN_MEMORY_DEVICE; }, kUnsupported, "columns[0].data"},
  };
  expect_refused(right, kTable, [&](const Column& column) {
    gpujoin_relation* out = nullptr;
    Answer const answer = call(gpujoin_relation_create, context.get(), kRows, &column, 1, &out);
    EXPECT_EQ(out == nullptr, answer.status != GPUJOIN_OK);
    gpujoin_relation_destroy(out);
    return answer;
  });
}

TEST_F(GarbageTest, OfASpecification) {
  using Join = gpujoin_join_spec;
  static const Garbage<Join> kTable[] = {
      {[](Join& s) { s.struct_size = offsetof(gpujoin_join_spec, key_flags) - 8; }, kMismatch,
       "spec.struct_size"},
      {[](Join& s) { s.struct_size = sizeof(s) - 4; }, kMismatch, "spec.struct_size"},
      {[](Join& s) { s.key_flags = misaligned(); }, kInvalid, "spec.key_flags"},
      {[](Join& s) { s.key_flags = &kNegative; }, kInvalid, "spec.key_flags[0]"},
      {[](Join& s) { s.key_flags = &kUnknownFlag; }, kInvalid, "spec.key_flags[0]"},
      {[](Join& s) { s.struct_size = sizeof(s) + 3; }, kMismatch, "spec.struct_size"},
      {[](Join& s) { s.kind = 0; }, kInvalid, "spec.kind is 0, allowed are 1 to 15"},
      {[](Join& s) { s.kind = -5; }, kInvalid, "spec.kind"},
      {[](Join& s) { s.kind = INT32_MAX; }, kUnsupported, "spec.kind"},
      {[](Join& s) { s.key_count = 0; }, kInvalid, "spec.key_count is 0, allowed are 1 to 16"},
      {[](Join& s) { s.key_count = INT32_MIN; }, kInvalid, "spec.key_count"},
      {[](Join& s) { s.key_count = 17; }, kUnsupported, "spec.key_count"},
      {[](Join& s) { s.key_count = INT32_MAX; }, kUnsupported, "spec.key_count"},
      {[](Join& s) { s.output = -1; }, kInvalid, "spec.output"},
      {[](Join& s) { s.output = 4; }, kInvalid, "spec.output"},
      {[](Join& s) { s.left_keys = nullptr; }, kInvalid, "spec.left_keys"},
      {[](Join& s) { s.right_keys = nullptr; }, kInvalid, "spec.right_keys"},
      {[](Join& s) { s.left_keys = misaligned(); }, kInvalid, "spec.left_keys"},
      {[](Join& s) { s.right_keys = misaligned(); }, kInvalid, "spec.right_keys"},
      {[](Join& s) { s.left_keys = &kNegative; }, kInvalid, "spec.left_keys[0]"},
      {[](Join& s) { s.right_keys = &kBeyond; }, kInvalid, "spec.right_keys[0]"},
      {[](Join& s) { s.left_columns = nullptr; }, kInvalid, "spec.left_columns"},
      {[](Join& s) { s.right_columns = nullptr; }, kInvalid, "spec.right_columns"},
      {[](Join& s) { s.left_columns = misaligned(); }, kInvalid, "spec.left_columns"},
      {[](Join& s) { s.left_columns = &kBeyond; }, kInvalid, "spec.left_columns[0]"},
      {[](Join& s) { s.right_columns = &kNegative; }, kInvalid, "spec.right_columns[0]"},
      {[](Join& s) { s.left_column_count = -1; }, kInvalid, "spec.left_column_count"},
      {[](Join& s) { s.right_column_count = INT32_MIN; }, kInvalid, "spec.right_column_count"},
  };
  expect_refused(wish.get(), kTable, [&](const Join& spec) { return plan_with(spec, nullptr); });
}

TEST_F(GarbageTest, OfAPlansOptions) {
  using Options = gpujoin_plan_options;
  gpujoin_plan_options const right = GPUJOIN_PLAN_OPTIONS_INIT;
  static const Garbage<Options> kTable[] = {
      {[](Options& o) { o.struct_size = 4; }, kMismatch, "options.struct_size"},
      {[](Options& o) { o.struct_size = sizeof(o) + 4; }, kMismatch, "options.struct_size"},
      {[](Options& o) { o.device = 3; }, kInvalid, "options.device"},
      {[](Options& o) { o.algorithm = -1; }, kInvalid, "options.algorithm"},
      {[](Options& o) { o.algorithm = INT32_MAX; }, kInvalid, "options.algorithm"},
      {[](Options& o) { o.transform = INT32_MIN; }, kInvalid, "options.transform"},
      {[](Options& o) { o.match = INT32_MAX; }, kInvalid, "options.match"},
      {[](Options& o) { o.gather = -1; }, kInvalid, "options.gather"},
      {[](Options& o) { o.build_side = 3; }, kInvalid, "options.build_side"},
      {[](Options& o) { o.radix_bits = 17; }, kInvalid, "options.radix_bits"},
      {[](Options& o) { o.radix_bits = -1; }, kInvalid, "options.radix_bits"},
      {[](Options& o) { o.transfer = INT32_MAX; }, kInvalid, "options.transfer"},
      {[](Options& o) { o.skew = -1; }, kInvalid, "options.skew"},
      {[](Options& o) { o.output = INT32_MAX; }, kInvalid, "options.output"},
      {[](Options& o) { o.passes = 3; }, kInvalid, "options.passes"},
      {[](Options& o) { o.page_pairs = INT32_MAX; }, kInvalid, "options.page_pairs"},
      {[](Options& o) { o.filter = INT32_MIN; }, kInvalid, "options.filter"},
      {[](Options& o) { o.probe_chunk_rows = -1; }, kInvalid, "options.probe_chunk_rows"},
      {[](Options& o) { o.probe_chunk_rows = INT64_MAX; }, kInvalid, "options.probe_chunk_rows"},
  };
  gpujoin_join_spec const spec = wish.get();
  expect_refused(right, kTable, [&](const Options& given) { return plan_with(spec, &given); });
}

TEST_F(GarbageTest, OfAPage) {
  Result const result = join(context, relation, relation, wish);
  gpujoin_page right = GPUJOIN_PAGE_INIT;
  using Page = gpujoin_page;
  static const Garbage<Page> kTable[] = {
      {[](Page& p) { p.struct_size = sizeof(p) - 8; }, kMismatch, "page.struct_size"},
      {[](Page& p) { p.struct_size = sizeof(p) + 1; }, kMismatch, "page.struct_size"},
      {[](Page& p) { p.reserved = UINT32_MAX; }, kInvalid, "page.reserved"},
      {[](Page& p) { p.first_row = -1; }, kInvalid, "page.first_row"},
      {[](Page& p) { p.first_row = INT64_MIN; }, kInvalid, "page.first_row"},
      {[](Page& p) { p.first_row = INT64_MAX; }, kInvalid, "page.first_row"},
      {[](Page& p) { p.max_rows = -1; }, kInvalid, "page.max_rows"},
      {[](Page& p) { p.max_rows = INT64_MIN; }, kInvalid, "page.max_rows"},
  };
  expect_refused(right, kTable, [&](Page page) {
    std::array<int64_t, 100> values{};
    gpujoin_fetch fetch = fetch_of(GPUJOIN_FETCH_COLUMN, 0, values.data(), sizeof(values));
    return call(gpujoin_result_fetch, result.get(), &page, &fetch, 1);
  });
}

TEST_F(GarbageTest, OfAFetch) {
  Result const result = join(context, relation, relation, wish);
  static std::array<int64_t, 100> values;
  gpujoin_fetch const right =
      fetch_of(GPUJOIN_FETCH_COLUMN, 0, values.data(), sizeof(int64_t) * 100);
  using Fetch = gpujoin_fetch;
  constexpr int32_t kTooSmall = GPUJOIN_ERROR_BUFFER_TOO_SMALL;
  static const Garbage<Fetch> kTable[] = {
      {[](Fetch& f) { f.struct_size = offsetof(gpujoin_fetch, offsets) - 8; }, kMismatch,
       "fetches[0].struct_size"},
      {[](Fetch& f) { f.struct_size = sizeof(f) + 7; }, kMismatch, "fetches[0].struct_size"},
      {[](Fetch& f) { f.what = 0; }, kInvalid, "fetches[0].what"},
      {[](Fetch& f) { f.what = INT32_MIN; }, kInvalid, "fetches[0].what"},
      {[](Fetch& f) { f.what = 4; }, kInvalid, "fetches[0].what"},
      {[](Fetch& f) { f.column = -1; }, kInvalid, "fetches[0].column"},
      {[](Fetch& f) { f.column = 2; }, kInvalid, "fetches[0].column"},
      {[](Fetch& f) { f.column = INT32_MAX; }, kInvalid, "fetches[0].column"},
      {[](Fetch& f) { f.type = -1; }, kType, "fetches[0].type"},
      {[](Fetch& f) { f.type = GPUJOIN_TYPE_INT32; }, kType, "fetches[0].type"},
      {[](Fetch& f) { f.type = INT32_MAX; }, kType, "fetches[0].type"},
      {[](Fetch& f) { f.data = nullptr; }, kInvalid, "fetches[0].data"},
      {[](Fetch& f) { f.data_bytes = 0; }, kTooSmall, "fetches[0].data_bytes"},
      {[](Fetch& f) { f.validity = reinterpret_cast<uint8_t*>(values.data()); }, kTooSmall,
       "fetches[0].validity_bytes"},
      {[](Fetch& f) { f.memory = -1; }, kInvalid, "fetches[0].memory"},
      {[](Fetch& f) { f.memory = 4; }, kInvalid, "fetches[0].memory"},
      {[](Fetch& f) { f.memory = GPUJOIN_MEMORY_DEVICE; }, kUnsupported, "fetches[0].data"},
      {[](Fetch& f) { f.reserved = -1; }, kInvalid, "reserved"},
  };
  expect_refused(right, kTable, [&](Fetch fetch) {
    return call(gpujoin_result_fetch, result.get(), nullptr, &fetch, 1);
  });
}

TEST_F(GarbageTest, StructsMayLieAnywhere) {
  // The library copies them, so that it never reads a field at an address that does not suit it.
  Result const result = join(context, relation, relation, wish);
  std::array<int64_t, 20> values{};
  alignas(8) std::array<char, 2 * sizeof(gpujoin_fetch) + 1> room{};
  for (size_t i = 0; i < 2; ++i) {
    gpujoin_fetch const fetch =
        fetch_of(GPUJOIN_FETCH_COLUMN, 0, values.data(), sizeof(int64_t) * 20);
    std::memcpy(room.data() + 1 + i * sizeof(fetch), &fetch, sizeof(fetch));
  }
  auto* const fetches = reinterpret_cast<gpujoin_fetch*>(room.data() + 1);
  EXPECT_OK(call(gpujoin_result_fetch, result.get(), nullptr, fetches, 2));
}

TEST_F(GarbageTest, OfASequence) {
  static const gpujoin_relation* dimension = nullptr;
  dimension = relation.get();
  static const int32_t kKey = 0;
  gpujoin_sequence_step right = GPUJOIN_SEQUENCE_STEP_INIT;
  right.key_count = 1;
  right.dimension = dimension;
  right.fact_keys = &kKey;
  right.dimension_keys = &kKey;
  right.dimension_columns = &kKey;
  right.dimension_column_count = 1;
  auto const run = [&](const gpujoin_sequence_spec& spec) {
    gpujoin_result* out = nullptr;
    Answer const answer = call(gpujoin_join_sequence, context.get(), dimension, &spec,
                               static_cast<const gpujoin_plan_options*>(nullptr), &out);
    EXPECT_EQ(out == nullptr, answer.status != GPUJOIN_OK);
    gpujoin_result_destroy(out);
    return answer;
  };
  gpujoin_sequence_spec sequence = GPUJOIN_SEQUENCE_SPEC_INIT;
  sequence.step_count = 1;
  sequence.steps = &right;
  sequence.fact_columns = &kKey;
  sequence.fact_column_count = 1;
  using Step = gpujoin_sequence_step;
  static const Garbage<Step> kSteps[] = {
      {[](Step& s) { s.struct_size = 8; }, kMismatch, "spec.steps[0].struct_size"},
      {[](Step& s) { s.struct_size = sizeof(s) + 4; }, kMismatch, "spec.steps[0].struct_size"},
      {[](Step& s) { s.key_count = 0; }, kInvalid, "spec.steps[0].key_count is 0, allowed is 1"},
      {[](Step& s) { s.key_count = INT32_MIN; }, kInvalid, "spec.steps[0].key_count"},
      {[](Step& s) { s.key_count = INT32_MAX; }, kUnsupported, "spec.steps[0].key_count"},
      {[](Step& s) { s.dimension = nullptr; }, kInvalid, "spec.steps[0].dimension"},
      {[](Step& s) { s.dimension = reinterpret_cast<const gpujoin_relation*>(&kKey); }, kInvalid,
       "spec.steps[0].dimension"},
      {[](Step& s) { s.fact_keys = nullptr; }, kInvalid, "spec.steps[0].fact_keys"},
      {[](Step& s) { s.fact_keys = &kNegative; }, kInvalid, "spec.steps[0].fact_keys[0]"},
      {[](Step& s) { s.dimension_keys = misaligned(); }, kInvalid, "spec.steps[0].dimension_keys"},
      {[](Step& s) { s.dimension_columns = nullptr; }, kInvalid, "dimension_columns"},
      {[](Step& s) { s.dimension_columns = &kBeyond; }, kInvalid, "dimension_columns[0]"},
      {[](Step& s) { s.dimension_column_count = -1; }, kInvalid, "dimension_column_count"},
      {[](Step& s) { s.kind = -1; }, kUnsupported, "spec.steps[0].kind"},
      {[](Step& s) { s.kind = GPUJOIN_JOIN_FULL; }, kUnsupported, "spec.steps[0].kind"},
      {[](Step& s) { s.kind = GPUJOIN_JOIN_LEFT_SEMI; }, kInvalid,
       "spec.steps[0].dimension_column_count"},
      {[](Step& s) { s.key_flags = 4; }, kInvalid, "spec.steps[0].key_flags"},
      {[](Step& s) { s.reserved = 1; }, kInvalid, "spec.steps[0].reserved"},
  };
  expect_refused(right, kSteps, [&](const Step& step) {
    gpujoin_sequence_spec spec = sequence;
    spec.steps = &step;
    return run(spec);
  });
  using Sequence = gpujoin_sequence_spec;
  static const Garbage<Sequence> kSpecs[] = {
      {[](Sequence& s) { s.struct_size = 0; }, kMismatch, "spec.struct_size"},
      {[](Sequence& s) { s.step_count = 0; }, kInvalid, "spec.step_count"},
      {[](Sequence& s) { s.step_count = -1; }, kInvalid, "spec.step_count"},
      {[](Sequence& s) { s.steps = nullptr; }, kInvalid, "spec.steps"},
      {[](Sequence& s) { s.fact_columns = nullptr; }, kInvalid, "spec.fact_columns"},
      {[](Sequence& s) { s.fact_column_count = INT32_MIN; }, kInvalid, "spec.fact_column_count"},
      {[](Sequence& s) { s.output = 8; }, kInvalid, "spec.output"},
      {[](Sequence& s) { s.materialize = 3; }, kInvalid, "spec.materialize"},
      {[](Sequence& s) { s.reserved = -1; }, kInvalid, "spec.reserved"},
  };
  expect_refused(sequence, kSpecs, run);
}
