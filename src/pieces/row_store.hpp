// row_store.hpp: rows of one side as they come, in batches, from any thread, for as long as they
// are needed.
//
// in       batches of any size
// out      blocks; after the last batch they are read any number of times
// memory   Rows stay in memory while they take no more than `memory_bytes`. What does not fit is
//          partitioned by a hash of the keys, and goes to the spill folder, the largest partition
//          first; without keys whole blocks do, the oldest first. Partitions keep an eighth of it
//          while half of the context's memory is in use. Where joins run on a device that can, it
//          partitions blocks, into page-locked memory, and large batches from where they lie
//          (device_partitions.cpp).
// order    Rows of one thread stay in the order in which it appended them.
// threads  A thread gathers rows of its own, partitions them by itself, and appends them to blocks
//          that all threads fill, one for each partition; what it writes to a file it writes while
//          others go on.
// source   partitions on arrival, as in Shapiro, "Join Processing in Database Systems with Large
//          Main Memories", TODS 1986 (GRACE and hybrid hash joins)
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "src/base/interrupt.hpp"
#include "src/base/memory.hpp"
#include "src/base/queue.hpp"
#include "src/base/spill_folder.hpp"
#include "src/columns/column.hpp"
#include "src/execute/partitioned_rows.hpp"
#include "src/pieces/gathered_rows.hpp"

namespace gpujoin::pieces {

struct StoreShape {
  std::shared_ptr<base::Context> context;
  std::shared_ptr<const RowSchema> schema;
  std::vector<int32_t> keys;  // none: rows are not partitioned
  std::vector<int32_t> key_flags;
  uint32_t partitions = 1;
  uint64_t seed = 0;                          // of the hash; of both sides of a join the same
  uint64_t memory_bytes = 0;                  // 0: no limit
  uint64_t block_bytes = 0;                   // of blocks that are complete
  std::shared_ptr<base::SpillFolder> folder;  // null: none
  // Rows are on their way to the device: in page-locked memory, as long as there is some. expected:
  // a context of CUDA.
  bool is_pinned = false;
  // That blocks may take of a device, where it can partition rows of the schema; 0: the host does.
  uint64_t moving_bytes = 0;
  uint64_t resident_bytes = 0;  // that blocks may take which stay there
};

class RowStore {
 public:
  // That are worth a round of append_blocks.
  static constexpr size_t kBlocksAtOnce = 16;

  explicit RowStore(StoreShape shape);

  // Whether append takes such a batch where it lies, whichever memory that is.
  bool takes_where_it_lies(const columns::Relation& batch) const;
  bool is_partitioned_by_device() const { return partitioner_ != nullptr; }
  // Copies rows of a batch in host memory; row i has the caller's number first_row + i. Any thread.
  // Throws, as all that write do; of a batch that failed some rows may be there.
  void append(const std::shared_ptr<const columns::Relation>& batch, int64_t first_row,
              const base::CallEnd& end);
  // The rows named.
  void append(const columns::Relation& batch, std::span<const uint32_t> rows, int64_t first_row,
              const base::CallEnd& end);
  // A block of a store with the same schema, wherever it lies. Any thread. expected:
  // is_partitioned().
  void append_block(const std::shared_ptr<const columns::Relation>& block,
                    const base::CallEnd& end);
  // Rows of a block at most, as a device partitions it. expected: is_partitioned_by_device().
  int64_t rows_of_block() const { return partitioner_->block_rows(); }
  // How many of a block's rows each partition has; empty: the device has no room to tell. Any
  // thread. expected: takes_where_it_lies(block), and no more rows than rows_of_block().
  std::vector<int64_t> count(const columns::Relation& block, const base::CallEnd& end) const;
  // The block, but for rows of partitions that stay: those are answered, on the device. stays: of
  // each partition. Null: there are none of them, or there was no room, and all were appended. Any
  // thread. expected: as of count().
  std::shared_ptr<const columns::Relation> append_others(
      const std::shared_ptr<const columns::Relation>& block, const std::vector<bool>& stays,
      const base::CallEnd& end);
  // Several in host memory, in their order, which stays that of the rows of each
  // partition. One thread at a time. expected: is_partitioned().
  void append_blocks(base::Queue& queue,
                     std::span<const std::shared_ptr<const columns::Relation>> blocks);

