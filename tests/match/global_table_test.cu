// global_table_test.cu: the non-partitioned hash join over raw key arrays.
#include "kernels/transform/mix_key.cuh"
#include "tests/match/key_shapes.hpp"

namespace gpujoin::tests {
namespace {

using GlobalTable = GpuTest;

Arranged as_given(const KeyShape& shape) { return {shape.build, shape.probe, {}, {}}; }

Family family_of(int32_t key_width, const Arranged&) {
  return [key_width](base::Queue& queue, const match::MatchSide& build,
                     const match::MatchSide& probe, output::GrowingPairs& pairs) {
    match::global_table(queue, key_width, build, probe, pairs);
  };
}

TEST_F(GlobalTable, AnswersAsTheReference) {
  expect_every_shape(queue(), as_given, family_of, 1 << 20);
}

TEST_F(GlobalTable, AnswersTheSameWithHardlyAnyRoomAtFirst) {
  CallerAllocator allocator;
  {
    auto const list = allocator.open_queue();
    EXPECT_GT(expect_every_shape(*list, as_given, family_of, 1), 0);
    EXPECT_EQ(list->device_pool->account().guard_violations(), 0U);
  }
  EXPECT_EQ(allocator.live_blocks(), 0U);
}

TEST_F(GlobalTable, VerifiesWideKeysThatShareTheirTag) {
  // The tag is the low half of the mixed key, the slot comes from the high one: equal both, or one.
  Arranged keys;
  for (uint64_t high = 0; high < 3000; ++high) {
    uint64_t const mixed = high % 40 << 32 | (high / 40 % 2 == 0 ? 0xdeadbeef : high);
    keys.build.push_back(kernels::unmix_key(mixed));
    keys.probe.push_back(kernels::unmix_key(mixed + (high % 3 == 0 ? uint64_t{1} << 52 : 0)));
  }
  expect_join(queue(), keys, 8, family_of(8, keys), 1);
  // Unique keys, all with one tag and few slots.
  keys.build.clear();
  for (uint64_t i = 0; i < 1000; ++i) {
    keys.build.push_back(kernels::unmix_key(i << 44 | 0x12345678));
  }
  expect_join(queue(), keys, 8, family_of(8, keys), 1);
  keys.probe = keys.build;
  std::reverse(keys.probe.begin(), keys.probe.end());
  expect_join(queue(), keys, 8, family_of(8, keys), 1);
}

TEST_F(GlobalTable, ProbesThatEndAtTheLastSlotGoOnAtTheFirst) {
  // Mixed keys whose low bits are all ones: the first slot is the last of the table.
  Arranged keys;
  for (uint64_t i = 0; i < 200; ++i) {
    keys.build.push_back(kernels::unmix_key(static_cast<uint32_t>(i << 16 | 0xffff)));
    keys.probe.push_back(kernels::unmix_key(static_cast<uint32_t>((i * 2) << 16 | 0xffff)));
  }
  expect_join(queue(), keys, 4, family_of(4, keys), 1);
}

TEST_F(GlobalTable, ManyPairsOfOneHeavyKeyAreAllWritten) {
  // 1.2 million pairs, 10 MB.
  Arranged const keys{std::vector<uint64_t>(3000, 5), std::vector<uint64_t>(400, 5), {}, {}};
  expect_join(queue(), keys, 4, family_of(4, keys), 1);
}

}  // namespace
}  // namespace gpujoin::tests
