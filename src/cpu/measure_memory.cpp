#include "src/cpu/measure_memory.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstring>
#include <functional>

#include "src/base/scatter_order.hpp"
#include "src/cpu/workers.hpp"

namespace gpujoin::cpu {

namespace {

using base::Buffer;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kLargeBytes = uint64_t{512} << 20;  // beyond the caches of most sockets
constexpr uint64_t kCopyBytes = kLargeBytes / 2;
constexpr int32_t kOrderBits = 27;                 // of the places that are accessed
constexpr uint64_t kAccesses = uint64_t{1} << 21;  // of each thread
constexpr int64_t kPiecesEach = 8;  // of each thread, so that the last ones to end are short
constexpr int kRegions = 100;
// Of work for each thread of a parallel region: enough that all of them take part.
constexpr auto kShortWork = std::chrono::microseconds(50);
constexpr int kTries = 3;
constexpr double kUsableCache =
    0.7;  // the cost model's share of a cache that a table has for itself
constexpr uint64_t kEmptySlot = ~uint64_t{0};

class Measurement {
 public:
  explicit Measurement(base::Queue& queue)
      : queue_(queue),
        workers_(queue),
        memory_(queue.host_pool->allocate(base::Memory::kHost, kLargeBytes, "memory to measure")) {
    fill(kLargeBytes);  // pages are there before anything is timed
  }

  void run(base::DeviceFacts* facts) {
    facts->launch_seconds = region_seconds();
    facts->copy_bytes_per_second = copy_rate();
    uint64_t const in_cache = bytes_in_cache();
    facts->random_reads_per_second = read_rate(kLargeBytes);
    facts->l2_random_reads_per_second = read_rate(in_cache);
    facts->random_inserts_per_second = insert_rate(kLargeBytes);
    facts->l2_random_inserts_per_second = insert_rate(in_cache);
  }

 private:
  static double seconds(
      const std::function<void()>& work, const std::function<void()>& prepare = [] {}) {
    double fastest = 0;
    for (int i = 0; i < kTries; ++i) {
      prepare();
      auto const start = Clock::now();
      work();
      double const found = std::chrono::duration<double>(Clock::now() - start).count();
      if (i == 0 || found < fastest) fastest = found;
    }
    return fastest;
  }

  // body(first, end) for pieces of 0 .. count - 1.
  void in_pieces(uint64_t count, const std::function<void(uint64_t, uint64_t)>& body) {
    auto const pieces = static_cast<uint64_t>(workers_.threads() * kPiecesEach);
    workers_.for_each("calibrate", static_cast<int64_t>(pieces), [&](int64_t item, int32_t) {
      auto const i = static_cast<uint64_t>(item);
      body(count * i / pieces, count * (i + 1) / pieces);
    });
  }

  void fill(uint64_t bytes) {
    in_pieces(bytes, [&](uint64_t first, uint64_t end) {
      std::memset(memory_.as<char>() + first, 255, end - first);
    });
  }

  uint64_t bytes_in_cache() const {
    double const usable = kUsableCache * static_cast<double>(queue_.context.facts.l2_bytes);
    return std::bit_floor(static_cast<uint64_t>(usable));
  }

  // What a parallel region takes beyond the work that each of its threads does.
  double region_seconds() {
    double const taken = seconds([&] {
      for (int i = 0; i < kRegions; ++i) {
        workers_.for_each("calibrate", workers_.threads(), [](int64_t, int32_t) {
          auto const end = Clock::now() + kShortWork;
          while (Clock::now() < end) {
          }
        });
      }
    });
    double const work = std::chrono::duration<double>(kShortWork).count();
    return std::max(taken / kRegions - work, 1e-7);
  }

  double copy_rate() {
    char* const from = memory_.as<char>();
    double const taken = seconds([&] {
      in_pieces(kCopyBytes, [&](uint64_t first, uint64_t end) {
        std::memcpy(from + kCopyBytes + first, from + first, end - first);
      });
    });
    return 2.0 * static_cast<double>(kCopyBytes) / taken;
  }

  // How many accesses of a table: those of all threads.
  uint64_t accesses() const { return kAccesses * static_cast<uint64_t>(workers_.threads()); }

  double read_rate(uint64_t table_bytes) {
    auto const* table = memory_.as<uint32_t>();
    uint64_t const mask = table_bytes / sizeof(uint32_t) - 1;
    std::atomic<uint64_t> total{0};  // so that the reads are for something
    double const taken = seconds([&] {
      in_pieces(accesses(), [&](uint64_t first, uint64_t end) {
        uint64_t sum = 0;
        for (uint64_t i = first; i < end; ++i) {
          sum += table[base::scattered(static_cast<uint32_t>(i), kOrderBits) & mask];
        }
        total += sum;
      });
    });
    return static_cast<double>(accesses()) / taken;
  }

  // At load one half at most.
  double insert_rate(uint64_t table_bytes) {
    auto* slots = memory_.as<uint64_t>();
    uint64_t const mask = table_bytes / sizeof(uint64_t) - 1;
    uint64_t const rows = std::min(accesses(), (mask + 1) / 2);
    double const taken = seconds(
        [&] {
          in_pieces(rows, [&](uint64_t first, uint64_t end) {
            for (uint64_t i = first; i < end; ++i) {
              insert(slots, mask, base::scattered(static_cast<uint32_t>(i), kOrderBits), i);
            }
          });
        },
        [&] { fill(table_bytes); });
    return static_cast<double>(rows) / taken;
  }

  static void insert(uint64_t* slots, uint64_t mask, uint64_t slot, uint64_t row) {
    for (;; ++slot) {
      uint64_t expected = kEmptySlot;
      if (std::atomic_ref(slots[slot & mask])
              .compare_exchange_strong(expected, row, std::memory_order_relaxed)) {
        return;
      }
    }
  }

  base::Queue& queue_;
  Workers workers_;
  Buffer memory_;
};

}  // namespace

void measure_memory(base::Queue& queue, base::DeviceFacts* facts) { Measurement(queue).run(facts); }

}  // namespace gpujoin::cpu