  // What threads still gather becomes blocks. After it the rows are const, but for partition() and
  // drop().
  void finish(const base::CallEnd& end);
  // Rows that come from now on are partitioned. expected: keys.
  void begin_partitions();
  // All rows, by the hash of the keys, however much memory there is. After finish(). expected:
  // keys.
  void partition(base::Queue& queue);

  bool is_partitioned() const { return is_partitioned_.load(std::memory_order_acquire); }
  // 1, or the partitions and a last one of rows with a NULL key that is equal to nothing.
  size_t part_count() const { return parts_.size(); }
  size_t null_part() const { return parts_.size() - 1; }
  int64_t rows() const;
  int64_t rows(size_t part) const { return parts_[part]->rows; }
  uint64_t bytes(size_t part) const { return parts_[part]->bytes; }
  uint64_t bytes() const;
  // In files.
  uint64_t spilled_bytes() const;
  // While rows still come, also of those that were taken or dropped since.
  uint64_t appended_bytes() const { return appended_bytes_.load(std::memory_order_relaxed); }
  uint64_t written_bytes() const { return written_bytes_.load(std::memory_order_relaxed); }

  size_t block_count(size_t part) const { return parts_[part]->blocks.size(); }
  // Where it is in memory it is shared, else read. Any thread.
  std::shared_ptr<const columns::Relation> block(size_t part, size_t block) const;
  // Neighbouring blocks that make one relation, of about `most_bytes` bytes (0: as many as one can
  // have).
  struct Blocks {
    size_t first = 0;
    size_t end = 0;
  };
  std::vector<Blocks> groups(size_t part, uint64_t most_bytes) const;
  std::shared_ptr<const columns::Relation> read_all(base::Queue& queue, size_t part,
                                                    Blocks blocks) const;
  // Of the device, of blocks that stayed there.
  uint64_t resident_bytes() const;
  // They go to host memory. Any thread; who reads them has them still. Throws MEMORY_LIMIT,
  // OUT_OF_MEMORY.
  void leave_device(base::Queue& queue) const;
  // The same on the device, where a device partitioned all of them. Queued on the queue's stream,
  // which has to be finished before they are dropped.
  std::shared_ptr<const columns::Relation> bring_all(base::Queue& queue, size_t part,
                                                     Blocks blocks) const;
  // Whether a device partitioned all rows of the partition: they are brought without host memory.
  bool is_runs(size_t part) const;
  // All rows of some partitions. Null: a device partitioned not all of them.
  std::shared_ptr<const columns::Relation> bring_parts(base::Queue& queue,
                                                       const std::vector<size_t>& parts) const;
  // The file's blocks of a partition are about to be read.
  void read_ahead(size_t part) const;
  // Complete blocks, which are no longer here. Not at the same time as append(). expected: not
  // partitioned.
  struct TakenBlock {
    std::shared_ptr<const columns::Relation> in_memory;              // null: it is in the file
    std::function<std::shared_ptr<const columns::Relation>()> read;  // from there, once

    std::shared_ptr<const columns::Relation> rows() const {
      return in_memory != nullptr ? in_memory : read();
    }
  };
  std::vector<TakenBlock> take_blocks();
  // Gives back what the rows of a partition take.
  void drop(size_t part);

  const StoreShape& shape() const { return shape_; }

 private:
  struct Block {
    std::shared_ptr<GatheredRows> rows_in_memory;  // null: they are in the file, or a run
    std::optional<execute::RowRun> run;            // that stays where it is
    GatheredRows::Extent extent;                   // of those in the file
    uint64_t offset = 0;
    uint64_t file_bytes = 0;
    int64_t rows = 0;
    uint64_t bytes = 0;
    uint64_t text_bytes = 0;

