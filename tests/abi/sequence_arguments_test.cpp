// sequence_arguments_test.cpp: specifications of sequences that are refused, and how it is named.
#include <array>

#include "tests/abi/sequence_tables.hpp"

using namespace gpujoin_test;

namespace {

constexpr int32_t kInvalid = GPUJOIN_ERROR_INVALID_ARGUMENT;
constexpr int32_t kMismatch = GPUJOIN_ERROR_ABI_MISMATCH;

class SequenceArguments : public testing::Test {
 protected:
  Context context = make_context(GPUJOIN_DEVICE_CPU);
  Star star{2, 20, 10, 59};
  Relation fact = make_relation(context, star.fact.table);
  Relation first = make_relation(context, star.dimensions[0].table);
  Relation second = make_relation(context, star.dimensions[1].table);

  Answer join(const gpujoin_sequence_spec* spec, const gpujoin_plan_options* options = nullptr) {
    gpujoin_result* raw = reinterpret_cast<gpujoin_result*>(1);
    Answer const answer =
        call(gpujoin_join_sequence, context.get(), fact.get(), spec, options, &raw);
    EXPECT_EQ(raw == nullptr, answer.status != GPUJOIN_OK);
    gpujoin_result_destroy(raw);
    return answer;
  }
  // Changes a good specification, or a step of it, before it is tried.
  template <typename Change>
  Answer with(Change change) {
    std::vector<gpujoin_sequence_step> list;
    gpujoin_sequence_spec spec = star.wish.get({first.get(), second.get()}, &list);
    change(spec, list);
    return join(&spec);
  }
  template <typename Change>
  Answer with_step(Change change) {
    return with([&](auto&, auto& steps) { change(steps[1]); });
  }
};

}  // namespace

TEST_F(SequenceArguments, NullsAreNamed) {
  EXPECT_OK(with([](auto&, auto&) {}));
  std::vector<gpujoin_sequence_step> list;
  gpujoin_sequence_spec const spec = star.wish.get({first.get(), second.get()}, &list);
  gpujoin_result* out = nullptr;
  auto const function = gpujoin_join_sequence;
  EXPECT_NAMES(call(function, nullptr, fact.get(), &spec, nullptr, &out), kInvalid, "context");
  EXPECT_NAMES(call(function, context.get(), nullptr, &spec, nullptr, &out), kInvalid, "fact");
  EXPECT_NAMES(call(function, context.get(), fact.get(), nullptr, nullptr, &out), kInvalid, "spec");
  EXPECT_NAMES(call(function, context.get(), fact.get(), &spec, nullptr, nullptr), kInvalid, "out");
  EXPECT_NAMES(with([](auto& s, auto&) { s.steps = nullptr; }), kInvalid, "spec.steps");
  EXPECT_NAMES(with([](auto& s, auto&) { s.fact_columns = nullptr; }), kInvalid,
               "spec.fact_columns");
  EXPECT_NAMES(with_step([](auto& s) { s.dimension = nullptr; }), kInvalid,
               "spec.steps[1].dimension");
  EXPECT_NAMES(with_step([](auto& s) { s.fact_keys = nullptr; }), kInvalid,
               "spec.steps[1].fact_keys");
  EXPECT_NAMES(with_step([](auto& s) { s.dimension_keys = nullptr; }), kInvalid,
               "spec.steps[1].dimension_keys");
  EXPECT_NAMES(with_step([](auto& s) { s.dimension_columns = nullptr; }), kInvalid,
               "spec.steps[1].dimension_columns");
}

TEST_F(SequenceArguments, NumbersAreNamed) {
  for (int32_t const count : {0, -1}) {
    EXPECT_NAMES(with([&](auto& s, auto&) { s.step_count = count; }), kInvalid, "spec.step_count");
    EXPECT_NAMES(with_step([&](auto& s) { s.key_count = count; }), kInvalid,
                 "spec.steps[1].key_count");
  }
  EXPECT_NAMES(with_step([](auto& s) { s.key_count = 2; }), GPUJOIN_ERROR_UNSUPPORTED,
               "spec.steps[1].key_count");
  EXPECT_NAMES(with([](auto& s, auto&) { s.fact_column_count = -1; }), kInvalid,
               "spec.fact_column_count");
  EXPECT_NAMES(with_step([](auto& s) { s.dimension_column_count = -1; }), kInvalid,
               "spec.steps[1].dimension_column_count");
  for (int32_t const wrong : {-1, 3}) {
    EXPECT_NAMES(with([&](auto& s, auto&) { s.materialize = wrong; }), kInvalid,
                 "spec.materialize");
  }
  for (int32_t const wrong : {-1, 4}) {
    EXPECT_NAMES(with([&](auto& s, auto&) { s.output = wrong; }), kInvalid, "spec.output");
  }
  EXPECT_NAMES(with([](auto& s, auto&) { s.output = GPUJOIN_OUTPUT_PAIRS; }), kInvalid,
               "spec.output");
  EXPECT_NAMES(with([](auto& s, auto&) { s.reserved = 1; }), kInvalid, "spec.reserved");
  EXPECT_NAMES(with_step([](auto& s) { s.reserved = 1; }), kInvalid, "spec.steps[1].reserved");
}

