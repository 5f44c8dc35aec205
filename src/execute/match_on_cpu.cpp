#include "src/execute/match_on_cpu.hpp"

#include <algorithm>
#include <utility>

#include "src/base/status.hpp"
#include "src/cpu/batch_adder.hpp"
#include "src/cpu/batch_writer.hpp"
#include "src/cpu/match_partitions.hpp"
#include "src/cpu/match_sorted.hpp"
#include "src/cpu/row_marks.hpp"
#include "src/cpu/streamed_probe.hpp"
#include "src/execute/aggregate.hpp"
#include "src/execute/kinds.hpp"

namespace gpujoin::execute {

namespace {

cpu::MatchFilter filter_of(const JoinStep& step, const CpuSide& build, const CpuSide& probe) {
  cpu::MatchFilter filter;
  filter.verified = columns_to_verify(build, probe);
  filter.residual = step.residual;
  filter.build = &build.relation();
  filter.probe = &probe.relation();
  filter.build_layout = &build.rows().layout;
  filter.probe_layout = &probe.rows().layout;
  filter.build_left = step.build_left();
  return filter;
}

void send_matches(const JoinStep& step, const cpu::MatchFilter& filter, const CpuSide& build,
                  CpuSide& probe, cpu::MatchSinks& sinks) {
  if (build.key_order()) {
    return cpu::match_sorted(probe.workers(), *build.key_order(), build.rows(), probe.rows(),
                             filter, sinks);
  }
  if (build.key_bits()) {
    return cpu::match_key_bits(step.queue, probe.workers(), *build.key_bits(), build.rows(),
                               probe.rows(), filter, sinks);
  }
  if (probe.rows().is_streamed) {
    return cpu::match_streamed(step.queue, probe.workers(), build.rows(), build.tables(),
                               probe.rows(), filter, sinks);
  }
  cpu::match_partitions(step.queue, probe.workers(), build.rows(), probe.rows(), filter, sinks);
}

void write_matches(const JoinStep& step, const cpu::MatchFilter& filter, const CpuSide& build,
                   CpuSide& probe, const std::vector<cpu::OutputSource>& sources,
                   cpu::OutputRows& output) {
  cpu::BatchWriters writers(sources, output);
  send_matches(step, filter, build, probe, writers);
}

std::string details_of(const cpu::MatchFilter& filter, const CpuSide& build, const CpuSide& probe) {
  std::string const in_place = build.key_order()          ? ", both sides in order"
                               : probe.rows().is_streamed ? ", probe rows in place"
                                                          : "";
  return in_place + (filter.residual != nullptr ? ", residual" : "") +
         (filter.marks != nullptr ? ", marked" : "");
}

uint64_t count_matches(const JoinStep& step, const cpu::MatchFilter& filter, const CpuSide& build,
                       CpuSide& probe) {
  // Nothing but evaluating it tells how many fulfil a condition.
  if (filter.residual != nullptr || build.key_bits()) {
    cpu::OutputRows none(step.queue, {}, 0);
    write_matches(step, filter, build, probe, {}, none);
    return none.finish(probe.workers()).rows;
  }
  if (build.key_order()) {
    return cpu::count_sorted_matches(probe.workers(), *build.key_order(), build.rows(),
                                     probe.rows());
  }
  auto const count =
      probe.rows().is_streamed ? cpu::count_streamed_matches : cpu::count_partitions_matches;
  return count(step.queue, probe.workers(), build.rows(), probe.rows());
}

const CpuSide& side_of(const JoinStep& step, bool left, const CpuSide& build,
                       const CpuSide& probe) {
  return left == step.build_left() ? build : probe;
}

// Rows that may come behind the pairs, since they have no match: with room for them nothing is
// copied.
uint64_t most_unmatched(const JoinStep& step, const CpuSide& build, const CpuSide& probe) {
  uint64_t rows = 0;
  for (bool const left : {true, false}) {
    if (!comes_unmatched(rows_of(step.spec, left))) continue;
    rows += side_of(step, left, build, probe).input_rows();
  }
  return rows;
}

// A byte for each row of the side, by which the filter marks.
base::Buffer clear_marks(const JoinStep& step, bool left, const CpuSide& build, CpuSide& probe,
                         cpu::MatchFilter* filter) {
  auto const rows = static_cast<uint32_t>(side_of(step, left, build, probe).input_rows());
  base::Buffer bytes = cpu::RowMarks::clear_bytes(step.queue, probe.workers(), rows);
  if (!bytes && rows != 0) {
    base::fail(GPUJOIN_ERROR_MEMORY_LIMIT, "no room for the marks of %u rows, a byte each", rows);
  }
  filter->marks = bytes.as<uint8_t>();
  filter->marks_build = left == step.build_left();
  filter->marks_again =
      cpu::RowMarks::come_again(rows, side_of(step, !left, build, probe).input_rows());
  filter->keeps_matches = step.spec.marked == columns::MarkedSide::kNone;
  return bytes;
}

std::shared_ptr<columns::RowMarks> marks_of(const JoinStep& step, bool left, const CpuSide& build,
                                            const CpuSide& probe, const base::Buffer& bytes) {
  auto const rows = static_cast<uint32_t>(side_of(step, left, build, probe).input_rows());
  auto marks = std::make_shared<cpu::RowMarks>(step.queue, rows);
  if (rows != 0) marks->mark_bytes(bytes.as<uint8_t>());
  return marks;
}

}  // namespace

std::vector<cpu::OutputShape> shapes_of(const std::vector<cpu::OutputSource>& sources) {
  std::vector<cpu::OutputShape> shapes;
  for (cpu::OutputSource const& source : sources) {
    shapes.push_back({source.width, source.nullable()});
  }
  return shapes;
}

columns::ResultColumn column_of(const cpu::OutputSource& source, cpu::OutputRows::Column finished) {
  columns::ResultColumn column = columns::column_like(*source.column);
  column.data = std::move(finished.values);
  column.validity = std::move(finished.bits);
  column.null_count = finished.null_count;
  column.room = finished.room;
  return column;
}

OutputRowsPtr write_rows(const JoinStep& step, uint64_t generous,
                         const std::function<OutputRowsPtr(uint64_t)>& write,
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

std::string hashes_of(const CpuSide& side) {
  return side.is_hashed() ? "hash of " + std::to_string(side.key_count()) + " keys, " : "";
}

void note_match(const JoinStep& step, bool is_verified, const std::string& what,
                const CpuSide& build, const CpuSide& probe) {
  std::string const technique = step.clock.technique();
  step.clock.note((is_verified ? "verified " : "") + technique + what,
                  build.rows().rows.bytes() + probe.rows().rows.bytes());
}

void note_finish(const JoinStep& step, const std::vector<cpu::OutputSource>& sources,
                 const cpu::OutputRows::Finished& finished, plan::Gather gather,
                 columns::JoinResult& result) {
  result.statistics.output_resumes = finished.slabs - 1;
  uint64_t row_bytes = 0;
  for (cpu::OutputSource const& source : sources) row_bytes += source.width;
  step.clock.note(plan::to_text(gather), finished.rows * row_bytes);
}

std::optional<bool> marked_in_match(const JoinStep& step) {
  columns::JoinSpec const& spec = step.spec;
  if (spec.marked != columns::MarkedSide::kNone) {
    return spec.marked == columns::MarkedSide::kLeft;
  }
  if (step.residual == nullptr || step.groups != nullptr || !spec.pairs_for_marks) {
    return std::nullopt;
  }
  return outer_side(spec.kind);
}

Matched match(const JoinStep& step, const CpuSide& build, CpuSide& probe,
              const std::vector<cpu::OutputSource>& sources) {
  cpu::MatchFilter filter = filter_of(step, build, probe);
  std::optional<bool> const marks_left = marked_in_match(step);
  base::Buffer marks;
  if (marks_left) marks = clear_marks(step, *marks_left, build, probe, &filter);
  Matched found;
  if (filter.keeps_matches) {
    auto const write = [&](uint64_t capacity) {
      auto output = std::make_unique<cpu::OutputRows>(step.queue, shapes_of(sources), capacity,
                                                      step.spec.bounds.row_limit);
      write_matches(step, filter, build, probe, sources, *output);
      return output;
    };
    // A generous estimate is free, a short one costs a copy: at least one match for each probe row.
    auto const expected = static_cast<uint64_t>(std::max<int64_t>(step.plan.expected_rows, 0));
    uint64_t const probe_rows = probe.rows().begin.back();
    uint64_t const generous = std::max(expected + expected / 8, probe_rows);
    found.rows = write_rows(step, generous + most_unmatched(step, build, probe), write,
                            [&] { return count_matches(step, filter, build, probe); });
  } else {
    cpu::OutputRows none(step.queue, {}, 0);
    write_matches(step, filter, build, probe, {}, none);
    step.clock.note("co_partitions");
  }
  if (marks_left) found.marks = marks_of(step, *marks_left, build, probe, marks);
  note_match(step, !filter.verified.empty(), details_of(filter, build, probe), build, probe);
  return found;
}

void add_matches(const JoinStep& step, const CpuSide& build, CpuSide& probe,
                 std::vector<cpu::OutputSource> sources) {
  cpu::MatchFilter const filter = filter_of(step, build, probe);
  AddedByMatch added = step.groups->added();
  cpu::AddedSources const from{std::move(sources), added.groups, std::move(added.of_states)};
  cpu::BatchAdders adders(from, *step.groups->states_of_cpu());
  step.clock.note("co_partitions, added up");
  send_matches(step, filter, build, probe, adders);
  note_match(step, !filter.verified.empty(), details_of(filter, build, probe), build, probe);
}

}  // namespace gpujoin::execute
