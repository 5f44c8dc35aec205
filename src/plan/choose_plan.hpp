// choose_plan.hpp: from what the caller asked for and what is known of the relations to a plan,
// with the reasons.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "gpujoin.h"
#include "src/base/device_facts.hpp"
#include "src/base/traffic.hpp"
#include "src/columns/join_kind.hpp"
#include "src/plan/join_plan.hpp"

namespace gpujoin::plan {

// What the planner knows of one side. Widths are bytes of a value.
struct SideStatistics {
  int64_t rows = 0;
  int32_t key_width = 4;  // of all key columns together
  // Of the output columns, the key column not counted; a nullable one adds a 1 for its validity.
  std::vector<int32_t> payload_widths;
  int32_t validities = 0;      // so many of these are a nullable one's
  bool key_is_output = false;  // any of the key columns
  bool key_nullable = false;
  bool in_host_memory = false;  // CUDA plans copy it first
  bool row_numbers = true;      // put out, when pairs are
  bool operator==(const SideStatistics&) const = default;
};

// Whether a side's payloads travel with its keys and are fetched by transformed position: those of
// gather=transformed, and of gather=untransformed a lone payload as wide as a row number, which
// travels in its place (the narrow joins of Wu et al. 2024, where nothing is left to fetch).
bool moves_payloads(const SideStatistics& side, const JoinPlan& plan, bool want_pairs);

// Whether a residual's columns, which have to be values, are brought into the order of the keys,
// where those of a pair's rows are in a cache: a random read a row in the place of one a pair. Not
// of bucket chains, whose places are more than rows. rows: of both sides.
bool reads_by_position(const JoinPlan& plan, uint64_t pairs, uint64_t rows);

// Lowest and highest key in the order of signed integers of the key's width, whatever the caller's
// type. low > high: no key was seen.
struct KeyRange {
  int64_t low = INT64_MAX;
  int64_t high = INT64_MIN;
  bool exact = false;  // all rows were read; else keys outside of it may exist
};

// What a sample of the keys says; sampled == false when nobody looked, and then the fields are
// the planner's assumptions. Build and probe are as build_side_of(request) says; for plans that
// build on the other side the cost model turns the figures round.
struct SampleStatistics {
  bool sampled = false;         // heavy keys are known, and ranges as far as rows were read
  bool counted = false;         // so are match ratio, rows per match and key bits
  double match_ratio = 1.0;     // probe rows with a match
  double rows_per_match = 1.0;  // build rows met by a matching probe row, on average
  double rows_spread = 0.0;     // of those, from one to another: deviation by mean; 0: or unknown
  double scanned_share = 1.0;   // of the build rows, counted for those two
  double rows_error = 0.0;      // relative standard error of their product
  double heaviest_build_key = 0.0;  // share of the build rows that the most frequent key has
  double heaviest_probe_key = 0.0;  // likewise of the probe side
  double heavy_build_share = 0.0;  // of the build rows, with a key that was drawn kHeavyDraws times
  double heavy_probe_share = 0.0;  // likewise of the probe side
  int64_t hot_build_keys = 0;      // whose rows were all counted
  int64_t hot_probe_rows = 0;      // that have one of them
  int64_t hot_rows = 0;            // output rows of hot keys
  double build_within = 1.0;       // share of the build rows, with a key in the probe range
  double build_keyed = 1.0;        // share of the build rows whose key is not NULL
  double probe_keyed = 1.0;        // likewise of the probe side
  KeyRange build_range;
  uint64_t build_varying = 0;    // bits in which keys of the build rows that were read differ
  KeyRange probe_range;          // of the rows drawn
  int32_t varying_key_bits = 0;  // from the lowest to the highest bit that differs; 0 = unknown
  // Of most distances between keys of neighbouring rows, the farther ones of both sides, and of
  // rows that are kNeighbourRows apart; 64 = any, or unknown.
  int32_t next_bits = 64;
  int32_t neighbour_bits = 64;
  // Those of rows so far apart, of each side.
  int32_t build_neighbour_bits = 64;
  int32_t probe_neighbour_bits = 64;
  // No row that was drawn of either side, or of the build side, has a lower key behind it.
  bool lies_in_order = false;
  bool build_in_order = false;
};

// Bytes of a row that a condition reads of each side.
struct ResidualReads {
  int32_t left = 0;
  int32_t right = 0;
  bool are_values = true;  // of columns that a GPU moves: numbers and the like as they lie
  bool operator==(const ResidualReads&) const = default;
};

struct PlanRequest {
  gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
  SideStatistics left;
  SideStatistics right;
  // A plan is that of the inner join that the kind is made of, and costs what the kind does.
  columns::JoinKind kind = columns::JoinKind::kInner;
  // All pairs are asked for, whatever the kind makes of them: the caller decides them, or further
  // probe sides will come.
  bool joins_pairs = false;
  int32_t key_count = 1;                  // columns of the key; 0: a cross join
  std::optional<ResidualReads> residual;  // of pairs, before anything is fetched by them
  bool pairs = false;
  // Bytes of a code that the keys fit, as far as is known; 0: they do not, or nobody looked.
  int32_t code_width = 0;
  bool code_is_assumed = false;  // by the ranges of some rows
  // What follows counts on left rows in order: scattered keys of a table are hashed, not
  // partitioned.
  bool in_order = false;
};

// A stage of the executors, in the order they run: "transfer" (only with copies), "transform" (not
// of kNone), "match", "materialize" (not of plain pairs). Building a table is part of its match;
// moving the second and further payload columns is part of materialize. Names are string literals:
// costs of all candidates are worked out while a device waits for its join.
struct StageCost {
  const char* stage = "";
  const char* technique = "";
  uint64_t bytes = 0;
  double seconds = 0;
  int32_t radix_bits = 0;  // of a partitioning, after its technique; 0: none
  std::string technique_text() const;
};

// Those of one plan, in their order. Copied as they are, without an allocation each.
class StageCosts {
 public:
  StageCosts() = default;
  StageCosts(std::initializer_list<StageCost> costs) {
    for (const StageCost& cost : costs) push_back(cost);
  }
  void push_back(const StageCost& cost) { costs_.at(count_++) = cost; }
  const StageCost* begin() const { return costs_.data(); }
  const StageCost* end() const { return costs_.data() + count_; }
  size_t size() const { return count_; }
  const StageCost& front() const { return costs_[0]; }
  const StageCost& back() const { return costs_[count_ - 1]; }

