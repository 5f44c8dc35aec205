// block_slots.hpp: blocks of rows on their way to their partitions, a few at a time: one in, one
// out, one that is partitioned, and one that is looked at.
//
// in       rows of host or device memory, of any thread
// out      queued: a block of device memory, in the order of runs
// memory   each slot has room for a block as it comes and one as it goes; four, or as many as fit
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "src/base/device.hpp"
#include "src/base/queue.hpp"
#include "src/execute/moved_rows.hpp"
#include "src/execute/partitioned_rows.hpp"

namespace gpujoin::execute {

// One block on its way.
struct BlockSlot {
  explicit BlockSlot(base::Context& context) : queue(context) {}

  base::LeasedQueue queue;
  base::Buffer staged;  // page-locked: what is on its way to `in` from pageable memory; or none
  base::Buffer in;
  base::Buffer out;
  base::Buffer header;  // page-locked
  base::Buffer numbers;
  base::Buffer counts;
  base::Event arrived;
  std::shared_ptr<RowBlock> block;  // null: none, or not yet
};

class BlockSlots {
 public:
  // shape outlives them.
  BlockSlots(std::shared_ptr<base::Context> context, const PartitionShape& shape);

  int64_t block_rows() const { return block_rows_; }
  // Rows first to first + count of a relation.
  MovedRows moved(const columns::Relation& rows, int64_t first, int64_t count,
                  std::optional<int64_t> first_number) const;

  // Null: the device has no room for one. land: gives back one that the caller has, or answers that
  // it has none. Throws CANCELLED, DEADLINE, what `land` throws.
  BlockSlot* take(const base::CallEnd& end, const std::function<bool()>& land);
  // expected: nothing that was queued uses it.
  void give_back(BlockSlot& slot);
  // All of them go. expected: none is taken.
  void rest();

  // Who brings rows, while this lives: each stages them by itself where others do, too.
  struct Caller {
    explicit Caller(BlockSlots& slots) : count(slots.callers_) { ++count; }
    ~Caller() { --count; }
    Caller(const Caller&) = delete;
    Caller& operator=(const Caller&) = delete;
    std::atomic<int>& count;
  };
  // What comes from pageable memory, a caller brings to page-locked memory by itself where several
  // do, before it takes a slot; else, and where there is none, threads of the copy's own do that.
  base::Buffer stage(const MovedRows& moving) const;

  // False: there is no room.
  static bool has_room(BlockSlot& slot, const MovedRows& moving);
  // Queued: rows come, and each has the number of its run. expected: has_room().
  void number(BlockSlot& slot, const MovedRows& moving, const columns::Relation& rows,
              int64_t count, const kernels::RunMap& map) const;
  // Queued behind number(): a block at `out`.
  static void move(BlockSlot& slot, const MovedRows& moving, int64_t count,
                   const kernels::RunMap& map, std::byte* out);

 private:
  void add();
  uint64_t places(int64_t rows) const;

  std::shared_ptr<base::Context> context_;
  const PartitionShape& shape_;
  int64_t block_rows_;
  std::atomic<int> callers_{0};
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::vector<std::unique_ptr<BlockSlot>> slots_;
  std::vector<BlockSlot*> idle_;
};

// Of each partition one.
kernels::RunMap run_of_each(uint32_t partitions);
// Those that stay are run 0.
kernels::RunMap staying_first(const std::vector<bool>& stays);

// See RowPartitioner::count and split.
std::vector<int64_t> count_rows(BlockSlots& slots, const PartitionShape& shape,
                                const columns::Relation& rows, const base::CallEnd& end);
std::optional<SplitRows> split_rows(BlockSlots& slots,
                                    const std::shared_ptr<base::Context>& context,
                                    const PartitionShape& shape, const columns::Relation& rows,
                                    const std::vector<bool>& stays, const base::CallEnd& end);

}  // namespace gpujoin::execute
