// cost_model.cpp: what a plan moves, how long that takes and how much memory it needs.
//
// Stages and their launches add up; what a stage costs is in the *_cost.cpp files.
#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/limits.hpp"
#include "src/base/status.hpp"
#include "src/plan/sample_rule.hpp"
#include "src/plan/stage_costs.hpp"

namespace gpujoin::plan {
namespace {

namespace traffic = base::traffic;
using traffic::Traffic;

// Average rows of a build partition, at most: hashed partitions scatter about their average, and
// the shared-memory table has room for a third more.
constexpr int64_t kPartitionRows = 3072;
static_assert(kPartitionRows * 4 / 3 <= kernels::kCoPartitionBuildRows);
// Of the match that writes columns.
constexpr int64_t kCarriedPartitionRows = 4200;
static_assert(kCarriedPartitionRows < kernels::kCarriedBuildRows);

// Share of L2 that a randomly read table finds for itself. H200, 60 MB L2: a table of 64 MiB is
// read at 61e9/s, which more than half of hits at 107e9/s explain; with one of 40 MB 16 million
// rows are joined in 0.47 ms, where hits alone would take 0.42.
constexpr double kUsableL2 = 0.55;

}  // namespace

double per_second(double amount, double rate) { return rate > 0 ? amount / rate : 0; }

double random_seconds(double count, uint64_t table_bytes, double dram_rate, double l2_rate,
                      const base::DeviceFacts& facts) {
  const double usable = kUsableL2 * static_cast<double>(facts.l2_bytes);
  const double hits =
      table_bytes == 0 ? 1.0 : std::min(1.0, usable / static_cast<double>(table_bytes));
  return per_second(count * hits, l2_rate) + per_second(count * (1 - hits), dram_rate);
}

double read_seconds(double count, uint64_t table_bytes, const base::DeviceFacts& facts) {
  return random_seconds(count, table_bytes, facts.random_reads_per_second,
                        facts.l2_random_reads_per_second, facts);
}

uint64_t bytes_if_even(uint64_t table_bytes, double heavy_share, const base::DeviceFacts& facts) {
  const double usable = kUsableL2 * static_cast<double>(facts.l2_bytes);
  const double bytes = static_cast<double>(table_bytes);
  if (heavy_share == 0 || usable == 0 || bytes <= usable) return table_bytes;
  const double others = 1 - heavy_share;
  return rounded(usable * std::pow(bytes / usable, others * others));
}

double insert_seconds(double rows, uint64_t table_bytes, const base::DeviceFacts& facts) {
  return random_seconds(rows, table_bytes, facts.random_inserts_per_second,
                        facts.l2_random_inserts_per_second, facts);
}

double width_of(int64_t low, int64_t high) {
  return static_cast<double>(high) - static_cast<double>(low) + 1;
}

double share_between(const SampleStatistics& sample, int32_t bits) {
  constexpr int32_t kMostBits = 60;
  const double keys = width_of(sample.build_range.low, sample.build_range.high);
  if (!sample.sampled || keys < 1 || bits > kMostBits) return HUGE_VAL;
  return std::ldexp(1.0, bits) / keys;
}

double keys_between(const SampleStatistics& sample, double rows) {
  return std::min(1.0, rows / static_cast<double>(kNeighbourRows) *
                           share_between(sample, sample.probe_neighbour_bits));
}

double keys_asked_at_once(const SampleStatistics& sample, double build_rows) {
  const double rows = static_cast<double>(kNeighbourRows);
  const double there = keys_between(sample, rows) * build_rows;
  const double matched = rows * sample.match_ratio;
  const double rows_of_key = std::max(1.0, matched / std::max(there, 1.0));
  return there + (rows - matched) / rows_of_key;
}

double covered_share(const KeyRange& range, const KeyRange& by) {
  const double common = width_of(std::max(range.low, by.low), std::min(range.high, by.high));
  return std::clamp(common / width_of(range.low, range.high), 0.0, 1.0);
}

uint64_t steps_between(int64_t low, int64_t high, int32_t varying_bits) {
  uint64_t steps = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  if (varying_bits <= 0 || varying_bits >= 64) return steps;
  // The highest bit that varies is the highest in which the two differ, unless that is a sign.
  const auto highest = static_cast<int32_t>(std::bit_width(static_cast<uint64_t>(low ^ high)));
  if (low >= 0 && highest > varying_bits) steps >>= highest - varying_bits;
  return std::min(steps, (uint64_t{1} << varying_bits) - 1);
}

double rows_a_place(int64_t low, int64_t high, int32_t varying_bits, double rows) {
  return rows / (static_cast<double>(steps_between(low, high, varying_bits)) + 1);
}

double set_by_hashes(double keys, uint64_t places) {
  return 1 - std::exp(-keys / static_cast<double>(places));
}

double stream_seconds(const Traffic& moved, const base::DeviceFacts& facts) {
  return per_second(static_cast<double>(moved.streamed), facts.copy_bytes_per_second);
}

Cost streamed(const Traffic& moved, int32_t launches, const base::DeviceFacts& facts) {
  return {moved, stream_seconds(moved, facts), launches};
}

Cost transfer_cost(const JoinPlan& plan, const JoinShape& shape, const base::DeviceFacts& facts) {
  // Beside copies of pageable memory as they are. H200, 2^27 x 2^27 rows of 8 bytes: copies on
  // their own stream 45 ms, pinned or pageable, plain ones of pageable memory 220, zero-copy 48
  // (pinned), managed memory 370, prefetched 230.
  const auto speedup = [&] {
    switch (plan.transfer) {
      case Transfer::kOverlappedCopies:
      case Transfer::kProbeChunks:
      case Transfer::kZeroCopy:
        return 7.5;
      case Transfer::kManaged:
        return 0.6;
      default:
        return 1.0;
    }
  }();
  Cost copies;
  for (const SideStatistics* side : {&shape.build, &shape.probe}) {
    if (!side->in_host_memory) continue;
    const double bytes = static_cast<double>(input_bytes(*side));
    copies += Cost{{input_bytes(*side), 0},
                   per_second(bytes, facts.host_link_bytes_per_second * speedup),
                   1 + static_cast<int32_t>(side->payload_widths.size())};
  }
  if (plan.transfer != Transfer::kProbeChunks) return copies;
  const uint64_t width = (shape.want_pairs ? traffic::kPairBytes : 0) +
                         gathered_columns(shape, plan, true).width +
                         gathered_columns(shape, plan, false).width;
  const Traffic back = traffic::host_copy(shape.pairs, width);
  return copies += Cost{back,
                        per_second(static_cast<double>(back.streamed),
                                   facts.host_link_bytes_per_second * speedup),
                        1};
}

int32_t joined_key_width(const JoinPlan& plan, const PlanRequest& request) {
  if (plan.keys == Keys::kHashed) return sizeof(uint64_t);
  return plan.keys == Keys::kPacked ? request.code_width : request.left.key_width;
}

Side build_side_of(const PlanRequest& request) {
  if (request.options.build_side != 0) return static_cast<Side>(request.options.build_side);
  return request.left.rows <= request.right.rows ? Side::kLeft : Side::kRight;
}

namespace {

int32_t bits_for(int64_t build_rows, int64_t most_rows) {
  int32_t bits = 1;
  while (bits < kernels::kMostRadixBits && (build_rows >> bits) > most_rows) ++bits;
  return bits;
}

}  // namespace

int32_t radix_bits_for(int64_t build_rows, [[maybe_unused]] int32_t key_width) {
  return bits_for(build_rows, kPartitionRows);
}

// Few partitions cost less to make, small ones have fewer keys in a bucket, which each probe row
// looks through. H200, 2^27 x 2^27 rows: 5.4 ms with 15 bits, 5.8 with 16; 2^25 x 2^27: 3.9 with
// 13, 3.5 with 14. Groups of keys of 8 bytes leave room for fewer blocks: two payloads of 8 bytes,
// 17.1 ms with 15 bits, 16.2 with 16.
int32_t carried_bits_for(int64_t build_rows, int64_t probe_rows, int32_t key_width) {
  if (key_width > 4) return bits_for(build_rows, kPartitionRows);
  const bool probes_outweigh = probe_rows / 2 > build_rows;
  return bits_for(build_rows, probes_outweigh ? kCarriedPartitionRows / 2 : kCarriedPartitionRows);
}

int32_t bits_of_rows(const JoinPlan& plan, columns::JoinKind kind, int64_t build_rows,
                     int64_t probe_rows, int32_t key_width) {
  const bool carries = writes_columns(plan.gather);
  const int32_t most = plan.passes == 1 ? most_bits_per_pass(plan.transform)
                                        : 2 * most_bits_per_pass(plan.transform);
  int32_t bits = carries ? carried_bits_for(build_rows, probe_rows, key_width)
                         : radix_bits_for(build_rows, key_width);
  // Build rows that come out alone, or without a match, ask for the keys of all probe rows of their
  // partition, which one block has at a time: so many blocks are work for all, made in one pass.
  // H200, marks of 8.7*10^4 rows by 1.75*10^7 others in 32 partitions 1.6 ms.
  constexpr int32_t kBitsOfSets = 9;
  const auto of_build = columns::rows_of(kind, plan.build_side == Side::kLeft);
  if (carries && (columns::comes_alone(of_build) || columns::comes_unmatched(of_build))) {
    const int32_t of_probe = carried_bits_for(probe_rows, build_rows, key_width);
    bits = std::max(bits, std::min(of_probe, kBitsOfSets));
  }
  return std::clamp(bits, std::max(plan.passes, 1), most);
}

bool fits_counters(int32_t radix_bits, const base::DeviceFacts& facts) {
  const uint64_t most = facts.shared_bytes_per_block;
  return most == 0 || kernels::partition_counter_bytes(radix_bits) <= most;
}

JoinPlan in_partitions(const JoinPlan& plan, columns::JoinKind kind, int64_t build_rows,
                       int64_t probe_rows, int32_t key_width, const base::DeviceFacts& facts) {
  JoinPlan other = plan;
  other.filter = Filter::kNone;
  other.transform = Transform::kRadixUnordered;
  other.skew = Skew::kWorkUnits;
  other.match = Match::kCoPartitions;
  other.output = Output::kBlockChunks;
  other.radix_bits = bits_of_rows(other, kind, build_rows, probe_rows, key_width);
  while (!fits_counters(other.radix_bits, facts)) --other.radix_bits;
  return other;
}

namespace {

// Key columns that a match writes, to be verified, are payloads like any other.
PlanRequest with_key_columns(PlanRequest request) {
  for (SideStatistics* side : {&request.left, &request.right}) {
    const int32_t width = side->key_width / request.key_count;
    side->payload_widths.insert(side->payload_widths.begin(),
                                static_cast<size_t>(request.key_count), width);
    side->key_is_output = false;
  }
  return request;
}

// What is left of both sides where rows with NULL keys are left out first.
JoinShape with_keys_only(const JoinPlan& plan, JoinShape shape) {
  const auto left = [&](uint64_t rows, bool of_probe, double keyed) {
    const bool some = leaves_out_rows(plan, shape, of_probe);
    return some ? rounded(keyed * static_cast<double>(rows)) : rows;
  };
  const uint64_t build_rows = left(shape.build_rows, false, shape.sample.build_keyed);
  shape.probe_rows = left(shape.probe_rows, true, shape.sample.probe_keyed);
  shape.build_rows = build_rows;
  return shape;
}

// As it runs on its device. filter: what comes before the transform, of a plan whose rows are left
// out; null: there is none.
Candidate cost_with_filter(const JoinPlan& plan, const PlanRequest& request,
                           const SampleStatistics& sample,
                           const base::DeviceFacts& facts_of_context, const Cost* filter) {
  const bool cpu = plan.device == Device::kCpu;
  // A CUDA context can run a plan on the CPU; its own rates are the GPU's then.
  const base::DeviceFacts facts = cpu && facts_of_context.is_cuda
                                      ? base::cpu_facts(facts_of_context.cpu_threads)
                                      : facts_of_context;
  const bool writes_keys = plan.keys == Keys::kHashed && plan.gather == Gather::kCarried;
  const PlanRequest of_columns = writes_keys ? with_key_columns(request) : PlanRequest();
  const JoinShape shape = shape_of(plan, writes_keys ? of_columns : request, sample);
  Candidate candidate;
  candidate.plan = plan;
  const auto add_stage = [&](const char* stage, const char* technique, const Cost& cost,
                             int32_t radix_bits = 0) {
    const double seconds = cost.seconds + cost.launches * facts.launch_seconds;
    candidate.stages.push_back({stage, technique, cost.moved.bytes(), seconds, radix_bits});
    candidate.seconds += seconds;
    candidate.bytes += cost.moved.bytes();
  };

  if (plan.transfer != Transfer::kNone) {
    add_stage("transfer", to_text(plan.transfer), transfer_cost(plan, shape, facts));
  }
  if (filter != nullptr) add_stage("filter", to_text(plan.filter), *filter);
  Cost encoded;
  if (plan.keys != Keys::kPlain) encoded = encode_cost(plan, shape, facts);
  encoded += left_out_cost(plan, shape, false, facts);
  encoded += left_out_cost(plan, shape, true, facts);
  const JoinShape keyed = with_keys_only(plan, shape);
  const JoinShape written = shape_in_match(plan, keyed);
  Cost match = match_cost(plan, written, facts);
  match.seconds *= set_share(plan, keyed);
  match += kind_cost(plan, keyed, facts);
  if (request.residual) match += residual_cost(plan, shape, *request.residual, facts);
  if (plan.transform != Transform::kNone) {
    encoded += transform_cost(plan, shape, shape.build, facts);
    encoded += transform_cost(plan, shape, shape.probe, facts);
    add_stage("transform", to_text(plan.transform), encoded, plan.radix_bits);
  } else {
    match += encoded;
  }
  add_stage("match", to_text(plan.match), match);
  if (plan.keys == Keys::kHashed) {
    add_stage("verify", "key_columns", verify_cost(plan, shape, facts));
  }
  Cost columns;
  if (plan.gather != Gather::kCarried) {
    columns += gather_cost(plan, written, true, facts);
    columns += gather_cost(plan, written, false, facts);
  }
  if (plan.transform != Transform::kNone) {
    columns += further_columns_cost(plan, shape, shape.build, facts);
    columns += further_columns_cost(plan, shape, shape.probe, facts);
  }
  if (columns.launches > 0) add_stage("materialize", to_text(plan.gather), columns);
  candidate.memory_bytes = memory_need(plan, written);
  return candidate;
}

}  // namespace

Candidate cost_of(const JoinPlan& named, const PlanRequest& request, const SampleStatistics& sample,
                  const base::DeviceFacts& facts) {
  JoinPlan plan = named;
  set_neighbours(request, sample, facts, &plan);
  if (plan.filter == Filter::kNone) return cost_with_filter(plan, request, sample, facts, nullptr);
  const FilteredJoin left = filter_join(plan, request, sample, facts);
  Candidate candidate = cost_with_filter(left.plan, left.request, left.sample, facts, &left.cost);
  candidate.plan = plan;
  // Keys and row numbers of the rows that are kept, for which there is room for all at first.
  for (const SideStatistics* side : {&request.left, &request.right}) {
    candidate.memory_bytes += static_cast<uint64_t>(side->rows) *
                              (static_cast<uint64_t>(side->key_width) + base::traffic::kRowIdBytes);
  }
  return candidate;
}

}  // namespace gpujoin::plan
