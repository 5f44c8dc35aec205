// merge_tiles_cuda_test.cpp: sides that lie in the order of their keys, merged where they lie, and
// those that do not.
#include "src/match/merge_tiles.hpp"

#include "src/execute/execute.hpp"
#include "tests/join/joins.hpp"
#include "tests/join/reference_join.hpp"
#include "tests/match/key_shapes.hpp"

namespace gpujoin::tests {
namespace {

using kernels::CarriedFrom;
using match::CarriedOutput;

using MergeTiles = GpuTest;

void sort_signed(std::vector<uint64_t>* keys, int32_t key_width) {
  std::sort(keys->begin(), keys->end(), [&](uint64_t one, uint64_t other) {
    return plan::KeyBounds::value_of(one, key_width) < plan::KeyBounds::value_of(other, key_width);
  });
}

struct MergeSide {
  std::vector<uint64_t> keys;
  columns::DeviceColumn device_keys;
  std::vector<HostColumn> payloads;
  std::vector<columns::DeviceColumn> device_payloads;

  // offset: bytes that the keys lie beside an address that vectors are loaded from.
  MergeSide(base::Queue& queue, std::vector<uint64_t> of_keys, int32_t key_width,
            const std::vector<int32_t>& widths, uint64_t seed, size_t offset)
      : keys(std::move(of_keys)), device_keys(place(queue, key_column(keys, key_width), offset)) {
    for (int32_t const width : widths) {
      payloads.push_back(random_column(keys.size(), width, seed + payloads.size()));
      device_payloads.push_back(place(queue, payloads.back(), width == 16 ? 8 : 0));
    }
  }
  match::TableSide side() const { return {device_keys.data, static_cast<uint32_t>(keys.size())}; }
};

std::vector<uint32_t> numbers_of(base::Queue& queue, const columns::Storage& storage,
                                 size_t count) {
  return download<uint32_t>(queue, storage.get(), count);
}

// Row numbers of both sides, the key, and payloads of both. Nullopt: they were not in order.
std::optional<int32_t> expect_merged(base::Queue& queue, const std::vector<uint64_t>& build_keys,
                                     const std::vector<uint64_t>& probe_keys, int32_t key_width,
                                     const std::vector<int32_t>& widths, int64_t expected_rows,
                                     size_t offset = 0) {
  MergeSide const build(queue, build_keys, key_width, widths, 1, offset);
  MergeSide const probe(queue, probe_keys, key_width, widths, 100, offset);
  columns::Storage build_rows;
  columns::Storage probe_rows;
  columns::Storage key;
  std::vector<columns::Storage> of_build(widths.size());
  std::vector<columns::Storage> of_probe(widths.size());
  std::vector<CarriedOutput> outputs = {{nullptr, 4, CarriedFrom::kBuild, &build_rows},
                                        {nullptr, 4, CarriedFrom::kProbe, &probe_rows},
                                        {nullptr, key_width, CarriedFrom::kKey, &key}};
  for (size_t i = 0; i < widths.size(); ++i) {
    outputs.push_back(
        {build.device_payloads[i].data, widths[i], CarriedFrom::kBuild, &of_build[i]});
    outputs.push_back(
        {probe.device_payloads[i].data, widths[i], CarriedFrom::kProbe, &of_probe[i]});
  }
  plan::JoinPlan plan;
  plan.expected_rows = expected_rows;
  auto const written =
      match::merge_tiles(queue, plan, key_width, build.side(), probe.side(), outputs);
  if (!written) {
    EXPECT_EQ(build_rows, nullptr);
    return std::nullopt;
  }
  Pairs const expected = expected_pairs({build_keys, probe_keys, {}, {}});
  EXPECT_EQ(written->rows, expected.size());
  if (written->rows != expected.size() || expected.empty()) return written->launches;
  size_t const rows = expected.size();
  std::vector<uint32_t> const found_build = numbers_of(queue, build_rows, rows);
  std::vector<uint32_t> const found_probe = numbers_of(queue, probe_rows, rows);
  Pairs found(rows);
  for (size_t i = 0; i < rows; ++i) found[i] = uint64_t{found_probe[i]} << 32 | found_build[i];
  std::sort(found.begin(), found.end());
  EXPECT_TRUE(found == expected) << "the right number of pairs, not the right ones";
  if (found != expected) return written->launches;
  auto const expect_bytes = [&](const HostColumn& column, const std::vector<uint32_t>& of_rows,
                                const columns::Storage& storage) {
    std::vector<unsigned char> const bytes = bytes_of_rows(column, of_rows);
    EXPECT_TRUE(download<unsigned char>(queue, storage.get(), bytes.size()) == bytes)
        << "of width " << column.width;
  };
  expect_bytes(key_column(probe.keys, key_width), found_probe, key);
  for (size_t i = 0; i < widths.size(); ++i) {
    expect_bytes(build.payloads[i], found_build, of_build[i]);
    expect_bytes(probe.payloads[i], found_probe, of_probe[i]);
  }
  return written->launches;
}

TEST_F(MergeTiles, AnswerAsTheReference) {
  for (int32_t const key_width : {4, 8}) {
    for (KeyShape shape : key_shapes(key_width)) {
      sort_signed(&shape.build, key_width);
      sort_signed(&shape.probe, key_width);
      for (auto const& widths : {std::vector<int32_t>{}, {4, 4}, {8, 1, 2, 16}}) {
        for (size_t const offset : {size_t{0}, static_cast<size_t>(key_width)}) {
          SCOPED_TRACE(shape.name + ", keys of " + std::to_string(key_width) + " bytes, " +
                       std::to_string(widths.size()) + " payloads");
          EXPECT_TRUE(
              expect_merged(queue(), shape.build, shape.probe, key_width, widths, 1 << 16, offset));
          if (HasFailure()) return;
        }
      }
    }
  }
}

// Of the first launch the rows are counted, of the second written.
TEST_F(MergeTiles, GoOnWhereThereWasNoRoom) {
  std::vector<uint64_t> build = random_keys(300'000, 100'000, 1, 3);
  std::vector<uint64_t> probe = random_keys(2'000'000, 100'000, 1, 4);
  sort_signed(&build, 4);
  sort_signed(&probe, 4);
  EXPECT_EQ(expect_merged(queue(), build, probe, 4, {4}, 1), 2);
}

// Runs of a key that begin and end around the edges of tiles, and are longer than tiles.
TEST_F(MergeTiles, FindEqualKeysAcrossTheEdgesOfTiles) {
  for (size_t const before : {0, 1, 4000, 4095, 4096, 4097}) {
    for (size_t const run : {1, 2, 511, 512, 513, 4096, 4608, 4609, 13'000}) {
      std::vector<uint64_t> build;
      for (size_t i = 0; i < before; ++i) build.push_back(i);
      build.insert(build.end(), run, before);
      for (size_t i = 0; i < 5000; ++i) build.push_back(before + 1 + i);
      std::vector<uint64_t> probe;
      for (size_t i = 0; i < before + 5000; i += 3) probe.push_back(i);
      probe.insert(probe.end(), 5, before);
      sort_signed(&probe, 8);
      SCOPED_TRACE(std::to_string(before) + " keys before a run of " + std::to_string(run));
      EXPECT_TRUE(expect_merged(queue(), build, probe, 8, {4}, 1 << 16));
      EXPECT_TRUE(expect_merged(queue(), probe, build, 8, {4}, 1 << 16));
      if (HasFailure()) return;
    }
  }
}

// A lone row out of order, anywhere on either side.
TEST_F(MergeTiles, SayThatASideIsNotInOrder) {
  constexpr size_t kRows = 100'000;
  for (int32_t const key_width : {4, 8}) {
    std::vector<uint64_t> in_order(kRows);
    for (size_t i = 0; i < kRows; ++i) in_order[i] = 3 * i;
    for (size_t const row : {size_t{1}, size_t{31}, size_t{32}, size_t{4095}, size_t{4096},
                             size_t{4097}, kRows / 2, kRows - 1}) {
      std::vector<uint64_t> broken = in_order;
      broken[row] = broken[row - 1] - 1;
      SCOPED_TRACE("row " + std::to_string(row));
      EXPECT_EQ(expect_merged(queue(), broken, in_order, key_width, {4}, kRows), std::nullopt);
      EXPECT_EQ(expect_merged(queue(), in_order, broken, key_width, {4}, kRows), std::nullopt);
    }
    std::vector<uint64_t> backwards(in_order.rbegin(), in_order.rend());
    std::vector<uint64_t> shuffled = unique_keys(kRows, 3, 5);
    for (auto const& keys : {backwards, shuffled}) {
      EXPECT_EQ(expect_merged(queue(), keys, in_order, key_width, {4}, kRows), std::nullopt);
      EXPECT_EQ(expect_merged(queue(), in_order, keys, key_width, {4}, kRows), std::nullopt);
      EXPECT_EQ(expect_merged(queue(), keys, keys, key_width, {4}, kRows), std::nullopt);
    }
    if (HasFailure()) return;
  }
}

// Whole joins of relations with NULLs, whose rows do not lie in order: what follows.
TEST_F(MergeTiles, AreFollowedByAnotherJoinWhereKeysAreInNoOrder) {
  for (int32_t const key_width : {4, 8}) {
    for (size_t const rows : {size_t{5000}, size_t{60'000}}) {
      gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
      options.algorithm = GPUJOIN_ALGORITHM_SMJ_CARRIED;
      options.build_side = GPUJOIN_SIDE_RIGHT;
      columns::JoinSpec spec;
      spec.pairs = spec.materialize = true;
      spec.left_columns = {1, 3, 0, 5};
      spec.right_columns = {4, 2, 0};
      HostRelation const left = random_relation({rows, key_width, 9000, 1, 0.1, 0.1, 3}, 21);
      HostRelation const right = random_relation({9000, key_width, 9000, 1, 0.1, 0.1, 5}, 22);
      auto const of_joins = open_queue(GPUJOIN_DEVICE_CUDA);
      auto const result = execute::execute(
          of_joins, execute::make_plan(of_joins, register_relation(of_joins, left, true),
                                       register_relation(of_joins, right, true), spec, options));
      EXPECT_TRUE(rows_of(of_joins, *result) == reference_join(left, right, spec));
      std::string match;
      for (auto const& stage : result->statistics.stages) {
        if (stage.stage == "match") match += stage.technique + ";";
      }
      EXPECT_NE(match.find("merge_tiles, in vain: a side does not lie in the order of its keys"),
                std::string::npos)
          << match;
    }
  }
}

}  // namespace
}  // namespace gpujoin::tests
