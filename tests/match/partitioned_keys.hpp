// partitioned_keys.hpp: keys that the host partitioned, side by side or in chains of buckets, for
// the join of partitions.
#pragma once

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "src/match/unit_schedule.hpp"
#include "tests/match/key_shapes.hpp"

namespace gpujoin::tests {

// The keys stand for mixed keys.
inline std::vector<uint64_t> partitioned(std::vector<uint64_t> keys, int32_t radix_bits) {
  uint64_t const mask = (uint64_t{1} << radix_bits) - 1;
  std::stable_sort(keys.begin(), keys.end(),
                   [mask](uint64_t a, uint64_t b) { return (a & mask) < (b & mask); });
  return keys;
}

// A bijection on 4 or 8 bytes, so that dense keys spread as mixed ones do.
inline uint64_t spread(uint64_t key, uint64_t most) {
  key = key * 0x9e3779b97f4a7c15ULL & most;
  key ^= key >> 15;
  return key * 0xbf58476d1ce4e5b9ULL & most;
}

// On 4 bytes the spread is a bijection of 4 bytes, on 8 bytes of 8: the largest key says which.
inline void spread_out(KeyShape* shape) {
  uint64_t most = UINT32_MAX;
  for (auto const* side : {&shape->build, &shape->probe}) {
    for (uint64_t key : *side) most = key > UINT32_MAX ? UINT64_MAX : most;
  }
  for (auto* side : {&shape->build, &shape->probe}) {
    for (uint64_t& key : *side) key = spread(key, most);
  }
}

enum class Layout { kSideBySide, kBuckets };

// Where the rows of a side lie, and what the places hold.
struct LaidOut {
  std::vector<uint64_t> places;
  std::vector<uint32_t> position_of_row;  // rows ordered by partition
  std::vector<uint32_t> offsets;
  std::vector<uint32_t> buckets;
  std::vector<uint32_t> bucket_offsets;
  int32_t bucket_bits = 0;
};

// keys: ordered by partition. Buckets are in no order, and places without a row hold a key that
// would match.
inline LaidOut lay_out(const std::vector<uint64_t>& keys, int32_t radix_bits, Layout layout,
                       int32_t bucket_bits) {
  LaidOut side;
  side.offsets = offsets_of(keys, radix_bits);
  side.position_of_row.resize(keys.size());
  if (layout == Layout::kSideBySide) {
    side.places = keys;
    std::iota(side.position_of_row.begin(), side.position_of_row.end(), 0U);
    return side;
  }
  uint32_t const places = 1U << bucket_bits;
  side.bucket_bits = bucket_bits;
  side.bucket_offsets.push_back(0);
  for (size_t p = 0; p + 1 < side.offsets.size(); ++p) {
    uint32_t const rows = side.offsets[p + 1] - side.offsets[p];
    side.bucket_offsets.push_back(side.bucket_offsets.back() + (rows + places - 1) / places);
  }
  side.buckets.resize(side.bucket_offsets.back() + 3);  // three that belong to nobody
  std::iota(side.buckets.begin(), side.buckets.end(), 0U);
  std::shuffle(side.buckets.begin(), side.buckets.end(), std::mt19937_64(keys.size()));
  side.places.assign(side.buckets.size() * places, keys.empty() ? 0 : keys[keys.size() / 2]);
  for (size_t p = 0; p + 1 < side.offsets.size(); ++p) {
    for (uint32_t row = side.offsets[p]; row < side.offsets[p + 1]; ++row) {
      uint32_t const i = row - side.offsets[p];
      uint32_t const bucket = side.buckets[side.bucket_offsets[p] + i / places];
      side.position_of_row[row] = bucket * places + i % places;
      side.places[side.position_of_row[row]] = keys[row];
    }
  }
  return side;
}

// A side in device memory, with row ids or without.
class PlacedSide {
 public:
  PlacedSide(base::Queue& queue, const LaidOut& side, int32_t key_width,
             const std::vector<uint32_t>& ids_of_rows)
      : rows_(static_cast<uint32_t>(side.position_of_row.size())),
        bucket_bits_(side.bucket_bits),
        keys_(place(queue, key_column(side.places, key_width))),
        offsets_(upload(queue, side.offsets)),
        buckets_(upload(queue, side.buckets)),
        bucket_offsets_(upload(queue, side.bucket_offsets)) {
    if (ids_of_rows.empty()) return;
    std::vector<uint32_t> ids(side.places.size(), 0xdeadU);
    for (uint32_t row = 0; row < rows_; ++row) ids[side.position_of_row[row]] = ids_of_rows[row];
    ids_ = upload(queue, ids);
  }

