#include "src/execute/appended_rows.hpp"

#include <cstddef>
#include <cstring>
#include <utility>

#include "src/base/copy.hpp"
#include "src/base/without_cuda.hpp"
#include "src/columns/validity_bits.hpp"
#include "src/cpu/workers.hpp"

namespace gpujoin::execute {

namespace {

using base::Memory;
using columns::ResultColumn;
using columns::Storage;

constexpr uint64_t kTaskBytes = uint64_t{1} << 20;

void append_values(base::Queue& queue, Memory memory, const ColumnPart& part, uint8_t missing,
                   std::byte* target, uint64_t bytes) {
  if (memory == Memory::kDevice) {
    if (part.column == nullptr) return fill_on_gpu(queue, target, missing, bytes);
    return base::copy(queue, target, memory, part.column->data.get(), memory, bytes);
  }
  cpu::Workers workers(queue);
  workers.for_each_range("unmatched", bytes, kTaskBytes, [&](uint64_t first, uint64_t end) {
    if (part.column == nullptr) {
      std::memset(target + first, missing, end - first);
    } else {
      std::memcpy(target + first, static_cast<const std::byte*>(part.column->data.get()) + first,
                  end - first);
    }
  });
}

Storage append_bits_on_cpu(base::Queue& queue, std::span<const ColumnPart> parts, int64_t rows) {
  base::Buffer bits = queue.host_pool->allocate(Memory::kHost, columns::bitmap_words_bytes(rows),
                                                "validity of an output column");
  auto* const bitmap = bits.as<uint8_t>();
  std::memset(bitmap, 0, bits.bytes());
  int64_t at = 0;
  for (ColumnPart const& part : parts) {
    if (part.column != nullptr && part.column->validity != nullptr) {
      columns::append_bits(bitmap, at, static_cast<const uint8_t*>(part.column->validity.get()),
                           part.rows);
    } else {
      columns::append_same_bits(bitmap, at, part.column != nullptr, part.rows);
    }
    at += part.rows;
  }
  return columns::make_storage(std::move(bits));
}

}  // namespace

#if !GPUJOIN_WITH_CUDA
void fill_on_gpu(base::Queue&, void*, uint8_t, uint64_t) { base::fail_without_cuda(); }
Storage append_bits_on_gpu(base::Queue&, std::span<const ColumnPart>) { base::fail_without_cuda(); }
#endif

ResultColumn append_rows(base::Queue& queue, Memory memory, const ResultColumn& like,
                         std::span<const ColumnPart> parts, uint8_t missing, Storage* present) {
  ResultColumn made = like;
  made.data = made.validity = nullptr;
  made.null_count = 0;
  int64_t rows = 0;
  bool any_bits = false;
  bool any_missing = false;
  for (ColumnPart const& part : parts) {
    if (part.rows == 0) continue;
    if (part.column != nullptr) {
      made.null_count += part.column->null_count;
      any_bits = any_bits || part.column->validity != nullptr;
    } else {
      made.null_count += part.rows;
      any_missing = true;
    }
    rows += part.rows;
  }
  if (rows == 0) return made;
  for (ColumnPart const& part : parts) {
    if (part.column == nullptr || part.rows != rows) continue;
    made.data = part.column->data;
    made.validity = part.column->validity;
    return made;
  }
  auto const width = static_cast<uint64_t>(made.width);
  ColumnPart const& first = parts.front();
  bool const stays = first.column != nullptr && first.rows != 0 &&
                     first.column->room >= static_cast<uint64_t>(rows) &&
                     first.column->data.use_count() == 1;
  bool const on_device = memory == Memory::kDevice;
  base::Pool& pool = on_device ? *queue.device_pool : *queue.host_pool;
  if (stays) {
    made.data = first.column->data;
  } else {
    made.data = columns::make_storage(pool.allocate(
        memory, base::checked_bytes(static_cast<uint64_t>(rows), width), "an output column"));
  }
  auto* target = static_cast<std::byte*>(const_cast<void*>(made.data.get()));
  for (ColumnPart const& part : parts) {
    uint64_t const bytes = static_cast<uint64_t>(part.rows) * width;
    bool const is_there = stays && &part == &first;
    if (bytes != 0 && !is_there) append_values(queue, memory, part, missing, target, bytes);
    target += bytes;
  }
  if (!any_bits && !any_missing) return made;
  if (!any_bits && present != nullptr && *present != nullptr) {
    made.validity = *present;
    return made;
  }
  made.validity =
      on_device ? append_bits_on_gpu(queue, parts) : append_bits_on_cpu(queue, parts, rows);
  if (!any_bits && present != nullptr) *present = made.validity;
  return made;
}

}  // namespace gpujoin::execute
