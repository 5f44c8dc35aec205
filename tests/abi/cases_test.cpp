// cases_test.cpp: every join of tests/cases on every device by every algorithm, from either side.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>

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

bool is_text(gpujoin_type type) {
  return type == GPUJOIN_TYPE_UTF8 || type == GPUJOIN_TYPE_LARGE_UTF8 ||
         type == GPUJOIN_TYPE_BINARY || type == GPUJOIN_TYPE_LARGE_BINARY;
}
bool is_large(gpujoin_type type) {
  return type == GPUJOIN_TYPE_LARGE_UTF8 || type == GPUJOIN_TYPE_LARGE_BINARY;
}

void append_bit(int64_t position, bool is_set, std::vector<uint8_t>* bits) {
  bits->resize(static_cast<size_t>(position / 8 + 1));
  if (is_set) bits->back() = static_cast<uint8_t>(bits->back() | 1u << (position % 8));
}

// The memory of a column. Bits begin within a byte, offsets not at 0, and what lies under a NULL
// must not matter.
struct Values {
  std::string data;
  std::vector<int32_t> offsets;
  std::vector<int64_t> large_offsets;
  std::vector<uint8_t> bits;
  std::vector<uint8_t> validity;
};

struct CaseRelation {
  CaseRelation(const Context& context, const CaseTable& table) : values(table.columns.size()) {
    std::vector<gpujoin_column> descriptors;
    for (size_t i = 0; i < values.size(); ++i) descriptors.push_back(describe(table, i));
    gpujoin_relation* made = nullptr;
    EXPECT_OK(call(gpujoin_relation_create, context.get(), static_cast<int64_t>(table.rows.size()),
                   descriptors.data(), static_cast<int32_t>(descriptors.size()), &made));
    relation.reset(made);
  }

  gpujoin_column describe(const CaseTable& table, size_t number) {
    const CaseColumn& column = table.columns[number];
    Values& of = values[number];
    auto const first_bit = static_cast<int64_t>(number % 8);
    if (is_text(column.type)) of.data = "xyz";
    auto const end_text = [&] {
      of.offsets.push_back(static_cast<int32_t>(of.data.size()));
      of.large_offsets.push_back(static_cast<int64_t>(of.data.size()));
    };
    end_text();
    bool has_nulls = false;
    for (size_t row = 0; row < table.rows.size(); ++row) {
      std::string bytes;
      bool const valid = encode(column, table.rows[row][number], &bytes);
      has_nulls |= !valid;
      if (!valid)
        bytes.assign(is_text(column.type) ? 2 : std::max(column.width, size_t{1}), '\xAB');
      int64_t const bit = first_bit + static_cast<int64_t>(row);
      append_bit(bit, valid, &of.validity);
      append_bit(bit, (bytes + '\0')[0] != 0, &of.bits);
      of.data += bytes;
      end_text();
    }
    gpujoin_column made = GPUJOIN_COLUMN_INIT;
    made.type = column.type;
    made.name = column.name.c_str();
    made.data = column.type == GPUJOIN_TYPE_NULL ? nullptr : of.data.data();
    if (column.type == GPUJOIN_TYPE_BOOL) {
      made.data = of.bits.data();
      made.first_bit = first_bit;
    }
    if (is_text(column.type)) {
      made.offsets = of.offsets.data();
      if (is_large(column.type)) made.offsets = of.large_offsets.data();
    }
    if (has_nulls) {
      made.validity = of.validity.data();
      made.validity_bit_offset = first_bit;
    }
    if (column.type == GPUJOIN_TYPE_FIXED_BINARY) {
      made.value_width = static_cast<int32_t>(column.width);
    }
    made.decimal_precision = column.precision;
    made.decimal_scale = column.scale;
    return made;
  }

  std::vector<Values> values;
  Relation relation;
};

Spec spec_of(const JoinCase& join_case) {
  Spec spec;
  spec.kind = join_case.kind;
  spec.left_keys = join_case.left_keys;
  spec.right_keys = join_case.right_keys;
  spec.left_columns = join_case.left_output;
  spec.right_columns = join_case.right_output;
  if (!spec.left_columns.empty() || !spec.right_columns.empty() || join_case.mark ||
      !join_case.aggregates.empty()) {
    spec.output |= GPUJOIN_OUTPUT_COLUMNS;
  }
  if (join_case.pairs) spec.output |= GPUJOIN_OUTPUT_PAIRS;
  return spec;
}

Answer fetch_all(const Result& result, gpujoin_fetch* fetch) {
  return call(gpujoin_result_fetch, result.get(), nullptr, fetch, 1);
}

