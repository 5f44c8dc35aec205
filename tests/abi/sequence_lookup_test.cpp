// sequence_lookup_test.cpp: sequences whose fact rows have one match each, so many that they stay
// where they are, and what happens where one has none, or two.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/abi/sequence_tables.hpp"

using namespace gpujoin_test;

namespace {

constexpr int64_t kFactRows = (int64_t{1} << 21) + 1237;
constexpr int64_t kNull = INT64_MIN;

class SequenceLookup : public SequenceTest {
 protected:
  void SetUp() override {
    SequenceTest::SetUp();
    if (device() == GPUJOIN_DEVICE_CPU) GTEST_SKIP() << "the CPU's are tested below";
    if (!IsSkipped()) slow_down();
  }

 private:
  // So few rows are not looked at beforehand on a fast device, and then none is looked up: the
  // context has the rates of a slow one.
  void slow_down() {
    std::string folder = (std::filesystem::temp_directory_path() / "gpujoin_rates.XXXXXX").string();
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    std::string const path = folder + "/rates";
    ASSERT_OK(call(gpujoin_context_calibrate, context.get(), path.c_str()));
    std::stringstream slow;
    std::ifstream lines(path);
    for (std::string line; std::getline(lines, line);) {
      std::string const name = line.substr(0, line.find(' '));
      bool const is_rate = name.ends_with("_per_second") && name != "copy_bytes_per_second" &&
                           name != "host_link_bytes_per_second";
      if (is_rate) {
        slow << name << ' ' << std::strtod(line.c_str() + name.size(), nullptr) / 1000 << '\n';
      } else {
        slow << line << '\n';
      }
    }
    std::ofstream(path) << slow.str();
    gpujoin_context_options wishes = options();
    wishes.calibration_path = path.c_str();
    context = make_context(wishes);
    std::filesystem::remove_all(folder);
  }
};
ON_EVERY_DEVICE(SequenceLookup);

class CpuSequenceLookup : public SequenceTest {
 protected:
  void SetUp() override {
    SequenceTest::SetUp();
    if (device() != GPUJOIN_DEVICE_CPU) GTEST_SKIP() << "a GPU's are tested above";
  }
};
ON_EVERY_DEVICE(CpuSequenceLookup);

// Three dimensions: dense keys, keys far apart of 8 bytes (or dense ones), few keys. Their columns
// are told by the key.
struct LookupStar {
  static constexpr std::array<int64_t, 3> kRows = {70000, 50000, 300};
  Numbers fact;
  std::array<Numbers, 3> dimensions;
  Wish wish;

  int64_t rows = kFactRows;
  bool all_dense = false;

  int64_t key_of(size_t step, int64_t number) const {
    return step == 1 && !all_dense ? number * 1000003 + 17 : number + 5;
  }

