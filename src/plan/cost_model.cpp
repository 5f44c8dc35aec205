// cost_model.cpp: what a plan moves, how long that takes and how much memory it needs.
//
// Each stage's bytes come from traffic.hpp. Its seconds are the largest of what its resources take
// (streamed bytes, random accesses, rows through the SMs) plus its launches; stages add up.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "src/base/traffic.hpp"
#include "src/plan/choose_plan.hpp"

namespace gpujoin::plan {
namespace {

namespace traffic = base::traffic;
using traffic::Locality;
using traffic::Traffic;

// Average rows of a build partition, at most: the shared-memory table has room for 4096 rows of
// 4-byte keys and for 2048 of 8-byte keys, and hashed partitions scatter about their average.
constexpr int64_t kPartitionRows4 = 3072;
constexpr int64_t kPartitionRows8 = 1536;
constexpr int64_t kPartitionRoom = 4096;

// Reads of the table a probe row makes at load one half with linear probing. H200: 2^27 probes of a
// table of 2 GiB take 5.2 ms, at 36.7e9 reads/s that is 1.4.
constexpr double kReadsPerProbe = 1.4;
// Share of L2 that a randomly read table finds for itself. H200, 60 MB L2: a table of 64 MiB is
// read at 61e9/s, which two thirds of hits at 107e9/s explain.
constexpr double kUsableL2 = 0.7;
// One read after the other: DRAM latency, with the turn round the probe loop.
constexpr double kDependentReadSeconds = 0.6e-6;
// Of a radix pass' time the part that goes with the bytes of a row. H200, 2^27 rows: 1.03 ms a pass
// at 8 bytes a row, 1.44 ms at 16.
constexpr double kPassShareOfBytes = 0.4;

// What the cost functions look at: the request, seen from the build side.
struct Shape {
  const SideStatistics& build;
  const SideStatistics& probe;
  uint64_t build_rows;
  uint64_t probe_rows;
  uint64_t key_width;
  SampleStatistics sample;  // build and probe as here
  uint64_t matching_rows;   // probe rows with a match
  uint64_t pairs;
  bool want_pairs;
};

uint64_t rounded(double value) { return static_cast<uint64_t>(std::llround(std::max(value, 0.0))); }

// The same facts about the data when the sides change roles. The number of pairs is known; of how
// many build rows have a match, only that there are no more than pairs.
SampleStatistics turned_round(const SampleStatistics& sample, double build_rows,
                              double probe_rows) {
  SampleStatistics turned = sample;
  std::swap(turned.heaviest_build_key, turned.heaviest_probe_key);
  const double pairs = probe_rows * sample.match_ratio * sample.rows_per_match;
  const double matching = std::min(pairs, build_rows);
  turned.match_ratio = build_rows > 0 ? matching / build_rows : 0;
  turned.rows_per_match = matching > 0 ? pairs / matching : 1;
  return turned;
}

Shape shape_of(const JoinPlan& plan, const PlanRequest& request, const SampleStatistics& sample) {
  const bool left = plan.build_side == Side::kLeft;
  const SideStatistics& build = left ? request.left : request.right;
  const SideStatistics& probe = left ? request.right : request.left;
  const double build_rows = static_cast<double>(build.rows);
  const double probe_rows = static_cast<double>(probe.rows);
  const SampleStatistics seen = plan.build_side == build_side_of(request)
                                    ? sample
                                    : turned_round(sample, probe_rows, build_rows);
  const double matching = build.rows > 0 ? probe_rows * seen.match_ratio : 0;
  return {build,
          probe,
          static_cast<uint64_t>(build.rows),
          static_cast<uint64_t>(probe.rows),
          static_cast<uint64_t>(build.key_width),
          seen,
          rounded(matching),
          rounded(matching * seen.rows_per_match),
          request.pairs};
}

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
  void add(const Traffic& more, double more_seconds, int32_t more_launches) {
    moved += more;
    seconds += more_seconds;
    launches += more_launches;
  }
};

// Widths of the value columns that each sort of one side moves with the keys.
std::vector<int32_t> moved_widths(const SideStatistics& side, const JoinPlan& plan,
                                  bool want_pairs) {
  constexpr int32_t row_id = static_cast<int32_t>(traffic::kRowIdBytes);
  if (plan.gather == Gather::kUntransformed) return {row_id};
  std::vector<int32_t> widths = side.payload_widths;
  if (want_pairs) widths.push_back(row_id);
  // The CPU moves whole rows; a radix sort moves a key and one value, so it runs once a column.
  if (plan.device == Device::kCpu) return {std::accumulate(widths.begin(), widths.end(), 0)};
  if (widths.empty()) widths.push_back(0);
  return widths;
}

// A plan written by hand may leave the bits at 0.
int32_t partition_bits(const JoinPlan& plan, const Shape& shape) {
  return plan.radix_bits > 0 ? plan.radix_bits
                             : radix_bits_for(shape.build.rows, shape.build.key_width);
}

int32_t sort_bits(const JoinPlan& plan, const Shape& shape) {
  if (plan.transform == Transform::kRadixOnesweep) return partition_bits(plan, shape);
  const int32_t width_bits = 8 * static_cast<int32_t>(shape.key_width);
  const int32_t varying = shape.sample.varying_key_bits;
  return varying > 0 ? std::min(varying, width_bits) : width_bits;
}

Cost transform_side(const JoinPlan& plan, const Shape& shape, const SideStatistics& side,
                    const base::DeviceFacts& facts) {
  Cost cost;
  const uint64_t rows = static_cast<uint64_t>(side.rows);
  const auto stream = [&](const Traffic& moved, int32_t launches) {
    cost.add(moved, stream_seconds(moved, facts), launches);
  };
  const bool cuda = plan.device == Device::kCuda;
  if (cuda && plan.transform == Transform::kRadixOnesweep) {
    stream(traffic::mix_keys(rows, shape.key_width), 1);
  }
  if (plan.gather == Gather::kUntransformed || shape.want_pairs) {
    stream(traffic::write_row_ids(rows), 1);
  }
  const int32_t bits = sort_bits(plan, shape);
  const double passes = static_cast<double>(traffic::radix_passes(bits));
  for (const int32_t width : moved_widths(side, plan, shape.want_pairs)) {
    const uint64_t value_width = static_cast<uint64_t>(width);
    const Traffic pass = traffic::radix_pass(rows, shape.key_width, value_width);
    const double row_bytes = static_cast<double>(shape.key_width + value_width);
    const double ranked = per_second(static_cast<double>(rows), facts.radix_pass_rows_per_second) *
                          (1 - kPassShareOfBytes + kPassShareOfBytes * row_bytes / 8);
    const Traffic histogram = traffic::radix_histogram(rows, shape.key_width);
    cost.add(
        traffic::radix_sort(rows, shape.key_width, value_width, bits),
        stream_seconds(histogram, facts) + passes * std::max(ranked, stream_seconds(pass, facts)),
        2 + static_cast<int32_t>(passes));
  }
  return cost;
}

Cost build_table(const Shape& shape, const base::DeviceFacts& facts) {
  const Traffic moved = traffic::global_table_build(shape.build_rows, shape.key_width);
  const double rows = static_cast<double>(shape.build_rows);
  double inserts =
      random_seconds(rows, traffic::global_table_bytes(shape.build_rows),
                     facts.random_inserts_per_second, facts.l2_random_inserts_per_second, facts);
  if (shape.key_width > 4) inserts += read_seconds(rows, shape.build_rows * shape.key_width, facts);
  Cost cost;
  cost.add(moved, stream_seconds(moved, facts) + inserts, 2);
  return cost;
}

Cost probe_table(const Shape& shape, const base::DeviceFacts& facts) {
  const Traffic moved = traffic::global_table_probe(shape.probe_rows, shape.key_width, shape.pairs);
  const double pairs = static_cast<double>(shape.pairs);
  const double more = static_cast<double>(shape.pairs - std::min(shape.pairs, shape.matching_rows));
  double reads = read_seconds(static_cast<double>(shape.probe_rows) * kReadsPerProbe + more,
                              traffic::global_table_bytes(shape.build_rows), facts);
  if (shape.key_width > 4) reads += read_seconds(pairs, shape.build_rows * shape.key_width, facts);
  // The rows of one key are a chain that one thread follows to its end.
  const double longest = shape.sample.heaviest_build_key * static_cast<double>(shape.build_rows);
  const double chain = shape.pairs > 0 ? longest * kDependentReadSeconds : 0;
  Cost cost;
  cost.add(moved,
           std::max({stream_seconds(moved, facts), reads, chain,
                     per_second(pairs, facts.emitted_pairs_per_second)}),
           3);
  return cost;
}

// Probe rows read again because a build partition takes several tables.
double reread_rows(const JoinPlan& plan, const Shape& shape) {
  const double partitions = std::ldexp(1.0, partition_bits(plan, shape));
  const double build = static_cast<double>(shape.build_rows);
  const double probe = static_cast<double>(shape.probe_rows);
  const double room = static_cast<double>(kPartitionRoom);
  const double average = std::max(std::ceil(build / partitions / room) - 1, 0.0) * probe;
  const double heavy_build = shape.sample.heaviest_build_key * build;
  const double heavy_probe = probe * std::max(1 / partitions, shape.sample.heaviest_probe_key);
  return average + std::max(std::ceil(heavy_build / room) - 1, 0.0) * heavy_probe;
}

Cost match(const JoinPlan& plan, const Shape& shape, const base::DeviceFacts& facts) {
  if (plan.match == Match::kGlobalTable) return probe_table(shape, facts);
  const bool row_ids = plan.gather == Gather::kUntransformed;
  const bool merge = plan.match == Match::kMergePath;
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
  const double computed =
      per_second(rows, merge ? facts.merge_rows_per_second : facts.shared_probe_rows_per_second) +
      per_second(static_cast<double>(shape.pairs), facts.emitted_pairs_per_second);
  Cost cost;
  cost.add(moved, std::max(stream_seconds(moved, facts), computed), merge ? 8 : 5);
  return cost;
}

// Output columns of one side that materialization gathers.
std::vector<int32_t> gathered_widths(const SideStatistics& side, const JoinPlan& plan,
                                     bool want_pairs) {
  std::vector<int32_t> widths = side.payload_widths;
  if (side.key_is_output) widths.push_back(side.key_width);
  // Pairs of transformed relations are positions; the row ids asked for were moved like payloads.
  if (want_pairs && plan.gather == Gather::kTransformed) widths.push_back(4);
  return widths;
}

Cost gather_side(const JoinPlan& plan, const Shape& shape, bool is_build,
                 const base::DeviceFacts& facts) {
  const SideStatistics& side = is_build ? shape.build : shape.probe;
  const uint64_t side_rows = static_cast<uint64_t>(side.rows);
  // The global table is probed in the probe side's order, so that side is read in runs.
  const bool clustered =
      plan.gather == Gather::kTransformed || (plan.match == Match::kGlobalTable && !is_build);
  Cost cost;
  for (const int32_t width : gathered_widths(side, plan, shape.want_pairs)) {
    const uint64_t bytes = static_cast<uint64_t>(width);
    const Traffic moved =
        traffic::gather(shape.pairs, bytes, clustered ? Locality::kClustered : Locality::kRandom);
    double seconds = stream_seconds(moved, facts);
    if (!clustered) {
      // Partitions and runs bring the pairs of one row together: after the first they hit L2. In
      // the order of a probe side they do not.
      const uint64_t first =
          plan.match == Match::kGlobalTable ? shape.pairs : std::min(shape.pairs, side_rows);
      const double again = static_cast<double>(shape.pairs - first);
      seconds =
          std::max(seconds, read_seconds(static_cast<double>(first), side_rows * bytes, facts) +
                                per_second(again, facts.l2_random_reads_per_second));
    }
    cost.add(moved, seconds, 1);
  }
  return cost;
}

uint64_t input_bytes(const SideStatistics& side) {
  uint64_t width = static_cast<uint64_t>(side.key_width);
  for (const int32_t payload : side.payload_widths) width += static_cast<uint64_t>(payload);
  return traffic::host_copy(static_cast<uint64_t>(side.rows), width).bytes();
}

// Peak over the stages; what a stage leaves to the next ones is counted there again.
uint64_t memory_of(const JoinPlan& plan, const Shape& shape) {
  const auto out_width = [&](const SideStatistics& side) {
    const std::vector<int32_t> widths = gathered_widths(side, plan, shape.want_pairs);
    return static_cast<uint64_t>(std::accumulate(widths.begin(), widths.end(), 0));
  };
  const uint64_t pairs = shape.pairs * traffic::kPairBytes;
  const uint64_t columns = shape.pairs * (out_width(shape.build) + out_width(shape.probe));
  uint64_t copies = 0;
  if (plan.transfer == Transfer::kExplicitCopies) {
    for (const SideStatistics* side : {&shape.build, &shape.probe}) {
      if (side->in_host_memory) copies += input_bytes(*side);
    }
  }
  if (plan.match == Match::kGlobalTable) {
    return copies + pairs + std::max(traffic::global_table_bytes(shape.build_rows), columns);
  }
  // A sort holds input, output and the sorter's own copy of keys and values.
  const auto row_bytes = [&](const SideStatistics& side) {
    const std::vector<int32_t> widths = moved_widths(side, plan, shape.want_pairs);
    return shape.key_width + static_cast<uint64_t>(*std::max_element(widths.begin(), widths.end()));
  };
  const uint64_t build = shape.build_rows * row_bytes(shape.build);
  const uint64_t probe = shape.probe_rows * row_bytes(shape.probe);
  const uint64_t sorting = std::max(3 * build + probe, build + 3 * probe);
  const uint64_t bounds = plan.match == Match::kMergePath ? shape.probe_rows * 16 : 0;
  const uint64_t matching = build + probe + bounds + pairs;
  // Later payload columns are sorted while earlier output columns exist already.
  const bool resorts = plan.gather == Gather::kTransformed && plan.device == Device::kCuda;
  const uint64_t gathering = pairs + columns + (resorts ? 3 * std::max(build, probe) : 0);
  return copies + std::max({sorting, matching, gathering});
}

}  // namespace