// A column of the answer, appended to each row.
void add_column(const Result& result, int32_t what, int32_t number, const CaseColumn& column,
                std::vector<Row>* rows) {
  size_t const count = rows->size();
  bool const is_bits = column.type == GPUJOIN_TYPE_BOOL;
  std::string data(is_bits ? (count + 7) / 8 : count * column.width, '\0');
  std::vector<uint8_t> validity((count + 7) / 8);
  std::vector<int32_t> offsets(count + 1);
  std::vector<int64_t> large_offsets(count + 1);
  gpujoin_fetch fetch = fetch_of(what, number, nullptr, 0);
  fetch.validity = validity.data();
  fetch.validity_bytes = validity.size();
  if (is_text(column.type)) {
    bool const large = is_large(column.type);
    fetch.offsets = large ? static_cast<void*>(large_offsets.data()) : offsets.data();
    fetch.offsets_bytes = (count + 1) * (large ? 8 : 4);
    EXPECT_OK(fetch_all(result, &fetch));
    data.resize(fetch.text_bytes);
  }
  fetch.data = data.data();
  fetch.data_bytes = data.size();
  EXPECT_OK(fetch_all(result, &fetch));
  if (!is_large(column.type)) large_offsets.assign(offsets.begin(), offsets.end());
  int64_t nulls = 0;
  for (size_t row = 0; row < count; ++row) {
    bool const valid = (validity[row / 8] >> (row % 8) & 1) != 0;
    nulls += valid ? 0 : 1;
    std::string value;
    if (is_bits) {
      value = (data[row / 8] >> (row % 8) & 1) != 0 ? '\1' : '\0';
    } else if (is_text(column.type)) {
      auto const first = static_cast<size_t>(large_offsets[row]);
      value = data.substr(first, static_cast<size_t>(large_offsets[row + 1]) - first);
    } else {
      value = data.substr(row * column.width, column.width);
    }
    append_value(valid, value, &(*rows)[row]);
  }
  EXPECT_EQ(fetch.null_count, nulls);
}

// The whole answer, a row a string, sorted.
std::vector<Row> rows_of_answer(const Result& result, const JoinCase& join_case) {
  std::vector<Row> rows(static_cast<size_t>(rows_of(result)));
  if (join_case.pairs) {
    CaseColumn const number = {"row", GPUJOIN_TYPE_INT64, 8};
    if (join_case.puts_out_left()) add_column(result, GPUJOIN_FETCH_LEFT_INDEX, 0, number, &rows);
    if (join_case.puts_out_right()) add_column(result, GPUJOIN_FETCH_RIGHT_INDEX, 0, number, &rows);
  }
  std::vector<CaseColumn> const columns = join_case.output_columns();
  for (size_t i = 0; i < columns.size(); ++i) {
    add_column(result, GPUJOIN_FETCH_COLUMN, static_cast<int32_t>(i), columns[i], &rows);
  }
  if (join_case.order == GPUJOIN_ORDER_NONE) std::sort(rows.begin(), rows.end());
  return rows;
}

std::vector<gpujoin_algorithm> algorithms_of(const JoinCase& join_case, gpujoin_device device) {
  // Nothing is matched by keys, or by order besides.
  if (join_case.left_keys.empty() || join_case.asof) return {GPUJOIN_ALGORITHM_AUTOMATIC};
  if (device == GPUJOIN_DEVICE_CPU) {
    return {GPUJOIN_ALGORITHM_AUTOMATIC, GPUJOIN_ALGORITHM_CPU_RADIX};
  }
  return {GPUJOIN_ALGORITHM_AUTOMATIC, GPUJOIN_ALGORITHM_NOP,         GPUJOIN_ALGORITHM_PHJ_OM,
          GPUJOIN_ALGORITHM_PHJ_GFUR,  GPUJOIN_ALGORITHM_SMJ_OM,      GPUJOIN_ALGORITHM_SMJ_UM,
          GPUJOIN_ALGORITHM_CPU_RADIX, GPUJOIN_ALGORITHM_ROW_MULTISET};
}

// Whether the algorithm compares one key column and nothing else, which keys may not become:
// several of them, wide values, two types, NULLs that are equal. It then answers
// GPUJOIN_ERROR_ILLEGAL_PLAN.
bool may_refuse(gpujoin_algorithm algorithm, const JoinCase& join_case) {
  static const std::set<gpujoin_algorithm> kOfAnyKeys = {
      GPUJOIN_ALGORITHM_AUTOMATIC, GPUJOIN_ALGORITHM_CPU_RADIX, GPUJOIN_ALGORITHM_ROW_MULTISET};
  if (kOfAnyKeys.count(algorithm) != 0) return false;
  CaseColumn const& left = join_case.left.columns[static_cast<size_t>(join_case.left_keys[0])];
  CaseColumn const& right = join_case.right.columns[static_cast<size_t>(join_case.right_keys[0])];
  auto const fits_int64 = [](gpujoin_type type) { return type < GPUJOIN_TYPE_UINT64; };
  bool const is_one_type = (left.type == right.type && left.scale == right.scale) ||
                           (fits_int64(left.type) && fits_int64(right.type));
  return !join_case.residual.empty() || join_case.left_keys.size() > 1 || left.width > 8 ||
         right.width > 8 || !is_one_type || (join_case.key_flags[0] & GPUJOIN_KEY_NULL_EQUAL) != 0;
}

