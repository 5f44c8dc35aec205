#include "tests/join/row_fingerprint.hpp"
#include "tests/own_queue.hpp"

#include <gtest/gtest.h>

#include "src/execute/execute.hpp"

namespace gpujoin::tests {
namespace {

TEST(RowFingerprint, IsThatOfTheSameRowsInAnyOrder) {
  std::vector<Row> const rows = {{"1", "2", "abc"}, {"1", "3", "NULL"}, {"1", "3", "NULL"}};
  std::vector<Row> const turned = {rows[2], rows[0], rows[1]};
  EXPECT_EQ(fingerprint_of(rows), fingerprint_of(turned));
}

TEST(RowFingerprint, IsAnotherForOtherRows) {
  RowFingerprint const one = fingerprint_of({{"1", "2"}, {"3", "4"}});
  EXPECT_NE(one, fingerprint_of({{"1", "4"}, {"3", "2"}}));
  EXPECT_NE(one, fingerprint_of({{"2", "1"}, {"3", "4"}}));
  EXPECT_NE(one, fingerprint_of({{"1", "2"}}));
  EXPECT_NE(one, fingerprint_of({{"1", "2"}, {"1", "2"}}));
}

TEST(RowFingerprint, OfAResultIsThatOfItsRows) {
  gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
  options.device = GPUJOIN_DEVICE_CPU;
  auto const queue = OwnQueue(options);
  HostRelation const left = random_relation({300, 4, 200, 1, 0.1, 0.2, 3}, 1);
  HostRelation const right = random_relation({400, 4, 200, 1, 0.1, 0.2, 5}, 2);
  columns::JoinSpec spec;
  spec.pairs = true;
  spec.materialize = true;
  spec.left_columns = {0, 1, 2, 3, 4, 5};
  spec.right_columns = {1, 5};
  auto const result =
      execute::execute(queue, execute::make_plan(queue, register_relation(queue, left, false),
                                                 register_relation(queue, right, false), spec,
                                                 GPUJOIN_PLAN_OPTIONS_INIT));
  std::vector<Row> const rows = rows_of(queue, *result);
  ASSERT_GT(rows.size(), 100U);
  EXPECT_EQ(fingerprint_of(queue, *result), fingerprint_of(rows));
}

}  // namespace
}  // namespace gpujoin::tests
