// join_pieces.hpp: a join of any kind of which neither side has to be there as a whole.
//
// in      pieces of either side, each in the memory of one executor, joined with each other in any
//         order, at the same time on any number of threads
// out     results of some rows each; together they are the rows of one join of all pieces
// how     pairs come out when two pieces meet; what a kind does with rows that have a match, or
//         none, is told by marks of both sides, or-ed over the pieces that they met
// needs   each pair of pieces whose rows may match meets once; of MARK and NOT IN joins also those
//         whose comparison may be unknown
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "gpujoin.h"
#include "src/base/queue.hpp"
#include "src/columns/column.hpp"
#include "src/columns/result.hpp"
#include "src/pieces/piece.hpp"

namespace gpujoin::pieces {

// Results of some pieces, one at a time: what they would take together need not fit anywhere.
class PieceJoin {
 public:
  // Rows of a piece of the probe side, joined with all parts of the build side that they may match:
  // pairs, and what the kind puts out of the probe side. Marks rows of the parts. `join` outlives
  // this. expected: of ASOF joins and of groups one part.
  PieceJoin(base::Queue& queue, const JoinOfPieces& join, const Piece& probe,
            std::span<const Piece> parts);
  // The same, but for what the kind puts out of the probe side: its rows are marked.
  static PieceJoin meeting(const JoinOfPieces& join, const Piece& probe,
                           std::span<const Piece> parts);
  // What the kind puts out of a side's piece when it has met all others: rows without a match,
  // those with one, or all with their marks.
  PieceJoin(const JoinOfPieces& join, bool left, const Piece& piece);

  // The next result that has rows; null: there is no other. A step that does not fit into memory is
  // cut in two. Throws; where there was no room the next call tries the same again, else what is
  // left is not worth anything.
  std::unique_ptr<columns::JoinResult> next(base::Queue& queue);

 private:
  enum class What {
    kJoin,           // the kind as it is, of a lone part
    kMeet,           // pairs, and rows of both are marked
    kMeetUnmatched,  // the same, with the rows of the probe side that have no match
    kPutOut,         // rows of the probe side, or of `of_left`, by their marks
  };
  explicit PieceJoin(const JoinOfPieces& join) : join_(join) {}

  friend class StepRun;
  struct Step {
    What what;
    bool of_left;  // of kPutOut
    Piece probe;   // of kPutOut the piece
    Piece part;
  };
  void push(What what, const Piece& probe, const Piece& part) {
    steps_.push_back({what, false, probe, part});
  }
  void push_put_out(bool left, const Piece& piece) {
    steps_.push_back({What::kPutOut, left, piece, {}});
  }
  // A part that a few rows have too many matches in is cut, too; rows of the probe side then need
  // marks.
  bool can_be_cut(const Step& step) const;
  void cut(base::Queue& queue, const Step& step);
  // Every part by itself.
  void meet_parts(base::Queue& queue, const Piece& probe, std::span<const Piece> parts);

  const JoinOfPieces& join_;
  std::vector<Step> steps_;  // the last is the next
};

}  // namespace gpujoin::pieces
