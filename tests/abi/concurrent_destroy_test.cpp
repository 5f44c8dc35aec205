// concurrent_destroy_test.cpp: handles destroyed by one thread while another uses them, and handles
// that are none.
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "tests/abi/fixture.hpp"

using namespace gpujoin_test;

namespace {

constexpr int32_t kInvalid = GPUJOIN_ERROR_INVALID_ARGUMENT;
constexpr int64_t kMatches = 100 * 10 * 2;

class ConcurrentDestroy : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped()) return;
    context = make_context(device());
    left = make_relation(context, left_table);
    right = make_relation(context, right_table);
  }
  // Several times: `use` on a thread of its own until it is refused, and after a moment, another
  // one each time, `destroy` on this thread. What `use` answers is right, or INVALID_ARGUMENT.
  static void race(const std::function<void()>& make, const std::function<Answer()>& use,
                   const std::function<void()>& destroy) {
    for (int round = 0; round < 60; ++round) {
      make();
      std::atomic<bool> begun{false};
      std::thread user([&] {
        Answer answer;
        do {
          answer = use();
          begun = true;
        } while (answer.status == GPUJOIN_OK);
        EXPECT_STATUS(answer, kInvalid);
      });
      while (!begun) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::microseconds(17 * (round % 20)));
      destroy();
      user.join();
    }
  }
  gpujoin_result* join_now() const {
    gpujoin_join_spec const wish = spec.get();
    gpujoin_result* out = nullptr;
    EXPECT_OK(call(gpujoin_join, context.get(), left.get(), right.get(), &wish, nullptr, &out));
    return out;
  }

  Table left_table = counting_table(1000, 100);
  Table right_table = counting_table(300, 150);
  Spec spec = [] {
    Spec both;
    both.left_columns = {0, 1};
    both.right_columns = {1};
    both.output = GPUJOIN_OUTPUT_COLUMNS | GPUJOIN_OUTPUT_PAIRS;
    return both;
  }();
  Context context;
  Relation left;
  Relation right;
};
ON_EVERY_DEVICE(ConcurrentDestroy);

}  // namespace

// Threads that found it before have a place of their own where they look.
TEST_P(ConcurrentDestroy, OfAContextThatManyThreadsHaveUsed) {
  constexpr int kThreads = 9;
  gpujoin_context* made = nullptr;
  gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
  options.device = device();
  ASSERT_OK(call(gpujoin_context_create, &options, &made));
  auto const ask = [&] {
    gpujoin_context_info info = GPUJOIN_CONTEXT_INFO_INIT;
    return call(gpujoin_context_get_info, made, &info);
  };
  std::atomic<int> asked{0};
  std::atomic<bool> is_destroyed{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      EXPECT_OK(ask());
      ++asked;
      while (!is_destroyed) std::this_thread::yield();
      EXPECT_STATUS(ask(), kInvalid);
    });
  }
  while (asked != kThreads) std::this_thread::yield();
  gpujoin_context_destroy(made);
  is_destroyed = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_STATUS(ask(), kInvalid);
}

TEST_P(ConcurrentDestroy, OfAPlanThatIsExecuted) {
  gpujoin_plan* plan = nullptr;
  auto const wish = spec.get();
  race(
      [&] {
        ASSERT_OK(call(gpujoin_plan_create, context.get(), left.get(), right.get(), &wish, nullptr,
                       &plan));
      },
      [&] {
        gpujoin_result* out = nullptr;
        Answer const answer = call(gpujoin_plan_execute, plan, &out);
        int64_t rows = 0;
        if (answer.status == GPUJOIN_OK) {
          EXPECT_OK(call(gpujoin_result_get_rows, out, &rows));
          EXPECT_EQ(rows, kMatches);
        }
        gpujoin_result_destroy(out);
        return answer;
      },
      [&] { gpujoin_plan_destroy(plan); });
}

TEST_P(ConcurrentDestroy, OfAResultThatIsFetched) {
  gpujoin_result* result = nullptr;
  race([&] { result = join_now(); },
       [&] {
         std::vector<int64_t> values(kMatches);
         gpujoin_fetch fetch = fetch_of(GPUJOIN_FETCH_COLUMN, 2, values.data(), kMatches * 8);
         std::vector<uint8_t> bits(kMatches / 8);
         fetch.validity = bits.data();
         fetch.validity_bytes = bits.size();
         return call(gpujoin_result_fetch, result, nullptr, &fetch, 1);
       },
       [&] { gpujoin_result_destroy(result); });
}

