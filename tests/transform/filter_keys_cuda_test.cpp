// filter_keys_cuda_test.cpp: the range of keys, the places it has, and rows that cannot match left
// out by a bit a key or a hash.
#include "src/transform/filter_keys.hpp"

#include <algorithm>
#include <bit>
#include <set>

#include "src/base/traffic.hpp"
#include "src/transform/key_range.hpp"
#include "tests/gpu_fixture.hpp"

namespace gpujoin::tests {
namespace {

using FilterKeys = GpuTest;
using KeyRange = GpuTest;
using transform::Filtered;
using transform::KeyPlaces;
using transform::PreparedKeys;

using Keys = std::vector<uint64_t>;

uint64_t most_of(int32_t width) { return width == 4 ? UINT32_MAX : UINT64_MAX; }
uint64_t sign_of(int32_t width) { return uint64_t{1} << (8 * width - 1); }

// first, first + stride, ... in the arithmetic of the width, shuffled.
Keys series(uint64_t first, uint64_t stride, size_t count, int32_t width) {
  Keys keys(count);
  for (size_t i = 0; i < count; ++i) keys[i] = (first + i * stride) & most_of(width);
  std::shuffle(keys.begin(), keys.end(), std::mt19937_64(count));
  return keys;
}

// The keys' range as the kernel is to find it.
kernels::KeyRange range_of(const Keys& keys, int32_t width) {
  kernels::KeyRange range;
  range.all = most_of(width);
  range.low = most_of(width);
  for (uint64_t const key : keys) {
    uint64_t const turned = key ^ sign_of(width);
    range.any |= turned;
    range.all &= turned;
    range.low = std::min<unsigned long long>(range.low, turned);
    range.high = std::max<unsigned long long>(range.high, turned);
  }
  return range;
}

void expect_places(const Keys& keys, int32_t width, uint64_t low, int32_t shift, uint64_t places) {
  KeyPlaces const found = transform::places_of(range_of(keys, width), width);
  EXPECT_EQ(found.low, low);
  EXPECT_EQ(found.shift, shift);
  EXPECT_EQ(found.places, places);
}

// Host code: without a device too.
TEST(PlacesOf, TellLowestKeyStepAndNumber) {
  for (int32_t const width : {4, 8}) {
    uint64_t const most = most_of(width);
    expect_places({7}, width, 7, 0, 1);
    expect_places({7, 8}, width, 7, 0, 2);
    expect_places({0, 1000}, width, 0, 3, 126);
    expect_places({12345, 12353, 12369}, width, 12345, 3, 4);
    expect_places({most, 0}, width, most, 0, 2);  // -1 and 0
    expect_places({most - 9, most - 1}, width, most - 9, 3, 2);
    expect_places({most - 5, 2, 10}, width, most - 5, 3, 3);
    // The lowest and the highest key, in the order of signed integers.
    expect_places({sign_of(width), sign_of(width) + 4}, width, sign_of(width), 2, 2);
    expect_places({sign_of(width) - 1, sign_of(width) - 3}, width, sign_of(width) - 3, 1, 2);
  }
  expect_places({uint64_t{1} << 40, (uint64_t{1} << 40) + (uint64_t{5} << 34)}, 8,
                uint64_t{1} << 40, 34, 6);
}

TEST(PlacesOf, AreNoneOfKeysTooFarApartAndTellTheLowestAndTheStepAllTheSame) {
  EXPECT_EQ(transform::places_of(kernels::KeyRange{}, 4).places, 0U);
  EXPECT_EQ(transform::places_of(kernels::KeyRange{}, 8).places, 0U);
  // All keys of 4 bytes are one more than a number of places may be.
  expect_places({0x80000000, 0x7fffffff}, 4, 0x80000000, 0, 0);
  expect_places({0x80000001, 0x7fffffff}, 4, 0x80000001, 1, 0x80000000U);
  expect_places({5, 5 + uint64_t{UINT32_MAX}}, 8, 5, 0, 0);
  expect_places({5, 4 + uint64_t{UINT32_MAX}, 6}, 8, 5, 0, UINT32_MAX);
  expect_places({5, 5 + (uint64_t{1} << 40)}, 8, 5, 40, 2);
  expect_places({6, 8, 6 + (uint64_t{1} << 40)}, 8, 6, 1, 0);
  expect_places({sign_of(8), sign_of(8) - 1, 1}, 8, sign_of(8), 0, 0);
}

TEST_F(KeyRange, IsThatOfAllKeys) {
  for (int32_t const width : {4, 8}) {
    for (size_t const rows : edge_sizes()) {
      if (rows == 0) continue;
      for (Keys const& keys :
           {series(0, 1, rows, width), series(0 - 7 * rows, 16, rows, width),
            series(99, 0x9e3779b97f4a7c15, rows, width), Keys(rows, most_of(width)),
            series(sign_of(width) - rows / 2, 1, rows, width)}) {
        SCOPED_TRACE(std::to_string(rows) + " rows, width " + std::to_string(width));
        columns::DeviceColumn const column = place(queue(), key_column(keys, width));
        kernels::KeyRange const found =
            transform::key_range(queue(), column.data, width, static_cast<uint32_t>(rows));
        kernels::KeyRange const expected = range_of(keys, width);
        EXPECT_EQ(found.low, expected.low);
        EXPECT_EQ(found.high, expected.high);
        EXPECT_EQ(found.any & ~found.all, expected.any & ~expected.all);
      }
    }
  }
  EXPECT_EQ(transform::places_of(transform::key_range(queue(), nullptr, 4, 0), 4).places, 0U);
}

TEST_F(FilterKeys, RangesAreOfTheKeysThatAreNotNull) {
  constexpr uint32_t kRows = 5000;
  constexpr size_t kBehind = 5;  // bits of other rows
  for (int32_t const width : {4, 8}) {
    Keys keys = series(1000, 3, kRows, width);
    keys.front() = most_of(width) / 2;
    keys.back() = 0;
    std::vector<uint8_t> bits((kRows + kBehind + 7) / 8, 0xff);
    for (size_t const at : {kBehind, kBehind + kRows - 1}) {
      bits[at / 8] = static_cast<uint8_t>(bits[at / 8] & ~(1U << at % 8));
    }
    columns::DeviceColumn const column = place(queue(), key_column(keys, width));
    base::Buffer const there = upload(queue(), bits);
    transform::KeyPlaces const places =
        transform::places_of(transform::key_range(queue(), column.data, width, kRows,
                                                  {there.as<uint8_t>(), int64_t{kBehind}}),
                             width, kRows - 2);
    auto const [low, high] = std::minmax_element(keys.begin() + 1, keys.end() - 1);
    EXPECT_EQ(places.low, *low);
    EXPECT_EQ(places.shift, 0);
    EXPECT_EQ(places.places, *high - *low + 1);
    EXPECT_FALSE(places.in_order);
  }
}

// As if a launch had failed between those that write the counters and the one that leaves them 0.
TEST_F(FilterKeys, OfCountersThatWereLeftDirty) {
  {
    base::ZeroedCounts const zeroed(queue(), base::kZeroedBytes);
    ASSERT_EQ(cudaMemset(zeroed.as<void>(), 0xff, base::kZeroedBytes), cudaSuccess);
  }
  std::vector<uint32_t> const keys = {5, 9, 7};
  base::Buffer const there = upload(queue(), keys);
  for (int time = 0; time < 2; ++time) {
    transform::KeyPlaces const places =
        transform::places_of(transform::key_range(queue(), there.data(), 4, 3), 4);
    EXPECT_EQ(places.low, 5U);
    EXPECT_EQ(places.shift, 1);
    EXPECT_EQ(places.places, 3U);
  }
  EXPECT_EQ(status_of([&] { base::ZeroedCounts(queue(), base::kZeroedBytes + 1); }),
            GPUJOIN_ERROR_INTERNAL);
}

// A side's keys with or without NULLs.
struct FilteredSide {
  HostColumn host;
  columns::DeviceColumn column;
  PreparedKeys prepared;

