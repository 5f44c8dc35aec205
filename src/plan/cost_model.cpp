// cost_model.cpp: what a plan moves, how long that takes and how much memory it needs.
//
// Each stage's bytes come from traffic.hpp. Its seconds are the largest of what its resources take
// (streamed bytes, random accesses, rows through the SMs) plus its launches; stages add up.
#include <algorithm>
#include <cmath>

#include "src/base/status.hpp"
#include "src/base/traffic.hpp"
#include "src/plan/choose_plan.hpp"
#include "src/plan/join_shape.hpp"

namespace gpujoin::plan {
namespace {

namespace traffic = base::traffic;
using traffic::Locality;
using traffic::Traffic;

// Average rows of a build partition, at most: the shared-memory table has room for 4096 rows of
// either key width, and hashed partitions scatter about their average.
constexpr int64_t kPartitionRows = 3072;
constexpr int64_t kPartitionRoom = 4096;

// Reads of the table a probe row makes at load one half with linear probing. H200: 2^27 probes of a
// table of 2 GiB take 5.2 ms, at 36.7e9 reads/s that is 1.4.
constexpr double kReadsPerProbe = 1.4;
// Share of L2 that a randomly read table finds for itself. H200, 60 MB L2: a table of 64 MiB is
// read at 61e9/s, which two thirds of hits at 107e9/s explain.
constexpr double kUsableL2 = 0.7;
// Of the co-partitions match, a round in which each thread of a block writes up to four pairs. H200,
// 10^7 rows of which 10^6 have one key, met by 100 probe rows: 4096 rounds in a row take 10 ms.
constexpr double kRoundSeconds = 2.4e-6;
// Columns gathered by one kernel keep more random reads in flight than one column does. H200, 2^27
// rows of 4 bytes: 3.0 ms each of two columns, 3.4 ms one alone; of 8 bytes 3.4 ms either way.
constexpr double kGatherOverlap = 1.2;
// Of a radix pass' time the part that goes with the bytes of a row. H200, 2^27 rows: 1.03 ms a pass
// at 8 bytes a row, 1.44 ms at 16.
constexpr double kPassShareOfBytes = 0.4;

uint64_t rounded(double value) { return static_cast<uint64_t>(std::llround(value)); }

double per_second(double amount, double rate) { return rate > 0 ? amount / rate : 0; }

// Seconds of random accesses to a table, part of which stays in L2.
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

double stream_seconds(const Traffic& moved, const base::DeviceFacts& facts) {
  return per_second(static_cast<double>(moved.streamed), facts.copy_bytes_per_second);
}

struct Cost {
  Traffic moved;
  double seconds = 0;
  int32_t launches = 0;
  Cost& operator+=(const Cost& more) {
    moved += more.moved;
    seconds += more.seconds;
    launches += more.launches;
    return *this;
  }
};

int32_t sort_bits(const JoinPlan& plan, const JoinShape& shape) {
  if (partitions(plan.transform)) return partition_bits(plan, shape);
  const int32_t width_bits = 8 * static_cast<int32_t>(shape.key_width);
  const int32_t varying = shape.sample.varying_key_bits;
  return varying > 0 ? std::min(varying, width_bits) : width_bits;
}

Cost streamed(const Traffic& moved, int32_t launches, const base::DeviceFacts& facts) {
  return {moved, stream_seconds(moved, facts), launches};
}

// One side's keys and one column, ordered by key bits.
Cost move_column(const JoinPlan& plan, const JoinShape& shape, uint64_t rows, int32_t width,
                 const base::DeviceFacts& facts) {
  const int32_t bits = sort_bits(plan, shape);
  const double passes = static_cast<double>(traffic::radix_passes(bits));
  const uint64_t value_width = static_cast<uint64_t>(width);
  const Traffic pass = traffic::radix_pass(rows, shape.key_width, value_width);
  const double row_bytes = static_cast<double>(shape.key_width + value_width);
  const double ranked = per_second(static_cast<double>(rows), facts.radix_pass_rows_per_second) *
                        (1 - kPassShareOfBytes + kPassShareOfBytes * row_bytes / 8);
  const Traffic histogram = traffic::radix_histogram(rows, shape.key_width);
  return {traffic::radix_sort(rows, shape.key_width, value_width, bits),
          stream_seconds(histogram, facts) + passes * std::max(ranked, stream_seconds(pass, facts)),
          2 + static_cast<int32_t>(passes)};
}

// Keys, in the order that the match wants, with the first column that moves along.
Cost transform_side(const JoinPlan& plan, const JoinShape& shape, const SideStatistics& side,
                    const base::DeviceFacts& facts) {
  Cost cost;
  const uint64_t rows = static_cast<uint64_t>(side.rows);
  const std::vector<int32_t> widths = moved_widths(side, plan, shape.want_pairs);
  if (plan.device == Device::kCuda) {
    // Before a partition keys are mixed, and after it its offsets are found; a sort looks which
    // bits vary.
    const Traffic keys = traffic::read_keys(rows, shape.key_width);
    if (partitions(plan.transform)) {
      cost += streamed(traffic::mix_keys(rows, shape.key_width) + keys, 2, facts);
    } else {
      cost += streamed(keys, 2, facts);
    }
    const bool moves_row_ids = plan.gather == Gather::kUntransformed || side.payload_widths.empty();
    if (moves_row_ids) cost += streamed(traffic::write_row_ids(rows), 1, facts);
  }
  return cost += move_column(plan, shape, rows, widths.front(), facts);
}

// Wu et al. 2024, Algorithm 1: each further payload is moved by the same keys just before its
// gather.
Cost move_further_columns(const JoinPlan& plan, const JoinShape& shape, const SideStatistics& side,
                          const base::DeviceFacts& facts) {
  Cost cost;
  const uint64_t rows = static_cast<uint64_t>(side.rows);
  const std::vector<int32_t> widths = moved_widths(side, plan, shape.want_pairs);
  for (size_t i = 1; i < widths.size(); ++i) {
    const bool row_ids = shape.want_pairs && side.row_numbers && i + 1 == widths.size();
    if (row_ids) cost += streamed(traffic::write_row_ids(rows), 1, facts);
    cost += move_column(plan, shape, rows, widths[i], facts);
  }
  return cost;
}

Cost build_table(const JoinShape& shape, const base::DeviceFacts& facts) {
  const Traffic moved = traffic::global_table_build(shape.build_rows, shape.key_width);
  const double rows = static_cast<double>(shape.build_rows);
  double inserts =
      random_seconds(rows, traffic::global_table_bytes(shape.build_rows),
                     facts.random_inserts_per_second, facts.l2_random_inserts_per_second, facts);
  if (shape.key_width > 4) inserts += read_seconds(rows, shape.build_rows * shape.key_width, facts);
  return {moved, stream_seconds(moved, facts) + inserts, 3};
}

// Whether build keys are likely to repeat; nobody looked: they are taken to be unique.
bool has_duplicates(const JoinShape& shape) {
  return shape.sample.rows_per_match > 1.01 ||
         shape.sample.heaviest_build_key * static_cast<double>(shape.build_rows) > 1.5;
}

Cost probe_table(const JoinShape& shape, const base::DeviceFacts& facts) {
  const double build = static_cast<double>(shape.build_rows);
  const double probe = static_cast<double>(shape.probe_rows);
  const double pairs = static_cast<double>(shape.pairs);
  const uint64_t table = traffic::global_table_bytes(shape.build_rows);
  const uint64_t keys = shape.build_rows * shape.key_width;
  const double emitted = per_second(pairs, facts.emitted_pairs_per_second);
  // A key of 8 bytes is verified in its column.
  const double verified = shape.key_width > 4 ? 1 : 0;
  if (!has_duplicates(shape)) {
    const Traffic moved =
        traffic::global_table_probe(shape.probe_rows, shape.key_width, shape.pairs);
    const double reads = read_seconds(probe * kReadsPerProbe, table, facts) +
                         read_seconds(pairs * verified, keys, facts);
    return {moved, std::max({stream_seconds(moved, facts), reads, emitted}), 2};
  }
  const Traffic moved =
      traffic::global_table_group(shape.build_rows, shape.probe_rows, shape.key_width, shape.pairs);
  const uint64_t ids = shape.build_rows * traffic::kRowIdBytes;
  const double looked_up = read_seconds((build + probe) * kReadsPerProbe, table, facts) +
                           read_seconds((build + probe) * verified, keys, facts);
  const double counted_and_placed = 2 * random_seconds(build, ids, facts.random_inserts_per_second,
                                                       facts.l2_random_inserts_per_second, facts);
  const double ranges = read_seconds(build + probe, ids, facts);
  return {moved, stream_seconds(moved, facts) + looked_up + counted_and_placed + ranges + emitted,
          11};
}

// Probe rows read again because a build partition takes several tables.
double reread_rows(const JoinPlan& plan, const JoinShape& shape) {
  const double partitions = std::ldexp(1.0, partition_bits(plan, shape));
  const double build = static_cast<double>(shape.build_rows);
  const double probe = static_cast<double>(shape.probe_rows);
  const double room = static_cast<double>(kPartitionRoom);
  const double average = std::max(std::ceil(build / partitions / room) - 1, 0.0) * probe;
  const double heavy_build = shape.sample.heaviest_build_key * build;
  const double heavy_probe = probe * std::max(1 / partitions, shape.sample.heaviest_probe_key);
  return average + std::max(std::ceil(heavy_build / room) - 1, 0.0) * heavy_probe;
}

Cost match(const JoinPlan& plan, const JoinShape& shape, const base::DeviceFacts& facts) {
  if (plan.match == Match::kGlobalTable) {
    Cost cost = build_table(shape, facts);
    return cost += probe_table(shape, facts);
  }
  const bool row_ids = plan.gather == Gather::kUntransformed;
  const bool merge = merges(plan.match);
  double rows = static_cast<double>(shape.build_rows + shape.probe_rows);
  Traffic moved;
  if (merge) {
    moved = traffic::merge_path(shape.build_rows, shape.probe_rows, shape.key_width, row_ids,
                                shape.pairs);
  } else {
    const double reread = reread_rows(plan, shape);
    rows += reread;
    moved = traffic::co_partitions(shape.build_rows, shape.probe_rows + rounded(reread),
                                   shape.key_width, row_ids, shape.pairs);
  }
  double computed =
      per_second(rows, merge ? facts.merge_rows_per_second : facts.shared_probe_rows_per_second) +
      per_second(static_cast<double>(shape.pairs), facts.emitted_pairs_per_second);
  if (!merge) {
    const uint64_t further = shape.pairs - std::min(shape.pairs, shape.matching_rows);
    computed += per_second(static_cast<double>(further), facts.further_pairs_per_second);
    // A table full of one key: whoever meets it writes its rows in as many rounds, alone.
    const double heavy_build =
        shape.sample.heaviest_build_key * static_cast<double>(shape.build_rows);
    if (heavy_build > kPartitionRoom) computed += kPartitionRoom * kRoundSeconds;
  }
  return {moved, std::max(stream_seconds(moved, facts), computed), merge ? 7 : 5};
}

Cost gather_side(const JoinPlan& plan, const JoinShape& shape, bool is_build,
                 const base::DeviceFacts& facts) {
  const SideStatistics& side = is_build ? shape.build : shape.probe;
  const uint64_t side_rows = static_cast<uint64_t>(side.rows);
  // The global table is probed in the probe side's order, so that side is read in runs.
  const bool clustered =
      plan.gather == Gather::kTransformed || (plan.match == Match::kGlobalTable && !is_build);
  // A key output column is fetched by transformed position, when there is one; row numbers then are
  // fetched by position too.
  const bool by_position = plan.gather == Gather::kUntransformed &&
                           plan.transform != Transform::kNone &&
                           shape.pairs <= 2 * shape.probe_rows &&
                           (shape.build.key_is_output || shape.probe.key_is_output);
  Cost cost;
  if (by_position) {
    cost += streamed(traffic::gather(shape.pairs, traffic::kRowIdBytes, Locality::kClustered), 1,
                     facts);
  }
  const std::vector<int32_t> widths = gathered_widths(shape, plan, is_build);
  const bool several = side.payload_widths.size() > 1;
  for (size_t i = 0; i < widths.size(); ++i) {
    const uint64_t bytes = static_cast<uint64_t>(widths[i]);
    const bool is_key = i >= side.payload_widths.size();
    const bool in_runs = clustered || (by_position && is_key);
    const Traffic moved =
        traffic::gather(shape.pairs, bytes, in_runs ? Locality::kClustered : Locality::kRandom);
    double seconds = stream_seconds(moved, facts);
    const double overlap = several && bytes <= 4 ? kGatherOverlap : 1;
    if (!in_runs) {
      // Partitions and runs bring the pairs of one row together: after the first they hit L2. In
      // the order of a probe side they do not.
      const uint64_t first =
          plan.match == Match::kGlobalTable ? shape.pairs : std::min(shape.pairs, side_rows);
      const double again = static_cast<double>(shape.pairs - first);
      seconds = std::max(
          seconds, read_seconds(static_cast<double>(first), side_rows * bytes, facts) / overlap +
                       per_second(again, facts.l2_random_reads_per_second));
    }
    cost += Cost{moved, seconds, 1};
  }
  return cost;
}

}  // namespace

Side build_side_of(const PlanRequest& request) {
  if (request.options.build_side != 0) return static_cast<Side>(request.options.build_side);
  return request.left.rows <= request.right.rows ? Side::kLeft : Side::kRight;
}

int32_t radix_bits_for(int64_t build_rows, [[maybe_unused]] int32_t key_width) {
  int32_t bits = 1;
  while (bits < 16 && (build_rows >> bits) > kPartitionRows) ++bits;
  return bits;
}

Candidate cost_of(const JoinPlan& plan, const PlanRequest& request, const SampleStatistics& sample,
                  const base::DeviceFacts& facts_of_context) {
  const bool cpu = plan.device == Device::kCpu;
  // A CUDA context can run a plan on the CPU; its own rates are the GPU's then.
  const base::DeviceFacts facts = cpu && facts_of_context.is_cuda
                                      ? base::cpu_facts(facts_of_context.cpu_threads)
                                      : facts_of_context;
  const JoinShape shape = shape_of(plan, request, sample);
  Candidate candidate;
  candidate.plan = plan;
  const auto add_stage = [&](const char* stage, const std::string& technique, const Cost& cost) {
    const double seconds = cost.seconds + cost.launches * facts.launch_seconds;
    candidate.stages.push_back({stage, technique, cost.moved.bytes(), seconds});
    candidate.seconds += seconds;
    candidate.bytes += cost.moved.bytes();
  };

  if (plan.transfer == Transfer::kExplicitCopies) {
    Cost copies;
    for (const SideStatistics* side : {&shape.build, &shape.probe}) {
      if (!side->in_host_memory) continue;
      const double bytes = static_cast<double>(input_bytes(*side));
      copies += Cost{{input_bytes(*side), 0},
                     per_second(bytes, facts.host_link_bytes_per_second),
                     1 + static_cast<int32_t>(side->payload_widths.size())};
    }
    add_stage("transfer", to_text(plan.transfer), copies);
  }
  if (plan.transform != Transform::kNone) {
    Cost both = transform_side(plan, shape, shape.build, facts);
    both += transform_side(plan, shape, shape.probe, facts);
    std::string technique = to_text(plan.transform);
    if (plan.radix_bits > 0) technique += base::text("(%d)", plan.radix_bits);
    add_stage("transform", technique, both);
  }
  add_stage("match", to_text(plan.match), match(plan, shape, facts));
  Cost columns = gather_side(plan, shape, true, facts);
  columns += gather_side(plan, shape, false, facts);
  if (plan.transform != Transform::kNone) {
    columns += move_further_columns(plan, shape, shape.build, facts);
    columns += move_further_columns(plan, shape, shape.probe, facts);
  }
  if (columns.launches > 0) add_stage("materialize", to_text(plan.gather), columns);
  candidate.memory_bytes = memory_need(plan, shape);
  return candidate;
}

}  // namespace gpujoin::plan
