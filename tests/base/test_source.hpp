// test_source.hpp: a source of a pool's blocks that a test can see into.
#pragma once

#include <cstdlib>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "src/base/memory.hpp"

namespace gpujoin::base {

constexpr uint64_t kKiB = 1024;
constexpr uint64_t kMiB = 1024 * kKiB;

struct Ledger {
  int allocations = 0;
  int deallocations = 0;
  int fail_from = -1;  // the call, counted from 0, from which on there is no memory
  int fail_until = 1 << 30;
  uint64_t live_bytes = 0;
  std::set<void*> live;
  std::vector<std::pair<const Stream*, const Stream*>> orders;  // earlier, later
};

class TestSource final : public MemorySource {
 public:
  explicit TestSource(Ledger* ledger) : ledger_(*ledger) {}
  void* allocate(Memory, uint64_t bytes, const Stream*) override {
    int const call = ledger_.allocations++;
    if (ledger_.fail_from >= 0 && call >= ledger_.fail_from && call < ledger_.fail_until) {
      return nullptr;
    }
    void* pointer = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    ledger_.live.insert(pointer);
    ledger_.live_bytes += bytes;
    return pointer;
  }
  void deallocate(Memory, void* pointer, uint64_t bytes, const Stream*) noexcept override {
    ++ledger_.deallocations;
    ledger_.live.erase(pointer);
    ledger_.live_bytes -= bytes;
    std::free(pointer);
  }
  void put_in_order(const Stream* earlier, const Stream* later) override {
    ledger_.orders.emplace_back(earlier, later);
  }

 private:
  Ledger& ledger_;
};

inline std::shared_ptr<Pool> make_pool(Ledger* ledger, uint64_t limit = 0,
                                       Memory limited = Memory::kHost) {
  return std::make_shared<Pool>(
      std::make_shared<Account>(std::make_unique<TestSource>(ledger), limited, limit));
}

}  // namespace gpujoin::base
