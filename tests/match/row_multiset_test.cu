// row_multiset_test.cu: the multiset of hash and row number over one to five key columns.
#include <cmath>
#include <map>

#include "kernels/match/key_columns.cuh"
#include "kernels/tuning.hpp"
#include "tests/match/key_shapes.hpp"
#include "tests/own_queue.hpp"

namespace gpujoin::tests {
namespace {

using RowMultiset = GpuTest;

std::vector<plan::Output> all_outputs() {
  if (!plan::has_papers()) return {plan::Output::kGrown};
  return {plan::Output::kGrown, plan::Output::kTwoPasses};
}

struct Side {
  std::vector<HostColumn> keys;
  size_t rows = 0;
  std::vector<uint32_t> row_numbers;  // of the rows that take part; empty: all

  std::string key_at(uint32_t row) const {
    std::string key;
    for (HostColumn const& column : keys) key += column.at(row);
    return key;
  }
  std::vector<uint32_t> taking_part() const {
    if (!row_numbers.empty()) return row_numbers;
    std::vector<uint32_t> all(rows);
    std::iota(all.begin(), all.end(), 0U);
    return all;
  }
};

Side side_of(const std::vector<std::vector<uint64_t>>& columns,
             const std::vector<int32_t>& widths) {
  Side side;
  side.rows = columns.front().size();
  for (size_t c = 0; c < columns.size(); ++c) {
    side.keys.push_back(key_column(columns[c], widths[c]));
  }
  return side;
}

Pairs reference_pairs(const Side& build, const Side& probe) {
  std::map<std::string, std::vector<uint32_t>> rows_of_key;
  for (uint32_t row : build.taking_part()) rows_of_key[build.key_at(row)].push_back(row);
  Pairs pairs;
  for (uint64_t row : probe.taking_part()) {
    auto const found = rows_of_key.find(probe.key_at(static_cast<uint32_t>(row)));
    if (found == rows_of_key.end()) continue;
    for (uint32_t build_row : found->second) pairs.push_back(row << 32 | build_row);
  }
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

// A side on the device.
struct PlacedSide {
  std::vector<columns::DeviceColumn> keys;
  base::Buffer row_numbers;
  match::KeyRows rows;
};

PlacedSide place_side(base::Queue& queue, const Side& side) {
  PlacedSide placed;
  for (HostColumn const& key : side.keys) placed.keys.push_back(place(queue, key));
  placed.row_numbers = upload(queue, side.row_numbers);
  placed.rows = {placed.keys, static_cast<uint32_t>(side.taking_part().size()),
                 placed.row_numbers.as<uint32_t>()};
  return placed;
}

// Answers how often the output had to be given room.
int32_t expect_join_of(base::Queue& queue, const Side& build, const Side& probe,
                       plan::Output output, uint64_t first_capacity) {
  SCOPED_TRACE(plan::to_text(output));
  PlacedSide const build_side = place_side(queue, build);
  PlacedSide const probe_side = place_side(queue, probe);
  output::GrowingPairs pairs(queue, first_capacity);
  match::RowMultiset table(queue, build_side.rows);
  table.probe(queue, output, probe_side.rows, pairs);
  pairs.finish();
  Pairs const expected = reference_pairs(build, probe);
  EXPECT_EQ(pairs.rows(), expected.size());
  if (pairs.rows() != expected.size()) return pairs.resumes();
  auto const build_rows = download<uint32_t>(queue, pairs.build(), expected.size());
  auto const probe_rows = download<uint32_t>(queue, pairs.probe(), expected.size());
  Pairs found(expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    found[i] = uint64_t{probe_rows[i]} << 32 | build_rows[i];
  }
  std::sort(found.begin(), found.end());
  EXPECT_TRUE(found == expected) << "the right number of pairs, not the right ones";
  return pairs.resumes();
}

int32_t expect_join_both_ways(base::Queue& queue, const Side& build, const Side& probe,
                              uint64_t first_capacity = 1 << 20) {
  int32_t resumes = 0;
  for (plan::Output const output : all_outputs()) {
    resumes += expect_join_of(queue, build, probe, output, first_capacity);
  }
  return resumes;
}

// All rows but each third, from the second on.
void leave_rows_out(Side* side) {
  for (uint32_t row = 0; row < side->rows; ++row) {
    if (row % 3 != 1) side->row_numbers.push_back(row);
  }
}

int32_t expect_every_key_shape(base::Queue& queue, uint64_t first_capacity) {
  int32_t resumes = 0;
  for (int32_t width : {4, 8}) {
    for (KeyShape const& shape : key_shapes(width)) {
      for (bool const with_list : {false, true}) {
        SCOPED_TRACE(shape.name + ", a key of " + std::to_string(width) + " bytes" +
                     (with_list ? ", some rows" : ""));
        Side build = side_of({shape.build}, {width});
        Side probe = side_of({shape.probe}, {width});
        if (with_list) {
          leave_rows_out(&build);
          leave_rows_out(&probe);
        }
        resumes += expect_join_both_ways(queue, build, probe, first_capacity);
        if (::testing::Test::HasFailure()) return resumes;
      }
    }
  }
  return resumes;
}

TEST_F(RowMultiset, AnswersAsTheReferenceOnOneColumn) { expect_every_key_shape(queue(), 1 << 20); }

TEST_F(RowMultiset, AnswersTheSameWithHardlyAnyRoomAtFirst) {
  CallerAllocator allocator;
  {
    auto const list = allocator.open_queue();
    EXPECT_GT(expect_every_key_shape(*list, 1), 0);
    EXPECT_EQ(list->device_pool->account().guard_violations(), 0U);
  }
  EXPECT_EQ(allocator.live_blocks(), 0U);
}

// Few values a column, so that many rows agree in all columns but one.
Side several_columns(size_t rows, const std::vector<int32_t>& widths, uint64_t distinct,
                     uint64_t seed) {
  std::vector<std::vector<uint64_t>> columns;
  for (int32_t const width : widths) {
    // Wide columns differ in their upper halves only.
    uint64_t const stride = width == 8 ? uint64_t{1} << 40 : 1;
    columns.push_back(random_keys(rows, distinct, stride, ++seed * 31));
  }
  return side_of(columns, widths);
}

TEST_F(RowMultiset, ComparesOneToFiveColumnsOfMixedWidths) {
  std::vector<std::vector<int32_t>> const all = {
      {4},       {8},          {4, 4},          {8, 4},          {8, 8, 4},
      {4, 4, 8}, {4, 8, 4, 8}, {4, 4, 4, 4, 4}, {8, 8, 8, 8, 8}, {4, 8, 8, 4, 8}};
  for (std::vector<int32_t> const& widths : all) {
    // About as many values of the whole key as rows.
    auto const distinct =
        static_cast<uint64_t>(1 + std::pow(2000.0, 1.0 / static_cast<double>(widths.size())));
    for (size_t const rows : {size_t{1}, size_t{3}, size_t{33}, size_t{255}, size_t{256},
                              size_t{257}, size_t{1025}, size_t{4096}, size_t{9000}}) {
      SCOPED_TRACE(std::to_string(widths.size()) + " columns, " + std::to_string(rows) + " rows");
      Side build = several_columns(rows, widths, distinct, 1);
      Side probe = several_columns(rows + rows / 2, widths, distinct, 2);
      expect_join_both_ways(queue(), build, probe);
      leave_rows_out(&build);
      leave_rows_out(&probe);
      expect_join_both_ways(queue(), build, probe);
      if (HasFailure()) return;
    }
  }
}

TEST_F(RowMultiset, EmptySidesHaveNoPairs) {
  Side const nothing = several_columns(0, {4, 8}, 1, 1);
  Side const some = several_columns(100, {4, 8}, 3, 1);
  expect_join_both_ways(queue(), nothing, some);
  expect_join_both_ways(queue(), some, nothing);
  expect_join_both_ways(queue(), nothing, nothing);
}

Side twice(const Side& side) {
  Side all = side;
  for (HostColumn& column : all.keys) {
    column.data.insert(column.data.end(), column.data.begin(), column.data.end());
  }
  all.rows *= 2;
  return all;
}

// Keys of two columns that are all different, but share what every hash has set.
void expect_join_of_hashes(base::Queue& queue, uint64_t ones, size_t build_rows,
                           size_t probe_rows) {
  SCOPED_TRACE(ones);
  queue.context.hash_ones = ones;
  auto const side = [](size_t rows, uint64_t first) {
    std::vector<std::vector<uint64_t>> columns(2, std::vector<uint64_t>(rows));
    for (size_t i = 0; i < rows; ++i) {
      columns[0][i] = first + i;
      columns[1][i] = (first + i) * 3;
    }
    return side_of(columns, {8, 8});
  };
  expect_join_both_ways(queue, twice(side(build_rows, 0)), side(probe_rows, build_rows / 2));
  queue.context.hash_ones = 0;
}

TEST_F(RowMultiset, VerifiesKeysThatShareTheirHash) {
  // The one of free slots and directory entries for all keys, and eight hashes.
  for (uint64_t const ones : {~uint64_t{0}, ~uint64_t{7}, ~(uint64_t{7} << 60)}) {
    expect_join_of_hashes(queue(), ones, 1500, 700);
  }
}

TEST_F(RowMultiset, VerifiesKeysThatShareTheirTagOrTheirPlace) {
  constexpr uint64_t kSome = 511;
  expect_join_of_hashes(queue(), ~(kSome << 32), 3000, 3000);  // a tag, 512 places
  expect_join_of_hashes(queue(), ~kSome, 3000, 3000);          // a place, 512 tags
}

// By a hash without a seed all keys (a, mix(a)) have the same.
TEST_F(RowMultiset, HashesKeysThatWereChosenToShareOneApart) {
  constexpr size_t kRows = 1 << 14;
  for (uint64_t const seed : {uint64_t{0}, uint64_t{1}, uint64_t{0x123456789abcdef0}}) {
    queue().context.hash_seed = seed;
    std::vector<std::vector<uint64_t>> columns(2, std::vector<uint64_t>(kRows));
    for (size_t i = 0; i < kRows; ++i) {
      columns[0][i] = i;
      columns[1][i] = kernels::mix_key(uint64_t{i});
    }
    Side const side = side_of(columns, {8, 8});
    expect_join_both_ways(queue(), side, side);
  }
}

// A key 60 000 times: without the directory each insertion would walk through thousands of windows.
TEST_F(RowMultiset, InsertsAHeavyKeyAmongOthers) {
  CallerAllocator allocator;
  auto const list = allocator.open_queue();
  for (int32_t const width : {4, 8}) {
    SCOPED_TRACE(width);
    Side const build =
        side_of({joined(joined(unique_keys(9000, 1, 1), std::vector<uint64_t>(60000, 77)),
                        unique_keys(9000, 3, 2))},
                {width});
    Side const probe =
        side_of({joined(unique_keys(500, 2, 3), std::vector<uint64_t>(20, 77))}, {width});
    EXPECT_GT(expect_join_of(*list, build, probe, plan::Output::kGrown, 1), 0);
    if (plan::has_papers()) {
      EXPECT_EQ(expect_join_of(queue(), build, probe, plan::Output::kTwoPasses, 1), 0);
      EXPECT_EQ(expect_join_of(*list, build, probe, plan::Output::kTwoPasses, 1), 0);
    }
    // The other way round every unit has pairs to write, and few windows to walk.
    EXPECT_GT(expect_join_of(*list, probe, build, plan::Output::kGrown, 1), 0);
  }
}

TEST_F(RowMultiset, InsertsSeveralHeavyKeysThatShareADirectoryEntry) {
  // The entry is given by the low bits of the mixed key; the first key that asks has it.
  std::vector<uint64_t> build;
  std::vector<uint64_t> probe;
  for (uint32_t i = 0; i < 6; ++i) {
    uint32_t const key = kernels::unmix_key(0x00f00000U * i + 5);
    build.insert(build.end(), 900, key);
    probe.insert(probe.end(), 3, key);
  }
  std::shuffle(build.begin(), build.end(), std::mt19937_64(4));
  expect_join_both_ways(queue(), side_of({build}, {4}), side_of({probe}, {4}));
}

TEST_F(RowMultiset, FailsWithoutRoomAndLeavesNothing) {
  gpujoin_context_options options = cuda_options();
  options.memory_limit_bytes = uint64_t{8} << 20;
  auto const small = OwnQueue(options);
  uint64_t const at_start = small->device_pool->in_use_bytes();
  for (plan::Output const output : all_outputs()) {
    {
      // A table of 16 MiB.
      PlacedSide const build = place_side(*small, side_of({unique_keys(600000, 1, 1)}, {4}));
      EXPECT_THROW(match::RowMultiset(*small, build.rows), base::Error);
    }
    {
      // 9 million pairs, 72 MB.
      Side const side = side_of({std::vector<uint64_t>(3000, 5)}, {4});
      PlacedSide const placed = place_side(*small, side);
      output::GrowingPairs pairs(*small, 1);
      match::RowMultiset table(*small, placed.rows);
      EXPECT_THROW(table.probe(*small, output, placed.rows, pairs), base::Error);
    }
    base::finish(*small);
    EXPECT_EQ(small->device_pool->in_use_bytes(), at_start);
  }
}

}  // namespace
}  // namespace gpujoin::tests