 private:
  static constexpr size_t kMost = 5;  // transfer, filter, transform, match, materialize
  std::array<StageCost, kMost> costs_;
  size_t count_ = 0;
};

struct Candidate {
  JoinPlan plan;
  StageCosts stages;
  double seconds = 0;
  uint64_t bytes = 0;
  uint64_t memory_bytes = 0;  // device memory beyond the input, output included
};

// What an attempt at a join found that ended it, and the next one follows from.
enum class Finding {
  kJoined,         // nothing: the join is done
  kKeysScattered,  // keys are too far apart for the places or the bits that the plan gives them
  kKeysRepeat,     // a build key occurs twice, for which the plan's table has no place
  kKeysInOrder,    // both sides seem to lie in the order of their keys, not each at its place
  kUniqueInOrder,  // the same, and no key of either side seems to repeat
  kKeysUnordered,  // a side does not lie in the order of its keys
  kKeysOutside,    // a key lies outside of the range by which codes were made
  kKeysCollide,    // unequal keys have equal hashes, and columns were written already
  kNoRoom,         // the memory limit, or the memory, was too small
};

// One plan on the way to the join, complete. after: it is made when an attempt before it ended so;
// kJoined: the first.
struct Attempt : Candidate {
  Finding after = Finding::kJoined;
};

struct PlanChoice {
  // The first is the plan chosen. See attempts.hpp.
  std::vector<Attempt> attempts;
  // Cheapest first; all that are legal and fit what the caller named.
  std::vector<Candidate> candidates;
  uint64_t memory_limit_bytes = 0;  // what attempts were held against; 0 = nothing
  SampleStatistics sample;
  std::string
      reason;  // where it was made already; reason_of finds it in the candidates where it is empty

