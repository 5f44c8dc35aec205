// crossed_cuda_test.cpp: matches of keys that both sides have often, by key.
#include "tests/match/carried_relation.hpp"

namespace gpujoin::tests {
namespace {

class Crossed : public GpuTest {
 protected:
  // Expected as many as to be crossed, whatever they are, in so many launches where there is room;
  // with too little room, too.
  void expect_crossed(const KeyShape& shape, int32_t radix_bits, int32_t launches) {
    uint64_t const enough = std::max<uint64_t>(rows_of(shape), 10 * (shape.probe.size() + 1));
    Payloads const widths[] = {{{4}, {4}}, {{4, 4}, {4, 4}}, {{8}, {8, 8}}, {{2, 16}, {1}}};
    for (int32_t key_width : {4, 8}) {
      for (Payloads const& payloads : widths) {
        EXPECT_LE(expect_rows(queue(), plan_of(radix_bits, enough), shape, key_width, payloads),
                  launches);
        if (HasFailure()) return;
      }
      uint64_t const too_few = 9 * (shape.probe.size() + 1);
      expect_rows(queue(), plan_of(radix_bits, too_few), shape, key_width, {{4}, {8}});
      if (HasFailure()) return;
    }
  }
};

void add(uint64_t key, size_t build, size_t probe, KeyShape* shape) {
  shape->build.insert(shape->build.end(), build, key);
  shape->probe.insert(shape->probe.end(), probe, key);
}

// What is left over of vectors on either side, whatever lies before it in the output.
TEST_F(Crossed, KeysOfAnyNumberOfRows) {
  for (uint64_t from : {0, 3, 9}) {
    KeyShape shape{"counts from " + std::to_string(from), {}, {}};
    uint64_t key = 0;
    for (size_t build = from; build < from + 10; ++build) {
      for (size_t probe = 0; probe < 14; ++probe) add(key++, build, probe, &shape);
    }
    add(key++, 300, 200, &shape);
    spread_out(&shape);
    shuffle(&shape.build, from);
    shuffle(&shape.probe, from + 1);
    for (int32_t bits : {1, 3, 6}) {
      expect_crossed(shape, bits, 1);
      if (HasFailure()) return;
    }
  }
}

// Units without a match of no vector, behind ones that end anywhere: vectors are cut.
TEST_F(Crossed, VectorsAreAlignedWhereverAUnitBegins) {
  constexpr int32_t kBits = 10;
  KeyShape shape{"three rows, then fours", {}, {}};
  for (uint64_t partition = 0; partition < 1U << kBits; ++partition) {
    bool const is_odd = partition % 3 == 0;
    for (uint64_t id = 0; id < 3; ++id) {
      uint64_t const key = key_in(kBits, partition, 7 * partition % 4096, id);
      add(key, is_odd ? 3 + id : 4 * (id + 1), is_odd ? 1 + id : 8, &shape);
    }
  }
  shuffle(&shape.build, 1);
  shuffle(&shape.probe, 2);
  expect_crossed(shape, kBits, 1);
}

// Probe rows of a partition are several units, build rows two tables of one key or of many.
TEST_F(Crossed, PartitionsOfTwoTables) {
  constexpr int32_t kBits = 1;
  constexpr size_t kRoom = kernels::kCarriedBuildRows;
  for (size_t rows : {kRoom, kRoom + 1, 2 * kRoom - 7, 2 * kRoom}) {
    KeyShape shape{std::to_string(rows) + " rows", {}, {}};
    for (uint64_t i = 0; i < rows; ++i) shape.build.push_back(key_in(kBits, 0, i % 90, 1));
    for (uint64_t i = 0; i < 6000; ++i) shape.probe.push_back(key_in(kBits, 0, i % 100, 1));
    shuffle(&shape.build, rows);
    expect_crossed(shape, kBits, 1);
    if (HasFailure()) return;
  }
}

// Of the one table or of the other there are more keys than a unit crosses, or of neither.
TEST_F(Crossed, PartitionsOfManyKeysAreLeft) {
  constexpr int32_t kBits = 2;
  for (size_t keys : {1000, 1023, 1024, 1025, 3000}) {
    KeyShape shape{std::to_string(keys) + " keys", {}, {}};
    for (uint64_t id = 0; id < keys; ++id) {
      uint64_t const bucket = id % 4000;
      add(key_in(kBits, 0, bucket, id / 4000), 1, 2, &shape);
      add(key_in(kBits, 1, bucket, id / 4000), 1, 1, &shape);
    }
    // Side by side, so that the first table has few keys: partitions keep the order.
    for (uint64_t id = 0; id < 40; ++id) add(key_in(kBits, 0, 4001 + id, 9), 50, 3, &shape);
    for (uint64_t id = 0; id < 60; ++id) add(key_in(kBits, 1, 4001 + id, 9), 90, 3, &shape);
    for (uint64_t id = 0; id < 50; ++id) add(key_in(kBits, 2, 40 + id, 9), 30, 9, &shape);
    expect_crossed(shape, kBits, 2);
    std::reverse(shape.build.begin(), shape.build.end());
    expect_crossed(shape, kBits, 2);
    if (HasFailure()) return;
  }
}

// Buckets with more keys than are brought side by side, and a heavy key.
TEST_F(Crossed, PartitionsThatAreNotInOrderAreLeft) {
  constexpr int32_t kBits = 2;
  KeyShape shape{"keys of a bucket", {}, {}};
  for (uint64_t id = 0; id < 30; ++id) add(key_in(kBits, 1, 77, id), 20 + id, 5, &shape);
  for (uint64_t id = 0; id < 30; ++id) add(key_in(kBits, 2, 77 * id, 1), 20 + id, 50, &shape);
  add(key_in(kBits, 3, 5, 1), 2 * kernels::kCarriedBuildRows + 50, 40, &shape);
  add(key_in(kBits, 3, 6, 1), 20, 70, &shape);
  shuffle(&shape.build, 3);
  shuffle(&shape.probe, 4);
  expect_crossed(shape, kBits, 2);
}

}  // namespace
}  // namespace gpujoin::tests
