#include "src/execute/chunk_inputs.hpp"

#include <algorithm>
#include <utility>

#include "src/base/device.hpp"
#include "src/transfer/transfer.hpp"

namespace gpujoin::execute {

ChunkInputs::ChunkInputs(base::Queue& queue, const columns::Relation& relation,
                         std::vector<int32_t> used, int64_t chunk_rows)
    : queue_(queue),
      relation_(relation),
      used_(std::move(used)),
      chunk_rows_(std::min(chunk_rows, relation.rows)) {
  base::await(queue, relation.ready_event);
  std::sort(used_.begin(), used_.end());
  used_.erase(std::unique(used_.begin(), used_.end()), used_.end());
  for (Slot& slot : slots_) {
    slot.view.context = relation.context;
    slot.view.columns = relation.columns;
  }
  // One chunk has no next one.
  allocate(&slots_[0]);
  if (chunk_rows_ < relation.rows) allocate(&slots_[1]);
  uploads_ = std::make_unique<transfer::Uploads>(queue);
}

void ChunkInputs::allocate(Slot* slot) {
  base::Pool& pool = *queue_.device_pool;
  for (int32_t const number : used_) {
    columns::ColumnView const& column = relation_.columns[static_cast<size_t>(number)];
    Copy& copy = slot->copies.emplace_back();
    if (column.memory == base::Memory::kDevice) continue;
    std::string const what = "a chunk of column '" + column.name + "'";
    auto const rows = static_cast<uint64_t>(chunk_rows_);
    copy.data =
        pool.allocate(base::Memory::kDevice,
                      base::checked_bytes(rows, static_cast<uint64_t>(column.width)), what.c_str());
    // The first row's bit may be the last of its byte.
    if (column.validity != nullptr && rows != 0) {
      copy.validity = pool.allocate(base::Memory::kDevice, (rows + 7) / 8 + 1, what.c_str());
    }
  }
}

void ChunkInputs::send(int64_t first_row, int64_t rows) {
  Slot& slot = slots_[sent_++ % slots_.size()];
  slot.view.rows = rows;
  std::vector<transfer::Uploads::Segment> segments;
  for (size_t i = 0; i < used_.size(); ++i) {
    auto const number = static_cast<size_t>(used_[i]);
    columns::ColumnView const& column = relation_.columns[number];
    columns::ColumnView& view = slot.view.columns[number];
    auto const* first = static_cast<const std::byte*>(column.data) + first_row * column.width;
    auto const bytes = static_cast<uint64_t>(rows) * static_cast<uint64_t>(column.width);
    if (column.memory == base::Memory::kDevice) {
      view.data = first;
      if (column.validity != nullptr) {
        view.validity_bit_offset = column.validity_bit_offset + first_row;
      }
      continue;
    }
    Copy const& copy = slot.copies[i];
    segments.push_back({copy.data.data(), first, bytes});
    view.data = copy.data.data();
    view.memory = base::Memory::kDevice;
    if (column.validity == nullptr) continue;
    transfer::ValidityBytes const validity = transfer::validity_bytes(column, first_row, rows);
    segments.push_back({copy.validity.data(), validity.first, validity.bytes});
    view.validity = copy.validity.as<uint8_t>();
    view.validity_bit_offset = validity.bit_offset;
  }
  slot.number = segments.empty() ? 0 : uploads_->copy(segments);
}

const columns::Relation& ChunkInputs::receive() {
  Slot& slot = slots_[received_++ % slots_.size()];
  if (slot.number != 0) uploads_->await(slot.number);
  return slot.view;
}

}  // namespace gpujoin::execute
