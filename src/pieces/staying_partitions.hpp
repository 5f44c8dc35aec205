// staying_partitions.hpp: partitions of a build side that does not fit which stay on the device
// while rows of probes come: rows that meet them are joined at once, and go over the link once.
//
// in       blocks of the probe side, of any thread
// out      those of their rows that may match rows that stay; all others are kept
// which    by the first block: those partitions in which it has most rows for each byte of them
//          and of their part of the table, while they fit the budget
// source   hybrid hash join of Shapiro, TODS 1986; which partitions: hottest first, as in Nakayama,
//          Kitsuregawa & Takagi, "Hash-Partitioned Join Method Using Dynamic Destaging Strategy",
//          VLDB 1988
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "src/base/interrupt.hpp"
#include "src/pieces/budget.hpp"
#include "src/pieces/build.hpp"
#include "src/pieces/piece.hpp"
#include "src/pieces/row_store.hpp"

namespace gpujoin::pieces {

class StayingPartitions {
 public:
  // Whether a join can: no row of either side has to meet all of the other, and one table answers
  // for all rows that stay. probe: its store.
  static bool suit(const JoinOfPieces& join, const Build& build, const RowStore& probe);

  // join, build and probe outlive it.
  StayingPartitions(const JoinOfPieces& join, const Budget& budget, const Build& build,
                    RowStore* probe);

  // Rows of a block that are to be joined with piece(); all others are in the probe's store. Null:
  // there are none. Any thread. Throws what appending does.
  std::shared_ptr<const columns::Relation> meeting(
      const std::shared_ptr<const columns::Relation>& block, const base::CallEnd& end);
  // None stays, which is known.
  bool are_none() const { return is_chosen_.load(std::memory_order_acquire) && !piece_.rows; }

  // Where some stay: after meeting().
  const Piece& piece() const { return piece_; }
  bool stayed(size_t part) const { return !stays_.empty() && stays_[part]; }
  // As of now. Any thread.
  size_t count() const;
  // What stays goes. expected: nobody is in meeting(), nor will be.
  void let_go() { piece_ = Piece(); }

 private:
  void choose(const columns::Relation& sample, const base::CallEnd& end);
  std::vector<size_t> chosen(const std::vector<int64_t>& sampled) const;
  uint64_t room() const;

  const JoinOfPieces& join_;
  uint64_t most_bytes_;
  const RowStore& build_;
  RowStore* probe_;
  std::mutex mutex_;  // of who chooses
  std::atomic<bool> is_chosen_{false};
  std::vector<bool> stays_;
  Piece piece_;  // without rows: none stays
};

}  // namespace gpujoin::pieces
