// carried_columns_cuda_test.cpp: the join of partitions that writes output columns, over rows that the host partitioned.
#include "src/match/carried_columns.hpp"

#include <cuda_runtime_api.h>  // what mix_key.cuh is marked with

#include "kernels/transform/mix_key.cuh"
#include "tests/match/partitioned_keys.hpp"

namespace gpujoin::tests {
namespace {

using CarriedColumns = GpuTest;
using kernels::CarriedFrom;
using match::CarriedOutput;
using match::CarriedRows;

plan::JoinPlan plan_of(int32_t radix_bits, uint64_t expected_rows) {
  plan::JoinPlan plan;
  plan.device = plan::Device::kCuda;
  plan.transform = plan::Transform::kRadixUnordered;
  plan.match = plan::Match::kCoPartitions;
  plan.skew = plan::Skew::kWorkUnits;
  plan.output = plan::Output::kBlockChunks;
  plan.gather = plan::Gather::kCarried;
  plan.radix_bits = radix_bits;
  plan.expected_rows = static_cast<int64_t>(expected_rows);
  return plan;
}

// A side's keys, partitioned, row numbers that stand for positions, and payloads.
struct Carrier {
  std::vector<uint64_t> keys;
  std::vector<HostColumn> payloads;
  columns::DeviceColumn device_keys;
  base::Buffer offsets;
  base::Buffer numbers;
  std::vector<columns::DeviceColumn> device_payloads;

