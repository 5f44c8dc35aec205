// sequence_test.cpp: sequences of joins against a reference that follows each fact row through all
// dimensions; what is refused and how it is named; pages, export, statistics, cancellation, memory.
#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <random>
#include <string>

#include "tests/abi/device_memory.hpp"
#include "tests/abi/fixture.hpp"

using namespace gpujoin_test;

namespace {

constexpr int32_t kInvalid = GPUJOIN_ERROR_INVALID_ARGUMENT;
constexpr int32_t kMismatch = GPUJOIN_ERROR_ABI_MISMATCH;
constexpr int32_t kBoth = GPUJOIN_OUTPUT_COLUMNS | GPUJOIN_OUTPUT_PAIRS;

using Value = std::optional<int64_t>;
using Values = std::vector<Value>;
using Rows = std::vector<Values>;

// A table of integer columns, as numbers and as the library takes it.
struct Numbers {
  struct Named {
    std::string name;
    gpujoin_type type;
    Values values;
  };
  std::vector<Named> columns;
  Table table;

  int64_t rows() const { return static_cast<int64_t>(columns.front().values.size()); }
  void add(const std::string& name, gpujoin_type type, const Values& values) {
    columns.push_back({name, type, values});
    switch (type) {
      case GPUJOIN_TYPE_INT16:
        table.push_back(column_as<int16_t>(name, type, values));
        break;
      case GPUJOIN_TYPE_INT32:
        table.push_back(column_as<int32_t>(name, type, values));
        break;
      default:
        table.push_back(column_as<int64_t>(name, type, values));
        break;
    }
  }

 private:
  template <typename Integer>
  static Column column_as(const std::string& name, gpujoin_type type, const Values& values) {
    std::vector<std::optional<Integer>> typed;
    for (Value const& value : values) {
      typed.push_back(value ? std::optional(static_cast<Integer>(*value)) : std::nullopt);
    }
    return Column(name, type, typed);
  }
};

struct Step {
  const Numbers* dimension = nullptr;
  int32_t fact_key = 0;
  int32_t dimension_key = 0;
  std::vector<int32_t> columns;
};

// A specification that owns its lists.
struct Wish {
  std::vector<int32_t> fact_columns;
  std::vector<Step> steps;
  int32_t output = kBoth;
  gpujoin_materialize materialize = GPUJOIN_MATERIALIZE_AUTOMATIC;

