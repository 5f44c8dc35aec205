// stage_costs.hpp: what each stage moves and how long that takes.
//
// A stage's bytes come from traffic.hpp. Its seconds are the largest of what its resources take
// (streamed bytes, random accesses, rows through the SMs); launches are counted apart.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "src/base/traffic.hpp"
#include "src/plan/choose_plan.hpp"
#include "src/plan/join_shape.hpp"

namespace gpujoin::plan {

// Of the probe rows' random accesses, those that are not to what has just been accessed: keys that
// come often are in the nearest cache. H200, 2^27 x 2^27 rows, Zipf 1.5, the match of a table of
// 0.4e6 keys: 1.5 ms, of which 1.0 are streams.
inline double missed_share(const SampleStatistics& sample) {
  return 1 - 0.9 * sample.heavy_probe_share;
}

struct Cost {
  base::traffic::Traffic moved;
  double seconds = 0;
  int32_t launches = 0;
  Cost& operator+=(const Cost& more) {
    moved += more.moved;
    seconds += more.seconds;
    launches += more.launches;
    return *this;
  }
};

double per_second(double amount, double rate);
double stream_seconds(const base::traffic::Traffic& moved, const base::DeviceFacts& facts);
Cost streamed(const base::traffic::Traffic& moved, int32_t launches,
              const base::DeviceFacts& facts);
// Seconds of random accesses to a table, part of which stays in L2.
double random_seconds(double count, uint64_t table_bytes, double dram_rate, double l2_rate,
                      const base::DeviceFacts& facts);
double read_seconds(double count, uint64_t table_bytes, const base::DeviceFacts& facts);
double insert_seconds(double rows, uint64_t table_bytes, const base::DeviceFacts& facts);
// Of a table beyond L2 whose rows are asked for as often as their keys come: how large one would be
// of which L2 holds as many of the accesses, were all rows alike. The others of a distribution with
// heavy keys fall off likewise. H200, 1.9*10^8 pairs, Zipf 1.19, of which 0.66 have heavy keys, by
// a table of 128 MiB after a filter 2.4 ms, 4.3 as if those others were spread evenly.
uint64_t bytes_if_even(uint64_t table_bytes, double heavy_share, const base::DeviceFacts& facts);

// Numbers from the lowest to the highest of a range; 0 or less: it has none.
double width_of(int64_t low, int64_t high);
// The share of the build range that keys so many bits apart have between them; infinite: they may
// be anywhere.
double share_between(const SampleStatistics& sample, int32_t bits);
// The share of the build keys that probe rows so far apart have between them; 1: any, or unknown.
double keys_between(const SampleStatistics& sample, double rows);
// Most keys in no order are further apart.
inline constexpr double kKeysOfAnyOrder = 0.25;
// Keys that probe rows near each other ask a table of hashes for, which has so many: those that are
// in it, and those that are not, of which each has as many rows.
double keys_asked_at_once(const SampleStatistics& sample, double build_rows);
// The part of a range, which has some, that lies within another, were its keys spread evenly.
double covered_share(const KeyRange& range, const KeyRange& by);

inline uint64_t rounded(double value) {
  return static_cast<uint64_t>(std::llround(std::max(value, 0.0)));
}

// Steps from one key to another, where so many bits vary, from the lowest to the highest; 0: nobody
// looked. What is below the lowest is no place.
uint64_t steps_between(int64_t low, int64_t high, int32_t varying_bits);

// So many rows for each place that their keys may have. More than kSurelyMore, and keys repeat:
// bounds of a sample lie within those of the keys.
double rows_a_place(int64_t low, int64_t high, int32_t varying_bits, double rows);
inline constexpr double kSurelyMore = 1.02;

// The part of a filter's bits that so many keys set by their hashes, and so of other keys that find
// theirs set.
double set_by_hashes(double keys, uint64_t places);

// Reads of the table a probe row makes at load one half with linear probing. H200: 2^27 probes of a
// table of 2 GiB take 5.2 ms, at 36.7e9 reads/s that is 1.4.
inline constexpr double kReadsPerProbe = 1.4;

// A join as its filter leaves it, and what the filter costs.
struct FilteredJoin {
  PlanRequest request;
  SampleStatistics sample;
  JoinPlan plan;  // with the bits for the rows that are left
  Cost cost;
};
FilteredJoin filter_join(const JoinPlan& plan, const PlanRequest& request,
                         const SampleStatistics& sample, const base::DeviceFacts& facts);

// Host columns to the device.
Cost transfer_cost(const JoinPlan& plan, const JoinShape& shape, const base::DeviceFacts& facts);
// One side's keys, in the order that the match wants, with the first column that moves along.
Cost transform_cost(const JoinPlan& plan, const JoinShape& shape, const SideStatistics& side,
                    const base::DeviceFacts& facts);
// Whether rows of a side with NULL keys are left out before its rows are moved or looked up.
// of_probe: of the probe side, else of the build side.
bool leaves_out_rows(const JoinPlan& plan, const JoinShape& shape, bool of_probe);
// What that costs.
Cost left_out_cost(const JoinPlan& plan, const JoinShape& shape, bool of_probe,
                   const base::DeviceFacts& facts);
// Codes of both sides' keys, and key columns of the output from codes.
Cost encode_cost(const JoinPlan& plan, const JoinShape& shape, const base::DeviceFacts& facts);
// Of hashed codes: every pair's key columns.
Cost verify_cost(const JoinPlan& plan, const JoinShape& shape, const base::DeviceFacts& facts);
// The rows that the match writes of a kind, where they are no pairs.
JoinShape shape_in_match(const JoinPlan& plan, const JoinShape& shape);
// What a set takes of the time of a match that writes as many pairs; of others 1.
double set_share(const JoinPlan& plan, const JoinShape& shape);
// Marks of rows, rows in the order of a side, and rows behind others, on the GPU.
Cost kind_cost(const JoinPlan& plan, const JoinShape& shape, const base::DeviceFacts& facts);
// Of pairs that a condition is evaluated on.
Cost residual_cost(const JoinPlan& plan, const JoinShape& shape, const ResidualReads& reads,
                   const base::DeviceFacts& facts);
// Wu et al. 2024, Algorithm 1: each further payload is moved by the same keys just before its
// gather.
Cost further_columns_cost(const JoinPlan& plan, const JoinShape& shape, const SideStatistics& side,
                          const base::DeviceFacts& facts);
Cost match_cost(const JoinPlan& plan, const JoinShape& shape, const base::DeviceFacts& facts);
// Narrow columns out of the words that a match wrote; nothing where there are none.
Cost unpack_cost(const JoinPlan& plan, const JoinShape& shape, const base::DeviceFacts& facts);
// Of those: partitions whose match writes columns; a table whose probe rows do; a table, for pairs.
Cost carried_cost(const JoinPlan& plan, const JoinShape& shape, const base::DeviceFacts& facts);
// How far apart neighbours have their places, and whether build rows that turn out to lie at their
// own are asked there, column by column: a table, in which a row is one access, takes longer to
// make.
void set_neighbours(const PlanRequest& request, const SampleStatistics& sample,
                    const base::DeviceFacts& facts, JoinPlan* plan);
Cost table_columns_cost(const JoinPlan& plan, const JoinShape& shape,
                        const base::DeviceFacts& facts);
// The carried join of partitions in the place of another plan, and what it costs.
struct PartitionsInstead {
  JoinPlan plan;
  Cost cost;
};
PartitionsInstead partitions_instead(const JoinPlan& plan, const JoinShape& shape,
                                     const base::DeviceFacts& facts);
// Of sides that lie in order.
Cost tiles_cost(const JoinPlan& plan, const JoinShape& shape, const base::DeviceFacts& facts);
// Of transform=write_combined and the match of its parts.
Cost parts_transform_cost(const JoinPlan& plan, const JoinShape& shape, const SideStatistics& side,
                          const base::DeviceFacts& facts);
Cost parts_match_cost(const JoinPlan& plan, const JoinShape& shape, const base::DeviceFacts& facts);
Cost global_table_cost(const JoinShape& shape, const base::DeviceFacts& facts);
// Whether build keys are likely to repeat; nobody looked: they are taken to be unique.
bool has_duplicates(const JoinShape& shape);
Cost gather_cost(const JoinPlan& plan, const JoinShape& shape, bool is_build,
                 const base::DeviceFacts& facts);

}  // namespace gpujoin::plan
