// nearest_rows.hpp: ASOF joins with rows of a key that do not fit into memory at once.
//
// in      a piece of the probe side, and rows of the build side part by part, in their order
// out     candidates: rows of all parts, in their order, among which each row of the piece has the
//         same nearest one as among all
// how     the nearest row of all parts is the nearest one of its own
// cost    a join with each part; candidates are three for each row of the piece at most
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "src/base/queue.hpp"
#include "src/pieces/gathered_rows.hpp"
#include "src/pieces/piece.hpp"

namespace gpujoin::pieces {

class NearestRows {
 public:
  // schema: of the build side's rows. `join` outlives this. expected: an ASOF join.
  NearestRows(const JoinOfPieces& join, std::shared_ptr<const columns::Relation> probe,
              std::shared_ptr<const RowSchema> schema);

  // The next part, of gathered rows. Throws; where there was no room it may be met again.
  void meet(base::Queue& queue, const columns::Relation& part, uint32_t number);

  // The candidates, once.
  std::shared_ptr<const columns::Relation> take();
  // Where a candidate comes from.
  struct Origin {
    uint32_t part;
    uint32_t row;
  };
  const std::vector<Origin>& origins() const { return origins_; }

 private:
  // Those that are nearest to some row of the piece, in order.
  std::vector<uint32_t> nearest(base::Queue& queue, const columns::Relation& rows) const;
  void reduce(base::Queue& queue);

  const JoinOfPieces& join_;
  std::shared_ptr<const columns::Relation> probe_;
  std::shared_ptr<const RowSchema> schema_;
  RowMemory memory_;
  GatheredRows candidates_;
  std::vector<Origin> origins_;
};

}  // namespace gpujoin::pieces
