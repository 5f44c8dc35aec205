// release_test.cpp: giving memory back when the process has none left: releases must not allocate.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <vector>

#include "src/base/status.hpp"
#include "tests/base/test_source.hpp"

namespace {

// While true, this thread's operator new has nothing.
thread_local bool is_out_of_memory = false;

void* allocate(std::size_t bytes) {
  void* const pointer = is_out_of_memory ? nullptr : std::malloc(bytes);
  if (pointer == nullptr) throw std::bad_alloc();
  return pointer;
}

}  // namespace

// Of the whole test program.
// The compiler may see one of a pair and inline the other, and takes them for no pair.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
void* operator new(std::size_t bytes) { return allocate(bytes); }
void* operator new[](std::size_t bytes) { return allocate(bytes); }
void operator delete(void* pointer) noexcept { std::free(pointer); }
void operator delete[](void* pointer) noexcept { std::free(pointer); }
void operator delete(void* pointer, std::size_t) noexcept { std::free(pointer); }
void operator delete[](void* pointer, std::size_t) noexcept { std::free(pointer); }

namespace gpujoin::base {
namespace {

class OutOfMemory {
 public:
  OutOfMemory() { is_out_of_memory = true; }
  ~OutOfMemory() { is_out_of_memory = false; }
};

TEST(Release, ABufferIsReleasedWithoutMemory) {
  Ledger ledger;
  auto const pool = make_pool(&ledger);
  std::vector<Buffer> buffers;
  for (uint64_t i = 1; i <= 20; ++i) {
    buffers.push_back(pool->allocate(Memory::kHost, i * 3 * kKiB, "a buffer"));
  }
  {
    OutOfMemory const none;
    buffers.clear();
  }
  EXPECT_EQ(pool->in_use_bytes(), 0U);
  EXPECT_EQ(pool->account().held_bytes(), ledger.live_bytes);
}

TEST(Release, AReleasedBufferServesAgainWithoutMemory) {
  Ledger ledger;
  auto const pool = make_pool(&ledger);
  { Buffer const first = pool->allocate(Memory::kHost, 3 * kMiB, "a buffer"); }
  {
    OutOfMemory const none;
    for (int again = 0; again < 3; ++again) {
      Buffer const buffer = pool->try_allocate(Memory::kHost, 3 * kMiB);
      ASSERT_TRUE(buffer);
    }
    pool->account().trim();
  }
  EXPECT_EQ(ledger.allocations, 1);
  EXPECT_EQ(ledger.live_bytes, 0U);
}

TEST(Release, ABlockThatCannotBeKeptTrackOfIsNotTaken) {
  Ledger ledger;
  auto const pool = make_pool(&ledger);
  {
    OutOfMemory const none;
    EXPECT_THROW(pool->try_allocate(Memory::kHost, kMiB), std::bad_alloc);
  }
  EXPECT_EQ(ledger.live_bytes, 0U);
  EXPECT_EQ(pool->account().held_bytes(), 0U);
  EXPECT_TRUE(pool->allocate(Memory::kHost, kMiB, "with memory again"));
}

}  // namespace
}  // namespace gpujoin::base
