#include "tests/abi/sequence_tables.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "tests/abi/device_memory.hpp"

namespace gpujoin_test {

namespace {

template <typename Integer>
Column column_as(const std::string& name, gpujoin_type type, const Values& values) {
  std::vector<std::optional<Integer>> typed;
  for (Value const& value : values) {
    typed.push_back(value ? std::optional(static_cast<Integer>(*value)) : std::nullopt);
  }
  return Column(name, type, typed);
}

template <typename Integer>
Values widened(const std::vector<std::optional<Integer>>& column) {
  return Values(column.begin(), column.end());
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

Value random_key(const Values& keys, std::mt19937& random) {
  return random() % 4 == 0 ? std::nullopt : keys[random() % keys.size()];
}

}  // namespace

void Numbers::add(const std::string& name, gpujoin_type type, const Values& values) {
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

gpujoin_sequence_spec Wish::get(const std::vector<const gpujoin_relation*>& relations,
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
      if (wish.has_row_numbers()) {
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

std::vector<uint32_t> row_numbers_of(const Result& result, size_t relation) {
  std::vector<uint32_t> numbers(static_cast<size_t>(rows_of(result)));
  int32_t const what = relation == 0 ? GPUJOIN_FETCH_LEFT_INDEX : GPUJOIN_FETCH_RIGHT_INDEX;
  gpujoin_fetch fetch = fetch_of(what, relation == 0 ? 0 : static_cast<int32_t>(relation) - 1,
                                 numbers.data(), numbers.size() * sizeof(uint32_t));
  fetch.type = GPUJOIN_TYPE_UINT32;
  EXPECT_OK(call(gpujoin_result_fetch, result.get(), nullptr, &fetch, 1));
  return numbers;
}

Rows rows_of(const Result& result, const Numbers& fact, const Wish& wish) {
  auto const rows = static_cast<size_t>(rows_of(result));
  std::vector<Values> columns;
  if (wish.has_row_numbers()) {
    for (size_t i = 0; i <= wish.steps.size(); ++i) {
      std::vector<uint32_t> const numbers = row_numbers_of(result, i);
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

Values random_keys(int64_t rows, int64_t distinct, bool nulls, std::mt19937& random) {
  Values keys;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t const key = static_cast<int64_t>(random() % static_cast<uint64_t>(distinct));
    keys.push_back(nulls && random() % 10 == 0 ? std::nullopt : Value(key));
  }
  return keys;
}

Values counted(int64_t rows, int64_t first, int64_t null_each) {
  Values values;
  for (int64_t row = 0; row < rows; ++row) {
    values.push_back(null_each != 0 && row % null_each == 0 ? std::nullopt : Value(first + row));
  }
  return values;
}

Star::Star(int steps, int64_t fact_rows, int64_t dimension_rows, uint32_t seed) {
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

void SequenceTest::SetUp() {
  DeviceTest::SetUp();
  if (!IsSkipped()) context = make_context(device());
}

std::vector<SequenceTest::Place> SequenceTest::places() const {
  if (device() == GPUJOIN_DEVICE_CPU) return {Place::kHost};
  return {Place::kHost, Place::kDevice, Place::kMixed};
}

Answer SequenceTest::run(const Numbers& fact, const Wish& wish, const gpujoin_plan_options* options,
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

void SequenceTest::expect_reference(const Numbers& fact, const Wish& wish,
                                    const gpujoin_plan_options* options, Place place) {
  Result result;
  ASSERT_OK(run(fact, wish, options, place, &result));
  ASSERT_TRUE(rows_of(result, fact, wish) == reference(fact, wish));
}

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

}  // namespace gpujoin_test
