// filter_cost.cpp: what a filter leaves of a join, and what it costs.
#include <algorithm>
#include <cmath>

#include "src/plan/sample_rule.hpp"
#include "src/plan/stage_costs.hpp"

namespace gpujoin::plan {
namespace {

namespace traffic = base::traffic;
using traffic::Traffic;

// Keys that both sides may have, as far as the bits that vary tell steps between them: places of
// dense keys are too many at most.
uint64_t common_places(const SampleStatistics& sample) {
  const int64_t low = std::max(sample.build_range.low, sample.probe_range.low);
  const int64_t high = std::min(sample.build_range.high, sample.probe_range.high);
  if (low > high) return 0;
  const uint64_t steps = steps_between(low, high, sample.varying_key_bits);
  return steps < UINT64_MAX ? steps + 1 : steps;
}

// The part of the probe side's rows that lies in the common range.
double share_in_common(const SampleStatistics& sample) {
  const KeyRange& probe = sample.probe_range;
  return probe.low <= probe.high ? covered_share(probe, sample.build_range) : 1.0;
}

bool saw_ranges(const SampleStatistics& sample) {
  return sample.build_range.low <= sample.build_range.high &&
         sample.probe_range.low <= sample.probe_range.high;
}

// And of the build side's, where nobody counted them.
double share_within(const SampleStatistics& sample) {
  return saw_ranges(sample) ? covered_share(sample.build_range, sample.probe_range) : 1.0;
}

int64_t part_of(int64_t rows, double share) {
  return std::clamp(static_cast<int64_t>(std::llround(static_cast<double>(rows) * share)),
                    std::min<int64_t>(rows, 1), rows);
}

// Distinct keys of the probe side, from the share of its rows whose key was not drawn often. 2^27
// rows of as many keys, Zipf 1.5, 1.25, 1 and none: 0.4e6, 4.2e6, 0.5e8 and 0.85e8 keys, where
// 0.12, 0.3, 0.76 and all of the rows have seldom keys. Few keys that are all equally frequent are
// taken for many.
int64_t keys_of_probe_rows(const SampleStatistics& sample, int64_t probe_rows) {
  constexpr double kKeys = 0.7;
  constexpr double kExponent = 2.6;
  return part_of(probe_rows, kKeys * std::pow(1 - sample.heavy_probe_share, kExponent));
}

// A filter, as far as both sides' costs go by it.
struct Bits {
  uint64_t places;      // of as many bits
  uint64_t times_read;  // keys
  double mark_seconds;  // of a bit that is set
  double ask_seconds;   // of one that is asked for
};

// Places that rows of the asking side near each other ask for: bits of neighbours, or, by hashes,
// a sector a key. Of build rows, which a table's filter is asked by, any.
double places_asked_at_once(const JoinPlan& plan, const SampleStatistics& sample, uint64_t places,
                            int64_t marking_rows) {
  const double all = static_cast<double>(places);
  if (probes_table(plan.match)) return all;
  const double keys = keys_between(sample, static_cast<double>(kNeighbourRows));
  if (plan.filter == Filter::kKeyHashes) {
    if (keys > kKeysOfAnyOrder) return all;
    const double asked = keys_asked_at_once(sample, static_cast<double>(marking_rows));
    return std::min(all, asked * 8 * traffic::kSectorBytes);
  }
  const uint64_t steps =
      steps_between(sample.build_range.low, sample.build_range.high, sample.varying_key_bits);
  const double at_once = keys * (static_cast<double>(steps) + 1);
  return at_once > kKeysOfAnyOrder * all ? all : at_once;
}

Bits bits_of(const JoinPlan& plan, const SampleStatistics& sample, int64_t marking_rows,
             const base::DeviceFacts& facts) {
  // A mark costs L2 what a read does: nobody waits for it. H200, 2^27 probe rows asking 2^22, 2^25
  // and, after marks of 2^27 build rows, 2^25 bits: 1.2, 1.6 and 1.8 ms.
  constexpr double kBitsFaster = 1.3;
  // Bits that fit the first-level cache are asked there, and marked in L2 as any. H200, 1.7*10^7
  // rows asking 64 KiB take 3.2 ps a row with their keys, 3*10^7 asking 1 MiB 7.1; 6*10^7 sorted
  // rows asking 1.3 MiB 2.6.
  constexpr double kUsableL1 = 128 << 10;
  constexpr double kL1Faster = 3.3;
  const bool hashes = plan.filter == Filter::kKeyHashes;
  const uint64_t places = hashes ? traffic::hash_filter_places(static_cast<uint64_t>(marking_rows))
                                 : common_places(sample);
  const double seconds = read_seconds(1, places / 8, facts) / kBitsFaster;
  const double at_once = places_asked_at_once(plan, sample, places, marking_rows);
  const double near = std::min(1.0, 8 * kUsableL1 / at_once);
  // Ranges that a sample saw of keys as they are need not be looked for.
  const bool are_seen = plan.keys == Keys::kPlain && sample.sampled && saw_ranges(sample);
  const uint64_t times_read = hashes || are_seen ? 1 : 2;
  return {places, times_read, seconds, seconds * (1 - near + near / kL1Faster)};
}

// The part of the bits that so many keys set, and so of keys without a match that find theirs set.
double taken_share(const JoinPlan& plan, const Bits& bits, int64_t keys) {
  if (plan.filter != Filter::kKeyHashes) return 0;
  return set_by_hashes(static_cast<double>(keys), bits.places);
}

// seconds: of a bit of those rows that one is asked for or set of. What is fetched after the match
// stays where it is.
Cost side_cost(const JoinPlan& plan, const SideStatistics& side, int64_t asked, int64_t kept,
               const Bits& bits, double seconds, const base::DeviceFacts& facts) {
  const bool stays = plan.gather == Gather::kCarriedRows;
  const uint64_t columns_moved = stays ? 0 : side.payload_widths.size();
  const uint64_t width = stays ? traffic::kRowIdBytes : sum_of(side.payload_widths);
  const bool keeps_all = kept == side.rows;
  const Traffic moved = traffic::filter_rows(
      static_cast<uint64_t>(side.rows), static_cast<uint64_t>(side.key_width), bits.times_read,
      static_cast<uint64_t>(asked), keeps_all ? 0 : static_cast<uint64_t>(kept), width);
  // Of few rows kept the columns are read by sectors, of which most are touched.
  const uint64_t sectors =
      std::min<uint64_t>(static_cast<uint64_t>(side.rows) * width,
                         static_cast<uint64_t>(kept) * traffic::kSectorBytes * columns_moved);
  const double columns = keeps_all ? 0 : static_cast<double>(sectors);
  return {moved,
          stream_seconds(moved, facts) + per_second(columns, facts.copy_bytes_per_second) +
              static_cast<double>(asked) * seconds,
          3 + static_cast<int32_t>(columns_moved)};
}

}  // namespace

FilteredJoin filter_join(const JoinPlan& plan, const PlanRequest& request,
                         const SampleStatistics& sample, const base::DeviceFacts& facts) {
  FilteredJoin filtered = {request, sample, plan, {}};
  const bool as_sampled = plan.build_side == build_side_of(request);
  SideStatistics& build =
      plan.build_side == Side::kLeft ? filtered.request.left : filtered.request.right;
  SideStatistics& probe =
      plan.build_side == Side::kLeft ? filtered.request.right : filtered.request.left;
  const bool of_build = probes_table(plan.match);
  const bool hashes = plan.filter == Filter::kKeyHashes;
  // What goes on from here builds on this plan's side.
  if (!as_sampled) {
    filtered.sample =
        turned_round(sample, static_cast<double>(probe.rows), static_cast<double>(build.rows));
    filtered.sample.build_within = share_within(filtered.sample);
    filtered.request.options.build_side = static_cast<gpujoin_side>(plan.build_side);
  }
  const SampleStatistics seen = filtered.sample;
  const Bits bits = bits_of(plan, seen, of_build ? probe.rows : build.rows, facts);
  const int64_t in_range = hashes ? build.rows : part_of(build.rows, seen.build_within);
  const bool filters = sample.counted && (hashes || bits.places <= traffic::kMostFilterPlaces);
  if (filters && of_build) {
    const int64_t keys = keys_of_probe_rows(seen, probe.rows);
    const double taken = taken_share(plan, bits, keys);
    const int64_t kept =
        part_of(in_range, static_cast<double>(std::min(in_range, keys)) /
                                  static_cast<double>(std::max<int64_t>(in_range, 1)) +
                              taken);
    filtered.cost = side_cost(plan, probe, probe.rows, probe.rows, bits,
                              bits.mark_seconds * missed_share(seen), facts);
    filtered.cost += side_cost(plan, build, in_range, kept, bits, bits.ask_seconds, facts);
    // Each probe row meets the build rows that it met before: all of those that are left.
    build.rows = kept;
    filtered.sample.build_keyed = 1;
    filtered.sample.build_range = {};
  } else if (filters) {
    const double left =
        seen.match_ratio + (1 - seen.match_ratio) * taken_share(plan, bits, build.rows);
    const int64_t kept = part_of(probe.rows, left);
    const int64_t asked = hashes ? probe.rows : part_of(probe.rows, share_in_common(seen));
    filtered.cost = side_cost(plan, build, in_range, in_range, bits, bits.mark_seconds, facts);
    filtered.cost +=
        side_cost(plan, probe, asked, kept, bits, bits.ask_seconds * missed_share(seen), facts);
    build.rows = in_range;
    probe.rows = kept;
    filtered.sample.probe_keyed = 1;
    filtered.sample.match_ratio = seen.match_ratio / std::max(left, 1e-9);
    filtered.sample.heaviest_probe_key =
        std::min(1.0, seen.heaviest_probe_key / std::max(left, 1e-9));
  } else {
    // Keys are looked at in vain: for their ranges, or by a filter of which nobody knows what it
    // leaves out.
    const int64_t asked_build = hashes ? build.rows : 0;
    const int64_t asked_probe = hashes ? probe.rows : 0;
    filtered.cost = side_cost(plan, build, asked_build, build.rows, bits, bits.mark_seconds, facts);
    filtered.cost += side_cost(plan, probe, asked_probe, probe.rows, bits, bits.ask_seconds, facts);
  }
  if (partitions(plan.transform) && plan.radix_bits == 0) {
    filtered.plan.radix_bits =
        bits_of_rows(plan, request.kind, build.rows, probe.rows, joined_key_width(plan, request));
  }
  return filtered;
}

}  // namespace gpujoin::plan
