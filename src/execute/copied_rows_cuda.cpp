// copied_rows_cuda.cpp: batches by one kernel that looks at the keys, or by copies; and as one.
#include <algorithm>
#include <utility>
#include <vector>

#include "src/base/copy.hpp"
#include "src/base/device.hpp"
#include "src/base/status.hpp"
#include "src/columns/result.hpp"
#include "src/columns/validity_bits.hpp"
#include "src/execute/column_work.hpp"
#include "src/execute/copied_rows.hpp"
#include "src/execute/no_room.hpp"
#include "src/transform/append_parts.hpp"
#include "src/transform/copy_rows.hpp"

namespace gpujoin::execute {

namespace {

using base::Memory;
using columns::ColumnView;
using columns::Layout;
using columns::Relation;
using Parts = std::span<const std::shared_ptr<const Relation>>;

bool are_on_device(const Relation& rows) {
  return std::all_of(rows.columns.begin(), rows.columns.end(),
                     [](auto const& column) { return column.memory == Memory::kDevice; });
}

bool are_values_alone(const Relation& rows) {
  return std::all_of(rows.columns.begin(), rows.columns.end(), [](auto const& column) {
    return column.layout == Layout::kValues && column.validity == nullptr;
  });
}

// Null: there is no room.
std::shared_ptr<const Relation> copied_by_columns(base::Queue& queue, const Relation& batch) {
  auto made = std::make_shared<Relation>();
  auto held = std::make_shared<Held>();
  made->context = batch.context;
  made->rows = batch.rows;
  auto const work = column_work_on_gpu(queue);
  try {
    for (ColumnView const& column : batch.columns) {
      made->columns.push_back(copy_column(queue, *work, column, batch.rows, held.get()));
    }
  } catch (const base::Error& error) {
    base::finish(queue);
    if (!is_no_room(error)) throw;
    return nullptr;
  }
  made->owner = std::move(held);
  return made;
}

// One column of all parts.
class UnitedColumn {
 public:
  UnitedColumn(base::Queue& queue, Parts parts, size_t column, Held* held)
      : queue_(queue), parts_(parts), column_(column), held_(held) {
    for (auto const& part : parts) rows_ += static_cast<uint64_t>(part->rows);
  }

  // Nothing: there is no room, or no way. Queued on the stream.
  std::optional<ColumnView> unite() {
    ColumnView made = of(0);
    made.memory = Memory::kDevice;
    bool const is_there = made.layout == Layout::kText ? unite_text(&made) : unite_values(&made);
    if (!is_there || !unite_validity(&made)) return std::nullopt;
    return made;
  }

 private:
  const ColumnView& of(size_t part) const { return parts_[part]->columns[column_]; }

  // Null: there is no room.
  std::byte* allocate(uint64_t count, uint64_t width) {
    base::Buffer made =
        queue_.device_pool->try_allocate(Memory::kDevice, base::checked_bytes(count, width));
    if (!made) return nullptr;
    auto* const at = made.as<std::byte>();
    held_->push_back(columns::make_storage(std::move(made)));
    return at;
  }

  bool unite_values(ColumnView* made) {
    auto const width = static_cast<uint64_t>(made->width);
    for (size_t i = 0; i < parts_.size(); ++i) {
      if (of(i).layout != Layout::kValues) return false;
    }
    auto* to = allocate(rows_, width);
    made->data = to;
    if (to == nullptr) return false;
    for (size_t i = 0; i < parts_.size(); ++i) {
      uint64_t const bytes = static_cast<uint64_t>(parts_[i]->rows) * width;
      base::copy(queue_, to, Memory::kDevice, of(i).data, Memory::kDevice, bytes);
      to += bytes;
    }
    return true;
  }

  bool unite_text(ColumnView* made) {
    std::vector<std::pair<int64_t, int64_t>> bounds;
    int64_t bytes = 0;
    int32_t const width = made->parts->offset_width;
    for (size_t i = 0; i < parts_.size(); ++i) {
      if (of(i).layout != Layout::kText || of(i).parts->offset_width != width) return false;
      bounds.push_back(text_bounds(queue_, of(i), parts_[i]->rows));
      bytes += bounds.back().second - bounds.back().first;
    }
    if (width == 4 && bytes > INT32_MAX) return false;
    auto* const text = allocate(std::max<uint64_t>(static_cast<uint64_t>(bytes), 1), 1);
    auto* const offsets = allocate(rows_ + 1, static_cast<uint64_t>(width));
    if (text == nullptr || offsets == nullptr) return false;
    uint64_t row = 0;
    int64_t at = 0;
    for (size_t i = 0; i < parts_.size(); ++i) {
      auto const [first, last] = bounds[i];
      auto const rows = static_cast<uint64_t>(parts_[i]->rows);
      if (last != first) {
        base::copy(queue_, text + at, Memory::kDevice,
                   static_cast<const std::byte*>(of(i).data) + first, Memory::kDevice,
                   static_cast<uint64_t>(last - first));
      }
      // The last one of a part is the first of the next.
      transform::append_offsets(queue_, of(i).parts->offsets, width, rows + 1, at - first, row,
                                offsets);
      row += rows;
      at += last - first;
    }
    auto parts = std::make_shared<columns::ColumnParts>(*made->parts);
    parts->offsets = offsets;
    made->data = text;
    made->parts = std::move(parts);
    return true;
  }

