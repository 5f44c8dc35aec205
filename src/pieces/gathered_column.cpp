#include "src/pieces/gathered_column.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <utility>

#include "kernels/keys/positions.hpp"
#include "src/keys/column_positions.hpp"
#include "src/pieces/growing_buffer.hpp"
#include "src/pieces/row_schema.hpp"

namespace gpujoin::pieces {

namespace {

using columns::ColumnView;
using columns::Layout;
using kernels::kNoPosition;

// Rows of runs become their runs. Neighbours mostly lie in one run, which is then not looked for.
void find_runs(const ColumnView& column, uint32_t* positions, int64_t count) {
  kernels::Runs const runs = keys::runs_of(column);
  uint32_t run = kNoPosition;
  int64_t begin = 0;
  int64_t end = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (positions[i] == kNoPosition) continue;
    int64_t const row = runs.first_row + positions[i];
    if (row < begin || row >= end) {
      run = kernels::position_of(runs, positions[i]);
      begin = run == kNoPosition || run == 0 ? 0 : kernels::end_of(runs, run - 1);
      end = run == kNoPosition ? 0 : kernels::end_of(runs, run);
    }
    positions[i] = run;
  }
}

// Which rows of the values that a column names, or the ones behind them, some of its rows have.
void find_positions(const ColumnView& column, const ChosenRows& rows, uint32_t* positions) {
  for (int64_t i = 0; i < rows.count; ++i) positions[i] = rows[i];
  for (const ColumnView* at = &column; names_values(*at); at = at->parts->values.get()) {
    if (at->layout == Layout::kRuns) {
      find_runs(*at, positions, rows.count);
      continue;
    }
    kernels::Indices const indices = keys::indices_of(*at);
    for (int64_t i = 0; i < rows.count; ++i) {
      if (positions[i] != kNoPosition) positions[i] = kernels::position_of(indices, positions[i]);
    }
  }
}

// The validity bits of `count` rows from the i-th on.
uint64_t validity_word(const ColumnView& values, const ChosenRows& rows, int64_t i, int64_t count) {
  kernels::ValidityBits const validity{values.validity, values.validity_bit_offset};
  if (rows.numbers == nullptr) {
    if (values.validity == nullptr) return ones(count);
    auto const first = static_cast<uint64_t>(validity.offset + rows.first + i);
    return columns::bits_of_64_rows(values.validity, first, first + static_cast<uint64_t>(count));
  }
  uint64_t word = 0;
  for (int64_t bit = 0; bit < count; ++bit) {
    uint32_t const row = rows.numbers[i + bit];
    bool const is_valid = row != kNoPosition && kernels::is_valid(validity, row);
    word |= uint64_t{is_valid} << bit;
  }
  return word;
}

// Bytes of each part.
std::array<uint64_t, GatheredColumn::kParts> part_bytes(const ColumnView& like,
                                                        const ColumnExtent& extent) {
  auto const rows = static_cast<uint64_t>(extent.rows);
  std::array<uint64_t, GatheredColumn::kParts> bytes = {};
  if (rows == 0 || like.layout == Layout::kNulls) return bytes;
  if (like.layout == Layout::kText) {
    bytes[0] = extent.text_bytes;
    bytes[1] = base::checked_bytes(rows + 1, static_cast<uint64_t>(like.parts->offset_width));
  } else if (like.layout == Layout::kBits) {
    bytes[0] = columns::bitmap_bytes(extent.rows);
  } else {
    bytes[0] = base::checked_bytes(rows, static_cast<uint64_t>(like.width));
  }
  if (extent.nulls != 0) bytes[2] = columns::bitmap_bytes(extent.rows);
  return bytes;
}

}  // namespace

void GatheredColumn::append(const RowMemory& memory, const ColumnView& given, int64_t given_rows,
                            const ChosenRows& rows) {
  if (like_.layout == Layout::kNulls) {
    ahead_.rows += rows.count;
    return;
  }
  if (!names_values(given)) return append_values(memory, given, given_rows, rows, nullptr);
  const ColumnView* values = &given;
  int64_t value_rows = given_rows;
  while (names_values(*values)) {
    value_rows = values->parts->value_rows;
    values = values->parts->values.get();
  }
  uint32_t positions[kPositionsAtOnce];
  for (int64_t begin = 0; begin < rows.count; begin += kPositionsAtOnce) {
    ChosenRows const some = rows.part(begin, std::min(kPositionsAtOnce, rows.count - begin));
    find_positions(given, some, positions);
    append_values(memory, *values, value_rows, {positions, 0, some.count}, positions);
  }
}

