// on_cpu.cpp: the path of a CPU plan: partition -> build, probe and write -> finish.
#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <string>

#include "src/base/status.hpp"
#include "src/cpu/key_columns.hpp"
#include "src/cpu/match_partitions.hpp"
#include "src/cpu/output_rows.hpp"
#include "src/cpu/radix_partition.hpp"
#include "src/cpu/sample.hpp"
#include "src/cpu/workers.hpp"
#include "src/execute/execute.hpp"

namespace gpujoin::execute {

namespace {

using Clock = std::chrono::steady_clock;

// Adds a stage to the statistics: the time since the stage before it ended.
class StageTimes {
 public:
  StageTimes(const PlannedJoin& join, columns::Statistics& statistics)
      : join_(join), statistics_(statistics), begin_(Clock::now()) {}

  // own_bytes: memory traffic, where the plan's cost predicts none for a stage of that name.
  void end(const char* stage, std::string technique, uint64_t own_bytes) {
    auto const now = Clock::now();
    columns::StageStatistics entry;
    entry.stage = stage;
    entry.technique = std::move(technique);
    entry.milliseconds = std::chrono::duration<double, std::milli>(now - begin_).count();
    entry.predicted_bytes = own_bytes;
    for (plan::StageCost const& cost : join_.choice.predicted()) {
      if (cost.stage == entry.stage) entry.predicted_bytes = cost.bytes;
    }
    statistics_.stages.push_back(std::move(entry));
    begin_ = now;
  }

