#include "src/execute/built_on_cpu.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/base/status.hpp"
#include "src/cpu/batch_adder.hpp"
#include "src/cpu/batch_writer.hpp"
#include "src/cpu/key_hash.hpp"
#include "src/cpu/match_partitions.hpp"
#include "src/cpu/output_rows.hpp"
#include "src/cpu/row_marks.hpp"
#include "src/cpu/set_partitions.hpp"
#include "src/cpu/streamed_probe.hpp"
#include "src/execute/aggregate.hpp"
#include "src/execute/alone_task.hpp"

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

std::string hashes_of(const CpuSide& side) {
  return side.is_hashed() ? "hash of " + std::to_string(side.key_count()) + " keys, " : "";
}

void partition(const JoinStep& step, std::span<CpuSide* const> sides, uint32_t radix_bits) {
  CpuSide::partition(sides, radix_bits);
  uint64_t bytes = 0;
  for (CpuSide const* side : sides) bytes += side->rows().rows.bytes();
  step.clock.note(hashes_of(*sides.front()) + "radix_onesweep(" + std::to_string(radix_bits) + ")",
                  2 * bytes);
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

std::vector<cpu::OutputShape> shapes_of(const std::vector<cpu::OutputSource>& sources) {
  std::vector<cpu::OutputShape> shapes;
  for (cpu::OutputSource const& source : sources) {
    shapes.push_back({source.width, source.nullable()});
  }
  return shapes;
}

using Rows = std::unique_ptr<cpu::OutputRows>;

// write(room) into output that grows; where memory is too tight for a generous room, into as much
// as count() says.
Rows write_rows(const JoinStep& step, uint64_t generous, const std::function<Rows(uint64_t)>& write,
                const std::function<uint64_t()>& count) {
  if (step.plan.output == plan::Output::kGrown) {
    try {
      step.clock.note("co_partitions, grown");
      return write(generous);
    } catch (const base::Error& error) {
      if (error.status() != GPUJOIN_ERROR_MEMORY_LIMIT) throw;
    }
  }
  step.clock.note("co_partitions, counted");
  return write(count());
}

void note_match(const JoinStep& step, bool is_verified, const std::string& what,
                const CpuSide& build, const CpuSide& probe) {
  std::string const technique = step.clock.technique();
  step.clock.note((is_verified ? "verified " : "") + technique + what,
                  build.rows().rows.bytes() + probe.rows().rows.bytes());
}

cpu::MatchFilter filter_of(const JoinStep& step, const CpuSide& build, const CpuSide& probe) {
  cpu::MatchFilter filter;
  filter.verified = columns_to_verify(build, probe);
  filter.residual = step.residual;
  filter.build = &build.relation();
  filter.probe = &probe.relation();
  filter.build_left = step.build_left();
  return filter;
}

void send_matches(const JoinStep& step, const cpu::MatchFilter& filter, const CpuSide& build,
                  CpuSide& probe, cpu::MatchSinks& sinks) {
  auto const match = probe.rows().is_streamed ? cpu::match_streamed : cpu::match_partitions;
  match(step.queue, probe.workers(), build.rows(), probe.rows(), filter, sinks);
}

void write_matches(const JoinStep& step, const cpu::MatchFilter& filter, const CpuSide& build,
                   CpuSide& probe, const std::vector<cpu::OutputSource>& sources,
                   cpu::OutputRows& output) {
  cpu::BatchWriters writers(sources, output);
  send_matches(step, filter, build, probe, writers);
}

std::string details_of(const cpu::MatchFilter& filter, const CpuSide& probe) {
  return std::string(probe.rows().is_streamed ? ", probe rows in place" : "") +
         (filter.residual != nullptr ? ", residual" : "");
}

// Adds the matches to step.groups.
void add_matches(const JoinStep& step, const CpuSide& build, CpuSide& probe,
                 std::vector<cpu::OutputSource> sources) {
  cpu::MatchFilter const filter = filter_of(step, build, probe);
  AddedByMatch added = step.groups->added();
  cpu::AddedSources const from{std::move(sources), added.groups, std::move(added.of_states)};
  cpu::BatchAdders adders(from, *step.groups->states_of_cpu());
  step.clock.note("co_partitions, added up");
  send_matches(step, filter, build, probe, adders);
  note_match(step, !filter.verified.empty(), details_of(filter, probe), build, probe);
}

uint64_t count_matches(const JoinStep& step, const cpu::MatchFilter& filter, const CpuSide& build,
                       CpuSide& probe) {
  // Nothing but evaluating it tells how many fulfil a condition.
  if (filter.residual != nullptr) {
    cpu::OutputRows none(step.queue, {}, 0);
    write_matches(step, filter, build, probe, {}, none);
    return none.finish(probe.workers()).rows;
  }
  auto const count =
      probe.rows().is_streamed ? cpu::count_streamed_matches : cpu::count_partitions_matches;
  return count(step.queue, probe.workers(), build.rows(), probe.rows());
}

Rows match(const JoinStep& step, const CpuSide& build, CpuSide& probe,
           const std::vector<cpu::OutputSource>& sources) {
  cpu::MatchFilter const filter = filter_of(step, build, probe);
  auto const write = [&](uint64_t capacity) {
    auto output = std::make_unique<cpu::OutputRows>(step.queue, shapes_of(sources), capacity,
                                                    step.spec.bounds.row_limit);
    write_matches(step, filter, build, probe, sources, *output);
    return output;
  };
  // A generous estimate is free, a short one costs a copy: at least one match for each probe row.
  auto const expected = static_cast<uint64_t>(std::max<int64_t>(step.plan.expected_rows, 0));
  uint64_t const probe_rows = probe.rows().begin.back();
  Rows rows = write_rows(step, std::max(expected + expected / 8, probe_rows), write,
                         [&] { return count_matches(step, filter, build, probe); });
  note_match(step, !filter.verified.empty(), details_of(filter, probe), build, probe);
  return rows;
}

// Rows of one side that have a match are marked, and nothing is written.
std::shared_ptr<columns::RowMarks> match_and_mark(const JoinStep& step, const CpuSide& build,
                                                  CpuSide& probe) {
  cpu::MatchFilter filter = filter_of(step, build, probe);
  filter.marks_build = (step.spec.marked == columns::MarkedSide::kLeft) == step.build_left();
  auto const rows =
      static_cast<uint32_t>(filter.marks_build ? build.input_rows() : probe.input_rows());
  cpu::Workers& workers = probe.workers();
  base::Buffer const bytes = cpu::RowMarks::clear_bytes(step.queue, workers, rows);
  if (!bytes && rows != 0) {
    base::fail(GPUJOIN_ERROR_MEMORY_LIMIT, "no room for the marks of %u rows, a byte each", rows);
  }
  filter.marks = bytes.as<uint8_t>();
  cpu::OutputRows none(step.queue, {}, 0);
  write_matches(step, filter, build, probe, {}, none);
  auto marks = std::make_shared<cpu::RowMarks>(step.queue, rows);
  if (rows != 0) marks->mark_bytes(bytes.as<uint8_t>());
  step.clock.note("co_partitions, residual, rows marked",
                  build.rows().rows.bytes() + probe.rows().rows.bytes());
  return marks;
}

// Rows of `side` that come out without pairs.
Rows match_alone(const JoinStep& step, const AloneTask& task, const CpuSide& other,
                 const CpuSide& side, cpu::Workers& workers,
                 const std::vector<cpu::OutputSource>& sources) {
  std::vector<cpu::ComparedColumns> const verified = columns_to_verify(other, side);
  auto const write_of = [&](const std::vector<cpu::OutputSource>& wanted, uint64_t capacity) {
    auto output = std::make_unique<cpu::OutputRows>(step.queue, shapes_of(wanted), capacity);
    cpu::set_partitions(step.queue, workers, task.with_match, other.rows(), side.rows(), verified,
                        wanted, *output);
    return output;
  };
  Rows rows = write_rows(
      step, side.rows().begin.back(), [&](uint64_t room) { return write_of(sources, room); },
      [&] { return write_of({}, 0)->finish(workers).rows; });
  note_match(step, !verified.empty(), task.with_match ? ", with a match" : ", without a match",
             other, side);
  return rows;
}

columns::ResultColumn column_of(const cpu::OutputSource& source, cpu::OutputRows::Column finished) {
  columns::ResultColumn column = columns::column_like(*source.column);
  column.data = std::move(finished.values);
  column.validity = std::move(finished.bits);
  column.null_count = finished.null_count;
  return column;
}

void note_finish(const JoinStep& step, const std::vector<cpu::OutputSource>& sources,
                 const cpu::OutputRows::Finished& finished, plan::Gather gather,
                 columns::JoinResult& result) {
  result.statistics.output_resumes = finished.slabs - 1;
  uint64_t row_bytes = 0;
  for (cpu::OutputSource const& source : sources) row_bytes += source.width;
  step.clock.note(plan::to_text(gather), finished.rows * row_bytes);
}

void finish(const JoinStep& step, cpu::Workers& workers, cpu::OutputRows& output,
            const std::vector<cpu::OutputSource>& sources, plan::Gather gather,
            columns::JoinResult& result) {
  cpu::OutputRows::Finished finished = output.finish(workers);
  result.rows = static_cast<int64_t>(finished.rows);
  size_t next = 0;
  if (step.spec.left_rows()) result.left_rows = std::move(finished.columns[next++].values);
  if (step.spec.right_rows()) result.right_rows = std::move(finished.columns[next++].values);
  for (; next < sources.size(); ++next) {
    result.columns.push_back(column_of(sources[next], std::move(finished.columns[next])));
  }
  note_finish(step, sources, finished, gather, result);
}

columns::RowsAlone finish_alone(const JoinStep& step, const AloneTask& task, cpu::Workers& workers,
                                cpu::OutputRows& output,
                                const std::vector<cpu::OutputSource>& sources,
                                columns::JoinResult& result) {
  cpu::OutputRows::Finished finished = output.finish(workers);
  columns::RowsAlone rows;
  rows.with_match = task.with_match;
  rows.rows = static_cast<int64_t>(finished.rows);
  size_t next = 0;
  if (task.numbers) rows.numbers = std::move(finished.columns[next++].values);
  for (; next < sources.size(); ++next) {
    rows.columns.push_back(column_of(sources[next], std::move(finished.columns[next])));
  }
  note_finish(step, sources, finished, step.plan.gather, result);
  return rows;
}

// Of a side whose rows come out alone: a set tells which, of either side's partitions.
std::optional<AloneTask> task_of(const JoinStep& step, const CpuSide& side, bool left) {
  if (!comes_alone(rows_of(step.spec, left)) || step.residual != nullptr) return std::nullopt;
  return alone_task(step.spec, left, side.may_drop_rows());
}

bool numbers_of(const JoinStep& step, const CpuSide& side, bool left) {
  if (step.residual != nullptr) return true;
  if (auto const task = task_of(step, side, left)) return task->numbers;
  return left ? step.spec.left_rows() : step.spec.right_rows();
}

// Where no number of partitions is named. Sets are of partitions.
bool may_stream(const JoinStep& step) {
  for (bool const left : {true, false}) {
    if (comes_alone(rows_of(step.spec, left)) && step.residual == nullptr) return false;
  }
  return step.plan.radix_bits == 0;
}

// Pairs of a small build side.
bool streams(const JoinStep& step, const CpuSide& build, const CpuSide& probe) {
  return may_stream(step) && cpu::streams_probe(build.input_rows(), probe.input_rows());
}

// Pairs by which text is fetched: in the order of the probe side that is next to each other.
bool keeps_order(const JoinStep& step, const CpuSide& build, const CpuSide* probe) {
  return probe != nullptr && step.fetches_of_probe && may_stream(step) &&
         probe->input_rows() >= build.input_rows();
}

class BuiltOnCpu final : public Built {
 public:
  // expected: the side is partitioned.
  BuiltOnCpu(std::shared_ptr<CpuSide> side, bool is_probed_once)
      : side_(std::move(side)), is_probed_once_(is_probed_once) {}

  plan::Finding probe(const JoinStep& step, Side& side,
                      columns::JoinResult& result) const override {
    auto& probe = side_as<CpuSide>(side);
    bool const is_ordered = probe.rows().is_streamed && side_->rows().radix_bits != 0;
    if (is_ordered) {
      try {
        step.clock.enter("match");
        return probe_pairs(step, probe, plan::Gather::kUntransformed, result);
      } catch (const base::Error& error) {
        if (error.status() != GPUJOIN_ERROR_MEMORY_LIMIT) throw;
        step.clock.note_in_vain("no room for all tables");
        probe.let_go_of_rows();
      }
    }
    if (!probe.is_partitioned()) {
      step.clock.enter("transform");
      probe.lay_out(step.plan.gather, numbers_of(step, probe, !step.build_left()));
      CpuSide* const alone[] = {&probe};
      partition(step, alone, side_->rows().radix_bits);
    }
    step.clock.enter("match");
    for (bool const left : {true, false}) {
      if (task_of(step, left == step.build_left() ? *side_ : probe, left)) {
        return probe_alone(step, probe, left, result);
      }
    }
    return probe_pairs(step, probe, step.plan.gather, result);
  }

 private:
  // gather: how the sides are laid out.
  plan::Finding probe_pairs(const JoinStep& step, CpuSide& probe, plan::Gather gather,
                            columns::JoinResult& result) const {
    std::vector<cpu::OutputSource> const sources = output_sources(step, *side_, probe);
    if (step.groups != nullptr) {
      add_matches(step, *side_, probe, sources);
      if (is_probed_once_) side_->let_go_of_rows();
      probe.let_go_of_rows();
      return plan::Finding::kJoined;
    }
    bool const is_marked = step.spec.marked != columns::MarkedSide::kNone;
    if (is_marked) result.marks = match_and_mark(step, *side_, probe);
    auto const output = is_marked ? nullptr : match(step, *side_, probe, sources);
    if (is_probed_once_) side_->let_go_of_rows();
    probe.let_go_of_rows();
    if (is_marked) return plan::Finding::kJoined;
    step.clock.enter("materialize");
    finish(step, probe.workers(), *output, sources, gather, result);
    return plan::Finding::kJoined;
  }

  plan::Finding probe_alone(const JoinStep& step, CpuSide& probe, bool left,
                            columns::JoinResult& result) const {
    bool const of_build = left == step.build_left();
    CpuSide const& side = of_build ? *side_ : probe;
    CpuSide const& other = of_build ? probe : *side_;
    AloneTask const task = *task_of(step, side, left);
    std::vector<cpu::OutputSource> sources;
    if (task.numbers) sources.push_back(side.row_numbers_source(false));
    side.add_column_sources(false, &sources);
    auto const output = match_alone(step, task, other, side, probe.workers(), sources);
    if (is_probed_once_) side_->let_go_of_rows();
    probe.let_go_of_rows();
    step.clock.enter("materialize");
    (left ? result.left_alone : result.right_alone) =
        finish_alone(step, task, probe.workers(), *output, sources, result);
    return plan::Finding::kJoined;
  }

  std::shared_ptr<CpuSide> side_;
  bool is_probed_once_;
};

}  // namespace