  match::MatchSide keys() const { return {keys_.data, rows_, ids_.as<uint32_t>()}; }
  kernels::PartitionView view() const {
    return {offsets_.as<uint32_t>(), buckets_.as<uint32_t>(), bucket_offsets_.as<uint32_t>(),
            bucket_bits_};
  }

 private:
  uint32_t rows_;
  int32_t bucket_bits_;
  columns::DeviceColumn keys_;
  base::Buffer offsets_;
  base::Buffer buckets_;
  base::Buffer bucket_offsets_;
  base::Buffer ids_;
};

// Joins partitions as the plan says, over sides laid out as it is told; answers how often the
// output had to be given room.
inline int32_t expect_partition_join(base::Queue& queue, const plan::JoinPlan& plan, Layout layout,
                                     KeyShape shape, int32_t key_width, bool row_ids,
                                     uint64_t first_capacity) {
  constexpr int32_t kBuildBucketBits = 5;
  constexpr int32_t kProbeBucketBits = 10;
  Arranged keys{partitioned(std::move(shape.build), plan.radix_bits),
                partitioned(std::move(shape.probe), plan.radix_bits),
                {},
                {}};
  LaidOut const build = lay_out(keys.build, plan.radix_bits, layout, kBuildBucketBits);
  LaidOut const probe = lay_out(keys.probe, plan.radix_bits, layout, kProbeBucketBits);
  if (row_ids) set_row_ids(&keys);
  PlacedSide const placed_build(queue, build, key_width, keys.build_ids);
  PlacedSide const placed_probe(queue, probe, key_width, keys.probe_ids);
  if (!row_ids) {
    keys.build_ids = build.position_of_row;
    keys.probe_ids = probe.position_of_row;
  }
  Family const family = [&](base::Queue& of_family, const match::MatchSide&,
                            const match::MatchSide&, output::GrowingPairs& pairs) {
    match::co_partitions(of_family, plan, key_width, placed_build.keys(), placed_build.view(),
                         placed_probe.keys(), placed_probe.view(), pairs);
  };
  return expect_join(queue, keys, key_width, family, first_capacity);
}

// Every finder with every skew technique and every output that it goes with.
inline std::vector<plan::JoinPlan> partition_plans(int32_t radix_bits) {
  using plan::Output;
  using plan::Skew;
  std::vector<plan::JoinPlan> plans;
  plan::JoinPlan plan;
  plan.device = plan::Device::kCuda;
  plan.transform = plan::Transform::kRadixOnesweep;
  plan.radix_bits = radix_bits;
  for (plan::Match match : {plan::Match::kCoPartitions, plan::Match::kNestedLoop}) {
    for (Skew skew :
         {Skew::kNone, Skew::kWorkUnits, Skew::kRedistributedBlocks, Skew::kChildKernels}) {
      for (Output output : {Output::kGrown, Output::kThreadPages, Output::kBlockChunks,
                            Output::kTwoPasses, Output::kEstimatedGroups}) {
        plan.match = match;
        plan.skew = skew;
        plan.output = output;
        if (!plan::why_illegal(plan)) plans.push_back(plan);
      }
    }
  }
  return plans;
}

}  // namespace gpujoin::tests
