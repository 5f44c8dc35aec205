// unseen_plan_test.cpp: what a thread remembers of its last choice is given only to who asks the
// same.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <thread>

#include "src/base/status.hpp"
#include "tests/plan/requests.hpp"

namespace gpujoin::plan {
namespace {

using testing::h200;
using testing::request_of;

struct Question {
  PlanRequest request = request_of(1000, 5000, 2);
  base::DeviceFacts facts = h200();
  uint64_t limit = uint64_t{1} << 30;
};

bool are_same(const StageCosts& some, const StageCosts& others) {
  return std::equal(some.begin(), some.end(), others.begin(), others.end(),
                    [](const StageCost& a, const StageCost& b) {
                      return std::string_view(a.stage) == b.stage &&
                             a.technique_text() == b.technique_text() && a.bytes == b.bytes &&
                             a.seconds == b.seconds;
                    });
}

// Asked once and once more, and both times answered as by who remembers nothing.
void expect_as_chosen(const Question& question, const std::string& what) {
  const PlanChoice fresh =
      choose_plan(question.request, SampleStatistics(), question.facts, question.limit);
  for (int time = 0; time < 2; ++time) {
    const PlanChoice choice = choose_plan_unseen(question.request, question.facts, question.limit);
    EXPECT_TRUE(choice.plan() == fresh.plan()) << what << ": " << to_text(choice.plan());
    EXPECT_TRUE(are_same(choice.predicted(), fresh.predicted())) << what;
    EXPECT_EQ(choice.memory_limit_bytes, fresh.memory_limit_bytes) << what;
    EXPECT_EQ(reason_of(choice), reason_of(fresh)) << what;
    EXPECT_FALSE(choice.sample.sampled) << what;
    ASSERT_EQ(choice.candidates.size(), fresh.candidates.size()) << what;
    for (size_t i = 0; i < fresh.candidates.size(); ++i) {
      EXPECT_TRUE(choice.candidates[i].plan == fresh.candidates[i].plan) << what;
      EXPECT_EQ(choice.candidates[i].seconds, fresh.candidates[i].seconds) << what;
      EXPECT_EQ(choice.candidates[i].memory_bytes, fresh.candidates[i].memory_bytes) << what;
    }
    const PlanChoice bare =
        choose_plan_unseen(question.request, question.facts, question.limit, false);
    EXPECT_TRUE(bare.plan() == fresh.plan() && are_same(bare.predicted(), fresh.predicted()))
        << what;
    EXPECT_EQ(bare.memory_limit_bytes, fresh.memory_limit_bytes) << what;
    EXPECT_EQ(reason_of(bare), reason_of(fresh)) << what;
    EXPECT_TRUE(bare.candidates.empty()) << what;
  }
}

struct Change {
  const char* what;
  std::function<void(Question*)> make;
};

// Each of them changes the choice, or what is said of it.
const std::vector<Change>& changes() {
  static const std::vector<Change> all = {
      {"left rows", [](Question* q) { q->request.left.rows = 100'000'000; }},
      {"right rows", [](Question* q) { q->request.right.rows = 10; }},
      {"key width",
       [](Question* q) { q->request.left.key_width = q->request.right.key_width = 8; }},
      {"payloads", [](Question* q) { q->request.right.payload_widths.push_back(16); }},
      {"key in the output", [](Question* q) { q->request.left.key_is_output = false; }},
      {"pairs", [](Question* q) { q->request.pairs = true; }},
      {"row numbers of one side",
       [](Question* q) {
         q->request.pairs = true;
         q->request.left.row_numbers = false;
       }},
      {"host memory", [](Question* q) { q->request.right.in_host_memory = true; }},
      {"NULL keys", [](Question* q) { q->request.left.key_nullable = true; }},
      {"two keys",
       [](Question* q) {
         q->request.key_count = 2;
         q->request.left.key_width = q->request.right.key_width = 8;
       }},
      {"algorithm", [](Question* q) { q->request.options.algorithm = GPUJOIN_ALGORITHM_SMJ_OM; }},
      {"filter", [](Question* q) { q->request.options.filter = GPUJOIN_FILTER_KEY_BITS; }},
      {"build side", [](Question* q) { q->request.options.build_side = GPUJOIN_SIDE_RIGHT; }},
      {"radix bits", [](Question* q) { q->request.options.radix_bits = 7; }},
      {"launches", [](Question* q) { q->facts.launch_seconds *= 100; }},
      {"the device", [](Question* q) { q->facts = base::cpu_facts(4); }},
      {"the limit", [](Question* q) { q->limit = 20'000; }},
      {"no limit", [](Question* q) { q->limit = 0; }},
  };
  return all;
}

TEST(UnseenPlan, IsTheOneThatWouldBeChosenAnew) {
  for (const int64_t rows : {0, 1, 1000, 1 << 20, 1 << 27}) {
    Question question;
    question.request = request_of(rows, 2 * rows, 1);
    expect_as_chosen(question, std::to_string(rows) + " rows");
  }
}

TEST(UnseenPlan, IsForgottenWhenAnythingIsAskedOtherwise) {
  for (const Change& change : changes()) {
    Question changed;
    change.make(&changed);
    expect_as_chosen(Question(), std::string("before ") + change.what);
    expect_as_chosen(changed, change.what);
    expect_as_chosen(Question(), std::string("after ") + change.what);
  }
  // And one change after the other, without the first question in between.
  for (const Change& change : changes()) {
    Question changed;
    change.make(&changed);
    expect_as_chosen(changed, std::string(change.what) + " among others");
  }
}

TEST(UnseenPlan, OfARefusedRequestIsRefusedAgainAndLeavesTheLastOne) {
  Question refused;
  refused.request.options.algorithm = GPUJOIN_ALGORITHM_NOP;
  refused.request.options.match = GPUJOIN_MATCH_MERGE_PATH;
  expect_as_chosen(Question(), "before");
  for (int time = 0; time < 2; ++time) {
    EXPECT_THROW(choose_plan_unseen(refused.request, refused.facts, refused.limit), base::Error);
  }
  expect_as_chosen(Question(), "after");
}

TEST(UnseenPlan, IsWhatEachThreadRemembersForItself) {
  Question other;
  other.request.options.algorithm = GPUJOIN_ALGORITHM_SMJ_OM;
  expect_as_chosen(Question(), "this thread");
  std::thread([&] { expect_as_chosen(other, "another thread"); }).join();
  expect_as_chosen(Question(), "this thread again");
}

}  // namespace
}  // namespace gpujoin::plan
