// grid_join.hpp: parts of the build side that are joined one after the other with all blocks of the
// probe side, where no more than a part fits.
//
//             block 0   block 1   ...
//   part 0    meet      meet            then rows of part 0 by their marks
//   part 1    meet      meet            then rows of part 1
//             then rows of each block by their marks
//
// With one part a block's rows come out as they meet it. Of ASOF joins each block meets the
// candidates of all parts, then rows of the parts come out by their marks. A partition that is
// larger than a part is partitioned again, by another hash, unless that is of no use: then its rows
// have one key.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "src/base/queue.hpp"
#include "src/columns/result.hpp"
#include "src/pieces/budget.hpp"
#include "src/pieces/join_pieces.hpp"
#include "src/pieces/nearest_rows.hpp"
#include "src/pieces/row_store.hpp"

namespace gpujoin::pieces {

// A partition of a store.
struct Partition {
  std::shared_ptr<const RowStore> store;
  size_t part = 0;
};

// Rows that have to meet those of every partition, as a comparison with them may be unknown.
struct UnknownRows {
  std::vector<Piece> build;
  std::vector<Piece> probe;
};

class GridJoin {
 public:
  // unknown: null where there are none. `join` outlives this.
  GridJoin(const JoinOfPieces& join, const Budget& budget, Partition build, Partition probe,
           std::shared_ptr<const UnknownRows> unknown, int level = 0);

  // The next result that has rows; null: there is no other. Throws; where there was no room the
  // next call tries the same again, else it is worth nothing.
  std::unique_ptr<columns::JoinResult> next(base::Queue& queue);
  // Of the rows of both sides that it joins at once, about.
  uint64_t bytes_at_once() const;

 private:
  void begin(base::Queue& queue);
  uint64_t most_of_a_block() const;
  bool wants_partitions() const;
  // Whether it was of use.
  bool partition_again(base::Queue& queue);
  std::shared_ptr<const columns::Relation> read(base::Queue& queue, const Partition& side,
                                                RowStore::Blocks blocks) const;
  std::shared_ptr<const columns::Relation> read_group(base::Queue& queue, size_t group);
  void begin_group(base::Queue& queue);
  Piece block_piece(base::Queue& queue, size_t block);
  // The next join of pieces; false: there is none.
  bool advance(base::Queue& queue);
  bool on_gpu() const { return join_.options.device == GPUJOIN_DEVICE_CUDA; }
  bool meets_candidates() const { return join_.spec.asof && groups_.size() > 1; }
  bool advance_nearest(base::Queue& queue);
  Piece group_piece(base::Queue& queue, size_t group);
  void mark_groups(base::Queue& queue);

  const JoinOfPieces& join_;
  Budget budget_;
  Partition build_;
  Partition probe_;
  std::shared_ptr<const UnknownRows> unknown_;
  int level_;

  bool began_ = false;
  std::vector<std::unique_ptr<GridJoin>> parts_;  // of a partition that was partitioned again
  std::vector<RowStore::Blocks> groups_;          // of the build side
  std::vector<RowStore::Blocks> blocks_;          // of the probe side, that meet a group at once
  size_t group_ = 0;
  size_t block_ = 0;  // of the group: probe blocks, then unknown ones, then rows by their marks
  std::vector<Piece> pieces_;                      // of the group
  std::vector<std::shared_ptr<SideMarks>> marks_;  // of probe blocks that meet several groups
  size_t put_out_ = 0;                  // probe blocks whose rows are put out by their marks
  std::optional<NearestRows> nearest_;  // of an ASOF join: of the current block
  Piece candidates_;                    // of it
  std::vector<std::shared_ptr<SideMarks>> group_marks_;  // of an ASOF join
  std::optional<PieceJoin> current_;
};

}  // namespace gpujoin::pieces