  Carrier(base::Context& context, const std::vector<uint64_t>& of_keys, int32_t key_width,
          int32_t radix_bits, const std::vector<int32_t>& widths, uint64_t seed)
      : keys(partitioned(of_keys, radix_bits)),
        device_keys(place(context, key_column(keys, key_width))),
        offsets(upload(context, offsets_of(keys, radix_bits))) {
    std::vector<uint32_t> positions(keys.size());
    std::iota(positions.begin(), positions.end(), 0U);
    numbers = upload(context, positions);
    for (int32_t width : widths) {
      payloads.push_back(random_column(keys.size(), width, seed + payloads.size()));
      device_payloads.push_back(place(context, payloads.back(), width == 16 ? 8 : 0));
    }
  }
  match::CarriedSide side() const {
    return {device_keys.data, offsets.as<uint32_t>(), static_cast<uint32_t>(keys.size())};
  }
  // Row numbers, then payloads.
  void add_outputs(CarriedFrom from, columns::Storage* targets,
                   std::vector<CarriedOutput>* outputs) const {
    outputs->push_back({numbers.data(), 4, from, targets++});
    for (size_t i = 0; i < payloads.size(); ++i) {
      outputs->push_back({device_payloads[i].data, payloads[i].width, from, targets++});
    }
  }
};

void expect_payloads(base::Context& context, const Carrier& side,
                     const std::vector<uint32_t>& positions, const columns::Storage* targets) {
  for (size_t i = 0; i < side.payloads.size(); ++i) {
    std::vector<unsigned char> const expected = bytes_of_rows(side.payloads[i], positions);
    ASSERT_TRUE(download<unsigned char>(context, targets[i].get(), expected.size()) == expected)
        << "column " << i << " of width " << side.payloads[i].width;
  }
}

struct Payloads {
  std::vector<int32_t> build;
  std::vector<int32_t> probe;
};

// Joins; every pair of rows must come once, and in its place both keys and all payloads. Answers the launches.
int32_t expect_rows(base::Context& context, const plan::JoinPlan& plan, const KeyShape& shape,
                    int32_t key_width, const Payloads& widths = {}) {
  SCOPED_TRACE(shape.name + ", keys of " + std::to_string(key_width) + " bytes, " +
               std::to_string(plan.radix_bits) + " bits");
  Carrier const build(context, shape.build, key_width, plan.radix_bits, widths.build, 100);
  Carrier const probe(context, shape.probe, key_width, plan.radix_bits, widths.probe, 200);
  size_t const of_build = 1 + widths.build.size();
  size_t const of_probe = 1 + widths.probe.size();
  std::vector<columns::Storage> targets(of_build + of_probe + 2);
  std::vector<CarriedOutput> outputs;
  build.add_outputs(CarriedFrom::kBuild, targets.data(), &outputs);
  outputs.push_back({nullptr, key_width, CarriedFrom::kKey, &targets[of_build + of_probe]});
  probe.add_outputs(CarriedFrom::kProbe, targets.data() + of_build, &outputs);
  outputs.push_back({nullptr, key_width, CarriedFrom::kKey, &targets[of_build + of_probe + 1]});
  CarriedRows const written =
      match::carried_columns(context, plan, key_width, build.side(), probe.side(), outputs);

  Pairs const expected = expected_pairs({build.keys, probe.keys, {}, {}});
  EXPECT_EQ(written.rows, expected.size());
  if (written.rows != expected.size() || expected.empty()) return written.launches;
  std::vector<uint32_t> const build_rows =
      download<uint32_t>(context, targets[0].get(), expected.size());
  std::vector<uint32_t> const probe_rows =
      download<uint32_t>(context, targets[of_build].get(), expected.size());
  Pairs found(expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    found[i] = uint64_t{probe_rows[i]} << 32 | build_rows[i];
  }
  std::sort(found.begin(), found.end());
  EXPECT_TRUE(found == expected) << "the right number of rows, not the right ones";
  if (found != expected) return written.launches;

  // Mixed keys are turned back.
  std::vector<uint64_t> unmixed = build.keys;
  for (uint64_t& key : unmixed) {
    key = key_width == 8 ? kernels::unmix_key(key) : kernels::unmix_key(static_cast<uint32_t>(key));
  }
  std::vector<unsigned char> const keys = bytes_of_rows(key_column(unmixed, key_width), build_rows);
  for (size_t i : {of_build + of_probe, of_build + of_probe + 1}) {
    EXPECT_TRUE(download<unsigned char>(context, targets[i].get(), keys.size()) == keys);
  }
  expect_payloads(context, build, build_rows, targets.data() + 1);
  expect_payloads(context, probe, probe_rows, targets.data() + of_build + 1);
  return written.launches;
}

// The number of rows that a shape gives.
uint64_t rows_of(const KeyShape& shape) {
  std::unordered_map<uint64_t, uint64_t> count;
  for (uint64_t key : shape.build) ++count[key];
  uint64_t rows = 0;
  for (uint64_t key : shape.probe) {
    auto const found = count.find(key);
    if (found != count.end()) rows += found->second;
  }
  return rows;
}

// A mixed key of a partition and a bucket: keys that differ in the id alone lie in one bucket.
uint64_t key_in(int32_t radix_bits, uint64_t partition, uint64_t bucket, uint64_t id) {
  return partition | bucket << radix_bits | id << (radix_bits + kernels::kCarriedBucketBits);
}

void shuffle(std::vector<uint64_t>* keys, uint64_t seed) {
  std::shuffle(keys->begin(), keys->end(), std::mt19937_64(seed));
}

TEST_F(CarriedColumns, AnswerAsTheReferenceForAnyNumberOfPartitions) {
  for (int32_t radix_bits : {1, 4, 9}) {
    for (int32_t key_width : {4, 8}) {
      for (KeyShape shape : key_shapes(key_width)) {
        spread_out(&shape);
        plan::JoinPlan const plan = plan_of(radix_bits, rows_of(shape));
        int32_t const launches = expect_rows(context(), plan, shape, key_width);
        EXPECT_LE(launches, 1) << "there was room for all of " << shape.name;
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(CarriedColumns, AnswerAsTheReferenceForKeysThatWereNotSpread) {
  // Few partitions and few buckets have all the rows.
  for (int32_t key_width : {4, 8}) {
    for (KeyShape const& shape : key_shapes(key_width)) {
      expect_rows(context(), plan_of(5, rows_of(shape)), shape, key_width, {{8}, {2}});
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
        expect_rows(context(), plan, *shape, key_width, widths);
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
  expect_rows(context(), plan_of(3, rows_of(shape)), shape, 4, widths);

  Carrier const side(context(), shape.build, 4, 3, {}, 1);
  columns::Storage target;
  std::vector<CarriedOutput> const outputs(kernels::kCarriedColumns + 1,
                                           {side.numbers.data(), 4, CarriedFrom::kBuild, &target});
  EXPECT_EQ(status_of([&] {
              match::carried_columns(context(), plan_of(3, 1), 4, side.side(), side.side(),
                                     outputs);
            }),
            GPUJOIN_ERROR_INTERNAL);
}

TEST_F(CarriedColumns, OfPartitionsThatAreCutIntoUnits) {
  // Several chunks of 4096 build rows and of 16384 probe rows, and their edges.
  for (size_t build : {4095, 4096, 4097, 20000}) {
    for (size_t probe : {16383, 16384, 16385, 100000}) {
      KeyShape shape{"cut_" + std::to_string(build) + "_" + std::to_string(probe),
                     unique_keys(build, 1, build), random_keys(probe, 2 * build, 1, probe)};
      shape.probe.insert(shape.probe.end(), 3000, 7);  // one of them often
      // All in the last partition, then in both.
      for (uint64_t& key : shape.build) key = 2 * key + 1;
      for (uint64_t& key : shape.probe) key = 2 * key + 1;
      expect_rows(context(), plan_of(1, rows_of(shape)), shape, 4);
      spread_out(&shape);
      expect_rows(context(), plan_of(1, rows_of(shape)), shape, 8, {{8}, {1}});
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
    expect_rows(context(), plan_of(kBits, rows_of(shape)), shape, key_width);
    expect_rows(context(), plan_of(kBits, rows_of(shape)), shape, key_width, {{16}, {1, 8}});
    if (HasFailure()) return;
  }
}

// Counts about a warp's lanes, of keys that have their bucket for themselves and of keys that share it.
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
        expect_rows(context(), plan_of(kBits, rows_of(shape)), shape, key_width);
        expect_rows(context(), plan_of(kBits, rows_of(shape)), shape, key_width, {{2}, {8}});
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(CarriedColumns, OfKeysThatAreAllEqual) {
  for (int32_t radix_bits : {1, 8}) {
    KeyShape const shape{"all equal", std::vector<uint64_t>(3000, 0x12345),
                         std::vector<uint64_t>(3000, 0x12345)};
    EXPECT_LE(expect_rows(context(), plan_of(radix_bits, 9000000), shape, radix_bits == 1 ? 4 : 8),
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
        EXPECT_EQ(expect_rows(context(), plan_of(2, expected), *shape, key_width, {{4}, {16}}), 2)
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
    expect_rows(context(), plan_of(1, 0), *shape, 4);
    expect_rows(context(), plan_of(1, 1000), *shape, 8, {{1}, {2}});
  }
}

// With less and less memory: done, or MEMORY_LIMIT with nothing left in use and a context that is good for a join that fits.
TEST_F(CarriedColumns, EndWithMemoryLimitAndReturnEverything) {
  KeyShape const large{"large", std::vector<uint64_t>(2000, 3), std::vector<uint64_t>(2000, 3)};
  KeyShape const small{"small", {1, 2, 3, 3}, {3, 3, 4}};
  int done = 0;
  int refused = 0;
  for (uint64_t expected : {uint64_t{0}, rows_of(large)}) {
    for (uint64_t limit : {256U << 20, 80U << 20, 40U << 20, 16U << 20, 8U << 20}) {
      auto const limited = limited_context(limit);
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
