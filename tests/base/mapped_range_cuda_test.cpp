// mapped_range_cuda_test.cpp: device memory that grows in place, is parked and is unmapped; all on
// the pool's account.
#include "src/base/mapped_range.hpp"

#include "tests/gpu_fixture.hpp"
#include "tests/own_queue.hpp"

namespace gpujoin::tests {
namespace {

using base::MappedRange;
using base::take_range;

class MappedRangeTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    page_ = queue().context.device->page_bytes;
    if (page_ == 0) GTEST_SKIP() << "this device maps no pages";
  }
  uint64_t page() const { return page_; }

 private:
  uint64_t page_ = 0;
};

using Mapped = MappedRangeTest;

void fill(base::Queue& queue, const MappedRange& range, uint64_t from, uint64_t bytes, int value) {
  base::check(cudaMemsetAsync(static_cast<unsigned char*>(range.data()) + from, value, bytes,
                              base::stream_of(queue)),
              "writing a test's pages");
}

TEST_F(Mapped, ARangeGrowsByWholePagesAndStaysWhereItIs) {
  uint64_t const in_use = pool().in_use_bytes();
  std::shared_ptr<MappedRange> const range = take_range(queue(), 1);
  void* const data = range->data();
  ASSERT_NE(data, nullptr);
  EXPECT_EQ(range->mapped_bytes(), 0U);
  EXPECT_TRUE(range->try_grow(0));
  EXPECT_EQ(range->mapped_bytes(), 0U);
  EXPECT_TRUE(range->try_grow(1));
  EXPECT_EQ(range->mapped_bytes(), page());
  EXPECT_TRUE(range->try_grow(page()));
  EXPECT_EQ(range->mapped_bytes(), page());
  EXPECT_TRUE(range->try_grow(2 * page() + 1));
  EXPECT_EQ(range->mapped_bytes(), 3 * page());
  EXPECT_TRUE(range->try_grow(5));
  EXPECT_EQ(range->mapped_bytes(), 3 * page()) << "a range does not shrink";
  EXPECT_EQ(range->data(), data);
  EXPECT_EQ(pool().in_use_bytes(), in_use + 3 * page());
}

TEST_F(Mapped, GrowingKeepsWhatWasWritten) {
  std::shared_ptr<MappedRange> const range = take_range(queue(), 1);
  for (int step = 1; step <= 3; ++step) {
    auto const before = static_cast<uint64_t>(step - 1) * page();
    ASSERT_TRUE(range->try_grow(before + page()));
    fill(queue(), *range, before, page(), step);
  }
  std::vector<unsigned char> const bytes =
      download<unsigned char>(queue(), range->data(), 3 * page());
  for (size_t i = 0; i < bytes.size(); ++i) ASSERT_EQ(bytes[i], i / page() + 1) << i;
}

TEST_F(Mapped, TheLimitStopsGrowthAndKeepsWhatIsMapped) {
  gpujoin_context_options options = cuda_options();
  options.memory_limit_bytes = 3 * page() + page() / 2;
  auto const limited = OwnQueue(options);
  base::Pool& limited_pool = *limited->device_pool;
  uint64_t const in_use = limited_pool.in_use_bytes();
  {
    std::shared_ptr<MappedRange> const range = take_range(*limited, 1);
    ASSERT_TRUE(range->try_grow(2 * page()));
    EXPECT_FALSE(range->try_grow(4 * page()));
    EXPECT_EQ(range->mapped_bytes(), 2 * page());
    EXPECT_EQ(limited_pool.in_use_bytes(), in_use + 2 * page());
    EXPECT_TRUE(range->try_grow(3 * page()));
    fill(*limited, *range, 0, 3 * page(), 1);
    EXPECT_THROW(limited_pool.allocate(base::Memory::kDevice, page(), "what is left is less"),
                 base::Error);
  }
  EXPECT_EQ(limited_pool.in_use_bytes(), in_use);
}

TEST_F(Mapped, NoRangeIsLargerThanTheDevice) {
  std::shared_ptr<MappedRange> const range = take_range(queue(), 1);
  EXPECT_FALSE(range->try_grow(queue().context.facts.memory_bytes + 2 * page()));
  EXPECT_EQ(range->mapped_bytes(), 0U);
}

