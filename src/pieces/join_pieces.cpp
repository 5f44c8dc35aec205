#include "src/pieces/join_pieces.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "src/base/copy.hpp"
#include "src/base/status.hpp"
#include "src/columns/join_kind.hpp"
#include "src/columns/selection.hpp"
#include "src/execute/execute.hpp"
#include "src/execute/kinds.hpp"
#include "src/execute/late_columns.hpp"
#include "src/execute/no_room.hpp"
#include "src/execute/output_size.hpp"
#include "src/execute/row_picker.hpp"
#include "src/pieces/brought_rows.hpp"
#include "src/pieces/pair_decider.hpp"

namespace gpujoin::pieces {

namespace {

using columns::JoinKind;
using columns::JoinResult;
using columns::JoinSpec;
using columns::Relation;
using columns::RowsOfSide;

constexpr int64_t kLeastRows = Piece::kLeastRows;

JoinKind of_side(JoinKind left_kind, JoinKind right_kind, bool left) {
  return left ? left_kind : right_kind;
}

JoinKind outer_of(bool left) { return of_side(JoinKind::kLeft, JoinKind::kRight, left); }

// The side that comes out alone, if one does.
std::optional<bool> lone_side(JoinKind kind) {
  for (bool const left : {true, false}) {
    if (columns::comes_alone(columns::rows_of(kind, left))) return left;
  }
  return std::nullopt;
}

// Where a piece is cut: marks are words of 32 rows.
int64_t middle_of(const Piece& piece) { return (piece.rows->rows / 2 + 31) / 32 * 32; }

}  // namespace

// One step: a join of two relations, or rows of one, and what it marks.
class StepRun {
 public:
  StepRun(base::Queue& queue, const JoinOfPieces& join)
      : queue_(queue), join_(join), kind_(join.spec.kind) {}

  // Null: nothing came out.
  std::unique_ptr<JoinResult> run(const PieceJoin::Step& step) {
    switch (step.what) {
      case PieceJoin::What::kJoin:
        return handed_out(join(kind_, step, join_.spec.pairs, true), step, join_.spec.pairs);
      case PieceJoin::What::kMeet:
      case PieceJoin::What::kMeetUnmatched:
        return meet(step);
      case PieceJoin::What::kPutOut:
        return put_out(step.of_left, step.probe);
    }
    return nullptr;
  }

 private:
  // Pairs, or who has a match or a mark.
  std::unique_ptr<JoinResult> meet(const PieceJoin::Step& step) {
    auto const lone = lone_side(kind_);
    std::unique_ptr<JoinResult> result;
    if (!lone) {
      bool const with_unmatched = step.what == PieceJoin::What::kMeetUnmatched;
      bool const is_cross = kind_ == JoinKind::kCross;
      JoinKind const pairs = is_cross ? JoinKind::kCross : JoinKind::kInner;
      result = join(with_unmatched ? outer_of(!join_.build_left) : pairs, step, true, true);
    } else if (may_be_unknown(join_.spec, *lone)) {
      result = join(of_side(JoinKind::kLeftMark, JoinKind::kRightMark, *lone), step, false, false);
    } else {
      result = join(of_side(JoinKind::kLeftSemi, JoinKind::kRightSemi, *lone), step, true, false);
    }
    // What has no room is tried again, and no row is marked twice.
    if (!lone && join_.spec.pairs) number_rows(step, *result);
    mark(step.probe, step.part, *result);
    return lone ? nullptr : handed_out(std::move(result), step, true);
  }

  std::unique_ptr<JoinResult> join(JoinKind kind, const PieceJoin::Step& step, bool pairs,
                                   bool columns) {
    auto const& left = join_.build_left ? step.part.rows : step.probe.rows;
    auto const& right = join_.build_left ? step.probe.rows : step.part.rows;
    JoinSpec spec = join_.spec;
    spec.kind = kind;
    spec.pairs = pairs;
    if (!columns) {
      spec.materialize = false;
      spec.left_columns.clear();
      spec.right_columns.clear();
      // What is limited or promised are rows that come out.
      spec.bounds = columns::Bounds();
    }
    // Marks are a column: bit i is row i's.
    if (!columns && !pairs) spec.order = in_order_of(lone_side(kind).value_or(true));
    if (KeptPart* const part = step.part.kept.get(); part != nullptr) {
      queue_.check_cancelled();
      auto const kept = part->get({kind, pairs, columns}, [&](const auto* next) {
        return keep(left, right, spec, part->seen(), next);
      });
      auto const planned =
          kept == nullptr ? std::nullopt : kept->joined_with(queue_, step.probe.rows);
      if (planned) return execute_decided(queue_, join_, *planned, *left, *right);
    }
    return execute(left, right, std::move(spec));
  }

