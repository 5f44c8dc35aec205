// any_row_cuda_test.cpp: tables of build keys that repeat, of which any row will do: each probe row
// whose key is among them comes out once, or each of the others, and build rows that are found are
// marked.
#include <algorithm>
#include <array>
#include <unordered_set>

#include "src/match/table_columns.hpp"
#include "tests/gpu_fixture.hpp"
#include "tests/match/table_plan.hpp"

namespace gpujoin::tests {
namespace {

using kernels::CarriedFrom;
using plan::Match;
using plan::PlacesOfNeighbours;

using AnyRow = GpuTest;

plan::JoinPlan plan_of(Match match, PlacesOfNeighbours neighbours) {
  plan::JoinPlan plan = table_plan(match);
  plan.neighbours = neighbours;
  return plan;
}

// Every key comes as often as any other, or once more: as many rows as keys have each one.
constexpr double kEven = -1;

// heavy: the share of the build rows that have one key, or kEven. in_order: both sides' rows are.
template <typename Key>
void expect_rows(base::Queue& queue, Match match, PlacesOfNeighbours neighbours,
                 match::RowsOfKey key_rows, uint32_t build_rows, uint32_t probe_rows, uint64_t keys,
                 Key stride, double heavy, bool in_order) {
  SCOPED_TRACE(std::to_string(build_rows) + " x " + std::to_string(probe_rows) + " rows of " +
               std::to_string(sizeof(Key)) + " bytes, " + std::to_string(keys) + " keys, heavy " +
               std::to_string(heavy) + (in_order ? ", in order" : "") + ", neighbours " +
               std::to_string(static_cast<int>(neighbours)) + ", rows of a key " +
               std::to_string(static_cast<int>(key_rows)));
  std::mt19937_64 random(build_rows + 3 * probe_rows + keys);
  std::bernoulli_distribution is_heavy(std::max(heavy, 0.0));
  auto const key_of = [&](uint64_t number) { return static_cast<Key>(number * stride + 1000); };
  std::vector<Key> build(build_rows);
  std::vector<Key> probe(probe_rows);
  for (size_t row = 0; row < build.size(); ++row) {
    uint64_t const number = heavy == kEven ? row * 7919 % keys : random() % keys;
    build[row] = key_of(is_heavy(random) ? keys / 3 : number);
  }
  for (Key& key : probe) key = key_of(random() % (2 * keys));
  if (in_order) {
    std::sort(build.begin(), build.end());
    std::sort(probe.begin(), probe.end());
  }
  std::unordered_set<Key> const all(build.begin(), build.end());
  std::array<std::vector<uint32_t>, 2> expected;
  for (uint32_t row = 0; row < probe_rows; ++row) {
    expected[all.contains(probe[row]) ? 0 : 1].push_back(row);
  }

  base::Buffer const build_keys = upload(queue, build);
  base::Buffer const probe_keys = upload(queue, probe);
  match::TableSide const of_build = {build_keys.data(), build_rows, {}, nullptr};
  match::TableSide const of_probe = {probe_keys.data(), probe_rows, {}, nullptr};
  auto const table =
      match::make_table(queue, plan_of(match, neighbours), sizeof(Key), of_build, {}, key_rows);
  ASSERT_NE(table, nullptr);
  for (auto const wanted : {match::ProbeRows::kMatched, match::ProbeRows::kUnmatched}) {
    std::vector<uint32_t> const& rows = expected[wanted == match::ProbeRows::kMatched ? 0 : 1];
    columns::Storage numbers;
    std::vector<match::CarriedOutput> const outputs = {{nullptr, 4, CarriedFrom::kProbe, &numbers}};
    auto const written =
        table->probe(queue, static_cast<int64_t>(rows.size()), of_probe, outputs, wanted);
    ASSERT_TRUE(written.has_value());
    ASSERT_EQ(written->rows, rows.size());
    std::vector<uint32_t> found = download<uint32_t>(queue, numbers.get(), rows.size());
    std::sort(found.begin(), found.end());
    EXPECT_TRUE(found == rows);
  }

  std::unordered_set<Key> const asked(probe.begin(), probe.end());
  std::vector<uint32_t> marks((build_rows + 31) / 32);
  for (uint32_t row = 0; row < build_rows; ++row) {
    if (asked.contains(build[row])) marks[row / 32] |= 1U << row % 32;
  }
  base::Buffer const bits = table->mark_build(queue, of_probe, of_build);
  EXPECT_TRUE(download<uint32_t>(queue, bits.data(), marks.size()) == marks);

  std::vector<uint32_t> probe_marks((probe_rows + 31) / 32);
  for (uint32_t const row : expected[0]) probe_marks[row / 32] |= 1U << row % 32;
  base::Buffer const probe_bits = table->mark_probe(queue, of_probe);
  EXPECT_TRUE(download<uint32_t>(queue, probe_bits.data(), probe_marks.size()) == probe_marks);
}

template <typename Key>
void expect_rows_of_all(base::Queue& queue, Match match, Key stride) {
  using match::RowsOfKey;
  for (auto const& [neighbours, key_rows] :
       {std::pair{PlacesOfNeighbours::kAnywhere, RowsOfKey::kAny},
        {PlacesOfNeighbours::kAnywhere, RowsOfKey::kAnyOfMany},
        {PlacesOfNeighbours::kNear, RowsOfKey::kAny},
        {PlacesOfNeighbours::kInFewSlices, RowsOfKey::kAnyOfMany}}) {
    for (double const heavy : {kEven, 0.0, 0.7}) {
      for (bool const in_order : {false, true}) {
        // Few build rows, few probe rows, more of both than keys, as many rows as keys; more probe
        // rows than one launch looks up by itself.
        for (auto const& [build, probe, keys] : {std::tuple{1000U, 700'000U, 900U},
                                                 {50'000U, 1'055'000U, 40'000U},
                                                 {300'000U, 5000U, 100'000U},
                                                 {900'000U, 300'000U, 70'000U},
                                                 {400'000U, 400'000U, 400'000U}}) {
          expect_rows<Key>(queue, match, neighbours, key_rows, build, probe, keys, stride, heavy,
                           in_order);
          if (::testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

TEST_F(AnyRow, OfDenseKeys) {
  expect_rows_of_all<uint32_t>(queue(), Match::kDirectTable, 1);
  expect_rows_of_all<uint64_t>(queue(), Match::kDirectTable, 8);
}

TEST_F(AnyRow, OfHashedKeys) {
  expect_rows_of_all<uint32_t>(queue(), Match::kGlobalTable, 0x9e3779b1);
  expect_rows_of_all<uint64_t>(queue(), Match::kGlobalTable, 0x9e3779b97f4a7c15);
}

// A probe row has no column of a build row of which nobody knows which it is.
TEST_F(AnyRow, HasNoColumns) {
  base::Buffer const keys = upload(queue(), std::vector<uint32_t>{1, 2, 2});
  match::TableSide const build = {keys.data(), 3, {}, nullptr};
  plan::JoinPlan const plan = plan_of(Match::kDirectTable, PlacesOfNeighbours::kAnywhere);
  EXPECT_THROW(
      match::make_table(queue(), plan, 4, build, {{keys.data(), 4}}, match::RowsOfKey::kAny),
      base::Error);
}

}  // namespace
}  // namespace gpujoin::tests
