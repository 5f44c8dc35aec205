#include "src/cpu/key_spans.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "src/cpu/pack_rows.hpp"

namespace gpujoin::cpu {

namespace {

constexpr uint64_t kDrawn = 64;  // of all rows, or of a window
constexpr uint64_t kWindows = 32;
constexpr uint64_t kWindowRows = uint64_t{1} << 14;

// Of the rows [first, first + rows).
template <typename Key>
uint64_t span_of(const columns::ColumnView& column, uint64_t first, uint64_t rows) {
  auto const* const keys = static_cast<const Key*>(column.data);
  Key low = std::numeric_limits<Key>::max();
  Key high = std::numeric_limits<Key>::min();
  uint64_t const drawn = std::min(rows, kDrawn);
  for (uint64_t i = 0; i < drawn; ++i) {
    uint64_t const row = first + i * (rows / drawn);
    if (!is_valid(column, row)) continue;
    low = std::min(low, keys[row]);
    high = std::max(high, keys[row]);
  }
  if (low > high) return 0;
  uint64_t const between = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  return between == UINT64_MAX ? between : between + 1;
}

uint64_t span_of(const columns::ColumnView& key, uint64_t first, uint64_t rows) {
  return key.width == 4 ? span_of<int32_t>(key, first, rows) : span_of<int64_t>(key, first, rows);
}

}  // namespace

uint64_t drawn_span(const columns::ColumnView& key, uint64_t rows) { return span_of(key, 0, rows); }

uint64_t usual_window_span(const columns::ColumnView& key, uint64_t rows) {
  uint64_t const window = std::min(rows, kWindowRows);
  std::array<uint64_t, kWindows> spans{};
  for (uint64_t i = 0; i < kWindows; ++i) {
    spans[i] = span_of(key, (rows - window) / kWindows * i, window);
  }
  std::nth_element(spans.begin(), spans.begin() + kWindows / 2, spans.end());
  return spans[kWindows / 2];
}

}  // namespace gpujoin::cpu
