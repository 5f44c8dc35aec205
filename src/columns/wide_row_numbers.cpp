#include "src/columns/wide_row_numbers.hpp"

#include <algorithm>
#include <cstring>

#include "src/base/copy.hpp"
#include "src/base/status.hpp"

namespace gpujoin::columns {

using base::Memory;

namespace {

// Turns `rows` uint32 into int64 where they stand: they fill the upper half of the memory, and
// writing from the front never reaches one that is still to be read.
void widen_in_place(void* values, int64_t rows) {
  auto* out = static_cast<std::byte*>(values);
  const std::byte* in = out + rows * 4;
  for (int64_t i = 0; i < rows; ++i) {
    uint32_t narrow = 0;
    std::memcpy(&narrow, in + i * 4, sizeof(narrow));
    int64_t const wide = narrow == GPUJOIN_NO_ROW ? GPUJOIN_NO_ROW_INT64 : int64_t{narrow};
    std::memcpy(out + i * 8, &wide, sizeof(wide));
  }
}

}  // namespace

void write_wide_on_host(base::Queue& queue, const JoinResult& result, const std::byte* source,
                        int64_t rows, std::byte* target, base::Memory target_memory) {
  base::copy(queue, target + rows * 4, target_memory, source, result.memory,
             static_cast<uint64_t>(rows) * 4);
  base::finish(queue);
  widen_in_place(target, rows);
}

void write_wide_on_device(base::Queue& queue, const JoinResult& result, const std::byte* source,
                          int64_t rows, std::byte* target, WidenOnDevice widen) {
  auto* wide = reinterpret_cast<int64_t*>(target);
  if (result.memory == Memory::kDevice) {
    widen(queue, reinterpret_cast<const uint32_t*>(source), static_cast<uint64_t>(rows), wide);
    return;
  }
  constexpr int64_t kPieceRows = 1 << 20;
  base::Buffer const piece = queue.device_pool->allocate_rows<uint32_t>(
      Memory::kDevice, static_cast<uint64_t>(std::min(rows, kPieceRows)), "row numbers to widen");
  for (int64_t done = 0; done < rows; done += kPieceRows) {
    auto const now = static_cast<uint64_t>(std::min(rows - done, kPieceRows));
    base::copy(queue, piece.data(), Memory::kDevice, source + done * 4, result.memory, now * 4);
    widen(queue, piece.as<uint32_t>(), now, wide + done);
  }
}

void write_numbers_of_caller(base::Queue& queue, const JoinResult& result, const std::byte* source,
                             int64_t rows, const std::vector<uint8_t>& bits, std::byte* target,
                             base::Memory target_memory, int32_t width,
                             const std::string& argument) {
  std::vector<int64_t> numbers(static_cast<size_t>(rows));
  base::copy(queue, numbers.data(), Memory::kHost, source, result.memory,
             numbers.size() * sizeof(int64_t));
  base::finish(queue);
  for (size_t i = 0; i < numbers.size() && !bits.empty(); ++i) {
    if ((bits[i / 8] >> (i % 8) & 1) == 0) numbers[i] = GPUJOIN_NO_ROW_INT64;
  }
  const void* written = numbers.data();
  std::vector<uint32_t> narrow;
  if (width == 4) {
    narrow.reserve(numbers.size());
    for (int64_t const number : numbers) {
      if (number >= int64_t{GPUJOIN_NO_ROW}) {
        base::fail(GPUJOIN_ERROR_TYPE, "%s.type is UINT32 and there is a row number %lld",
                   argument.c_str(), static_cast<long long>(number));
      }
      narrow.push_back(static_cast<uint32_t>(number));
    }
    written = narrow.data();
  }
  base::copy(queue, target, target_memory, written, Memory::kHost,
             numbers.size() * static_cast<size_t>(width));
  base::finish(queue);
}

}  // namespace gpujoin::columns