TEST_P(ConcurrentDestroy, OfAResultThatIsExported) {
  gpujoin_result* result = nullptr;
  race([&] { result = join_now(); },
       [&] {
         ArrowSchema schema{};
         ArrowArray array{};
         Answer const answer = call(gpujoin_result_export, result, nullptr, &schema, &array);
         if (answer.status == GPUJOIN_OK) {
           EXPECT_EQ(array.length, kMatches);
           schema.release(&schema);
           array.release(&array);
         }
         return answer;
       },
       [&] { gpujoin_result_destroy(result); });
}

TEST_P(ConcurrentDestroy, OfARelationThatIsJoined) {
  auto const wish = spec.get();
  race([&] { left = make_relation(context, left_table); },
       [&, raw = &left] {
         gpujoin_result* out = nullptr;
         Answer const answer =
             call(gpujoin_join, context.get(), raw->get(), right.get(), &wish, nullptr, &out);
         gpujoin_result_destroy(out);
         return answer;
       },
       // The pointer stays: it is the handle's value that the other thread goes on using.
       [&] { gpujoin_relation_destroy(left.get()); });
  left.release();
}

TEST_P(ConcurrentDestroy, OfAContextThatJoins) {
  gpujoin_context* other = nullptr;
  gpujoin_context_options const wishes = options();
  gpujoin_column const column = left_table[0].descriptor();
  race([&] { ASSERT_OK(call(gpujoin_context_create, &wishes, &other)); },
       [&] {
         gpujoin_relation* relation = nullptr;
         Answer answer = call(gpujoin_relation_create, other, 1000, &column, 1, &relation);
         if (answer.status != GPUJOIN_OK) return answer;
         gpujoin_result* out = nullptr;
         gpujoin_join_spec const plain = Spec().get();
         gpujoin_join_spec pairs = plain;
         static constexpr int32_t kKey = 0;
         pairs.left_keys = &kKey;
         pairs.right_keys = &kKey;
         answer = call(gpujoin_join, other, relation, relation, &pairs, nullptr, &out);
         gpujoin_relation_destroy(relation);
         gpujoin_result_destroy(out);
         return answer;
       },
       [&] { gpujoin_context_destroy(other); });
}

TEST_P(ConcurrentDestroy, WhatWasDestroyedIsRefusedByName) {
  gpujoin_join_spec const wish = spec.get();
  gpujoin_plan* plan = make_plan(context, left, right, spec).get();  // destroyed at the semicolon
  gpujoin_result* result = join(context, left, right, spec).get();
  gpujoin_relation* relation = make_relation(context, left_table).get();
  gpujoin_context* gone = make_context(device()).get();
  // New ones do not take the places of those.
  Plan const new_plan = make_plan(context, left, right, spec);
  Result const new_result = join(context, left, right, spec);
  gpujoin_result* out = nullptr;
  int64_t rows = 0;
  EXPECT_NAMES(call(gpujoin_plan_execute, plan, &out), kInvalid, "plan");
  EXPECT_NAMES(call(gpujoin_result_get_rows, result, &rows), kInvalid, "result");
  EXPECT_NAMES(call(gpujoin_relation_get_size, relation, &rows, nullptr), kInvalid, "relation");
  EXPECT_NAMES(call(gpujoin_context_cancel, gone), kInvalid, "context");
  EXPECT_NAMES(call(gpujoin_join, context.get(), relation, right.get(), &wish, nullptr, &out),
               kInvalid, "left");
  EXPECT_NAMES(call(gpujoin_join, context.get(), left.get(), relation, &wish, nullptr, &out),
               kInvalid, "right");
  EXPECT_NAMES(call(gpujoin_join, gone, left.get(), right.get(), &wish, nullptr, &out), kInvalid,
               "context");
  // A second destroy is as harmless as one of NULL.
  gpujoin_plan_destroy(plan);
  gpujoin_result_destroy(result);
  gpujoin_relation_destroy(relation);
  gpujoin_context_destroy(gone);
  EXPECT_EQ(rows_of(new_result), kMatches);
  EXPECT_EQ(rows_of(execute(new_plan)), kMatches);
}

TEST_P(ConcurrentDestroy, PointersToSomethingElseAreRefused) {
  gpujoin_result* out = nullptr;
  int64_t rows = 0;
  char text[64] = "no handle";
  for (void* pointer : {static_cast<void*>(text), static_cast<void*>(text + 1),
                        static_cast<void*>(context.get()), reinterpret_cast<void*>(UINTPTR_MAX)}) {
    auto* const plan = static_cast<gpujoin_plan*>(pointer);
    auto* const result = static_cast<gpujoin_result*>(pointer);
    EXPECT_NAMES(call(gpujoin_plan_execute, plan, &out), kInvalid, "plan");
    EXPECT_NAMES(call(gpujoin_result_get_rows, result, &rows), kInvalid, "result");
    gpujoin_plan_destroy(plan);
    gpujoin_result_destroy(result);
  }
  EXPECT_OK(call(gpujoin_context_trim, context.get()));
}
