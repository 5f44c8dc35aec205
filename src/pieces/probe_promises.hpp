// probe_promises.hpp: what is promised of the keys of an operation's probe side, whose rows come in
// batches of any number of threads. Whether they are sorted a batch tells by itself; that they are
// unique only all of them, so they are kept, in partitions, which go to files as other rows do.
#pragma once

#include <cstdint>
#include <memory>

#include "src/base/interrupt.hpp"
#include "src/columns/column.hpp"
#include "src/pieces/piece.hpp"
#include "src/pieces/promised_keys.hpp"
#include "src/pieces/row_store.hpp"

namespace gpujoin::pieces {

class ProbePromises {
 public:
  // like: how the build side's rows are kept.
  ProbePromises(const JoinOfPieces& join, const columns::Bounds& promised, const StoreShape& like);

  // Of rows that are to be joined. Any thread. Throws BROKEN_PROMISE, TYPE, and what RowStore does.
  void check(const std::shared_ptr<const columns::Relation>& batch, int64_t first_row,
             const base::CallEnd& end);
  // Those to be looked at when all have come; null: they need not be unique.
  const std::shared_ptr<RowStore>& keys() const { return keys_; }
  uint64_t written_bytes() const { return keys_ == nullptr ? 0 : keys_->written_bytes(); }

 private:
  void check_sorted(const std::shared_ptr<const columns::Relation>& batch, int64_t first_row,
                    const base::CallEnd& end) const;

  std::shared_ptr<base::Context> context_;
  PromisedSide side_;
  bool is_sorted_;
  std::shared_ptr<RowStore> keys_;
};

}  // namespace gpujoin::pieces
