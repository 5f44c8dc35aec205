// piece.hpp: rows of one side that are joined at once, and the join that they are a piece of.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "gpujoin.h"
#include "src/base/context.hpp"
#include "src/base/queue.hpp"
#include "src/columns/column.hpp"
#include "src/pieces/kept_part.hpp"
#include "src/pieces/rows_at_once.hpp"
#include "src/pieces/side_marks.hpp"

namespace gpujoin::pieces {

// Rows of one side that are joined at once.
struct Piece {
  // Of fewer rows it is not cut: what does not fit then never will.
  static constexpr int64_t kLeastRows = 64;

  std::shared_ptr<const columns::Relation> rows;
  // Null: needs none.
  std::shared_ptr<SideMarks> marks;
  int64_t first_row = 0;                     // of the side, a multiple of 32
  std::shared_ptr<KeptPart> kept = nullptr;  // of a whole part of the build side; null: none is
  int64_t marks_first_row = 0;  // row of the side that marks count from, a multiple of 32

  int64_t first_mark() const { return first_row - marks_first_row; }
};

struct PairDecider;

// A join as it was asked for.
struct JoinOfPieces {
  std::shared_ptr<base::Context> context;
  columns::JoinSpec spec;
  gpujoin_plan_options options;
  bool build_left = false;
  // Rows of all pieces together come in the order of the probe side.
  bool in_order = false;
  // The last column of the side's pieces is what the caller calls the rows.
  bool has_left_numbers = false;
  bool has_right_numbers = false;
  // Relations of the sides' columns, without rows.
  std::shared_ptr<const columns::Relation> left_none;
  std::shared_ptr<const columns::Relation> right_none;
  std::shared_ptr<const PairDecider> decider;  // null: none is asked
  // Parts of partitions that are partitioned again are counted there; null: nowhere.
  std::atomic<int64_t>* pieces = nullptr;
  std::atomic<int64_t>* pieces_done = nullptr;
  // Of the probe side, with a lone part whose rows need no marks; null: any number.
  RowsAtOnce* rows_at_once = nullptr;

  bool is_build(bool left) const { return left == build_left; }
};

// Whether the kind does something with rows of the side that no pair tells.
bool needs_marks(const columns::JoinSpec& spec, bool left);
bool may_be_unknown(const columns::JoinSpec& spec, bool left);

// Whether a table of a part of the build side, once made, is looked up for each piece of the probe
// side: of keys that are compared as they are, not as others that are made anew for each.
bool meets_kept_table(const JoinOfPieces& join);

// Whether rows of the build side may be joined with the same rows one part after the other: not
// where one row or one group comes out of all rows of a key, nor where pairs come in order.
bool can_cut_part(const JoinOfPieces& join);

// Rows of a side, from first_row on, as a piece with marks of its own where the kind needs them.
// Throws.
Piece piece_of(base::Queue& queue, const JoinOfPieces& join, bool left,
               std::shared_ptr<const columns::Relation> rows, int64_t first_row = 0);

// Rows of a piece, from a multiple of 32 on, with the same marks.
Piece part_of(const Piece& whole, int64_t first, int64_t rows);

}  // namespace gpujoin::pieces
