#include "src/pieces/join_in_pieces.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <string>
#include <utility>

#include "src/base/copy.hpp"
#include "src/base/status.hpp"
#include "src/execute/no_room.hpp"
#include "src/execute/output_size.hpp"
#include "src/execute/promises.hpp"
#include "src/pieces/budget.hpp"
#include "src/pieces/collected_result.hpp"
#include "src/pieces/join_pieces.hpp"
#include "src/pieces/promised_keys.hpp"
#include "src/pieces/row_schema.hpp"
#include "src/pieces/slice.hpp"

namespace gpujoin::pieces {

namespace {

using columns::JoinResult;
using columns::Relation;
using columns::RowOrder;
using execute::GivenJoin;

// Of rows whose keys are looked at one after the other.
constexpr int64_t kBlockRows = int64_t{1} << 20;

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
  // The rows of one side alone are told by marks, in order whatever met what.
  join.in_order = join.spec.order != RowOrder::kNone && !columns::comes_alone(join.spec.kind);
  join.left_none = without_rows(*given.left);
  join.right_none = without_rows(*given.right);
  return join;
}

RowBlocks in_blocks(const std::shared_ptr<const Relation>& rows) {
  RowBlocks blocks;
  blocks.count = static_cast<size_t>((rows->rows + kBlockRows - 1) / kBlockRows);
  blocks.read = [rows](base::Queue&, size_t i) {
    auto const first = static_cast<int64_t>(i) * kBlockRows;
    return slice(rows, first, std::min(kBlockRows, rows->rows - first));
  };
  return blocks;
}

// What a plan of all rows checks.
void check_promised_keys(base::Queue& queue, const GivenJoin& given, const JoinOfPieces& join) {
  for (bool const left : {true, false}) {
    PromisedSide const side = promised_side(join, left);
    auto const& rows = left ? given.left : given.right;
    if (execute::is_sorted_promised(given.spec.bounds, left)) check_sorted(queue, side, rows, 0);
    if (execute::is_unique_promised(given.spec.bounds, left)) {
      check_unique(queue, side, in_blocks(rows), 0);
    }
  }
}

// The steps of a join that put rows out: the pieces as they meet, then what is left of the build
// side.
std::unique_ptr<JoinResult> in_pieces(base::Queue& queue, const GivenJoin& given) {
  auto const start = std::chrono::steady_clock::now();
  JoinOfPieces const join = join_of(given);
  check_promised_keys(queue, given, join);
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

bool is_left_to_cpu(const base::Queue& queue, const GivenJoin& given) {
  return execute::may_leave_device(queue.context, given) &&
         is_device_too_small(queue.context,
                             bytes_of_values(*given.left) + bytes_of_values(*given.right));
}

template <typename Whole>
std::unique_ptr<JoinResult> whole_or_in_pieces(base::Queue& queue, const GivenJoin& given,
                                               const Whole& whole) {
  try {
    return whole();
  } catch (const base::Error& error) {
    if (!execute::is_no_room(error) || why_whole(given) != nullptr) throw;
    if (is_left_to_cpu(queue, given)) throw;
  }
  // What was queued reads memory that is let go of.
  base::finish(queue);
  return in_pieces(queue, given);
}

std::unique_ptr<JoinResult> at_once(base::Queue& queue, const GivenJoin& given) {
  return execute::execute(
      queue, execute::make_plan(queue, given.left, given.right, given.spec, given.options, false));
}

template <typename Whole>
std::unique_ptr<JoinResult> join(base::Queue& queue, const GivenJoin& given, const Whole& whole) {
  std::string no_room;
  std::exception_ptr failed;
  try {
    return whole_or_in_pieces(queue, given, whole);
  } catch (const base::Error& error) {
    if (!execute::is_no_room(error) || !execute::may_leave_device(queue.context, given)) throw;
    no_room = error.what();
    failed = std::current_exception();
  }
  base::finish(queue);
  GivenJoin on_cpu = given;
  on_cpu.options.device = GPUJOIN_DEVICE_CPU;
  std::unique_ptr<JoinResult> result;
  try {
    result = whole_or_in_pieces(queue, on_cpu, [&] { return at_once(queue, on_cpu); });
  } catch (const base::Error& error) {
    // Of options that are the device's alone.
    bool const cannot =
        error.status() == GPUJOIN_ERROR_UNSUPPORTED || error.status() == GPUJOIN_ERROR_ILLEGAL_PLAN;
    if (!cannot) throw;
    if (why_whole(given) == nullptr && is_left_to_cpu(queue, given)) return in_pieces(queue, given);
    std::rethrow_exception(failed);
  }
  result->statistics.reason = [no_room, reason = result->statistics.reason] {
    return "the device has no room, so the CPU joins: " + no_room + "; " + reason();
  };
  return result;
}

}  // namespace

const char* why_whole(const GivenJoin& given) {
  columns::JoinSpec const& spec = given.spec;
  if (!can_be_sliced(*given.left) || !can_be_sliced(*given.right)) {
    return "a side is a selection, or has a column of runs";
  }
  if (spec.caller_decides) return "the caller decides its pairs";
  if (!spec.aggregates.empty() && spec.groups == columns::Groups::kAll) {
    return "its groups are of all rows";
  }
  if (spec.asof && builds_left(given)) return "its rows come in the order of the right side";
  return nullptr;
}

std::unique_ptr<JoinResult> join(base::Queue& queue, const GivenJoin& given) {
  return join(queue, given, [&] { return at_once(queue, given); });
}

std::unique_ptr<JoinResult> join(base::Queue& queue, const execute::PlannedJoin& planned) {
  return join(queue, *planned.given, [&] { return execute::execute(queue, planned); });
}

}  // namespace gpujoin::pieces