  std::unique_ptr<JoinResult> execute(const std::shared_ptr<const Relation>& left,
                                      const std::shared_ptr<const Relation>& right, JoinSpec spec) {
    queue_.check_cancelled();
    auto const planned =
        execute::make_plan(queue_, left, right, std::move(spec), join_.options, false);
    return execute_decided(queue_, join_, planned, *left, *right);
  }

  std::shared_ptr<const execute::KeptBuild> keep(const std::shared_ptr<const Relation>& left,
                                                 const std::shared_ptr<const Relation>& right,
                                                 const JoinSpec& spec,
                                                 const execute::SeenKeys* seen,
                                                 const execute::KeptBuild::Next* next) {
    try {
      if (next != nullptr) return execute::KeptBuild::make(queue_, *next, seen);
      return execute::KeptBuild::make(queue_, left, right, spec, join_.options, join_.build_left,
                                      seen);
    } catch (const base::Error& error) {
      if (!execute::is_no_room(error)) throw;
    }
    // What was queued reads memory that is let go of.
    base::finish(queue_);
    return nullptr;
  }

  static columns::RowOrder in_order_of(bool left) {
    return left ? columns::RowOrder::kLeft : columns::RowOrder::kRight;
  }

  void mark(const Piece& probe, const Piece& part, const JoinResult& result) {
    for (bool const left : {true, false}) {
      Piece const& piece = join_.is_build(left) ? part : probe;
      RowsOfSide const rows = columns::rows_of(kind_, left);
      if (piece.marks == nullptr || !needs_marks(join_.spec, left)) continue;
      if (may_be_unknown(join_.spec, left)) {
        piece.marks->mark(queue_, result.memory, result.columns.back(), piece.rows->rows,
                          piece.first_mark());
        continue;
      }
      columns::Storage const& numbers = left ? result.left_rows : result.right_rows;
      if (rows != RowsOfSide::kSingle) {
        int64_t const missing = left ? result.left_rows_missing : result.right_rows_missing;
        piece.marks->mark(queue_, result.memory, numbers, result.rows, missing != 0,
                          piece.first_mark(), piece.rows->rows);
      } else if (auto const twice = piece.marks->mark_once(queue_, result.memory, numbers,
                                                           result.rows, piece.first_mark())) {
        base::fail(GPUJOIN_ERROR_SEVERAL_MATCHES, "%s row %lld has more than one match",
                   left ? "left" : "right",
                   static_cast<long long>(number_of(left, piece, *twice - piece.first_mark())));
      }
    }
  }

  bool has_numbers(bool left) const {
    return left ? join_.has_left_numbers : join_.has_right_numbers;
  }

  // What the caller calls a row.
  int64_t number_of(bool left, const Piece& piece, int64_t row) {
    if (!has_numbers(left)) return piece.first_row + row;
    return number_of_row(queue_, *piece.rows, row);
  }

  // with_pairs: the result has them, whoever asked.
  std::unique_ptr<JoinResult> handed_out(std::unique_ptr<JoinResult> result,
                                         const PieceJoin::Step& step, bool with_pairs) {
    Piece const& left = join_.build_left ? step.part : step.probe;
    Piece const& right = join_.build_left ? step.probe : step.part;
    return handed_out(std::move(result), left, right, with_pairs);
  }

  std::unique_ptr<JoinResult> handed_out(std::unique_ptr<JoinResult> result, const Piece& left,
                                         const Piece& right, bool with_pairs) {
    if (result->rows == 0) return nullptr;
    if (with_pairs && !join_.spec.pairs) {
      result->has_pairs = false;
      result->pair_sides = columns::PairSides::kBoth;
      result->left_rows = result->right_rows = nullptr;
    }
    // The schema of a query does not depend on which pieces met.
    result->may_miss_left_rows = columns::comes_unmatched(columns::rows_of(kind_, false));
    result->may_miss_right_rows = columns::comes_unmatched(columns::rows_of(kind_, true));
    result->left_first_row = left.first_row;
    result->right_first_row = right.first_row;
    number(true, *left.rows, *result);
    number(false, *right.rows, *result);
    return result;
  }

  void number_rows(const PieceJoin::Step& step, JoinResult& result) {
    number(true, join_.build_left ? *step.part.rows : *step.probe.rows, result);
    number(false, join_.build_left ? *step.probe.rows : *step.part.rows, result);
  }