    bool is_in_file() const { return rows_in_memory == nullptr && !run; }
  };
  struct Part {
    std::mutex mutex;  // of the open rows
    std::unique_ptr<GatheredRows> open;
    // The store's mutex is that of what follows, and may be taken while this one's is held.
    std::vector<Block> blocks;
    size_t first_unwritten = 0;  // block
    int64_t rows = 0;
    uint64_t bytes = 0;
    uint64_t bytes_in_memory = 0;
  };
  // A block on its way to the file.
  struct Leaving {
    Part* part;
    size_t block;
    std::shared_ptr<GatheredRows> rows;
  };
  // What a thread gathers into.
  struct alignas(64) Stripe {
    std::mutex mutex;
    std::unique_ptr<GatheredRows> rows;
  };

  static std::shared_ptr<execute::RowPartitioner> partitioner_of(const StoreShape& shape);
  template <typename Append>
  void append_to_stripe(const Append& append, const base::CallEnd& end);
  std::unique_ptr<GatheredRows> new_rows() const;
  bool is_full(const GatheredRows& rows) const;
  void store(std::unique_ptr<GatheredRows> rows, const base::CallEnd& end);
  bool add_whole(std::unique_ptr<GatheredRows>& rows);
  void add_block(Part& part, std::unique_ptr<GatheredRows> rows);
  void scatter(Part& part, const columns::Relation& block, std::span<const uint32_t> rows,
               const base::CallEnd& end);
  size_t append_open(Part& part, const columns::Relation& block, std::span<const uint32_t> rows);
  void close(Part& part);
  void close_open_rows();
  std::shared_ptr<GatheredRows> take_whole();
  bool scatter_whole(const base::CallEnd& end);
  bool can_partition_on_device() const;
  // False: a device did not partition all of them.
  bool add_runs_of(size_t part, Blocks blocks, std::vector<execute::RowRun>* runs) const;
  int64_t partition_on_device(const columns::Relation& rows, std::optional<int64_t> first_number,
                              const base::CallEnd& end);
  void add_runs(const std::shared_ptr<const execute::RowBlock>& block);
  std::shared_ptr<const columns::Relation> rest_in_host(
      const std::shared_ptr<const columns::Relation>& rows, int64_t first,
      const base::CallEnd& end) const;
  bool is_memory_used(uint64_t quarters) const;
  bool is_over() const;
  void write_half(const base::CallEnd& end);
  void make_room(const base::CallEnd& end);
  std::optional<Leaving> begin_writing(uint64_t most);
  void write_blocks(uint64_t most, const base::CallEnd& end);
  void write(const Leaving& leaving);
  std::shared_ptr<GatheredRows> read(const Block& block) const;
  std::vector<uint64_t> text_bytes(size_t part, Blocks blocks) const;
  execute::RowRun run_in_host(const Block& block) const;
  std::shared_ptr<const columns::Relation> as_relation(std::shared_ptr<GatheredRows> rows) const;

  StoreShape shape_;
  std::shared_ptr<execute::RowPartitioner> partitioner_;  // null: the host partitions
  int64_t rows_at_once_;
  RowMemory memory_;
  RowMemory open_memory_;  // of blocks of a partition
  std::array<Stripe, 16> stripes_;
  std::atomic<uint64_t> appended_bytes_{0};
  std::atomic<uint64_t> written_bytes_{0};  // to files
  std::atomic<uint64_t> open_bytes_{0};     // of partitions
  std::atomic<uint64_t> bytes_in_memory_{0};
  // Rows of a thread keep their order: what comes behind rows that a host partitioned, it
  // partitions.
  std::atomic<bool> device_had_no_room_{false};
  std::atomic<uint64_t> run_bytes_{0};  // of blocks that a device partitioned
  std::atomic<bool> is_partitioned_{false};
  mutable std::mutex mutex_;                  // of what follows, until finish(), and of runs
  std::vector<std::unique_ptr<Part>> parts_;  // as many as there ever are when it is partitioned
  std::deque<std::shared_ptr<GatheredRows>> whole_;  // from before, to be partitioned
  std::shared_ptr<base::SpillFile> file_;
};

}  // namespace gpujoin::pieces