  // relations: of each step. The list of steps is the caller's to keep.
  gpujoin_sequence_spec get(const std::vector<const gpujoin_relation*>& relations,
                            std::vector<gpujoin_sequence_step>* list) const {
    list->clear();
    for (size_t i = 0; i < steps.size(); ++i) {
      gpujoin_sequence_step step = GPUJOIN_SEQUENCE_STEP_INIT;
      step.key_count = 1;
      step.dimension = relations[i];
      step.fact_keys = &steps[i].fact_key;
      step.dimension_keys = &steps[i].dimension_key;
      step.dimension_columns = steps[i].columns.data();
      step.dimension_column_count = static_cast<int32_t>(steps[i].columns.size());
      list->push_back(step);
    }
    gpujoin_sequence_spec spec = GPUJOIN_SEQUENCE_SPEC_INIT;
    spec.step_count = static_cast<int32_t>(list->size());
    spec.steps = list->data();
    spec.fact_columns = fact_columns.data();
    spec.fact_column_count = static_cast<int32_t>(fact_columns.size());
    spec.output = output;
    spec.materialize = materialize;
    return spec;
  }
};

// What a sequence must answer: the row numbers, then the columns; sorted.
Rows reference(const Numbers& fact, const Wish& wish) {
  std::vector<std::multimap<int64_t, size_t>> found;
  for (Step const& step : wish.steps) {
    Values const& keys = step.dimension->columns[static_cast<size_t>(step.dimension_key)].values;
    std::multimap<int64_t, size_t>& rows = found.emplace_back();
    for (size_t row = 0; row < keys.size(); ++row) {
      if (keys[row]) rows.emplace(*keys[row], row);
    }
  }
  Rows output;
  for (size_t row = 0; row < static_cast<size_t>(fact.rows()); ++row) {
    std::vector<std::vector<size_t>> paths = {{}};
    for (size_t i = 0; i < wish.steps.size(); ++i) {
      Value const& key = fact.columns[static_cast<size_t>(wish.steps[i].fact_key)].values[row];
      std::vector<std::vector<size_t>> longer;
      for (auto const& path : paths) {
        if (!key) continue;
        auto const [first, last] = found[i].equal_range(*key);
        for (auto match = first; match != last; ++match) {
          longer.push_back(path);
          longer.back().push_back(match->second);
        }
      }
      paths = std::move(longer);
    }
    for (auto const& path : paths) {
      Values values;
      if (wish.output == 0 || (wish.output & GPUJOIN_OUTPUT_PAIRS) != 0) {
        values.push_back(static_cast<int64_t>(row));
        for (size_t const each : path) values.push_back(static_cast<int64_t>(each));
      }
      for (int32_t const column : wish.fact_columns) {
        values.push_back(fact.columns[static_cast<size_t>(column)].values[row]);
      }
      for (size_t i = 0; i < path.size(); ++i) {
        for (int32_t const column : wish.steps[i].columns) {
          values.push_back(
              wish.steps[i].dimension->columns[static_cast<size_t>(column)].values[path[i]]);
        }
      }
      output.push_back(std::move(values));
    }
  }
  std::sort(output.begin(), output.end());
  return output;
}

template <typename Integer>
Values widened(const std::vector<std::optional<Integer>>& column) {
  return Values(column.begin(), column.end());
}

// The rows of a result, sorted as the reference's are.
Rows rows_of(const Result& result, const Numbers& fact, const Wish& wish) {
  auto const rows = static_cast<size_t>(rows_of(result));
  std::vector<Values> columns;
  if (wish.output == 0 || (wish.output & GPUJOIN_OUTPUT_PAIRS) != 0) {
    for (size_t i = 0; i <= wish.steps.size(); ++i) {
      std::vector<uint32_t> numbers(rows);
      int32_t const what = i == 0 ? GPUJOIN_FETCH_LEFT_INDEX : GPUJOIN_FETCH_RIGHT_INDEX;
      gpujoin_fetch fetch = fetch_of(what, i == 0 ? 0 : static_cast<int32_t>(i) - 1, numbers.data(),
                                     rows * sizeof(uint32_t));
      fetch.type = GPUJOIN_TYPE_UINT32;
      EXPECT_OK(call(gpujoin_result_fetch, result.get(), nullptr, &fetch, 1));
      columns.emplace_back(numbers.begin(), numbers.end());
    }
  }
  int32_t number = 0;
  auto const add = [&](const Numbers& source, const std::vector<int32_t>& chosen) {
    for (int32_t const column : chosen) {
      switch (source.columns[static_cast<size_t>(column)].type) {
        case GPUJOIN_TYPE_INT16:
          columns.push_back(widened(column_of<int16_t>(result, number++)));
          break;
        case GPUJOIN_TYPE_INT32:
          columns.push_back(widened(column_of<int32_t>(result, number++)));
          break;
        default:
          columns.push_back(widened(column_of<int64_t>(result, number++)));
          break;
      }
    }
  };
  add(fact, wish.fact_columns);
  for (Step const& step : wish.steps) add(*step.dimension, step.columns);
  Rows output(rows);
  for (Values const& column : columns) {
    for (size_t row = 0; row < rows; ++row) output[row].push_back(column[row]);
  }
  std::sort(output.begin(), output.end());
  return output;
}

// A relation whose columns lie in device memory.
class OnDevice {
 public:
  OnDevice(const Context& context, const Table& table) {
    std::vector<gpujoin_column> columns;
    for (Column const& column : table) {
      gpujoin_column described = column.descriptor();
      auto const rows = static_cast<size_t>(column.rows());
      described.data = put(column.data(), rows * column.width());
      if (described.validity != nullptr) {
        described.validity = static_cast<const uint8_t*>(put(described.validity, (rows + 7) / 8));
      }
      columns.push_back(described);
    }
    gpujoin_relation* raw = nullptr;
    EXPECT_OK(call(gpujoin_relation_create, context.get(), table[0].rows(), columns.data(),
                   static_cast<int32_t>(columns.size()), &raw));
    relation.reset(raw);
  }
  Relation relation;

 private:
  const void* put(const void* bytes, size_t count) {
    auto const* first = static_cast<const uint8_t*>(bytes);
    memory_.push_back(std::make_unique<DeviceMemory>(std::vector<uint8_t>(first, first + count)));
    return memory_.back()->get();
  }
  std::vector<std::unique_ptr<DeviceMemory>> memory_;
};

// Random keys below `distinct`, each tenth NULL when `nulls`.
Values random_keys(int64_t rows, int64_t distinct, bool nulls, std::mt19937& random) {
  Values keys;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t const key = static_cast<int64_t>(random() % static_cast<uint64_t>(distinct));
    keys.push_back(nulls && random() % 10 == 0 ? std::nullopt : Value(key));
  }
  return keys;
}

