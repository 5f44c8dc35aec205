// sample_keys_cuda_test.cpp: the device samples as the planner's host reference does, key by key and count by count.
#include "src/sample/sample_keys.hpp"

#include <unordered_map>

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

void expect_reference(base::Context& context, const Side& build, const Side& probe) {
  columns::DeviceColumn const build_column = place(context, build.column);
  columns::DeviceColumn const probe_column = place(context, probe.column);
  plan::KeySample const found = sample::sample_keys(context, view_of(build_column), build.rows,
                                                    view_of(probe_column), probe.rows);
  plan::KeySample const expected =
      plan::sample_keys(build.rows, reader_of(build.column), probe.rows, reader_of(probe.column));
  EXPECT_EQ(found.build_positions, expected.build_positions);
  EXPECT_EQ(found.probe_positions, expected.probe_positions);
  EXPECT_EQ(found.build_keys, expected.build_keys);
  EXPECT_EQ(found.probe_keys, expected.probe_keys);
  EXPECT_EQ(found.build_counts, expected.build_counts);
  EXPECT_EQ(found.key_or, expected.key_or);
  // Bits above the key's width say nothing: without any valid key they are all ones on one side only.
  uint64_t const key_bits = build.column.width == 4 ? UINT32_MAX : UINT64_MAX;
  EXPECT_EQ(found.key_and & key_bits, expected.key_and & key_bits);
  // The same estimates, then; and the counts once more, by counting.
  std::unordered_map<uint64_t, uint64_t> counts;
  auto const key_at = reader_of(build.column);
  for (int64_t row = 0; row < build.rows; ++row) {
    uint64_t key = 0;
    if (key_at(row, &key)) ++counts[key];
  }
  ASSERT_EQ(found.build_counts.size(), found.probe_keys.size());
  for (size_t i = 0; i < found.probe_keys.size(); ++i) {
    auto const at = counts.find(found.probe_keys[i]);
    ASSERT_EQ(found.build_counts[i], at == counts.end() ? 0 : at->second) << i;
  }
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
      expect_reference(context(), build, probe);
      expect_reference(context(), probe, build);
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
        expect_reference(context(), build, probe);
        expect_reference(context(), build, full);
        expect_reference(context(), full, probe);
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
    expect_reference(context(), make_side(build, width), make_side(probe, width));
    // One key is all there is.
    expect_reference(context(), make_side(std::vector<uint64_t>(5000, 9), width),
                     make_side(std::vector<uint64_t>(5000, 9), width));
    // Nothing matches.
    expect_reference(context(), make_side(std::vector<uint64_t>(5000, 9), width),
                     make_side(std::vector<uint64_t>(5000, 10), width));
  }
}

TEST_F(SampleKeys, SeeEveryBitThatVaries) {
  for (int32_t width : {4, 8}) {
    std::vector<uint64_t> build(3000, 0x50);
    build[2777] = width == 8 ? uint64_t{1} << 63 | 0x50 : uint64_t{1} << 31 | 0x50;
    Side const build_side = make_side(build, width);
    Side const probe_side = make_side(std::vector<uint64_t>(10, 0x52), width);
    expect_reference(context(), build_side, probe_side);
    expect_reference(context(), probe_side, build_side);
  }
}

TEST_F(SampleKeys, NoKeyValueIsReserved) {
  for (int32_t width : {4, 8}) {
    uint64_t const most = width == 8 ? UINT64_MAX : UINT32_MAX;
    std::vector<uint64_t> const keys = {0, most, 1, most - 1, 0, most, 0x80000000, 0x7fffffff};
    expect_reference(context(), make_side(keys, width), make_side(keys, width));
  }
}

// Large (6 MB): more tiles than resident blocks.
TEST_F(SampleKeys, ScanBuildSidesThatTakeSeveralTilesABlock) {
  expect_reference(context(), make_side(random_keys(1500001, 3000, 1, 1), 4, 0.01, 3),
                   make_side(random_keys(2000, 6000, 1, 2), 4));
}

}  // namespace
}  // namespace gpujoin::tests
