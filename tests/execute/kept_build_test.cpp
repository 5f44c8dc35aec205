// Build sides that are kept: keys of every sort, with and without a condition beside them, joined
// with probe sides that come later, compared with the join of both in one call.
#include "src/execute/kept_build.hpp"

#include <algorithm>
#include <numeric>

#include "src/base/copy.hpp"
#include "src/pieces/build.hpp"
#include "tests/pieces/drawn_tables.hpp"

namespace gpujoin::tests {
namespace {

using columns::JoinKind;

// Columns of drawn tables: INT32 and INT64 of few values, INT32 without NULLs, text.
struct Keys {
  const char* name;
  std::vector<int32_t> left;
  std::vector<int32_t> right;
};

const Keys kKeys[] = {
    {"INT32", {0}, {0}},
    {"INT32 without NULLs", {2}, {2}},
    {"INT64", {1}, {1}},
    {"INT32 and INT64", {0}, {1}},
    {"text", {3}, {3}},
    {"two INT32", {0, 2}, {0, 2}},
    {"INT32, INT64", {0, 1}, {0, 1}},
    {"INT64, unlike types", {1, 2}, {1, 1}},
    {"text, INT32", {3, 2}, {3, 2}},
};

std::shared_ptr<const columns::Condition> left_number_is_less() {
  auto condition = std::make_shared<columns::Condition>();
  for (bool const of_left : {true, false}) {
    columns::ConditionNode column;
    column.operation = GPUJOIN_OPERATOR_COLUMN;
    column.of_left = of_left;
    column.column = 2;
    condition->nodes.push_back(column);
  }
  columns::ConditionNode less;
  less.operation = GPUJOIN_OPERATOR_LESS;
  less.argument_count = 2;
  condition->nodes.push_back(less);
  return condition;
}

class KeptBuilds : public ::testing::Test {
 protected:
  void use(gpujoin_device device) {
    context_ = device == GPUJOIN_DEVICE_CUDA ? gpu_context(0) : make_context(0);
    if (context_ == nullptr) GTEST_SKIP() << "no CUDA device";
  }

  // Of the build side each row has a key of its own.
  enum class BuildKeys { kAny, kUnique };

  // Dense keys, or ones that few rows share.
  void join_all(int64_t different, BuildKeys of_build = BuildKeys::kAny) {
    auto const build = draw({70, different, 0.0, 0.1, 1});
    auto const without_nulls = draw({70, different, 0.0, 0.0, 5});
    if (of_build == BuildKeys::kUnique) {
      number_rows(*build);
      number_rows(*without_nulls);
    }
    std::vector<std::shared_ptr<Table>> const probes = {draw({30, different, 0.0, 0.0, 2}),
                                                        draw({90, 2 * different, 0.0, 0.1, 3}),
                                                        draw({0, 1, 0.0, 0.0, 4})};
    for (Keys const& keys : kKeys) {
      for (int32_t k = 1; k <= static_cast<int32_t>(columns::kLastJoinKind); ++k) {
        auto const kind = static_cast<JoinKind>(k);
        if (kind == JoinKind::kCross) continue;
        for (bool const null_equal : {false, true}) {
          for (bool const has_residual : {false, true}) {
            SCOPED_TRACE(std::string(keys.name) + " " + columns::to_text(kind) +
                         (null_equal ? " null equal" : "") + (has_residual ? " residual" : ""));
            columns::JoinSpec spec = spec_of(kind, false, null_equal, k % 2 == 0);
            spec.left_keys = keys.left;
            spec.right_keys = keys.right;
            spec.key_flags.assign(keys.left.size(), null_equal ? columns::kNullEqual : 0);
            if (has_residual) spec.residual = left_number_is_less();
            join(k % 3 == 0 ? without_nulls : build, probes, spec, k % 2 == 0);
            if (HasFailure()) return;
          }
        }
      }
    }
  }

  static void number_rows(Table& table) {
    std::mt19937_64 random(9);
    for (std::vector<int32_t>* column : {&table.key, &table.number}) {
      std::iota(column->begin(), column->end(), 0);
      std::shuffle(column->begin(), column->end(), random);
    }
  }

  void join(const std::shared_ptr<Table>& build, const std::vector<std::shared_ptr<Table>>& probes,
            const columns::JoinSpec& spec, bool build_left) {
    OwnQueue const queue(context_);
    gpujoin_plan_options const options = GPUJOIN_PLAN_OPTIONS_INIT;
    auto const rows = relation_of(context_, build);
    auto const first = relation_of(context_, probes.front());
    auto kept = execute::KeptBuild::make(queue, build_left ? rows : first,
                                         build_left ? first : rows, spec, options, build_left);
    if (kept == nullptr) {
      EXPECT_TRUE(!execute::KeptBuild::may_keep(spec, options) || is_joined_anew(spec));
      return;
    }
    for (auto const& probe : probes) {
      auto const& left = build_left ? build : probe;
      auto const& right = build_left ? probe : build;
      auto const planned = kept->joined_with(queue, relation_of(context_, probe));
      ASSERT_TRUE(planned.has_value());
      std::string several;
      Rows found;
      try {
        auto const result = execute::execute(queue, *planned);
        add_rows(*result, &found);
        for (auto const& stage : result->statistics.stages) {
          placed_ += stage.technique == "build rows placed" ? 1 : 0;
        }
      } catch (const base::Error& error) {
        ASSERT_EQ(error.status(), GPUJOIN_ERROR_SEVERAL_MATCHES) << error.what();
        several = error.what();
      }
      ASSERT_EQ(!several.empty(), has_several(context_, left, right, spec));
      if (!several.empty()) continue;
      Rows const expected = one_call(context_, left, right, spec);
      EXPECT_EQ(found == expected, true) << "missing\n"
                                         << text_of(without(expected, found)) << "too many\n"
                                         << text_of(without(found, expected));
      // A table of unique keys, which they are not.
      if (!kept->is_good()) kept = execute::KeptBuild::make(queue, kept->next());
      if (kept == nullptr) {
        EXPECT_TRUE(is_joined_anew(spec));
        return;
      }
    }
    EXPECT_TRUE(kept->is_good());
  }