TEST_F(SequenceArguments, ColumnsAreThoseOfTheirRelation) {
  for (int32_t const wrong : {-1, 4, INT32_MAX}) {
    int32_t const columns[] = {0, wrong};
    EXPECT_NAMES(with([&](auto& s, auto&) {
                   s.fact_columns = columns;
                   s.fact_column_count = 2;
                 }),
                 kInvalid, "spec.fact_columns[1]");
    EXPECT_NAMES(with_step([&](auto& s) {
                   s.dimension_columns = columns;
                   s.dimension_column_count = 2;
                 }),
                 kInvalid, "spec.steps[1].dimension_columns[1]");
    EXPECT_NAMES(with_step([&](auto& s) { s.fact_keys = &columns[1]; }), kInvalid,
                 "spec.steps[1].fact_keys[0]");
    EXPECT_NAMES(with_step([&](auto& s) { s.dimension_keys = &columns[1]; }), kInvalid,
                 "spec.steps[1].dimension_keys[0]");
  }
}

TEST_F(SequenceArguments, KeysAreOfEqualTypes) {
  int32_t const other = 0, narrow = 3;
  Answer const differ = with_step([&](auto& s) { s.fact_keys = &other; });
  EXPECT_NAMES(differ, GPUJOIN_ERROR_TYPE, "spec.steps[1].fact_keys[0]");
  EXPECT_NAMES(differ, GPUJOIN_ERROR_TYPE, "spec.steps[1].dimension_keys[0]");
  EXPECT_NAMES(with_step([&](auto& s) { s.dimension_keys = &narrow; }), GPUJOIN_ERROR_TYPE,
               "spec.steps[1].dimension_keys[0]");
}

TEST_F(SequenceArguments, RelationsAreOfTheContext) {
  Context const another = make_context(GPUJOIN_DEVICE_CPU);
  Relation const foreign = make_relation(another, star.dimensions[1].table);
  EXPECT_NAMES(with_step([&](auto& s) { s.dimension = foreign.get(); }), kInvalid,
               "spec.steps[1].dimension");
  gpujoin_result* out = nullptr;
  std::vector<gpujoin_sequence_step> list;
  gpujoin_sequence_spec const spec = star.wish.get({first.get(), second.get()}, &list);
  EXPECT_NAMES(call(gpujoin_join_sequence, context.get(), foreign.get(), &spec, nullptr, &out),
               kInvalid, "fact");
}

TEST_F(SequenceArguments, OptionsAreThoseOfEachJoin) {
  std::vector<gpujoin_sequence_step> list;
  gpujoin_sequence_spec const spec = star.wish.get({first.get(), second.get()}, &list);
  gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
  options.radix_bits = 99;
  EXPECT_NAMES(join(&spec, &options), kInvalid, "options.radix_bits");
  options = GPUJOIN_PLAN_OPTIONS_INIT;
  options.algorithm = GPUJOIN_ALGORITHM_PHJ_OM;
  EXPECT_STATUS(join(&spec, &options), GPUJOIN_ERROR_ILLEGAL_PLAN);
  options = GPUJOIN_PLAN_OPTIONS_INIT;
  options.device = GPUJOIN_DEVICE_CUDA;
  EXPECT_STATUS(join(&spec, &options), GPUJOIN_ERROR_NO_DEVICE);
}

TEST_F(SequenceArguments, StructsMayBeOfAnotherVersion) {
  struct Larger {
    gpujoin_sequence_step known;
    uint64_t unknown;
  };
  std::vector<gpujoin_sequence_step> list;
  gpujoin_sequence_spec spec = star.wish.get({first.get(), second.get()}, &list);
  std::array<Larger, 2> larger = {Larger{list[0], 0}, Larger{list[1], 0}};
  for (Larger& step : larger) step.known.struct_size = sizeof(Larger);
  spec.steps = &larger[0].known;
  EXPECT_OK(join(&spec));
  larger[1].unknown = 1;
  EXPECT_NAMES(join(&spec), kMismatch, "spec.steps[1]");
  EXPECT_NAMES(with([](auto& s, auto&) { s.struct_size -= 4; }), kMismatch, "spec.struct_size");
  EXPECT_NAMES(with([](auto&, auto& steps) { steps[0].struct_size = 0; }), kMismatch,
               "spec.steps[0].struct_size");
  EXPECT_NAMES(with_step([](auto& s) { s.struct_size += 8; }), kMismatch,
               "spec.steps[1].struct_size");
}
