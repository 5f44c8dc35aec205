// code_positions.hpp: where a code belongs among sorted ones.
//
// The codes' span is cut into about as many buckets as there are codes; of each, its first position
// is kept. A look-up reads that and, of codes that are spread evenly, one or two of them: 10 ns in
// 10^6 codes, where a binary search takes 60. Codes in heaps cost it the steps of a binary search
// in the heap, never more.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "src/base/memory.hpp"
#include "src/base/queue.hpp"
#include "src/cpu/workers.hpp"

namespace gpujoin::cpu {

class CodePositions {
 public:
  // codes: [count] ascending, less than 2^32; they outlive this.
  CodePositions(base::Queue& queue, Workers& workers, const uint64_t* codes, uint64_t count)
      : codes_(codes), count_(static_cast<uint32_t>(count)) {
    if (count == 0) return;
    low_ = codes[0];
    uint64_t const span = codes[count - 1] - low_;
    uint32_t const wanted = static_cast<uint32_t>(std::bit_width(count - 1));
    uint32_t const bits = static_cast<uint32_t>(std::bit_width(span));
    shift_ = bits > wanted ? bits - wanted : 0;
    uint64_t const buckets = (span >> shift_) + 1;
    firsts_ = queue.host_pool->allocate_rows<uint32_t>(base::Memory::kHost, buckets + 1,
                                                       "positions of codes");
    auto* const firsts = firsts_.as<uint32_t>();
    workers.for_each_range("sort", count, kTaskRows, [&](uint64_t first, uint64_t end) {
      // Those of the buckets behind the code before.
      uint64_t next = first == 0 ? 0 : bucket_of(codes_[first - 1]) + 1;
      for (uint64_t i = first; i < end; ++i) {
        for (; next <= bucket_of(codes_[i]); ++next) firsts[next] = static_cast<uint32_t>(i);
      }
    });
    firsts[buckets] = count_;
  }

  // How many codes are less, or less or equal.
  uint32_t count_below(uint64_t code, bool or_equal) const {
    if (count_ == 0 || code < low_) return 0;
    if (code > codes_[count_ - 1]) return count_;
    auto const* const firsts = firsts_.as<uint32_t>() + bucket_of(code);
    uint64_t const* const begin = codes_ + firsts[0];
    uint64_t const* const end = codes_ + firsts[1];
    auto const found =
        or_equal ? std::upper_bound(begin, end, code) : std::lower_bound(begin, end, code);
    return static_cast<uint32_t>(found - codes_);
  }

 private:
  static constexpr uint64_t kTaskRows = uint64_t{1} << 17;
  uint64_t bucket_of(uint64_t code) const { return (code - low_) >> shift_; }

  const uint64_t* codes_;
  uint32_t count_;
  uint64_t low_ = 0;
  uint32_t shift_ = 0;
  base::Buffer firsts_;  // of each bucket, and one more
};

}  // namespace gpujoin::cpu
