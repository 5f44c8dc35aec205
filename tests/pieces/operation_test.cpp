// Builds, operations and probes: every kind, in batches of odd sizes, within budgets, compared with
// the join of both sides in one call.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "src/base/spill_folder.hpp"
#include "src/base/status.hpp"
#include "src/pieces/build.hpp"
#include "src/pieces/operation.hpp"
#include "src/pieces/probe.hpp"
#include "src/pieces/slice.hpp"
#include "tests/own_queue.hpp"
#include "tests/pieces/drawn_tables.hpp"

namespace gpujoin::tests {

namespace {

using columns::JoinKind;
using columns::Relation;

pieces::OperationOptions numbered(bool build_left) {
  pieces::OperationOptions options;
  options.build_left = build_left;
  options.has_row_numbers = true;
  return options;
}

struct Way {
  bool build_left = false;
  int64_t batch_rows = 100;
  int probes = 1;
  bool flushes = false;
  std::shared_ptr<base::SpillFolder> folder;
};

// Takes results as they come until there is none.
pieces::Found drain(pieces::Probe& probe, Rows* rows) {
  for (;;) {
    std::unique_ptr<columns::JoinResult> result;
    pieces::Found const found = probe.next(&result);
    if (found != pieces::Found::kResult) return found;
    add_rows(*result, rows);
  }
}

template <typename Append>
void in_batches(const std::shared_ptr<const Relation>& whole, int64_t batch_rows,
                const Append& append) {
  for (int64_t first = 0; first < whole->rows; first += batch_rows) {
    append(pieces::slice(whole, first, std::min(batch_rows, whole->rows - first)), first);
  }
}

struct Answer {
  Rows rows;
  int64_t pieces = 0;
  uint64_t spilled_bytes = 0;
  bool is_whole = false;
};

Answer by_operation(const std::shared_ptr<base::Context>& context,
                    const std::shared_ptr<Table>& left, const std::shared_ptr<Table>& right,
                    const columns::JoinSpec& spec, const Way& way) {
  auto const build_rows = relation_of(context, way.build_left ? left : right);
  auto const probe_rows = relation_of(context, way.build_left ? right : left);
  pieces::BuildShape shape;
  shape.keys = way.build_left ? spec.left_keys : spec.right_keys;
  shape.key_flags = spec.key_flags;
  shape.has_row_numbers = spec.pairs;
  shape.folder = way.folder;
  shape.on_gpu = context->is_cuda();
  auto const build = std::make_shared<pieces::Build>(context, *build_rows, shape);
  in_batches(build_rows, way.batch_rows,
             [&](auto const& batch, int64_t first) { build->append(batch, first); });
  build->finish();
  Answer answer;
  answer.spilled_bytes = build->store().spilled_bytes();
  answer.is_whole = build->is_whole();
  auto const operation =
      std::make_shared<pieces::Operation>(build, *probe_rows, spec, numbered(way.build_left));
  {
    std::vector<std::unique_ptr<pieces::Probe>> probes;
    for (int i = 0; i < way.probes; ++i) {
      probes.push_back(std::make_unique<pieces::Probe>(operation));
    }
    operation->close();
    size_t next = 0;
    in_batches(probe_rows, way.batch_rows, [&](auto const& batch, int64_t first) {
      pieces::Probe& probe = *probes[next++ % probes.size()];
      while (!probe.append(batch, first)) drain(probe, &answer.rows);
      if (way.flushes) probe.flush();
    });
    for (auto& probe : probes) {
      probe->finish();
      EXPECT_EQ(drain(*probe, &answer.rows), pieces::Found::kFinished);
    }
  }
  for (;;) {
    std::unique_ptr<columns::JoinResult> result;
    pieces::Found const found = operation->next(&result);
    if (found == pieces::Found::kFinished) break;
    EXPECT_EQ(found, pieces::Found::kResult);
    if (result == nullptr) break;
    add_rows(*result, &answer.rows);
  }
  EXPECT_EQ(operation->progress.pieces_done, operation->progress.pieces);
  answer.pieces = operation->progress.pieces;
  return answer;
}

uint64_t on_device(const base::Context& context) {
  return context.is_cuda() ? context.device_account->in_use_bytes() : 0;
}

void compare(uint64_t seed, const std::shared_ptr<base::Context>& unlimited,
             const std::shared_ptr<base::Context>& context, const Drawing& left_drawn,
             const Drawing& right_drawn, const Way& way) {
  auto const left = draw(left_drawn);
  auto const right = draw(right_drawn);
  // Queues keep their scratch: that of a join, and those by which probes send their rows.
  {
    std::vector<OwnQueue> queues;
    for (int i = 0; i <= way.probes; ++i) queues.emplace_back(context);
  }
  uint64_t const on_device_before = on_device(*context);
  for (int32_t k = 1; k <= static_cast<int32_t>(columns::kLastJoinKind); ++k) {
    auto const kind = static_cast<JoinKind>(k);
    if (kind == JoinKind::kCross && left_drawn.rows * right_drawn.rows > 40000) continue;
    bool const two = (seed + static_cast<uint64_t>(k)) % 2 == 0;
    auto const spec = spec_of(kind, two, seed % 3 == 0, (seed + static_cast<uint64_t>(k)) % 3 != 0);
    SCOPED_TRACE("seed " + std::to_string(seed) + " " + columns::to_text(kind) +
                 (way.build_left ? " build left" : " build right"));
    if (has_several(unlimited, left, right, spec)) {
      try {
        by_operation(context, left, right, spec, way);
        ADD_FAILURE() << "no error";
      } catch (const base::Error& error) {
        EXPECT_EQ(error.status(), GPUJOIN_ERROR_SEVERAL_MATCHES) << error.what();
      }
      continue;
    }
    Rows const expected = one_call(unlimited, left, right, spec);
    Answer const found = by_operation(context, left, right, spec, way);
    EXPECT_EQ(found.rows == expected, true)
        << "missing\n"
        << text_of(without(expected, found.rows)) << "too many\n"
        << text_of(without(found.rows, expected));
    EXPECT_EQ(context->host_account->in_use_bytes(), 0U);
    EXPECT_EQ(on_device(*context), on_device_before);
    if (::testing::Test::HasFailure()) return;
  }
}

void compare_batches(const std::shared_ptr<base::Context>& context) {
  auto const on_cpu = make_context(0);
  std::mt19937_64 random(1);
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Drawing left{static_cast<int64_t>(random() % 300), 1 + static_cast<int64_t>(random() % 200),
                 0.0, seed % 4 == 0 ? 0.0 : 0.1, seed};
    Drawing right = left;
    right.rows = static_cast<int64_t>(random() % 300);
    right.seed = seed + 1000;
    Way way{seed % 2 == 0, 1 + static_cast<int64_t>(random() % 70),
            1 + static_cast<int>(random() % 3), seed % 3 == 1, nullptr};
    compare(seed, on_cpu, context, left, right, way);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(Operation, AnswersAsTheJoinInOneCall) { compare_batches(make_context(0)); }

TEST(Operation, AnswersOnTheGpuAsTheJoinInOneCall) {
  auto const context = gpu_context(0);
  if (context == nullptr) GTEST_SKIP() << "no CUDA device";
  compare_batches(context);
}

// A build side is to be a fifth of the limit at most.
TEST(Operation, JoinsOnTheGpuWhatDoesNotFitInPartitions) {
  auto const context = gpu_context(uint64_t{24} << 20);
  if (context == nullptr) GTEST_SKIP() << "no CUDA device";
  Drawing const left{290000, 240000, 0.0, 0.05, 1};
  Drawing const right{300000, 240000, 0.0, 0.05, 2};
  compare(1, make_context(0), context, left, right, {true, 2048, 2, false, nullptr});
}

// Numbers beyond 4 bytes, and rows that are not there.
TEST(Operation, RowNumbersAreTheCallers) {
  auto const context = make_context(0);
  auto const left = draw({50, 60, 0.0, 0.0, 1});
  auto const right = draw({50, 60, 0.0, 0.0, 2});
  auto const rows = relation_of(context, right);
  auto const build = std::make_shared<pieces::Build>(context, *rows,
                                                     pieces::BuildShape{{0}, {0}, true, false, {}});
  constexpr int64_t kFirst = int64_t{1} << 33;
  build->append(rows, kFirst);
  build->finish();
  auto const operation = std::make_shared<pieces::Operation>(
      build, *rows, spec_of(JoinKind::kLeft, false, false, true), numbered(false));
  pieces::Probe probe(operation);
  probe.append(relation_of(context, left), 7);
  probe.finish();
  std::unique_ptr<columns::JoinResult> result;
  ASSERT_EQ(probe.next(&result), pieces::Found::kResult);
  auto const count = static_cast<size_t>(result->rows);
  std::vector<int64_t> left_rows(count), right_rows(count);
  gpujoin_fetch fetches[2] = {GPUJOIN_FETCH_INIT, GPUJOIN_FETCH_INIT};
  fetches[0].what = GPUJOIN_FETCH_LEFT_INDEX;
  fetches[0].data = left_rows.data();
  fetches[1].what = GPUJOIN_FETCH_RIGHT_INDEX;
  fetches[1].data = right_rows.data();
  for (auto& fetch : fetches) fetch.data_bytes = count * sizeof(int64_t);
  gpujoin_page page = GPUJOIN_PAGE_INIT;
  OwnQueue const queue(context);
  columns::fetch_page(queue, *result, page, fetches, nullptr);
  size_t missing = 0;
  for (size_t i = 0; i < count; ++i) {
    auto const left_row = static_cast<size_t>(left_rows[i] - 7);
    ASSERT_LT(left_row, left->key.size());
    if (right_rows[i] == GPUJOIN_NO_ROW_INT64) {
      ++missing;
      continue;
    }
    auto const right_row = static_cast<size_t>(right_rows[i] - kFirst);
    ASSERT_LT(right_row, right->key.size());
    EXPECT_EQ(left->key[left_row], right->key[right_row]);
  }
  EXPECT_GT(missing, 0U);
  EXPECT_LT(missing, count);
  fetches[1].type = GPUJOIN_TYPE_UINT32;
  page = GPUJOIN_PAGE_INIT;
  EXPECT_THROW(columns::fetch_page(queue, *result, page, fetches, nullptr), base::Error);
  fetches[0].type = GPUJOIN_TYPE_UINT32;
  page = GPUJOIN_PAGE_INIT;
  columns::fetch_page(queue, *result, page, std::span(fetches, 1), nullptr);
  EXPECT_LT(reinterpret_cast<const uint32_t*>(left_rows.data())[0], 57U);
}

std::shared_ptr<base::SpillFolder> make_folder(uint64_t limit) {
  return std::make_shared<base::SpillFolder>(std::filesystem::temp_directory_path().string(),
                                             limit);
}

TEST(Operation, JoinsWhatDoesNotFitInPartitions) {
  auto const unlimited = make_context(0);
  auto const folder = make_folder(0);
  for (uint64_t seed = 0; seed < 2; ++seed) {
    auto const context = make_context(uint64_t{2} << 20);
    Drawing const left{12000, 9000, 0.0, 0.05, seed};
    Drawing const right{16000, 9000, 0.0, 0.05, seed + 1000};
    compare(seed, unlimited, context, left, right, {seed % 2 == 0, 2048, 2, false, folder});
    if (HasFailure()) return;
    EXPECT_EQ(folder->used_bytes(), 0U);
  }
  EXPECT_GT(folder->peak_bytes(), 0U);
}

constexpr uint64_t kLeastLimit = uint64_t{1} << 20;
// In a checked build guards around each buffer take room, too.
#if GPUJOIN_CHECKED
constexpr uint64_t kLeastWithGuards = 2 * kLeastLimit;
#else
constexpr uint64_t kLeastWithGuards = kLeastLimit;
#endif

TEST(Operation, EveryKindWorksWithinTheLeastLimit) {
  auto const unlimited = make_context(0);
  auto const context = make_context(kLeastWithGuards);
  for (uint64_t seed = 0; seed < 4; ++seed) {
    bool const is_hot = seed == 3;
    Drawing const left{is_hot ? 4000 : 12000, 9000, is_hot ? 0.3 : 0.0, 0.05, seed};
    Drawing const right{is_hot ? 300 : 16000, 9000, 0.0, 0.05, seed + 1000};
    compare(seed, unlimited, context, left, right, {seed % 2 == 0, 2048, 2, false, make_folder(0)});
    if (HasFailure()) return;
  }
}

TEST(Operation, ALimitBelowTheLeastIsNamed) {
  auto const message_of = [](const std::shared_ptr<base::Context>& context, const auto& call) {
    try {
      call(context);
    } catch (const base::Error& error) {
      EXPECT_EQ(error.status(), GPUJOIN_ERROR_MEMORY_LIMIT);
      return std::string(error.what());
    }
    return std::string();
  };
  auto const table = draw({10, 10, 0.0, 0.0, 1});
  auto const build = [&](const std::shared_ptr<base::Context>& context) {
    pieces::Build(context, *relation_of(context, table), {{0}, {0}, true, false, {}});
  };
  EXPECT_EQ(message_of(make_context(kLeastLimit), build), "");
  std::string const message = message_of(make_context(65536), build);
  EXPECT_NE(message.find("is 65536"), std::string::npos) << message;
  EXPECT_NE(message.find("at least 1048576"), std::string::npos) << message;
  // 100 columns of 8 bytes: 4096 rows are more than that.
  auto const wide = [&](const std::shared_ptr<base::Context>& context) {
    auto relation = std::make_shared<Relation>();
    relation->context = context;
    relation->columns.assign(100, plain(GPUJOIN_TYPE_INT64, nullptr, nullptr));
    pieces::Build(context, *relation, {{0}, {0}, false, false, {}});
  };
  EXPECT_EQ(message_of(make_context(4096 * 800), wide), "");
  std::string const of_wide = message_of(make_context(4096 * 800 - 1), wide);
  EXPECT_NE(of_wide.find("at least 3276800"), std::string::npos) << of_wide;
}

// No partition holds less than all rows of a key.
TEST(Operation, JoinsAKeyThatIsLargerThanAPart) {
  auto const unlimited = make_context(0);
  auto const context = make_context(uint64_t{2} << 20);
  Drawing const left{12000, 6000, 0.5, 0.05, 1};
  Drawing const right{300, 200, 0.1, 0.05, 2};
  compare(0, unlimited, context, left, right, {true, 1000, 1, false, make_folder(0)});
}

// Of a row's matches the nearest is one, in whichever part of the key's rows it lies, and of rows
// at the same place the last or the first one.
TEST(Operation, NearestRowsAreThoseOfAllRowsOfAKey) {
  constexpr JoinKind kKinds[] = {JoinKind::kInner,     JoinKind::kLeft,     JoinKind::kRight,
                                 JoinKind::kFull,      JoinKind::kLeftSemi, JoinKind::kRightSemi,
                                 JoinKind::kRightAnti, JoinKind::kLeftAnti, JoinKind::kLeftSingle};
  auto const unlimited = make_context(0);
  auto const context = make_context(uint64_t{1} << 20);
  auto const left = draw({900, 20, 0.5, 0.05, 1});
  auto const right = draw({30000, 15000, 0.5, 0.05, 2});
  for (bool const has_keys : {true, false}) {
    for (gpujoin_direction direction = 1; direction <= 3; ++direction) {
      for (JoinKind const kind : kKinds) {
        SCOPED_TRACE(std::to_string(direction) + " " + columns::to_text(kind) +
                     (has_keys ? "" : " without keys"));
        auto spec = spec_of(kind, false, false, true);
        if (!has_keys) {
          spec.left_keys.clear();
          spec.right_keys.clear();
          spec.key_flags.clear();
        }
        spec.asof = columns::Asof{direction, 2, 2};
        spec.asof->is_strict = direction == GPUJOIN_DIRECTION_FORWARD;
        Answer const found =
            by_operation(context, left, right, spec, {false, 1000, 1, false, make_folder(0)});
        EXPECT_FALSE(found.is_whole);
        Rows const expected = one_call(unlimited, left, right, spec);
        ASSERT_EQ(found.rows == expected, true)
            << "missing\n"
            << text_of(without(expected, found.rows)) << "too many\n"
            << text_of(without(found.rows, expected));
        EXPECT_EQ(context->host_account->in_use_bytes(), 0U);
      }
    }
  }
}

// Parts of a partition are pieces that are counted, too.
TEST(Operation, PartitionsOfPartitionsAreProgress) {
  auto const context = make_context(uint64_t{1} << 20);
  auto const table = draw({40000, 40000, 0.0, 0.0, 1});
  auto const spec = spec_of(JoinKind::kInner, false, false, false);
  Answer const found =
      by_operation(context, table, table, spec, {false, 2048, 1, false, make_folder(0)});
  EXPECT_EQ(found.rows == one_call(make_context(0), table, table, spec), true);
  // Four, and rows with NULLs of each side.
  EXPECT_GT(found.pieces, 6);
}

// Half of the rows would have a room, and nothing is left behind.
TEST(Operation, AFullSpillFolderIsAnError) {
  auto const context = make_context(uint64_t{1} << 20);
  auto const folder = make_folder(uint64_t{100} << 10);
  auto const table = draw({20000, 20000, 0.0, 0.0, 1});
  try {
    by_operation(context, table, table, spec_of(JoinKind::kInner, false, false, false),
                 {false, 2048, 1, false, folder});
    ADD_FAILURE() << "no error";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.status(), GPUJOIN_ERROR_SPILL) << error.what();
  }
  EXPECT_EQ(folder->used_bytes(), 0U);
  EXPECT_EQ(context->host_account->in_use_bytes(), 0U);
}

TEST(Operation, OneProbeThatFailsLeavesTheBuildToOthers) {
  auto const context = make_context(0);
  auto const left = draw({100, 5, 0.0, 0.0, 1});
  auto const right = draw({100, 5, 0.0, 0.0, 2});
  auto const spec = spec_of(JoinKind::kLeftSingle, false, false, true);
  auto const inner = spec_of(JoinKind::kInner, false, false, true);
  auto const rows = relation_of(context, right);
  auto const build = std::make_shared<pieces::Build>(context, *rows,
                                                     pieces::BuildShape{{0}, {0}, true, false, {}});
  build->append(rows, 0);
  build->finish();
  auto const options = numbered(false);
  auto const fails = std::make_shared<pieces::Operation>(build, *rows, spec, options);
  auto const joins = std::make_shared<pieces::Operation>(build, *rows, inner, options);
  Rows found;
  {
    pieces::Probe failing(fails);
    pieces::Probe joining(joins);
    failing.append(relation_of(context, left), 0);
    joining.append(relation_of(context, left), 0);
    failing.finish();
    joining.finish();
    EXPECT_THROW(drain(failing, &found), base::Error);
    EXPECT_THROW(drain(failing, &found), base::Error);
    found.clear();
    EXPECT_EQ(drain(joining, &found), pieces::Found::kFinished);
  }
  EXPECT_EQ(found, one_call(context, left, right, inner));
  fails->close();
  std::unique_ptr<columns::JoinResult> result;
  EXPECT_THROW(fails->next(&result), base::Error);
}

}  // namespace

}  // namespace gpujoin::tests
