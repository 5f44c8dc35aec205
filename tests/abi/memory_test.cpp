// memory_test.cpp: the caller's allocator, one that fails, and the context's limit.
#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>

#include "tests/abi/fixture.hpp"

using namespace gpujoin_test;

namespace {

// Host memory, counted. Call number `fail_at` (from 1) and all after it answer NULL while failing.
struct CountingAllocator {
  std::mutex mutex;
  std::map<void*, uint64_t> live;
  int64_t calls = 0;
  int64_t fail_at = 0;  // 0: never
  int64_t wrong = 0;    // blocks given back with another size, or never given out

  gpujoin_allocator get() {
    gpujoin_allocator allocator = GPUJOIN_ALLOCATOR_INIT;
    allocator.allocate = allocate;
    allocator.deallocate = deallocate;
    allocator.user = this;
    return allocator;
  }
  static void* allocate(uint64_t bytes, uint64_t alignment, gpujoin_memory memory, void*,
                        void* user) {
    auto& self = *static_cast<CountingAllocator*>(user);
    std::lock_guard const lock(self.mutex);
    ++self.calls;
    if (memory == GPUJOIN_MEMORY_DEVICE) ++self.wrong;
    if (self.fail_at != 0 && self.calls >= self.fail_at) return nullptr;
    void* pointer = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    self.live[pointer] = bytes;
    return pointer;
  }
  static void deallocate(void* pointer, uint64_t bytes, gpujoin_memory, void*, void* user) {
    auto& self = *static_cast<CountingAllocator*>(user);
    std::lock_guard const lock(self.mutex);
    auto const found = self.live.find(pointer);
    if (found == self.live.end() || found->second != bytes) {
      ++self.wrong;
      return;
    }
    std::free(pointer);
    self.live.erase(found);
  }
};

Spec everything() {
  Spec spec;
  spec.left_columns = {0, 1};
  spec.right_columns = {1};
  spec.output = GPUJOIN_OUTPUT_COLUMNS | GPUJOIN_OUTPUT_PAIRS;
  return spec;
}

gpujoin_context_info info_of(const Context& context) {
  gpujoin_context_info info = GPUJOIN_CONTEXT_INFO_INIT;
  EXPECT_OK(call(gpujoin_context_get_info, context.get(), &info));
  return info;
}

// Host memory only: the allocator of a CUDA context would have to call CUDA.
gpujoin_context_options cpu_options(const gpujoin_allocator* allocator) {
  gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
  options.device = GPUJOIN_DEVICE_CPU;
  options.allocator = allocator;
  return options;
}

class MemoryLimit : public DeviceTest {};
ON_EVERY_DEVICE(MemoryLimit);

}  // namespace

TEST(Allocator, GivesAllMemoryAndGetsItBack) {
  CountingAllocator counting;
  gpujoin_allocator const allocator = counting.get();
  Table const table = counting_table(20000, 5000);
  {
    Context const context = make_context(cpu_options(&allocator));
    Relation const relation = make_relation(context, table);
    Result const result = join(context, relation, relation, everything());
    EXPECT_EQ(rows_of(result), 80000);
    EXPECT_GT(counting.calls, 0);
    EXPECT_GT(counting.live.size(), 0u);
  }
  EXPECT_EQ(counting.live.size(), 0u);
  EXPECT_EQ(counting.wrong, 0);
}

TEST(Allocator, PoolsBlocksForTheNextJoin) {
  CountingAllocator counting;
  gpujoin_allocator const allocator = counting.get();
  Table const table = counting_table(20000, 5000);
  Context const context = make_context(cpu_options(&allocator));
  Relation const relation = make_relation(context, table);
  join(context, relation, relation, everything());
  int64_t const calls = counting.calls;
  for (int again = 0; again < 5; ++again) join(context, relation, relation, everything());
  // Threads share the work differently each time, so that a block more may be needed, not all.
  EXPECT_LE(counting.calls - calls, calls);
  EXPECT_OK(call(gpujoin_context_trim, context.get()));
  EXPECT_EQ(counting.live.size(), 0u);
  EXPECT_EQ(info_of(context).memory_used_bytes, 0u);
}