  // Where it has rows of the side, and no numbers yet.
  void number(bool of_left, const Relation& relation, JoinResult& result) {
    bool const has_rows = of_left ? result.has_left_rows() : result.has_right_rows();
    bool const is_done = (of_left ? result.left_numbers : result.right_numbers) != nullptr;
    if (!has_numbers(of_left) || !has_rows || is_done) return;
    columns::Storage const& rows = of_left ? result.left_rows : result.right_rows;
    auto const last = static_cast<int32_t>(relation.columns.size()) - 1;
    std::vector<columns::StageStatistics> stages;
    columns::ResultColumn numbers =
        execute::fetch_late(queue_, result.memory, relation, last, rows, result.rows, stages);
    (of_left ? result.left_numbers : result.right_numbers) = std::move(numbers.data);
  }

  // What the kind puts out of the rows of a side by their marks.
  std::unique_ptr<JoinResult> put_out(bool left, const Piece& piece) {
    RowsOfSide const rows = columns::rows_of(kind_, left);
    JoinKind const alone = of_side(JoinKind::kLeftAnti, JoinKind::kRightAnti, left);
    if (rows == RowsOfSide::kMarked) return put_out_lone(left, piece, piece.rows, alone, true);
    auto const chosen = chosen_bits(rows, piece);
    columns::Selection selection;
    selection.of = piece.rows;
    selection.is_bitmap = true;
    selection.data = chosen.data();
    auto const picked = execute::select_rows(queue_, std::move(selection));
    JoinKind const kind = columns::comes_alone(rows) ? alone : outer_of(left);
    return put_out_lone(left, piece, picked, kind, false);
  }

  // A bit for each row that comes out.
  std::vector<uint32_t> chosen_bits(RowsOfSide rows, const Piece& piece) const {
    auto const count = static_cast<uint64_t>(piece.rows->rows);
    std::vector<uint32_t> bits((count + 31) / 32);
    uint32_t const* const matched = piece.marks->matched() + piece.first_mark() / 32;
    uint32_t const* unknown = piece.marks->unknown();
    if (unknown != nullptr) unknown += piece.first_mark() / 32;
    for (size_t i = 0; i < bits.size(); ++i) {
      bits[i] = rows == RowsOfSide::kMatched ? matched[i] : ~matched[i];
      if (rows == RowsOfSide::kNotIn && unknown != nullptr) bits[i] &= ~unknown[i];
    }
    return bits;
  }

  // Rows of a side's piece: those of a join with nothing, which the executor that has them runs.
  // with_marks: those of the piece come with them.
  std::unique_ptr<JoinResult> put_out_lone(bool left, const Piece& piece,
                                           const std::shared_ptr<const Relation>& rows,
                                           JoinKind kind, bool with_marks) {
    if (rows->rows == 0) return nullptr;
    auto const& other = left ? join_.right_none : join_.left_none;
    JoinSpec spec = join_.spec;
    spec.kind = kind;
    if (with_marks) spec.order = in_order_of(left);
    auto result = execute(left ? rows : other, left ? other : rows, std::move(spec));
    if (with_marks) result->columns.push_back(mark_column(piece, result->memory));
    Piece const none{other, nullptr};
    return handed_out(std::move(result), left ? piece : none, left ? none : piece,
                      join_.spec.pairs);
  }

  columns::ResultColumn mark_column(const Piece& piece, base::Memory memory) {
    auto const rows = piece.rows->rows;
    auto const words = (static_cast<uint64_t>(rows) + 31) / 32;
    columns::ResultColumn column = execute::mark_column();
    std::vector<uint32_t> known(words);
    uint32_t const* const matched = piece.marks->matched() + piece.first_mark() / 32;
    int64_t unknown_rows = 0;
    for (uint64_t i = 0; i < words && piece.marks->unknown() != nullptr; ++i) {
      uint32_t const unknown = piece.marks->unknown()[piece.first_mark() / 32 + i] & ~matched[i];
      known[i] = ~unknown;
      unknown_rows += __builtin_popcount(unknown);
    }
    column.data = copied(matched, words, memory);
    column.null_count = unknown_rows;
    if (unknown_rows != 0) column.validity = copied(known.data(), words, memory);
    return column;
  }

