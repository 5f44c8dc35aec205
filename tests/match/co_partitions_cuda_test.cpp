// co_partitions_cuda_test.cpp: the partitioned hash join over keys that the host partitioned.
#include "tests/match/key_shapes.hpp"

namespace gpujoin::tests {
namespace {

using CoPartitions = GpuTest;

// Both sides ordered by partition. The keys stand for mixed keys.
std::vector<uint64_t> partitioned(std::vector<uint64_t> keys, int32_t radix_bits) {
  uint64_t const mask = (uint64_t{1} << radix_bits) - 1;
  std::stable_sort(keys.begin(), keys.end(),
                   [mask](uint64_t a, uint64_t b) { return (a & mask) < (b & mask); });
  return keys;
}

std::vector<uint32_t> offsets_of(const std::vector<uint64_t>& keys, int32_t radix_bits) {
  uint64_t const mask = (uint64_t{1} << radix_bits) - 1;
  std::vector<uint32_t> offsets((size_t{1} << radix_bits) + 1, 0);
  for (uint64_t key : keys) ++offsets[(key & mask) + 1];
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  return offsets;
}

// A bijection on 4 or 8 bytes, so that dense keys spread as mixed ones do.
uint64_t spread(uint64_t key, uint64_t most) {
  key = key * 0x9e3779b97f4a7c15ULL & most;
  key ^= key >> 15;
  return key * 0xbf58476d1ce4e5b9ULL & most;
}

Family family_of(int32_t key_width, const Arranged& keys, int32_t radix_bits) {
  std::vector<uint32_t> const build_offsets = offsets_of(keys.build, radix_bits);
  std::vector<uint32_t> const probe_offsets = offsets_of(keys.probe, radix_bits);
  return [=](base::Context& context, const match::MatchSide& build, const match::MatchSide& probe,
             output::GrowingPairs& pairs) {
    base::Buffer const build_begin = upload(context, build_offsets);
    base::Buffer const probe_begin = upload(context, probe_offsets);
    match::co_partitions(context, key_width, build, build_begin.as<uint32_t>(), probe,
                         probe_begin.as<uint32_t>(), radix_bits, pairs);
  };
}

int32_t expect_every_shape_in_partitions(base::Context& context, int32_t radix_bits,
                                         bool spread_out, uint64_t first_capacity) {
  SCOPED_TRACE(std::to_string(radix_bits) + " radix bits");
  auto const arrange = [&](const KeyShape& shape) {
    Arranged keys{shape.build, shape.probe, {}, {}};
    // On 4 bytes the spread is a bijection of 4 bytes, on 8 bytes of 8: the largest key says which.
    uint64_t most = UINT32_MAX;
    for (auto const* side : {&keys.build, &keys.probe}) {
      for (uint64_t key : *side) most = key > UINT32_MAX ? UINT64_MAX : most;
    }
    for (auto* side : {&keys.build, &keys.probe}) {
      if (spread_out) {
        for (uint64_t& key : *side) key = spread(key, most);
      }
      *side = partitioned(std::move(*side), radix_bits);
    }
    return keys;
  };
  auto const family = [&](int32_t key_width, const Arranged& keys) {
    return family_of(key_width, keys, radix_bits);
  };
  return expect_every_shape(context, arrange, family, first_capacity);
}

TEST_F(CoPartitions, AnswerAsTheReferenceForAnyNumberOfPartitions) {
  for (int32_t radix_bits : {1, 3, 7, 12}) {
    expect_every_shape_in_partitions(context(), radix_bits, true, 1 << 20);
    if (HasFailure()) return;
  }
}

TEST_F(CoPartitions, AnswerAsTheReferenceForKeysThatWereNotSpread) {
  // Few partitions and few buckets have all the rows.
  expect_every_shape_in_partitions(context(), 5, false, 1 << 20);
}

TEST_F(CoPartitions, AnswerTheSameWithHardlyAnyRoomAtFirst) {
  CallerAllocator allocator;
  {
    auto const list = allocator.open_context();
    for (int32_t radix_bits : {1, 6}) {
      EXPECT_GT(expect_every_shape_in_partitions(*list, radix_bits, true, 1), 0);
    }
    EXPECT_EQ(list->device_pool->guard_violations(), 0U);
  }
  EXPECT_EQ(allocator.live_blocks(), 0U);
}

// Everything in one partition: build chunks of 4096 rows, probe chunks of 16384, batches of 2048.
TEST_F(CoPartitions, SplitAPartitionThatIsTooLarge) {
  CallerAllocator allocator;
  auto const list = allocator.open_context();
  int32_t const radix_bits = 4;
  for (size_t build : {size_t{4095}, size_t{4096}, size_t{4097}, size_t{8192}, size_t{8193}}) {
    for (size_t probe : {size_t{1}, size_t{2047}, size_t{2048}, size_t{2049}, size_t{16383},
                         size_t{16384}, size_t{16385}, size_t{33000}}) {
      SCOPED_TRACE(std::to_string(build) + " build rows, " + std::to_string(probe) + " probe rows");
      Arranged keys;
      keys.build = unique_keys(build, 16, build);
      keys.probe = random_keys(probe, build + build / 4, 16, probe);
      for (auto* side : {&keys.build, &keys.probe}) {
        for (uint64_t& key : *side) key += 9;  // partition 9 of 16
      }
      Family const family = family_of(4, keys, radix_bits);
      expect_join(context(), keys, 4, family, 1 << 20);
      int32_t const resumes = expect_join(*list, keys, 4, family, 1);
      EXPECT_EQ(resumes > 0, expected_pairs(keys).size() > 1024);
      if (HasFailure()) return;
    }
  }
}

// A chain of 4096 links, 1.6 million pairs, 13 MB; the output grows while batches of a unit are under way.
TEST_F(CoPartitions, WalkAChainOfEqualKeysToItsEnd) {
  CallerAllocator allocator;
  auto const list = allocator.open_context();
  Arranged const keys{std::vector<uint64_t>(5000, 3), std::vector<uint64_t>(320, 3), {}, {}};
  Family const family = family_of(8, keys, 2);
  EXPECT_GT(expect_join(context(), keys, 8, family, 1), 0);
  EXPECT_GT(expect_join(*list, keys, 8, family, 1), 0);
}

}  // namespace
}  // namespace gpujoin::tests