TEST_F(Mapped, AParkedRangeServesAgainWithItsPages) {
  uint64_t const in_use = pool().in_use_bytes();
  void* data = nullptr;
  {
    std::shared_ptr<MappedRange> const range = take_range(queue(), 1);
    ASSERT_TRUE(range->try_grow(2 * page()));
    data = range->data();
  }
  EXPECT_EQ(pool().in_use_bytes(), in_use);
  EXPECT_EQ(pool().account().held_bytes(), in_use + 2 * page());
  std::shared_ptr<MappedRange> const again = take_range(queue(), page());
  EXPECT_EQ(again->data(), data);
  EXPECT_EQ(again->mapped_bytes(), 2 * page());
  EXPECT_EQ(pool().in_use_bytes(), in_use + 2 * page());
  EXPECT_EQ(pool().account().held_bytes(), in_use + 2 * page());
  fill(queue(), *again, 0, 2 * page(), 3);
}

TEST_F(Mapped, TheSmallestParkedRangeThatIsLargeEnoughIsTaken) {
  void* data[4] = {};
  {
    std::shared_ptr<MappedRange> ranges[4];
    for (uint64_t i = 0; i < 4; ++i) {
      ranges[i] = take_range(queue(), 1);
      ASSERT_TRUE(ranges[i]->try_grow((i + 1) * page()));
      data[i] = ranges[i]->data();
    }
  }
  std::shared_ptr<MappedRange> const two = take_range(queue(), 2 * page());
  EXPECT_EQ(two->data(), data[1]);
  std::shared_ptr<MappedRange> const next = take_range(queue(), 2 * page());
  EXPECT_EQ(next->data(), data[2]);
  // None is large enough: the largest of the others, which grows.
  std::shared_ptr<MappedRange> const large = take_range(queue(), 9 * page());
  EXPECT_EQ(large->data(), data[3]);
}

TEST_F(Mapped, TrimUnmapsParkedRangesAndNoOthers) {
  uint64_t const in_use = pool().in_use_bytes();
  std::shared_ptr<MappedRange> const kept = take_range(queue(), 1);
  ASSERT_TRUE(kept->try_grow(page()));
  fill(queue(), *kept, 0, page(), 7);
  {
    std::shared_ptr<MappedRange> const parked = take_range(queue(), 1);
    ASSERT_TRUE(parked->try_grow(3 * page()));
    fill(queue(), *parked, 0, 3 * page(), 1);  // may still be queued when the pages go
  }
  EXPECT_EQ(pool().account().held_bytes(), in_use + 4 * page());
  pool().account().trim();
  EXPECT_EQ(pool().account().held_bytes(), in_use + page());
  EXPECT_EQ(pool().in_use_bytes(), in_use + page());
  EXPECT_EQ(download<unsigned char>(queue(), kept->data(), page()),
            std::vector<unsigned char>(page(), 7));
}

TEST_F(Mapped, ParkedPagesMakeWayForARangeThatNeedsThem) {
  gpujoin_context_options options = cuda_options();
  options.memory_limit_bytes = 4 * page() + page() / 2;
  auto const limited = OwnQueue(options);
  {
    std::shared_ptr<MappedRange> const first = take_range(*limited, 1);
    std::shared_ptr<MappedRange> const second = take_range(*limited, 1);
    ASSERT_TRUE(first->try_grow(2 * page()));
    ASSERT_TRUE(second->try_grow(2 * page()));
  }
  // One of the parked two is taken, the other one's pages go.
  std::shared_ptr<MappedRange> const large = take_range(*limited, 4 * page());
  EXPECT_TRUE(large->try_grow(4 * page()));
  EXPECT_EQ(large->mapped_bytes(), 4 * page());
  EXPECT_LE(limited->device_pool->account().held_bytes(),
            limited->device_pool->account().limit_bytes());
}

TEST_F(Mapped, ARangeMayOutliveItsContext) {
  OwnQueue other = OwnQueue(cuda_options());
  std::shared_ptr<MappedRange> range = take_range(*other, 1);
  ASSERT_TRUE(range->try_grow(page()));
  fill(*other, *range, 0, page(), 5);
  base::finish(*other);
  other = {};
  EXPECT_EQ(download<unsigned char>(queue(), range->data(), page()),
            std::vector<unsigned char>(page(), 5));
  range.reset();
}

}  // namespace
}  // namespace gpujoin::tests
