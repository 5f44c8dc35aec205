// join_kind.hpp: which rows a join puts out, beside those that match. Every kind is an inner join
// of the same keys, and a policy over marks of the rows that had a match; see execute/kinds.hpp.
#pragma once

#include <cstdint>

#include "gpujoin.h"

namespace gpujoin::columns {

enum class JoinKind : int32_t {
  kInner = GPUJOIN_JOIN_INNER,
  kLeft = GPUJOIN_JOIN_LEFT,
  kRight = GPUJOIN_JOIN_RIGHT,
  kFull = GPUJOIN_JOIN_FULL,
  kLeftSemi = GPUJOIN_JOIN_LEFT_SEMI,
  kRightSemi = GPUJOIN_JOIN_RIGHT_SEMI,
  kLeftAnti = GPUJOIN_JOIN_LEFT_ANTI,
  kRightAnti = GPUJOIN_JOIN_RIGHT_ANTI,
  kLeftMark = GPUJOIN_JOIN_LEFT_MARK,
  kRightMark = GPUJOIN_JOIN_RIGHT_MARK,
  kLeftNotIn = GPUJOIN_JOIN_LEFT_NOT_IN,
  kRightNotIn = GPUJOIN_JOIN_RIGHT_NOT_IN,
  kLeftSingle = GPUJOIN_JOIN_LEFT_SINGLE,
  kRightSingle = GPUJOIN_JOIN_RIGHT_SINGLE,
  kCross = GPUJOIN_JOIN_CROSS,
};
inline constexpr JoinKind kLastJoinKind = JoinKind::kCross;

// For example "left_semi".
const char* to_text(JoinKind kind);

// What a kind does with the rows of one side.
enum class RowsOfSide : int32_t {
  kPairs,      // they come out with their matches
  kUnmatched,  // and once where they have none
  kSingle,     // and no more than one match is allowed
  kMatched,    // those with a match come out, once; of the other side nothing
  kUnmatchedOnly,
  kMarked,  // all come out, with a mark
  kNotIn,   // those whose mark is false
  kNone,    // only looked at: the other side's rows come out
};
RowsOfSide rows_of(JoinKind kind, bool left);

// Whether a side comes out without its matches: semi, anti, mark and NOT IN.
constexpr bool comes_alone(RowsOfSide rows) {
  return rows == RowsOfSide::kMatched || rows == RowsOfSide::kUnmatchedOnly ||
         rows == RowsOfSide::kMarked || rows == RowsOfSide::kNotIn;
}
constexpr bool comes_unmatched(RowsOfSide rows) {
  return rows == RowsOfSide::kUnmatched || rows == RowsOfSide::kSingle;
}

// One side comes out without its matches, the other not at all.
bool comes_alone(JoinKind kind);
// Rows without a match come out.
bool puts_out_unmatched(JoinKind kind);

}  // namespace gpujoin::columns
