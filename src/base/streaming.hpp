// streaming.hpp: stores that bypass the cache, for memory written whole and read much later.
//
// An ordinary store first reads its cache line from memory; a non-temporal one that fills a whole
// line does not, which saves a third of the traffic of a copy. On processors without such stores in
// the baseline instruction set these are ordinary copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace gpujoin::base {

inline constexpr uint32_t kLineBytes = 64;

// One cache line to a target aligned to it.
inline void stream_line(std::byte* target, const std::byte* source) {
#if defined(__SSE2__)
  for (uint32_t at = 0; at < kLineBytes; at += 16) {
    __m128i value;
    std::memcpy(&value, source + at, sizeof(value));
    _mm_stream_si128(reinterpret_cast<__m128i*>(target + at), value);
  }
#else
  std::memcpy(target, source, kLineBytes);
#endif
}

// Any number of bytes to any target: the whole lines of it bypass the cache.
inline void stream_bytes(std::byte* target, const std::byte* source, uint64_t bytes) {
  uint64_t const to_line =
      (kLineBytes - reinterpret_cast<uintptr_t>(target) % kLineBytes) % kLineBytes;
  uint64_t const head = to_line < bytes ? to_line : bytes;
  std::memcpy(target, source, head);
  uint64_t at = head;
  for (; at + kLineBytes <= bytes; at += kLineBytes) stream_line(target + at, source + at);
  std::memcpy(target + at, source + at, bytes - at);
}

// Streamed stores are not ordered with later ones: a task ends with this before others read.
inline void finish_streaming() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace gpujoin::base