Values counted(int64_t rows, int64_t first, int64_t null_each = 0) {
  Values values;
  for (int64_t row = 0; row < rows; ++row) {
    values.push_back(null_each != 0 && row % null_each == 0 ? std::nullopt : Value(first + row));
  }
  return values;
}

// A fact table with a key for each of `steps` dimensions, of 4 and 8 bytes in turn, and payloads.
// Dimension keys come twice now and then, miss some foreign keys and are NULL now and then.
struct Star {
  Numbers fact;
  std::vector<Numbers> dimensions;
  Wish wish;

  Star(int steps, int64_t fact_rows, int64_t dimension_rows, uint32_t seed) {
    std::mt19937 random(seed);
    dimensions.resize(static_cast<size_t>(steps));
    for (int i = 0; i < steps; ++i) {
      gpujoin_type const type = i % 2 == 0 ? GPUJOIN_TYPE_INT32 : GPUJOIN_TYPE_TIMESTAMP_US;
      std::string const number = std::to_string(i);
      fact.add("fk" + number, type,
               random_keys(fact_rows, std::max<int64_t>(dimension_rows, 1), i != 1, random));
      Numbers& dimension = dimensions[static_cast<size_t>(i)];
      // Two thirds of the rows have keys of their own, the others draw one.
      Values keys = counted(dimension_rows, 0);
      for (size_t row = 0; row < keys.size(); row += 3) keys[row] = random_key(keys, random);
      dimension.add("id" + number, type, keys);
      dimension.add("p" + number, GPUJOIN_TYPE_INT32, counted(dimension_rows, 1000 * i, 5));
      dimension.add("q" + number, GPUJOIN_TYPE_INT64, counted(dimension_rows, -1000 * i));
      dimension.add("r" + number, GPUJOIN_TYPE_INT16, counted(dimension_rows, i, 3));
      wish.steps.push_back({&dimension, i, 0, {1, 2, 3}});
    }
    fact.add("f", GPUJOIN_TYPE_INT64, counted(fact_rows, 5000000000, 7));
    fact.add("g", GPUJOIN_TYPE_INT16, counted(fact_rows, -30));
    wish.fact_columns = {steps, steps + 1};
  }

 private:
  static Value random_key(const Values& keys, std::mt19937& random) {
    return random() % 4 == 0 ? std::nullopt : keys[random() % keys.size()];
  }
};

class Sequence : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (!IsSkipped()) context = make_context(device());
  }
  // Where the columns of a run lie.
  enum class Place { kHost, kDevice, kMixed };

  Answer run(const Numbers& fact, const Wish& wish, const gpujoin_plan_options* options,
             Place place, Result* result) {
    auto const on_device = [&](bool even) {
      return place == Place::kDevice || (place == Place::kMixed && even);
    };
    std::vector<std::unique_ptr<OnDevice>> device_relations;
    std::vector<Relation> host_relations;
    auto const put = [&](const Table& table, bool there) -> const gpujoin_relation* {
      if (!there) return host_relations.emplace_back(make_relation(context, table)).get();
      device_relations.push_back(std::make_unique<OnDevice>(context, table));
      return device_relations.back()->relation.get();
    };
    const gpujoin_relation* fact_relation = put(fact.table, place == Place::kDevice);
    std::vector<const gpujoin_relation*> relations;
    for (size_t i = 0; i < wish.steps.size(); ++i) {
      relations.push_back(put(wish.steps[i].dimension->table, on_device(i % 2 == 0)));
    }
    std::vector<gpujoin_sequence_step> list;
    gpujoin_sequence_spec const spec = wish.get(relations, &list);
    gpujoin_result* raw = nullptr;
    Answer const answer =
        call(gpujoin_join_sequence, context.get(), fact_relation, &spec, options, &raw);
    EXPECT_EQ(raw == nullptr, answer.status != GPUJOIN_OK);
    result->reset(raw);
    return answer;
  }
  void expect_reference(const Numbers& fact, const Wish& wish,
                        const gpujoin_plan_options* options = nullptr, Place place = Place::kHost) {
    Result result;
    ASSERT_OK(run(fact, wish, options, place, &result));
    ASSERT_TRUE(rows_of(result, fact, wish) == reference(fact, wish));
  }
  std::vector<Place> places() const {
    if (device() == GPUJOIN_DEVICE_CPU) return {Place::kHost};
    return {Place::kHost, Place::kDevice, Place::kMixed};
  }

  Context context;
};
ON_EVERY_DEVICE(Sequence);

