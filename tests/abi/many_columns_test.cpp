// many_columns_test.cpp: as many columns as a call may put out, and keys put out more than once.
#include "tests/abi/fixture.hpp"

using namespace gpujoin_test;

namespace {

using ManyColumnsTest = DeviceTest;

// A unique key and payloads that tell row and column.
Table payload_table(int64_t rows, int32_t payloads) {
  std::vector<int32_t> keys;
  for (int64_t row = 0; row < rows; ++row) keys.push_back(static_cast<int32_t>(row));
  Table table;
  table.emplace_back("key", GPUJOIN_TYPE_INT32, keys);
  for (int32_t column = 0; column < payloads; ++column) {
    std::vector<int32_t> values;
    for (int32_t const key : keys) values.push_back(key * 100 + column);
    table.emplace_back("payload", GPUJOIN_TYPE_INT32, values);
  }
  return table;
}

}  // namespace

ON_EVERY_DEVICE(ManyColumnsTest);

// As few as a table joins in one launch, and as many as are moved to partitions.
TEST_P(ManyColumnsTest, KeysAreAsOftenThereAsTheyArePutOut) {
  Context const context = make_context(device());
  for (int64_t const rows : {1000, 70'000}) {
    for (int32_t const payloads : {1, 15, 20}) {
      SCOPED_TRACE(std::to_string(rows) + " rows, payloads " + std::to_string(payloads));
      Table const table = payload_table(rows, payloads);
      Relation const left = make_relation(context, table);
      Relation const right = make_relation(context, table);
      Spec spec;
      spec.output = GPUJOIN_OUTPUT_PAIRS | GPUJOIN_OUTPUT_COLUMNS;
      spec.left_columns = {0, 0};
      spec.right_columns = {0};
      for (int32_t column = 1; column <= payloads; ++column) {
        spec.left_columns.push_back(column);
        spec.right_columns.push_back(column);
      }
      for (int32_t const algorithm : {GPUJOIN_ALGORITHM_AUTOMATIC, GPUJOIN_ALGORITHM_PHJ_CARRIED}) {
        if (algorithm != GPUJOIN_ALGORITHM_AUTOMATIC && device() == GPUJOIN_DEVICE_CPU) continue;
        gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
        options.algorithm = algorithm;
        Result const result = join(context, left, right, spec, &options);
        ASSERT_EQ(rows_of(result), rows);
        auto const keys = column_of<int32_t>(result, 0);
        int32_t const of_left = payloads + 2;
        EXPECT_TRUE(column_of<int32_t>(result, 1) == keys);
        EXPECT_TRUE(column_of<int32_t>(result, of_left) == keys);
        std::vector<bool> seen(static_cast<size_t>(rows));
        for (auto const& key : keys) {
          ASSERT_TRUE(key.has_value() && 0 <= *key && *key < rows);
          ASSERT_FALSE(seen[static_cast<size_t>(*key)]);
          seen[static_cast<size_t>(*key)] = true;
        }
        for (int32_t column = 0; column < payloads; ++column) {
          auto const on_left = column_of<int32_t>(result, 2 + column);
          EXPECT_TRUE(column_of<int32_t>(result, of_left + 1 + column) == on_left) << column;
          for (size_t i = 0; i < keys.size(); ++i) {
            ASSERT_EQ(on_left[i], *keys[i] * 100 + column);
          }
        }
      }
    }
  }
}
