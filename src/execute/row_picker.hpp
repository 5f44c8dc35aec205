// row_picker.hpp: selections of one relation, where one kind of memory has them.
#pragma once

#include <memory>
#include <utility>

#include "src/base/queue.hpp"
#include "src/columns/selection.hpp"
#include "src/execute/column_work.hpp"

namespace gpujoin::execute {

inline bool is_device(base::Memory memory) { return memory == base::Memory::kDevice; }

class RowPicker {
 public:
  // memory: kDevice, or the host's. The relation is selected, and outlives this.
  RowPicker(base::Queue& queue, base::Memory memory, const columns::Relation& selected)
      : queue_(queue), work_(make_column_work(queue, memory)), selected_(selected) {}

  ColumnWork& work() { return *work_; }
  bool is_one_bitmap() const {
    return selected_.selection->is_bitmap && selected_.selection->of->selection == nullptr;
  }
  // expected: is_one_bitmap().
  columns::RowBits bits() { return bits_of(*selected_.selection); }
  // Of the relation as registered, ascending where all selections are bitmaps.
  const columns::Storage& numbers() {
    if (numbers_ == nullptr) numbers_ = numbers_of(selected_);
    return numbers_;
  }
  void take_numbers(columns::Storage numbers) { numbers_ = std::move(numbers); }

 private:
  bool lies_elsewhere(const columns::Selection& selection) const {
    return is_device(selection.memory) != is_device(work_->memory());
  }
  columns::RowBits bits_of(const columns::Selection& selection);
  columns::Storage numbers_of(const columns::Relation& selected);
  columns::Storage numbers_of_bits(const columns::Selection& selection);
  columns::Storage given(const columns::Selection& selection);
  columns::Storage given_there(ColumnWork& work, const columns::Selection& selection);

  base::Queue& queue_;
  std::unique_ptr<ColumnWork> work_;
  const columns::Relation& selected_;
  columns::Storage numbers_;
  columns::Storage brought_bits_;
};

// The relation of the rows that a selection picks. Counts bits and checks numbers of host memory.
// Throws INVALID_ARGUMENT. expected: data that is there, and aligned.
std::shared_ptr<const columns::Relation> select_rows(base::Queue& queue,
                                                     columns::Selection selection);

// Row numbers of a picked relation, wherever `memory` says, as those of the relation as registered;
// GPUJOIN_NO_ROW stays. rows null: all, in order.
columns::Storage as_registered(base::Queue& queue, base::Memory memory,
                               const columns::Origin& origin, const columns::Storage& rows,
                               int64_t count);
// The same of one row, for messages. queue: may be null where the numbers lie in host memory.
uint32_t as_registered(base::Queue* queue, const columns::Origin& origin, uint32_t row);
// Of a relation that may be as it was registered.
uint32_t as_registered(base::Queue& queue, const columns::Relation& relation, uint32_t row);

}  // namespace gpujoin::execute