std::vector<gpujoin_stage_statistics> stages_of(const Result& result) {
  gpujoin_statistics statistics = GPUJOIN_STATISTICS_INIT;
  EXPECT_OK(call(gpujoin_result_get_statistics, result.get(), &statistics));
  std::vector<gpujoin_stage_statistics> stages(static_cast<size_t>(statistics.stage_count),
                                               GPUJOIN_STAGE_STATISTICS_INIT);
  for (int32_t i = 0; i < statistics.stage_count; ++i) {
    EXPECT_OK(call(gpujoin_result_get_stage, result.get(), i, &stages[static_cast<size_t>(i)]));
  }
  return stages;
}

bool has_stage(const Result& result, const std::string& name) {
  auto const stages = stages_of(result);
  return std::any_of(stages.begin(), stages.end(),
                     [&](gpujoin_stage_statistics const& stage) { return name == stage.stage; });
}

}  // namespace

TEST_P(Sequence, AnswersAsTheReference) {
  for (int const steps : {1, 2, 3, 8}) {
    Star star(steps, steps == 8 ? 700 : 3000, 400, static_cast<uint32_t>(steps));
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
       algorithm <= GPUJOIN_ALGORITHM_ROW_MULTISET; ++algorithm) {
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

TEST_P(Sequence, IsFetchedInPagesAndExported) {
  Star star(2, 800, 150, 37);
  Result result;
  ASSERT_OK(run(star.fact, star.wish, nullptr, Place::kHost, &result));
  int64_t const rows = rows_of(result);
  ASSERT_GT(rows, 100);

  std::vector<uint32_t> fact_rows, dimension_rows;
  gpujoin_page page = GPUJOIN_PAGE_INIT;
  page.max_rows = 33;
  for (;;) {
    std::array<uint32_t, 33> left{};
    std::array<uint32_t, 33> right{};
    gpujoin_fetch fetches[] = {fetch_of(GPUJOIN_FETCH_LEFT_INDEX, 0, left.data(), sizeof left),
                               fetch_of(GPUJOIN_FETCH_RIGHT_INDEX, 1, right.data(), sizeof right)};
    fetches[0].type = fetches[1].type = GPUJOIN_TYPE_UINT32;
    ASSERT_OK(call(gpujoin_result_fetch, result.get(), &page, fetches, 2));
    if (page.rows == 0) break;
    fact_rows.insert(fact_rows.end(), left.begin(), left.begin() + page.rows);
    dimension_rows.insert(dimension_rows.end(), right.begin(), right.begin() + page.rows);
  }
  EXPECT_EQ(static_cast<int64_t>(fact_rows.size()), rows);

  ArrowSchema schema{};
  ArrowArray array{};
  ASSERT_OK(call(gpujoin_result_export, result.get(), nullptr, &schema, &array));
  std::vector<std::string> children;
  for (int64_t i = 0; i < schema.n_children; ++i) children.emplace_back(schema.children[i]->name);
  std::vector<std::string> const expected = {
      "left_row", "right_row_0", "right_row_1", "f", "g", "p0", "q0", "r0", "p1", "q1", "r1"};
  EXPECT_EQ(children, expected);
  EXPECT_EQ(array.length, rows);
  EXPECT_EQ(std::memcmp(array.children[0]->buffers[1], fact_rows.data(), fact_rows.size() * 4), 0);
  EXPECT_EQ(
      std::memcmp(array.children[2]->buffers[1], dimension_rows.data(), dimension_rows.size() * 4),
      0);
  array.release(&array);
  schema.release(&schema);

  uint32_t nothing = 0;
  for (int32_t const step : {-1, 2}) {
    gpujoin_fetch wrong = fetch_of(GPUJOIN_FETCH_RIGHT_INDEX, step, &nothing, 4);
    EXPECT_NAMES(call(gpujoin_result_fetch, result.get(), nullptr, &wrong, 1), kInvalid,
                 "fetches[0].column");
  }
}

TEST_P(Sequence, OutlivesWhatItWasMadeFrom) {
  auto star = std::make_unique<Star>(2, 800, 150, 41);
  Rows const expected = reference(star->fact, star->wish);
  Result result;
  ASSERT_OK(run(star->fact, star->wish, nullptr, Place::kHost, &result));
  for (Column& column : star->fact.table) column = Column("", GPUJOIN_TYPE_INT8, size_t{1});
  context.reset();
  EXPECT_TRUE(rows_of(result, star->fact, star->wish) == expected);
}

TEST_P(Sequence, SaysWhatEachStepDid) {
  Star star(3, 4000, 300, 43);
  star.wish.output = GPUJOIN_OUTPUT_COLUMNS;
  star.wish.materialize = GPUJOIN_MATERIALIZE_AS_THEY_COME;
  Result result;
  ASSERT_OK(run(star.fact, star.wish, nullptr, Place::kHost, &result));
  gpujoin_statistics statistics = GPUJOIN_STATISTICS_INIT;
  ASSERT_OK(call(gpujoin_result_get_statistics, result.get(), &statistics));
  EXPECT_EQ(statistics.device, device());
  EXPECT_EQ(statistics.left_rows, 4000);
  EXPECT_EQ(statistics.right_rows, 900);
  EXPECT_EQ(statistics.output_rows, rows_of(result));
  EXPECT_GT(statistics.milliseconds, 0);
  EXPECT_GT(statistics.predicted_bytes, 0u);
  EXPECT_GE(statistics.peak_memory_bytes,
            static_cast<uint64_t>(statistics.output_rows) * (8 + 2 + 3 * (4 + 8 + 2)));
  EXPECT_NE(std::string(statistics.plan).find("build=right columns=as_they_come"),
            std::string::npos)
      << statistics.plan;
  EXPECT_NE(std::string(statistics.reason).find("steps[0]"), std::string::npos);
  EXPECT_FALSE(has_stage(result, "steps[0].fetch_key")) << "the first key needs no fetch";
  for (const char* stage : {"steps[0].match", "steps[1].fetch_key", "steps[1].match",
                            "steps[2].fetch_key", "steps[2].match", "fact.materialize"}) {
    EXPECT_TRUE(has_stage(result, stage)) << stage;
  }
  EXPECT_TRUE(std::string(stages_of(result).back().stage) == "fact.materialize");

  star.wish.materialize = GPUJOIN_MATERIALIZE_AT_THE_END;
  ASSERT_OK(run(star.fact, star.wish, nullptr, Place::kHost, &result));
  EXPECT_TRUE(std::string(stages_of(result).back().stage) == "steps[2].materialize");
  ASSERT_OK(call(gpujoin_result_get_statistics, result.get(), &statistics));
  EXPECT_NE(std::string(statistics.plan).find("columns=at_the_end"), std::string::npos);
}

TEST_P(Sequence, CopiesEachHostColumnToTheDeviceOnce) {
  if (device() == GPUJOIN_DEVICE_CPU) GTEST_SKIP() << "nothing is copied";
  // One fact key for two steps and for the output, another for one; no NULLs.
  Numbers fact, dimension;
  fact.add("a", GPUJOIN_TYPE_INT32, counted(1000, 0));
  fact.add("b", GPUJOIN_TYPE_INT32, counted(1000, 0));
  fact.add("c", GPUJOIN_TYPE_INT64, counted(1000, 0));
  dimension.add("id", GPUJOIN_TYPE_INT32, counted(400, 0));
  dimension.add("p", GPUJOIN_TYPE_INT64, counted(400, 0));
  Wish wish;
  wish.fact_columns = {0, 2};
  wish.output = GPUJOIN_OUTPUT_COLUMNS;
  wish.steps = {{&dimension, 0, 0, {1}}, {&dimension, 1, 0, {1}}, {&dimension, 0, 0, {}}};
  for (gpujoin_materialize const materialize : {1, 2}) {
    wish.materialize = materialize;
    Result result;
    ASSERT_OK(run(fact, wish, nullptr, Place::kHost, &result));
    uint64_t copied = 0;
    for (gpujoin_stage_statistics const& stage : stages_of(result)) {
      if (std::string(stage.stage).find(".transfer") != std::string::npos) {
        copied += stage.predicted_bytes;
      }
    }
    EXPECT_EQ(copied, uint64_t{1000} * (4 + 4 + 8) + uint64_t{400} * (3 * 4 + 2 * 8));
  }
}

TEST_P(Sequence, IsCancelledByTheProgressCallbackAtEachOfItsCalls) {
  struct Progress {
    std::vector<std::string> stages;
    int64_t cancel_at = -1;
    static int32_t report(const char* stage, int64_t done, int64_t total, void* user) {
      auto& self = *static_cast<Progress*>(user);
      EXPECT_LE(done, total);
      self.stages.emplace_back(stage);
      return static_cast<int64_t>(self.stages.size()) - 1 == self.cancel_at ? 1 : 0;
    }
  } progress;
  gpujoin_context_options with_progress = options();
  with_progress.progress = Progress::report;
  with_progress.progress_user = &progress;
  with_progress.cpu_threads = 1;
  context = make_context(with_progress);
  Star star(2, 300, 50, 47);
  star.wish.materialize = GPUJOIN_MATERIALIZE_AT_THE_END;
  Result result;
  ASSERT_OK(run(star.fact, star.wish, nullptr, Place::kHost, &result));
  EXPECT_EQ(std::count(progress.stages.begin(), progress.stages.end(), "sequence"), 3);
  auto const calls = static_cast<int64_t>(progress.stages.size());
  for (int64_t at = 0; at < calls; ++at) {
    progress.stages.clear();
    progress.cancel_at = at;
    EXPECT_STATUS(run(star.fact, star.wish, nullptr, Place::kHost, &result),
                  GPUJOIN_ERROR_CANCELLED);
    EXPECT_EQ(static_cast<int64_t>(progress.stages.size()), at + 1) << "went on after it";
  }
  progress.cancel_at = -1;
  EXPECT_OK(call(gpujoin_context_cancel, context.get()));
  EXPECT_STATUS(run(star.fact, star.wish, nullptr, Place::kHost, &result), GPUJOIN_ERROR_CANCELLED);
  ASSERT_OK(run(star.fact, star.wish, nullptr, Place::kHost, &result));
  EXPECT_TRUE(rows_of(result, star.fact, star.wish) == reference(star.fact, star.wish));
}

TEST_P(Sequence, KeepsTheMemoryLimitAndLeavesNothingBehind) {
  Star star(4, 50000, 20000, 53);
  star.wish.output = GPUJOIN_OUTPUT_COLUMNS;
  auto const used = [&] {
    EXPECT_OK(call(gpujoin_context_trim, context.get()));
    gpujoin_context_info info = GPUJOIN_CONTEXT_INFO_INIT;
    EXPECT_OK(call(gpujoin_context_get_info, context.get(), &info));
    return info.memory_used_bytes;
  };
  // From too little for the first key to enough.
  bool refused = false, succeeded = false;
  for (uint64_t limit = uint64_t{1} << 19; limit <= uint64_t{1} << 27 && !succeeded; limit *= 2) {
    SCOPED_TRACE(limit);
    gpujoin_context_options limited = options();
    limited.memory_limit_bytes = limit;
    limited.cpu_threads = 2;
    context = make_context(limited);
    uint64_t const before = used();
    Result result;
    Answer const answer = run(star.fact, star.wish, nullptr, Place::kHost, &result);
    succeeded = answer.status == GPUJOIN_OK;
    if (succeeded) continue;
    refused = true;
    EXPECT_STATUS(answer, GPUJOIN_ERROR_MEMORY_LIMIT);
    EXPECT_EQ(used(), before);
  }
  EXPECT_TRUE(refused);
  EXPECT_TRUE(succeeded);
}

TEST_P(Sequence, RefusesMoreRowsThanTheNextJoinCanNumber) {
  if (device() == GPUJOIN_DEVICE_CPU) GTEST_SKIP() << "2^32 rows take too long";
  // 65537 rows that all meet 65536: 2^32 + 65536.
  Numbers fact, dimension;
  fact.add("key", GPUJOIN_TYPE_INT32, Values(65537, Value(1)));
  dimension.add("key", GPUJOIN_TYPE_INT32, Values(65536, Value(1)));
  Wish wish;
  wish.steps = {{&dimension, 0, 0, {}}, {&dimension, 0, 0, {}}};
  wish.output = GPUJOIN_OUTPUT_COLUMNS;
  Result result;
  Answer const answer = run(fact, wish, nullptr, Place::kHost, &result);
  if (answer.status == GPUJOIN_ERROR_OUT_OF_MEMORY) GTEST_SKIP() << answer.message();
  EXPECT_NAMES(answer, GPUJOIN_ERROR_TOO_MANY_ROWS, "spec.steps[0]");
}

// ---- what is refused ----

namespace {

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
