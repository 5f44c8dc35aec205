// kept_sides_cuda_test.cpp: rows without a match beside the pairs, over rows that the host
// partitioned.
#include <algorithm>
#include <unordered_set>

#include "tests/match/carried_relation.hpp"

namespace gpujoin::tests {
namespace {

using KeptSides = GpuTest;

// What a side is to keep, and whether it is what it kept.
struct Kept {
  const Carrier& side;
  const Carrier& other;
  std::vector<columns::Storage> targets;
  std::vector<CarriedOutput> outputs;

  Kept(const Carrier& of_side, const Carrier& of_other, int32_t key_width)
      : side(of_side), other(of_other), targets(2 + of_side.payloads.size()) {
    outputs.push_back({nullptr, key_width, CarriedFrom::kKey, &targets[0]});
    side.add_outputs(CarriedFrom::kProbe, &targets[1], &outputs);
  }
  Kept(const Kept&) = delete;  // outputs point into it

  void expect(base::Queue& queue, const WrittenRows& written, int32_t key_width) const {
    std::unordered_set<uint64_t> const keys(other.keys.begin(), other.keys.end());
    std::vector<uint32_t> rows;
    for (uint32_t row = 0; row < side.keys.size(); ++row) {
      if (!keys.contains(side.keys[row])) rows.push_back(row);
    }
    ASSERT_EQ(written.rows, rows.size());
    if (rows.empty()) return;
    std::vector<uint32_t> const found = download<uint32_t>(queue, targets[1].get(), rows.size());
    std::vector<uint32_t> sorted = found;
    std::sort(sorted.begin(), sorted.end());
    ASSERT_TRUE(sorted == rows);
    expect_keys(queue, side, found, targets[0], key_width);
    expect_payloads(queue, side, found, &targets[2]);
  }
};

void expect_kept(base::Queue& queue, const plan::JoinPlan& plan, const KeyShape& shape,
                 int32_t key_width, const Payloads& widths = {}) {
  Carrier const build(queue, shape.build, key_width, plan.radix_bits, widths.build, 100);
  Carrier const probe(queue, shape.probe, key_width, plan.radix_bits, widths.probe, 200);
  uint64_t const pairs = expected_pairs({build.keys, probe.keys, {}, {}}).size();
  for (bool const of_build : {false, true}) {
    for (bool const of_probe : {false, true}) {
      SCOPED_TRACE(shape.name + ", keys of " + std::to_string(key_width) + " bytes, " +
                   std::to_string(plan.radix_bits) + " bits, kept: " + (of_build ? "build " : "") +
                   (of_probe ? "probe" : ""));
      std::vector<columns::Storage> targets(2 + widths.build.size() + widths.probe.size());
      std::vector<CarriedOutput> outputs;
      build.add_outputs(CarriedFrom::kBuild, targets.data(), &outputs);
      probe.add_outputs(CarriedFrom::kProbe, &targets[1 + widths.build.size()], &outputs);
      Kept build_rows(build, probe, key_width);
      Kept probe_rows(probe, build, key_width);
      match::KeptSides kept;
      if (of_build) kept.build.outputs = &build_rows.outputs;
      if (of_probe) kept.probe.outputs = &probe_rows.outputs;
      WrittenRows const written = match::carried_columns(queue, plan, key_width, build.side(),
                                                         probe.side(), outputs, &kept);
      ASSERT_EQ(written.rows, pairs);
      uint64_t const behind = kept.build.written.rows + kept.probe.written.rows;
      if (pairs != 0 && behind != 0 && plan.expected_rows >= 0) {
        EXPECT_GE(written.room, pairs + behind);
      }
      if (of_build) build_rows.expect(queue, kept.build.written, key_width);
      if (of_probe) probe_rows.expect(queue, kept.probe.written, key_width);
    }
  }
}

// Row numbers alone: all that is expected of pairs and of both sides, in one output.
void expect_among_pairs(base::Queue& queue, const plan::JoinPlan& plan, const KeyShape& shape,
                        int32_t key_width) {
  Carrier const build(queue, shape.build, key_width, plan.radix_bits, {}, 100);
  Carrier const probe(queue, shape.probe, key_width, plan.radix_bits, {}, 200);
  Pairs const pairs = expected_pairs({build.keys, probe.keys, {}, {}});
  for (bool const of_build : {false, true}) {
    for (bool const of_probe : {false, true}) {
      SCOPED_TRACE(shape.name + ", keys of " + std::to_string(key_width) + " bytes, " +
                   std::to_string(plan.radix_bits) + " bits, kept: " + (of_build ? "build " : "") +
                   (of_probe ? "probe" : ""));
      std::vector<columns::Storage> targets(2);
      std::vector<CarriedOutput> outputs;
      build.add_outputs(CarriedFrom::kBuild, &targets[0], &outputs);
      probe.add_outputs(CarriedFrom::kProbe, &targets[1], &outputs);
      std::vector<CarriedOutput> const unused;
      match::KeptSides kept;
      kept.among_pairs = true;
      if (of_build) kept.build.outputs = &unused;
      if (of_probe) kept.probe.outputs = &unused;
      WrittenRows const written = match::carried_columns(queue, plan, key_width, build.side(),
                                                         probe.side(), outputs, &kept);
      if (!kept.among_pairs) return;  // a side has no rows
      Pairs expected = pairs;
      auto const add_alone = [&](const Carrier& side, const Carrier& other, bool is_build) {
        std::unordered_set<uint64_t> const keys(other.keys.begin(), other.keys.end());
        uint64_t count = 0;
        for (uint64_t row = 0; row < side.keys.size(); ++row) {
          if (keys.contains(side.keys[row])) continue;
          expected.push_back(is_build ? uint64_t{GPUJOIN_NO_ROW} << 32 | row
                                      : row << 32 | GPUJOIN_NO_ROW);
          ++count;
        }
        return count;
      };
      uint64_t const without_probe = of_build ? add_alone(build, probe, true) : 0;
      uint64_t const without_build = of_probe ? add_alone(probe, build, false) : 0;
      EXPECT_EQ(written.without_probe, without_probe);
      EXPECT_EQ(written.without_build, without_build);
      ASSERT_EQ(written.rows, expected.size());
      if (expected.empty()) continue;
      auto const build_rows = download<uint32_t>(queue, targets[0].get(), written.rows);
      auto const probe_rows = download<uint32_t>(queue, targets[1].get(), written.rows);
      Pairs found(written.rows);
      for (size_t i = 0; i < found.size(); ++i) {
        found[i] = uint64_t{probe_rows[i]} << 32 | build_rows[i];
      }
      std::sort(found.begin(), found.end());
      std::sort(expected.begin(), expected.end());
      ASSERT_TRUE(found == expected);
    }
  }
}

// By rank while the match writes pairs where 15 bits leave 17 of a key, else by sets.
TEST_F(KeptSides, AreThoseOfTheReferenceForAnyNumberOfPartitions) {
  for (int32_t radix_bits : {1, 7, 15, 16}) {
    for (int32_t key_width : {4, 8}) {
      for (KeyShape shape : key_shapes(key_width)) {
        spread_out(&shape);
        expect_kept(queue(), plan_of(radix_bits, rows_of(shape)), shape, key_width);
        expect_among_pairs(queue(), plan_of(radix_bits, rows_of(shape)), shape, key_width);
        if (HasFailure()) return;
      }
    }
  }
}

// Keys that repeat, many probe rows, many build rows: partitions that are left to other joins, and
// their rows without a match to sets.
TEST_F(KeptSides, OfPartitionsThatAreLeft) {
  KeyShape shape{"left", unique_keys(60000, 1, 21), random_keys(90000, 90000, 1, 22)};
  shape.build.insert(shape.build.end(), 12000, shape.build.front());
  shape.probe.insert(shape.probe.end(), 300, shape.build.front());
  shape.probe.insert(shape.probe.end(), 40000, shape.build[500]);
  shape.probe.insert(shape.probe.end(), 40000, 1000000007);
  spread_out(&shape);
  for (int32_t radix_bits : {15, 16}) {
    for (int64_t expected : {int64_t{-1}, int64_t{10}, static_cast<int64_t>(rows_of(shape))}) {
      plan::JoinPlan plan = plan_of(radix_bits, 0);
      plan.expected_rows = expected;
      expect_kept(queue(), plan, shape, 4, {{4}, {8}});
      expect_among_pairs(queue(), plan, shape, 4);
      plan.expected_hot_rows = 1000;
      expect_among_pairs(queue(), plan, shape, 4);
      expect_kept(queue(), plan, shape, 4, {{4}, {4}});
      if (HasFailure()) return;
    }
  }
}

TEST_F(KeptSides, WriteColumnsOfEveryWidth) {
  KeyShape shape{"widths", unique_keys(50000, 1, 7), random_keys(90000, 80000, 1, 8)};
  spread_out(&shape);
  for (Payloads const& widths :
       {Payloads{{}, {}}, Payloads{{4}, {4}}, Payloads{{4, 4, 4}, {}}, Payloads{{1}, {}},
        Payloads{{}, {2}}, Payloads{{8}, {8}}, Payloads{{16}, {16, 16}},
        Payloads{{1, 2, 4, 8, 16}, {16, 8, 4, 2, 1}}}) {
    for (int32_t radix_bits : {4, 15}) {
      expect_kept(queue(), plan_of(radix_bits, rows_of(shape)), shape, 4, widths);
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace gpujoin::tests
