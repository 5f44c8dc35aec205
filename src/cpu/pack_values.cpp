#include "src/cpu/pack_values.hpp"

#include <algorithm>
#include <array>
#include <atomic>

#include "src/cpu/bytes_layout.hpp"

namespace gpujoin::cpu {

namespace {

using kernels::LoadableBytes;

constexpr uint64_t kTaskRows = uint64_t{1} << 16;
constexpr uint64_t kRowsAtOnce = uint64_t{1} << 12;
constexpr uint64_t kDrawnRows = uint64_t{1} << 10;
constexpr uint64_t kWordBytes = 8;
constexpr uint64_t kUpperByte = 8 * (kWordBytes - 1);
constexpr uint64_t kMostSharedWords = 8;

// What all values begin with, and how many bytes of each follow at most.
struct Shape {
  std::array<uint64_t, kMostSharedWords> words{};
  uint64_t shared = 0;
  uint64_t most = 0;

  static uint64_t words_of(uint64_t bytes) { return (bytes + kWordBytes - 1) / kWordBytes; }
  // Of the first `bytes` of a value, that many in word i.
  static uint32_t in_word(uint64_t bytes, uint64_t i) {
    return static_cast<uint32_t>(std::min(bytes - kWordBytes * i, kWordBytes));
  }
  bool is_of(const LoadableBytes& value) const {
    if (value.count < shared || value.count - shared > most) return false;
    for (uint64_t i = 0; i < words_of(shared); ++i) {
      if (kernels::load_bytes(value, kWordBytes * i, in_word(shared, i)) != words[i]) return false;
    }
    return true;
  }
  // Of the first `bytes` of a value that has them.
  void share(const LoadableBytes& value, uint64_t bytes) {
    shared = bytes;
    for (uint64_t i = 0; i < words_of(bytes); ++i) {
      words[i] = kernels::load_bytes(value, kWordBytes * i, in_word(bytes, i));
    }
  }
};

// what(value) of rows at equal distances, until it answers false.
template <typename What>
bool each_drawn(const keys::InternedSide& side, const What& what) {
  return with_layout(side.values, [&](const auto& value_at) {
    for (uint64_t row = 0; row < side.rows; row += side.rows / kDrawnRows + 1) {
      if (kernels::is_valid(side.validity, row) && !what(value_at(row))) return false;
    }
    return true;
  });
}

// Whether drawn values of both sides have one shape: no more is shared than long ones need.
bool find_shape(const keys::InternedSide& left, const keys::InternedSide& right, bool may_share,
                Shape* shape) {
  LoadableBytes longest;
  auto const compare = [&](const LoadableBytes& value) {
    if (value.count > longest.count) longest = value;
    return true;
  };
  each_drawn(left, compare);
  each_drawn(right, compare);
  uint64_t const most_shared = may_share ? kMostSharedWords * kWordBytes : 0;
  if (longest.count > shape->most + most_shared) return false;
  if (longest.count > shape->most) shape->share(longest, longest.count - shape->most);
  auto const is_of = [&](const LoadableBytes& value) { return shape->is_of(value); };
  return each_drawn(left, is_of) && each_drawn(right, is_of);
}

// False at the first value of another shape, or whose rest is 8 bytes that might be shorter ones.
// kShares: values begin with something.
template <bool kShares, typename ValueAt>
bool pack(const ValueAt& value_at, const kernels::ValidityBits& validity, const Shape& shape,
          uint64_t first, uint64_t end, uint64_t* packed) {
  uint64_t const shared = kShares ? shape.shared : 0;
  uint64_t const most = shape.most;
  for (uint64_t row = first; row < end; ++row) {
    packed[row] = 0;
    if (!kernels::is_valid(validity, row)) continue;
    LoadableBytes const value = value_at(row);
    if (kShares ? !shape.is_of(value) : value.count > most) return false;
    uint64_t const count = value.count - shared;
    if (count == 0) continue;
    uint64_t const bytes = kernels::load_bytes(value, shared, static_cast<uint32_t>(count));
    uint64_t const in_order = __builtin_bswap64(bytes) >> (8 * (kWordBytes - count));
    bool const is_whole = count == kWordBytes;
    if (is_whole && in_order >> kUpperByte < kWordBytes) return false;
    packed[row] = is_whole ? in_order : in_order | count << kUpperByte;
  }
  return true;
}

bool pack(const keys::InternedSide& side, const Shape& shape, uint64_t first, uint64_t end,
          uint64_t* packed) {
  return with_layout(side.values, [&](const auto& value_at) {
    return shape.shared == 0 ? pack<false>(value_at, side.validity, shape, first, end, packed)
                             : pack<true>(value_at, side.validity, shape, first, end, packed);
  });
}

base::Buffer pack_all(base::Queue& queue, Workers& workers, const keys::InternedSide& side,
                      const Shape& shape) {
  base::Buffer packed = queue.host_pool->allocate_rows<uint64_t>(base::Memory::kHost, side.rows,
                                                                 "a key's values as integers");
  std::atomic<bool> are_short{true};
  workers.for_each_range("keys", side.rows, kTaskRows, [&](uint64_t first, uint64_t end) {
    for (uint64_t row = first; row < end; row += kRowsAtOnce) {
      if (!are_short.load(std::memory_order_relaxed)) return;
      workers.poll();
      if (!pack(side, shape, row, std::min(end, row + kRowsAtOnce), packed.as<uint64_t>())) {
        are_short.store(false, std::memory_order_relaxed);
      }
    }
  });
  return are_short.load(std::memory_order_relaxed) ? std::move(packed) : base::Buffer{};
}

}  // namespace

PackedValues pack_values(base::Queue& queue, Workers& workers, const keys::InternedSide& left,
                         const keys::InternedSide& right, bool may_fill_words, bool may_share) {
  Shape shape;
  shape.most = may_fill_words ? kWordBytes : kWordBytes - 1;
  // Before memory is taken for them.
  if (!find_shape(left, right, may_share, &shape)) return {};
  PackedValues packed;
  packed.of_left = pack_all(queue, workers, left, shape);
  if (packed.of_left) packed.of_right = pack_all(queue, workers, right, shape);
  return packed.of_right ? std::move(packed) : PackedValues();
}

}  // namespace gpujoin::cpu
