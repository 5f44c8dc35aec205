// late_rule_test.cpp: which payloads of picked rows are fetched of those that come out.
#include "src/plan/late_rule.hpp"

#include <gtest/gtest.h>

#include "tests/plan/requests.hpp"

namespace gpujoin::plan {
namespace {

using columns::RowsOfSide;
using testing::h200;

constexpr uint64_t kRows27 = uint64_t{1} << 27;
using Late = std::vector<bool>;

// Both sides have as many rows, and the same share of them is picked.
PickedPayloads payloads_of(uint64_t rows, double share, std::vector<int32_t> widths) {
  PickedPayloads payloads;
  payloads.side = {rows, static_cast<uint64_t>(static_cast<double>(rows) * share)};
  payloads.expected_rows = expected_rows(payloads.side, payloads.side, RowsOfSide::kPairs);
  payloads.widths = std::move(widths);
  return payloads;
}

TEST(ExpectedRows, AreTheMatchesOfTheSideOfMoreRowsThatBothSidesPick) {
  EXPECT_DOUBLE_EQ(expected_rows({1000, 100}, {1000, 100}, RowsOfSide::kPairs), 10);
  EXPECT_DOUBLE_EQ(expected_rows({1000, 100}, {10000, 1000}, RowsOfSide::kPairs), 100);
  EXPECT_DOUBLE_EQ(expected_rows({10000, 1000}, {1000, 100}, RowsOfSide::kPairs), 100);
  EXPECT_DOUBLE_EQ(expected_rows({1000, 100}, {100000, 100000}, RowsOfSide::kPairs), 10000);
}

TEST(ExpectedRows, OfASideAloneAreNoMoreThanArePicked) {
  EXPECT_DOUBLE_EQ(expected_rows({1000, 100}, {100000, 100000}, RowsOfSide::kMatched), 100);
  EXPECT_DOUBLE_EQ(expected_rows({1000, 100}, {1000, 100}, RowsOfSide::kMatched), 10);
}

TEST(ExpectedRows, AreAllThatArePickedWhereRowsWithoutAMatchComeOut) {
  for (RowsOfSide const comes_out : {RowsOfSide::kUnmatched, RowsOfSide::kSingle,
                                     RowsOfSide::kUnmatchedOnly, RowsOfSide::kMarked}) {
    EXPECT_DOUBLE_EQ(expected_rows({1000, 100}, {1000, 100}, comes_out), 100);
  }
}

TEST(ExpectedRows, OfNothingAreNone) {
  EXPECT_DOUBLE_EQ(expected_rows({0, 0}, {1000, 100}, RowsOfSide::kPairs), 0);
  EXPECT_DOUBLE_EQ(expected_rows({1000, 0}, {1000, 100}, RowsOfSide::kPairs), 0);
}

TEST(AreLate, WhereFewOfThePickedRowsComeOut) {
  EXPECT_EQ(are_late(payloads_of(kRows27, 0.1, {4}), h200()), Late{true});
  EXPECT_EQ(are_late(payloads_of(kRows27, 0.1, {4, 8, 16}), h200()), Late(3, true));
  EXPECT_EQ(are_late(payloads_of(kRows27, 0.05, {4}), h200()), Late{true});
}

TEST(AreLate, NotWhereMostOfThemDo) {
  for (double const share : {0.5, 0.9, 1.0}) {
    EXPECT_EQ(are_late(payloads_of(kRows27, share, {4}), h200()), Late{false});
    EXPECT_EQ(are_late(payloads_of(kRows27, share, {4, 4, 4}), h200()), Late(3, false));
  }
  PickedPayloads payloads = payloads_of(kRows27, 0.1, {4, 4});
  payloads.expected_rows = static_cast<double>(payloads.side.picked);
  EXPECT_EQ(are_late(payloads, h200()), Late(2, false));
}

TEST(AreLate, NotWhereALaunchTakesLongerThanTheCopy) {
  EXPECT_EQ(are_late(payloads_of(100000, 0.1, {4, 4}), h200()), Late(2, false));
}

TEST(AreLate, EachColumnByItsWidth) {
  // A value of a byte is copied sooner than it is fetched.
  EXPECT_EQ(are_late(payloads_of(kRows27, 0.15, {1, 8}), h200()), (Late{false, true}));
}

TEST(AreLate, NumbersThatOthersWantCostNothing) {
  PickedPayloads payloads = payloads_of(kRows27, 0.1, {4});
  payloads.are_rows_put_out = true;
  EXPECT_EQ(are_late(payloads, h200()), Late{true});
}

TEST(AreLate, NothingOfNothing) {
  EXPECT_EQ(are_late(payloads_of(kRows27, 0.1, {}), h200()), Late());
}

}  // namespace
}  // namespace gpujoin::plan
