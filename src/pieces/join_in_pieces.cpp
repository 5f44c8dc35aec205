#include "src/pieces/join_in_pieces.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "src/base/copy.hpp"
#include "src/base/status.hpp"
#include "src/execute/no_room.hpp"
#include "src/execute/output_size.hpp"
#include "src/pieces/collected_result.hpp"
#include "src/pieces/join_pieces.hpp"
#include "src/pieces/slice.hpp"

namespace gpujoin::pieces {

namespace {

using columns::JoinResult;
using columns::Relation;
using columns::RowOrder;
using execute::GivenJoin;

constexpr int32_t kOfKeys = GPUJOIN_PROMISE_LEFT_UNIQUE | GPUJOIN_PROMISE_RIGHT_UNIQUE |
                            GPUJOIN_PROMISE_LEFT_SORTED | GPUJOIN_PROMISE_RIGHT_SORTED;

bool can_be_cut(const Relation& relation) {
  return relation.selection == nullptr &&
         std::none_of(relation.columns.begin(), relation.columns.end(), [](auto const& column) {
           return column.layout == columns::Layout::kRuns ||
                  column.layout == columns::Layout::kOther;
         });
}

// The probe side's rows are whole where a piece was joined, and come in its order.
bool builds_left(const GivenJoin& given) {
  columns::JoinSpec const& spec = given.spec;
  if (spec.order != RowOrder::kNone && spec.order != RowOrder::kProbe) {
    return spec.order == RowOrder::kRight;
  }
  if (!spec.aggregates.empty()) return spec.groups == columns::Groups::kRight;
  if (spec.asof) return false;
  if (given.options.build_side != 0) return given.options.build_side == GPUJOIN_SIDE_LEFT;
  return given.left->rows < given.right->rows;
}

JoinOfPieces join_of(const GivenJoin& given) {
  JoinOfPieces join;
  join.context = given.left->context;
  join.spec = given.spec;
  join.spec.bounds = columns::Bounds();
  join.options = given.options;
  join.build_left = builds_left(given);
  join.options.build_side = join.build_left ? GPUJOIN_SIDE_LEFT : GPUJOIN_SIDE_RIGHT;
  if (join.spec.order == RowOrder::kProbe) {
    join.spec.order = join.build_left ? RowOrder::kRight : RowOrder::kLeft;
  }
  join.left_none = without_rows(*given.left);
  join.right_none = without_rows(*given.right);
  return join;
}

// The steps of a join that put rows out: the pieces as they meet, then what is left of the build
// side.
std::unique_ptr<JoinResult> in_pieces(base::Queue& queue, const GivenJoin& given) {
  auto const start = std::chrono::steady_clock::now();
  JoinOfPieces const join = join_of(given);
  Piece build = piece_of(queue, join, join.build_left, join.build_left ? given.left : given.right);
  build.kept = std::make_shared<KeptPart>();
  Piece const probe =
      piece_of(queue, join, !join.build_left, join.build_left ? given.right : given.left);
  CollectedResult all;
  int64_t pieces = 0;
  uint64_t bytes = 0;
  auto const take_all = [&](PieceJoin steps) {
    while (auto piece = steps.next(queue)) {
      ++pieces;
      bytes += execute::bytes_of_result(*piece);
      all.add(queue, std::move(piece));
      execute::check_bounds(given.spec.bounds, all.rows(), bytes);
    }
  };
  take_all(PieceJoin(queue, join, probe, std::span(&build, 1)));
  if (build.marks != nullptr) take_all(PieceJoin(join, join.build_left, build));
  auto const like = execute::execute(
      queue,
      execute::make_plan(queue, join.left_none, join.right_none, join.spec, join.options, false));
  auto result = all.finish(queue, *like);
  columns::Statistics& statistics = result->statistics;
  statistics.left_rows = given.left->rows;
  statistics.right_rows = given.right->rows;
  statistics.plan = "in " + std::to_string(pieces) + " pieces: " + statistics.plan;
  statistics.reason = [] { return std::string("memory had no room for the join at once"); };
  statistics.milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return result;
}

template <typename Whole>
std::unique_ptr<JoinResult> join(base::Queue& queue, const GivenJoin& given, const Whole& whole) {
  try {
    return whole();
  } catch (const base::Error& error) {
    if (!execute::is_no_room(error) || why_whole(given) != nullptr) throw;
  }
  // What was queued reads memory that is let go of.
  base::finish(queue);
  return in_pieces(queue, given);
}

}  // namespace

const char* why_whole(const GivenJoin& given) {
  columns::JoinSpec const& spec = given.spec;
  if (!can_be_cut(*given.left) || !can_be_cut(*given.right)) {
    return "a side is a selection, or has a column of runs";
  }
  if (spec.caller_decides) return "the caller decides its pairs";
  if ((spec.bounds.promises & kOfKeys) != 0) return "its keys are promised something";
  if (!spec.aggregates.empty() && spec.groups == columns::Groups::kAll) {
    return "its groups are of all rows";
  }
  if (spec.asof && builds_left(given)) return "its rows come in the order of the right side";
  return nullptr;
}

std::unique_ptr<JoinResult> join(base::Queue& queue, const GivenJoin& given) {
  return join(queue, given, [&] {
    return execute::execute(queue, execute::make_plan(queue, given.left, given.right, given.spec,
                                                      given.options, false));
  });
}

std::unique_ptr<JoinResult> join(base::Queue& queue, const execute::PlannedJoin& planned) {
  return join(queue, *planned.given, [&] { return execute::execute(queue, planned); });
}

}  // namespace gpujoin::pieces
