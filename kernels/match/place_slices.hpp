// place_slices.hpp: places of a direct table in slices, as host and device both see them
#pragma once

#include <cstdint>

namespace gpujoin::kernels {

// Slices of as many words of 32 places each, give or take one.
struct PlaceSlices {
  uint32_t words;  // of all places; more than there are slices
  uint32_t count;
  uint32_t inverse;   // 2^32 * count / words
  uint32_t capacity;  // places of the largest, a multiple of 32

  static constexpr uint64_t kOne = uint64_t{1} << 32;

#ifdef __CUDACC__
  __device__ uint32_t slice_of(uint32_t place) const { return __umulhi(place / 32, inverse); }
  // Of slice `count` that behind the last one.
  __device__ uint32_t first_word(uint32_t slice) const {
    uint64_t const first = (slice * kOne + inverse - 1) / inverse;
    return first < words ? static_cast<uint32_t>(first) : words;
  }
#endif
};

constexpr PlaceSlices place_slices(uint32_t places, uint32_t count) {
  uint32_t const words = places / 32 + (places % 32 != 0 ? 1 : 0);
  auto const inverse = static_cast<uint32_t>(PlaceSlices::kOne * count / words);
  auto const most_words = static_cast<uint32_t>(PlaceSlices::kOne / inverse + 1);
  return {words, count, inverse, 32 * most_words};
}

// Of the largest slice: a row and a bit a place.
constexpr uint64_t slice_shared_bytes(const PlaceSlices& slices, uint64_t row_bytes) {
  return slices.capacity * row_bytes + slices.capacity / 8;
}

// As few as fit so many bytes each, and a multiple of `at_once`, so that blocks end together. Of
// count 0: more than `most`.
constexpr PlaceSlices fitting_slices(uint32_t places, uint64_t row_bytes, uint64_t bytes,
                                     uint32_t at_once, uint32_t most) {
  for (uint32_t count = at_once; count <= most; count += at_once) {
    PlaceSlices const slices = place_slices(places, count);
    if (slice_shared_bytes(slices, row_bytes) <= bytes) return slices;
  }
  return {};
}

}  // namespace gpujoin::kernels
