#include "src/cpu/pack_values.hpp"

#include <algorithm>
#include <atomic>

#include "src/cpu/bytes_layout.hpp"

namespace gpujoin::cpu {

namespace {

using kernels::LoadableBytes;

constexpr uint64_t kTaskRows = uint64_t{1} << 16;
constexpr uint64_t kRowsAtOnce = uint64_t{1} << 12;
constexpr uint64_t kWordBytes = 8;
constexpr uint64_t kUpperByte = 8 * (kWordBytes - 1);

// False at the first value of more bytes than `most`, or of 8 that might be a shorter one.
bool pack(const keys::InternedSide& side, uint64_t most, uint64_t first, uint64_t end,
          uint64_t* packed) {
  return with_layout(side.values, [&](const auto& value_at) {
    for (uint64_t row = first; row < end; ++row) {
      packed[row] = 0;
      if (!kernels::is_valid(side.validity, row)) continue;
      LoadableBytes const value = value_at(row);
      if (value.count > most) return false;
      if (value.count == 0) continue;
      uint64_t const bytes = kernels::load_bytes(value, 0, static_cast<uint32_t>(value.count));
      uint64_t const in_order = __builtin_bswap64(bytes) >> (8 * (kWordBytes - value.count));
      bool const is_whole = value.count == kWordBytes;
      if (is_whole && in_order >> kUpperByte < kWordBytes) return false;
      packed[row] = is_whole ? in_order : in_order | value.count << kUpperByte;
    }
    return true;
  });
}

}  // namespace

base::Buffer pack_values(base::Queue& queue, Workers& workers, const keys::InternedSide& side,
                         bool may_fill_words) {
  uint64_t const most = may_fill_words ? kWordBytes : kWordBytes - 1;
  // Before memory is taken for them.
  uint64_t looked_at[kRowsAtOnce];
  if (!pack(side, most, 0, std::min(side.rows, kRowsAtOnce), looked_at)) return {};
  base::Buffer packed = queue.host_pool->allocate_rows<uint64_t>(base::Memory::kHost, side.rows,
                                                                 "a key's values as integers");
  std::atomic<bool> are_short{true};
  workers.for_each_range("keys", side.rows, kTaskRows, [&](uint64_t first, uint64_t end) {
    for (uint64_t row = first; row < end; row += kRowsAtOnce) {
      if (!are_short.load(std::memory_order_relaxed)) return;
      workers.poll();
      if (!pack(side, most, row, std::min(end, row + kRowsAtOnce), packed.as<uint64_t>())) {
        are_short.store(false, std::memory_order_relaxed);
      }
    }
  });
  return are_short.load(std::memory_order_relaxed) ? std::move(packed) : base::Buffer{};
}

}  // namespace gpujoin::cpu
