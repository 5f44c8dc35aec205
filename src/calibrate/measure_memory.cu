// measure_memory.cu: the rates that plain kernels and copies show.
#include <algorithm>
#include <bit>
#include <functional>

#include "kernels/calibrate/random_inserts.cuh"
#include "kernels/calibrate/random_reads.cuh"
#include "src/base/copy.hpp"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/base/scatter_order.hpp"
#include "src/calibrate/calibrate.hpp"

namespace gpujoin::calibrate {

namespace {

using base::Buffer;
using base::check;
using base::Memory;
using base::stream_of;

// The sizes at which the built-in figures were measured, or half of them: at least eight times any
// L2.
constexpr int32_t kRowBits = 27;
constexpr uint64_t kRows = uint64_t{1} << kRowBits;  // of the table of random reads: 512 MiB
constexpr uint64_t kReads = kRows / 2;
constexpr uint64_t kSlots = kRows;  // of random inserts, at load one half: 1 GiB
constexpr uint64_t kCopyBytes = uint64_t{512} << 20;
constexpr uint64_t kHostCopyBytes = uint64_t{256} << 20;
constexpr uint64_t kShortKernelRows = 16384;
constexpr int kShortKernels = 256;
constexpr int kTries = 5;
// Of L2 the part that a table has for itself: the cost model's kUsableL2.
constexpr double kUsableL2 = 0.7;

class Timer {
 public:
  explicit Timer(base::Queue& queue) : queue_(queue) {
    for (cudaEvent_t* event : {&start_, &stop_}) {
      check(cudaEventCreate(event), "creating an event");
    }
  }
  ~Timer() {
    for (cudaEvent_t event : {start_, stop_}) {
      if (event != nullptr) cudaEventDestroy(event);
    }
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // Of the fastest run. prepare is queued before each and not timed.
  double seconds(
      const std::function<void()>& work, const std::function<void()>& prepare = [] {}) {
    double fastest = 0;
    for (int i = 0; i < kTries + 1; ++i) {  // the first loads the kernel
      queue_.check_cancelled();
      prepare();
      check(cudaEventRecord(start_, stream_of(queue_)), "recording an event");
      work();
      check(cudaEventRecord(stop_, stream_of(queue_)), "recording an event");
      check(cudaEventSynchronize(stop_), "waiting for a measurement");
      float milliseconds = 0;
      check(cudaEventElapsedTime(&milliseconds, start_, stop_), "reading the time");
      double const found = 1e-3 * static_cast<double>(milliseconds);
      if (i == 1 || (i > 1 && found < fastest)) fastest = found;
    }
    return fastest;
  }

 private:
  base::Queue& queue_;
  cudaEvent_t start_ = nullptr, stop_ = nullptr;
};

class Measurement {
 public:
  explicit Measurement(base::Queue& queue)
      : queue_(queue),
        pool_(*queue.device_pool),
        timer_(queue),
        rows_(pool_.allocate(Memory::kDevice, kReads * sizeof(uint32_t), "rows to read")) {
    upload_rows();
  }

  // Launches first: what is timed after it is without its one launch, which the cost model counts
  // apart.
  void run(base::DeviceFacts* facts) {
    measure_launch(facts);
    launch_seconds_ = facts->launch_seconds;
    measure_copies(facts);
    measure_reads(facts);
    measure_inserts(facts);
  }

 private:
  void upload_rows() {
    Buffer const host =
        queue_.host_pool->allocate(Memory::kHost, rows_.bytes(), "rows to read, on the host");
    for (uint32_t i = 0; i < kReads; ++i) host.as<uint32_t>()[i] = base::scattered(i, kRowBits);
    base::copy(queue_, rows_.data(), Memory::kDevice, host.data(), Memory::kHost, rows_.bytes());
    base::finish(queue_);
  }

  double without_launch(double seconds) const {
    return std::max(seconds - launch_seconds_, seconds / 2);
  }

  void read(const Buffer& table, uint64_t table_rows, uint64_t count, const Buffer& target) {
    kernels::random_reads_kernel<<<base::grid_of(count, kernels::kStreamTile),
                                   kernels::kStreamThreads, 0, stream_of(queue_)>>>(
        table.as<uint32_t>(), static_cast<uint32_t>(table_rows - 1), rows_.as<uint32_t>(), count,
        target.as<uint32_t>());
    check(cudaGetLastError(), "measuring random reads");
  }

