// carried_relation.hpp: relations whose rows the host partitioned, for the join of partitions that
// writes output columns.
#pragma once

#include <cuda_runtime_api.h>  // what mix_key.cuh is marked with

#include "kernels/transform/mix_key.cuh"
#include "src/match/carried_columns.hpp"
#include "tests/match/crossed_shapes.hpp"
#include "tests/match/partitioned_keys.hpp"

namespace gpujoin::tests {

using kernels::CarriedFrom;
using match::CarriedOutput;
using match::WrittenRows;

inline plan::JoinPlan plan_of(int32_t radix_bits, uint64_t expected_rows) {
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

  Carrier(base::Queue& queue, const std::vector<uint64_t>& of_keys, int32_t key_width,
          int32_t radix_bits, const std::vector<int32_t>& widths, uint64_t seed)
      : keys(partitioned(of_keys, radix_bits)),
        device_keys(place(queue, key_column(keys, key_width))),
        offsets(upload(queue, offsets_of(keys, radix_bits))) {
    std::vector<uint32_t> positions(keys.size());
    std::iota(positions.begin(), positions.end(), 0U);
    numbers = upload(queue, positions);
    for (int32_t width : widths) {
      payloads.push_back(random_column(keys.size(), width, seed + payloads.size()));
      device_payloads.push_back(place(queue, payloads.back(), width == 16 ? 8 : 0));
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

inline void expect_payloads(base::Queue& queue, const Carrier& side,
                            const std::vector<uint32_t>& positions,
                            const columns::Storage* targets) {
  for (size_t i = 0; i < side.payloads.size(); ++i) {
    std::vector<unsigned char> const expected = bytes_of_rows(side.payloads[i], positions);
    ASSERT_TRUE(download<unsigned char>(queue, targets[i].get(), expected.size()) == expected)
        << "column " << i << " of width " << side.payloads[i].width;
  }
}

// Mixed keys were turned back.
inline void expect_keys(base::Queue& queue, const Carrier& side,
                        const std::vector<uint32_t>& positions, const columns::Storage& target,
                        int32_t key_width) {
  std::vector<uint64_t> unmixed = side.keys;
  for (uint64_t& key : unmixed) {
    key = key_width == 8 ? kernels::unmix_key(key) : kernels::unmix_key(static_cast<uint32_t>(key));
  }
  std::vector<unsigned char> const keys = bytes_of_rows(key_column(unmixed, key_width), positions);
  EXPECT_TRUE(download<unsigned char>(queue, target.get(), keys.size()) == keys);
}

struct Payloads {
  std::vector<int32_t> build;
  std::vector<int32_t> probe;
};

// Joins; every pair of rows must come once, and in its place both keys and all payloads. Answers
// the launches.
inline int32_t expect_rows(base::Queue& queue, const plan::JoinPlan& plan, const KeyShape& shape,
                           int32_t key_width, const Payloads& widths = {},
                           WrittenRows* answered = nullptr) {
  SCOPED_TRACE(shape.name + ", keys of " + std::to_string(key_width) + " bytes, " +
               std::to_string(plan.radix_bits) + " bits");
  Carrier const build(queue, shape.build, key_width, plan.radix_bits, widths.build, 100);
  Carrier const probe(queue, shape.probe, key_width, plan.radix_bits, widths.probe, 200);
  size_t const of_build = 1 + widths.build.size();
  size_t const of_probe = 1 + widths.probe.size();
  std::vector<columns::Storage> targets(of_build + of_probe + 2);
  std::vector<CarriedOutput> outputs;
  build.add_outputs(CarriedFrom::kBuild, targets.data(), &outputs);
  outputs.push_back({nullptr, key_width, CarriedFrom::kKey, &targets[of_build + of_probe]});
  probe.add_outputs(CarriedFrom::kProbe, targets.data() + of_build, &outputs);
  outputs.push_back({nullptr, key_width, CarriedFrom::kKey, &targets[of_build + of_probe + 1]});
  match::KeptSides none;
  WrittenRows const written =
      match::carried_columns(queue, plan, key_width, build.side(), probe.side(), outputs, &none);
  if (answered != nullptr) *answered = written;

  Pairs const expected = expected_pairs({build.keys, probe.keys, {}, {}});
  EXPECT_EQ(written.rows, expected.size());
  if (written.rows != expected.size() || expected.empty()) return written.launches;
  std::vector<uint32_t> const build_rows =
      download<uint32_t>(queue, targets[0].get(), expected.size());
  std::vector<uint32_t> const probe_rows =
      download<uint32_t>(queue, targets[of_build].get(), expected.size());
  Pairs found(expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    found[i] = uint64_t{probe_rows[i]} << 32 | build_rows[i];
  }
  std::sort(found.begin(), found.end());
  EXPECT_TRUE(found == expected) << "the right number of rows, not the right ones";
  if (found != expected) return written.launches;

  for (size_t i : {of_build + of_probe, of_build + of_probe + 1}) {
    expect_keys(queue, build, build_rows, targets[i], key_width);
  }
  expect_payloads(queue, build, build_rows, targets.data() + 1);
  expect_payloads(queue, probe, probe_rows, targets.data() + of_build + 1);
  return written.launches;
}

// The number of rows that a shape gives.
inline uint64_t rows_of(const KeyShape& shape) {
  std::unordered_map<uint64_t, uint64_t> count;
  for (uint64_t key : shape.build) ++count[key];
  uint64_t rows = 0;
  for (uint64_t key : shape.probe) {
    auto const found = count.find(key);
    if (found != count.end()) rows += found->second;
  }
  return rows;
}

using gpujoin_test::add_rows;
using gpujoin_test::key_in;
using gpujoin_test::shuffle;

}  // namespace gpujoin::tests