// The nodes of a condition, with the relations of its constants.
struct CaseCondition {
  CaseCondition(const Context& context, const std::vector<CaseNode>& nodes) {
    for (const CaseNode& node : nodes) {
      gpujoin_node given = GPUJOIN_NODE_INIT;
      given.operation = node.operation;
      given.argument_count = node.argument_count;
      given.side = node.side;
      given.column = node.column;
      if (!node.values.columns.empty()) {
        values.push_back(std::make_unique<CaseRelation>(context, node.values));
        given.values = values.back()->relation.get();
      }
      given_nodes.push_back(given);
    }
    condition.node_count = static_cast<int32_t>(given_nodes.size());
    condition.nodes = given_nodes.data();
  }

  std::vector<std::unique_ptr<CaseRelation>> values;
  std::vector<gpujoin_node> given_nodes;
  gpujoin_condition condition = GPUJOIN_CONDITION_INIT;
};

// The relation of the rows that a case reads, bits from within a byte on.
struct CaseSelection {
  CaseSelection(const Relation& of, const JoinCase::Rows& rows)
      : numbers(rows.numbers), relation(of.get()) {
    gpujoin_selection selection = GPUJOIN_SELECTION_INIT;
    if (rows.by_bits) {
      selection.form = GPUJOIN_SELECTION_BITMAP;
      selection.first_bit = 3;
      append_bit(2, true, &bits);
      for (size_t i = 0; i < rows.bits.size(); ++i) {
        append_bit(static_cast<int64_t>(i) + 3, rows.bits[i], &bits);
      }
      selection.data = bits.data();
    } else if (rows.by_numbers) {
      selection.form = GPUJOIN_SELECTION_ROWS;
      selection.data = numbers.data();
      selection.count = static_cast<int64_t>(numbers.size());
      selection.type = GPUJOIN_TYPE_INT64;
    } else {
      return;
    }
    gpujoin_relation* made = nullptr;
    EXPECT_OK(call(gpujoin_relation_select, of.get(), &selection, &made));
    selected.reset(made);
    relation = made;
  }

  std::vector<int64_t> numbers;
  std::vector<uint8_t> bits;
  Relation selected;
  const gpujoin_relation* relation;
};

// Nothing where the algorithm rightly refuses, and where an error has to come.
std::optional<std::vector<Row>> answer_of(const Context& context, const CaseRelation& left,
                                          const CaseRelation& right, const JoinCase& join_case,
                                          const gpujoin_plan_options& options) {
  Spec const lists = spec_of(join_case);
  gpujoin_join_spec spec = lists.get();
  spec.key_flags = join_case.key_flags.data();
  spec.order = join_case.order;
  CaseCondition const residual(context, join_case.residual);
  if (!join_case.residual.empty()) spec.residual = &residual.condition;
  if (join_case.asof) spec.asof = &*join_case.asof;
  if (!join_case.aggregates.empty()) spec.aggregates = join_case.aggregates.data();
  spec.aggregate_count = static_cast<int32_t>(join_case.aggregates.size());
  spec.group_side = join_case.by;
  gpujoin_result* made = nullptr;
  spec.promises = join_case.promises;
  CaseSelection const left_rows(left.relation, join_case.left_rows);
  CaseSelection const right_rows(right.relation, join_case.right_rows);
  Answer const answer = call(gpujoin_join, context.get(), left_rows.relation, right_rows.relation,
                             &spec, &options, &made);
  bool const is_refused = answer.status == GPUJOIN_ERROR_ILLEGAL_PLAN;
  if (is_refused && may_refuse(options.algorithm, join_case)) return std::nullopt;
  EXPECT_STATUS(answer, join_case.error);
  if (made == nullptr) return std::nullopt;
  return rows_of_answer(Result(made), join_case);
}

}  // namespace

TEST(CaseFolder, HoldsTheCases) {
  EXPECT_GE(case_names().size(), 12u) << "run it in the root of the repository";
}

TEST_P(Cases, AnswersAsWritten) {
  std::vector<JoinCase> const joins =
      read_cases(std::string(kFolder) + "/" + std::get<0>(GetParam()) + ".txt");
  ASSERT_FALSE(joins.empty());
  Context const context = make_context(device());
  CaseRelation const left(context, joins.front().left);
  CaseRelation const right(context, joins.front().right);
  for (size_t number = 0; number < joins.size(); ++number) {
    JoinCase const& join_case = joins[number];
    for (gpujoin_algorithm const algorithm : algorithms_of(join_case, device())) {
      for (gpujoin_side const side : {0, GPUJOIN_SIDE_LEFT, GPUJOIN_SIDE_RIGHT}) {
        gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
        options.algorithm = algorithm;
        options.build_side = side;
        if (algorithm == GPUJOIN_ALGORITHM_CPU_RADIX) options.device = GPUJOIN_DEVICE_CPU;
        SCOPED_TRACE("join " + std::to_string(number) + " of the file, algorithm " +
                     std::to_string(algorithm) + ", build side " + std::to_string(side));
        auto const rows = answer_of(context, left, right, join_case, options);
        if (rows) {
          EXPECT_EQ(*rows, join_case.expected);
        }
      }
    }
  }
}
