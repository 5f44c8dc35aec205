#include "src/pieces/piece.hpp"

#include <algorithm>
#include <utility>

#include "src/columns/join_kind.hpp"
#include "src/execute/kept_build.hpp"
#include "src/pieces/row_schema.hpp"
#include "src/pieces/slice.hpp"

namespace gpujoin::pieces {

using columns::JoinSpec;
using columns::Relation;
using columns::RowsOfSide;

bool needs_marks(const JoinSpec& spec, bool left) {
  RowsOfSide const rows = columns::rows_of(spec.kind, left);
  return columns::comes_alone(rows) || columns::comes_unmatched(rows);
}

bool may_be_unknown(const JoinSpec& spec, bool left) {
  RowsOfSide const rows = columns::rows_of(spec.kind, left);
  return rows == RowsOfSide::kMarked || rows == RowsOfSide::kNotIn;
}

bool meets_kept_table(const JoinOfPieces& join) {
  JoinSpec const& spec = join.spec;
  if (!execute::KeptBuild::may_keep(spec, join.options)) return false;
  bool const has_flags = std::any_of(spec.key_flags.begin(), spec.key_flags.end(),
                                     [](int32_t flags) { return flags != 0; });
  auto const is_plain = [&](int32_t left_key, int32_t right_key) {
    auto const& left = join.left_none->columns[static_cast<size_t>(left_key)];
    auto const& right = join.right_none->columns[static_cast<size_t>(right_key)];
    return left.type == right.type && is_whole_number(left.type) && left.width >= 4;
  };
  return !has_flags && std::equal(spec.left_keys.begin(), spec.left_keys.end(),
                                  spec.right_keys.begin(), spec.right_keys.end(), is_plain);
}

bool can_cut_part(const JoinOfPieces& join) {
  return !join.spec.asof && join.spec.aggregates.empty() && !join.in_order;
}

Piece piece_of(base::Queue& queue, const JoinOfPieces& join, bool left,
               std::shared_ptr<const Relation> rows, int64_t first_row) {
  Piece piece;
  piece.rows = std::move(rows);
  piece.first_row = piece.marks_first_row = first_row;
  if (needs_marks(join.spec, left)) {
    piece.marks = std::make_shared<SideMarks>(*queue.host_pool, piece.rows->rows,
                                              may_be_unknown(join.spec, left));
  }
  return piece;
}

Piece part_of(const Piece& whole, int64_t first, int64_t rows) {
  Piece part = whole;
  part.rows = slice(whole.rows, first, rows);
  part.first_row += first;
  part.kept = nullptr;
  return part;
}

}  // namespace gpujoin::pieces