  FilteredSide(base::Queue& queue, const Keys& keys, int32_t width, double nulls)
      : host(key_column(keys, width)) {
    if (nulls > 0) set_valid(&host, random_valid(keys.size(), nulls, keys.size() + 1), 3);
    column = place(queue, host);
    prepared = transform::prepare_keys(queue, column, static_cast<int64_t>(keys.size()), false);
  }
};

std::set<uint64_t> valid_keys(const Keys& keys, const HostColumn& host) {
  std::set<uint64_t> valid;
  for (size_t row = 0; row < keys.size(); ++row) {
    if (host.is_valid(row)) valid.insert(keys[row]);
  }
  return valid;
}

// Kept rows are the ones named, each once, with their keys beside them.
void expect_kept(base::Queue& queue, const PreparedKeys& prepared, const Keys& keys, int32_t width,
                 const std::vector<uint32_t>& expected) {
  ASSERT_EQ(prepared.rows, expected.size());
  if (expected.empty()) return;
  std::vector<uint32_t> rows(expected.size());
  std::iota(rows.begin(), rows.end(), 0U);
  if (prepared.source_rows != nullptr) {
    rows = download<uint32_t>(queue, prepared.source_rows, rows.size());
  }
  std::vector<unsigned char> const found =
      download<unsigned char>(queue, prepared.keys, rows.size() * static_cast<size_t>(width));
  std::vector<uint32_t> sorted = rows;
  std::sort(sorted.begin(), sorted.end());
  ASSERT_TRUE(sorted == expected) << "the right number of rows, not the right ones";
  EXPECT_TRUE(found == bytes_of_rows(key_column(keys, width), rows));
}

struct FilterCase {
  std::string name;
  Keys build;
  Keys probe;
};

// Lowest and highest key in the order of signed integers, their sign turned. None: 0 above the
// highest.
struct Ends {
  uint64_t low = UINT64_MAX;
  uint64_t high = 0;
  Ends(const std::set<uint64_t>& keys, int32_t width) {
    for (uint64_t const key : keys) {
      low = std::min(low, key ^ sign_of(width));
      high = std::max(high, key ^ sign_of(width));
    }
  }
};

// What is told of the keys ahead.
enum class Told { kNothing, kAll, kLowerHalf, kUpperHalf, kCoarseSteps, kFineSteps };
constexpr Told kAllTold[] = {Told::kNothing,   Told::kAll,         Told::kLowerHalf,
                             Told::kUpperHalf, Told::kCoarseSteps, Told::kFineSteps};

kernels::KeyRange told_range(const std::set<uint64_t>& keys, int32_t width, Told told) {
  kernels::KeyRange range;
  Ends const ends(keys, width);
  range.low = ends.low;
  range.high = ends.high;
  for (uint64_t const key : keys) {
    range.any |= key;
    range.all &= key;
  }
  uint64_t const varying = range.any & ~range.all;
  uint64_t const step = varying == 0 ? 1 : varying & (~varying + 1);
  uint64_t const half = ends.low < ends.high ? (ends.high - ends.low) / 2 / step * step : 0;
  if (told == Told::kLowerHalf) range.high = ends.low + half;
  if (told == Told::kUpperHalf) range.low = ends.low + half;
  // The lowest bit that varies is not told, or one below that does not.
  if (told == Told::kCoarseSteps) range.any &= ~step;
  if (told == Told::kFineSteps) range.any |= 1, range.all &= ~uint64_t{1};
  return range;
}

// Of both sides: build rows in the probe side's range are kept, and probe rows whose key there is.
// Of the build side: its rows whose key a probe row has, and all probe rows, unless the ranges do
// not meet.
void expect_filtered(base::Queue& queue, Filtered filtered, Told told,
                     const FilterCase& filter_case, int32_t width, double nulls) {
  SCOPED_TRACE(filter_case.name + ", keys of " + std::to_string(width) + " bytes, " +
               std::to_string(nulls) + " NULL" +
               (filtered == Filtered::kBuild ? ", the build side alone" : "") + ", told " +
               std::to_string(static_cast<int>(told)));
  auto const& [name, build_keys, probe_keys] = filter_case;
  FilteredSide build(queue, build_keys, width, nulls);
  FilteredSide probe(queue, probe_keys, width, nulls);
  std::set<uint64_t> const of_build = valid_keys(build_keys, build.host);
  std::set<uint64_t> const of_probe = valid_keys(probe_keys, probe.host);
  transform::ExpectedRanges const expected = {told_range(of_build, width, told),
                                              told_range(of_probe, width, told)};
  ASSERT_TRUE(transform::filter_by_bits(queue, filtered,
                                        told == Told::kNothing ? nullptr : &expected,
                                        &build.prepared, &probe.prepared));

  Ends const build_ends(of_build, width);
  Ends const probe_ends(of_probe, width);
  // Nothing is left out of a side that meets an empty one: there is nothing to join.
  bool const joins = !of_build.empty() && !of_probe.empty();
  bool const meet = build_ends.low <= probe_ends.high && probe_ends.low <= build_ends.high;
  std::vector<uint32_t> kept_build;
  for (uint32_t row = 0; row < build_keys.size(); ++row) {
    uint64_t const key = build_keys[row] ^ sign_of(width);
    bool const in_range = probe_ends.low <= key && key <= probe_ends.high;
    bool const kept =
        filtered == Filtered::kBoth ? in_range : meet && of_probe.contains(build_keys[row]);
    if (build.host.is_valid(row) && (kept || !joins)) kept_build.push_back(row);
  }
  std::vector<uint32_t> kept_probe;
  for (uint32_t row = 0; row < probe_keys.size(); ++row) {
    bool const kept = filtered == Filtered::kBoth ? of_build.contains(probe_keys[row]) : meet;
    if (probe.host.is_valid(row) && (kept || !joins)) kept_probe.push_back(row);
  }
  expect_kept(queue, build.prepared, build_keys, width, kept_build);
  expect_kept(queue, probe.prepared, probe_keys, width, kept_probe);
}

void expect_filtered(base::Queue& queue, const FilterCase& filter_case, int32_t width,
                     double nulls) {
  for (Filtered const filtered : {Filtered::kBoth, Filtered::kBuild}) {
    for (Told const told : kAllTold) {
      expect_filtered(queue, filtered, told, filter_case, width, nulls);
    }
  }
}

std::vector<FilterCase> filter_cases(int32_t width) {
  uint64_t const low = sign_of(width);  // the lowest key
  Keys gaps = series(0, 3, 9000, width);
  gaps.resize(5000);
  Keys repeated = series(100, 1, 3000, width);
  repeated.insert(repeated.end(), repeated.begin(), repeated.begin() + 2000);
  // A bit is set once, however many rows have its key.
  Keys heavy = series(50, 100, 60, width);
  heavy.insert(heavy.end(), 100'000, 4321);
  std::vector<FilterCase> cases = {
      {"all kept", series(0, 1, 5000, width), series(0, 1, 5000, width)},
      {"all of the build side kept", gaps, series(0, 1, 30000, width)},
      {"disjoint", series(0, 1, 5000, width), series(5000, 1, 7000, width)},
      {"disjoint the other way", series(9000, 1, 5000, width), series(0, 1, 7000, width)},
      {"disjoint signs", series(0, 1, 5000, width), series(0 - 7000, 1, 7000, width)},
      {"probe within build", series(0, 1, 20000, width), series(4000, 1, 3000, width)},
      {"build within probe", series(4000, 1, 3000, width), series(0, 1, 20000, width)},
      {"overlapping", series(0, 1, 9000, width), series(4500, 1, 9000, width)},
      {"around zero", series(0 - 4000, 1, 9000, width), series(0 - 7000, 2, 9000, width)},
      {"none of the steps within", series(0, 1024, 5000, width), series(2049, 1, 900, width)},
      {"steps with an offset", series(13, 8, 5000, width), series(0, 1, 30000, width)},
      {"steps of the probe side", series(0, 1, 30000, width), series(13, 8, 2000, width)},
      {"steps that never meet", series(0, 8, 5000, width), series(4, 8, 5000, width)},
      {"one key each, equal", {42}, {42}},
      {"one key each, unequal", {42}, {43}},
      {"one build row", {777}, series(0, 1, 3000, width)},
      {"one probe row", series(0, 1, 3000, width), {777}},
      {"repeated keys", repeated, repeated},
      {"one probe key very often", series(0, 1, 9000, width), heavy},
      {"the lowest keys", series(low, 1, 5000, width), series(low + 2500, 1, 5000, width)},
      {"the highest keys", series(low - 5000, 1, 5000, width), series(low - 2500, 1, 2500, width)},
      {"no build row", {}, series(0, 1, 3000, width)},
      {"no probe row", series(0, 1, 3000, width), {}},
      // Of the build side's range there is no number of places, of the common one there is.
      {"a wide build side", {low, 6, 7, 9, 10, low - 1}, series(3, 1, 500, width)},
      {"a wide build side from an odd key on",
       {low + 1, 6, 9, 10, low - 1},
       series(3, 1, 500, width)},
      {"a wide probe side", series(3, 1, 500, width), {low, 6, 7, 9, 10, low - 1}},
  };
  if (width == 8) {
    uint64_t const far = uint64_t{1} << 45;
    cases.push_back({"far keys", series(far, 1, 5000, 8), series(far + 100, 1, 5000, 8)});
    cases.push_back({"far steps", series(5, uint64_t{1} << 40, 5000, 8),
                     series(5, uint64_t{1} << 39, 7000, 8)});
    cases.push_back({"equal low halves", series(77, uint64_t{1} << 32, 3000, 8),
                     series(77, uint64_t{3} << 32, 3000, 8)});
    cases.push_back({"far from each other", {5, 6, far, far + 1}, series(1, 1, 100, 8)});
  }
  return cases;
}

TEST_F(FilterKeys, LeaveOutWhatCannotMatch) {
  for (int32_t const width : {4, 8}) {
    for (FilterCase const& filter_case : filter_cases(width)) {
      for (double const nulls : {0.0, 0.2}) {
        expect_filtered(queue(), filter_case, width, nulls);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(FilterKeys, AtTheEdgesOfWarpsAndTiles) {
  for (int32_t const width : {4, 8}) {
    for (size_t const rows : edge_sizes()) {
      if (rows == 0) continue;
      Keys const build = random_keys(rows, 3 * rows, 4, rows);
      expect_filtered(
          queue(),
          {"random " + std::to_string(rows), build, random_keys(rows + 5, 12 * rows, 1, rows + 1)},
          width, 0.1);
      // The last of many tiles: 2048 rows each.
      expect_filtered(queue(),
                      {"few of many " + std::to_string(rows), build,
                       random_keys(70001, 100 * rows, 4, rows + 2)},
                      width, 0);
      if (HasFailure()) return;
    }
  }
}

// By multiplication with the golden ratio's fraction, of which the highest bits are taken.
uint64_t hash_of(uint64_t key, int32_t width, uint64_t places) {
  uint64_t const product = width == 4 ? (key * 0x9e3779b9U) & UINT32_MAX : key * 0x9e3779b97f4a7c15;
  return product >> (8 * width - std::countr_zero(places));
}

// Rows of the side that is asked stay if a row of the other one has their hash; that one stays as
// it is.
void expect_filtered_by_hashes(base::Queue& queue, Filtered filtered, const FilterCase& filter_case,
                               int32_t width, double nulls) {
  SCOPED_TRACE(filter_case.name + ", keys of " + std::to_string(width) + " bytes, " +
               std::to_string(nulls) + " NULL" +
               (filtered == Filtered::kBuild ? ", the build side is asked" : ""));
  FilteredSide build(queue, filter_case.build, width, nulls);
  FilteredSide probe(queue, filter_case.probe, width, nulls);
  bool const asks_build = filtered == Filtered::kBuild;
  FilteredSide& marking = asks_build ? probe : build;
  FilteredSide& asked = asks_build ? build : probe;
  Keys const& marking_keys = asks_build ? filter_case.probe : filter_case.build;
  Keys const& asked_keys = asks_build ? filter_case.build : filter_case.probe;
  bool const joins = marking.prepared.rows != 0 && asked.prepared.rows != 0;
  uint64_t const places = base::traffic::hash_filter_places(marking.prepared.rows);
  transform::filter_by_hashes(queue, filtered, &build.prepared, &probe.prepared);

  std::set<uint64_t> marks;
  for (uint64_t const key : valid_keys(marking_keys, marking.host)) {
    marks.insert(hash_of(key, width, places));
  }
  std::vector<uint32_t> all;
  for (uint32_t row = 0; row < marking_keys.size(); ++row) {
    if (marking.host.is_valid(row)) all.push_back(row);
  }
  std::vector<uint32_t> kept;
  for (uint32_t row = 0; row < asked_keys.size(); ++row) {
    bool const is_marked = marks.contains(hash_of(asked_keys[row], width, places));
    if (asked.host.is_valid(row) && (is_marked || !joins)) kept.push_back(row);
  }
  expect_kept(queue, marking.prepared, marking_keys, width, all);
  expect_kept(queue, asked.prepared, asked_keys, width, kept);
}

TEST_F(FilterKeys, ByHashesLeaveOutTheRowsWithoutAMark) {
  for (int32_t const width : {4, 8}) {
    for (FilterCase const& filter_case : filter_cases(width)) {
      for (double const nulls : {0.0, 0.2}) {
        for (Filtered const filtered : {Filtered::kBoth, Filtered::kBuild}) {
          expect_filtered_by_hashes(queue(), filtered, filter_case, width, nulls);
        }
        if (HasFailure()) return;
      }
    }
  }
}

// Which of scattered keys match is what a filter is for: few others stay.
TEST_F(FilterKeys, ByHashesKeepFewScatteredKeysWithoutAMatch) {
  for (int32_t const width : {4, 8}) {
    for (size_t const rows : {size_t{100}, size_t{2048}, size_t{50'000}, size_t{300'000}}) {
      std::mt19937_64 random(rows);
      std::set<uint64_t> drawn;
      while (drawn.size() < 5 * rows) drawn.insert(random() & most_of(width));
      Keys probe(drawn.begin(), drawn.end());
      std::shuffle(probe.begin(), probe.end(), random);
      Keys const build(probe.begin(), probe.begin() + static_cast<std::ptrdiff_t>(rows));
      FilterCase const scattered = {"scattered " + std::to_string(rows), build, probe};
      expect_filtered_by_hashes(queue(), Filtered::kBoth, scattered, width, 0);
      FilteredSide of_build(queue(), build, width, 0);
      FilteredSide of_probe(queue(), probe, width, 0);
      transform::filter_by_hashes(queue(), Filtered::kBoth, &of_build.prepared, &of_probe.prepared);
      EXPECT_GE(of_probe.prepared.rows, rows);
      // An eighth of the bits at most is set, of four times the rows.
      EXPECT_LT(of_probe.prepared.rows, rows + rows * 3 / 4);
      if (HasFailure()) return;
    }
  }
}

// Host code: without a device too.
TEST(HashFilterPlaces, AreEightARowAndFitL2) {
  using base::traffic::hash_filter_places;
  EXPECT_EQ(hash_filter_places(1), 1024U);
  EXPECT_EQ(hash_filter_places(128), 1024U);
  EXPECT_EQ(hash_filter_places(129), 2048U);
  EXPECT_EQ(hash_filter_places(1'000'000), uint64_t{1} << 23);
  EXPECT_EQ(hash_filter_places(1 << 24), uint64_t{1} << 27);
  EXPECT_EQ(hash_filter_places(UINT64_MAX), uint64_t{1} << 27);
}

TEST_F(FilterKeys, OfOnlyNullsDoNothing) {
  for (auto const& [build_nulls, probe_nulls] : {std::pair{1.0, 0.0}, std::pair{0.0, 1.0}}) {
    FilteredSide build(queue(), series(0, 1, 1000, 4), 4, build_nulls);
    FilteredSide probe(queue(), series(0, 1, 900, 4), 4, probe_nulls);
    EXPECT_TRUE(transform::filter_by_bits(queue(), Filtered::kBoth, nullptr, &build.prepared,
                                          &probe.prepared));
    EXPECT_EQ(build.prepared.rows, build_nulls > 0 ? 0U : 1000U);
    EXPECT_EQ(probe.prepared.rows, probe_nulls > 0 ? 0U : 900U);
  }
}

// Keys that both sides may have, but not so many: false, and both sides as they were.
TEST_F(FilterKeys, GiveUpWhereTheCommonRangeIsTooWide) {
  constexpr uint64_t kMost = base::traffic::kMostFilterPlaces;
  struct Wide {
    int32_t width;
    Keys ends;
    bool is_filtered;
  };
  uint64_t const lowest = sign_of(8);
  for (Wide const& wide :
       {Wide{4, {1, 2, kMost}, true}, Wide{4, {1, 2, kMost + 1}, false},
        Wide{4, {sign_of(4), 5, sign_of(4) - 1}, false}, Wide{4, {1, 3, 2 * kMost - 1}, true},
        Wide{8, {1, 2, kMost}, true}, Wide{8, {1, 2, kMost + 1}, false},
        Wide{8, {1, 2, uint64_t{1} << 50}, false},
        // All keys of 8 bytes, one more than a number.
        Wide{8, {lowest, 0, lowest - 1}, false}}) {
    SCOPED_TRACE(std::to_string(wide.ends.back()) + ", width " + std::to_string(wide.width));
    Keys probe_keys = wide.ends;
    probe_keys.insert(probe_keys.begin() + 1, wide.ends[1] + 6);
    FilteredSide build(queue(), wide.ends, wide.width, 0);
    FilteredSide probe(queue(), probe_keys, wide.width, 0);
    const void* const keys_before = probe.prepared.keys;
    EXPECT_EQ(transform::filter_by_bits(queue(), Filtered::kBoth, nullptr, &build.prepared,
                                        &probe.prepared),
              wide.is_filtered);
    EXPECT_EQ(build.prepared.rows, 3U);
    EXPECT_EQ(build.prepared.source_rows, nullptr);
    EXPECT_EQ(probe.prepared.rows, wide.is_filtered ? 3U : 4U);
    if (!wide.is_filtered) {
      EXPECT_EQ(probe.prepared.keys, keys_before);
    }
    FilteredSide same(queue(), wide.ends, wide.width, 0);
    EXPECT_EQ(transform::filter_by_bits(queue(), Filtered::kBuild, nullptr, &same.prepared,
                                        &probe.prepared),
              wide.is_filtered);
    EXPECT_EQ(same.prepared.keys, same.column.data);
    expect_kept(queue(), build.prepared, wide.ends, wide.width, {0, 1, 2});
    expect_kept(
        queue(), probe.prepared, probe_keys, wide.width,
        wide.is_filtered ? std::vector<uint32_t>{0, 2, 3} : std::vector<uint32_t>{0, 1, 2, 3});
  }
}

// What was left out goes with columns as what has NULL keys does.
TEST_F(FilterKeys, KeptRowsTellWhereTheirColumnsAre) {
  Keys const build_keys = series(0, 2, 6000, 4);
  Keys const probe_keys = series(3000, 1, 20000, 4);
  FilteredSide build(queue(), build_keys, 4, 0.1);
  FilteredSide probe(queue(), probe_keys, 4, 0.1);
  ASSERT_TRUE(transform::filter_by_bits(queue(), Filtered::kBoth, nullptr, &build.prepared,
                                        &probe.prepared));
  for (FilteredSide const* side : {&build, &probe}) {
    ASSERT_NE(side->prepared.source_rows, nullptr);
    HostColumn const payload = random_column(side->host.data.size() / 4, 8, 1);
    columns::DeviceColumn const column = place(queue(), payload);
    transform::PreparedColumn const values =
        transform::prepare_values(queue(), side->prepared, column);
    std::vector<uint32_t> const rows =
        download<uint32_t>(queue(), side->prepared.source_rows, side->prepared.rows);
    std::vector<unsigned char> const expected = bytes_of_rows(payload, rows);
    EXPECT_TRUE(download<unsigned char>(queue(), values.data, expected.size()) == expected);
  }
}

// Values that went along are there as those that are copied by row number, which they are where
// more rows were kept than there was room for.
TEST_F(FilterKeys, ColumnsGoAlongWithTheRowsThatAreKept) {
  Keys const build_keys = series(0, 2, 60000, 4);
  Keys const probe_keys = series(30000, 1, 200000, 4);
  for (int32_t const width : {4, 8}) {
    std::vector<uint32_t> kept;
    for (uint64_t const missing : {0, 1, 20000}) {
      SCOPED_TRACE(std::to_string(width) + " bytes, room for " + std::to_string(missing) +
                   " fewer");
      FilteredSide build(queue(), build_keys, 4, 0);
      FilteredSide probe(queue(), probe_keys, 4, 0);
      std::vector<HostColumn> payloads;
      std::vector<columns::DeviceColumn> columns;
      for (FilteredSide* const side : {&build, &probe}) {
        uint64_t const room = kept.empty() ? side->prepared.rows : kept[side == &probe] - missing;
        side->prepared.along_room = room;
        for (int32_t const each : {width, 4}) {
          payloads.push_back(random_column(side->prepared.rows, each, payloads.size()));
          columns.push_back(place(queue(), payloads.back()));
          side->prepared.along.push_back({columns.back().data, each, {}});
        }
      }
      ASSERT_TRUE(transform::filter_by_bits(queue(), Filtered::kBoth, nullptr, &build.prepared,
                                            &probe.prepared));
      if (kept.empty()) kept = {build.prepared.rows, probe.prepared.rows};
      for (size_t i = 0; i < columns.size(); ++i) {
        PreparedKeys const& prepared = i < 2 ? build.prepared : probe.prepared;
        ASSERT_NE(prepared.source_rows, nullptr);
        EXPECT_EQ(static_cast<bool>(prepared.along[i % 2].kept), missing == 0);
        transform::PreparedColumn const values =
            transform::prepare_values(queue(), prepared, columns[i]);
        EXPECT_EQ(static_cast<bool>(values.copy), missing != 0);
        std::vector<unsigned char> const expected = bytes_of_rows(
            payloads[i], download<uint32_t>(queue(), prepared.source_rows, prepared.rows));
        EXPECT_TRUE(download<unsigned char>(queue(), values.data, expected.size()) == expected);
        // Another column may have the same values, and NULLs.
        columns::DeviceColumn nullable;
        nullable.data = columns[i].data;
        nullable.width = columns[i].width;
        nullable.validity = static_cast<const uint8_t*>(columns[i].data);
        EXPECT_TRUE(static_cast<bool>(transform::prepare_values(queue(), prepared, nullable).copy));
      }
    }
  }
}

}  // namespace
}  // namespace gpujoin::tests
