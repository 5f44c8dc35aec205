// verify_pairs_cuda_test.cpp: pairs whose keys differ go, the others stay in order.
#include "src/keys/verify_pairs.hpp"

#include <map>

#include "src/match/match.hpp"
#include "src/output/growing_pairs.hpp"
#include "src/transform/transform.hpp"
#include "tests/keys/key_tables.hpp"

namespace gpujoin::tests {
namespace {

using VerifyPairs = GpuTest;

struct HostPairs {
  std::vector<uint32_t> build;
  std::vector<uint32_t> probe;
  bool operator==(const HostPairs&) const = default;
  void add(uint32_t build_row, uint32_t probe_row) {
    build.push_back(build_row);
    probe.push_back(probe_row);
  }
};

bool are_equal(const KeyTable& build, uint32_t build_row, const KeyTable& probe,
               uint32_t probe_row) {
  for (size_t c = 0; c < build.hosts.size(); ++c) {
    if (build.value(c, build_row) != probe.value(c, probe_row)) return false;
  }
  return true;
}

void expect_kept(base::Queue& queue, const KeyTable& build, const KeyTable& probe,
                 const HostPairs& pairs, uint64_t at_once) {
  HostPairs expected;
  for (size_t i = 0; i < pairs.build.size(); ++i) {
    if (!are_equal(build, pairs.build[i], probe, pairs.probe[i])) continue;
    expected.add(pairs.build[i], pairs.probe[i]);
  }
  base::Buffer const build_rows = upload(queue, pairs.build);
  base::Buffer const probe_rows = upload(queue, pairs.probe);
  uint64_t const kept = keys::verify_pairs(queue, build.keys, probe.keys, build_rows.as<uint32_t>(),
                                           probe_rows.as<uint32_t>(), pairs.build.size(), at_once);
  ASSERT_EQ(kept, expected.build.size());
  EXPECT_TRUE(download<uint32_t>(queue, build_rows.data(), kept) == expected.build);
  EXPECT_TRUE(download<uint32_t>(queue, probe_rows.data(), kept) == expected.probe);
}

TEST_F(VerifyPairs, KeepsEqualPairsInOrderWhateverIsTakenAtOnce) {
  for (std::vector<int32_t> const& widths :
       {std::vector<int32_t>{4, 4}, std::vector<int32_t>{8, 4, 8}}) {
    // Few values: of random pairs some are equal. One side's columns begin beside a boundary.
    KeyTable build = key_table(500, widths, 2, 1);
    KeyTable probe = key_table(700, widths, 2, 2);
    for (size_t c = 1; c < widths.size(); ++c)
      build.hosts[c] = key_table(500, widths, 1, 3).hosts[c];
    build.place_all(queue(), 1);
    probe.place_all(queue());
    std::mt19937_64 random(7);
    for (size_t const count : edge_sizes()) {
      HostPairs pairs;
      for (size_t i = 0; i < count; ++i) {
        pairs.add(static_cast<uint32_t>(random() % 500), static_cast<uint32_t>(random() % 700));
      }
      for (uint64_t const at_once : {uint64_t{1000}, uint64_t{4096}, keys::kVerifiedAtOnce}) {
        SCOPED_TRACE(std::to_string(count) + " pairs, " + std::to_string(at_once) + " at once");
        expect_kept(queue(), build, probe, pairs, at_once);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(VerifyPairs, OnePairThatDiffersGoesWhereverItLies) {
  KeyTable table = key_table(5000, {8, 4}, 30, 1);
  table.place_all(queue());
  constexpr uint32_t kPairs = 5000;
  for (uint32_t const odd : {0U, 1U, 1023U, 1024U, 2500U, kPairs - 1}) {
    HostPairs pairs;
    for (uint32_t i = 0; i < kPairs; ++i) pairs.add(i, i == odd ? (i + 1) % kPairs : i);
    expect_kept(queue(), table, table, pairs, 1500);
  }
}

TEST_F(VerifyPairs, WritesNothingWhereAllAreEqual) {
  KeyTable table = key_table(5000, {8, 4}, 30, 1);
  table.place_all(queue());
  std::vector<uint32_t> rows(40000);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<uint32_t>(i * 7 % 5000);
  base::Buffer const build = upload(queue(), rows);
  base::Buffer const probe = upload(queue(), rows);
  base::finish(queue());
  pool().reset_peak();
  uint64_t const in_use = pool().in_use_bytes();
  EXPECT_EQ(keys::verify_pairs(queue(), table.keys, table.keys, build.as<uint32_t>(),
                               probe.as<uint32_t>(), rows.size()),
            rows.size());
  EXPECT_EQ(pool().peak_bytes(), in_use);
  EXPECT_TRUE(download<uint32_t>(queue(), build.data(), rows.size()) == rows);
}

TEST_F(VerifyPairs, OfNoPairsOrOfNoneThatIsEqualNothingIsLeft) {
  KeyTable left = key_table(3000, {8, 4}, 20, 1);
  KeyTable right = key_table(3000, {8, 4}, 20, 2);
  for (unsigned char& byte : right.hosts[1].data) byte = 0xee;
  left.place_all(queue());
  right.place_all(queue());
  HostPairs pairs;
  expect_kept(queue(), left, right, pairs, 1000);
  for (uint32_t i = 0; i < 3000; ++i) pairs.add(i, i);
  expect_kept(queue(), left, right, pairs, 1000);
}

// A hash of three bits: each eighth of all pairs is a match of it. The table joins the codes, and
// what is left after verification are the pairs of the keys.
TEST_F(VerifyPairs, MakesAJoinByAHashOfThreeBitsRight) {
  queue().context.hash_ones = ~uint64_t{7};
  KeyTable build = key_table(1500, {8, 4}, 5, 1, 0.1);
  KeyTable probe = key_table(2500, {8, 4}, 5, 2, 0.1);
  build.place_all(queue());
  probe.place_all(queue());
  keys::KeyEncoding const hashed = keys::hashed(queue().context);
  transform::PreparedKeys const build_keys =
      transform::encode_keys(queue(), build.keys, 1500, hashed, false);
  transform::PreparedKeys const probe_keys =
      transform::encode_keys(queue(), probe.keys, 2500, hashed, false);
  auto const side_of = [](const transform::PreparedKeys& keys) {
    match::MatchSide side;
    side.keys = keys.keys;
    side.row_ids = keys.source_rows;
    side.rows = keys.rows;
    return side;
  };
  output::GrowingPairs pairs(queue(), 1 << 20);
  match::GlobalTable table(queue(), 8, side_of(build_keys));
  table.probe(queue(), side_of(probe_keys), pairs);
  pairs.finish();
  uint64_t const kept = keys::verify_pairs(queue(), build.keys, probe.keys, pairs.build(),
                                           pairs.probe(), pairs.rows(), 10000);
  EXPECT_GT(pairs.rows(), 8 * kept);
  std::vector<std::pair<uint32_t, uint32_t>> expected;
  for (uint32_t const probe_row : probe.valid_rows()) {
    for (uint32_t const build_row : build.valid_rows()) {
      if (!are_equal(build, build_row, probe, probe_row)) continue;
      expected.emplace_back(build_row, probe_row);
    }
  }
  ASSERT_EQ(kept, expected.size());
  auto const build_rows = download<uint32_t>(queue(), pairs.build(), kept);
  auto const probe_rows = download<uint32_t>(queue(), pairs.probe(), kept);
  std::vector<std::pair<uint32_t, uint32_t>> found;
  for (size_t i = 0; i < kept; ++i) found.emplace_back(build_rows[i], probe_rows[i]);
  std::sort(found.begin(), found.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_TRUE(found == expected);
}

}  // namespace
}  // namespace gpujoin::tests
