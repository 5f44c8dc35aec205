// partition_sets_cuda_test.cpp: rows with and without a match, over rows that the host partitioned.
#include "src/match/partition_sets.hpp"

#include <algorithm>
#include <unordered_set>

#include "tests/match/carried_relation.hpp"

namespace gpujoin::tests {
namespace {

using match::SetRows;
using PartitionSets = GpuTest;

// Positions, keys and payloads of the side's rows that are wanted, each once.
void expect_set(base::Queue& queue, int32_t radix_bits, const KeyShape& shape, int32_t key_width,
                const std::vector<int32_t>& widths = {}) {
  Carrier const side(queue, shape.probe, key_width, radix_bits, widths, 1);
  Carrier const other(queue, shape.build, key_width, radix_bits, {}, 2);
  std::unordered_set<uint64_t> const keys(other.keys.begin(), other.keys.end());
  for (SetRows const wanted : {SetRows::kWithMatch, SetRows::kWithoutMatch}) {
    std::vector<columns::Storage> targets(2 + widths.size());
    std::vector<CarriedOutput> outputs = {{nullptr, key_width, CarriedFrom::kKey, &targets[0]}};
    side.add_outputs(CarriedFrom::kProbe, &targets[1], &outputs);
    WrittenRows const written = match::partition_set(queue, plan_of(radix_bits, 0), key_width,
                                                     wanted, side.side(), other.side(), outputs);
    std::vector<uint32_t> rows;
    for (uint32_t row = 0; row < side.keys.size(); ++row) {
      if (keys.contains(side.keys[row]) == (wanted == SetRows::kWithMatch)) rows.push_back(row);
    }
    ASSERT_EQ(written.rows, rows.size()) << shape.name << ", " << radix_bits << " bits";
    std::vector<uint32_t> const found = download<uint32_t>(queue, targets[1].get(), rows.size());
    std::vector<uint32_t> sorted = found;
    std::sort(sorted.begin(), sorted.end());
    ASSERT_TRUE(sorted == rows) << shape.name << ", " << radix_bits << " bits";
    expect_keys(queue, side, found, targets[0], key_width);
    expect_payloads(queue, side, found, &targets[2]);
  }
}

// By bits where a partition leaves 17 of a key or less, else by groups.
TEST_F(PartitionSets, AreThoseOfTheReferenceForAnyNumberOfPartitions) {
  for (int32_t radix_bits : {1, 5, 9, 15, 16}) {
    for (int32_t key_width : {4, 8}) {
      for (KeyShape shape : key_shapes(key_width)) {
        spread_out(&shape);
        if (shape.probe.empty() || shape.build.empty()) continue;
        expect_set(queue(), radix_bits, shape, key_width);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(PartitionSets, HaveBuildRowsInSeveralChunks) {
  constexpr size_t kRoom = kernels::kCarriedBuildRows;
  for (size_t build : {kRoom - 1, kRoom, kRoom + 1, 3 * kRoom + 17}) {
    for (size_t probe : {1, 31, 16384, 16385, 50000}) {
      KeyShape shape{"cut_" + std::to_string(build) + "_" + std::to_string(probe),
                     unique_keys(build, 1, build), random_keys(probe, 2 * build, 1, probe)};
      // Heavy keys of the first and of the last chunk.
      for (uint64_t key : {shape.build.front(), shape.build.back()}) {
        shape.build.insert(shape.build.end(), 5000, key);
        shape.probe.insert(shape.probe.end(), 100, key);
      }
      spread_out(&shape);
      for (int32_t key_width : {4, 8}) expect_set(queue(), 1, shape, key_width);
      expect_set(queue(), 15, shape, 4);
      if (HasFailure()) return;
    }
  }
}

TEST_F(PartitionSets, WriteColumnsOfEveryWidth) {
  KeyShape shape{"widths", unique_keys(30000, 1, 7), random_keys(90000, 60000, 1, 8)};
  spread_out(&shape);
  for (std::vector<int32_t> const& widths :
       {std::vector<int32_t>{4, 4}, {8}, {8, 8}, {1, 2, 4, 8, 16}, {16}}) {
    for (int32_t key_width : {4, 8}) {
      for (int32_t radix_bits : {4, 15}) {
        expect_set(queue(), radix_bits, shape, key_width, widths);
        if (HasFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace gpujoin::tests
