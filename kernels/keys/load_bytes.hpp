// load_bytes.hpp: up to 8 bytes of a value at a time, wherever they lie, as host and device both
// see them
//
// Source   ours
// In       a value of a BytesColumn, and what may be read around it
// Out      a word: the first byte is its lowest, bytes that are not there are 0
// Why      values lie at any address. The device reads whole words at addresses that are multiples
//          of 8 alone, so it takes the two that the bytes lie in and shifts; the host reads a word
//          anywhere. Both read bytes of neighbours with it, but none that is not the column's: at
//          the ends of its memory they go byte by byte.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/bytes_column.hpp"

#ifdef __CUDACC__
#define GPUJOIN_LOAD __host__ __device__ inline
#else
#define GPUJOIN_LOAD inline
#endif

#ifdef __BYTE_ORDER__
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a word's lowest byte is its first");
#endif

namespace gpujoin::kernels {

struct LoadableBytes {
  const uint8_t* data = nullptr;
  uint64_t count = 0;
  // Bytes from `first` to `end` may be read.
  const uint8_t* first = nullptr;
  const uint8_t* end = nullptr;
};

// What may be read around a value of the column. Of views nobody says where their buffers end, so a
// value's own bytes are all that may be read; but a value that lies in its view has the view's 16
// around it.
GPUJOIN_LOAD LoadableBytes loadable(const BytesColumn& column, const ByteSpan& value) {
  if (column.layout != BytesLayout::kViews) {
    return {value.data, value.count, column.first, column.end};
  }
  if (value.count == 0) return {};
  constexpr uint64_t kMostInside = 12;
  constexpr uint64_t kViewBytes = 16;
  const uint8_t* const first = value.count <= kMostInside ? value.data - 4 : value.data;
  uint64_t const readable = value.count <= kMostInside ? kViewBytes : value.count;
  return {value.data, value.count, first, first + readable};
}
GPUJOIN_LOAD LoadableBytes loadable_at(const BytesColumn& column, uint64_t row) {
  return loadable(column, bytes_at(column, row));
}

// Bytes `at` to `at + count` of a value. expected: 1 <= count <= 8, at + count <= value.count.
GPUJOIN_LOAD uint64_t load_bytes(const LoadableBytes& value, uint64_t at, uint32_t count) {
  const uint8_t* const from = value.data + at;
  uint64_t const wanted = ~uint64_t{0} >> (64 - 8 * count);
#ifdef __CUDA_ARCH__
  auto const skipped = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(from) % 8);
  const uint8_t* const aligned = from - skipped;
  bool const are_two = skipped + count > 8;
  if (aligned >= value.first && aligned + (are_two ? 16 : 8) <= value.end) {
    auto const* const words = reinterpret_cast<const unsigned long long*>(aligned);
    uint64_t loaded = __ldg(words) >> (8 * skipped);
    if (are_two) loaded |= __ldg(words + 1) << (64 - 8 * skipped);
    return loaded & wanted;
  }
  uint64_t loaded = 0;
#pragma unroll 1
  for (uint32_t i = count; i-- > 0;) loaded = loaded << 8 | __ldg(from + i);
  return loaded;
#else
  uint64_t loaded = 0;
  if (value.end - from >= 8) {
    memcpy(&loaded, from, 8);
    return loaded & wanted;
  }
  if (from - value.first >= static_cast<int64_t>(8 - count)) {
    memcpy(&loaded, from - (8 - count), 8);
    return loaded >> (64 - 8 * count);
  }
  memcpy(&loaded, from, count);
  return loaded;
#endif
}

GPUJOIN_LOAD bool are_equal(const LoadableBytes& one, const LoadableBytes& other) {
  if (one.count != other.count) return false;
  for (uint64_t at = 0; at < one.count; at += 8) {
    auto const count = static_cast<uint32_t>(one.count - at < 8 ? one.count - at : 8);
    if (load_bytes(one, at, count) != load_bytes(other, at, count)) return false;
  }
  return true;
}

}  // namespace gpujoin::kernels

#undef GPUJOIN_LOAD
