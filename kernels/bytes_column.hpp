// bytes_column.hpp: a column whose values have any number of bytes, as host and device both see it
//
// Source   ours; layouts as Apache Arrow publishes them (columnar format, "Variable-size Binary"
//          and "Variable-size Binary View")
// In       the column's buffers, where the executor reads them
// Out      where the bytes of a row's value lie
#pragma once

#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define GPUJOIN_BYTES __host__ __device__ inline
#else
#define GPUJOIN_BYTES inline
#endif

namespace gpujoin::kernels {

enum class BytesLayout : int32_t {
  kFixed,      // `width` bytes a row
  kOffsets32,  // from offsets[row] to offsets[row + 1], int32
  kOffsets64,  // int64
  kViews,      // 16 bytes a row that hold up to 12 bytes, or name a buffer and a place in it
};

struct BytesColumn {
  BytesLayout layout = BytesLayout::kFixed;
  int32_t width = 0;
  const uint8_t* bytes = nullptr;           // fixed: row 0's; offsets: what they count from
  const void* places = nullptr;             // offsets, or views, from row 0's on
  const uint8_t* const* buffers = nullptr;  // of views
  // Of kFixed and kOffsets*: the bytes from `first` to `end` may be read, those of no value too.
  const uint8_t* first = nullptr;
  const uint8_t* end = nullptr;
};

struct ByteSpan {
  const uint8_t* data = nullptr;
  uint64_t count = 0;
};

// A producer's offsets may go back: that is a value of no bytes, and nothing is read.
template <typename Offset>
GPUJOIN_BYTES ByteSpan bytes_between(const BytesColumn& column, uint64_t row) {
  auto const* const offsets = static_cast<const Offset*>(column.places);
  Offset const begin = offsets[row];
  Offset const end = offsets[row + 1];
  return {column.bytes + begin, end > begin ? static_cast<uint64_t>(end - begin) : 0};
}

GPUJOIN_BYTES ByteSpan bytes_of_view(const BytesColumn& column, uint64_t row) {
  constexpr int32_t kMostInside = 12;
  auto const* const view = static_cast<const uint8_t*>(column.places) + 16 * row;
  int32_t parts[4];
  memcpy(parts, view, sizeof(parts));
  if (parts[0] <= 0) return {};
  auto const count = static_cast<uint64_t>(parts[0]);
  if (parts[0] <= kMostInside) return {view + 4, count};
  return {column.buffers[parts[2]] + parts[3], count};
}

// Of a row that is not NULL.
GPUJOIN_BYTES ByteSpan bytes_at(const BytesColumn& column, uint64_t row) {
  switch (column.layout) {
    case BytesLayout::kOffsets32:
      return bytes_between<int32_t>(column, row);
    case BytesLayout::kOffsets64:
      return bytes_between<int64_t>(column, row);
    case BytesLayout::kViews:
      return bytes_of_view(column, row);
    default: {
      auto const width = static_cast<uint64_t>(column.width);
      return {column.bytes + row * width, width};
    }
  }
}

// Validity as Arrow has it.
struct ValidityBits {
  const uint8_t* bits = nullptr;  // null: no NULLs
  int64_t offset = 0;             // of row 0's bit
};
GPUJOIN_BYTES bool is_valid(const ValidityBits& validity, uint64_t row) {
  if (validity.bits == nullptr) return true;
  uint64_t const at = static_cast<uint64_t>(validity.offset) + row;
  return (validity.bits[at / 8] >> (at % 8) & 1) != 0;
}

// The bits of kRows rows that follow each other, at most 8, the first one's lowest. expected: bits.
template <int kRows>
GPUJOIN_BYTES uint32_t are_valid(const ValidityBits& validity, uint64_t row) {
  static_assert(kRows <= 8);
  uint64_t const at = static_cast<uint64_t>(validity.offset) + row;
  uint32_t const shift = at % 8;
  uint32_t bits = validity.bits[at / 8];
  // The byte behind is read where it has any of them, and may lie behind the last else.
  if (shift + kRows > 8) bits |= static_cast<uint32_t>(validity.bits[at / 8 + 1]) << 8;
  return bits >> shift & ((1U << kRows) - 1);
}

}  // namespace gpujoin::kernels

#undef GPUJOIN_BYTES
