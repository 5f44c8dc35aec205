// code_positions.hpp: where a code belongs among sorted ones.
//
// The codes' span is cut into about as many buckets as there are codes; of each, its first position
// is kept. A look-up reads that and, of codes that are spread evenly, one or two of them, many
// look-ups at once, since each waits for memory twice. Codes in heaps cost it the steps of a binary
// search in the heap, never more.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "src/base/memory.hpp"
#include "src/base/prefetch.hpp"
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

  // put(i, how many codes are less than code_of(i), or less or equal) for first <= i < end.
  template <typename CodeOf, typename Put>
  void count_below(uint64_t first, uint64_t end, bool or_equal, const CodeOf& code_of,
                   const Put& put) const {
    if (or_equal) {
      look_up(first, end, code_of, put, [](uint64_t one, uint64_t code) { return one <= code; });
    } else {
      look_up(first, end, code_of, put, [](uint64_t one, uint64_t code) { return one < code; });
    }
  }

 private:
  static constexpr uint64_t kTaskRows = uint64_t{1} << 17;
  static constexpr uint64_t kAtOnce = 64;  // look-ups that wait for memory together

  uint64_t bucket_of(uint64_t code) const { return (code - low_) >> shift_; }

  template <typename CodeOf, typename Put, typename IsBelow>
  void look_up(uint64_t first, uint64_t end, const CodeOf& code_of, const Put& put,
               const IsBelow& is_below) const {
    if (count_ == 0) {
      for (uint64_t i = first; i < end; ++i) put(i, 0U);
      return;
    }
    auto const* const firsts = firsts_.as<uint32_t>();
    uint64_t const high = codes_[count_ - 1];
    struct LookUp {
      uint64_t code;
      const uint32_t* bucket;
    };
    LookUp at_once[kAtOnce];
    for (; first < end; first += kAtOnce) {
      uint64_t const count = std::min(kAtOnce, end - first);
      for (uint64_t i = 0; i < count; ++i) {
        uint64_t const code = code_of(first + i);
        at_once[i] = {code, firsts + bucket_of(std::clamp(code, low_, high))};
        base::ask_for(at_once[i].bucket);
      }
      for (uint64_t i = 0; i < count; ++i) base::ask_for(codes_ + *at_once[i].bucket);
      for (uint64_t i = 0; i < count; ++i) {
        auto const [code, bucket] = at_once[i];
        const uint64_t* found = codes_ + bucket[0];
        // The next one is where half of those that are left are below.
        for (uint32_t left = bucket[1] - bucket[0]; left != 0;) {
          uint32_t const half = (left + 1) / 2;
          found += is_below(found[half - 1], code) ? half : 0;
          left -= half;
        }
        put(first + i, static_cast<uint32_t>(found - codes_));
      }
    }
  }

  const uint64_t* codes_;
  uint32_t count_;
  uint64_t low_ = 0;
  uint32_t shift_ = 0;
  base::Buffer firsts_;  // of each bucket, and one more
};

}  // namespace gpujoin::cpu
