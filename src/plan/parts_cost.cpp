// parts_cost.cpp: bytes and seconds of a table in parts that shared memory holds.
#include <algorithm>

#include "kernels/match/place_parts.hpp"
#include "src/base/part_traffic.hpp"
#include "src/plan/table_cost.hpp"

namespace gpujoin::plan {

namespace traffic = base::traffic;
using kernels::PlaceParts;
using traffic::Traffic;

namespace {

// Of 4 bytes that move beside a row's address; 0: they do not.
int32_t part_words(const SideStatistics& side, bool want_pairs) {
  if (side.validities != 0) return 0;
  const PackedBytes packed = packed_bytes(side.payload_widths, AloneInWord::kPacked);
  int32_t words = packed.words / kernels::kWordBytes + (want_pairs && side.row_numbers ? 1 : 0);
  for (const int32_t width : side.payload_widths) {
    if (width > 2) words = kernels::with_part_column(words, width);
  }
  return kernels::moved_part_words(words, packed.words != 0);
}

// Of hashed keys between the lowest and the highest; 0: they are too far apart.
uint64_t hashed_places(const JoinShape& shape) {
  constexpr uint64_t kAll = uint64_t{1} << 32;
  const KeyRange& range = shape.sample.build_range;
  if (shape.key_width == 4 || range.low > range.high) return kAll;
  const uint64_t steps = steps_between(range.low, range.high, shape.sample.varying_key_bits);
  return steps < UINT32_MAX ? steps + 1 : 0;
}

bool are_hashed(const JoinPlan& plan) { return plan.match == Match::kGlobalTable; }

// Of count 0: there are none that fit. Where nobody saw keys they are taken to be dense.
PlaceParts parts_of(const JoinPlan& plan, const JoinShape& shape, const base::DeviceFacts& facts) {
  const int32_t build_words = part_words(shape.build, shape.want_pairs);
  const int32_t probe_words = part_words(shape.probe, shape.want_pairs);
  const auto sm_count = static_cast<uint32_t>(std::max(facts.sm_count, 1));
  const uint64_t shared = facts.shared_bytes_per_block;
  if (are_hashed(plan)) {
    return kernels::fitting_hashed_parts(shape.build_rows, hashed_places(shape), build_words,
                                         probe_words, shared, sm_count);
  }
  const uint64_t places = direct_places(shape);
  return kernels::fitting_parts(places != 0 ? places : shape.build_rows, build_words, probe_words,
                                shared, sm_count,
                                kernels::most_part_blocks(facts.compute_capability));
}

// What accesses to other blocks' memory take where a cluster holds a part, where so many rows of
// both sides are joined by tables of so many words in `asked` seconds but for that. H200, above
// their bytes: 2^27 x 2^27 and 2^27 x 2^28 rows with 8 bytes beside the key on both sides, in
// clusters of four, 1.15 and 1.7 ms, 10^8 x 10^8, of two, 0.36; with 16 bytes, of eight, 1.28; with
// 12, of four, 2.3, for which no reason was found. 2^27 rows of 16 bytes that as many of 4 to 16
// ask for take 3.6 to 4.1 in all, which is what the accesses do; partitions are thought a tenth
// slower than they are there.
double cluster_seconds(const PlaceParts& parts, int32_t build_words, double rows, double asked) {
  if (parts.blocks <= 1) return 0;
  constexpr double kOfTwo = 3.6e-12;
  constexpr double kOfMore = 5.6e-12;
  constexpr double kOfThreeWords = 12e-12;
  constexpr double kWideAlone = 18.5e-12;
  const double accesses = rows * (1 - 1.0 / parts.blocks);
  const double each = build_words == 3 ? kOfThreeWords : parts.blocks == 2 ? kOfTwo : kOfMore;
  const double alone = build_words > 2 ? kWideAlone * accesses - asked : 0;
  return std::max(each * accesses, alone);
}

}  // namespace

// Of other kinds than inner joins nobody has measured what parts save.
bool moves_to_parts(const PlanRequest& request) {
  if (request.kind != columns::JoinKind::kInner) return false;
  return request.key_count > 0 && !request.in_order &&
         part_words(request.left, request.pairs) > 0 &&
         part_words(request.right, request.pairs) > 0;
}

uint64_t part_bytes(const SideStatistics& side, bool want_pairs) {
  return kernels::part_row_bytes(std::max(part_words(side, want_pairs), 1)) *
         static_cast<uint64_t>(side.rows);
}

// A count of the keys, and a pass. H200, 2^27 rows with 4 bytes beside the key, to 1057 parts: 0.17
// ms and 0.76, where their bytes take 0.13 and 0.51, to 2479 0.94; with 12, to 1189, 0.2 and 1.41,
// by bytes 0.13 and 1.01. Lines of 12 and 20 bytes a row are not whole lines of L2: with 8 and 16,
// to as many parts, 1.38 and 2.15, by bytes 0.76 and 1.26. Few rows leave a line of each part of
// each block partly filled.
Cost parts_transform_cost(const JoinPlan& plan, const JoinShape& shape, const SideStatistics& side,
                          const base::DeviceFacts& facts) {
  constexpr int32_t kLaunches = 8;
  const PlaceParts parts = parts_of(plan, shape, facts);
  const int32_t words = std::max(part_words(side, shape.want_pairs), 1);
  const auto rows = static_cast<uint64_t>(side.rows);
  constexpr double kCountSlowdown = 1.3;
  constexpr double kSlowdown = 1.5;
  constexpr double kOfPartialLines = 0.25;
  constexpr double kOfFurtherParts = 0.17;  // a thousand
  const double further = std::max(0.0, static_cast<double>(parts.count) / 1024 - 1);
  const double slowdown =
      kSlowdown + kOfFurtherParts * further + (words % 2 == 0 ? kOfPartialLines : 0);
  const Traffic moved =
      traffic::move_to_parts(rows, shape.key_width, static_cast<uint64_t>(4 * words));
  const double counted = stream_seconds(traffic::read_keys(rows, shape.key_width), facts);
  const double passed = stream_seconds(moved, facts) - counted;
  return {moved, kCountSlowdown * counted + slowdown * passed, kLaunches};
}

// H200, 2^27 x 2^27 rows of 4 + 4 bytes 1.13 ms, where their bytes take 1.01; with 8 and 12 bytes
// beside the key, 2^25 x 2^27 and 2^24 x 2^26, 1.36 and 0.92 of 1.13 and 0.77. Hashed, 2^22, 2^23
// and 2^24 x 2^27 0.87, 0.97 and 1.08: a block places the rows of a part while it asks for nothing;
// 0.90 where 30 % of 2^27 rows match those of 2^23. 1.12 where the probe side is skewed, by Zipf
// 1.0, of 2^26 x 2^27 rows.
Cost parts_match_cost(const JoinPlan& plan, const JoinShape& shape,
                      const base::DeviceFacts& facts) {
  constexpr int32_t kLaunches = 12;  // and waits
  constexpr double kSlowdown = 1.18;
  constexpr double kHashedRow = 15e-12;
  constexpr double kAskedRow = 5.7e-12;
  constexpr double kOftenAskedRow = 3.4e-12;
  const auto bytes_of = [&](const SideStatistics& side) {
    return uint64_t{kernels::part_row_bytes(std::max(part_words(side, shape.want_pairs), 1))};
  };
  const PackedBytes packed = packed_of(shape, plan);
  const uint64_t output = gathered_columns(shape, plan, true).width +
                          gathered_columns(shape, plan, false).width +
                          static_cast<uint64_t>(packed.words - packed.columns);
  // What a scan did not tell of the build keys they are read for.
  const bool is_told = shape.sample.counted || (are_hashed(plan) && shape.key_width == 4);
  const Traffic ranges =
      is_told ? Traffic{} : traffic::read_keys(shape.build_rows, shape.key_width);
  const Traffic joined =
      traffic::match_parts(shape.build_rows, bytes_of(shape.build), shape.probe_rows,
                           bytes_of(shape.probe), output, shape.pairs);
  const double build = static_cast<double>(shape.build_rows);
  const double probe = static_cast<double>(shape.probe_rows);
  const double asked = std::max(kSlowdown * stream_seconds(joined, facts), kAskedRow * probe);
  const PlaceParts parts = parts_of(plan, shape, facts);
  const double placed = are_hashed(plan) ? kHashedRow * build : 0;
  const double in_cluster =
      cluster_seconds(parts, part_words(shape.build, shape.want_pairs), build + probe, asked);
  const double waits = kOftenAskedRow * shape.sample.heavy_probe_share * probe;
  Cost cost = {joined, asked + placed + in_cluster + waits, kLaunches};
  cost += {ranges, stream_seconds(ranges, facts), 0};
  cost += unpack_cost(plan, shape, facts);
  // Another join follows.
  const bool moves = part_words(shape.build, shape.want_pairs) > 0 &&
                     part_words(shape.probe, shape.want_pairs) > 0;
  const bool are_scattered = !are_hashed(plan) && direct_places(shape) == 0;
  const bool in_vain = !moves || are_scattered || parts.count == 0 || has_duplicates(shape);
  if (in_vain) cost += partitions_instead(plan, shape, facts).cost;
  return cost;
}

}  // namespace gpujoin::plan
