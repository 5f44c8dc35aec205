// append_values.cpp: values of rows, as GatheredColumn has them, behind those that are there.
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>

#include "src/base/status.hpp"
#include "src/cpu/bytes_layout.hpp"
#include "src/pieces/gathered_column.hpp"
#include "src/pieces/growing_buffer.hpp"

namespace gpujoin::pieces {

namespace {

using columns::ColumnView;
using columns::Layout;
using kernels::BytesColumn;
using kernels::BytesLayout;

// what(i) for each of `count` rows, the first of bit `first` of the validity bits, that is NULL.
template <typename What>
void for_each_null(const uint8_t* validity, int64_t first, int64_t count, const What& what) {
  auto const at = static_cast<uint64_t>(first);
  auto const end = at + static_cast<uint64_t>(count);
  for (int64_t i = 0; i < count; i += 64) {
    uint64_t const valid = columns::bits_of_64_rows(validity, at + static_cast<uint64_t>(i), end);
    uint64_t nulls = ~valid & ones(std::min<int64_t>(64, count - i));
    for (; nulls != 0; nulls &= nulls - 1) what(i + std::countr_zero(nulls));
  }
}

template <uint64_t kWidth>
void gather(std::byte* to, const std::byte* from, const uint32_t* numbers, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(to + static_cast<uint64_t>(i) * kWidth, from + numbers[i] * kWidth, kWidth);
  }
}

void gather(std::byte* to, const std::byte* from, const uint32_t* numbers, int64_t count,
            uint64_t width) {
  switch (width) {
    case 1:
      return gather<1>(to, from, numbers, count);
    case 2:
      return gather<2>(to, from, numbers, count);
    case 4:
      return gather<4>(to, from, numbers, count);
    case 8:
      return gather<8>(to, from, numbers, count);
    case 16:
      return gather<16>(to, from, numbers, count);
    default:
      for (int64_t i = 0; i < count; ++i, to += width) {
        std::memcpy(to, from + numbers[i] * width, width);
      }
  }
}

template <typename Offset>
BytesColumn text_of(const ColumnView& values, int64_t value_rows) {
  auto const [first, last] = columns::first_and_last_offset(*values.parts, value_rows);
  BytesColumn text;
  text.layout = sizeof(Offset) == 8 ? BytesLayout::kOffsets64 : BytesLayout::kOffsets32;
  text.bytes = static_cast<const uint8_t*>(values.data);
  text.places = values.parts->offsets;
  text.first = text.bytes + first;
  text.end = text.bytes + std::max(first, last);
  return text;
}

BytesColumn views_of(const ColumnView& values) {
  BytesColumn views;
  views.layout = BytesLayout::kViews;
  views.places = values.data;
  // Pointers to anything are pointers to bytes.
  views.buffers = reinterpret_cast<const uint8_t* const*>(values.parts->buffers.data());
  return views;
}

}  // namespace

void GatheredColumn::append_nothing(const RowMemory& memory, int64_t count) {
  if (like_.layout == Layout::kBits) {
    reserve(memory, data_, columns::bitmap_bytes(ahead_.rows), bitmap_room(ahead_.rows + count));
    write_bits(data_.as<uint8_t>(), ahead_.rows, count,
               [](int64_t, int64_t) { return uint64_t{0}; });
  } else if (like_.layout == Layout::kText) {
    if (like_.parts->offset_width == 8) {
      int64_t* const ends = more_offsets<int64_t>(memory, count) + 1;
      std::fill(ends, ends + count, static_cast<int64_t>(ahead_.text_bytes));
    } else {
      int32_t* const ends = more_offsets<int32_t>(memory, count) + 1;
      std::fill(ends, ends + count, static_cast<int32_t>(ahead_.text_bytes));
    }
  } else if (std::byte* const to = more_values(memory, count); to != nullptr) {
    std::memset(to, 0, static_cast<uint64_t>(count) * static_cast<uint64_t>(like_.width));
  }
}

