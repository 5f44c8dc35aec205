#include "src/keys/marks.hpp"

#include <thrust/iterator/counting_iterator.h>
#include <cub/device/device_select.cuh>

#include <algorithm>
#include <bit>

#include "kernels/keys/marks.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"

namespace gpujoin::keys {

using base::check;
using base::Memory;
using base::stream_of;

namespace {

uint32_t words_of(uint32_t rows) { return static_cast<uint32_t>((uint64_t{rows} + 31) / 32); }

base::Buffer cleared_words(base::Queue& queue, uint32_t rows) {
  base::Buffer words =
      queue.device_pool->allocate_rows<uint32_t>(Memory::kDevice, words_of(rows), "marks of rows");
  if (rows == 0) return words;
  check(cudaMemsetAsync(words.data(), 0, words.bytes(), stream_of(queue)),
        "clearing marks of rows");
  return words;
}

// Blocks that fill the device write a bit a row each, and each row is there several times.
bool marks_in_shared(const base::Queue& queue, uint32_t rows, uint64_t count) {
  constexpr uint64_t kFewest = uint64_t{1} << 18;
  return count >= std::max(kFewest, uint64_t{2} * rows) &&
         words_of(rows) * sizeof(uint32_t) <= queue.context.facts.shared_bytes_per_block;
}

// In steps, as what has been asked for is remembered.
uint32_t shared_mark_bytes(const base::Queue& queue, uint32_t rows) {
  auto const bytes = std::bit_ceil(words_of(rows) * uint32_t{sizeof(uint32_t)});
  return std::min(bytes, static_cast<uint32_t>(queue.context.facts.shared_bytes_per_block));
}

}  // namespace

RowMarks::RowMarks(base::Queue& queue, uint32_t rows)
    : RowMarks(queue, cleared_words(queue, rows), rows) {}

RowMarks::RowMarks(base::Queue& queue, base::Buffer bits, uint32_t rows)
    : columns::RowMarks(std::move(bits), rows), queue_(queue) {}

void RowMarks::mark_kept(const uint32_t* numbers, const uint32_t* kept, uint64_t count) {
  if (count == 0) return;
  if (marks_in_shared(queue_, rows(), count)) {
    uint32_t const words_count = words_of(rows());
    uint32_t const shared = shared_mark_bytes(queue_, rows());
    unsigned const resident =
        base::resident_blocks(queue_, kernels::mark_in_shared_kernel, kernels::kSharedMarkThreads,
                              shared, "asking for shared memory of marks");
    base::launch_dependent(queue_, kernels::mark_in_shared_kernel, resident,
                           kernels::kSharedMarkThreads, shared, "marking rows", numbers, kept,
                           count, words_count, mutable_words());
    return;
  }
  base::launch_dependent(queue_, kernels::mark_rows_kernel,
                         base::grid_of(count, kernels::kStreamTile), kernels::kStreamThreads, 0,
                         "marking rows", numbers, kept, count, mutable_words());
}

void RowMarks::mark_flagged(const uint32_t* rows, const uint8_t* flags, uint64_t count) {
  if (count == 0) return;
  base::launch_dependent(queue_, kernels::mark_flagged_kernel,
                         base::grid_of(count, kernels::kStreamTile), kernels::kStreamThreads, 0,
                         "marking rows by flags", rows, flags, count, mutable_words());
}

std::optional<uint32_t> RowMarks::mark_once(const uint32_t* rows, uint64_t count) {
  if (count == 0) return std::nullopt;
  auto* const lowest = queue_.device->counters.as<uint32_t>();
  check(cudaMemsetAsync(lowest, 0xff, sizeof(uint32_t), stream_of(queue_)),
        "starting the lowest row with two matches");
  base::launch_dependent(queue_, kernels::mark_rows_once_kernel,
                         base::grid_of(count, kernels::kStreamTile), kernels::kStreamThreads, 0,
                         "marking rows with one match", rows, count, mutable_words(), lowest);
  uint32_t const found = base::read_back(queue_, lowest);
  return found == kernels::kNoRow ? std::nullopt : std::optional(found);
}

uint32_t RowMarks::count() {
  if (rows() == 0) return 0;
  uint32_t const words_count = words_of(rows());
  base::ZeroedCounts zeroed(queue_, sizeof(kernels::MarksState));
  auto* const answer = reinterpret_cast<kernels::MarksAnswer*>(base::start_answer(queue_));
  auto const resident =
      static_cast<unsigned>(queue_.context.facts.sm_count * kernels::kRangeBlocksPerSm);
  base::launch_dependent(queue_, kernels::count_marks_kernel,
                         std::min(base::grid_of(words_count, kernels::kStreamTile), resident),
                         kernels::kStreamThreads, 0, "counting marked rows", words(), words_count,
                         zeroed.as<kernels::MarksState>(), answer);
  zeroed.all_launched();
  base::await_answer(queue_);
  return static_cast<uint32_t>(answer->content);
}

RowMarks::Rows RowMarks::select(bool are_marked, uint32_t count) {
  Rows found;
  found.count = count;
  if (count == 0) return found;
  base::Pool& pool = *queue_.device_pool;
  found.numbers = pool.allocate_rows<uint32_t>(Memory::kDevice, count, "numbers of marked rows");
  thrust::counting_iterator<uint32_t> const all_rows(0);
  kernels::IsMarked const is_wanted{words(), are_marked};
  auto* const selected = found.numbers.as<uint32_t>();
  auto* const counted = queue_.device->counters.as<uint32_t>();
  size_t bytes = 0;
  check(cub::DeviceSelect::If(nullptr, bytes, all_rows, selected, counted, int64_t{rows()},
                              is_wanted, stream_of(queue_)),
        "sizing the selection of marked rows");
  base::Buffer const storage = pool.allocate(Memory::kDevice, bytes, "selection storage");
  check(cub::DeviceSelect::If(storage.data(), bytes, all_rows, selected, counted, int64_t{rows()},
                              is_wanted, stream_of(queue_)),
        "selecting marked rows");
  return found;
}

}  // namespace gpujoin::keys
