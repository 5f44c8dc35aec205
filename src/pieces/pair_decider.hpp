// pair_decider.hpp: residuals that the caller of an operation evaluates, while pieces are joined.
//
// in      pairs of rows with equal keys, as a join of two pieces found them
// out     which of them match; execute/decide.hpp makes the rows of the kind of them
// how     the caller sees kDecidedAtOnce of them at a time, as an Arrow array in host memory: its
//         work is that of a batch, and no more than that is copied from a device at once
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "gpujoin.h"
#include "src/base/queue.hpp"
#include "src/columns/column.hpp"
#include "src/columns/result.hpp"
#include "src/execute/execute.hpp"
#include "src/pieces/piece.hpp"

namespace gpujoin::pieces {

struct PairDecider {
  // What is shown of each pair.
  std::vector<int32_t> left_columns;
  std::vector<int32_t> right_columns;
  // matches: [rows] bytes, all 0; writes another to those of pairs that match. May move the array
  // out. On any number of threads at a time. Throws.
  std::function<void(int64_t rows, ArrowSchema& schema, ArrowArray& candidates, uint8_t* matches)>
      decide;
};

constexpr int64_t kDecidedAtOnce = int64_t{1} << 16;

// Executes a join of two pieces; where its residual is the caller's, without the pairs that are no
// match. left, right: the relations that it was planned with.
std::unique_ptr<columns::JoinResult> execute_decided(base::Queue& queue, const JoinOfPieces& join,
                                                     const execute::PlannedJoin& planned,
                                                     const columns::Relation& left,
                                                     const columns::Relation& right);

}  // namespace gpujoin::pieces
