#include "src/cpu/key_places.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "src/base/prefetch.hpp"
#include "src/cpu/pack_rows.hpp"
#include "src/cpu/valid_rows.hpp"
#include "src/cpu/value_width.hpp"

namespace gpujoin::cpu {

namespace {

constexpr uint64_t kTaskRows = 64 * kMorselRows;

// The numbers of the keys of rows [first, end), but for NULL ones. Returns behind the last.
template <typename Key>
uint64_t* numbers_of(const KeyBits& keys, const columns::ColumnView& column, uint64_t first,
                     uint64_t end, uint64_t* numbers) {
  auto const* const values = static_cast<const Key*>(column.data);
  if (column.validity == nullptr) {
    for (uint64_t row = first; row < end; ++row) *numbers++ = keys.number_of(values[row]);
    return numbers;
  }
  each_valid_row(column, first, end, [&](uint64_t row, bool stays) {
    *numbers = keys.number_of(values[row]);
    numbers += stays ? 1 : 0;
  });
  return numbers;
}

// kRowBytes: 0: any.
template <uint32_t kRowBytes>
void scatter(const std::byte* packed, const uint64_t* numbers, uint32_t rows, uint64_t row_bytes,
             std::byte* places) {
  uint64_t const bytes = kRowBytes != 0 ? kRowBytes : row_bytes;
  for (uint32_t i = 0; i < rows; ++i) {
    std::memcpy(places + numbers[i] * bytes, packed + i * bytes, bytes);
  }
}

void scatter_rows(const std::byte* packed, const uint64_t* numbers, uint32_t rows,
                  uint32_t row_bytes, std::byte* places) {
  switch (row_bytes) {
    case 4:
      return scatter<4>(packed, numbers, rows, row_bytes, places);
    case 8:
      return scatter<8>(packed, numbers, rows, row_bytes, places);
    case 16:
      return scatter<16>(packed, numbers, rows, row_bytes, places);
    case 32:
      return scatter<32>(packed, numbers, rows, row_bytes, places);
    default:
      return scatter<0>(packed, numbers, rows, row_bytes, places);
  }
}

}  // namespace

base::Buffer place_rows(base::Queue& queue, Workers& workers, const KeyBits& keys,
                        const RowLayout& layout, uint64_t rows) {
  base::Pool& pool = *queue.host_pool;
  base::Buffer places =
      pool.try_allocate(base::Memory::kHost, base::checked_bytes(keys.span(), layout.row_bytes));
  if (!places) return {};
  // Of each worker, a morsel.
  uint64_t const room_bytes = uint64_t{kMorselRows} * layout.row_bytes;
  base::Buffer const rooms =
      pool.try_allocate(base::Memory::kHost, static_cast<uint64_t>(workers.threads()) * room_bytes);
  if (!rooms) return {};
  auto const tasks = static_cast<int64_t>((rows + kTaskRows - 1) / kTaskRows);
  workers.for_each("transform", tasks, [&](int64_t task, int32_t worker) {
    std::byte* const packed = rooms.as<std::byte>() + static_cast<uint64_t>(worker) * room_bytes;
    std::array<uint64_t, kMorselRows> numbers;
    uint64_t const begin = static_cast<uint64_t>(task) * kTaskRows;
    uint64_t const end = std::min(begin + kTaskRows, rows);
    for (uint64_t row = begin; row < end; row += kMorselRows) {
      auto const count = static_cast<uint32_t>(std::min<uint64_t>(end - row, kMorselRows));
      with_key_width(layout.key->width, [&](auto key) {
        auto const* const last =
            numbers_of<decltype(key)>(keys, *layout.key, row, row + count, numbers.data());
        for (auto const* number = numbers.data(); number != last; ++number) {
          base::ask_for(places.as<std::byte>() + *number * layout.row_bytes);
        }
      });
      uint32_t const valid = pack_rows(layout, row, count, packed, nullptr);
      scatter_rows(packed, numbers.data(), valid, layout.row_bytes, places.as<std::byte>());
    }
  });
  return places;
}

}  // namespace gpujoin::cpu
