#include "src/cpu/text_bytes.hpp"

#include <atomic>

#include "gpujoin.h"
#include "src/cpu/bytes_layout.hpp"

namespace gpujoin::cpu {

namespace {

constexpr uint64_t kTaskRows = uint64_t{1} << 16;

template <kernels::BytesLayout kLayout>
uint64_t sum(const columns::GatherSource& source, const uint32_t* rows, uint64_t first,
             uint64_t end) {
  uint64_t bytes = 0;
  for (uint64_t i = first; i < end; ++i) {
    uint64_t const row = rows == nullptr ? i : rows[i];
    if (row == GPUJOIN_NO_ROW || !kernels::is_valid(source.validity, row)) continue;
    bytes += span_at<kLayout>(source.values, row).count;
  }
  return bytes;
}

}  // namespace

uint64_t text_bytes(Workers& workers, const columns::GatherSource& source, const uint32_t* rows,
                    uint64_t count) {
  using kernels::BytesLayout;
  auto const sum_of = source.values.layout == BytesLayout::kOffsets64
                          ? sum<BytesLayout::kOffsets64>
                          : sum<BytesLayout::kOffsets32>;
  std::atomic<uint64_t> bytes{0};
  workers.for_each_range("count", count, kTaskRows, [&](uint64_t first, uint64_t end) {
    bytes.fetch_add(sum_of(source, rows, first, end), std::memory_order_relaxed);
  });
  return bytes.load(std::memory_order_relaxed);
}

}  // namespace gpujoin::cpu