  bool unite_validity(ColumnView* made) {
    made->validity = nullptr;
    made->validity_bit_offset = 0;
    bool any = false;
    for (size_t i = 0; i < parts_.size(); ++i) any = any || of(i).validity != nullptr;
    if (!any) return true;
    auto* const words = allocate((rows_ + 31) / 32, sizeof(uint32_t));
    if (words == nullptr) return false;
    uint64_t row = 0;
    for (size_t i = 0; i < parts_.size(); ++i) {
      columns::RowBits part;
      part.bits = of(i).validity;
      part.first_bit = of(i).validity_bit_offset;
      part.rows = static_cast<uint64_t>(parts_[i]->rows);
      transform::append_bits(queue_, part, row, reinterpret_cast<uint32_t*>(words));
      row += part.rows;
    }
    made->validity = reinterpret_cast<const uint8_t*>(words);
    return true;
  }

  base::Queue& queue_;
  Parts parts_;
  size_t column_;
  Held* held_;
  uint64_t rows_ = 0;
};

}  // namespace

uint64_t bytes_of_copy(base::Queue& queue, const Relation& batch) {
  base::await(queue, batch.ready_event);
  uint64_t bytes = 0;
  auto const rows = static_cast<uint64_t>(batch.rows);
  for (ColumnView const& column : batch.columns) {
    bytes += base::checked_bytes(rows, static_cast<uint64_t>(column.width));
    if (column.validity != nullptr) bytes += columns::bitmap_words_bytes(batch.rows);
    if (column.layout != Layout::kText) continue;
    auto const [first, last] = text_bounds(queue, column, batch.rows);
    bytes += (rows + 1) * static_cast<uint64_t>(column.parts->offset_width);
    bytes += static_cast<uint64_t>(std::max<int64_t>(last - first, 0));
  }
  return bytes;
}

CopiedRows copied_on_device(base::Queue& queue, const Relation& batch, std::optional<int32_t> key) {
  base::await(queue, batch.ready_event);
  if (!are_values_alone(batch)) return {copied_by_columns(queue, batch), std::nullopt};
  auto made = std::make_shared<Relation>();
  auto held = std::make_shared<Held>();
  made->context = batch.context;
  made->rows = batch.rows;
  made->columns = batch.columns;
  held->reserve(batch.columns.size());
  for (ColumnView& column : made->columns) {
    base::Buffer buffer = queue.device_pool->try_allocate(
        Memory::kDevice, base::checked_bytes(static_cast<uint64_t>(batch.rows),
                                             static_cast<uint64_t>(column.width)));
    if (!buffer) return {};
    column.data = buffer.data();
    column.memory = Memory::kDevice;
    held->push_back(columns::make_storage(std::move(buffer)));
  }
  CopiedRows copied;
  bool const looks = key && are_on_device(batch) &&
                     transform::can_copy_rows(batch.columns.size(),
                                              batch.columns[static_cast<size_t>(*key)].width);
  std::vector<transform::CopiedColumn> columns;
  columns.reserve(batch.columns.size());
  for (size_t i = 0; i < batch.columns.size(); ++i) {
    ColumnView const& from = batch.columns[i];
    auto* const to = const_cast<void*>(made->columns[i].data);
    if (looks) {
      columns.push_back({from.data, to, from.width});
    } else {
      base::copy(queue, to, Memory::kDevice, from.data, from.memory,
                 static_cast<uint64_t>(batch.rows) * static_cast<uint64_t>(from.width));
    }
  }
  if (looks) {
    copied.seen = transform::copy_rows(queue, columns, static_cast<size_t>(*key),
                                       static_cast<uint32_t>(batch.rows));
  } else {
    base::finish(queue);
  }
  made->owner = std::move(held);
  copied.rows = std::move(made);
  return copied;
}

std::shared_ptr<const Relation> united_on_device(base::Queue& queue, Parts parts) {
  if (parts.size() == 1) return parts.front();
  auto made = std::make_shared<Relation>();
  auto held = std::make_shared<Held>();
  made->context = parts.front()->context;
  for (auto const& part : parts) made->rows += part->rows;
  for (size_t i = 0; i < parts.front()->columns.size(); ++i) {
    auto column = UnitedColumn(queue, parts, i, held.get()).unite();
    if (!column) {
      base::finish(queue);
      return nullptr;
    }
    made->columns.push_back(std::move(*column));
  }
  base::finish(queue);
  made->owner = std::move(held);
  return made;
}

}  // namespace gpujoin::execute
