#include "src/match/chunked_columns.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

#include "src/base/device.hpp"
#include "src/base/status.hpp"
#include "src/output/close_chunks.hpp"

namespace gpujoin::match {

using base::Memory;

namespace {

// Half of a block's last chunk is empty on average, and filled with rows that are moved. Where a
// block has few chunks these are most of all: H200, 2*10^6 rows of 528 blocks, 1.1*10^6 of them,
// in 17 us of 130. Of smaller chunks they are fewer, and a block's warps wait for the next one more
// often, nearly a microsecond: both together are least where a block has so many chunks.
uint32_t chunk_for(uint64_t rows, uint64_t width, uint64_t blocks) {
  constexpr double kBytesMovedMeanwhile = 2e6;
  double const bytes = static_cast<double>(rows) * static_cast<double>(width);
  double const of_block = std::max(1.0, std::sqrt(bytes / kBytesMovedMeanwhile));
  double const wanted = static_cast<double>(rows) / (of_block * static_cast<double>(blocks + 1));
  return static_cast<uint32_t>(std::clamp<uint64_t>(std::bit_floor(static_cast<uint64_t>(wanted)),
                                                    kernels::kLeastCarriedChunk,
                                                    kernels::kCarriedChunk));
}

// Of the largest chunks, also of short outputs: of many a few rows more come than were expected.
uint64_t spare_places(uint64_t blocks) { return blocks * kernels::kCarriedChunk; }

}  // namespace

void check_count(const std::vector<CarriedOutput>& outputs) {
  if (outputs.size() <= kernels::kCarriedColumns) return;
  base::fail(GPUJOIN_ERROR_INTERNAL, "%zu columns to write at once", outputs.size());
}

int32_t common_width(const std::vector<CarriedOutput>& outputs) {
  int32_t width = 0;
  for (CarriedOutput const& output : outputs) {
    if (output.from == kernels::CarriedFrom::kKey) continue;
    if (width != 0 && output.width != width) return 0;
    width = output.width;
  }
  if (width == 0) return 4;
  return width == 4 || width == 8 ? width : 0;
}

int32_t column_width(const std::vector<CarriedOutput>& outputs, int32_t key_width) {
  int32_t const width = common_width(outputs);
  bool const widens = std::any_of(outputs.begin(), outputs.end(), [&](const CarriedOutput& output) {
    return output.from == kernels::CarriedFrom::kKey && output.width != key_width;
  });
  return widens && width == 4 ? 0 : width;
}

uint64_t row_width(const std::vector<CarriedOutput>& outputs) {
  uint64_t width = 0;
  for (CarriedOutput const& output : outputs) width += static_cast<uint64_t>(output.width);
  return width;
}

ChunkedColumns::ChunkedColumns(base::Queue& queue, const std::vector<CarriedOutput>& outputs,
                               uint64_t behind, uint64_t most_rows)
    : queue_(queue),
      outputs_(outputs),
      behind_(behind),
      most_rows_(most_rows == 0 ? UINT64_MAX : most_rows),
      counters_(queue.device_pool->allocate_rows<kernels::CarriedCounters>(
          Memory::kDevice, 1, "counters of output chunks")) {
  check_count(outputs);
}

uint64_t ChunkedColumns::whole_chunks(uint64_t rows) const {
  return (rows + chunk_ - 1) / chunk_ * chunk_;
}

bool ChunkedColumns::try_make_room(uint64_t rows) {
  columns_.clear();
  room_ = 0;
  for (CarriedOutput const& output : outputs_) {
    base::Buffer column = queue_.device_pool->try_allocate(
        Memory::kDevice, base::checked_bytes(rows, static_cast<uint64_t>(output.width)));
    if (!column) {
      columns_.clear();
      return false;
    }
    columns_.push_back(std::move(column));
  }
  room_ = rows;
  return true;
}

void ChunkedColumns::fail(uint64_t rows) const {
  base::Pool const& pool = *queue_.device_pool;
  base::fail(
      pool.account().limit_bytes() != 0 ? GPUJOIN_ERROR_MEMORY_LIMIT : GPUJOIN_ERROR_OUT_OF_MEMORY,
      "no room for %llu rows of %zu output columns: %llu bytes are in use",
      static_cast<unsigned long long>(rows), outputs_.size(),
      static_cast<unsigned long long>(pool.account().in_use_bytes()));
}

void ChunkedColumns::expect(uint64_t rows, uint64_t blocks) {
  // At first no more than memory may hold.
  uint64_t const most = std::min(queue_.context.facts.memory_bytes, most_rows_);
  chunk_ = chunk_for(rows, row_width(outputs_), blocks);
  uint64_t wanted = whole_chunks(std::min(rows + behind_, most) + spare_places(blocks));
  while (!try_make_room(wanted)) {
    if (wanted <= chunk_) fail(wanted);
    wanted = whole_chunks(wanted / 2);
  }
}

void ChunkedColumns::require(uint32_t blocks) {
  chunk_ = chunk_for(done_.rows, row_width(outputs_), std::max<uint64_t>(blocks_, blocks));
  // Chunks go to other blocks in other launches.
  uint64_t const needed =
      whole_chunks(done_.rows + behind_) + spare_places(std::max<uint64_t>(blocks_, blocks));
  if (!try_make_room(needed)) fail(needed);
}

void ChunkedColumns::start_counters() {
  ++done_.launches;
  blocks_ = 0;
  // Launches of joins that leave partitions to one another, and of a set of each side.
  constexpr uint64_t kMostLaunches = 5;
  constexpr uint64_t kMostBlocksPerSm = kernels::kThreadsPerSm / kernels::kTableThreads;
  static_assert(kernels::kTableThreads <= kernels::CarriedShape<4>::kThreads);
  tails_ = queue_.device_pool->allocate_rows<unsigned long long>(
      Memory::kDevice,
      kMostLaunches * kMostBlocksPerSm * static_cast<uint64_t>(queue_.context.facts.sm_count),
      "tails of output chunks");
  base::check(cudaMemsetAsync(counters_.data(), 0, counters_.bytes(), base::stream_of(queue_)),
              "starting the counters of output chunks");
}

void ChunkedColumns::add_launch(uint32_t blocks) {
  bool const is_first = blocks_ == 0;
  blocks_ += blocks;
  if (is_first) return;
  // What a launch is told and tells about units; chunks go on.
  using Counters = kernels::CarriedCounters;
  constexpr size_t kFirst = offsetof(Counters, taken);
  base::check(cudaMemsetAsync(&counters_.as<Counters>()->taken, 0, sizeof(Counters) - kFirst,
                              base::stream_of(queue_)),
              "starting the counters of a launch");
}

bool ChunkedColumns::collect() {
  std::vector<kernels::SqueezedColumn> columns;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    columns.push_back({columns_[i].data(), outputs_[i].width});
  }
  found_ = output::close_chunks(
      queue_,
      {counters_.as<kernels::CarriedCounters>(), tails_.as<unsigned long long>(),
       static_cast<uint32_t>(tails_.bytes() / sizeof(unsigned long long)), chunk_, room_},
      columns);
  uint64_t const places = base::checked_bytes(found_.chunks, chunk_);
  done_.rows = places - found_.holes + found_.missed;
  if (done_.rows > most_rows_) {
    base::fail(GPUJOIN_ERROR_ROW_LIMIT, "%llu rows or more",
               static_cast<unsigned long long>(done_.rows));
  }
  done_.without_build = found_.alone_of_probe;
  done_.without_probe = found_.alone_of_build;
  return places <= room_;
}

WrittenRows ChunkedColumns::finish() {
  for (size_t i = 0; i < outputs_.size() && done_.rows != 0; ++i) {
    *outputs_[i].target = columns::make_storage(std::move(columns_[i]));
  }
  done_.room = room_;
  return done_;
}

}  // namespace gpujoin::match
