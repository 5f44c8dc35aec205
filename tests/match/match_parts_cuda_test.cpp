// match_parts_cuda_test.cpp: a table of dense keys or of hashed ones in parts: rows of every width
// moved to them, and joined, beside what each probe row must find.
#include "src/match/match_parts.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "src/base/traffic.hpp"
#include "tests/gpu_fixture.hpp"

namespace gpujoin::tests {
namespace {

using kernels::CarriedFrom;
using kernels::PlaceParts;
using match::CarriedOutput;
using match::WrittenRows;
using transform::KeyPlaces;
using transform::PartColumn;

constexpr uint32_t kNone = UINT32_MAX;

// What a column says of a row; the first of a side says its number.
uint64_t value_of(size_t column, uint64_t row) {
  return column == 0 ? row : (row + column * 1000003) * 0x9e3779b97f4a7c15;
}

// Keys, and columns of 4 and 8 bytes, the first of 4. is_number: nobody made it, rows are numbered
// as they move.
struct Side {
  std::vector<uint64_t> keys;
  std::vector<int32_t> widths;
  columns::DeviceColumn key;
  std::vector<columns::DeviceColumn> memory;
  std::vector<PartColumn> columns;

  Side(base::Queue& queue, std::vector<uint64_t> row_keys, int32_t key_width,
       std::vector<int32_t> column_widths, bool is_number, size_t shift)
      : keys(std::move(row_keys)), widths(std::move(column_widths)) {
    key = place(queue, key_column(keys, key_width), shift * static_cast<size_t>(key_width));
    for (size_t i = 0; i < widths.size(); ++i) {
      std::vector<uint64_t> values(keys.size());
      for (size_t row = 0; row < keys.size(); ++row) values[row] = value_of(i, row);
      memory.push_back(
          place(queue, key_column(values, widths[i]), shift * static_cast<size_t>(widths[i])));
      bool const is_made = i != 0 || !is_number;
      columns.push_back({is_made ? memory.back().data : nullptr, widths[i]});
    }
  }
};

struct Shape {
  uint64_t low = 0;
  int32_t shift = 0;
  uint64_t places = 1;
  uint32_t build_rows = 1;  // each with a place of its own, the first and the last among them
  uint32_t probe_rows = 1;
  double one_key = 0;  // the share of probe rows that have the same key
};

struct Keys {
  std::vector<uint64_t> build;
  std::vector<uint64_t> probe;
};

Keys keys_of(const Shape& shape, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> places(shape.places);
  std::iota(places.begin(), places.end(), uint64_t{0});
  std::shuffle(places.begin(), places.end(), random);
  places.resize(shape.build_rows);
  auto const key_of = [&](uint64_t at) { return shape.low + (at << shape.shift); };
  Keys keys;
  for (uint64_t const at : places) keys.build.push_back(key_of(at));
  std::bernoulli_distribution is_heavy(shape.one_key);
  for (uint32_t row = 0; row < shape.probe_rows; ++row) {
    uint64_t const drawn = random();
    if (is_heavy(random)) {
      keys.probe.push_back(keys.build.front());
    } else if (drawn % 7 == 0) {  // beyond the places, on either side
      keys.probe.push_back(drawn % 2 == 0 ? key_of(shape.places + drawn % 999)
                                          : shape.low - 1 - drawn % 999);
    } else if (drawn % 7 == 1 && shape.shift != 0) {  // between two of them
      keys.probe.push_back(key_of(drawn % shape.places) + 1);
    } else {
      keys.probe.push_back(key_of(drawn % shape.places));
    }
  }
  return keys;
}

std::optional<WrittenRows> join(base::Queue& queue, const Side& build, const Side& probe,
                                int32_t key_width, const Shape& shape, const PlaceParts& parts,
                                uint32_t unit_rows, int64_t expected_rows,
                                std::vector<columns::Storage>* targets) {
  KeyPlaces const places = {shape.low, shape.shift, shape.places, false};
  auto const move = [&](const Side& side) {
    auto const rows = static_cast<uint32_t>(side.keys.size());
    return *transform::move_to_parts(queue, {side.key.data, key_width, rows, side.columns}, places,
                                     parts, unit_rows);
  };
  uint32_t const room =
      kernels::part_table_room(parts, build.keys.size(), transform::part_words(build.columns),
                               queue.context.facts.shared_bytes_per_block);
  match::Parts const moved = {places, parts, room, move(build), move(probe)};
  targets->resize(1 + build.columns.size() + probe.columns.size());
  std::vector<CarriedOutput> outputs = {{nullptr, key_width, CarriedFrom::kKey, &targets->front()}};
  for (Side const* const side : {&build, &probe}) {
    for (PartColumn const& column : side->columns) {
      outputs.push_back({column.data, column.width,
                         side == &build ? CarriedFrom::kBuild : CarriedFrom::kProbe,
                         &(*targets)[outputs.size()]});
    }
  }
  return match::match_parts(queue, moved, expected_rows, outputs);
}

std::vector<uint64_t> values_of(base::Queue& queue, const columns::Storage& column, int32_t width,
                                size_t rows) {
  if (width == 8) return download<uint64_t>(queue, column.get(), rows);
  std::vector<uint32_t> const narrow = download<uint32_t>(queue, column.get(), rows);
  return {narrow.begin(), narrow.end()};
}

// Every probe row whose key a build row has comes out once, with that one's columns.
void expect_rows(base::Queue& queue, const Side& build, const Side& probe, int32_t key_width,
                 const std::vector<columns::Storage>& targets, const WrittenRows& written) {
  uint64_t const most = key_width == 4 ? UINT32_MAX : UINT64_MAX;
  std::unordered_map<uint64_t, uint32_t> row_of;
  for (uint32_t row = 0; row < build.keys.size(); ++row) row_of[build.keys[row] & most] = row;
  std::vector<uint32_t> found(probe.keys.size(), kNone);
  size_t matches = 0;
  for (size_t row = 0; row < probe.keys.size(); ++row) {
    auto const at = row_of.find(probe.keys[row] & most);
    if (at == row_of.end()) continue;
    found[row] = at->second;
    ++matches;
  }
  ASSERT_EQ(written.rows, matches);
  size_t const first_of_probe = 1 + build.columns.size();
  std::vector<uint64_t> const rows = values_of(queue, targets[first_of_probe], 4, matches);
  std::vector<uint64_t> const keys = values_of(queue, targets[0], key_width, matches);
  std::vector<bool> seen(probe.keys.size());
  for (size_t i = 0; i < matches; ++i) {
    ASSERT_LT(rows[i], probe.keys.size());
    ASSERT_FALSE(seen[rows[i]]) << "row " << rows[i] << " twice";
    seen[rows[i]] = true;
    ASSERT_NE(found[rows[i]], kNone);
    ASSERT_EQ(keys[i], probe.keys[rows[i]] & most);
  }
  for (Side const* const side : {&build, &probe}) {
    size_t const first = side == &build ? 1 : first_of_probe;
    for (size_t c = 0; c < side->widths.size(); ++c) {
      uint64_t const mask = side->widths[c] == 4 ? UINT32_MAX : UINT64_MAX;
      auto const values = values_of(queue, targets[first + c], side->widths[c], matches);
      for (size_t i = 0; i < matches; ++i) {
        uint64_t const row = side == &build ? found[rows[i]] : rows[i];
        ASSERT_EQ(values[i], value_of(c, row) & mask) << "column " << c << ", output row " << i;
      }
    }
  }
}

struct Way {
  std::vector<int32_t> build;
  std::vector<int32_t> probe;
  bool is_number;
  size_t shift;  // rows that columns begin beyond an aligned address
};

void expect_join(base::Queue& queue, const Keys& keys, const Shape& shape, int32_t key_width,
                 const Way& way, const PlaceParts& parts, uint32_t unit_rows, int64_t expected_rows,
                 int32_t least_launches = 1) {
  Side const build(queue, keys.build, key_width, way.build, way.is_number, way.shift);
  Side const probe(queue, keys.probe, key_width, way.probe, way.is_number, way.shift);
  std::vector<columns::Storage> targets;
  auto const written =
      join(queue, build, probe, key_width, shape, parts, unit_rows, expected_rows, &targets);
  ASSERT_TRUE(written.has_value());
  EXPECT_GE(written->launches, least_launches);
  expect_rows(queue, build, probe, key_width, targets, *written);
}

void expect_join(base::Queue& queue, const Shape& shape, int32_t key_width, const Way& way,
                 const PlaceParts& parts, uint32_t unit_rows, int64_t expected_rows,
                 int32_t least_launches = 1) {
  expect_join(queue, keys_of(shape, shape.build_rows + 7 * shape.probe_rows), shape, key_width, way,
              parts, unit_rows, expected_rows, least_launches);
}

// What a part's rows are found by, and in how many blocks' memory.
struct Tables {
  const char* name;
  bool are_hashed;
  uint32_t blocks;
};
class MatchParts : public GpuTest, public ::testing::WithParamInterface<Tables> {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    if (GetParam().blocks > kernels::most_part_blocks(queue().context.facts.compute_capability)) {
      GTEST_SKIP() << "no clusters of " << GetParam().blocks << " blocks";
    }
  }
  static PlaceParts parts_in(uint32_t count, uint64_t places) {
    if (GetParam().are_hashed) return kernels::hashed_parts(places, std::max(count, 3U));
    PlaceParts parts = kernels::place_parts(places, count);
    parts.blocks = GetParam().blocks;
    return parts;
  }
  // A cluster holds rows of two words at least.
  static std::vector<int32_t> narrowest_build() {
    return std::vector<int32_t>(GetParam().blocks > 1 ? 2 : 1, 4);
  }
  PlaceParts fitting(const Shape& shape, int32_t build_words, int32_t probe_words) {
    uint64_t const shared = queue().context.facts.shared_bytes_per_block;
    auto const sm_count = static_cast<uint32_t>(queue().context.facts.sm_count);
    if (GetParam().are_hashed) {
      return kernels::fitting_hashed_parts(shape.build_rows, shape.places, build_words, probe_words,
                                           shared, sm_count);
    }
    PlaceParts parts =
        kernels::fitting_parts(shape.places, build_words, probe_words, shared, sm_count);
    parts.blocks = GetParam().blocks;
    return parts;
  }
};
INSTANTIATE_TEST_SUITE_P(Tables, MatchParts,
                         ::testing::Values(Tables{"Direct", false, 1}, Tables{"Hashed", true, 1},
                                           Tables{"OfTwoBlocks", false, 2},
                                           Tables{"OfFourBlocks", false, 4},
                                           Tables{"OfEightBlocks", false, 8}),
                         [](const auto& tables) { return std::string(tables.param.name); });

TEST_P(MatchParts, WriteColumnsOfEveryWidthOfEitherSide) {
  Shape const shape = {1000, 0, 30000, 25000, 60000, 0};
  for (std::vector<int32_t> const& build :
       {std::vector<int32_t>{}, {4}, {4, 4}, {4, 8}, {4, 4, 4}, {4, 4, 8}}) {
    if (build.size() < 2 && GetParam().blocks > 1) continue;
    for (std::vector<int32_t> const& probe :
         {std::vector<int32_t>{4}, {4, 4}, {4, 8}, {4, 4, 4}, {4, 4, 4, 4}}) {
      for (int32_t const key_width : {4, 8}) {
        for (size_t const shift : {size_t{0}, size_t{1}, size_t{3}}) {
          Way const way = {build, probe, shift != 1, shift};
          expect_join(queue(), shape, key_width, way, parts_in(129, shape.places), 1U << 16,
                      shape.probe_rows);
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST_P(MatchParts, AreAsManyAsThereMayBe) {
  for (uint32_t const count : {1U, 3U, 101U, 1057U, 2047U}) {
    for (uint64_t const places : {uint64_t{1}, uint64_t{100}, uint64_t{30000}}) {
      auto const build = static_cast<uint32_t>(places - places / 3);
      for (uint32_t const probe : {1U, 1000U, 4095U, 4096U, 4097U, 70000U}) {
        expect_join(queue(), {5, 0, places, build, probe, 0}, 4, {narrowest_build(), {4}, false, 0},
                    parts_in(count, places), 1U << 16, probe);
        if (HasFailure()) return;
      }
    }
  }
}

// Of many rows all blocks have several tiles, and lines are filled and written more than once.
TEST_P(MatchParts, OfManyRows) {
  for (int32_t const key_width : {4, 8}) {
    for (int32_t const words : {1, 2, 3, 4}) {
      if (words == 1 && GetParam().blocks > 1) continue;
      std::vector<int32_t> const widths(static_cast<size_t>(words), 4);
      Shape const shape = {uint64_t{0} - 70000, 3, 1'500'000, 1'100'000, 3'000'000, 0};
      PlaceParts const parts = fitting(shape, words, words);
      ASSERT_NE(parts.count, 0U);
      expect_join(queue(), shape, key_width, {widths, widths, true, 0}, parts, 1U << 16,
                  shape.probe_rows);
      if (HasFailure()) return;
    }
  }
}

// Of one key: its part is several units, and its line is filled many times by a tile.
TEST_P(MatchParts, OfAHeavyProbeKey) {
  for (double const share : {0.3, 0.999}) {
    for (int32_t const words : {1, 2, 3, 4}) {
      if (words == 1 && GetParam().blocks > 1) continue;
      std::vector<int32_t> const widths(static_cast<size_t>(words), 4);
      Shape const shape = {0, 0, 90000, 90000, 1'000'000, share};
      expect_join(queue(), shape, 4, {widths, widths, true, 0}, parts_in(301, shape.places), 5000,
                  shape.probe_rows);
      if (HasFailure()) return;
    }
  }
}

TEST_P(MatchParts, GoOnWithMoreRoomThanWasExpected) {
  uint32_t const rows = static_cast<uint32_t>(queue().context.facts.sm_count) * 8192 + 500'000;
  Shape const shape = {0, 0, 20000, 20000, rows, 0};
  expect_join(queue(), shape, 4, {narrowest_build(), {4}, true, 0}, parts_in(33, shape.places),
              1U << 14, 1, 2);
}

// Of parts whose rows are one unit each, however many they were.
TEST_P(MatchParts, HaveUnitsOfAnyNumberOfRows) {
  Shape const shape = {0, 0, 20000, 20000, 90000, 0};
  for (uint32_t const unit_rows : {1U, 31U, UINT32_MAX}) {
    expect_join(queue(), shape, 4, {narrowest_build(), {4}, true, 0}, parts_in(33, shape.places),
                unit_rows, shape.probe_rows);
  }
}

void expect_repeats(base::Queue& queue, const Keys& keys, const Shape& shape,
                    const PlaceParts& parts) {
  Side const build(queue, keys.build, 4, {4, 4}, true, 0);
  Side const probe(queue, keys.probe, 4, {4}, true, 0);
  std::vector<columns::Storage> targets;
  EXPECT_FALSE(
      join(queue, build, probe, 4, shape, parts, 1U << 16, shape.probe_rows, &targets).has_value());
}

TEST_P(MatchParts, TellRepeatedBuildKeys) {
  Shape const shape = {0, 0, 20000, 20000, 50000, 0};
  Keys keys = keys_of(shape, 1);
  for (size_t const row : {size_t{1}, size_t{10000}, size_t{19999}}) {
    Keys repeated = keys;
    repeated.build[row] = repeated.build[0];
    expect_repeats(queue(), repeated, shape, parts_in(65, shape.places));
  }
}

// Two words that say of a place that it has no row, as a row's: what has them is told as a key that
// repeats.
TEST_P(MatchParts, OfAClusterTellARowThatLooksLikeAFreePlace) {
  if (GetParam().blocks == 1) return;
  Shape const shape = {0, 0, 20000, 20000, 50000, 0};
  Keys const keys = keys_of(shape, 1);
  PlaceParts const parts = parts_in(65, shape.places);
  for (int const alike : {0, 1, 2}) {
    Side build(queue(), keys.build, 4, {4, 4}, false, 0);
    std::vector<uint64_t> const row_words = {alike > 0 ? kernels::kFreePlace0 : 7,
                                             alike > 1 ? kernels::kFreePlace1 : 8};
    for (size_t word = 0; word < 2; ++word) {
      std::vector<uint64_t> values(keys.build.size(), 9);
      values[333] = row_words[word];
      build.memory[word] = place(queue(), key_column(values, 4), 0);
      build.columns[word].data = build.memory[word].data;
    }
    Side const probe(queue(), keys.probe, 4, {4}, true, 0);
    std::vector<columns::Storage> targets;
    auto const written =
        join(queue(), build, probe, 4, shape, parts, 1U << 16, shape.probe_rows, &targets);
    EXPECT_EQ(written.has_value(), alike < 2) << alike;
  }
}

// Of which one comes so often that its rows would fill most of a part's slots side by side.
TEST_P(MatchParts, TellABuildKeyOfManyRows) {
  Shape const shape = {0, 0, 30000, 30000, 50000, 0};
  Keys keys = keys_of(shape, 1);
  std::fill_n(keys.build.begin(), 9000, keys.build[0]);
  expect_repeats(queue(), keys, shape, parts_in(3, shape.places));
}

// Keys of 4 bytes from all over their numbers, the first and the last among them, in parts that are
// as full as they may be.
TEST_F(GpuTest, HashedPartsOfKeysFromAnywhere) {
  for (uint64_t const build_rows : {uint64_t{3}, uint64_t{5000}, uint64_t{1'200'000}}) {
    std::mt19937_64 random(build_rows);
    Shape const shape = {0, 0, uint64_t{1} << 32, static_cast<uint32_t>(build_rows), 0, 0};
    std::unordered_set<uint64_t> unique = {0, 1, UINT32_MAX};
    while (unique.size() < build_rows) unique.insert(static_cast<uint32_t>(random()));
    Keys keys;
    keys.build.assign(unique.begin(), unique.end());
    for (int row = 0; row < 700'000; ++row) {
      bool const matches = random() % 3 != 0;
      keys.probe.push_back(matches ? keys.build[random() % keys.build.size()]
                                   : static_cast<uint32_t>(random()));
    }
    uint64_t const shared = queue().context.facts.shared_bytes_per_block;
    for (int32_t const words : {1, 2, 3, 4}) {
      std::vector<int32_t> const widths(static_cast<size_t>(words), 4);
      uint64_t const slots = kernels::most_hashed_slots(words, shared);
      auto const fewest = static_cast<uint32_t>(build_rows * 4 / 3 / slots + 3) | 1;
      for (uint32_t const count : {fewest, 1057U}) {
        expect_join(queue(), keys, shape, 4, {widths, widths, true, 0},
                    kernels::hashed_parts(shape.places, count), 1U << 16,
                    static_cast<int64_t>(keys.probe.size()));
        if (HasFailure()) return;
      }
    }
  }
}

// Of more rows than a part has slots for there is no table, unique or not.
TEST_F(GpuTest, HashedPartsTellThatOneHasTooManyRows) {
  Shape const shape = {0, 0, 60000, 60000, 1000, 0};
  Keys const keys = keys_of(shape, 1);
  Side const build(queue(), keys.build, 4, {4, 4}, true, 0);
  Side const probe(queue(), keys.probe, 4, {4}, true, 0);
  std::vector<columns::Storage> targets;
  auto const written = join(queue(), build, probe, 4, shape, kernels::hashed_parts(shape.places, 3),
                            1U << 16, 1000, &targets);
  EXPECT_FALSE(written.has_value());
}

TEST_P(MatchParts, RefuseRowsWithoutAPlace) {
  Shape const shape = {100, 0, 20000, 20000, 20000, 0};
  Keys const keys = keys_of(shape, 1);
  KeyPlaces const places = {100, 0, 20000, false};
  for (bool const lies_outside : {false, true}) {
    std::vector<uint64_t> build_keys = keys.build;
    if (lies_outside) build_keys[777] = 20100;
    Side const build(queue(), build_keys, 4, {4}, true, 0);
    auto const moved = transform::move_to_parts(
        queue(), {build.key.data, 4, shape.build_rows, build.columns}, places,
        parts_in(65, shape.places), 1U << 16, transform::WithoutPlace::kRefused);
    EXPECT_EQ(moved.has_value(), !lies_outside);
    if (!moved) continue;
    auto const offsets = download<uint32_t>(queue(), moved->offsets.data(), 66);
    EXPECT_EQ(offsets.back(), shape.build_rows);
  }
}

TEST(FittingParts, OfHashedKeysLeaveHalfOfTheSlotsFree) {
  constexpr uint64_t kShared = 232448;
  for (int32_t build = 1; build <= kernels::kMostPartWords; ++build) {
    for (int32_t probe = 1; probe <= kernels::kMostPartWords; ++probe) {
      for (uint64_t rows = 1; rows < uint64_t{1} << 32; rows = rows * 3 / 2 + 1) {
        for (uint64_t const places : {uint64_t{1}, uint64_t{1} << 32}) {
          PlaceParts const parts =
              kernels::fitting_hashed_parts(rows, places, build, probe, kShared, 132);
          if (parts.count == 0) {
            EXPECT_GT(rows, uint64_t{1} << (std::max(build, probe) == 4 ? 22 : 23));
            continue;
          }
          EXPECT_TRUE(parts.are_hashed);
          EXPECT_GE(parts.count, 3U);
          EXPECT_EQ(parts.last_place, places - 1);
          uint32_t const slots = kernels::hashed_room(rows, parts.count, build, kShared);
          EXPECT_EQ(slots % 128, 0U);
          EXPECT_LE(rows / parts.count, slots / 2 + 64);
          EXPECT_LE(kernels::join_hashed_bytes(slots, build), kShared - kernels::kStaticPartBytes);
          EXPECT_LE(kernels::move_to_parts_bytes(parts.count, probe, false), kShared);
        }
      }
    }
  }
  EXPECT_EQ(kernels::fitting_hashed_parts(1000, 0, 1, 1, kShared, 132).count, 0U);
  EXPECT_EQ(kernels::fitting_hashed_parts(1000, uint64_t{1} << 33, 1, 1, kShared, 132).count, 0U);
}

// Of more words than one by a cluster, where a block has no room.
TEST(FittingParts, HoldAllPlacesInAClustersMemory) {
  constexpr uint64_t kShared = 232448;
  constexpr uint64_t kPlaces = uint64_t{1} << 27;
  EXPECT_EQ(kernels::fitting_parts(kPlaces, 1, 4, kShared, 132, 8).blocks, 1U);
  EXPECT_EQ(kernels::fitting_parts(2 * kPlaces, 1, 1, kShared, 132, 8).count, 0U);
  EXPECT_EQ(kernels::fitting_parts(kPlaces, 2, 2, kShared, 132, 8).blocks, 2U);
  EXPECT_EQ(kernels::fitting_parts(2 * kPlaces, 2, 2, kShared, 132, 8).blocks, 4U);
  // Of fewer parts rather than of a block each.
  EXPECT_EQ(kernels::fitting_parts(60'000'000, 2, 2, kShared, 132, 8).blocks, 2U);
  EXPECT_EQ(kernels::fitting_parts(60'000'000, 2, 2, kShared, 132).blocks, 1U);
  EXPECT_EQ(kernels::fitting_parts(40'000'000, 2, 2, kShared, 132, 8).blocks, 1U);
  for (int32_t build = 2; build <= kernels::kMostPartWords; ++build) {
    for (int32_t probe = 1; probe <= kernels::kMostPartWords; ++probe) {
      EXPECT_EQ(kernels::fitting_parts(kPlaces, build, probe, kShared, 132).count, 0U);
      for (uint64_t const places : {kPlaces / 16, kPlaces / 3, 100'000'000UL, kPlaces}) {
        PlaceParts const parts = kernels::fitting_parts(places, build, probe, kShared, 132, 8);
        ASSERT_NE(parts.count, 0U) << places << ", " << build << " words, " << probe;
        EXPECT_EQ(parts.count % 2, 1U);
        EXPECT_GE(uint64_t{parts.places_of_one()} * parts.count, places);
        uint32_t const room = kernels::part_table_room(parts, places, build, kShared);
        EXPECT_GE(uint64_t{room} * parts.blocks, parts.places_of_one());
        uint64_t const bytes = parts.blocks > 1 ? kernels::join_clustered_bytes(room, build)
                                                : kernels::join_parts_bytes(room, build);
        EXPECT_LE(bytes, kShared - kernels::kStaticPartBytes);
        EXPECT_LE(kernels::move_to_parts_bytes(parts.count, probe, false), kShared);
      }
    }
  }
}

TEST(FittingParts, HoldAllPlacesInSharedMemory) {
  constexpr uint64_t kShared = 232448;
  for (int32_t build = 1; build <= kernels::kMostPartWords; ++build) {
    for (int32_t probe = 1; probe <= kernels::kMostPartWords; ++probe) {
      for (uint64_t places = 1; places < uint64_t{1} << 33; places = places * 3 / 2 + 1) {
        PlaceParts const parts = kernels::fitting_parts(places, build, probe, kShared, 132);
        if (parts.count == 0) {
          EXPECT_GT(places, uint64_t{1} << (std::max(build, probe) == 4 ? 24 : 25));
          continue;
        }
        EXPECT_EQ(parts.count % 2, 1U);
        EXPECT_LT(parts.count, 1U << 16);
        EXPECT_LE(parts.places_of_one(), 1U << 16);
        EXPECT_GE(uint64_t{parts.places_of_one()} * parts.count, places);
        EXPECT_LE(kernels::join_parts_bytes(kernels::part_room(parts.places_of_one()), build),
                  kShared - kernels::kStaticPartBytes);
        for (int32_t const words : {build, probe}) {
          bool const whole = kernels::has_whole_lines(parts.count, words, kShared);
          EXPECT_LE(kernels::move_to_parts_bytes(parts.count, words, whole), kShared);
        }
      }
    }
  }
  EXPECT_EQ(kernels::fitting_parts(uint64_t{1} << 27, 1, 1, kShared, 132).count % 2, 1U);
  constexpr uint64_t kLittle = 99 * 1024;
  EXPECT_EQ(kernels::fitting_parts(uint64_t{1} << 27, 1, 1, kLittle, 108).count, 0U);
  // As few as fit, where eight for each block do not.
  for (uint32_t const sm_count : {108U, 142U, 188U}) {
    for (int32_t const words : {1, 2, 3}) {
      PlaceParts const parts = kernels::fitting_parts(8'000'000, words, words, kLittle, sm_count);
      ASSERT_NE(parts.count, 0U) << words << " words, " << sm_count;
      EXPECT_LE(kernels::move_to_parts_bytes(parts.count, words, false), kLittle);
    }
  }
}

}  // namespace
}  // namespace gpujoin::tests
