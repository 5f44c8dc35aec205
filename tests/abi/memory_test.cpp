// memory_test.cpp: the caller's allocator, one that fails, and the context's limit.
#include "tests/abi/counting_allocator.hpp"
#include "tests/abi/fixture.hpp"

using namespace gpujoin_test;

namespace {

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

class Allocator : public DeviceTest {
 protected:
  gpujoin_context_options counted() {
    gpujoin_context_options with_allocator = options();
    with_allocator.allocator = &allocator;
    with_allocator.cpu_threads = 2;
    return with_allocator;
  }
  CountingAllocator counting;
  gpujoin_allocator allocator = counting.get();
  Table table = counting_table(20000, 5000);
  Spec wish = everything();
  gpujoin_join_spec spec = wish.get();
};
ON_EVERY_DEVICE(Allocator);

class MemoryLimit : public DeviceTest {};
ON_EVERY_DEVICE(MemoryLimit);

}  // namespace

TEST_P(Allocator, GivesAllMemoryAndGetsItBack) {
  {
    Context const context = make_context(counted());
    Relation const relation = make_relation(context, table);
    Result const result = join(context, relation, relation, wish);
    EXPECT_EQ(rows_of(result), 80000);
    EXPECT_GT(counting.calls, 0);
    uint64_t bytes = 0;
    for (auto const& [pointer, block] : counting.live) bytes += block.bytes;
    EXPECT_GE(bytes, uint64_t{80000} * (4 + 4 + 4 + 8 + 8)) << "the result lies elsewhere";
  }
  EXPECT_EQ(counting.live.size(), 0u);
  EXPECT_EQ(counting.wrong, 0);
}

TEST_P(Allocator, PoolsBlocksForTheNextJoin) {
  Context const context = make_context(counted());
  size_t const of_the_context = counting.live.size();
  Relation const relation = make_relation(context, table);
  counting.calls = 0;
  join(context, relation, relation, wish);
  int64_t const calls = counting.calls;
  for (int again = 0; again < 5; ++again) join(context, relation, relation, wish);
  // Threads share the work differently each time, so that a block more may be needed, not all.
  EXPECT_LE(counting.calls - calls, calls);
  EXPECT_OK(call(gpujoin_context_trim, context.get()));
  EXPECT_EQ(counting.live.size(), of_the_context);
  EXPECT_EQ(counting.wrong, 0);
}

TEST_P(Allocator, MayFailAtAnyCallOfAJoin) {
  // Where there is no room, a plan that needs less may find some.
  bool is_over = false;
  for (int64_t n = 1; n < 1000 && !is_over; ++n) {
    SCOPED_TRACE(n);
    {
      counting.fail_at = 0;
      Context const context = make_context(counted());
      size_t const of_the_context = counting.live.size();
      Relation const relation = make_relation(context, table);
      counting.calls = 0;
      counting.fail_at = n;
      gpujoin_result* raw = nullptr;
      Answer const answer =
          call(gpujoin_join, context.get(), relation.get(), relation.get(), &spec, nullptr, &raw);
      is_over = counting.calls < n;
      counting.fail_at = 0;
      Result result(raw);
      if (answer.status != GPUJOIN_OK) {
        EXPECT_STATUS(answer, GPUJOIN_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(raw, nullptr);
        EXPECT_OK(call(gpujoin_context_trim, context.get()));
        EXPECT_EQ(counting.live.size(), of_the_context) << "the failed join kept memory";
        result = join(context, relation, relation, wish);
      }
      EXPECT_EQ(rows_of(result), 80000);
    }
    EXPECT_EQ(counting.live.size(), 0u);
    EXPECT_EQ(counting.wrong, 0);
  }
  EXPECT_TRUE(is_over);
}

TEST_P(Allocator, MayFailAtAnyCallOfAContext) {
  bool succeeded = false;
  for (int64_t n = 1; n < 100 && !succeeded; ++n) {
    counting.calls = 0;
    counting.fail_at = n;
    gpujoin_context_options const with_allocator = counted();
    gpujoin_context* raw = nullptr;
    Answer const answer = call(gpujoin_context_create, &with_allocator, &raw);
    Context const context(raw);
    succeeded = answer.status == GPUJOIN_OK;
    if (!succeeded) {
      EXPECT_STATUS(answer, GPUJOIN_ERROR_OUT_OF_MEMORY);
      EXPECT_EQ(counting.live.size(), 0u);
    }
  }
  EXPECT_TRUE(succeeded);
  EXPECT_EQ(counting.live.size(), 0u);
}

TEST_P(Allocator, MayFailAtAnyCallOfAnExport) {
  Context const context = make_context(counted());
  Relation const relation = make_relation(context, table);
  Result const result = join(context, relation, relation, wish);
  bool succeeded = false;
  for (int64_t n = 1; n < 100 && !succeeded; ++n) {
    EXPECT_OK(call(gpujoin_context_trim, context.get()));
    size_t const before = counting.live.size();
    counting.calls = 0;
    counting.fail_at = n;
    ArrowSchema schema{};
    ArrowArray array{};
    Answer const answer = call(gpujoin_result_export, result.get(), nullptr, &schema, &array);
    counting.fail_at = 0;
    succeeded = answer.status == GPUJOIN_OK;
    if (succeeded) {
      array.release(&array);
      schema.release(&schema);
    } else {
      EXPECT_STATUS(answer, GPUJOIN_ERROR_OUT_OF_MEMORY);
      EXPECT_EQ(array.release, nullptr);
      EXPECT_EQ(schema.release, nullptr);
    }
    EXPECT_OK(call(gpujoin_context_trim, context.get()));
    EXPECT_EQ(counting.live.size(), before);
  }
  EXPECT_TRUE(succeeded);
}

TEST_P(Allocator, GetsExportedArraysBackWhenTheyAreReleased) {
  ArrowSchema schema{};
  ArrowArray array{};
  {
    Context const context = make_context(counted());
    Relation const relation = make_relation(context, table);
    Result const result = join(context, relation, relation, wish);
    ASSERT_OK(call(gpujoin_result_export, result.get(), nullptr, &schema, &array));
  }
  EXPECT_GT(counting.live.size(), 0u);
  array.release(&array);
  EXPECT_EQ(counting.live.size(), 0u);
  EXPECT_EQ(counting.wrong, 0);
  schema.release(&schema);
}

TEST_P(MemoryLimit, IsKeptAndTheContextStaysUsable) {
  Table const table = counting_table(100000, 100);  // 10^8 pairs: 800 MB of pairs alone
  Table const small = counting_table(1000, 500);
  gpujoin_context_options limited = options();
  limited.memory_limit_bytes = uint64_t{64} << 20;
  // Where a join in pieces puts its rows.
  limited.host_limit_bytes = uint64_t{64} << 20;
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
