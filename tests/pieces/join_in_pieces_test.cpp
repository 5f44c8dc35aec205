// Joins in one call that memory has no room for at once: every kind, within limits from none that
// does to one that holds all, compared with the join without a limit.
#include "src/pieces/join_in_pieces.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/execute/no_room.hpp"
#include "src/pieces/join_pieces.hpp"
#include "src/pieces/slice.hpp"
#include "tests/own_queue.hpp"
#include "tests/pieces/drawn_tables.hpp"

namespace gpujoin::tests {

namespace {

using columns::JoinKind;

execute::GivenJoin given_of(const std::shared_ptr<base::Context>& context,
                            const std::shared_ptr<Table>& left, const std::shared_ptr<Table>& right,
                            const columns::JoinSpec& spec) {
  return {relation_of(context, left), relation_of(context, right), spec, GPUJOIN_PLAN_OPTIONS_INIT};
}

struct Outcome {
  bool has_room = false;
  bool is_in_pieces = false;
  std::string plan;
  Rows rows;
};

Outcome join_within(const std::shared_ptr<base::Context>& context,
                    const std::shared_ptr<Table>& left, const std::shared_ptr<Table>& right,
                    const columns::JoinSpec& spec) {
  Outcome outcome;
  OwnQueue const queue(context);
  try {
    auto given = given_of(context, left, right, spec);
    // Else the CPU joins what such a limit of a device has no room for.
    if (context->is_cuda()) given.options.device = GPUJOIN_DEVICE_CUDA;
    auto const result = pieces::join(queue, given);
    outcome.plan = result->statistics.plan;
    for (auto const& stage : result->statistics.stages) {
      outcome.plan += "; " + stage.stage + ": " + stage.technique;
    }
    outcome.is_in_pieces = outcome.plan.starts_with("in ");
    // What exports them wants some room, too.
    add_rows(*result, &outcome.rows);
    outcome.has_room = true;
  } catch (const base::Error& error) {
    EXPECT_TRUE(execute::is_no_room(error)) << error.what();
  }
  return outcome;
}

// How many limits were met in pieces.
int compare_within(uint64_t least, uint64_t most, gpujoin_device device, JoinKind kind,
                   bool build_is_larger) {
  auto const left = draw({build_is_larger ? 900 : 3000, 700, 0.01, 0.05, 1});
  auto const right = draw({build_is_larger ? 3000 : 900, 700, 0.01, 0.05, 2});
  auto const spec = spec_of(kind, true, false, true);
  auto const unlimited = make_context(0);
  if (has_several(unlimited, left, right, spec)) return -1;
  Rows const expected = one_call(unlimited, left, right, spec);
  int in_pieces = 0;
  bool had_room = false;
  for (uint64_t limit = least; limit <= most; limit += limit / 4) {
    Outcome const found = join_within(make_context(limit, device), left, right, spec);
    had_room = had_room || found.has_room;
    if (!found.has_room) continue;
    in_pieces += found.is_in_pieces ? 1 : 0;
    EXPECT_EQ(found.rows == expected, true)
        << columns::to_text(kind) << " within " << limit << ", " << found.plan << ": "
        << found.rows.size() << " different rows of " << expected.size() << ", missing\n"
        << text_of(without(expected, found.rows)) << "too many\n"
        << text_of(without(found.rows, expected));
    if (testing::Test::HasFailure()) return in_pieces;
  }
  EXPECT_TRUE(had_room) << columns::to_text(kind);
  return in_pieces;
}

TEST(JoinInPieces, AnswersAsTheJoinAtOnceWithinAnyLimit) {
  int in_pieces = 0;
  for (int32_t k = 1; k <= static_cast<int32_t>(columns::kLastJoinKind); ++k) {
    auto const kind = static_cast<JoinKind>(k);
    if (kind == JoinKind::kCross) continue;
    for (bool const larger : {true, false}) {
      in_pieces += std::max(0, compare_within(uint64_t{64} << 10, uint64_t{8} << 20,
                                              GPUJOIN_DEVICE_CPU, kind, larger));
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(in_pieces, 10);
}

// Whether the result's rows come by those of a side, then of the other; who lacks one comes last.
bool comes_by(bool left_first, const columns::JoinResult& result) {
  auto const* const left = static_cast<const uint32_t*>(result.left_rows.get());
  auto const* const right = static_cast<const uint32_t*>(result.right_rows.get());
  auto const at = [&](int64_t row) {
    return left_first ? std::pair(left[row], right[row]) : std::pair(right[row], left[row]);
  };
  for (int64_t row = 1; row < result.rows; ++row) {
    if (at(row) < at(row - 1)) return false;
  }
  return true;
}

TEST(JoinInPieces, RowsComeInTheOrderThatIsNamed) {
  int in_pieces = 0;
  for (JoinKind const kind :
       {JoinKind::kInner, JoinKind::kLeft, JoinKind::kRight, JoinKind::kFull}) {
    for (bool const left_first : {true, false}) {
      for (bool const larger : {true, false}) {
        SCOPED_TRACE(std::string(columns::to_text(kind)) + (left_first ? " by left" : " by right"));
        auto const left = draw({larger ? 3000 : 900, 700, 0.01, 0.05, 1});
        auto const right = draw({larger ? 900 : 3000, 700, 0.01, 0.05, 2});
        columns::JoinSpec spec = spec_of(kind, true, false, true);
        spec.order = left_first ? columns::RowOrder::kLeft : columns::RowOrder::kRight;
        for (uint64_t limit = uint64_t{64} << 10; limit <= uint64_t{8} << 20; limit += limit / 8) {
          OwnQueue const queue(make_context(limit));
          try {
            auto const result = pieces::join(queue, given_of(queue.context(), left, right, spec));
            in_pieces += result->statistics.plan.starts_with("in ") ? 1 : 0;
            EXPECT_TRUE(comes_by(left_first, *result)) << limit << " " << result->statistics.plan;
          } catch (const base::Error& error) {
            EXPECT_TRUE(execute::is_no_room(error)) << error.what();
          }
        }
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_GT(in_pieces, 10);
}

// Rows 64 to 127 of the right side, which meet the left side in two parts.
constexpr int64_t kFirst = 64;

struct MetInTwoParts {
  MetInTwoParts(const std::shared_ptr<base::Context>& context, JoinKind kind, int64_t keys) {
    auto const left = relation_of(context, draw({300, keys, 0.0, 0.1, 1}));
    auto const right = relation_of(context, draw({500, keys, 0.0, 0.1, 2}));
    join.context = context;
    join.spec = spec_of(kind, true, false, true);
    join.options = GPUJOIN_PLAN_OPTIONS_INIT;
    join.build_left = true;
    join.options.build_side = GPUJOIN_SIDE_LEFT;
    join.left_none = pieces::without_rows(*left);
    join.right_none = pieces::without_rows(*right);
    probe.rows = pieces::slice(right, kFirst, 64);
    probe.first_row = kFirst;
    OwnQueue const queue(context);
    auto const build = pieces::piece_of(queue, join, true, left);
    parts = {pieces::part_of(build, 0, 128), pieces::part_of(build, 128, left->rows - 128)};
  }

  pieces::JoinOfPieces join;
  pieces::Piece probe;
  std::vector<pieces::Piece> parts;
};

// A piece that meets several parts has marks of its own; its rows are those of the whole side.
TEST(JoinInPieces, APieceThatMeetsSeveralPartsKeepsItsFirstRow) {
  auto const context = make_context(0);
  OwnQueue const queue(context);
  for (JoinKind const kind : {JoinKind::kRightMark, JoinKind::kRightAnti, JoinKind::kRightSemi,
                              JoinKind::kRight, JoinKind::kFull}) {
    MetInTwoParts const met(context, kind, 200);
    pieces::PieceJoin steps(queue, met.join, met.probe, met.parts);
    int results = 0;
    while (auto const result = steps.next(queue)) {
      ++results;
      EXPECT_EQ(result->right_first_row, kFirst) << columns::to_text(kind);
    }
    EXPECT_GT(results, 0) << columns::to_text(kind);
  }
}

TEST(JoinInPieces, SeveralMatchesNameTheRowOfTheWholeSide) {
  auto const context = make_context(0);
  OwnQueue const queue(context);
  MetInTwoParts const met(context, JoinKind::kRightSingle, 1);
  pieces::PieceJoin steps(queue, met.join, met.probe, met.parts);
  try {
    while (steps.next(queue) != nullptr) {
    }
    FAIL() << "no error";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.status(), GPUJOIN_ERROR_SEVERAL_MATCHES);
    int row = 0;
    ASSERT_EQ(std::sscanf(error.what(), "right row %d", &row), 1) << error.what();
    EXPECT_GE(row, kFirst);
    EXPECT_LT(row, kFirst + 64);
  }
}

// How many rows come out of a probe side of 96 rows; -1: there was no room.
int64_t count_within(uint64_t limit, JoinKind kind, bool is_kept) {
  auto const context = make_context(limit);
  context->cpu_threads = 1;
  auto const left = relation_of(context, draw({6000, 4, 0.0, 0.0, 1}));
  auto const right = relation_of(context, draw({96, 4, 0.0, 0.0, 2}));
  pieces::JoinOfPieces join;
  join.context = context;
  join.spec = spec_of(kind, false, false, true);
  join.options = GPUJOIN_PLAN_OPTIONS_INIT;
  join.options.build_side = GPUJOIN_SIDE_LEFT;
  join.build_left = true;
  join.left_none = pieces::without_rows(*left);
  join.right_none = pieces::without_rows(*right);
  int64_t count = 0;
  try {
    OwnQueue const queue(context);
    pieces::Piece part = pieces::piece_of(queue, join, true, left);
    if (is_kept) part.kept = std::make_shared<pieces::KeptPart>();
    pieces::PieceJoin steps(queue, join, pieces::piece_of(queue, join, false, right), {&part, 1});
    while (auto const result = steps.next(queue)) count += result->rows;
  } catch (const base::Error& error) {
    EXPECT_TRUE(execute::is_no_room(error)) << error.what();
    return -1;
  }
  return count;
}

TEST(JoinInPieces, AKeptTableGivesWayToWhatComesOut) {
  for (JoinKind const kind : {JoinKind::kInner, JoinKind::kRight, JoinKind::kFull}) {
    int64_t const all = count_within(0, kind, false);
    int in_pieces = 0;
    for (uint64_t limit = uint64_t{64} << 10; limit < uint64_t{2} << 20; limit += limit / 8) {
      int64_t const found = count_within(limit, kind, false);
      if (found == -1) continue;
      ++in_pieces;
      EXPECT_EQ(found, all) << limit;
      EXPECT_EQ(count_within(limit, kind, true), all)
          << columns::to_text(kind) << " within " << limit;
    }
    EXPECT_GT(in_pieces, 5);
  }
}

TEST(JoinInPieces, OnTheGpuToo) {
  if (gpu_context(0) == nullptr) GTEST_SKIP() << "no CUDA device";
  for (JoinKind const kind : {JoinKind::kInner, JoinKind::kFull, JoinKind::kLeftAnti,
                              JoinKind::kRightMark, JoinKind::kRight}) {
    compare_within(uint64_t{2} << 20, uint64_t{64} << 20, GPUJOIN_DEVICE_CUDA, kind, false);
    if (HasFailure()) return;
  }
}

TEST(JoinInPieces, LimitsOfRowsAndBytesCountAllPieces) {
  auto const left = draw({3000, 700, 0.0, 0.0, 1});
  auto const right = draw({900, 700, 0.0, 0.0, 2});
  uint64_t limit = 0;
  columns::JoinSpec spec;
  Outcome outcome;
  // What several threads have written into when memory is used up differs from run to run, as do
  // the tables of another hash.
  auto const alone = [](uint64_t bytes) {
    auto const context = make_context(bytes);
    context->cpu_threads = 1;
    context->hash_seed = 1;
    return context;
  };
  for (JoinKind const kind : {JoinKind::kInner, JoinKind::kFull, JoinKind::kRightMark}) {
    spec = spec_of(kind, true, false, true);
    for (uint64_t next = uint64_t{64} << 10; next < uint64_t{8} << 20; next += next / 32) {
      if (outcome.is_in_pieces) break;
      limit = next;
      outcome = join_within(alone(limit), left, right, spec);
    }
    if (outcome.is_in_pieces) break;
  }
  ASSERT_TRUE(outcome.is_in_pieces);
  int64_t count = 0;
  for (auto const& [row, times] : one_call(make_context(0), left, right, spec)) count += times;
  spec.bounds.row_limit = count - 1;
  bool was_counted = false;
  for (int i = 0; i < 20 && !was_counted; ++i) {
    auto const context = alone(limit + limit / 64 * static_cast<uint64_t>(i));
    OwnQueue const queue(context);
    try {
      pieces::join(queue, given_of(context, left, right, spec));
      ADD_FAILURE() << "no error";
    } catch (const base::Error& error) {
      was_counted = error.status() == GPUJOIN_ERROR_ROW_LIMIT;
      EXPECT_TRUE(was_counted || execute::is_no_room(error)) << error.what();
    }
  }
  EXPECT_TRUE(was_counted);
}

// With pieces on the device it would take seconds.
TEST(JoinInPieces, GoesToTheCpuWhereTheDevicesPiecesWouldBeMany) {
  auto const context = gpu_context(uint64_t{2} << 20);
  if (context == nullptr) GTEST_SKIP() << "no CUDA device";
  OwnQueue const queue(context);
  auto const left = draw({300000, 70000, 0.0, 0.0, 1});
  auto const right = draw({90000, 70000, 0.0, 0.0, 2});
  auto const spec = spec_of(JoinKind::kInner, false, false, true);
  auto const result = pieces::join(queue, given_of(context, left, right, spec));
  EXPECT_EQ(result->statistics.device, GPUJOIN_DEVICE_CPU);
  Rows found;
  add_rows(*result, &found);
  EXPECT_TRUE(found == one_call(make_context(0), left, right, spec));
}

// Of sides in host memory, where nobody asked for the device.
TEST(JoinInPieces, GoesToTheCpuWhereTheDeviceHasNoRoom) {
  // What a queue counts with there takes 1 MiB of it.
  constexpr uint64_t kTooLittle = uint64_t{5} << 18;
  auto const context = gpu_context(kTooLittle);
  if (context == nullptr) GTEST_SKIP() << "no CUDA device";
  OwnQueue const queue(context);
  auto const left = draw({3000, 700, 0.01, 0.05, 1});
  auto const right = draw({900, 700, 0.01, 0.05, 2});
  for (int32_t k = 1; k <= static_cast<int32_t>(columns::kLastJoinKind); ++k) {
    SCOPED_TRACE(columns::to_text(static_cast<JoinKind>(k)));
    columns::JoinSpec spec = spec_of(static_cast<JoinKind>(k), true, false, true);
    auto given = given_of(context, left, right, spec);
    if (has_several(make_context(0), left, right, spec)) continue;
    auto const result = pieces::join(queue, given);
    EXPECT_EQ(result->statistics.device, GPUJOIN_DEVICE_CPU);
    EXPECT_TRUE(result->statistics.reason().starts_with("the device has no room"));
    Rows found;
    add_rows(*result, &found);
    EXPECT_TRUE(found == one_call(make_context(0), left, right, spec));
    for (bool const names_device : {true, false}) {
      if (!names_device && spec.kind == JoinKind::kCross) continue;  // it has no techniques
      given.options = GPUJOIN_PLAN_OPTIONS_INIT;
      (names_device ? given.options.device : given.options.algorithm) =
          names_device ? GPUJOIN_DEVICE_CUDA : GPUJOIN_ALGORITHM_PHJ_CARRIED;
      try {
        pieces::join(queue, given);
        ADD_FAILURE() << "no error";
      } catch (const base::Error& error) {
        EXPECT_TRUE(execute::is_no_room(error)) << error.what();
      }
    }
  }
}

}  // namespace

}  // namespace gpujoin::tests