TEST(Allocator, MayFailAtAnyCall) {
  Table const table = counting_table(20000, 5000);
  CountingAllocator counting;
  gpujoin_allocator const allocator = counting.get();
  gpujoin_context_options options = cpu_options(&allocator);
  options.cpu_threads = 2;
  bool succeeded = false;
  for (int64_t n = 1; n < 1000 && !succeeded; ++n) {
    SCOPED_TRACE(n);
    {
      Context const context = make_context(options);
      Relation const relation = make_relation(context, table);
      gpujoin_join_spec const spec_of_wish = [] {
        static Spec const wish = everything();
        return wish.get();
      }();
      counting.calls = 0;
      counting.fail_at = n;
      gpujoin_result* raw = nullptr;
      Answer const answer = call(gpujoin_join, context.get(), relation.get(), relation.get(),
                                 &spec_of_wish, nullptr, &raw);
      Result result(raw);
      succeeded = answer.status == GPUJOIN_OK;
      if (!succeeded) {
        EXPECT_STATUS(answer, GPUJOIN_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(raw, nullptr);
        counting.fail_at = 0;
        EXPECT_OK(call(gpujoin_context_trim, context.get()));
        EXPECT_EQ(counting.live.size(), 0u) << "the failed join kept memory";
        result = join(context, relation, relation, everything());
      }
      EXPECT_EQ(rows_of(result), 80000);
      counting.fail_at = 0;
    }
    EXPECT_EQ(counting.live.size(), 0u);
    EXPECT_EQ(counting.wrong, 0);
  }
  EXPECT_TRUE(succeeded);
}

TEST(Allocator, GetsExportedArraysBackWhenTheyAreReleased) {
  CountingAllocator counting;
  gpujoin_allocator const allocator = counting.get();
  Table const table = counting_table(100, 10);
  ArrowSchema schema{};
  ArrowArray array{};
  {
    Context const context = make_context(cpu_options(&allocator));
    Relation const relation = make_relation(context, table);
    Result const result = join(context, relation, relation, everything());
    ASSERT_OK(call(gpujoin_result_export, result.get(), nullptr, &schema, &array));
  }
  EXPECT_GT(counting.live.size(), 0u);
  array.release(&array);
  EXPECT_EQ(counting.live.size(), 0u);
  schema.release(&schema);
}

TEST_P(MemoryLimit, IsKeptAndTheContextStaysUsable) {
  Table const table = counting_table(100000, 100);  // 10^8 pairs: 800 MB of pairs alone
  Table const small = counting_table(1000, 500);
  gpujoin_context_options limited = options();
  limited.memory_limit_bytes = uint64_t{64} << 20;
  Context const context = make_context(limited);
  Relation const relation = make_relation(context, table);
  Relation const small_relation = make_relation(context, small);
  Spec const wish;
  gpujoin_join_spec const spec = wish.get();
  gpujoin_result* result = nullptr;
  for (int again = 0; again < 2; ++again) {
    EXPECT_STATUS(
        call(gpujoin_join, context.get(), relation.get(), relation.get(), &spec, nullptr, &result),
        GPUJOIN_ERROR_MEMORY_LIMIT);
    EXPECT_EQ(result, nullptr);
    EXPECT_LE(info_of(context).memory_peak_bytes, limited.memory_limit_bytes);
    EXPECT_LE(info_of(context).memory_used_bytes, limited.memory_limit_bytes);
  }
  Result const fits = join(context, small_relation, small_relation, wish);
  EXPECT_EQ(rows_of(fits), 2000);
}

TEST_P(MemoryLimit, IsReportedWithWhatIsUsed) {
  Table const table = counting_table(10000, 5000);
  Context const context = make_context(options());
  Relation const relation = make_relation(context, table);
  {
    Result const result = join(context, relation, relation, everything());
    gpujoin_context_info const info = info_of(context);
    EXPECT_GE(info.memory_peak_bytes, uint64_t{20000} * (4 + 4 + 4 + 8 + 8));
    EXPECT_GE(info.memory_used_bytes, uint64_t{20000} * (4 + 4 + 4 + 8 + 8));
  }
  uint64_t const peak = info_of(context).memory_peak_bytes;
  Relation const tiny = make_relation(context, counting_table(0, 1));
  join(context, tiny, tiny, everything());
  EXPECT_GE(info_of(context).memory_peak_bytes, peak) << "a peak is of the context's whole life";
}