  // Rows of `width` bytes that a table in L2 may have, a power of two.
  uint64_t rows_in_l2(uint64_t width) const {
    double const usable = kUsableL2 * static_cast<double>(queue_.context.facts.l2_bytes);
    return std::clamp(std::bit_floor(static_cast<uint64_t>(usable) / width), uint64_t{1} << 16,
                      kRows);
  }

  Buffer table(uint64_t bytes, const char* what) {
    Buffer buffer = pool_.allocate(Memory::kDevice, bytes, what);
    clear(buffer, bytes);
    return buffer;
  }
  void clear(const Buffer& buffer, uint64_t bytes) {
    check(cudaMemsetAsync(buffer.data(), 255, bytes, stream_of(queue_)), "clearing a table");
  }

  // A kernel of a few blocks and its gap to the next one.
  void measure_launch(base::DeviceFacts* facts) {
    Buffer const from = table(kShortKernelRows * sizeof(uint32_t), "a small table");
    Buffer const to = table(kShortKernelRows * sizeof(uint32_t), "what is read from it");
    double const seconds = timer_.seconds([&] {
      for (int i = 0; i < kShortKernels; ++i) read(from, kShortKernelRows, kShortKernelRows, to);
    });
    facts->launch_seconds = seconds / kShortKernels;
  }

  void measure_copies(base::DeviceFacts* facts) {
    Buffer const from = table(kCopyBytes, "what is copied");
    Buffer const to = table(kCopyBytes, "the copy");
    double const seconds = timer_.seconds([&] {
      base::copy(queue_, to.data(), Memory::kDevice, from.data(), Memory::kDevice, kCopyBytes);
    });
    facts->copy_bytes_per_second = 2.0 * static_cast<double>(kCopyBytes) / without_launch(seconds);

    // Pageable memory that was written, so that its pages are there.
    Buffer const host = queue_.host_pool->allocate(Memory::kHost, kHostCopyBytes, "what is copied");
    std::fill_n(host.as<uint64_t>(), kHostCopyBytes / sizeof(uint64_t), uint64_t{1});
    double const over_link = timer_.seconds([&] {
      base::copy(queue_, to.data(), Memory::kDevice, host.data(), Memory::kHost, kHostCopyBytes);
    });
    base::finish(queue_);
    facts->host_link_bytes_per_second = static_cast<double>(kHostCopyBytes) / over_link;
  }

  void measure_reads(base::DeviceFacts* facts) {
    Buffer const from = table(kRows * sizeof(uint32_t), "a table to read");
    Buffer const to = table(kReads * sizeof(uint32_t), "what is read from it");
    auto const rate = [&](uint64_t table_rows) {
      double const seconds = timer_.seconds([&] { read(from, table_rows, kReads, to); });
      return static_cast<double>(kReads) / without_launch(seconds);
    };
    facts->random_reads_per_second = rate(kRows);
    facts->l2_random_reads_per_second = rate(rows_in_l2(sizeof(uint32_t)));
  }

  void measure_inserts(base::DeviceFacts* facts) {
    Buffer const slots = table(kSlots * sizeof(uint64_t), "a table to fill");
    auto const rate = [&](uint64_t slot_count) {
      uint64_t const rows = slot_count / 2;
      double const seconds = timer_.seconds(
          [&] {
            kernels::random_inserts_kernel<<<base::grid_of(rows, kernels::kStreamThreads),
                                             kernels::kStreamThreads, 0, stream_of(queue_)>>>(
                slots.as<unsigned long long>(), static_cast<uint32_t>(slot_count - 1), rows);
            check(cudaGetLastError(), "measuring random inserts");
          },
          [&] { clear(slots, slot_count * sizeof(uint64_t)); });
      return static_cast<double>(rows) / without_launch(seconds);
    };
    facts->random_inserts_per_second = rate(kSlots);
    facts->l2_random_inserts_per_second = rate(rows_in_l2(sizeof(uint64_t)));
  }

  base::Queue& queue_;
  base::Pool& pool_;
  Timer timer_;
  Buffer rows_;
  double launch_seconds_ = 0;
};

}  // namespace

void measure_memory(base::Queue& queue, base::DeviceFacts* facts) { Measurement(queue).run(facts); }

}  // namespace gpujoin::calibrate