  columns::Storage copied(const uint32_t* words, uint64_t count, base::Memory memory) {
    base::Pool& pool = memory == base::Memory::kDevice ? *queue_.device_pool : *queue_.host_pool;
    base::Buffer buffer = pool.allocate_rows<uint32_t>(memory, count, "marks");
    base::copy(queue_, buffer.data(), memory, words, base::Memory::kHost, count * 4);
    base::finish(queue_);
    return columns::make_storage(std::move(buffer));
  }

  base::Queue& queue_;
  const JoinOfPieces& join_;
  JoinKind kind_;
};

PieceJoin::PieceJoin(base::Queue& queue, const JoinOfPieces& join, const Piece& probe,
                     std::span<const Piece> parts)
    : join_(join) {
  bool const build_needs = needs_marks(join.spec, join.build_left);
  bool const probe_needs = needs_marks(join.spec, !join.build_left);
  // With a lone part that has no marks the kind is that of a join of two relations.
  if (parts.size() == 1 && !build_needs) {
    push(What::kJoin, probe, parts.front());
  } else if (parts.size() == 1 && probe_needs) {
    // Rows of the probe side without a match come with the pairs of a lone part.
    push(What::kMeetUnmatched, probe, parts.front());
  } else {
    meet_parts(queue, probe, parts);
  }
}

PieceJoin PieceJoin::meeting(const JoinOfPieces& join, const Piece& probe,
                             std::span<const Piece> parts) {
  PieceJoin made(join);
  for (Piece const& part : parts) made.push(What::kMeet, probe, part);
  return made;
}

PieceJoin::PieceJoin(const JoinOfPieces& join, bool left, const Piece& piece) : join_(join) {
  push_put_out(left, piece);
}

void PieceJoin::meet_parts(base::Queue& queue, const Piece& probe, std::span<const Piece> parts) {
  bool const probe_needs = needs_marks(join_.spec, !join_.build_left);
  // Of its own, whichever the piece has: a row may meet several parts.
  Piece const marked =
      probe_needs ? piece_of(queue, join_, !join_.build_left, probe.rows, probe.first_row) : probe;
  if (probe_needs) push_put_out(!join_.build_left, marked);
  for (Piece const& part : parts) push(What::kMeet, marked, part);
}

bool PieceJoin::can_be_cut(const Step& step) const {
  if (step.probe.rows->rows > kLeastRows) return true;
  return step.what != What::kPutOut && can_cut_part(join_) && step.part.rows->rows > kLeastRows;
}

void PieceJoin::cut(base::Queue& queue, const Step& step) {
  bool const of_probe = step.what != What::kMeet || !can_cut_part(join_) ||
                        step.probe.rows->rows >= step.part.rows->rows;
  bool const is_least = of_probe && step.probe.rows->rows <= kLeastRows;
  // Rows of the part will be joined without the table of all of them, which takes as much as they.
  if ((is_least || !of_probe) && step.part.kept != nullptr) step.part.kept->let_go();
  if (is_least) {
    return meet_parts(queue, step.probe, std::span(&step.part, 1));
  }
  Piece const& longer = of_probe ? step.probe : step.part;
  int64_t const middle = middle_of(longer);
  // The last that is pushed is the next.
  for (Piece const& half :
       {part_of(longer, middle, longer.rows->rows - middle), part_of(longer, 0, middle)}) {
    Step made = step;
    (of_probe ? made.probe : made.part) = half;
    steps_.push_back(std::move(made));
  }
}

std::unique_ptr<JoinResult> PieceJoin::next(base::Queue& queue) {
  while (!steps_.empty()) {
    Step step = std::move(steps_.back());
    steps_.pop_back();
    int64_t const rows = step.probe.rows->rows;
    RowsAtOnce* const limit = step.what == What::kJoin ? join_.rows_at_once : nullptr;
    try {
      if (limit == nullptr || !limit->are_too_many(rows)) {
        auto result = StepRun(queue, join_).run(step);
        auto const bytes = [&] { return result ? execute::bytes_of_result(*result) : 0; };
        if (limit == nullptr || limit->are_few_enough(rows, bytes())) {
          if (result != nullptr) return result;
          continue;
        }
      }
    } catch (const base::Error& error) {
      if (!execute::is_no_room(error)) throw;
      if (!can_be_cut(step)) {
        steps_.push_back(std::move(step));
        throw;
      }
    }
    // What the step has queued reads memory that is let go of.
    base::finish(queue);
    try {
      cut(queue, step);
    } catch (const base::Error&) {
      steps_.push_back(std::move(step));
      throw;
    }
  }
  return nullptr;
}

}  // namespace gpujoin::pieces