std::unique_ptr<const Built> build_on_cpu(const JoinStep& step, std::shared_ptr<CpuSide> side,
                                          CpuSide* only_probe) {
  step.clock.enter("transform");
  bool const is_small = only_probe != nullptr && streams(step, *side, *only_probe);
  bool const is_ordered = !is_small && keeps_order(step, *side, only_probe);
  side->lay_out(is_ordered ? plan::Gather::kUntransformed : step.plan.gather,
                numbers_of(step, *side, step.build_left()));
  if (is_small || is_ordered) {
    only_probe->lay_out(plan::Gather::kUntransformed,
                        numbers_of(step, *only_probe, !step.build_left()));
    only_probe->stream();
    if (is_small) {
      side->pack();
      step.clock.note(hashes_of(*side) + "build rows packed", 2 * side->rows().rows.bytes());
    } else {
      CpuSide* const alone[] = {side.get()};
      partition(step, alone, radix_bits_of(step, side->rows(), only_probe->input_rows()));
    }
    return std::make_unique<BuiltOnCpu>(std::move(side), true);
  }
  std::vector<CpuSide*> sides = {side.get()};
  uint64_t probe_rows = 0;
  if (only_probe != nullptr) {
    only_probe->lay_out(step.plan.gather, numbers_of(step, *only_probe, !step.build_left()));
    probe_rows = only_probe->rows().input_rows;
    sides.push_back(only_probe);
  }
  partition(step, sides, radix_bits_of(step, side->rows(), probe_rows));
  return std::make_unique<BuiltOnCpu>(std::move(side), only_probe != nullptr);
}

}  // namespace gpujoin::execute
