#include <gtest/gtest.h>

#include "src/plan/choose_plan.hpp"
#include "tests/plan/requests.hpp"

namespace gpujoin::plan {
namespace {

using testing::dense_sample;
using testing::h200;
using testing::request_of;
using testing::sample_of;

constexpr int64_t kRows27 = int64_t{1} << 27;

std::string explained(const PlanRequest& request, const SampleStatistics& sample,
                      const base::DeviceFacts& facts = h200(), uint64_t limit = 0) {
  return explain(choose_plan(request, sample, facts, limit), request, facts);
}

void expect_line(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in\n" << text;
}

TEST(Explain, SaysWhatWasAskedSampledAndWeighed) {
  const std::string text = explained(request_of(kRows27, kRows27, 2), sample_of(0.75));
  expect_line(text, "inner join on NVIDIA H200\n");
  expect_line(text, "  left     134217728 rows  key 4 B in output  payloads 4 4 B  <- build\n");
  expect_line(text, "columns of 20 B a row");
  expect_line(text, "75.00 % of the probe rows match, 1.00 build rows each");
  expect_line(text, "27 key bits vary");
  expect_line(text, "* PHJ-CARRIED ");
  for (const char* other :
       {"  PHJ-OM ", "  PHJ-GFUR ", "  PHJ-UM ", "  SMJ-OM ", "  SMJ-UM ", "  NOP ",
        "  NOP-CARRIED ", "  DIRECT-CARRIED ",
        "  radix_unordered+co_partitions+grown+work_units UM ",
        "  key_bits+radix_unordered+co_partitions+block_chunks+work_units carried ",
        "  key_hashes+radix_unordered+co_partitions+block_chunks+work_units carried ",
        "  key_hashes+none+global_table carried ",
        "  radix_unordered+co_partitions+block_chunks+work_units carried rows "}) {
    expect_line(text, other);
  }
  expect_line(text,
              "transform=radix_unordered(15) skew=work_units match=co_partitions "
              "output=block_chunks gather=carried\n");
  expect_line(text, "attempt 1: PHJ-CARRIED\n  cuda build=left ");
  expect_line(text, "\n  transform    radix_unordered(15) ");
  expect_line(text, "why\n  PHJ-CARRIED saves ");
  // Without a filter the runner-up fetches what it moved.
  PlanRequest unfiltered = request_of(kRows27, kRows27, 2);
  unfiltered.options.filter = GPUJOIN_FILTER_NONE;
  expect_line(explained(unfiltered, sample_of(0.75)),
              " against PDJ-CARRIED, most of it in match (");
}

TEST(Explain, AFilterIsAStage) {
  SampleStatistics sample = dense_sample(2 * kRows27, kRows27, 0.0625);
  sample.build_within = 0.0625;
  PlanRequest request = request_of(kRows27, kRows27, 2);
  request.options.gather = GPUJOIN_GATHER_CARRIED;
  const std::string text = explained(request, sample);
  expect_line(text,
              "cuda build=left filter=key_bits transform=radix_unordered skew=work_units "
              "match=co_partitions output=block_chunks gather=carried\n");
  expect_line(text, "\n  filter       key_bits ");
  expect_line(text, "\n  transform    radix_unordered(");
}

TEST(Explain, SaysHowFarTheSampleSaw) {
  SampleStatistics sample = sample_of(0.75);
  sample.scanned_share = 0.125;
  sample.build_range = {-7, 134217720, true};
  sample.probe_range = {INT64_MIN, INT64_MAX, false};
  const std::string text = explained(request_of(kRows27, kRows27, 2), sample);
  expect_line(text, "1.00 build rows each, as 12.5 % of the build rows say\n");
  expect_line(text,
              "  keys, as signed integers: build -7 to 134217720, probe about "
              "-9223372036854775808 to 9223372036854775807\n");
  sample.probe_range = {};
  expect_line(explained(request_of(kRows27, kRows27, 2), sample), "probe none\n");
}

TEST(Explain, CandidatesStandCheapestFirst) {
  const PlanChoice choice = choose_plan(request_of(kRows27, kRows27, 2), sample_of(1), h200(), 0);
  for (size_t i = 1; i < choice.candidates.size(); ++i) {
    EXPECT_LE(choice.candidates[i - 1].seconds, choice.candidates[i].seconds);
  }
  EXPECT_EQ(choice.candidates.size(), 18U);
}

TEST(Explain, SaysWhyNothingWasSampled) {
  expect_line(
      explained(request_of(1000, 1000, 1), {}),
      "not sampled: too few rows to be worth it; assumed: 100.00 % of the probe rows match");
}

TEST(Explain, MarksWhatDoesNotFit) {
  const std::string text =
      explained(request_of(kRows27, kRows27, 2), sample_of(1), h200(), 5'000'000'000);
  expect_line(text, "memory limit 5.000 GB");
  expect_line(text, "over the limit\n");
  expect_line(text, "PHJ-CARRIED would be faster but needs ");
}

TEST(Explain, NamesWhatWasLeftOut) {
  PlanRequest request = request_of(kRows27, kRows27, 2);
  request.options.gather = GPUJOIN_GATHER_TRANSFORMED;
  expect_line(explained(request, sample_of(1)),
              "not considered: NOP, NOP-CARRIED, ROW-MULTISET, DIRECT-CARRIED, SMJ-CARRIED, "
              "PHJ-GFUR, SMJ-UM");
}

TEST(Explain, TellsTheCpusCandidatesApart) {
  const std::string text =
      explained(request_of(1 << 24, 1 << 26, 1), sample_of(1), base::cpu_facts(16));
  expect_line(text, "inner join on the CPU, 16 threads\n");
  expect_line(text, "* CPU-RADIX transformed ");
  expect_line(text, "  CPU-RADIX untransformed ");
  expect_line(text, "CPU-RADIX transformed saves ");
}

TEST(Explain, WhatSavesNothingIsNotSaidToSave) {
  const base::DeviceFacts cpu = base::cpu_facts(2);
  expect_line(explained(request_of(3, 3, 0), {}, cpu),
              "CPU-RADIX transformed costs as little as CPU-RADIX untransformed\n");
  for (int64_t rows = 1; rows < kRows27; rows *= 4) {
    for (const base::DeviceFacts& facts : {cpu, h200()}) {
      const std::string text = explained(request_of(rows, rows, 1), {}, facts);
      EXPECT_EQ(text.find("saves 0.000"), std::string::npos) << text;
    }
  }
}

TEST(Explain, TheSameTwiceAndInLinesThatFitAScreen) {
  PlanRequest request = request_of(kRows27, kRows27, 2);
  request.pairs = true;
  request.right.in_host_memory = true;
  request.right.key_nullable = true;
  const std::string text = explained(request, {});
  EXPECT_EQ(text, explained(request, {}));
  expect_line(text, "in host memory");
  expect_line(text, "row number pairs and columns of 20 B a row");
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = text.find('\n', begin);
    ASSERT_NE(end, std::string::npos);
    EXPECT_LE(end - begin, 160U) << text.substr(begin, end - begin);
    begin = end + 1;
  }
}

TEST(Explain, TheReasonFitsTheStatisticsOfAResult) {
  for (const uint64_t limit : {uint64_t{0}, uint64_t{5'000'000'000}, uint64_t{1'000'000}}) {
    const PlanChoice choice =
        choose_plan(request_of(kRows27, kRows27, 2), sample_of(1), h200(), limit);
    EXPECT_LT(reason_of(choice).size(), sizeof(gpujoin_statistics::reason)) << reason_of(choice);
  }
}

}  // namespace
}  // namespace gpujoin::plan
