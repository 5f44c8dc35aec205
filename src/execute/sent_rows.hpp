// sent_rows.hpp: rows of page-locked memory on their way to the device while others come.
//
// Pageable rows are not: threads that copied them ahead took the memory's bandwidth from those that
// fetched results, and page-locked pieces for all of it; host to host, eight threads, 230 ms in the
// place of 140.
#pragma once

#include <memory>

#include "src/base/queue.hpp"
#include "src/columns/column.hpp"

namespace gpujoin::execute {

// Of one probe, whose calls come one after the other.
class RowSender {
 public:
  // Waits until nothing reads the rows that were sent.
  virtual ~RowSender() = default;

  // A relation of copies on the device, which keeps the rows. Does not wait for them. Null: the
  // rows lie elsewhere, or have columns of layouts with more than values, or the device has no room
  // to spare: half of the context's limit is left to joins. Throws what CUDA does.
  virtual std::shared_ptr<const columns::Relation> send(
      const std::shared_ptr<const columns::Relation>& rows) = 0;
  // What the queue is given from here on may read the rows, which send() answered; of others
  // nothing. The queue is finished before they are let go of. Throws CANCELLED, DEADLINE, CUDA.
  virtual void await(base::Queue& reader, const columns::Relation& rows) = 0;
};

// Throws what making a queue does, NO_DEVICE in a build without CUDA.
std::unique_ptr<RowSender> make_row_sender(base::Context& context);

}  // namespace gpujoin::execute