void GatheredColumn::append_values(const RowMemory& memory, const ColumnView& values,
                                   int64_t value_rows, const ChosenRows& rows,
                                   uint32_t* positions) {
  int64_t const nulls = append_validity(memory, values, rows, positions != nullptr);
  if (nulls == rows.count) {
    append_nothing(memory, rows.count);
  } else {
    // What is read of a row without a value is not kept, so any will do that is there.
    if (positions != nullptr && nulls != 0) {
      std::replace(positions, positions + rows.count, kNoPosition, uint32_t{0});
    }
    switch (like_.layout) {
      case Layout::kBits:
        append_bits(memory, values, rows, nulls);
        break;
      case Layout::kText:
        append_text(memory, values, value_rows, rows, nulls);
        break;
      default:
        append_fixed(memory, values, rows, nulls);
    }
  }
  ahead_.rows += rows.count;
  ahead_.nulls += nulls;
}

// Returns how many are NULL.
int64_t GatheredColumn::append_validity(const RowMemory& memory, const ColumnView& values,
                                        const ChosenRows& rows, bool may_miss) {
  int64_t nulls = 0;
  if (may_miss || values.validity != nullptr) {
    for (int64_t i = 0; i < rows.count; i += 64) {
      int64_t const count = std::min<int64_t>(64, rows.count - i);
      nulls += count - std::popcount(validity_word(values, rows, i, count));
    }
  }
  bool const is_first = !validity_;
  if (is_first && nulls == 0) return 0;
  reserve(memory, validity_, is_first ? 0 : columns::bitmap_bytes(ahead_.rows),
          bitmap_room(ahead_.rows + rows.count));
  auto* const bits = validity_.as<uint8_t>();
  auto const all = [](int64_t, int64_t count) { return ones(count); };
  if (is_first) write_bits(bits, 0, ahead_.rows, all);
  if (nulls == 0) {
    write_bits(bits, ahead_.rows, rows.count, all);
  } else {
    write_bits(bits, ahead_.rows, rows.count,
               [&](int64_t i, int64_t count) { return validity_word(values, rows, i, count); });
  }
  return nulls;
}

std::array<std::span<std::byte>, GatheredColumn::kParts> GatheredColumn::parts() const {
  auto const bytes = part_bytes(like_, kept_);
  return {std::span(data_.as<std::byte>(), bytes[0]), std::span(offsets_.as<std::byte>(), bytes[1]),
          std::span(validity_.as<std::byte>(), bytes[2])};
}

void GatheredColumn::make_room(const RowMemory& memory, const ColumnExtent& extent) {
  auto const bytes = part_bytes(like_, extent);
  auto const allocate = [&](uint64_t wanted, bool is_bits) {
    if (wanted != 0 && is_bits) wanted += kBehindBits;
    return memory.allocate(wanted);
  };
  data_ = allocate(bytes[0], like_.layout == Layout::kBits);
  offsets_ = allocate(bytes[1], false);
  validity_ = allocate(bytes[2], true);
  kept_ = ahead_ = extent;
}

ColumnView GatheredColumn::make_view() const {
  ColumnView view = like_;
  view.data = data_.data();
  view.memory = data_.memory();
  if (kept_.nulls != 0) view.validity = validity_.as<uint8_t>();
  if (view.layout == Layout::kText) {
    auto parts = std::make_shared<columns::ColumnParts>(*like_.parts);
    parts->offsets = offsets_.data();
    view.parts = std::move(parts);
  }
  return view;
}

void GatheredColumn::give_buffers(std::vector<base::Buffer>& buffers) noexcept {
  buffers.push_back(std::move(data_));
  buffers.push_back(std::move(offsets_));
  buffers.push_back(std::move(validity_));
  kept_ = ahead_ = ColumnExtent();
}

}  // namespace gpujoin::pieces
