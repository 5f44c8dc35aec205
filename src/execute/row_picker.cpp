#include "src/execute/row_picker.hpp"

#include <utility>

#include "src/base/copy.hpp"
#include "src/base/status.hpp"
#include "src/columns/validity_bits.hpp"

namespace gpujoin::execute {

using base::Memory;
using columns::Relation;
using columns::RowBits;
using columns::Selection;
using columns::Storage;

namespace {

[[noreturn]] void fail_wrong_number(const Selection& selection, uint64_t place, int64_t number) {
  base::fail(GPUJOIN_ERROR_INVALID_ARGUMENT,
             "selection.data[%llu] is %lld and the relation has %lld rows",
             static_cast<unsigned long long>(place), static_cast<long long>(number),
             static_cast<long long>(selection.of->rows));
}

int64_t number_at(base::Queue& queue, const Selection& selection, uint64_t place) {
  auto const width = static_cast<uint64_t>(selection.width);
  int64_t number = 0;  // of 4 bytes the upper half stays 0
  base::copy(queue, &number, Memory::kHost,
             static_cast<const std::byte*>(selection.data) + place * width, selection.memory,
             width);
  if (is_device(selection.memory)) base::finish(queue);
  return number;
}

// narrow: null, or room for the numbers in 4 bytes.
void check_numbers(base::Queue& queue, ColumnWork& work, const Selection& selection,
                   uint32_t* narrow) {
  auto const wrong = work.find_wrong_number(selection.data, selection.width,
                                            static_cast<uint64_t>(selection.count),
                                            static_cast<uint64_t>(selection.of->rows), narrow);
  if (wrong) fail_wrong_number(selection, *wrong, number_at(queue, selection, *wrong));
}

}  // namespace

RowBits RowPicker::bits_of(const Selection& selection) {
  RowBits bits{static_cast<const uint8_t*>(selection.data), selection.first_bit,
               static_cast<uint64_t>(selection.of->rows)};
  if (!lies_elsewhere(selection)) {
    bits.before = selection.before;
    return bits;
  }
  bits.first_bit = selection.first_bit % 8;
  if (brought_bits_ == nullptr) {
    brought_bits_ = work_->copy(bits.bits + selection.first_bit / 8, selection.memory,
                                columns::bitmap_bytes(bits.first_bit + selection.of->rows),
                                "the copy of a selection");
    base::finish(queue_);
  }
  bits.bits = static_cast<const uint8_t*>(brought_bits_.get());
  return bits;
}

Storage RowPicker::numbers_of(const Relation& selected) {
  Selection const& selection = *selected.selection;
  brought_bits_ = nullptr;
  Storage const own = selection.is_bitmap ? numbers_of_bits(selection) : given(selection);
  if (selection.of->selection == nullptr) return own;
  Storage const below = numbers_of(*selection.of);
  kernels::Composed through;
  through.rows = static_cast<const uint32_t*>(own.get());
  through.positions = static_cast<const uint32_t*>(below.get());
  return work_->positions(through, static_cast<uint64_t>(selection.count));
}

Storage RowPicker::numbers_of_bits(const Selection& selection) {
  auto const count = static_cast<uint64_t>(selection.count);
  Storage numbers = work_->allocate(base::checked_bytes(count, 4), "numbers of picked rows");
  work_->pick_rows(bits_of(selection), count, {},
                   static_cast<uint32_t*>(const_cast<void*>(numbers.get())));
  return numbers;
}

// They were checked when they were given.
Storage RowPicker::given(const Selection& selection) {
  auto const count = static_cast<uint64_t>(selection.count);
  if (lies_elsewhere(selection)) {
    auto const there = make_column_work(queue_, selection.memory);
    Storage const narrow = given_there(*there, selection);
    Storage numbers = work_->copy(narrow.get(), selection.memory, base::checked_bytes(count, 4),
                                  "the copy of a selection");
    base::finish(queue_);
    return numbers;
  }
  return given_there(*work_, selection);
}

Storage RowPicker::given_there(ColumnWork& work, const Selection& selection) {
  auto const count = static_cast<uint64_t>(selection.count);
  if (selection.width == 4) return {selection.of, selection.data};
  Storage narrow = work.allocate(base::checked_bytes(count, 4), "numbers of picked rows");
  check_numbers(queue_, work, selection, static_cast<uint32_t*>(const_cast<void*>(narrow.get())));
  return narrow;
}

std::shared_ptr<const Relation> select_rows(base::Queue& queue, Selection selection) {
  if (selection.of->rows == 0 && selection.is_bitmap) {
    selection.count = 0;
  } else if (selection.is_bitmap) {
    RowBits const bits{static_cast<const uint8_t*>(selection.data), selection.first_bit,
                       static_cast<uint64_t>(selection.of->rows)};
    columns::PickedCount counted = make_column_work(queue, selection.memory)->count_picked(bits);
    selection.count = static_cast<int64_t>(counted.rows);
    selection.before = std::move(counted.before);
  } else if (selection.count != 0) {
    check_numbers(queue, *make_column_work(queue, selection.memory), selection, nullptr);
  }
  auto made = std::make_shared<Relation>(*selection.of);
  made->rows = selection.count;
  made->owner = nullptr;  // the selection's relation has it
  made->selection = std::make_shared<const Selection>(std::move(selection));
  return made;
}

Storage as_registered(base::Queue& queue, Memory memory, const columns::Origin& origin,
                      const Storage& rows, int64_t count) {
  if (count == 0) return rows;
  auto const work = make_column_work(queue, memory);
  Storage numbers = origin.numbers;
  if (is_device(origin.memory) != is_device(memory)) {
    auto const picked = static_cast<uint64_t>(origin.count);
    numbers = work->copy(numbers.get(), origin.memory, base::checked_bytes(picked, 4),
                         "numbers of picked rows");
  }
  if (rows == nullptr) return numbers;
  kernels::Composed through;
  through.rows = static_cast<const uint32_t*>(rows.get());
  through.positions = static_cast<const uint32_t*>(numbers.get());
  Storage made = work->positions(through, static_cast<uint64_t>(count));
  if (is_device(memory) || is_device(origin.memory)) base::finish(queue);
  return made;
}

uint32_t as_registered(base::Queue* queue, const columns::Origin& origin, uint32_t row) {
  if (origin.numbers == nullptr) return row;
  auto const* const at = static_cast<const uint32_t*>(origin.numbers.get()) + row;
  if (!is_device(origin.memory)) return *at;
  uint32_t number = 0;
  base::copy(*queue, &number, Memory::kHost, at, origin.memory, sizeof(number));
  base::finish(*queue);
  return number;
}

uint32_t as_registered(base::Queue& queue, const Relation& relation, uint32_t row) {
  return relation.origin != nullptr ? as_registered(&queue, *relation.origin, row) : row;
}

}  // namespace gpujoin::execute
