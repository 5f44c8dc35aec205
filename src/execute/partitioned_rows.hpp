// partitioned_rows.hpp: rows that a device puts in the order of partitions as they come, and reads
// again partition by partition.
//
// in       columns of fixed width and of bits, of host or device memory, from any number of threads
// out      blocks, each with a run of rows for every partition: the first ones of device memory,
//          others of page-locked memory
// how      a block goes over the link, is partitioned, and comes back, while others are on both
//          ways of the link
// why      what a host partitions, its cores read and write twice, at a tenth of the link's rate
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kernels/keys/value_hash.hpp"
#include "kernels/transform/hash_partitions.hpp"
#include "src/base/interrupt.hpp"
#include "src/base/memory.hpp"
#include "src/base/queue.hpp"
#include "src/columns/column.hpp"

namespace gpujoin::execute {

struct RowBlock {
  static constexpr uint64_t kNone = UINT64_MAX;

  base::Buffer memory;
  base::Buffer header_copy;  // page-locked, where the block stays on the device
  const uint8_t* runs = nullptr;
  uint64_t row_bytes = 0;
  // Of each column, the bytes of a row before its values in a run; of bits a value is a byte.
  std::vector<uint64_t> values;
  // The same of a byte each, 1 where there is a value; kNone: there is one in every row of the
  // block.
  std::vector<uint64_t> valid;

  bool is_on_device() const { return memory.memory() == base::Memory::kDevice; }
  const kernels::RunHeader& header() const {
    return *(is_on_device() ? header_copy : memory).as<kernels::RunHeader>();
  }
};

// Rows of one partition in one block.
struct RowRun {
  std::shared_ptr<const RowBlock> block;
  size_t part = 0;

  uint32_t rows() const { return block->header().count[part]; }
  const uint8_t* begin() const {
    return block->runs + block->header().begin[part] * block->row_bytes;
  }
  // Of all columns.
  uint64_t bytes() const { return kernels::places_of_run(rows()) * block->row_bytes; }
  // Behind its beginning; before: of block->values or valid.
  uint64_t place(uint64_t before) const { return kernels::places_of_run(rows()) * before; }
};

struct PartitionShape {
  std::vector<columns::ColumnView> columns;  // without data
  bool has_row_numbers = false;              // of the last column
  std::vector<int32_t> keys;
  kernels::PartitionHash hash;  // without data
  uint64_t device_bytes = 0;    // that blocks on their way may take
  uint64_t resident_bytes = 0;  // that blocks may that stay there
  uint64_t block_bytes = 0;     // of rows, at most
};

// Rows of a block, some of which stay on the device. Null: there are none.
struct SplitRows {
  std::shared_ptr<const columns::Relation> staying;
  std::shared_ptr<const RowBlock> others;
};

class RowPartitioner {
 public:
  // Waits for nothing: every call has waited for what it began.
  virtual ~RowPartitioner() = default;

  using TakeBlock = std::function<void(std::shared_ptr<const RowBlock>)>;
  using Rows = std::shared_ptr<const columns::Relation>;

  // Rows of a block, at most.
  virtual int64_t block_rows() const = 0;

  // Whether columns lie as the shape says.
  virtual bool takes(const columns::Relation& rows) const = 0;
  // Calls `take` for each block, in the order of the rows. first_number: of the first row, where
  // the shape has row numbers and the relation has none. Answers how many rows it
  // took: fewer than there are where page-locked or device memory has no room. Any thread. Throws
  // CANCELLED, DEADLINE, CUDA, what `take` throws. expected: takes(rows).
  virtual int64_t partition(const columns::Relation& rows, std::optional<int64_t> first_number,
                            const base::CallEnd& end, const TakeBlock& take) = 0;
  // Of a block, how many rows each partition has, and last those with a NULL that equals nothing.
  // Empty: the device has no room. Any thread. Throws CANCELLED, DEADLINE, CUDA. expected:
  // takes(rows), which are no more than block_rows().
  virtual std::vector<int64_t> count(const columns::Relation& rows, const base::CallEnd& end) = 0;
  // A block whose rows of some partitions stay on the device, in columns; the others become a block
  // of page-locked memory. stays: of each partition. Waits until both are there. None: there is no
  // room, and no row was taken. As count().
  virtual std::optional<SplitRows> split(const columns::Relation& rows,
                                         const std::vector<bool>& stays,
                                         const base::CallEnd& end) = 0;
  // What it takes on the device is given back until the next call. expected: there is none now.
  virtual void rest() = 0;

  // The block in page-locked memory. Waits for the copy. Throws MEMORY_LIMIT, OUT_OF_MEMORY.
  virtual std::shared_ptr<const RowBlock> in_host(base::Queue& queue,
                                                  const RowBlock& block) const = 0;
  // The rows of runs, one behind the other, on the device. Queued on the queue's stream, which has
  // to be finished before the blocks are let go of. Throws MEMORY_LIMIT, OUT_OF_MEMORY.
  virtual Rows bring(base::Queue& queue, std::span<const RowRun> runs) const = 0;
};

// Null: rows of the shape are not partitioned by a device, or the context has no streams of its
// own. Throws NO_DEVICE in a build without CUDA.
std::shared_ptr<RowPartitioner> make_row_partitioner(std::shared_ptr<base::Context> context,
                                                     PartitionShape shape);

}  // namespace gpujoin::execute