  // Few rows by a lone key of a GPU, which takes less time with each probe side than pairs do.
  bool is_joined_anew(const columns::JoinSpec& spec) const {
    return context_->is_cuda() && spec.left_keys.size() == 1 && spec.residual == nullptr;
  }

  std::shared_ptr<base::Context> context_;
  int placed_ = 0;  // builds whose rows lie at their keys' numbers
};

TEST_F(KeptBuilds, AnswerOnTheCpuAsTheJoinInOneCall) {
  use(GPUJOIN_DEVICE_CPU);
  join_all(50);
}

// Integers lie at their keys' numbers.
TEST_F(KeptBuilds, OfUniqueKeysAnswerOnTheCpuAsTheJoinInOneCall) {
  use(GPUJOIN_DEVICE_CPU);
  join_all(90, BuildKeys::kUnique);
  EXPECT_GT(placed_, 20);
}

TEST_F(KeptBuilds, OfUniqueKeysAnswerOnTheGpuAsTheJoinInOneCall) {
  use(GPUJOIN_DEVICE_CUDA);
  if (!IsSkipped()) join_all(90, BuildKeys::kUnique);
}

TEST_F(KeptBuilds, AnswerOnTheGpuAsTheJoinInOneCall) {
  use(GPUJOIN_DEVICE_CUDA);
  if (!IsSkipped()) join_all(50);
}

// One key, and none of the probe side's is in the range of the build side's.
TEST_F(KeptBuilds, OfOneKeyAnswerOnTheGpuAsTheJoinInOneCall) {
  use(GPUJOIN_DEVICE_CUDA);
  if (!IsSkipped()) join_all(1);
}

// The first probe finds that keys repeat, and is joined in partitions by the codes that there are:
// of a key that the build side does not have they do not tell its value.
TEST_F(KeptBuilds, KeysThatTheBuildSideHasNotComeOutAsTheyAre) {
  use(GPUJOIN_DEVICE_CUDA);
  if (IsSkipped()) return;
  constexpr int32_t kRows = 3 << 19;  // more than one launch joins
  constexpr int32_t kMatched = 1000;  // of the probe side, twice
  OwnQueue const queue(context_);
  auto const relation = [&](bool is_build) {
    auto table = std::make_shared<Table>();
    for (int32_t i = 0; i < kRows; ++i) {
      table->key.push_back(is_build ? i / 2 : kRows / 2 - kMatched + i);
      table->number.push_back(7);
    }
    auto made = std::make_shared<columns::Relation>();
    made->context = context_;
    made->rows = kRows;
    made->owner = table;
    for (const int32_t* const data : {table->key.data(), table->number.data(), table->key.data()}) {
      made->columns.push_back(plain(GPUJOIN_TYPE_INT32, data, nullptr));
    }
    return pieces::on_device(queue, std::move(made));
  };
  auto const build = relation(true);
  auto const probe = relation(false);
  for (JoinKind const kind : {JoinKind::kLeft, JoinKind::kFull}) {
    columns::JoinSpec spec;
    spec.kind = kind;
    spec.left_keys = spec.right_keys = {0, 1};
    spec.materialize = true;
    spec.left_columns = {0, 2};
    auto const kept =
        execute::KeptBuild::make(queue, probe, build, spec, GPUJOIN_PLAN_OPTIONS_INIT, false);
    ASSERT_NE(kept, nullptr);
    auto const planned = kept->joined_with(queue, probe);
    ASSERT_TRUE(planned.has_value());
    auto const result = execute::execute(queue, *planned);
    int32_t const unmatched_build = kind == JoinKind::kFull ? kRows - 2 * kMatched : 0;
    ASSERT_EQ(result->rows, kRows + kMatched + unmatched_build);
    std::vector<int32_t> columns[2];
    for (size_t i = 0; i < 2; ++i) {
      columns[i].resize(static_cast<size_t>(result->rows));
      base::copy(queue, columns[i].data(), base::Memory::kHost, result->columns[i].data.get(),
                 result->memory, columns[i].size() * sizeof(int32_t));
    }
    base::finish(queue);
    EXPECT_TRUE(columns[0] == columns[1]);
  }
}

}  // namespace
}  // namespace gpujoin::tests
