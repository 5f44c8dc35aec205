// promised_keys.hpp: what the caller says of the keys of a side that comes in pieces
// (GPUJOIN_PROMISE_*), checked.
//
//   unique  rows with equal keys have equal hashes: where memory has no room for the keys of all
//           rows at once, those of a share of all hashes are looked at in each of several rounds
//   sorted  each batch by itself, as rows of several threads have no order
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "src/base/queue.hpp"
#include "src/columns/column.hpp"
#include "src/pieces/piece.hpp"
#include "src/pieces/row_store.hpp"

namespace gpujoin::pieces {

// A side, and how its relations have its keys.
struct PromisedSide {
  bool left = false;
  bool on_gpu = false;        // where keys are compared
  std::vector<int32_t> keys;  // columns
  std::vector<int32_t> key_flags;
  bool has_numbers = false;  // as the last column: what the caller calls the rows
  bool in_order = true;      // else places in the blocks name no row
};

// Of the join's pieces, as they have their columns.
PromisedSide promised_side(const JoinOfPieces& join, bool left);

// Rows that can be read more than once, wherever they lie.
struct RowBlocks {
  size_t count = 0;
  // On the queue's stream where they lie on a device.
  std::function<std::shared_ptr<const columns::Relation>(base::Queue&, size_t block)> read;
  uint64_t bytes = 0;
};

// Of a partition, of rows as gathered.
RowBlocks blocks_of(const std::shared_ptr<const RowStore>& store, size_t part);

// Throws BROKEN_PROMISE, which names the side and a row: by its number, else by its place in the
// blocks where they are in order. most_bytes: of rows that are looked at in a round; 0: as many as
// there is room for.
void check_unique(base::Queue& queue, const PromisedSide& side, const RowBlocks& rows,
                  uint64_t most_bytes);

// Of rows in the order of the relation, as registered, whose row 0 the caller calls first_row
// unless they have numbers.
// Throws BROKEN_PROMISE, which names the row; TYPE for keys without an order.
void check_sorted(base::Queue& queue, const PromisedSide& side,
                  const std::shared_ptr<const columns::Relation>& rows, int64_t first_row);

}  // namespace gpujoin::pieces