 private:
  const PlannedJoin& join_;
  columns::Statistics& statistics_;
  Clock::time_point begin_;
};

struct Sides {
  bool build_is_left = true;
  std::vector<cpu::ComparedColumns> verified;  // key columns, where the key is their hash
  std::array<cpu::PartitionedRows, 2> rows;    // build, probe
  cpu::PartitionedRows& build() { return rows[0]; }
  cpu::PartitionedRows& probe() { return rows[1]; }
};

// The hashes of several key columns, until the rows are partitioned; empty for one.
struct KeyHashes {
  cpu::HashedKeys left;
  cpu::HashedKeys right;
};

bool has_several_keys(const PlannedJoin& join) { return join.spec.left_keys.size() > 1; }

std::vector<cpu::ComparedColumns> compared_columns(const PlannedJoin& join, bool build_is_left) {
  std::vector<cpu::ComparedColumns> compared;
  for (size_t i = 0; i < join.spec.left_keys.size(); ++i) {
    auto const* left = &join.left->columns[static_cast<size_t>(join.spec.left_keys[i])];
    auto const* right = &join.right->columns[static_cast<size_t>(join.spec.right_keys[i])];
    compared.push_back(build_is_left ? cpu::ComparedColumns{left, right}
                                     : cpu::ComparedColumns{right, left});
  }
  return compared;
}

Sides lay_out(base::Queue& queue, const PlannedJoin& join, const KeyHashes& hashes) {
  plan::JoinPlan const& plan = join.choice.plan();
  columns::JoinSpec const& spec = join.spec;
  bool const hashed = has_several_keys(join);
  static const std::vector<int32_t> kNone;
  auto const layout_of = [&](bool is_left) {
    columns::Relation const& relation = is_left ? *join.left : *join.right;
    auto const first_key = (is_left ? spec.left_keys : spec.right_keys).front();
    auto const& key = hashed ? (is_left ? hashes.left : hashes.right).view
                             : relation.columns[static_cast<size_t>(first_key)];
    auto const& columns = is_left ? spec.left_columns : spec.right_columns;
    // Several keys are verified by row number.
    bool const row_numbers = hashed || (is_left ? spec.left_rows() : spec.right_rows());
    return cpu::layout_rows(relation, key, spec.materialize ? columns : kNone, row_numbers,
                            plan.gather);
  };
  auto const left = layout_of(true);
  auto const right = layout_of(false);
  Sides sides;
  sides.build_is_left = plan.build_side == plan::Side::kLeft;
  if (hashed) sides.verified = compared_columns(join, sides.build_is_left);
  sides.build().layout = sides.build_is_left ? left : right;
  sides.probe().layout = sides.build_is_left ? right : left;
  auto const left_rows = static_cast<uint64_t>(join.left->rows);
  auto const right_rows = static_cast<uint64_t>(join.right->rows);
  sides.build().input_rows = sides.build_is_left ? left_rows : right_rows;
  sides.probe().input_rows = sides.build_is_left ? right_rows : left_rows;
  uint32_t const bits =
      plan.radix_bits > 0
          ? std::min(static_cast<uint32_t>(plan.radix_bits), cpu::kMostRadixBits)
          : cpu::choose_radix_bits(sides.build().input_rows, sides.probe().input_rows,
                                   sides.build().layout.row_bytes, queue.context.cpu_threads);
  sides.build().radix_bits = sides.probe().radix_bits = bits;
  return sides;
}

// The result's physical columns: the pairs, then the columns of the specification.
std::vector<cpu::OutputSource> output_sources(const PlannedJoin& join, Sides& sides) {
  columns::JoinSpec const& spec = join.spec;
  std::vector<cpu::OutputSource> sources;
  auto const add_side = [&](bool is_left, auto const& what) {
    bool const is_build = is_left == sides.build_is_left;
    what(is_build, is_build ? sides.build().layout : sides.probe().layout);
  };
  for (bool const is_left : {true, false}) {
    if (!(is_left ? spec.left_rows() : spec.right_rows())) continue;
    add_side(is_left, [&](bool is_build, const cpu::RowLayout& layout) {
      cpu::OutputSource source;
      source.source = cpu::Source::kRowNumber;
      source.from_build = is_build;
      source.width = sizeof(uint32_t);
      source.offset = layout.row_number_offset;
      sources.push_back(source);
    });
  }
  for (bool const is_left : {true, false}) {
    if (!spec.materialize) break;
    add_side(is_left, [&](bool is_build, const cpu::RowLayout& layout) {
      auto const& relation = is_left ? *join.left : *join.right;
      for (int32_t const number : is_left ? spec.left_columns : spec.right_columns) {
        cpu::OutputSource source;
        source.column = &relation.columns[static_cast<size_t>(number)];
        source.from_build = is_build;
        source.width = static_cast<uint32_t>(source.column->width);
        if (source.column == layout.key) {
          source.source = cpu::Source::kKey;
        } else if (cpu::CarriedColumn const* carried = layout.find(source.column)) {
          source.source = cpu::Source::kCarried;
          source.offset = carried->offset;
          source.null_bit = carried->null_bit;
        } else {
          source.source = cpu::Source::kFetched;
        }
        sources.push_back(source);
      }
    });
  }
  return sources;
}

// Matches once into output that grows; where memory is too tight for an estimate, counts first.
std::unique_ptr<cpu::OutputRows> match(base::Queue& queue, const PlannedJoin& join,
                                       cpu::Workers& workers, Sides& sides,
                                       const std::vector<cpu::OutputSource>& sources,
                                       std::string* technique) {
  std::vector<cpu::OutputShape> shapes;
  for (cpu::OutputSource const& source : sources) {
    shapes.push_back({source.width, source.nullable()});
  }
  auto const write = [&](uint64_t capacity) {
    auto output = std::make_unique<cpu::OutputRows>(queue, shapes, capacity);
    cpu::match_partitions(queue, workers, sides.build(), sides.probe(), sides.verified, sources,
                          *output);
    return output;
  };
  std::string const verified = sides.verified.empty() ? "" : "verified ";
  if (join.choice.plan().output == plan::Output::kGrown) {
    // A generous estimate is free, a short one costs a copy: at least one match for each probe row.
    auto const expected =
        static_cast<uint64_t>(std::max<int64_t>(join.choice.plan().expected_rows, 0));
    uint64_t const probe_rows = sides.probe().begin.back();
    try {
      *technique = verified + "co_partitions, grown";
      return write(std::max(expected + expected / 8, probe_rows));
    } catch (const base::Error& error) {
      if (error.status() != GPUJOIN_ERROR_MEMORY_LIMIT) throw;
    }
  }
  *technique = verified + "co_partitions, counted";
  return write(cpu::count_partitions_matches(queue, workers, sides.build(), sides.probe()));
}

void fill_result(const PlannedJoin& join, cpu::OutputRows::Finished finished,
                 const std::vector<cpu::OutputSource>& sources, columns::JoinResult& result) {
  result.memory = base::Memory::kHost;
  result.rows = static_cast<int64_t>(finished.rows);
  result.has_pairs = join.spec.pairs;
  result.pair_sides = join.spec.pair_sides;
  size_t next = 0;
  if (join.spec.left_rows()) result.left_rows = std::move(finished.columns[next++].values);
  if (join.spec.right_rows()) result.right_rows = std::move(finished.columns[next++].values);
  for (; next < sources.size(); ++next) {
    columns::ResultColumn column = columns::column_like(*sources[next].column);
    column.data = std::move(finished.columns[next].values);
    column.validity = std::move(finished.columns[next].bits);
    column.null_count = finished.columns[next].null_count;
    result.columns.push_back(std::move(column));
  }
}

}  // namespace

void on_cpu(base::Queue& queue, const PlannedJoin& join, columns::JoinResult& result) {
  cpu::Workers workers(queue);
  StageTimes times(join, result.statistics);

  KeyHashes hashes;
  std::string key_technique;
  if (has_several_keys(join)) {
    hashes.left = cpu::hash_keys(queue, workers, *join.left, join.spec.left_keys);
    hashes.right = cpu::hash_keys(queue, workers, *join.right, join.spec.right_keys);
    key_technique = "hash of " + std::to_string(join.spec.left_keys.size()) + " keys, ";
  }
  Sides sides = lay_out(queue, join, hashes);
  std::vector<cpu::OutputSource> const sources = output_sources(join, sides);

  cpu::partition_rows(queue, workers, sides.rows);
  uint64_t const rows_bytes = sides.build().rows.bytes() + sides.probe().rows.bytes();
  hashes = {};
  times.end("transform",
            key_technique + "radix_onesweep(" + std::to_string(sides.build().radix_bits) + ")",
            2 * rows_bytes);

  std::string technique;
  auto const output = match(queue, join, workers, sides, sources, &technique);
  uint64_t output_row_bytes = 0;
  for (cpu::OutputSource const& source : sources) output_row_bytes += source.width;
  sides = {};

  times.end("match", technique, rows_bytes);
  cpu::OutputRows::Finished finished = output->finish(workers);
  result.statistics.output_resumes = finished.slabs - 1;
  uint64_t const written = finished.rows * output_row_bytes;
  fill_result(join, std::move(finished), sources, result);
  times.end("materialize", plan::to_text(join.choice.plan().gather), written);
}

plan::SampleFindings sample_on_cpu(base::Queue& queue, const columns::Relation& build,
                                   int32_t build_key, const columns::Relation& probe,
                                   int32_t probe_key) {
  return cpu::sample_keys(queue, build, build_key, probe, probe_key);
}

}  // namespace gpujoin::execute
