// sample_keys_cuda_test.cpp: the device finds what the planner's host reference does, sum by sum.
#include "src/sample/sample_keys.hpp"

#include <unordered_map>

#include "kernels/tuning.hpp"
#include "tests/gpu_fixture.hpp"

namespace gpujoin::tests {
namespace {

using SampleKeys = GpuTest;

columns::ColumnView view_of(const columns::DeviceColumn& column) {
  columns::ColumnView view;
  view.type = column.width == 4 ? GPUJOIN_TYPE_UINT32 : GPUJOIN_TYPE_UINT64;
  view.width = column.width;
  view.data = column.data;
  view.validity = column.validity;
  view.validity_bit_offset = column.validity_bit_offset;
  view.memory = base::Memory::kDevice;
  view.name = "key";
  return view;
}

// The key of a row as the reference reads it.
auto reader_of(const HostColumn& column) {
  return [&column](int64_t row, uint64_t* key) {
    auto const at = static_cast<size_t>(row);
    if (!column.is_valid(at)) return false;
    *key = 0;
    std::memcpy(key, &column.data[at * static_cast<size_t>(column.width)],
                static_cast<size_t>(column.width));
    return true;
  };
}

struct Side {
  HostColumn column;
  int64_t rows = 0;
};

Side make_side(const std::vector<uint64_t>& keys, int32_t width, double nulls = 0,
               int64_t bit_offset = 0) {
  Side side{key_column(keys, width), static_cast<int64_t>(keys.size())};
  if (nulls > 0) set_valid(&side.column, random_valid(keys.size(), nulls, keys.size()), bit_offset);
  return side;
}

void expect_same(const plan::KeyBounds& found, const plan::KeyBounds& expected, const char* what) {
  EXPECT_EQ(found.key_or, expected.key_or) << what;
  EXPECT_EQ(found.key_and, expected.key_and) << what;
  EXPECT_EQ(found.low, expected.low) << what;
  EXPECT_EQ(found.high, expected.high) << what;
}

void expect_same(const plan::DrawnKeys& found, const plan::DrawnKeys& expected, const char* what) {
  EXPECT_EQ(found.positions, expected.positions) << what;
  EXPECT_EQ(found.valid, expected.valid) << what;
  EXPECT_EQ(found.distinct, expected.distinct) << what;
  EXPECT_EQ(found.most, expected.most) << what;
  EXPECT_EQ(found.heavy, expected.heavy) << what;
  EXPECT_EQ(found.next_bits, expected.next_bits) << what;
  EXPECT_EQ(found.descents, expected.descents) << what;
  EXPECT_EQ(found.neighbour_bits, expected.neighbour_bits) << what;
  expect_same(found.bounds, expected.bounds, what);
}

void expect_same(const plan::MetKeys& found, const plan::MetKeys& expected, const char* what) {
  EXPECT_EQ(found.keys, expected.keys) << what;
  EXPECT_EQ(found.draws, expected.draws) << what;
  EXPECT_EQ(found.rows, expected.rows) << what;
  EXPECT_EQ(found.drawn_rows, expected.drawn_rows) << what;
  EXPECT_EQ(found.squares, expected.squares) << what;
  EXPECT_EQ(found.drawn_squares, expected.drawn_squares) << what;
  EXPECT_EQ(found.most, expected.most) << what;
}

plan::SampleFindings sample_on_device(base::Queue& queue, const Side& build, const Side& probe,
                                      plan::SampleEffort effort) {
  columns::DeviceColumn const build_column = place(queue, build.column);
  columns::DeviceColumn const probe_column = place(queue, probe.column);
  // What other kernels may have left there.
  static int garbage = 0;
  garbage = (garbage + 1) % 256;
  EXPECT_EQ(cudaMemsetAsync(queue.device->counters.data(), garbage, base::kCounterBytes,
                            base::stream_of(queue)),
            cudaSuccess);
  return sample::sample_keys(queue, view_of(build_column), build.rows, view_of(probe_column),
                             probe.rows, effort);
}

// What the members say together, by counting: draws that meet a build row, and the rows they meet.
void expect_counted(const plan::SampleFindings& found, const Side& build, const Side& probe) {
  std::unordered_map<uint64_t, int64_t> counts;
  auto const build_key_at = reader_of(build.column);
  auto const probe_key_at = reader_of(probe.column);
  uint64_t key = 0;
  for (int64_t row = 0; row < build.rows; ++row) {
    if (build_key_at(row, &key)) ++counts[key];
  }
  int64_t draws = 0;
  int64_t rows = 0;
  for (int32_t i = 0; i < plan::sample_positions(probe.rows); ++i) {
    if (!probe_key_at(plan::sample_row(i, probe.rows), &key) || !counts.contains(key)) continue;
    ++draws;
    rows += counts[key];
  }
  EXPECT_EQ(found.met_seldom.draws + found.met_often.draws, draws);
  EXPECT_EQ(found.met_seldom.drawn_rows + found.met_often.drawn_rows, rows);
}

void expect_reference(base::Queue& queue, const Side& build, const Side& probe) {
  plan::SampleFindings const found =
      sample_on_device(queue, build, probe, plan::SampleEffort::kCounted);
  plan::SampleFindings const expected = plan::sample_keys(
      build.rows, reader_of(build.column), probe.rows, reader_of(probe.column), build.column.width);
  expect_same(found.build, expected.build, "build");
  expect_same(found.probe, expected.probe, "probe");
  EXPECT_TRUE(found.counted);
  EXPECT_EQ(found.scanned_rows, expected.scanned_rows);
  expect_same(found.scanned, expected.scanned, "scanned");
  EXPECT_EQ(found.met_in_one_tile, expected.met_in_one_tile);
  EXPECT_EQ(found.met_in_two_tiles, expected.met_in_two_tiles);
  expect_same(found.met_seldom, expected.met_seldom, "met seldom");
  expect_same(found.met_often, expected.met_often, "met often");
  EXPECT_EQ(found.hot.keys, expected.hot.keys);
  EXPECT_EQ(found.hot.rows, expected.hot.rows);
  EXPECT_EQ(found.hot.pairs, expected.hot.pairs);
  EXPECT_EQ(found.hot.most_build, expected.hot.most_build);
  EXPECT_EQ(found, expected);
  plan::SampleFindings const positions =
      sample_on_device(queue, build, probe, plan::SampleEffort::kPositions);
  EXPECT_EQ(positions, plan::sample_keys(build.rows, reader_of(build.column), probe.rows,
                                         reader_of(probe.column), build.column.width,
                                         plan::SampleEffort::kPositions));
  if (found.hot.keys != 0) return;  // they are not among those met
  if (found.scanned_rows == build.rows) expect_counted(found, build, probe);
}

constexpr auto kPositions = static_cast<size_t>(plan::kSamplePositions);

uint64_t stride_of(int32_t width) { return width == 8 ? 0x100000001ULL : 1; }

TEST_F(SampleKeys, EqualTheReferenceAtEverySize) {
  for (int32_t width : {4, 8}) {
    uint64_t const stride = stride_of(width);
    std::vector<size_t> sizes = edge_sizes();
    sizes.insert(sizes.end(), {kPositions - 1, kPositions, kPositions + 1, 2 * kPositions + 17});
    for (size_t rows : sizes) {
      SCOPED_TRACE(std::to_string(rows) + " rows of " + std::to_string(width) + " bytes");
      Side const build = make_side(random_keys(rows, rows + 1, stride, rows), width);
      Side const probe = make_side(random_keys(rows + 3, rows + 1, stride, rows + 1), width);
      expect_reference(queue(), build, probe);
      expect_reference(queue(), probe, build);
    }
  }
}

TEST_F(SampleKeys, LeaveNullsOut) {
  for (int32_t width : {4, 8}) {
    uint64_t const stride = stride_of(width);
    for (double nulls : {0.1, 0.9, 1.0}) {
      for (int64_t offset : {0, 3, 8, 29}) {
        SCOPED_TRACE("nulls " + std::to_string(nulls) + " from bit " + std::to_string(offset));
        Side const build = make_side(random_keys(9000, 3000, stride, 1), width, nulls, offset);
        Side const probe = make_side(random_keys(7000, 3000, stride, 2), width, nulls, offset + 5);
        Side const full = make_side(random_keys(500, 3000, stride, 3), width);
        expect_reference(queue(), build, probe);
        expect_reference(queue(), build, full);
        expect_reference(queue(), full, probe);
      }
    }
  }
}

TEST_F(SampleKeys, CountHeavyKeysExactly) {
  for (int32_t width : {4, 8}) {
    uint64_t const stride = stride_of(width);
    std::vector<uint64_t> build = random_keys(60000, 40000, stride, 1);
    for (size_t i = 0; i < build.size(); i += 2) build[i] = 7 * stride;
    std::vector<uint64_t> probe = random_keys(5000, 40000, stride, 2);
    for (size_t i = 0; i < probe.size(); i += 3) probe[i] = 7 * stride;
    expect_reference(queue(), make_side(build, width), make_side(probe, width));
    // One key is all there is.
    expect_reference(queue(), make_side(std::vector<uint64_t>(5000, 9), width),
                     make_side(std::vector<uint64_t>(5000, 9), width));
    // Nothing matches.
    expect_reference(queue(), make_side(std::vector<uint64_t>(5000, 9), width),
                     make_side(std::vector<uint64_t>(5000, 10), width));
  }
}

// Of keys in many build rows all probe rows are counted, whether or not they were drawn.
TEST_F(SampleKeys, CountTheProbeRowsOfHotKeys) {
  for (int32_t width : {4, 8}) {
    uint64_t const stride = stride_of(width);
    // No hot key, one, some, and as many as there may be.
    for (uint64_t hot : {0, 1, 7, plan::kMostHotKeys}) {
      for (double nulls : {0.0, 0.3}) {
        SCOPED_TRACE(std::to_string(hot) + " keys of " + std::to_string(width) + " bytes");
        std::vector<uint64_t> build = random_keys(1200000, 900000, stride, 1);
        std::vector<uint64_t> probe = random_keys(300011, 900000, stride, 2);
        for (size_t i = 0; hot != 0 && i < build.size(); ++i) {
          if (hot == plan::kMostHotKeys || i % 3 == 0) build[i] = i * hot / build.size() * stride;
        }
        for (size_t i = 0; hot != 0 && i < 90; ++i) probe[i * 3001 + 5] = i % hot * stride;
        for (size_t i = 0; hot == 7 && i < probe.size(); i += 2) probe[i] = 3 * stride;
        expect_reference(queue(), make_side(build, width, nulls, 3),
                         make_side(probe, width, nulls, 5));
      }
    }
  }
}

TEST_F(SampleKeys, SeeEveryBitThatVaries) {
  for (int32_t width : {4, 8}) {
    std::vector<uint64_t> build(3000, 0x50);
    build[2777] = width == 8 ? uint64_t{1} << 63 | 0x50 : uint64_t{1} << 31 | 0x50;
    Side const build_side = make_side(build, width);
    Side const probe_side = make_side(std::vector<uint64_t>(10, 0x52), width);
    expect_reference(queue(), build_side, probe_side);
    expect_reference(queue(), probe_side, build_side);
  }
}

TEST_F(SampleKeys, NoKeyValueIsReserved) {
  for (int32_t width : {4, 8}) {
    uint64_t const most = width == 8 ? UINT64_MAX : UINT32_MAX;
    std::vector<uint64_t> const keys = {0, most, 1, most - 1, 0, most, 0x80000000, 0x7fffffff};
    expect_reference(queue(), make_side(keys, width), make_side(keys, width));
  }
}

// The device's table has parts, of which one has all keys here, and no place is free.
TEST_F(SampleKeys, AllKeysMayBeOfOnePart) {
  // A block draws a position a thread of its own.
  constexpr uint32_t kParts = plan::kSamplePositions / kernels::kSampleDrawThreads;
  for (int32_t width : {4, 8}) {
    std::vector<uint64_t> keys;
    for (uint64_t key = 1; keys.size() < 60'000; key += stride_of(width)) {
      if (plan::sample_hash(key) % kParts == 3) keys.push_back(key);
    }
    std::vector<uint64_t> const drawn(keys.begin(), keys.begin() + plan::kSamplePositions);
    expect_reference(queue(), make_side(keys, width), make_side(drawn, width));
    expect_reference(queue(), make_side(drawn, width), make_side(keys, width));
  }
}

TEST_F(SampleKeys, OrderKeysAsSignedIntegers) {
  for (int32_t width : {4, 8}) {
    std::vector<uint64_t> keys = random_keys(9000, 1000, 1, 5);
    for (uint64_t& key : keys) key -= 700;
    Side const side = make_side(keys, width);
    expect_reference(queue(), side, side);
    plan::SampleFindings const found =
        sample_on_device(queue(), side, side, plan::SampleEffort::kCounted);
    EXPECT_EQ(found.scanned.low, -700);
    EXPECT_EQ(found.scanned.high, 299);
  }
}

TEST_F(SampleKeys, ReadPositionsAlone) {
  for (int32_t width : {4, 8}) {
    Side const build = make_side(random_keys(30000, 900, stride_of(width), 1), width, 0.2, 3);
    Side const probe = make_side(random_keys(50000, 900, stride_of(width), 2), width);
    plan::SampleFindings const counted =
        sample_on_device(queue(), build, probe, plan::SampleEffort::kCounted);
    plan::SampleFindings const read =
        sample_on_device(queue(), build, probe, plan::SampleEffort::kPositions);
    plan::SampleFindings expected;
    expected.build = counted.build;
    expected.probe = counted.probe;
    EXPECT_EQ(read, expected);
  }
}

// Large (6 MB): more tiles than resident blocks.
TEST_F(SampleKeys, ScanBuildSidesThatTakeSeveralTilesABlock) {
  expect_reference(queue(), make_side(random_keys(1500001, 3000, 1, 1), 4, 0.01, 3),
                   make_side(random_keys(2000, 6000, 1, 2), 4));
}

// Large (38 and 76 MB): sides of which every tile is scanned, and one tile or a third more.
TEST_F(SampleKeys, ScanAPartOfLargeBuildSides) {
  constexpr auto kAll = static_cast<size_t>(plan::kFewestSampleTiles * plan::kSampleTileRows);
  constexpr auto kTile = static_cast<size_t>(plan::kSampleTileRows);
  for (int32_t width : {4, 8}) {
    for (size_t rows : {kAll - 1, kAll, kAll + 1, kAll + kTile + 17, kAll / 3 * 4 + 5}) {
      SCOPED_TRACE(std::to_string(rows) + " rows of " + std::to_string(width) + " bytes");
      uint64_t const stride = stride_of(width);
      // Five rows a key, half of the probe rows match.
      Side const build = make_side(random_keys(rows, rows / 5, stride, 1), width);
      expect_reference(queue(), build,
                       make_side(random_keys(20000, 2 * rows / 5, stride, 2), width));
    }
    constexpr size_t kRows = kAll / 8 * 9 + 100;
    Side const probe = make_side(random_keys(20000, 5000, 1, 3), width, 0.1, 5);
    // NULLs, few keys, one key, and the order of the key with both signs.
    expect_reference(queue(), make_side(random_keys(kRows, kRows, 1, 4), width, 0.3, 3), probe);
    expect_reference(queue(), make_side(random_keys(kRows, 700, 1, 5), width), probe);
    expect_reference(queue(), make_side(std::vector<uint64_t>(kRows, 17), width), probe);
    std::vector<uint64_t> sorted(kRows);
    for (size_t i = 0; i < kRows; ++i) sorted[i] = i / 3 - kRows / 6;
    expect_reference(queue(), make_side(sorted, width), make_side(sorted, width));
  }
}

}  // namespace
}  // namespace gpujoin::tests
