// sequence_test.cpp: what sequences of joins put out, against the reference.
#include <array>
#include <cstring>

#include "tests/abi/sequence_tables.hpp"

using namespace gpujoin_test;

namespace {

constexpr int32_t kBoth = GPUJOIN_OUTPUT_COLUMNS | GPUJOIN_OUTPUT_PAIRS;

class Sequence : public SequenceTest {};
ON_EVERY_DEVICE(Sequence);

}  // namespace

TEST_P(Sequence, AnswersAsTheReference) {
  for (int const steps : {1, 2, 3, 8}) {
    Star star(steps, steps == 8 ? 700 : 3000, 400, static_cast<uint32_t>(steps));
    ASSERT_GT(reference(star.fact, star.wish).size(), 50u);
    for (gpujoin_materialize const materialize : {0, 1, 2}) {
      for (int32_t const output : {int32_t{GPUJOIN_OUTPUT_COLUMNS}, kBoth}) {
        SCOPED_TRACE(testing::Message()
                     << steps << " steps, materialize " << materialize << ", output " << output);
        star.wish.materialize = materialize;
        star.wish.output = output;
        for (Place const place : places()) {
          expect_reference(star.fact, star.wish, nullptr, place);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST_P(Sequence, PutsOutRowNumbersAlone) {
  for (int const steps : {1, 2, 3}) {
    Star star(steps, 1000, 300, 7);
    star.wish.fact_columns.clear();
    for (Step& step : star.wish.steps) step.columns.clear();
    for (int32_t const output : {0, GPUJOIN_OUTPUT_PAIRS}) {
      SCOPED_TRACE(testing::Message() << steps << " steps, output " << output);
      star.wish.output = output;
      expect_reference(star.fact, star.wish);
    }
    // Nothing at all but the number of rows.
    star.wish.output = GPUJOIN_OUTPUT_COLUMNS;
    Result result;
    ASSERT_OK(run(star.fact, star.wish, nullptr, Place::kHost, &result));
    EXPECT_EQ(static_cast<size_t>(rows_of(result)), reference(star.fact, star.wish).size());
  }
}

TEST_P(Sequence, TakesWhatIsNamedOfTheColumns) {
  Star star(3, 2000, 300, 11);
  star.wish.output = GPUJOIN_OUTPUT_COLUMNS;
  for (gpujoin_materialize const materialize : {0, 1, 2}) {
    SCOPED_TRACE(materialize);
    star.wish.materialize = materialize;
    // No fact column; a dimension without any; keys, and columns twice.
    star.wish.fact_columns.clear();
    star.wish.steps[0].columns = {0, 2, 0};
    star.wish.steps[1].columns = {};
    star.wish.steps[2].columns = {3};
    expect_reference(star.fact, star.wish);
    star.wish.fact_columns = {4, 0, 4, 1};
    star.wish.steps[1].columns = {0};
    for (Place const place : places()) expect_reference(star.fact, star.wish, nullptr, place);
    // Only fact columns.
    for (Step& step : star.wish.steps) step.columns.clear();
    expect_reference(star.fact, star.wish);
  }
}

TEST_P(Sequence, RunsEachAlgorithm) {
  Star star(3, 5000, 900, 13);
  int ran = 0;
  for (gpujoin_algorithm algorithm = GPUJOIN_ALGORITHM_AUTOMATIC;
       algorithm <= GPUJOIN_ALGORITHM_PHJ_CARRIED; ++algorithm) {
    gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
    options.algorithm = algorithm;
    for (gpujoin_side const side : {0, GPUJOIN_SIDE_LEFT, GPUJOIN_SIDE_RIGHT}) {
      for (gpujoin_materialize const materialize : {1, 2}) {
        SCOPED_TRACE(testing::Message() << "algorithm " << algorithm << ", build side " << side
                                        << ", materialize " << materialize);
        options.build_side = side;
        star.wish.materialize = materialize;
        Result result;
        Answer const answer = run(star.fact, star.wish, &options, Place::kHost, &result);
        if (answer.status == GPUJOIN_ERROR_ILLEGAL_PLAN) continue;
        ASSERT_OK(answer);
        ASSERT_TRUE(rows_of(result, star.fact, star.wish) == reference(star.fact, star.wish));
        ++ran;
      }
    }
  }
  EXPECT_GE(ran, 2 * 6);
}

TEST_P(Sequence, RunsBothGathers) {
  Star star(3, 3000, 500, 17);
  for (gpujoin_gather const gather : {GPUJOIN_GATHER_UNTRANSFORMED, GPUJOIN_GATHER_TRANSFORMED}) {
    for (gpujoin_materialize const materialize : {1, 2}) {
      for (int32_t const output : {int32_t{GPUJOIN_OUTPUT_COLUMNS}, kBoth}) {
        gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
        options.gather = gather;
        star.wish.materialize = materialize;
        star.wish.output = output;
        expect_reference(star.fact, star.wish, &options);
      }
    }
  }
}

TEST_P(Sequence, RunsOnTheCpuOfEveryContext) {
  Star star(2, 1000, 200, 19);
  gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
  options.device = GPUJOIN_DEVICE_CPU;
  expect_reference(star.fact, star.wish, &options);
  if (device() == GPUJOIN_DEVICE_CPU) return;
  Result result;
  EXPECT_NAMES(run(star.fact, star.wish, &options, Place::kDevice, &result),
               GPUJOIN_ERROR_UNSUPPORTED, "spec.steps[0].fact_keys");
  EXPECT_NAMES(run(star.fact, star.wish, &options, Place::kMixed, &result),
               GPUJOIN_ERROR_UNSUPPORTED, "spec.steps[0].dimension_keys");
}

TEST_P(Sequence, OfSizesAtTheEdges) {
  for (int64_t const fact_rows : {0, 1, 31, 32, 33, 1023, 1025, 2049}) {
    for (int64_t const dimension_rows : {0, 1, 33}) {
      SCOPED_TRACE(testing::Message() << fact_rows << " and " << dimension_rows << " rows");
      Star star(2, fact_rows, dimension_rows, 23);
      expect_reference(star.fact, star.wish);
      star.wish.materialize = GPUJOIN_MATERIALIZE_AT_THE_END;
      expect_reference(star.fact, star.wish);
    }
  }
}

TEST_P(Sequence, EndsEarlyWhereNothingIsLeft) {
  Star star(3, 500, 100, 29);
  // No key of the second dimension is ever asked for.
  Numbers strange;
  strange.add("id1", GPUJOIN_TYPE_TIMESTAMP_US, counted(100, 1000000));
  strange.add("p1", GPUJOIN_TYPE_INT32, counted(100, 0, 2));
  star.wish.steps[1] = {&strange, 1, 0, {1}};
  for (gpujoin_materialize const materialize : {1, 2}) {
    star.wish.materialize = materialize;
    Result result;
    ASSERT_OK(run(star.fact, star.wish, nullptr, Place::kHost, &result));
    EXPECT_EQ(rows_of(result), 0);
    EXPECT_TRUE(has_stage(result, "steps[1].match"));
    EXPECT_FALSE(has_stage(result, "steps[2].match")) << "joined nothing with a dimension";
    // The columns are there, with names and types.
    EXPECT_TRUE(rows_of(result, star.fact, star.wish).empty());
    ArrowSchema schema{};
    ArrowArray array{};
    ASSERT_OK(call(gpujoin_result_export, result.get(), nullptr, &schema, &array));
    EXPECT_EQ(array.length, 0);
    ASSERT_EQ(schema.n_children, 1 + 3 + 2 + 3 + 1 + 3);
    EXPECT_STREQ(schema.children[9]->name, "p1");
    EXPECT_STREQ(schema.children[9]->format, "i");
    array.release(&array);
    schema.release(&schema);
  }
}

TEST_P(Sequence, MultipliesRows) {
  // 10 fact rows with one key each; every dimension has each key 12 times.
  Numbers fact, many;
  fact.add("a", GPUJOIN_TYPE_INT32, counted(10, 0));
  fact.add("b", GPUJOIN_TYPE_INT32, counted(10, 0));
  fact.add("c", GPUJOIN_TYPE_INT32, counted(10, 0));
  Values keys;
  for (int64_t i = 0; i < 120; ++i) keys.emplace_back(i % 10);
  many.add("key", GPUJOIN_TYPE_INT32, keys);
  many.add("row", GPUJOIN_TYPE_INT64, counted(120, 0));
  Wish wish;
  wish.fact_columns = {0};
  wish.steps = {{&many, 0, 0, {1}}, {&many, 1, 0, {1}}, {&many, 2, 0, {1}}};
  Result result;
  ASSERT_OK(run(fact, wish, nullptr, Place::kHost, &result));
  EXPECT_EQ(rows_of(result), 10 * 12 * 12 * 12);
  EXPECT_TRUE(rows_of(result, fact, wish) == reference(fact, wish));
}

TEST_P(Sequence, JoinsARelationWithItselfByOneKeyTwice) {
  Numbers numbers;
  std::mt19937 random(31);
  numbers.add("parent", GPUJOIN_TYPE_INT32, random_keys(600, 600, true, random));
  numbers.add("id", GPUJOIN_TYPE_INT32, counted(600, 0));
  Wish wish;
  wish.fact_columns = {0, 1};
  wish.steps = {{&numbers, 0, 1, {0}}, {&numbers, 0, 0, {1}}};
  for (Place const place : places()) expect_reference(numbers, wish, nullptr, place);
}

TEST_P(Sequence, KeepsEveryWidthWithItsNulls) {
  constexpr int64_t kRows = 500;
  Table fact, dimension;
  fact.emplace_back("key", GPUJOIN_TYPE_INT32, size_t{4});
  dimension.emplace_back("key", GPUJOIN_TYPE_INT32, size_t{4});
  struct Width {
    gpujoin_type type;
    size_t width;
  };
  std::vector<Width> const widths = {{GPUJOIN_TYPE_INT8, 1},
                                     {GPUJOIN_TYPE_FLOAT16, 2},
                                     {GPUJOIN_TYPE_FLOAT32, 4},
                                     {GPUJOIN_TYPE_DURATION, 8},
                                     {GPUJOIN_TYPE_BYTES16, 16}};
  for (Width const& each : widths) {
    fact.emplace_back("fact", each.type, each.width);
    dimension.emplace_back("dimension", each.type, each.width);
  }
  auto const bytes_of = [](int64_t row, size_t column) {
    std::array<uint8_t, 16> bytes{};
    for (size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<uint8_t>(static_cast<size_t>(row) * 31 + column * 7 + i);
    }
    return bytes;
  };
  auto const is_null = [](int64_t row, size_t column) {
    return (row + static_cast<int64_t>(column)) % 4 == 0;
  };
  for (int64_t row = 0; row < kRows; ++row) {
    auto const key = static_cast<int32_t>(row);
    fact[0].append(true, &key);
    dimension[0].append(true, &key);
    for (size_t column = 1; column < fact.size(); ++column) {
      auto const bytes = bytes_of(row, column);
      fact[column].append(true, bytes.data());
      dimension[column].append(!is_null(row, column), bytes.data());
    }
  }
  Relation const fact_relation = make_relation(context, fact);
  Relation const dimension_relation = make_relation(context, dimension);
  std::vector<int32_t> const all = {1, 2, 3, 4, 5};
  Wish wish;
  wish.fact_columns = all;
  wish.steps = {{nullptr, 0, 0, all}, {nullptr, 0, 0, all}};
  for (gpujoin_materialize const materialize : {1, 2}) {
    wish.materialize = materialize;
    std::vector<gpujoin_sequence_step> list;
    gpujoin_sequence_spec const spec =
        wish.get({dimension_relation.get(), dimension_relation.get()}, &list);
    gpujoin_result* raw = nullptr;
    ASSERT_OK(
        call(gpujoin_join_sequence, context.get(), fact_relation.get(), &spec, nullptr, &raw));
    Result const result(raw);
    ASSERT_EQ(rows_of(result), kRows);
    std::vector<uint32_t> rows(kRows);
    gpujoin_fetch numbers = fetch_of(GPUJOIN_FETCH_LEFT_INDEX, 0, rows.data(), kRows * 4);
    numbers.type = GPUJOIN_TYPE_UINT32;
    ASSERT_OK(call(gpujoin_result_fetch, result.get(), nullptr, &numbers, 1));
    for (int32_t number = 0; number < 15; ++number) {
      size_t const column = static_cast<size_t>(number) % 5 + 1;
      size_t const width = widths[column - 1].width;
      std::vector<uint8_t> values(kRows * width), validity((kRows + 7) / 8);
      gpujoin_fetch fetch = fetch_of(GPUJOIN_FETCH_COLUMN, number, values.data(), values.size());
      fetch.validity = validity.data();
      fetch.validity_bytes = validity.size();
      ASSERT_OK(call(gpujoin_result_fetch, result.get(), nullptr, &fetch, 1));
      int64_t nulls = 0;
      for (size_t i = 0; i < rows.size(); ++i) {
        bool const valid = (validity[i / 8] >> (i % 8) & 1) != 0;
        ASSERT_EQ(valid, number < 5 || !is_null(rows[i], column));
        nulls += valid ? 0 : 1;
        if (valid) {
          ASSERT_EQ(std::memcmp(&values[i * width], bytes_of(rows[i], column).data(), width), 0);
        }
      }
      EXPECT_EQ(fetch.null_count, nulls);
    }
  }
}