void GatheredColumn::append_bits(const RowMemory& memory, const ColumnView& values,
                                 const ChosenRows& rows, int64_t nulls) {
  reserve(memory, data_, columns::bitmap_bytes(ahead_.rows), bitmap_room(ahead_.rows + rows.count));
  auto const* const bits = static_cast<const uint8_t*>(values.data);
  auto const first = static_cast<uint64_t>(values.parts->first_bit);
  auto const* const validity = validity_.as<uint8_t>();
  write_bits(data_.as<uint8_t>(), ahead_.rows, rows.count, [&](int64_t i, int64_t count) {
    uint64_t word = 0;
    if (rows.numbers == nullptr) {
      uint64_t const at = first + static_cast<uint64_t>(rows.first + i);
      word = columns::bits_of_64_rows(bits, at, at + static_cast<uint64_t>(count));
    } else {
      for (int64_t bit = 0; bit < count; ++bit) {
        uint64_t const at = first + rows.numbers[i + bit];
        word |= uint64_t{bits[at / 8] >> (at % 8) & 1U} << bit;
      }
    }
    if (nulls == 0) return word;
    auto const row = static_cast<uint64_t>(ahead_.rows + i);
    return word & columns::bits_of_64_rows(validity, row, row + static_cast<uint64_t>(count));
  });
}

// Null: its values have no bytes.
std::byte* GatheredColumn::more_values(const RowMemory& memory, int64_t count) {
  auto const width = static_cast<uint64_t>(like_.width);
  uint64_t const used = static_cast<uint64_t>(ahead_.rows) * width;  // of a buffer that is there
  reserve(memory, data_, used,
          base::checked_bytes(static_cast<uint64_t>(ahead_.rows + count), width),
          static_cast<uint64_t>(memory.whole_rows) * width);
  return width == 0 ? nullptr : data_.as<std::byte>() + used;
}

void GatheredColumn::append_fixed(const RowMemory& memory, const ColumnView& values,
                                  const ChosenRows& rows, int64_t nulls) {
  std::byte* const to = more_values(memory, rows.count);
  if (to == nullptr) return;
  auto const width = static_cast<uint64_t>(like_.width);
  auto const* const from = static_cast<const std::byte*>(values.data);
  if (rows.numbers == nullptr) {
    std::memcpy(to, from + static_cast<uint64_t>(rows.first) * width,
                static_cast<uint64_t>(rows.count) * width);
  } else {
    gather(to, from, rows.numbers, rows.count, width);
  }
  if (nulls == 0) return;
  for_each_null(validity_.as<uint8_t>(), ahead_.rows, rows.count,
                [&](int64_t i) { std::memset(to + static_cast<uint64_t>(i) * width, 0, width); });
}

void GatheredColumn::append_numbers(const RowMemory& memory, const ChosenRows& rows,
                                    int64_t first_number) {
  std::byte* const to = more_values(memory, rows.count);
  for (int64_t i = 0; i < rows.count; ++i) {
    int64_t const number = first_number + rows[i];
    std::memcpy(to + i * 8, &number, 8);
  }
  ahead_.rows += rows.count;
}

void GatheredColumn::append_text(const RowMemory& memory, const ColumnView& values,
                                 int64_t value_rows, const ChosenRows& rows, int64_t nulls) {
  if (values.layout == Layout::kViews) {
    return append_spans<int64_t, BytesLayout::kViews>(memory, views_of(values), rows, nulls);
  }
  // Text of no bytes has no data.
  if (values.data == nullptr) return append_nothing(memory, rows.count);
  if (like_.parts->offset_width == 8) {
    if (append_slice<int64_t>(memory, values, value_rows, rows, nulls)) return;
    append_spans<int64_t, BytesLayout::kOffsets64>(memory, text_of<int64_t>(values, value_rows),
                                                   rows, nulls);
  } else {
    if (append_slice<int32_t>(memory, values, value_rows, rows, nulls)) return;
    append_spans<int32_t, BytesLayout::kOffsets32>(memory, text_of<int32_t>(values, value_rows),
                                                   rows, nulls);
  }
}

