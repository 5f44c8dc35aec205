// attempts_test.cpp: what follows a plan whose keys do not suit it, and that its memory is weighed
// beforehand.
#include "src/plan/attempts.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "src/base/status.hpp"
#include "src/plan/side_rule.hpp"
#include "tests/plan/requests.hpp"

namespace gpujoin::plan {
namespace {

using testing::dense_sample;
using testing::h200;
using testing::pairs_request;
using testing::request_of;
using testing::sample_of;
using testing::sparse_sample;

constexpr int64_t kRows22 = int64_t{1} << 22;
constexpr int64_t kRows27 = int64_t{1} << 27;

PlanRequest naming(gpujoin_algorithm algorithm, int64_t build_rows, int64_t probe_rows) {
  PlanRequest request = request_of(build_rows, probe_rows, 2);
  request.options.algorithm = algorithm;
  return request;
}

std::vector<Attempt> attempts_for(const PlanRequest& request, uint64_t limit = 0,
                                  const SampleStatistics& sample = {}) {
  return choose_plan(request, sample, h200(), limit).attempts;
}

TEST(Attempts, APlanThatSuitsAllKeysIsTheOnlyOne) {
  for (const gpujoin_algorithm algorithm :
       {GPUJOIN_ALGORITHM_PHJ_CARRIED, GPUJOIN_ALGORITHM_PHJ_OM, GPUJOIN_ALGORITHM_NOP}) {
    EXPECT_EQ(attempts_for(naming(algorithm, kRows22, kRows27)).size(), 1U);
  }
}

// Keys that repeat on the smaller side are often those of a foreign key.
TEST(Attempts, ATableOfTheOtherSideIsTriedWhereNobodyNamedASide) {
  PlanRequest request = request_of(240'000, 160'000, 1);
  const auto sides = [&] {
    std::vector<Side> built;
    const std::vector<Attempt> attempts = attempts_for(request);
    const Attempt* attempt = &attempts.front();
    for (; attempt != nullptr; attempt = next_attempt(attempts, *attempt, Finding::kKeysRepeat)) {
      built.push_back(attempt->plan.build_side);
    }
    return built;
  };
  EXPECT_EQ(sides(), (std::vector<Side>{Side::kRight, Side::kLeft, Side::kLeft}));
  request.options.build_side = GPUJOIN_SIDE_RIGHT;
  EXPECT_EQ(sides(), (std::vector<Side>{Side::kRight, Side::kRight}));
  request = request_of(10'000'000, 100'000, 1);
  EXPECT_EQ(sides(), (std::vector<Side>{Side::kRight, Side::kRight}));
}

// Keys of a table that is in vain, of a side with nearly as many rows as the other one.
TEST(Attempts, PartitionsAreOfTheOtherSideWhereASidesKeysRepeat) {
  const auto built_after_repeats = [](const PlanRequest& request) {
    const std::vector<Attempt> attempts = attempts_for(request);
    const Attempt* last = &attempts.front();
    const auto next = [&] { return next_attempt(attempts, *last, Finding::kKeysRepeat); };
    while (next() != nullptr) last = next();
    EXPECT_TRUE(partitions(last->plan.transform));
    return last->plan.build_side;
  };
  PlanRequest request = request_of(2'700'000, 1'500'000, 3);
  EXPECT_EQ(built_after_repeats(request), Side::kLeft);
  request.options.build_side = GPUJOIN_SIDE_RIGHT;
  EXPECT_EQ(built_after_repeats(request), Side::kRight);
  EXPECT_EQ(built_after_repeats(request_of(27'000'000, 1'500'000, 3)), Side::kRight);
}

TEST(Attempts, JoinsInOneLaunchTurnWhereKeysAreSeenToRepeat) {
  const auto most = [](const PlanRequest& request) {
    const std::vector<Attempt> attempts = attempts_for(request);
    const uint32_t of_first = most_repeats_seen(attempts, attempts.front(), request);
    for (const Attempt& attempt : attempts) {
      if (&attempt != &attempts.front()) {
        EXPECT_EQ(most_repeats_seen(attempts, attempt, request), UINT32_MAX);
      }
    }
    return of_first;
  };
  EXPECT_EQ(most(request_of(460'000, 390'000, 1)), 0U);
  EXPECT_EQ(most(request_of(390'000, 460'000, 1)), 0U);
  // Of keys drawn evenly from the larger side's 36 000 * 31 / 67 000 are seen.
  EXPECT_EQ(most(request_of(67'000, 36'000, 1)), 2U * 16 + 16);
  // No table of the other side follows.
  EXPECT_EQ(most(request_of(1'000'000, 10'000, 1)), UINT32_MAX);
  PlanRequest named = request_of(460'000, 390'000, 1);
  named.options.build_side = GPUJOIN_SIDE_RIGHT;
  EXPECT_EQ(most(named), UINT32_MAX);
  EXPECT_EQ(most(request_of(4'600'000, 3'900'000, 1)), UINT32_MAX);
}

TEST(Attempts, ATableOfAddressesIsFollowedByOneOfHashesAndByPartitions) {
  const auto attempts = attempts_for(naming(GPUJOIN_ALGORITHM_DIRECT_CARRIED, kRows22, kRows27));
  ASSERT_EQ(attempts.size(), 3U);
  EXPECT_EQ(attempts[0].after, Finding::kJoined);
  EXPECT_EQ(algorithm_name(attempts[0].plan), "DIRECT-CARRIED");
  const Attempt* const scattered = next_attempt(attempts, attempts[0], Finding::kKeysScattered);
  ASSERT_NE(scattered, nullptr);
  EXPECT_EQ(algorithm_name(scattered->plan), "NOP-CARRIED");
  for (const Attempt* const table : {&attempts[0], scattered}) {
    const Attempt* const repeats = next_attempt(attempts, *table, Finding::kKeysRepeat);
    ASSERT_NE(repeats, nullptr);
    EXPECT_EQ(algorithm_name(repeats->plan), "PHJ-CARRIED");
    EXPECT_GT(repeats->plan.radix_bits, 0);
  }
  EXPECT_EQ(next_attempt(attempts, *scattered, Finding::kKeysScattered), nullptr);
  EXPECT_EQ(next_attempt(attempts, attempts.back(), Finding::kKeysRepeat), nullptr);
  try {
    attempt_after(attempts, attempts.back(), Finding::kKeysRepeat);
    ADD_FAILURE() << "an attempt that nobody planned";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.status(), GPUJOIN_ERROR_INTERNAL);
  }
}

TEST(Attempts, EachIsCompleteAndLegal) {
  for (const gpujoin_algorithm algorithm :
       {GPUJOIN_ALGORITHM_AUTOMATIC, GPUJOIN_ALGORITHM_DIRECT_CARRIED,
        GPUJOIN_ALGORITHM_NOP_CARRIED}) {
    for (const int64_t rows : {int64_t{1000}, int64_t{100'000}, kRows22, kRows27}) {
      for (const Attempt& attempt : attempts_for(naming(algorithm, rows, 2 * rows))) {
        SCOPED_TRACE(to_text(attempt.plan));
        EXPECT_EQ(why_illegal(attempt.plan), std::nullopt);
        EXPECT_GT(attempt.bytes, 0U);
        EXPECT_GT(attempt.seconds, 0);
        EXPECT_GT(attempt.memory_bytes, 0U);
        EXPECT_NE(attempt.stages.size(), 0U);
        EXPECT_EQ(attempt.plan.expected_rows, 2 * rows);
      }
    }
  }
}

TEST(Attempts, FewRowsOfRepeatedKeysAreJoinedByPairs) {
  const auto attempts = attempts_for(naming(GPUJOIN_ALGORITHM_DIRECT_CARRIED, 1000, 100'000));
  ASSERT_EQ(attempts.size(), 2U) << "one launch hashes scattered keys by itself";
  EXPECT_EQ(attempts[1].after, Finding::kKeysRepeat);
  EXPECT_EQ(algorithm_name(attempts[1].plan), "NOP");
}

// Keys of one side are scattered and repeat, and those of the other are scattered: partitions are
// built on the side that has few of the rows, else on the one that was tried last.
TEST(Attempts, PartitionsAreBuiltOnTheSideWithFewerRows) {
  struct Case {
    PlanRequest request;
    Side build_side;
  };
  for (const Case& of : {Case{request_of(826'458, 6'045'977, 1), Side::kLeft},
                         Case{request_of(826'458, 3'000'000, 1), Side::kRight}}) {
    const auto attempts = attempts_for(of.request);
    const Attempt* last = &attempts.front();
    for (const Finding found :
         {Finding::kKeysScattered, Finding::kKeysRepeat, Finding::kKeysScattered}) {
      ASSERT_TRUE(probes_table(last->plan.match)) << to_text(last->plan);
      last = next_attempt(attempts, *last, found);
      ASSERT_NE(last, nullptr) << to_text(found);
    }
    EXPECT_TRUE(partitions(last->plan.transform)) << to_text(last->plan);
    EXPECT_EQ(last->plan.build_side, of.build_side) << to_text(last->plan);
  }
}

TEST(Attempts, RowsThatStayInOrderAreNotPartitionedForScatteredKeys) {
  PlanRequest request = request_of(100'000, kRows27, 1);
  request.options.match = GPUJOIN_MATCH_DIRECT_TABLE;
  request.in_order = true;
  base::DeviceFacts slow = h200();
  slow.random_inserts_per_second = slow.l2_random_inserts_per_second = 1e8;
  for (const bool in_order : {true, false}) {
    request.options.match = GPUJOIN_MATCH_DIRECT_TABLE;
    const Candidate table = choose_plan(request, {}, slow, 0).attempts.front();
    request.options.match = 0;
    request.in_order = in_order;
    const auto attempts = attempts_of(table, {}, request, {}, slow, 0);
    const Attempt* const scattered = next_attempt(attempts, attempts[0], Finding::kKeysScattered);
    ASSERT_NE(scattered, nullptr);
    EXPECT_EQ(probes_table(scattered->plan.match), in_order) << to_text(scattered->plan);
  }
}

TEST(Attempts, BitsThatDoNotFitAreFollowedByTheSameWithoutAFilter) {
  PlanRequest request = naming(GPUJOIN_ALGORITHM_PHJ_CARRIED, kRows27, kRows27);
  request.options.filter = GPUJOIN_FILTER_KEY_BITS;
  const auto attempts = attempts_for(request);
  ASSERT_EQ(attempts.size(), 2U);
  EXPECT_EQ(attempts[0].plan.radix_bits, 0) << "known when rows were left out";
  EXPECT_EQ(attempts[1].after, Finding::kKeysScattered);
  EXPECT_EQ(attempts[1].plan.filter, Filter::kNone);
  EXPECT_GT(attempts[1].plan.radix_bits, 0);
}

// The partitions that would follow a table need more memory than the table: where they do not fit,
// pairs follow, or the table is not taken.
TEST(Attempts, TheMemoryOfEachIsWeighed) {
  int by_pairs = 0;
  int all_fit = 0;
  for (const gpujoin_algorithm algorithm :
       {GPUJOIN_ALGORITHM_AUTOMATIC, GPUJOIN_ALGORITHM_DIRECT_CARRIED}) {
    for (uint64_t limit = uint64_t{1} << 30; limit < uint64_t{16} << 30; limit += 100'000'000) {
      const PlanChoice choice = choose_plan(naming(algorithm, kRows22, kRows27),
                                            dense_sample(kRows22, kRows27, 1), h200(), limit);
      if (choice.attempts.front().memory_bytes > limit) continue;
      uint64_t least = UINT64_MAX;
      for (const Candidate& candidate : choice.candidates) {
        const auto attempts =
            attempts_of(candidate, choice.candidates, naming(algorithm, kRows22, kRows27),
                        choice.sample, h200(), limit);
        least = std::min(least, most_memory(attempts));
      }
      if (least <= limit) {
        EXPECT_LE(most_memory(choice.attempts), limit) << limit;
        ++all_fit;
      }
      for (const Attempt& attempt : choice.attempts) {
        const bool is_pairs = attempt.plan.gather == Gather::kUntransformed;
        by_pairs += attempt.after == Finding::kKeysRepeat && is_pairs ? 1 : 0;
      }
    }
  }
  EXPECT_GT(by_pairs, 0);
  EXPECT_GT(all_fit, 0);
}

TEST(Attempts, WhatNeedsLeastIsTheLastResort) {
  const PlanChoice choice = choose_plan(request_of(kRows27, kRows27, 4), sample_of(1), h200(), 0);
  const Attempt* const last =
      next_attempt(choice.attempts, choice.attempts.front(), Finding::kNoRoom);
  ASSERT_NE(last, nullptr);
  for (const Candidate& candidate : choice.candidates) {
    EXPECT_GE(candidate.memory_bytes, last->memory_bytes);
  }
  EXPECT_EQ(next_attempt(choice.attempts, *last, Finding::kNoRoom), nullptr);
}

// H200, 1.7*10^5 x 1.1*10^7 rows, eight of a key, of which 5 % match: 0.65 ms without a look, 0.25
// with one.
TEST(Attempts, ALookComesBeforePartitionsOfRepeatedKeys) {
  const auto pays = [](const PlanRequest& request) {
    const std::vector<Attempt> attempts = attempts_for(request);
    const Attempt& next = attempt_after(attempts, attempts.front(), Finding::kKeysRepeat);
    return pays_to_look(next, request, h200());
  };
  EXPECT_TRUE(pays(pairs_request(172'960, 11'161'352)));
  // A table of the other side is tried first, and pairs of a few rows cost what they cost.
  EXPECT_FALSE(pays(request_of(8'830'819, 8'233'637, 1, 8)));
  EXPECT_FALSE(pays(request_of(12'716, 1'900'000, 4)));
  EXPECT_FALSE(pays(pairs_request(300'000, 2'600'000))) << "it is done sooner than the look";
}

// A scan of the build keys tells of sides in order, before a table is made that no look chose: they
// are merged where that takes less, and searched in the larger side where both are unique.
TEST(Attempts, MergeSidesThatTurnOutToLieInOrder) {
  const PlanRequest request = request_of(3'000'000, 1'700'000, 2);
  const auto attempts = attempts_for(request);
  ASSERT_EQ(algorithm_name(attempts.front().plan), "DIRECT-CARRIED");
  const Attempt* const merged = next_attempt(attempts, attempts.front(), Finding::kKeysInOrder);
  const Attempt* const unique = next_attempt(attempts, attempts.front(), Finding::kUniqueInOrder);
  ASSERT_NE(merged, nullptr);
  ASSERT_NE(unique, nullptr);
  EXPECT_EQ(algorithm_name(merged->plan), "SMJ-CARRIED");
  EXPECT_EQ(merged->plan.build_side, Side::kRight);
  EXPECT_EQ(algorithm_name(unique->plan), "SMJ-CARRIED");
  EXPECT_EQ(unique->plan.build_side, Side::kLeft);
  for (const Attempt* const each : {merged, unique}) {
    EXPECT_NE(next_attempt(attempts, *each, Finding::kKeysUnordered), nullptr);
  }
  EXPECT_LT(merged->seconds,
            attempt_after(attempts, attempts.front(), Finding::kKeysScattered).seconds);

  const auto merges = [](const std::vector<Attempt>& list) {
    return std::any_of(list.begin(), list.end(), [](const Attempt& attempt) {
      return attempt.plan.match == Match::kMergeTiles;
    });
  };
  EXPECT_FALSE(merges(attempts_for(request, 0, sparse_sample(1)))) << "a look has told";
  EXPECT_FALSE(merges(attempts_for(naming(GPUJOIN_ALGORITHM_DIRECT_CARRIED, 3'000'000, 1'700'000))))
      << "whoever named a table gets what comes of it";
  EXPECT_FALSE(merges(attempts_for(request_of(100'000, 3'000'000, 2)))) << "one launch";
  EXPECT_FALSE(merges(attempts_for(request_of(1'000'000, 3'000'000, 2)))) << "hashed in L2";
  PlanRequest on_its_way = request;
  on_its_way.left.in_host_memory = true;
  EXPECT_FALSE(merges(attempts_for(on_its_way))) << "nobody waits for its order";
}

// An attempt that keys may end has one behind it, the last resort's too.
TEST(Attempts, LeaveNoKeysUnjoined) {
  int seen = 0;
  for (const uint64_t limit : {uint64_t{0}, uint64_t{1} << 21, uint64_t{1} << 30}) {
    for (const int64_t rows : {int64_t{1000}, int64_t{100'000}, kRows22, kRows27}) {
      for (const int32_t key_count : {1, 2}) {
        for (const int32_t code_width : {0, 4, 8}) {
          for (const bool pairs : {false, true}) {
            PlanRequest request =
                pairs ? pairs_request(rows, 2 * rows, 8) : request_of(rows, 2 * rows, 2, 8);
            request.key_count = key_count;
            request.left.key_width = request.right.key_width = 8 * key_count;
            request.code_width = code_width;
            request.code_is_assumed = code_width != 0;
            const auto attempts = attempts_for(request, limit);
            for (const Attempt& attempt : attempts) {
              SCOPED_TRACE(to_text(attempt.plan));
              const auto goes_on = [&](Finding finding) {
                return next_attempt(attempts, attempt, finding) != nullptr;
              };
              ++seen;
              const JoinPlan& plan = attempt.plan;
              if (probes_table(plan.match) && writes_columns(plan.gather)) {
                EXPECT_TRUE(goes_on(Finding::kKeysRepeat));
              }
              if (plan.filter == Filter::kKeyBits) {
                EXPECT_TRUE(goes_on(Finding::kKeysScattered));
              }
              if (plan.keys == Keys::kPacked) {
                EXPECT_TRUE(goes_on(Finding::kKeysOutside));
              }
              if (plan.keys == Keys::kHashed && plan.gather == Gather::kCarried) {
                EXPECT_TRUE(goes_on(Finding::kKeysCollide));
              }
            }
          }
        }
      }
    }
  }
  EXPECT_GT(seen, 200);
}

// In the place of partitions, which a glance saw to be of sides in order.
TEST(Attempts, OfSidesSeenInOrderAMergeThatTakesLess) {
  const PlanRequest request = request_of(9'000'000, 7'000'000, 3);
  const PlanChoice choice = choose_plan(request, {}, h200(), 0);
  const auto planned = std::find_if(
      choice.candidates.begin(), choice.candidates.end(), [](const Candidate& candidate) {
        return candidate.plan.transform == Transform::kRadixUnordered &&
               candidate.plan.gather == Gather::kCarried;
      });
  ASSERT_NE(planned, choice.candidates.end());
  ASSERT_EQ(planned->plan.build_side, Side::kRight);
  const auto repeated = merge_of_order(*planned, false, request, h200());
  ASSERT_TRUE(repeated.has_value());
  EXPECT_EQ(repeated->plan.match, Match::kMergeTiles);
  EXPECT_EQ(repeated->plan.transform, Transform::kNone);
  EXPECT_EQ(repeated->plan.radix_bits, 0);
  EXPECT_EQ(repeated->plan.build_side, Side::kRight);
  EXPECT_LT(repeated->seconds, planned->seconds);
  const auto unique = merge_of_order(*planned, true, request, h200());
  ASSERT_TRUE(unique.has_value());
  EXPECT_EQ(unique->plan.build_side, Side::kLeft);
  const auto attempts = attempts_of(*unique, choice.candidates, request, {}, h200(), 0);
  const Attempt* const next = next_attempt(attempts, attempts.front(), Finding::kKeysUnordered);
  ASSERT_NE(next, nullptr);
  EXPECT_TRUE(partitions(next->plan.transform));

  EXPECT_FALSE(merge_of_order(*planned, true, request_of(1'000'000, 900'000, 3), h200()));
  PlanRequest named = request;
  named.in_order = true;
  EXPECT_FALSE(merge_of_order(*planned, true, named, h200()));
  Candidate faster = *planned;
  faster.seconds = repeated->seconds / 2;
  EXPECT_FALSE(merge_of_order(faster, false, request, h200()));
}

}  // namespace
}  // namespace gpujoin::plan