Side build_side_of(const PlanRequest& request) {
  if (request.options.build_side != 0) return static_cast<Side>(request.options.build_side);
  return request.left.rows <= request.right.rows ? Side::kLeft : Side::kRight;
}

int32_t radix_bits_for(int64_t build_rows, int32_t key_width) {
  const int64_t most = key_width > 4 ? kPartitionRows8 : kPartitionRows4;
  int32_t bits = 1;
  while (bits < 16 && (build_rows >> bits) > most) ++bits;
  return bits;
}

Candidate cost_of(const JoinPlan& plan, const PlanRequest& request, const SampleStatistics& sample,
                  const base::DeviceFacts& facts_of_context) {
  const bool cpu = plan.device == Device::kCpu;
  // A CUDA context can run a plan on the CPU; its own rates are the GPU's then.
  const base::DeviceFacts facts = cpu && facts_of_context.is_cuda
                                      ? base::cpu_facts(facts_of_context.cpu_threads)
                                      : facts_of_context;
  const Shape shape = shape_of(plan, request, sample);
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
      const Traffic moved{input_bytes(*side), 0};
      copies.add(moved,
                 per_second(static_cast<double>(moved.bytes()), facts.host_link_bytes_per_second),
                 1 + static_cast<int32_t>(side->payload_widths.size()));
    }
    add_stage("transfer", to_text(plan.transfer), copies);
  }
  if (plan.transform != Transform::kNone) {
    Cost both = transform_side(plan, shape, shape.build, facts);
    const Cost probe = transform_side(plan, shape, shape.probe, facts);
    both.add(probe.moved, probe.seconds, probe.launches);
    std::string technique = to_text(plan.transform);
    if (plan.radix_bits > 0) technique += "(" + std::to_string(plan.radix_bits) + ")";
    add_stage("transform", technique, both);
  }
  if (plan.match == Match::kGlobalTable) {
    add_stage("build", to_text(plan.match), build_table(shape, facts));
  }
  add_stage("match", to_text(plan.match), match(plan, shape, facts));
  Cost gathers = gather_side(plan, shape, true, facts);
  const Cost probe_gathers = gather_side(plan, shape, false, facts);
  gathers.add(probe_gathers.moved, probe_gathers.seconds, probe_gathers.launches);
  if (gathers.launches > 0) add_stage("materialize", to_text(plan.gather), gathers);
  candidate.memory_bytes = memory_of(plan, shape);
  return candidate;
}

}  // namespace gpujoin::plan