// Text of rows that follow each other, in one copy. False, and nothing is appended, where they do
// not, where bytes lie beneath NULLs, and where a producer's offsets go back or out of its bytes.
template <typename Offset>
bool GatheredColumn::append_slice(const RowMemory& memory, const ColumnView& values,
                                  int64_t value_rows, const ChosenRows& rows, int64_t nulls) {
  if (rows.numbers != nullptr) return false;
  auto const* const offsets = static_cast<const Offset*>(values.parts->offsets) + rows.first;
  auto const [first, last] = columns::first_and_last_offset(*values.parts, value_rows);
  if (offsets[0] < first || offsets[rows.count] > last || offsets[rows.count] < offsets[0]) {
    return false;
  }
  if (nulls != 0) {
    bool hide_bytes = false;
    for_each_null(validity_.as<uint8_t>(), ahead_.rows, rows.count,
                  [&](int64_t i) { hide_bytes |= offsets[i + 1] != offsets[i]; });
    if (hide_bytes) return false;
  }
  auto const bytes = static_cast<uint64_t>(offsets[rows.count] - offsets[0]);
  reserve_text(memory, ahead_.text_bytes + bytes);
  Offset* const ends = more_offsets<Offset>(memory, rows.count) + 1;
  // Without a sign: what offsets that go back make of it is not kept.
  using Unsigned = std::make_unsigned_t<Offset>;
  Unsigned const moved =
      static_cast<Unsigned>(ahead_.text_bytes) - static_cast<Unsigned>(offsets[0]);
  bool go_back = false;
  for (int64_t i = 0; i < rows.count; ++i) {
    go_back |= offsets[i + 1] < offsets[i];
    ends[i] = static_cast<Offset>(static_cast<Unsigned>(offsets[i + 1]) + moved);
  }
  if (go_back) return false;
  if (bytes != 0) {
    std::memcpy(data_.as<std::byte>() + ahead_.text_bytes,
                static_cast<const std::byte*>(values.data) + offsets[0], bytes);
  }
  ahead_.text_bytes += bytes;
  return true;
}

template <typename Offset, BytesLayout kLayout>
void GatheredColumn::append_spans(const RowMemory& memory, const BytesColumn& values,
                                  const ChosenRows& rows, int64_t nulls) {
  Offset* const ends = more_offsets<Offset>(memory, rows.count) + 1;
  kernels::ValidityBits const validity{nulls == 0 ? nullptr : validity_.as<uint8_t>(), ahead_.rows};
  auto const span_of = [&](int64_t i) {
    return kernels::is_valid(validity, static_cast<uint64_t>(i))
               ? cpu::span_at<kLayout>(values, rows[i])
               : kernels::ByteSpan{};
  };
  uint64_t end = ahead_.text_bytes;
  for (int64_t i = 0; i < rows.count; ++i) {
    if (__builtin_add_overflow(end, span_of(i).count, &end)) {
      reserve_text(memory, std::numeric_limits<uint64_t>::max());
    }
    ends[i] = static_cast<Offset>(end);
  }
  reserve_text(memory, end);
  auto* to = data_.as<std::byte>() + ahead_.text_bytes;
  for (int64_t i = 0; i < rows.count; ++i) {
    kernels::ByteSpan const span = span_of(i);
    if (span.count == 0) continue;
    std::memcpy(to, span.data, span.count);
    to += span.count;
  }
  ahead_.text_bytes = end;
}

// Where the last row's text ends, behind which there is room for so many ends.
template <typename Offset>
Offset* GatheredColumn::more_offsets(const RowMemory& memory, int64_t count) {
  auto const rows = static_cast<uint64_t>(ahead_.rows);
  reserve(memory, offsets_, rows == 0 ? 0 : (rows + 1) * sizeof(Offset),
          base::checked_bytes(rows + static_cast<uint64_t>(count) + 1, sizeof(Offset)),
          (static_cast<uint64_t>(memory.whole_rows) + 1) * sizeof(Offset));
  Offset* const offsets = offsets_.as<Offset>();
  if (rows == 0) offsets[0] = 0;
  return offsets + rows;
}

void GatheredColumn::reserve_text(const RowMemory& memory, uint64_t bytes) {
  if (like_.parts->offset_width == 4 && bytes > uint64_t{INT32_MAX}) {
    base::fail(GPUJOIN_ERROR_TOO_MANY_ROWS,
               "column \"%s\": %llu bytes of text are gathered, and offsets of 4 bytes count 2^31",
               like_.name.c_str(), static_cast<unsigned long long>(bytes));
  }
  reserve(memory, data_, ahead_.text_bytes, bytes);
}

}  // namespace gpujoin::pieces
