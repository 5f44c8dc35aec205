// carried_runs_cuda_test.cpp: matches of keys with many rows, in parts and by themselves, of rows
// that other matches left.
#include "tests/match/carried_relation.hpp"

namespace gpujoin::tests {
namespace {

class CarriedRuns : public GpuTest {
 protected:
  // Dealt after two matches that leave what they cannot do, waiting for them and not, after one
  // that crosses what it can, and with too little room.
  void expect_everywhere(const KeyShape& shape, int32_t radix_bits) {
    uint64_t const rows = rows_of(shape);
    Payloads const widths[] = {{{4}, {4}}, {{8}, {8}}, {{2, 16}, {1}}};
    for (int32_t key_width : {4, 8}) {
      for (Payloads const& payloads : widths) {
        for (int64_t hot : {int64_t{0}, static_cast<int64_t>(rows)}) {
          plan::JoinPlan plan = plan_of(radix_bits, rows);
          plan.expected_hot_rows = hot;
          EXPECT_LE(expect_rows(queue(), plan, shape, key_width, payloads), 2);
          if (HasFailure()) return;
        }
        for (uint64_t missing : {uint64_t{1}, uint64_t{kernels::kCarriedChunk} * 1000}) {
          plan::JoinPlan plan = plan_of(radix_bits, rows > missing ? rows - missing : 1);
          plan.expected_hot_rows = static_cast<int64_t>(rows);
          expect_rows(queue(), plan, shape, key_width, payloads);
          if (HasFailure()) return;
        }
        expect_rows(queue(), plan_of(radix_bits, 9 * (shape.probe.size() + 1)), shape, key_width,
                    payloads);
        if (HasFailure()) return;
      }
    }
  }
};

// About as many as are written by themselves, and as a batch, a block and a table have, in buckets
// that share a word.
TEST_F(CarriedRuns, OfOneKeyAPartition) {
  constexpr int32_t kBits = 4;
  constexpr uint32_t kRun = kernels::kCarriedLongRun;
  constexpr uint32_t kTable = kernels::kCarriedBuildRows;
  constexpr uint32_t kCounts[] = {1,    31,  32,  33,  127, 128,        129,    kRun - 1,
                                  kRun, 511, 512, 513, 600, kTable - 1, kTable, kTable + 1};
  for (uint64_t bucket : {6, 7}) {
    KeyShape shape{"one key a partition, bucket " + std::to_string(bucket), {}, {}};
    uint64_t partition = 0;
    for (uint32_t count : kCounts) {
      uint64_t const key = key_in(kBits, partition, bucket, 1);
      shape.build.insert(shape.build.end(), count, key);
      shape.probe.insert(shape.probe.end(), 1 + partition % 3, key);
      shape.probe.push_back(key_in(kBits, partition, bucket, 2));
      shape.probe.push_back(key_in(kBits, partition, bucket + 1, 2));
      ++partition;
    }
    expect_everywhere(shape, kBits);
    if (HasFailure()) return;
  }
}

// A heavy partition: its parts are more than a long run, and less, and some of its buckets have
// more keys than are put in order.
TEST_F(CarriedRuns, OfAHeavyKeyBesideOthers) {
  constexpr int32_t kBits = 2;
  struct {
    size_t heavy;
    size_t probes;
  } constexpr kCases[] = {{9300, 1}, {9300, 100}, {14000, 40}};
  for (auto const& [heavy, probes] : kCases) {
    KeyShape shape{"heavy_" + std::to_string(heavy) + "_" + std::to_string(probes),
                   unique_keys(3000, 1, 1), random_keys(2000, 4000, 1, 2)};
    spread_out(&shape);
    shape.build.insert(shape.build.end(), heavy, key_in(kBits, 1, 77, 0));
    shape.probe.insert(shape.probe.end(), probes, key_in(kBits, 1, 77, 0));
    for (uint64_t key = 1; key < 20; ++key) {
      shape.build.insert(shape.build.end(), 3 + 2 * key, key_in(kBits, 1, 77, key));
      shape.probe.push_back(key_in(kBits, 1, 77, key));
    }
    shuffle(&shape.build, heavy);
    shuffle(&shape.probe, probes);
    expect_everywhere(shape, kBits);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace gpujoin::tests
