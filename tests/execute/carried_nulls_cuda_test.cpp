// carried_nulls_cuda_test.cpp: values that stand for NULL in carried columns: where a valid row has
// the one that is drawn, or all its neighbours, and where there is no NULL.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>

#include "src/execute/execute.hpp"
#include "src/transform/stand_ins.hpp"
#include "tests/join/joins.hpp"
#include "tests/join/reference_join.hpp"

namespace gpujoin::tests {
namespace {

constexpr size_t kRows = 30000;

HostRelation relation_with(double nulls, double null_keys, uint64_t seed) {
  RelationShape shape{kRows, 4, kRows / 2, 1, null_keys, nulls, 5};
  return random_relation(shape, seed);
}

// Every so many rows have `value`, or one of `count` from it on.
void take(HostColumn* column, uint64_t value, uint64_t count) {
  for (size_t row = 0; row < kRows; row += 7) {
    uint64_t const taken = value + row / 7 % count;
    auto const width = static_cast<size_t>(column->width);
    std::memcpy(&column->data[row * width], &taken, std::min<size_t>(width, 8));
  }
}

TEST(CarriedNulls, ComeOutWhereTheirValueIsTaken) {
  auto const queue = open_queue(GPUJOIN_DEVICE_CUDA);
  if (queue == nullptr) GTEST_SKIP() << "no CUDA device";
  constexpr double kNone = 1e-12;  // validity, and no NULL in it
  for (double const null_keys : {0.0, 0.1}) {
    for (double const nulls : {kNone, 0.1}) {
      for (uint64_t const taken : {0, 1, 32}) {
        for (gpujoin_filter const filter : {GPUJOIN_FILTER_NONE, GPUJOIN_FILTER_KEY_BITS}) {
          SCOPED_TRACE(std::to_string(null_keys) + ", " + std::to_string(nulls) + ", " +
                       std::to_string(taken) + ", filter " + std::to_string(filter));
          HostRelation left = relation_with(nulls, null_keys, 1);
          HostRelation right = relation_with(nulls, null_keys, 2);
          uint64_t const value = transform::draw_stand_in(queue);
          for (HostRelation* const side : {&left, &right}) {
            if (taken == 0) continue;
            for (size_t const column : {size_t{3}, size_t{5}}) {
              take(&side->columns[column], value, taken);
            }
          }
          columns::JoinSpec spec;
          spec.materialize = true;
          spec.left_columns = {0, 3, 5};
          spec.right_columns = {5, 4, 3};
          gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
          options.algorithm = GPUJOIN_ALGORITHM_PHJ_CARRIED;
          options.filter = filter;
          auto const join =
              execute::make_plan(queue, register_relation(queue, left, true),
                                 register_relation(queue, right, true), spec, options);
          EXPECT_EQ(rows_of(queue, *execute::execute(queue, join)),
                    reference_join(left, right, spec));
        }
      }
    }
  }
}

}  // namespace
}  // namespace gpujoin::tests