  // lost: a fact row whose second key is in no dimension row. twice: a key of the second dimension
  // that is there once more.
  LookupStar(bool lost, bool twice, bool null_payloads, bool null_keys,
             int64_t fact_rows = kFactRows, bool has_dense_keys = false)
      : rows(fact_rows), all_dense(has_dense_keys) {
    for (size_t step = 0; step < 3; ++step) {
      Values keys;
      for (int64_t row = 0; row < rows; ++row) {
        keys.push_back(key_of(step, row * 7919 % kRows[step]));
      }
      auto const half = static_cast<size_t>(rows / 2);
      if (step == 1 && lost) keys[half] = 3;
      if (step == 1 && null_keys) keys[half + 1] = std::nullopt;
      gpujoin_type const type = step == 1 ? GPUJOIN_TYPE_INT64 : GPUJOIN_TYPE_INT32;
      fact.add("fk", type, keys);
      Values ids;
      for (int64_t number = 0; number < kRows[step]; ++number) {
        ids.push_back(key_of(step, (number * 37 + 11) % kRows[step]));
      }
      if (step == 1 && twice) ids.push_back(ids.front());
      Values small = ids;
      Values large = ids;
      for (size_t row = 0; row < ids.size(); ++row) {
        small[row] = static_cast<int64_t>(row) - 100;
        large[row] = null_payloads && row % 5 == 0 ? std::nullopt : Value(*ids[row] * 3);
      }
      dimensions[step].add("id", type, ids);
      dimensions[step].add("p", GPUJOIN_TYPE_INT32, small);
      dimensions[step].add("q", GPUJOIN_TYPE_INT64, large);
      wish.steps.push_back({&dimensions[step], static_cast<int32_t>(step), 0, {2, 1}});
    }
    fact.add("f", GPUJOIN_TYPE_INT32, counted(rows, 1000000));
    wish.fact_columns = {3};
  }
  LookupStar(const LookupStar&) = delete;
  LookupStar& operator=(const LookupStar&) = delete;
};

// f, then p and q of each dimension, then, where they are asked for, the row numbers. q comes first
// in the result: a value of 8 bytes and one of 4 are packed side by side.
using Line = std::array<int64_t, 11>;

std::vector<Line> expected_lines(const LookupStar& star) {
  std::array<std::multimap<int64_t, size_t>, 3> rows;
  for (size_t step = 0; step < 3; ++step) {
    Values const& ids = star.dimensions[step].columns[0].values;
    for (size_t row = 0; row < ids.size(); ++row) rows[step].emplace(*ids[row], row);
  }
  std::vector<Line> lines;
  for (size_t row = 0; row < static_cast<size_t>(star.rows); ++row) {
    std::vector<Line> own(1);
    own[0].fill(kNull);
    own[0][0] = *star.fact.columns[3].values[row];
    if (star.wish.has_row_numbers()) own[0][7] = static_cast<int64_t>(row);
    for (size_t step = 0; step < 3; ++step) {
      Value const key = star.fact.columns[step].values[row];
      std::vector<Line> longer;
      if (key) {
        auto const [first, last] = rows[step].equal_range(*key);
        for (auto match = first; match != last; ++match) {
          for (Line line : own) {
            line[1 + 2 * step] = *star.dimensions[step].columns[1].values[match->second];
            line[2 + 2 * step] =
                star.dimensions[step].columns[2].values[match->second].value_or(kNull);
            if (star.wish.has_row_numbers()) line[8 + step] = static_cast<int64_t>(match->second);
            longer.push_back(line);
          }
        }
      }
      own = std::move(longer);
    }
    lines.insert(lines.end(), own.begin(), own.end());
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

std::vector<Line> lines_of(const Result& result, const LookupStar& star) {
  auto const rows = static_cast<size_t>(rows_of(result));
  std::vector<Line> lines(rows);
  for (Line& line : lines) line.fill(kNull);
  int32_t number = 0;
  auto const put = [&](const auto& values, size_t place) {
    for (size_t row = 0; row < rows; ++row) {
      if (values[row]) lines[row][place] = *values[row];
    }
  };
  put(column_of<int32_t>(result, number++), 0);
  for (size_t step = 0; step < 3; ++step) {
    put(column_of<int64_t>(result, number++), 2 + 2 * step);
    put(column_of<int32_t>(result, number++), 1 + 2 * step);
  }
  for (size_t i = 0; i <= 3 && star.wish.has_row_numbers(); ++i) {
    std::vector<uint32_t> const numbers = row_numbers_of(result, i);
    for (size_t row = 0; row < rows; ++row) lines[row][7 + i] = numbers[row];
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

bool says(const Result& result, const std::string& text) {
  gpujoin_statistics statistics = GPUJOIN_STATISTICS_INIT;
  EXPECT_OK(call(gpujoin_result_get_statistics, result.get(), &statistics));
  return std::string(statistics.reason).find(text) != std::string::npos;
}

}  // namespace

TEST_P(SequenceLookup, LeavesTheFactRowsWhereTheyAre) {
  LookupStar star(false, false, false, false);
  for (int32_t const output :
       {int32_t{GPUJOIN_OUTPUT_COLUMNS}, GPUJOIN_OUTPUT_COLUMNS | GPUJOIN_OUTPUT_PAIRS}) {
    star.wish.output = output;
    std::vector<Line> const expected = expected_lines(star);
    for (gpujoin_materialize const materialize : {1, 2}) {
      for (Place const place : places()) {
        SCOPED_TRACE(testing::Message() << "output " << output << ", materialize " << materialize);
        star.wish.materialize = materialize;
        Result result;
        ASSERT_OK(run(star.fact, star.wish, nullptr, place, &result));
        ASSERT_TRUE(lines_of(result, star) == expected);
        if (place != Place::kDevice) continue;  // what the link brings is not looked at beforehand
        EXPECT_FALSE(has_stage(result, "steps[1].fetch_key"));
        EXPECT_FALSE(has_stage(result, "steps[2].fetch_key"));
        EXPECT_TRUE(says(result, "stays where it is"));
      }
    }
  }
}

TEST_P(SequenceLookup, JoinsFromWhereARowHasNoMatchOrTwo) {
  struct Case {
    bool lost;
    bool twice;
    bool null_keys;
  };
  for (Case const& each : {Case{true, false, false}, Case{false, true, false},
                           Case{true, true, false}, Case{false, false, true}}) {
    // Payloads that are NULL, and row numbers, in every other case.
    LookupStar star(each.lost, each.twice, each.twice, each.null_keys);
    star.wish.output = GPUJOIN_OUTPUT_COLUMNS | (each.lost ? GPUJOIN_OUTPUT_PAIRS : 0);
    SCOPED_TRACE(testing::Message() << "lost " << each.lost << ", twice " << each.twice
                                    << ", null keys " << each.null_keys);
    Result result;
    ASSERT_OK(run(star.fact, star.wish, nullptr, Place::kDevice, &result));
    ASSERT_TRUE(lines_of(result, star) == expected_lines(star));
    EXPECT_TRUE(says(result, "stays where it is")) << "in the first step";
    EXPECT_TRUE(has_stage(result, "steps[2].fetch_key"));
    auto const stages = stages_of(result);
    auto const tried = std::count_if(stages.begin(), stages.end(), [](const auto& stage) {
      return std::string(stage.stage) == "steps[1].match";
    });
    // Where keys repeat, the join tries a table, too, before it partitions, if no scan tells it.
    bool const scans = GetParam() == GPUJOIN_DEVICE_CUDA;
    int const in_vain = (each.null_keys ? 0 : 1) + (each.twice && !scans ? 1 : 0);
    EXPECT_EQ(tried, in_vain + 1) << "looked up in vain, then joined";
  }
}

TEST_P(SequenceLookup, KeepsPayloadsThatAreNull) {
  LookupStar star(false, false, true, false);
  for (gpujoin_materialize const materialize : {1, 2}) {
    star.wish.materialize = materialize;
    Result result;
    ASSERT_OK(run(star.fact, star.wish, nullptr, Place::kDevice, &result));
    ASSERT_TRUE(lines_of(result, star) == expected_lines(star));
    EXPECT_FALSE(has_stage(result, "steps[2].fetch_key"));
  }
}

TEST_P(SequenceLookup, PutsOutKeysOfDimensionsAlone) {
  LookupStar star(false, false, false, false);
  for (Step& step : star.wish.steps) step.columns = {0};
  star.wish.output = GPUJOIN_OUTPUT_COLUMNS;
  star.wish.materialize = GPUJOIN_MATERIALIZE_AS_THEY_COME;
  Result result;
  ASSERT_OK(run(star.fact, star.wish, nullptr, Place::kDevice, &result));
  ASSERT_EQ(rows_of(result), kFactRows);
  auto const numbers = column_of<int32_t>(result, 0);
  auto const first = column_of<int32_t>(result, 1);
  auto const second = column_of<int64_t>(result, 2);
  auto const third = column_of<int32_t>(result, 3);
  for (size_t row = 0; row < numbers.size(); ++row) {
    auto const fact_row = static_cast<size_t>(*numbers[row] - 1000000);
    ASSERT_EQ(*first[row], *star.fact.columns[0].values[fact_row]);
    ASSERT_EQ(*second[row], *star.fact.columns[1].values[fact_row]);
    ASSERT_EQ(*third[row], *star.fact.columns[2].values[fact_row]);
  }
  EXPECT_FALSE(has_stage(result, "steps[2].fetch_key"));
}

constexpr int64_t kRowsOnCpu = 150000;

TEST_P(CpuSequenceLookup, LeavesTheFactRowsWhereTheyAre) {
  for (bool const null_payloads : {false, true}) {
    LookupStar star(false, false, null_payloads, false, kRowsOnCpu, true);
    for (int32_t const output :
         {int32_t{GPUJOIN_OUTPUT_COLUMNS}, GPUJOIN_OUTPUT_COLUMNS | GPUJOIN_OUTPUT_PAIRS}) {
      star.wish.output = output;
      for (gpujoin_materialize const materialize : {0, 1, 2}) {
        SCOPED_TRACE(testing::Message() << "output " << output << ", materialize " << materialize);
        star.wish.materialize = materialize;
        Result result;
        ASSERT_OK(run(star.fact, star.wish, nullptr, Place::kHost, &result));
        ASSERT_TRUE(lines_of(result, star) == expected_lines(star));
        for (std::string const step : {"steps[0]", "steps[1]", "steps[2]"}) {
          EXPECT_FALSE(has_stage(result, (step + ".fetch_key").c_str()));
          EXPECT_TRUE(says(result, step + ": each row matches one and stays where it is"));
        }
      }
    }
  }
}

TEST_P(CpuSequenceLookup, JoinsFromWhereARowHasNoMatchOrKeysAreNoPlaces) {
  struct Case {
    bool lost;
    bool twice;
    bool null_keys;
    bool dense;
  };
  for (Case const& each : {Case{true, false, false, true}, Case{false, true, false, true},
                           Case{true, true, false, true}, Case{false, false, true, true},
                           Case{false, false, false, false}}) {
    LookupStar star(each.lost, each.twice, each.twice, each.null_keys, kRowsOnCpu, each.dense);
    star.wish.output = GPUJOIN_OUTPUT_COLUMNS | (each.lost ? GPUJOIN_OUTPUT_PAIRS : 0);
    SCOPED_TRACE(testing::Message()
                 << "lost " << each.lost << ", twice " << each.twice << ", null keys "
                 << each.null_keys << ", dense " << each.dense);
    Result result;
    ASSERT_OK(run(star.fact, star.wish, nullptr, Place::kHost, &result));
    ASSERT_TRUE(lines_of(result, star) == expected_lines(star));
    EXPECT_TRUE(says(result, "steps[0]: each row matches one and stays where it is"));
    EXPECT_FALSE(says(result, "steps[1]: each row matches one"));
    EXPECT_TRUE(has_stage(result, "steps[2].fetch_key"));
  }
}

TEST_P(CpuSequenceLookup, ObeysAPlanThatIsNamed) {
  LookupStar star(false, false, false, false, kRowsOnCpu, true);
  gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
  options.radix_bits = 3;
  Result result;
  ASSERT_OK(run(star.fact, star.wish, &options, Place::kHost, &result));
  ASSERT_TRUE(lines_of(result, star) == expected_lines(star));
  EXPECT_FALSE(says(result, "stays where it is"));
}
