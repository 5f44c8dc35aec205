// carried_tables_cuda_test.cpp: the tables of the join that writes output columns: ranks of unique
// keys, and matches that are dealt.
#include "tests/match/carried_relation.hpp"

namespace gpujoin::tests {
namespace {

using CarriedTables = GpuTest;

// Partitions of so many bits that the rest of a key of 4 bytes has kCarriedRankBits, and more.
constexpr int32_t kRankedBits = 32 - kernels::kCarriedRankBits;

// `rows` keys of one partition, none twice, with its first and its last key.
void add_partition(uint64_t partition, size_t rows, std::vector<uint64_t>* keys) {
  uint64_t const last = (uint64_t{1} << kernels::kCarriedRankBits) - 1;
  std::vector<uint64_t> rests = {0, last};
  for (uint64_t rest = 1; rests.size() < rows; rest += 1 + rest % 7) rests.push_back(rest);
  rests.resize(rows);
  for (uint64_t rest : rests) keys->push_back(partition | rest << kRankedBits);
}

TEST_F(CarriedTables, RankUniqueKeysOfAnyNumberOfBits) {
  KeyShape shape{"unique", unique_keys(300000, 1, 1), random_keys(500000, 400000, 1, 2)};
  spread_out(&shape);
  for (int32_t bits : {kRankedBits - 1, kRankedBits, kRankedBits + 1}) {
    for (Payloads const& widths : {Payloads{{}, {}}, Payloads{{4}, {4}}, Payloads{{8, 8}, {8}},
                                   Payloads{{4, 4, 4, 4, 4, 4}, {4}}, Payloads{{1, 16}, {2}}}) {
      EXPECT_LE(expect_rows(queue(), plan_of(bits, rows_of(shape)), shape, 4, widths), 1);
      if (HasFailure()) return;
    }
  }
}

TEST_F(CarriedTables, RankPartitionsUpToTheirLastRow) {
  // As many rows as the table has, one fewer, one more, and none; keys that are not there lie
  // beside those that are.
  constexpr size_t kRoom = kernels::kCarriedBuildRows;
  KeyShape shape{"full", {}, {}};
  size_t const counts[] = {kRoom, kRoom - 1, kRoom + 1, 1, 2, 31, 32, 33, 2 * kRoom + 5, 0};
  for (uint64_t partition = 0; partition < std::size(counts); ++partition) {
    add_partition(partition * 3, counts[partition], &shape.build);
    add_partition(partition * 3, 3 * kRoom, &shape.probe);
    add_partition(partition * 3 + 1, 50, &shape.probe);
  }
  for (uint64_t key = 0; key < 20000; ++key) shape.probe.push_back(key * 104729);
  shuffle(&shape.build, 3);
  shuffle(&shape.probe, 4);
  for (Payloads const& widths : {Payloads{{4}, {4}}, Payloads{{4, 8, 16}, {8}}}) {
    EXPECT_LE(expect_rows(queue(), plan_of(kRankedBits, rows_of(shape)), shape, 4, widths), 1);
    if (HasFailure()) return;
  }
}

TEST_F(CarriedTables, LeavePartitionsWhoseKeysRepeat) {
  // One key of all, one in some partitions, all keys.
  for (uint64_t every : {uint64_t{100000}, uint64_t{1000}, uint64_t{1}}) {
    KeyShape shape{"each " + std::to_string(every), unique_keys(100000, 1, 5),
                   random_keys(200000, 150000, 1, 6)};
    for (size_t i = 0; i < 100000; i += every) shape.build.push_back(shape.build[i]);
    spread_out(&shape);
    for (Payloads const& widths : {Payloads{{4}, {4}}, Payloads{{8, 4}, {8}}}) {
      EXPECT_LE(expect_rows(queue(), plan_of(kRankedBits, rows_of(shape)), shape, 4, widths), 1);
      // With too little room what is left is joined twice, too.
      expect_rows(queue(), plan_of(kRankedBits, 1000), shape, 4, widths);
      if (HasFailure()) return;
    }
  }
}

TEST_F(CarriedTables, JoinAllUnitsOfAPartitionTheSameWay) {
  // Blocks that met a repeated key come to partitions of many units that have none, and others join
  // some of these units.
  KeyShape shape{"repeated, and many probe rows of a unique key", unique_keys(100000, 1, 5),
                 random_keys(200000, 150000, 1, 6)};
  for (size_t i = 0; i < 100000; i += 100) shape.build.push_back(shape.build[i]);
  spread_out(&shape);
  for (size_t i : {1, 777, 50001, 99999}) {
    uint64_t const key = shape.build[i];
    shape.probe.insert(shape.probe.end(), 10 * kernels::kCarriedProbeRows, key);
  }
  expect_rows(queue(), plan_of(kRankedBits, rows_of(shape)), shape, 4, {{4}, {4}});
  expect_rows(queue(), plan_of(kRankedBits, rows_of(shape)), shape, 4, {{8, 8}, {}});
}

TEST_F(CarriedTables, DealMatchesWhereverALineOfTheOutputBegins) {
  // Counts that move the first place of what a warp writes through a line, and rows without a match
  // between.
  for (int32_t key_width : {4, 8}) {
    for (size_t count : {5, 7, 31, 33, 64, 100}) {
      KeyShape shape{std::to_string(count) + " of a key", {}, {}};
      for (uint64_t key = 0; key < 500; ++key) {
        shape.build.insert(shape.build.end(), key % 3 == 0 ? count + key % 40 : 1, key);
        shape.probe.insert(shape.probe.end(), key % 5 + 1, key);
        shape.probe.push_back(key + 1000);
      }
      shuffle(&shape.build, count);
      shuffle(&shape.probe, count + 1);
      spread_out(&shape);
      // Expected as many as to deal, whatever they are.
      uint64_t const expected = std::max<uint64_t>(rows_of(shape), 40 * shape.probe.size());
      for (Payloads const& widths :
           {Payloads{{}, {}}, Payloads{{4}, {4}}, Payloads{{8}, {8, 8}}, Payloads{{2, 16}, {1}}}) {
        expect_rows(queue(), plan_of(2, expected), shape, key_width, widths);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(CarriedTables, DealMoreMatchesOfARowThanAChunkHasPlaces) {
  // 32 rows of a warp match a whole table each: 36 chunks.
  KeyShape shape{"one key", std::vector<uint64_t>(kernels::kCarriedBuildRows, 5),
                 std::vector<uint64_t>(64, 5)};
  shape.build.push_back(7);
  shape.probe.insert(shape.probe.end(), 40, 7);
  shuffle(&shape.probe, 9);
  for (uint64_t expected : {rows_of(shape), uint64_t{40 * 104}}) {
    expect_rows(queue(), plan_of(1, expected), shape, 4, {{4}, {4}});
    expect_rows(queue(), plan_of(1, expected), shape, 8, {{8}, {4}});
  }
}

}  // namespace
}  // namespace gpujoin::tests
