// chunk_inputs.hpp: the chunks of a relation, one being worked on and the next on its way to the
// device.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "src/base/memory.hpp"
#include "src/base/queue.hpp"
#include "src/columns/column.hpp"
#include "src/transfer/uploads.hpp"

namespace gpujoin::execute {

class ChunkInputs {
 public:
  // used: the columns that are read, by number. Of columns that are on the device a chunk is a
  // view.
  ChunkInputs(base::Queue& queue, const columns::Relation& relation, std::vector<int32_t> used,
              int64_t chunk_rows);

  // The next chunk is put on its way. The queue's stream is done with the chunk before the last.
  void send(int64_t first_row, int64_t rows);
  // The chunk sent first of those not received, as a relation on the device that the queue's
  // stream may read.
  const columns::Relation& receive();

 private:
  // Of a column in host memory: its part of a chunk on the device. Values begin at the first row;
  // validity at the byte that has the first row's bit.
  struct Copy {
    base::Buffer data;
    base::Buffer validity;
  };
  struct Slot {
    std::vector<Copy> copies;  // one a used column
    columns::Relation view;
    uint64_t number = 0;  // of the upload
  };
  void allocate(Slot* slot);

  base::Queue& queue_;
  const columns::Relation& relation_;
  std::vector<int32_t> used_;
  int64_t chunk_rows_;
  std::array<Slot, 2> slots_;
  uint64_t sent_ = 0;
  uint64_t received_ = 0;
  // Last, so that nothing writes to the slots when they go.
  std::unique_ptr<transfer::Uploads> uploads_;
};

}  // namespace gpujoin::execute
