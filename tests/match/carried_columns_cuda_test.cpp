// carried_columns_cuda_test.cpp: the join of partitions that writes output columns, over rows that
// the host partitioned.
#include "tests/match/carried_relation.hpp"

namespace gpujoin::tests {
namespace {

using CarriedColumns = GpuTest;

TEST_F(CarriedColumns, AnswerAsTheReferenceForAnyNumberOfPartitions) {
  for (int32_t radix_bits : {1, 4, 9}) {
    for (int32_t key_width : {4, 8}) {
      for (KeyShape shape : key_shapes(key_width)) {
        spread_out(&shape);
        plan::JoinPlan const plan = plan_of(radix_bits, rows_of(shape));
        int32_t const launches = expect_rows(queue(), plan, shape, key_width);
        EXPECT_LE(launches, 1) << "there was room for all of " << shape.name;
        if (HasFailure()) return;
      }
    }
  }
}

// Units of more partitions than are summed at a time, of which some are cut, and some left.
TEST_F(CarriedColumns, AnswerAsTheReferenceForManyPartitions) {
  for (int32_t radix_bits : {14, 16}) {
    KeyShape shape{"many partitions", unique_keys(60000, 1, 21), random_keys(90000, 80000, 1, 22)};
    // Of the first and of the last partitions: a heavy key, and one with many probe rows.
    for (uint64_t key : {shape.build.front(), shape.build.back()}) {
      shape.build.insert(shape.build.end(), 12000, key);
      shape.probe.insert(shape.probe.end(), 30, key);
    }
    shape.probe.insert(shape.probe.end(), 40000, shape.build[500]);
    spread_out(&shape);
    for (int32_t key_width : {4, 8}) {
      expect_rows(queue(), plan_of(radix_bits, rows_of(shape)), shape, key_width);
      if (HasFailure()) return;
    }
  }
}

TEST_F(CarriedColumns, AnswerAsTheReferenceForKeysThatWereNotSpread) {
  // Few partitions and few buckets have all the rows.
  for (int32_t key_width : {4, 8}) {
    for (KeyShape const& shape : key_shapes(key_width)) {
      expect_rows(queue(), plan_of(5, rows_of(shape)), shape, key_width, {{8}, {2}});
      if (HasFailure()) return;
    }
  }
}

TEST_F(CarriedColumns, WriteColumnsOfEveryWidth) {
  for (int32_t key_width : {4, 8}) {
    KeyShape unique{"unique", unique_keys(50000, 1, 1), random_keys(120000, 70000, 1, 2)};
    KeyShape duplicates{"duplicates", random_keys(20000, 3000, 1, 3),
                        random_keys(20000, 4000, 1, 4)};
    for (KeyShape* shape : {&unique, &duplicates}) {
      spread_out(shape);
      plan::JoinPlan const plan = plan_of(4, rows_of(*shape));
      for (Payloads const& widths :
           {Payloads{{}, {}}, Payloads{{4}, {4}}, Payloads{{4, 4, 4}, {}}, Payloads{{1}, {}},
            Payloads{{}, {2}}, Payloads{{8}, {8}}, Payloads{{16}, {16, 16}},
            Payloads{{1, 2, 4, 8, 16}, {16, 8, 4, 2, 1}}}) {
        expect_rows(queue(), plan, *shape, key_width, widths);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(CarriedColumns, AreAsManyAsTheyMayBe) {
  // With two row numbers and two keys as many as a launch has room for.
  Payloads widths;
  for (int32_t i = 0; i < kernels::kMovedColumns - 1; ++i) {
    widths.build.push_back(1 << i % 5);
    widths.probe.push_back(16 >> i % 5);
  }
  KeyShape shape{"most columns", unique_keys(9000, 1, 5), random_keys(20000, 12000, 1, 6)};
  spread_out(&shape);
  expect_rows(queue(), plan_of(3, rows_of(shape)), shape, 4, widths);

  Carrier const side(queue(), shape.build, 4, 3, {}, 1);
  columns::Storage target;
  std::vector<CarriedOutput> const outputs(kernels::kCarriedColumns + 1,
                                           {side.numbers.data(), 4, CarriedFrom::kBuild, &target});
  EXPECT_EQ(status_of([&] {
              match::KeptSides none;
              match::carried_columns(queue(), plan_of(3, 1), 4, side.side(), side.side(), outputs,
                                     &none);
            }),
            GPUJOIN_ERROR_INTERNAL);
}

TEST_F(CarriedColumns, OfPartitionsThatAreCutIntoUnits) {
  // Several chunks of build rows and of 16384 probe rows, and their edges.
  constexpr size_t kRoom = kernels::kCarriedBuildRows;
  for (size_t build : {kRoom - 1, kRoom, kRoom + 1, size_t{20000}}) {
    for (size_t probe : {16383, 16384, 16385, 100000}) {
      KeyShape shape{"cut_" + std::to_string(build) + "_" + std::to_string(probe),
                     unique_keys(build, 1, build), random_keys(probe, 2 * build, 1, probe)};
      shape.probe.insert(shape.probe.end(), 3000, 7);  // one of them often
      // All in the last partition, then in both.
      for (uint64_t& key : shape.build) key = 2 * key + 1;
      for (uint64_t& key : shape.probe) key = 2 * key + 1;
      expect_rows(queue(), plan_of(1, rows_of(shape)), shape, 4);
      spread_out(&shape);
      expect_rows(queue(), plan_of(1, rows_of(shape)), shape, 8, {{8}, {1}});
      if (HasFailure()) return;
    }
  }
}

TEST_F(CarriedColumns, OfABuildKeyThousandsOfTimesAmongOthersOfItsBucket) {
  constexpr int32_t kBits = 2;
  for (int32_t key_width : {4, 8}) {
    KeyShape shape{"heavy among others", {}, {}};
    uint64_t const heavy = key_in(kBits, 1, 77, 5);
    shape.build.assign(10000, heavy);
    for (uint64_t id = 6; id < 1006; ++id) shape.build.push_back(key_in(kBits, 1, 77, id));
    for (uint64_t bucket = 0; bucket < 4000; ++bucket) {
      shape.build.push_back(key_in(kBits, bucket % 4, bucket, 1));
    }
    shuffle(&shape.build, 7);
    // The heavy key, others of its bucket, keys of its bucket that are not there, and others.
    shape.probe.assign(70, heavy);
    for (uint64_t id = 0; id < 2000; ++id) shape.probe.push_back(key_in(kBits, 1, 77, id));
    for (uint64_t bucket = 0; bucket < 4000; ++bucket) {
      shape.probe.push_back(key_in(kBits, bucket % 4, bucket, 1));
    }
    shuffle(&shape.probe, 8);
    expect_rows(queue(), plan_of(kBits, rows_of(shape)), shape, key_width);
    expect_rows(queue(), plan_of(kBits, rows_of(shape)), shape, key_width, {{16}, {1, 8}});
    if (HasFailure()) return;
  }
}

// Buckets that take more than a warp's lanes and have some keys, of many rows or few: brought side
// by side one key after the other.
TEST_F(CarriedColumns, OfBucketsWithSomeKeysOfManyRows) {
  constexpr int32_t kBits = 2;
  for (int32_t key_width : {4, 8}) {
    for (std::vector<size_t> const& counts : {std::vector<size_t>{4000, 1},
                                              {1, 4000},
                                              {2000, 2000},
                                              {33, 33},
                                              {1, 1, 33},
                                              {700, 31, 32, 33, 1, 64, 5},
                                              std::vector<size_t>(16, 40),
                                              std::vector<size_t>(20, 40)}) {
      KeyShape shape{"some keys a bucket", {}, {}};
      for (uint64_t id = 0; id < counts.size(); ++id) {
        for (uint64_t bucket : {0, 77, 4095}) {
          uint64_t const key = key_in(kBits, bucket % 4, bucket, id);
          shape.build.insert(shape.build.end(), counts[id], key);
          shape.probe.insert(shape.probe.end(), 3, key);
          shape.probe.push_back(key_in(kBits, bucket % 4, bucket, id + 100));  // matches nothing
        }
      }
      for (uint64_t seed = 0; seed < 3; ++seed) {
        shuffle(&shape.build, seed);
        shuffle(&shape.probe, seed + 10);
        expect_rows(queue(), plan_of(kBits, rows_of(shape)), shape, key_width);
        if (HasFailure()) return;
      }
    }
  }
}

// Nobody waits to know whether partitions were left, and units are as fine as they may be.
TEST_F(CarriedColumns, OfHotKeysThatWereExpected) {
  constexpr int32_t kBits = 4;
  constexpr size_t kFewest = kernels::kCarriedFewestDealtRows;
  for (int32_t key_width : {4, 8}) {
    // None, one that nobody asks for, and one whose partition's probe rows are about a unit and
    // several.
    for (size_t build : {0, 1200, 9300}) {
      for (size_t probe : {size_t{0}, kFewest - 1, kFewest, kFewest + 1, 3 * kFewest}) {
        KeyShape shape{"hot_" + std::to_string(build) + "_" + std::to_string(probe),
                       unique_keys(20000, 1, 1), random_keys(30000, 25000, 1, 2)};
        spread_out(&shape);
        uint64_t const hot = key_in(kBits, 5, 99, 3);
        shape.build.insert(shape.build.end(), build, hot);
        shape.probe.insert(shape.probe.end(), probe, hot);
        shuffle(&shape.build, build);
        shuffle(&shape.probe, probe);
        plan::JoinPlan plan = plan_of(kBits, rows_of(shape));
        plan.expected_hot_rows = std::max<int64_t>(1, static_cast<int64_t>(build * probe));
        EXPECT_LE(expect_rows(queue(), plan, shape, key_width), 1);
        if (probe == kFewest) {
          plan.expected_rows = 1;
          expect_rows(queue(), plan, shape, key_width);
        }
        if (HasFailure()) return;
      }
    }
  }
}

// Counts about a warp's lanes, of keys that have their bucket for themselves and of keys that share
// it.
TEST_F(CarriedColumns, OfSoManyMatchesAsAWarpHasLanes) {
  constexpr int32_t kBits = 1;
  constexpr int kCounts[] = {1, 2, 31, 32, 33, 40, 63, 64, 65};
  for (int32_t key_width : {4, 8}) {
    for (bool shared : {false, true}) {
      KeyShape shape{shared ? "of shared buckets" : "of buckets of their own", {}, {}};
      for (uint64_t partition = 0; partition < 2; ++partition) {
        uint64_t number = 0;
        for (int round = 0; round < 4; ++round) {
          for (int count : kCounts) {
            // Three keys share a bucket, whatever their counts.
            uint64_t const bucket = shared ? number / 3 : number;
            uint64_t const key = key_in(kBits, partition, bucket, number % 3);
            shape.build.insert(shape.build.end(), static_cast<size_t>(count), key);
            shape.probe.insert(shape.probe.end(), static_cast<size_t>(1 + round), key);
            shape.probe.push_back(key_in(kBits, partition, bucket, 9));  // matches nothing
            ++number;
          }
        }
      }
      ASSERT_LE(shape.build.size(), 2U * kernels::kCarriedBuildRows);
      for (uint64_t seed = 0; seed < 4; ++seed) {
        shuffle(&shape.build, seed);
        shuffle(&shape.probe, seed + 10);
        expect_rows(queue(), plan_of(kBits, rows_of(shape)), shape, key_width);
        expect_rows(queue(), plan_of(kBits, rows_of(shape)), shape, key_width, {{2}, {8}});
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(CarriedColumns, OfKeysThatAreAllEqual) {
  for (int32_t radix_bits : {1, 8}) {
    KeyShape const shape{"all equal", std::vector<uint64_t>(3000, 0x12345),
                         std::vector<uint64_t>(3000, 0x12345)};
    EXPECT_LE(expect_rows(queue(), plan_of(radix_bits, 9000000), shape, radix_bits == 1 ? 4 : 8),
              1);
  }
}

TEST_F(CarriedColumns, AreLaunchedOnceMoreWhenMoreRowsCameThanExpected) {
  KeyShape heavy{"all equal", std::vector<uint64_t>(700, 9), std::vector<uint64_t>(900, 9)};
  KeyShape many{"many matches", random_keys(9000, 90, 1, 12), random_keys(9000, 90, 1, 13)};
  spread_out(&many);
  for (KeyShape const* shape : {&heavy, &many}) {
    for (uint64_t expected : {0, 1, 50000}) {
      for (int32_t key_width : {4, 8}) {
        EXPECT_EQ(expect_rows(queue(), plan_of(2, expected), *shape, key_width, {{4}, {16}}), 2)
            << expected << " rows expected of " << rows_of(*shape);
      }
    }
  }
}

TEST_F(CarriedColumns, OfAnEmptySideAreNone) {
  KeyShape const no_build{"no build rows", {}, {1, 2, 3}};
  KeyShape const no_probe{"no probe rows", {1, 2, 3}, {}};
  KeyShape const no_match{"no match", {1, 2, 3}, {4, 5, 6}};
  for (KeyShape const* shape : {&no_build, &no_probe, &no_match}) {
    expect_rows(queue(), plan_of(1, 0), *shape, 4);
    expect_rows(queue(), plan_of(1, 1000), *shape, 8, {{1}, {2}});
  }
}

// With less and less memory: done, or MEMORY_LIMIT with nothing left in use and a context that is
// good for a join that fits.
TEST_F(CarriedColumns, EndWithMemoryLimitAndReturnEverything) {
  KeyShape const large{"large", std::vector<uint64_t>(2000, 3), std::vector<uint64_t>(2000, 3)};
  KeyShape const small{"small", {1, 2, 3, 3}, {3, 3, 4}};
  int done = 0;
  int refused = 0;
  for (uint64_t expected : {uint64_t{0}, rows_of(large)}) {
    for (uint64_t limit : {256U << 20, 80U << 20, 40U << 20, 16U << 20, 8U << 20}) {
      auto const limited = limited_queue(limit);
      uint64_t const in_use = limited->device_pool->in_use_bytes();
      gpujoin_status const status = status_of([&] {
        expect_rows(*limited, plan_of(3, expected), large, 4, {{4}, {}});
      });
      EXPECT_TRUE(status == GPUJOIN_OK || status == GPUJOIN_ERROR_MEMORY_LIMIT) << status;
      (status == GPUJOIN_OK ? done : refused) += 1;
      EXPECT_EQ(limited->device_pool->in_use_bytes(), in_use) << limit;
      EXPECT_EQ(status_of([&] { expect_rows(*limited, plan_of(3, 6), small, 4); }), GPUJOIN_OK);
      EXPECT_EQ(limited->device_pool->in_use_bytes(), in_use) << limit;
      base::finish(*limited);
    }
  }
  EXPECT_GE(done, 2);
  EXPECT_GE(refused, 4);
}

}  // namespace
}  // namespace gpujoin::tests
