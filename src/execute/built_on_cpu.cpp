#include "src/execute/built_on_cpu.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/base/status.hpp"
#include "src/cpu/key_hash.hpp"
#include "src/cpu/match_partitions.hpp"
#include "src/cpu/output_rows.hpp"

namespace gpujoin::execute {

namespace {

uint32_t radix_bits_of(const JoinStep& step, const cpu::PartitionedRows& build,
                       uint64_t probe_rows) {
  if (step.plan.radix_bits > 0) {
    return std::min(static_cast<uint32_t>(step.plan.radix_bits), cpu::kMostRadixBits);
  }
  return cpu::choose_radix_bits(build.input_rows, probe_rows, build.layout.row_bytes,
                                step.queue.context.cpu_threads);
}

void partition(const JoinStep& step, std::span<CpuSide* const> sides, uint32_t radix_bits) {
  CpuSide::partition(sides, radix_bits);
  uint64_t bytes = 0;
  for (CpuSide const* side : sides) bytes += side->rows().rows.bytes();
  CpuSide const& first = *sides.front();
  std::string const keys =
      first.is_hashed() ? "hash of " + std::to_string(first.key_count()) + " keys, " : "";
  step.clock.note(keys + "radix_onesweep(" + std::to_string(radix_bits) + ")", 2 * bytes);
}

// The result's physical columns: the row numbers, then the columns of both sides.
std::vector<cpu::OutputSource> output_sources(const JoinStep& step, const CpuSide& build,
                                              const CpuSide& probe) {
  bool const build_left = step.build_left();
  CpuSide const& left = build_left ? build : probe;
  CpuSide const& right = build_left ? probe : build;
  std::vector<cpu::OutputSource> sources;
  if (step.spec.left_rows()) sources.push_back(left.row_numbers_source(build_left));
  if (step.spec.right_rows()) sources.push_back(right.row_numbers_source(!build_left));
  left.add_column_sources(build_left, &sources);
  right.add_column_sources(!build_left, &sources);
  return sources;
}

// Key columns, where the key is their hash.
std::vector<cpu::ComparedColumns> columns_to_verify(const CpuSide& build, const CpuSide& probe) {
  std::vector<cpu::ComparedColumns> columns;
  if (!build.is_hashed()) return columns;
  for (size_t i = 0; i < build.key_count(); ++i) columns.push_back({&build.key(i), &probe.key(i)});
  return columns;
}

// Matches once into output that grows; where memory is too tight for an estimate, counts first.
std::unique_ptr<cpu::OutputRows> match(const JoinStep& step, const CpuSide& build, CpuSide& probe,
                                       const std::vector<cpu::OutputSource>& sources) {
  std::vector<cpu::OutputShape> shapes;
  for (cpu::OutputSource const& source : sources) {
    shapes.push_back({source.width, source.nullable()});
  }
  std::vector<cpu::ComparedColumns> const verified = columns_to_verify(build, probe);
  auto const write = [&](uint64_t capacity) {
    auto output = std::make_unique<cpu::OutputRows>(step.queue, shapes, capacity);
    cpu::match_partitions(step.queue, probe.workers(), build.rows(), probe.rows(), verified,
                          sources, *output);
    return output;
  };
  auto const note = [&](const char* technique) {
    step.clock.note((verified.empty() ? "" : "verified ") + std::string(technique),
                    build.rows().rows.bytes() + probe.rows().rows.bytes());
  };
  if (step.plan.output == plan::Output::kGrown) {
    // A generous estimate is free, a short one costs a copy: at least one match for each probe row.
    auto const expected = static_cast<uint64_t>(std::max<int64_t>(step.plan.expected_rows, 0));
    uint64_t const probe_rows = probe.rows().begin.back();
    try {
      note("co_partitions, grown");
      return write(std::max(expected + expected / 8, probe_rows));
    } catch (const base::Error& error) {
      if (error.status() != GPUJOIN_ERROR_MEMORY_LIMIT) throw;
    }
  }
  note("co_partitions, counted");
  return write(
      cpu::count_partitions_matches(step.queue, probe.workers(), build.rows(), probe.rows()));
}

void finish(const JoinStep& step, cpu::Workers& workers, cpu::OutputRows& output,
            const std::vector<cpu::OutputSource>& sources, columns::JoinResult& result) {
  cpu::OutputRows::Finished finished = output.finish(workers);
  result.rows = static_cast<int64_t>(finished.rows);
  result.statistics.output_resumes = finished.slabs - 1;
  size_t next = 0;
  if (step.spec.left_rows()) result.left_rows = std::move(finished.columns[next++].values);
  if (step.spec.right_rows()) result.right_rows = std::move(finished.columns[next++].values);
  for (; next < sources.size(); ++next) {
    columns::ResultColumn column = columns::column_like(*sources[next].column);
    column.data = std::move(finished.columns[next].values);
    column.validity = std::move(finished.columns[next].bits);
    column.null_count = finished.columns[next].null_count;
    result.columns.push_back(std::move(column));
  }
  uint64_t row_bytes = 0;
  for (cpu::OutputSource const& source : sources) row_bytes += source.width;
  step.clock.note(plan::to_text(step.plan.gather), finished.rows * row_bytes);
}

class BuiltOnCpu final : public Built {
 public:
  // expected: the side is partitioned.
  BuiltOnCpu(std::shared_ptr<CpuSide> side, bool is_probed_once)
      : side_(std::move(side)), is_probed_once_(is_probed_once) {}

  plan::Finding probe(const JoinStep& step, Side& side,
                      columns::JoinResult& result) const override {
    auto& probe = side_as<CpuSide>(side);
    if (!probe.is_partitioned()) {
      step.clock.enter("transform");
      probe.lay_out(step.plan, step.probe_numbers());
      CpuSide* const alone[] = {&probe};
      partition(step, alone, side_->rows().radix_bits);
    }
    step.clock.enter("match");
    std::vector<cpu::OutputSource> const sources = output_sources(step, *side_, probe);
    auto const output = match(step, *side_, probe, sources);
    if (is_probed_once_) side_->let_go_of_rows();
    probe.let_go_of_rows();
    step.clock.enter("materialize");
    finish(step, probe.workers(), *output, sources, result);
    return plan::Finding::kJoined;
  }

 private:
  std::shared_ptr<CpuSide> side_;
  bool is_probed_once_;
};

}  // namespace

std::unique_ptr<const Built> build_on_cpu(const JoinStep& step, std::shared_ptr<CpuSide> side,
                                          CpuSide* only_probe) {
  step.clock.enter("transform");
  side->lay_out(step.plan, step.build_numbers());
  std::vector<CpuSide*> sides = {side.get()};
  uint64_t probe_rows = 0;
  if (only_probe != nullptr) {
    only_probe->lay_out(step.plan, step.probe_numbers());
    probe_rows = only_probe->rows().input_rows;
    sides.push_back(only_probe);
  }
  partition(step, sides, radix_bits_of(step, side->rows(), probe_rows));
  return std::make_unique<BuiltOnCpu>(std::move(side), only_probe != nullptr);
}

}  // namespace gpujoin::execute
