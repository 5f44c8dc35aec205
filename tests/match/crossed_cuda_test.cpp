// crossed_cuda_test.cpp: matches of keys that both sides have often, by key.
#include <algorithm>
#include <cstring>
#include <utility>

#include "tests/match/carried_relation.hpp"

namespace gpujoin::tests {
namespace {

class Crossed : public GpuTest {
 protected:
  // Expected as many as to be crossed, whatever they are, with so many launches for what is left;
  // with too little room, too.
  void expect_crossed(const KeyShape& shape, int32_t radix_bits, int32_t of_what_is_left) {
    // A device without as much deals from the start.
    bool const crosses = queue().context.facts.shared_bytes_per_block > uint64_t{160} << 10;
    int32_t const followers = crosses ? of_what_is_left : 0;
    uint64_t const enough = std::max<uint64_t>(rows_of(shape), 10 * (shape.probe.size() + 1));
    Payloads const widths[] = {{{4}, {4}}, {{4, 4}, {4, 4}}, {{8}, {8, 8}}, {{2, 16}, {1}}};
    for (int32_t key_width : {4, 8}) {
      for (Payloads const& payloads : widths) {
        WrittenRows written;
        expect_rows(queue(), plan_of(radix_bits, enough), shape, key_width, payloads, &written);
        EXPECT_EQ(written.launches, 1);
        EXPECT_EQ(written.followers, followers);
        if (HasFailure()) return;
      }
      uint64_t const too_few = 9 * (shape.probe.size() + 1);
      expect_rows(queue(), plan_of(radix_bits, too_few), shape, key_width, {{4}, {8}});
      if (HasFailure()) return;
    }
  }
};

// What is left over of vectors on either side, whatever lies before it in the output.
TEST_F(Crossed, KeysOfAnyNumberOfRows) {
  for (uint64_t from : {0, 3, 9}) {
    KeyShape shape{"counts from " + std::to_string(from), {}, {}};
    uint64_t key = 0;
    for (size_t build = from; build < from + 10; ++build) {
      for (size_t probe = 0; probe < 14; ++probe) add_rows(key++, build, probe, &shape);
    }
    add_rows(key++, 300, 200, &shape);
    spread_out(&shape);
    shuffle(&shape.build, from);
    shuffle(&shape.probe, from + 1);
    for (int32_t bits : {1, 3, 6}) {
      expect_crossed(shape, bits, 0);
      if (HasFailure()) return;
    }
  }
}

// Units without a match of no vector, behind ones that end anywhere: vectors are cut.
TEST_F(Crossed, VectorsAreAlignedWhereverAUnitBegins) {
  constexpr int32_t kBits = 10;
  expect_crossed(gpujoin_test::threes_then_fours<KeyShape>(kBits), kBits, 0);
}

// Probe rows of a partition are several units, build rows two tables of one key or of many.
TEST_F(Crossed, PartitionsOfTwoTables) {
  constexpr size_t kRoom = kernels::kCarriedBuildRows;
  for (size_t rows : {kRoom, kRoom + 1, 2 * kRoom - 7, 2 * kRoom}) {
    expect_crossed(gpujoin_test::rows_of_90_keys<KeyShape>(rows, 6000), 1, 0);
    if (HasFailure()) return;
  }
}

// Of the one table or of the other there are more keys than a unit crosses, or of neither.
TEST_F(Crossed, PartitionsOfManyKeysAreLeft) {
  constexpr int32_t kBits = 2;
  constexpr size_t kMost = 984;  // and 40 others
  for (size_t keys : {kMost, kMost + 1, size_t{3000}}) {
    KeyShape shape = gpujoin_test::many_keys<KeyShape>(keys, 100);
    int32_t const followers = keys > kMost ? 1 : 0;
    expect_crossed(shape, kBits, followers);
    std::reverse(shape.build.begin(), shape.build.end());
    expect_crossed(shape, kBits, followers);
    if (HasFailure()) return;
  }
}

// Buckets with more keys than are brought side by side, and a heavy key.
TEST_F(Crossed, PartitionsThatAreNotInOrderAreLeft) {
  constexpr int32_t kBits = 2;
  KeyShape shape{"keys of a bucket", {}, {}};
  for (uint64_t id = 0; id < 30; ++id) add_rows(key_in(kBits, 1, 77, id), 20 + id, 5, &shape);
  for (uint64_t id = 0; id < 30; ++id) add_rows(key_in(kBits, 2, 77 * id, 1), 20 + id, 50, &shape);
  add_rows(key_in(kBits, 3, 5, 1), 2 * kernels::kCarriedBuildRows + 50, 40, &shape);
  add_rows(key_in(kBits, 3, 6, 1), 20, 70, &shape);
  shuffle(&shape.build, 3);
  shuffle(&shape.probe, 4);
  expect_crossed(shape, kBits, 1);
}

// As many keys of a bucket as are brought side by side, one more, and so many that what is left of
// them is sometimes more than a warp has lanes: units of one partition are joined the same way.
TEST_F(Crossed, UnitsAgreeAboutABucket) {
  for (uint64_t keys : {16, 17, 27}) {
    expect_crossed(gpujoin_test::keys_of_a_bucket<KeyShape>(keys, 5 * kernels::kCarriedDealtRows),
                   1, keys > 16 ? 1 : 0);
    if (HasFailure()) return;
  }
}

// Their kernel is another one. Random values of 8 bytes say which rows they are of.
TEST_F(Crossed, ColumnsOf8BytesAlone) {
  constexpr int32_t kBits = 2;
  KeyShape shape{"columns of 8 bytes", {}, {}};
  for (uint64_t key = 0; key < 200; ++key) add_rows(key, 3 + key % 30, key % 17, &shape);
  spread_out(&shape);
  shuffle(&shape.build, 1);
  shuffle(&shape.probe, 2);
  Carrier const build(queue(), shape.build, 8, kBits, {8}, 100);
  Carrier const probe(queue(), shape.probe, 8, kBits, {8}, 200);
  std::vector<columns::Storage> targets(2);
  std::vector<CarriedOutput> const outputs = {
      {build.device_payloads[0].data, 8, CarriedFrom::kBuild, &targets[0]},
      {probe.device_payloads[0].data, 8, CarriedFrom::kProbe, &targets[1]}};
  match::KeptSides none;
  uint64_t const enough = std::max<uint64_t>(rows_of(shape), 10 * shape.probe.size());
  WrittenRows const written = match::carried_columns(queue(), plan_of(kBits, enough), 8,
                                                     build.side(), probe.side(), outputs, &none);
  EXPECT_EQ(written.followers, 0);
  auto const values_of = [](const Carrier& side) {
    std::vector<uint32_t> positions(side.keys.size());
    std::iota(positions.begin(), positions.end(), 0U);
    std::vector<unsigned char> const bytes = bytes_of_rows(side.payloads[0], positions);
    std::vector<uint64_t> values(positions.size());
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  };
  std::vector<uint64_t> const of_build = values_of(build);
  std::vector<uint64_t> const of_probe = values_of(probe);
  using Row = std::pair<uint64_t, uint64_t>;
  std::vector<Row> expected;
  for (uint64_t const pair : expected_pairs({build.keys, probe.keys, {}, {}})) {
    expected.emplace_back(of_build[pair & UINT32_MAX], of_probe[pair >> 32]);
  }
  ASSERT_EQ(written.rows, expected.size());
  auto const left = download<uint64_t>(queue(), targets[0].get(), expected.size());
  auto const right = download<uint64_t>(queue(), targets[1].get(), expected.size());
  std::vector<Row> found;
  for (size_t i = 0; i < left.size(); ++i) found.emplace_back(left[i], right[i]);
  std::sort(expected.begin(), expected.end());
  std::sort(found.begin(), found.end());
  EXPECT_TRUE(found == expected);
}

}  // namespace
}  // namespace gpujoin::tests
