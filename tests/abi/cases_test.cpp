// cases_test.cpp: every join of tests/cases on every device by every algorithm, from either side.
#include <algorithm>
#include <filesystem>

#include "tests/abi/case_file.hpp"
#include "tests/abi/fixture.hpp"

using namespace gpujoin_test;

namespace {

constexpr const char* kFolder = "tests/cases";

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  std::error_code nothing;
  for (auto const& entry : std::filesystem::directory_iterator(kFolder, nothing)) {
    if (entry.path().extension() == ".txt") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class Cases : public testing::TestWithParam<std::tuple<std::string, gpujoin_device>> {
 protected:
  void SetUp() override {
    if (device() == GPUJOIN_DEVICE_CUDA && !why_no_cuda().empty()) GTEST_SKIP() << why_no_cuda();
  }
  gpujoin_device device() const { return std::get<1>(GetParam()); }
};

std::string test_name(const testing::TestParamInfo<Cases::ParamType>& info) {
  return std::get<0>(info.param) +
         (std::get<1>(info.param) == GPUJOIN_DEVICE_CUDA ? "_cuda" : "_cpu");
}

// A process started elsewhere finds no cases; CaseFolder says so.
INSTANTIATE_TEST_SUITE_P(All, Cases,
                         testing::Combine(testing::ValuesIn(case_names()),
                                          testing::Values(GPUJOIN_DEVICE_CPU, GPUJOIN_DEVICE_CUDA)),
                         test_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Cases);

Table table_of(const CaseTable& table) {
  Table columns;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const CaseColumn& column = table.columns[i];
    columns.emplace_back(column.name, column.type, column.width);
    for (auto const& row : table.rows) {
      std::string bytes;
      bool const valid = encode(column, row[i], &bytes);
      columns.back().append(valid, valid ? bytes.data() : nullptr);
    }
  }
  return columns;
}

Spec spec_of(const JoinCase& join_case) {
  Spec spec;
  spec.kind = join_case.kind;
  spec.left_keys = join_case.left_keys;
  spec.right_keys = join_case.right_keys;
  spec.left_columns = join_case.left_output;
  spec.right_columns = join_case.right_output;
  if (!spec.left_columns.empty() || !spec.right_columns.empty() || join_case.mark) {
    spec.output |= GPUJOIN_OUTPUT_COLUMNS;
  }
  if (join_case.pairs) spec.output |= GPUJOIN_OUTPUT_PAIRS;
  return spec;
}

// The whole answer, a row a string, sorted.
std::vector<Row> rows_of_answer(const Result& result, const JoinCase& join_case) {
  std::vector<Row> rows(static_cast<size_t>(rows_of(result)));
  auto const add = [&](int32_t what, int32_t number, size_t width, bool is_bits) {
    std::vector<uint8_t> data(rows.size() * width);
    std::vector<uint8_t> validity((rows.size() + 7) / 8);
    gpujoin_fetch fetch = fetch_of(what, number, data.data(), data.size());
    fetch.validity = validity.data();
    fetch.validity_bytes = validity.size();
    EXPECT_OK(call(gpujoin_result_fetch, result.get(), nullptr, &fetch, 1));
    int64_t nulls = 0;
    for (size_t row = 0; row < rows.size(); ++row) {
      bool const valid = (validity[row / 8] >> (row % 8) & 1) != 0;
      nulls += valid ? 0 : 1;
      auto const bit = static_cast<uint8_t>(data[row / 8] >> (row % 8) & 1);
      append_value(valid, is_bits ? &bit : data.data() + row * width, width, &rows[row]);
    }
    EXPECT_EQ(fetch.null_count, nulls);
  };
  if (join_case.pairs) {
    if (join_case.puts_out_left()) add(GPUJOIN_FETCH_LEFT_INDEX, 0, 8, false);
    if (join_case.puts_out_right()) add(GPUJOIN_FETCH_RIGHT_INDEX, 0, 8, false);
  }
  std::vector<CaseColumn> const columns = join_case.output_columns();
  for (size_t i = 0; i < columns.size(); ++i) {
    add(GPUJOIN_FETCH_COLUMN, static_cast<int32_t>(i), columns[i].width,
        columns[i].type == GPUJOIN_TYPE_BOOL);
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

std::vector<gpujoin_algorithm> algorithms_of(const JoinCase& join_case, gpujoin_device device) {
  // Nothing is matched.
  if (join_case.kind == GPUJOIN_JOIN_CROSS) return {GPUJOIN_ALGORITHM_AUTOMATIC};
  if (device == GPUJOIN_DEVICE_CPU) {
    return {GPUJOIN_ALGORITHM_AUTOMATIC, GPUJOIN_ALGORITHM_CPU_RADIX};
  }
  // The others compare one key column, which those are not.
  CaseColumn const& left = join_case.left.columns[static_cast<size_t>(join_case.left_keys[0])];
  CaseColumn const& right = join_case.right.columns[static_cast<size_t>(join_case.right_keys[0])];
  bool const is_two = left.width == 16 || (left.width == 8 && left.type != right.type);
  if (join_case.left_keys.size() > 1 || is_two) {
    return {GPUJOIN_ALGORITHM_AUTOMATIC, GPUJOIN_ALGORITHM_CPU_RADIX,
            GPUJOIN_ALGORITHM_ROW_MULTISET};
  }
  return {GPUJOIN_ALGORITHM_AUTOMATIC, GPUJOIN_ALGORITHM_NOP,         GPUJOIN_ALGORITHM_PHJ_OM,
          GPUJOIN_ALGORITHM_PHJ_GFUR,  GPUJOIN_ALGORITHM_SMJ_OM,      GPUJOIN_ALGORITHM_SMJ_UM,
          GPUJOIN_ALGORITHM_CPU_RADIX, GPUJOIN_ALGORITHM_ROW_MULTISET};
}

}  // namespace

TEST(CaseFolder, HoldsTheCases) {
  EXPECT_GE(case_names().size(), 12u) << "run it in the root of the repository";
}

TEST_P(Cases, AnswersAsWritten) {
  std::vector<JoinCase> const joins =
      read_cases(std::string(kFolder) + "/" + std::get<0>(GetParam()) + ".txt");
  ASSERT_FALSE(joins.empty());
  Table const left_table = table_of(joins.front().left);
  Table const right_table = table_of(joins.front().right);
  Context const context = make_context(device());
  Relation const left = make_relation(context, left_table);
  Relation const right = make_relation(context, right_table);
  for (JoinCase const& join_case : joins) {
    Spec const spec = spec_of(join_case);
    for (gpujoin_algorithm const algorithm : algorithms_of(join_case, device())) {
      for (gpujoin_side const side : {0, GPUJOIN_SIDE_LEFT, GPUJOIN_SIDE_RIGHT}) {
        gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
        options.algorithm = algorithm;
        options.build_side = side;
        if (algorithm == GPUJOIN_ALGORITHM_CPU_RADIX) options.device = GPUJOIN_DEVICE_CPU;
        SCOPED_TRACE("kind " + std::to_string(join_case.kind) + ", algorithm " +
                     std::to_string(algorithm) + ", build side " + std::to_string(side));
        Result const result = join(context, left, right, spec, &options);
        ASSERT_NE(result, nullptr);
        EXPECT_EQ(rows_of_answer(result, join_case), join_case.expected);
      }
    }
  }
}
