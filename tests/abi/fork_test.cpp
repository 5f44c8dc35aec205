// fork_test.cpp: children of a process in which other threads are in the middle of joins.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "tests/abi/fixture.hpp"

using namespace gpujoin_test;

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kForks = 300;
constexpr int64_t kRows = 40000;
constexpr auto kDeadline = std::chrono::seconds(30);

// What a child answers instead of an exit status.
constexpr int kHangs = -1;
constexpr int kCrashed = -2;

int exit_status_of(pid_t child) {
  auto const deadline = Clock::now() + kDeadline;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (Clock::now() > deadline) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return kHangs;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : kCrashed;
}

// Runs in a child, where nothing of GTest may: 0, or the number of the step that failed. Beside
// joins of the CPU the child is not to start a GPU, which takes it longer than the test.
int join_in_child(gpujoin_device parent, const gpujoin_column* columns) {
  constexpr int32_t kKey = 0;
  gpujoin_context* context = nullptr;
  gpujoin_relation* relation = nullptr;
  gpujoin_result* result = nullptr;
  gpujoin_join_spec spec = GPUJOIN_JOIN_SPEC_INIT;
  spec.kind = GPUJOIN_JOIN_INNER;
  spec.key_count = 1;
  spec.left_keys = &kKey;
  spec.right_keys = &kKey;
  int64_t rows = 0;
  gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
  if (parent == GPUJOIN_DEVICE_CPU) options.device = GPUJOIN_DEVICE_CPU;
  if (gpujoin_context_create(&options, &context, nullptr) != GPUJOIN_OK) return 1;
  if (gpujoin_relation_create(context, kRows, columns, 2, &relation, nullptr) != GPUJOIN_OK) {
    return 2;
  }
  if (gpujoin_join(context, relation, relation, &spec, nullptr, &result, nullptr) != GPUJOIN_OK) {
    return 3;
  }
  if (gpujoin_result_get_rows(result, &rows, nullptr) != GPUJOIN_OK || rows != kRows) return 4;
  gpujoin_result_destroy(result);
  gpujoin_relation_destroy(relation);
  gpujoin_context_destroy(context);
  return 0;
}

void* allocate_slowly(uint64_t bytes, uint64_t alignment, gpujoin_memory, void*, void*) {
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}
void deallocate_slowly(void* pointer, uint64_t, gpujoin_memory, void*, void*) {
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  std::free(pointer);
}

class Fork : public DeviceTest {
 protected:
  // Joins on a thread until the test is over, with handles that come and go.
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped()) return;
    joining_ = std::thread([this] {
      Context const context = make_context(device());
      while (!stop_) {
        Relation const relation = make_relation(context, table);
        Relation const other = make_relation(context, table);
        EXPECT_EQ(rows_of(join(context, relation, other, Spec())), kRows);
        has_joined_ = true;
      }
    });
    while (!has_joined_) std::this_thread::yield();
  }
  void TearDown() override {
    stop_ = true;
    if (joining_.joinable()) joining_.join();
  }

  Table table = counting_table(kRows, kRows);

 private:
  std::atomic<bool> has_joined_{false};
  std::atomic<bool> stop_{false};
  std::thread joining_;
};
ON_EVERY_DEVICE(Fork);

}  // namespace

TEST_P(Fork, AChildMakesAContextOfItsOwnAndJoins) {
#if defined(__SANITIZE_ADDRESS__)
  // A thread that is in it when the process forks leaves its lock to the child for good.
  GTEST_SKIP() << "the sanitizer's allocator does not outlive a fork beside other threads";
#endif
  std::vector<gpujoin_column> columns;
  for (const Column& column : table) columns.push_back(column.descriptor());
  for (int i = 0; i < kForks; ++i) {
    pid_t const child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) _exit(join_in_child(device(), columns.data()));
    ASSERT_EQ(exit_status_of(child), 0) << "child " << i;
  }
}

TEST(ForkOfABusyPool, AChildMayLetGoOfWhatItInherits) {
  gpujoin_allocator allocator = GPUJOIN_ALLOCATOR_INIT;
  allocator.allocate = allocate_slowly;
  allocator.deallocate = deallocate_slowly;
  gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
  options.device = GPUJOIN_DEVICE_CPU;
  options.allocator = &allocator;
  Context context = make_context(options);
  Table const table = counting_table(1000, 1000);
  Relation relation = make_relation(context, table);
  Spec spec;
  spec.left_columns = {0, 1};
  Plan plan = make_plan(context, relation, relation, spec);
  Result result = execute(plan);
  ArrowSchema schema{};
  ArrowArray array{};
  ASSERT_OK(call(gpujoin_result_export, result.get(), nullptr, &schema, &array));

  // The pool that both processes know is locked nearly always: its blocks come and go, slowly.
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) {
      EXPECT_EQ(rows_of(execute(plan)), 1000);
      EXPECT_OK(call(gpujoin_context_trim, context.get()));
    }
  });
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    pid_t const child = fork();
    if (child == 0) {
      array.release(&array);
      schema.release(&schema);
      gpujoin_result_destroy(result.get());
      gpujoin_plan_destroy(plan.get());
      gpujoin_relation_destroy(relation.get());
      gpujoin_context_destroy(context.get());
      _exit(0);
    }
    int const status = exit_status_of(child);
    EXPECT_EQ(status, 0) << "child " << i;
    if (status != 0) break;
  }
  stop = true;
  busy.join();
  EXPECT_EQ(rows_of(result), 1000);
  array.release(&array);
  schema.release(&schema);
}