  const JoinPlan& plan() const { return attempts.front().plan; }
  const StageCosts& predicted() const { return attempts.front().stages; }
};

// Bytes of what the plan's match compares: of a code, or of all key columns.
int32_t joined_key_width(const JoinPlan& plan, const PlanRequest& request);

// The side to build on: the one that the caller named, or else the smaller (left when equal).
Side build_side_of(const PlanRequest& request);

// The device whose plans are considered: the one named, or the CPU when its algorithm is named, or
// else the context's. Throws ILLEGAL_PLAN for a number that is no device and for CUDA on a context
// of the CPU.
Device device_of(const PlanRequest& request, const base::DeviceFacts& facts);

// How closely to look at the keys before choosing. None: nothing to choose, fewer than 2^21 rows, a
// join that the cheapest candidate does in less than 0.8 ms, or 0.42 where partitions or a table
// beyond L2 are in question, or 0.2 of an outer join of few rows with many, or inputs that the
// executor cannot read without a copy over the host link. Counted: also one scan of the build keys,
// unless it would take too much of the join. Positions: what is between, on CUDA; heavy keys show,
// and they are what ruins a plan. With both, the rows of hot build keys are counted on both sides,
// where there are such keys: one read of all keys, which any join of them reads several times.
// why_not, when not null, gets the reason for None and for Positions.
enum class SampleEffort { kNone, kPositions, kCounted };
SampleEffort sample_effort(const PlanRequest& request, const base::DeviceFacts& facts,
                           std::string* why_not = nullptr);

// Whether to look before such a join in partitions follows a table whose keys repeat, of a join
// that was planned without a look.
bool pays_to_look(const Candidate& next, const PlanRequest& request,
                  const base::DeviceFacts& facts);

// Throws ILLEGAL_PLAN with the reason when what the caller named does not fit together.
// memory_limit_bytes: 0 = the device's memory; a candidate that has an attempt above it is passed
// over when another one fits with all of its own; when none does, the one that needs least is
// taken. The plan's transfer field is set from where the request says that the inputs are.
// with_outdone: the candidates are to be read.
PlanChoice choose_plan(const PlanRequest& request, const SampleStatistics& sample,
                       const base::DeviceFacts& facts, uint64_t memory_limit_bytes,
                       bool with_outdone = true);

// Of a cross join: there is nothing to choose. Throws ILLEGAL_PLAN when a technique is named.
PlanChoice choose_cross(const PlanRequest& request, Device device);

// Of an ASOF join likewise; what it costs where neither side lies in order.
PlanChoice choose_asof(const PlanRequest& request, Device device, const base::DeviceFacts& facts);
// What a side of one moves, sorted by so many bits; 0: it lies in order. finished_sorts: of those
// that passed over upper bits only.
base::traffic::Traffic asof_traffic(uint64_t rows, int32_t sorted_bits,
                                    uint32_t finished_sorts = 0);

// Why it is that plan, in one sentence. Made when asked for: its text takes as long as the choice.
std::string reason_of(const PlanChoice& choice);

// The same without a sample, as hosts ask for it again and again: a thread remembers its last
// choice, which takes 1 us instead of 10, where a small join takes 15. Candidates are as long to
// copy as all the rest: with_candidates leaves them out where nobody asks.
PlanChoice choose_plan_unseen(const PlanRequest& request, const base::DeviceFacts& facts,
                              uint64_t memory_limit_bytes, bool with_candidates = true);

// The text of gpujoin_plan_explain.
std::string explain(const PlanChoice& choice, const PlanRequest& request,
                    const base::DeviceFacts& facts);

// Cost of one plan; also what the statistics of a result call predicted bytes.
Candidate cost_of(const JoinPlan& plan, const PlanRequest& request, const SampleStatistics& sample,
                  const base::DeviceFacts& facts);

// Partitions small enough that a build partition fits the shared-memory table: log2.
int32_t radix_bits_for(int64_t build_rows, int32_t key_width);
// The same for gather=carried.
int32_t carried_bits_for(int64_t build_rows, int64_t probe_rows, int32_t key_width);
// What a partitioning CUDA plan that leaves its bits open gets.
int32_t bits_of_rows(const JoinPlan& plan, columns::JoinKind kind, int64_t build_rows,
                     int64_t probe_rows, int32_t key_width);

// The unordered partitioning counts all its partitions in a block's shared memory, 2 bytes each.
bool fits_counters(int32_t radix_bits, const base::DeviceFacts& facts);

// The carried join of partitions, in the place of a carried join by a table that the keys do not
// suit.
JoinPlan in_partitions(const JoinPlan& plan, columns::JoinKind kind, int64_t build_rows,
                       int64_t probe_rows, int32_t key_width, const base::DeviceFacts& facts);

// Whether build keys that turn out to be too far apart for a direct table are better joined in
// partitions than by hash, and partitions fit the memory (0: no limit). False where what the caller
// named stands against it.
bool leaves_scattered_keys(const JoinPlan& plan, const PlanRequest& request,
                           const base::DeviceFacts& facts, uint64_t memory_limit_bytes);

// How the executors sample keys, and statistics_of, which turns what they found into
// SampleStatistics: see key_sample.hpp.

}  // namespace gpujoin::plan
